#!/bin/sh
# All tests. Tests in wall time come first: devices and processes, then the lab and the cockpit in a browser. Those that tolerate a
# busy host run two at a time; those that judge contacts, delays or a live core run alone. All of them mostly wait, so the remaining
# tests, which only compute, run alongside at idle priority, including the blocks with bounds checks in the compiled code, and
# numerics without the compiler. Tests that fail beside other work run once more on the quiet machine, alone; that result counts.
set -eu
export OPENBLAS_NUM_THREADS=1 # one core per process; threads that wait for each other take minutes
unset PYTHONDONTWRITEBYTECODE # a thousand processes start and share their bytecode
PYTEST=".venv/bin/python -m pytest --dist loadfile --no-loadscope-reorder"
PATIENT="tests/e2e/test_lab_faults.py tests/e2e/test_lab_kills.py tests/e2e/test_lab_arming.py tests/e2e/test_lab_watch.py
    tests/e2e/test_lab_strangers.py tests/e2e/test_lab_tick.py tests/stream/test_live_in.py tests/e2e/test_lab_processes.py
    tests/e2e/test_lab_foxglove.py tests/e2e/test_lab_tool.py tests/e2e/test_lab_joints.py tests/lab/test_identify.py"
LAB="tests/e2e/test_lab_cli.py tests/e2e/test_lab_aerial.py tests/e2e/test_lab_twin.py tests/e2e/test_lab_bending.py
    tests/e2e/test_lab_franka.py tests/e2e/test_lab_ur.py tests/device/test_fci_peers.py
    tests/e2e/test_lab_own_driver.py tests/e2e/test_lab_outsider.py tests/e2e/test_lab_neighbours.py tests/e2e/test_lab_two.py tests/e2e/test_lab_payload.py
    tests/e2e/test_cockpit_stop.py tests/e2e/test_cockpit_attack.py tests/e2e/test_cockpit_watch.py"
QUIET="tests/e2e/test_cockpit_payload_lab.py" # two robots, two sensors, loop, server and browser: nothing beside them
BROWSER="tests/e2e/test_cockpit_systems.py tests/e2e/test_cockpit_reach.py tests/e2e/test_cockpit_operator.py
    tests/e2e/test_cockpit_recordings.py tests/e2e/test_cockpit_maps.py tests/e2e/test_cockpit_wheel.py"
WALL="tests/cockpit tests/device tests/host tests/lab tests/live tests/stream tests/contract/test_children.py
    tests/contract/test_devices.py tests/contract/test_facility.py tests/contract/test_neighbours.py tests/contract/test_processes.py
    tests/contract/test_robots.py tests/contract/test_station.py tests/contract/test_strangers.py tests/e2e/test_lab_asks.py"
FAILED=$(mktemp -d)
trap 'rm -rf "$FAILED"' EXIT
IDLE="nice -n 19"
command -v chrt >/dev/null && IDLE="chrt --idle 0"

kept() { # run pytest with these arguments; it records failures in a separate folder
    part=$1
    shift
    $PYTEST -o cache_dir="$FAILED/$part" --durations 25 --durations-min 5 "$@"
}

once_more() {
    echo "once more, on a quiet machine: what failed in $1"
    part=$1
    shift
    kept "$part" --last-failed -n 0 "$@"
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
    PYTEST="$IDLE $PYTEST"
    NUMBA_BOUNDSCHECK=1 $PYTEST -n 0 tests/contract/test_stages.py tests/device/test_rsi_codec.py tests/device/test_netft_codec.py \
        tests/device/test_fci_codec.py &
    bounded=$!
    NUMBA_DISABLE_JIT=1 $PYTEST -n 0 tests/maths/test_so3.py tests/maths/test_spatial.py tests/maths/test_delay.py \
        tests/dynamics/test_dynamics.py tests/core/test_ledger.py tests/systems/aerial/test_tank.py \
        tests/systems/docking/test_docking_stages.py &
    interpreted=$!
    # Three workers on two cores: some of these tests wait for processes that they start.
    # shellcheck disable=SC2046,SC2086
    kept computed -n 3 $(printf -- '--ignore %s ' $PATIENT $LAB $QUIET $BROWSER $WALL) || touch "$FAILED/computed.failed"
    wait $bounded
    wait $interpreted
) &
beside=$!
trap 'kill $beside 2>/dev/null || true; rm -rf "$FAILED"' EXIT

echo "devices and processes; beside them, at idle priority, everything that only computes"
# Four workers on two cores: many of these tests start processes, or wait for a silent peer, and leave their core to others.
wall=held
# shellcheck disable=SC2046,SC2086
kept wall -n 4 $(printf -- '--ignore %s ' $PATIENT $LAB) $WALL || wall=failed

echo "the lab, two at a time"
patient=held
# shellcheck disable=SC2086
kept patient -n 2 $PATIENT || patient=failed

echo "the cockpit in a browser, two at a time"
wait $fetched || true
browser=held
# shellcheck disable=SC2086
kept browser -n 2 $BROWSER || browser=failed

echo "the lab and the cockpit, alone"
lab=held
# shellcheck disable=SC2086
kept lab -n 0 $LAB || lab=failed
wait $beside

echo "on a quiet machine"
kept quiet -n 0 $QUIET || kept quiet -n 0 $QUIET # all of them: its tests build on each other on one facility
# shellcheck disable=SC2046,SC2086
[ $wall = held ] || once_more wall $(printf -- '--ignore %s ' $PATIENT $LAB) $WALL
# shellcheck disable=SC2086
[ $patient = held ] || once_more patient $PATIENT
# shellcheck disable=SC2086
[ $lab = held ] || once_more lab $LAB
# shellcheck disable=SC2086
[ $browser = held ] || once_more browser $BROWSER
# shellcheck disable=SC2046,SC2086
[ ! -e "$FAILED/computed.failed" ] || once_more computed $(printf -- '--ignore %s ' $PATIENT $LAB $QUIET $BROWSER $WALL)
