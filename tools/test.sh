#!/bin/sh
# All tests; those of the stages with bounds checks in the compiled code, and those of the numerics also without the compiler.
set -eu
PYTEST=".venv/bin/python -m pytest --dist loadfile"
# The lab's own: they need a core that answers within milliseconds.
LAB="tests/e2e/test_lab_faults.py tests/e2e/test_lab_processes.py tests/e2e/test_lab_aerial.py"
STAGES=tests/contract/test_stages.py

if [ "${HILT_BROWSER:-}" = all ]; then # minutes in a browser that draws in software
    sh tools/browser.sh
fi

# What most tests need is compiled once, by two processes side by side.
.venv/bin/python tools/warm.py aerial freefloat &
.venv/bin/python tools/warm.py docking payload
wait
# shellcheck disable=SC2086
$PYTEST -n 2 $(printf -- '--ignore %s ' $LAB $STAGES)

echo "stages with bounds checks; then the lab, and numerics without the compiler beside it"
NUMBA_BOUNDSCHECK=1 $PYTEST -n 2 $STAGES tests/unit/test_rsi_codec.py tests/unit/test_netft_codec.py
(
    NUMBA_DISABLE_JIT=1 $PYTEST -n 0 tests/unit/test_so3.py tests/unit/test_spatial.py tests/unit/test_delay.py \
        tests/unit/test_dynamics.py tests/unit/test_ledger.py tests/unit/test_tank.py tests/unit/test_docking_stages.py
) &
beside=$!
# shellcheck disable=SC2086
$PYTEST -n 0 $LAB
wait $beside
