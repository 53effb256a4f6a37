#!/bin/sh
# All tests: those of the stages with bounds checks in the compiled code, and those of the units also without the compiler.
set -eu
sh tools/browser.sh || echo "hilt test: the cockpit's page is not tested in a browser here"
PYTEST=".venv/bin/python -m pytest -n 2 --dist loadfile"
# What most tests need is compiled once, by two processes side by side.
.venv/bin/python tools/warm.py aerial freefloat &
.venv/bin/python tools/warm.py docking payload
wait
$PYTEST --ignore tests/contract/test_stages.py
echo "stages and codecs with bounds checks"
NUMBA_BOUNDSCHECK=1 $PYTEST tests/contract/test_stages.py tests/unit/test_rsi_codec.py tests/unit/test_netft_codec.py tests/unit/test_chain.py
echo "unit tests without the compiler"
NUMBA_DISABLE_JIT=1 $PYTEST tests/unit
