#!/bin/sh
# All tests: those of the stages with bounds checks in the compiled code, and those of compiled code also without the compiler.
set -eu
sh tools/browser.sh || echo "hilt test: the cockpit's page is not tested in a browser here"
PYTEST=".venv/bin/python -m pytest --dist loadfile"
# What most tests need is compiled once, by two processes side by side.
.venv/bin/python tools/warm.py aerial freefloat &
.venv/bin/python tools/warm.py docking payload
wait
# Three workers for two cores: the tests of the lab and of the cockpit wait for the clock most of the time.
$PYTEST -n 3 --ignore tests/contract/test_stages.py
echo "stages and codecs with bounds checks"
NUMBA_BOUNDSCHECK=1 $PYTEST -n 2 tests/contract/test_stages.py tests/unit/test_rsi_codec.py tests/unit/test_netft_codec.py tests/unit/test_chain.py
echo "unit tests of compiled code without the compiler"
plain="calibrate clock cockpit_history gentle mailbox realtime rigfile ring scenario scenes signals tuning units"
ignored=$(for name in $plain; do printf ' --ignore tests/unit/test_%s.py' "$name"; done)
# shellcheck disable=SC2086
NUMBA_DISABLE_JIT=1 $PYTEST -n 2 $ignored tests/unit
