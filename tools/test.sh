#!/bin/sh
# All tests; then every stage and the unit tests with bounds checks in the compiled code, and the unit tests without the compiler.
set -eu
sh tools/browser.sh || echo "hilt test: the cockpit's page is not tested in a browser here"
PYTEST=".venv/bin/python -m pytest -n 2 --dist loadfile"
$PYTEST
echo "stages and unit tests with bounds checks"
NUMBA_BOUNDSCHECK=1 $PYTEST tests/unit tests/contract/test_stages.py
echo "unit tests without the compiler"
NUMBA_DISABLE_JIT=1 $PYTEST tests/unit
