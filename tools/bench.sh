#!/bin/sh
# Run the benchmarks, one line of JSON each. Called by make.
set -eu

if ! command -v g++ >/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        { apt-get update -qq && apt-get install -y -qq g++; } >/dev/null 2>&1 || true
    fi
    if ! command -v g++ >/dev/null; then
        echo "hilt bench: g++ was not found; ask an administrator for: apt-get install g++" >&2
        exit 2
    fi
fi

if ! command -v cyclictest >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install -y -qq rt-tests >/dev/null 2>&1 || true # without it there is no reference for the lateness
fi

# A failing benchmark does not stop the others.
status=0
for name in freefloat_tick docking_step sweeps aerial fmi allocations start_time; do
    .venv/bin/python "benchmarks/$name.py" || status=1
done
.venv/bin/python benchmarks/lateness.py 4 || status=1 # seconds per rate, for three rates
.venv/bin/python benchmarks/streams.py 4 2 || status=1 # seconds and rounds, for three cases
exit "$status"
