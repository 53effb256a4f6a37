#!/bin/sh
# All tests; then unit and contract tests with bounds checks in the compiled code (those of processes and sockets have little
# of it), and the unit tests without the compiler.
set -eu
PYTEST=".venv/bin/python -m pytest"
$PYTEST -n 2
echo "unit and contract tests with bounds checks"
NUMBA_BOUNDSCHECK=1 $PYTEST -n 2 tests/unit tests/contract/test_layers.py tests/contract/test_stages.py tests/contract/test_systems.py
echo "unit tests without the compiler"
NUMBA_DISABLE_JIT=1 $PYTEST -n 2 tests/unit
