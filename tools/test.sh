#!/bin/sh
# All tests, each once. Every test bears the marks of what it needs (pyproject.toml says what they mean), and each kind runs by itself:
# devices and processes in wall time, labs, the cockpit in a browser. All of these mostly wait, so the tests without a mark, which only
# compute, run alongside at idle priority, together with the second runs with bounds checks in the compiled code and without the
# compiler. Tests that must be alone come last.
set -eu
export OPENBLAS_NUM_THREADS=1 # one core per process; threads that wait for each other take minutes
unset PYTHONDONTWRITEBYTECODE # a thousand processes start and share their bytecode
FAILED=$(mktemp)
trap 'rm -f "$FAILED"' EXIT
IDLE="nice -n 19"
command -v chrt >/dev/null && IDLE="chrt --idle 0"
IN_WALL_TIME="wall or lab or browser or alone"

# What runs in wall time has the limits that users have, so of several runs of this suite on one machine one at a time does it,
# and the others compute meanwhile. Nothing that a test starts inherits the lock: it ends with this script.
one_at_a_time() {
    exec 9</tmp
    if command -v flock >/dev/null; then flock 9; fi
}
next_one() { exec 9<&-; }

tests() { # the tests that -m selects, of the files in which one of these words stands: reading all of them takes 8 s a process
    selected=$1 words=$2
    shift 2
    # shellcheck disable=SC2046
    $AT .venv/bin/python -m pytest --dist loadfile --no-loadscope-reorder --durations 25 --durations-min 5 -m "$selected" "$@" \
        $(grep -rlwE --include 'test_*.py' "$words" tests) 9<&- || echo "$selected" >>"$FAILED"
}

# The browser for its tests, and the peers of the drivers, are installed beside the environment; without them those tests are skipped
# with a message. Where Python has no venv yet, the environment comes first, since it takes the package manager.
PYTHON=${PYTHON:-python3}
READY="${MAKE:-make} -s --no-print-directory .venv/.ready"
"$PYTHON" -c "import venv, ensurepip" 2>/dev/null || $READY
sh tools/browser.sh &
fetched=$!
PYTHON=$PYTHON sh tools/peers.sh &
peers=$!
$READY
# Code that most tests need is compiled once, by two processes in parallel.
.venv/bin/python tools/warm.py aerial freefloat docking:bending &
warmed=$!
.venv/bin/python tools/warm.py docking payload docking:twin
wait $warmed
wait $peers || true

(
    AT=$IDLE
    NUMBA_BOUNDSCHECK=1 tests bounds bounds -n 0 &
    bounded=$!
    NUMBA_DISABLE_JIT=1 tests uncompiled uncompiled -n 0 &
    interpreted=$!
    tests "not ($IN_WALL_TIME)" "" -n 2
    wait $bounded $interpreted
) &
beside=$!
trap 'kill $beside 2>/dev/null || true; rm -f "$FAILED"' EXIT
AT=

one_at_a_time
echo "devices and processes; beside them, at idle priority, everything that only computes"
# Four workers on two cores: many of these tests start processes, or wait for a silent peer, and leave their core to others.
tests "wall and not alone" wall -n 4

echo "labs, one after the other: each takes a core for its loop"
wait $fetched || true
tests "lab" lab -n 0

echo "the cockpit in a browser, two at a time"
tests "browser and not lab" needs_browser -n 2
next_one

wait $beside
one_at_a_time
echo "alone"
tests alone alone -n 0

if [ -s "$FAILED" ]; then
    echo "failed: $(paste -sd , "$FAILED")" >&2
    exit 1
fi
