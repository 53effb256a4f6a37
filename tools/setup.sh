#!/bin/sh
# Make .venv from the hashed lock. Called by make; needs the network only the first time.
set -eu
PYTHON=${PYTHON:-python3}
fail() { echo "hilt setup: $*" >&2; exit 2; }

command -v "$PYTHON" >/dev/null || fail "$PYTHON was not found; install Python 3.11 or newer, or use make PYTHON=/path/to/python"
"$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "$("$PYTHON" --version) is too old; hilt needs Python 3.11 or newer: make PYTHON=/path/to/python"

if ! "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null; then
    # Debian ships venv as a separate package.
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
        fail "$PYTHON has no venv module; ask an administrator for: apt-get install python3-venv"
    apt-get update -qq
    apt-get install -y -qq python3-venv >/dev/null
fi

pip() { .venv/bin/python -m pip -qq --disable-pip-version-check "$@"; }

if ! cmp -s requirements.lock .venv/requirements.lock; then
    echo "hilt setup: making .venv (once, about a minute)"
    rm -rf .venv
    "$PYTHON" -m venv .venv
    pip install --no-compile --require-hashes -r requirements.lock # Python compiles what is imported; half of the time was the rest
    cp requirements.lock .venv/requirements.lock
fi
pip install --no-build-isolation --no-deps -e .
touch .venv/.ready
