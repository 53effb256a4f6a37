#!/bin/sh
# All tests; then the unit tests once with bounds checks in the compiled code and once without the compiler.
set -eu
PYTEST=".venv/bin/python -m pytest"
$PYTEST -n 2
echo "unit and contract tests with bounds checks"
NUMBA_BOUNDSCHECK=1 $PYTEST -n 2 tests/unit tests/contract
echo "unit tests without the compiler"
NUMBA_DISABLE_JIT=1 $PYTEST -n 2 tests/unit
