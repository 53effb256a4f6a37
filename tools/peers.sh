#!/bin/sh
# Install the independent programs that drivers and emulators are tested against into .venv-peers (about a minute, 1.6 GB). Tests start
# them as processes (tests/peers.py); tests of a missing one are skipped with a message.
set -eu
ENVIRONMENT=.venv-peers
VIEWER=tests/stream/foxglove

# Foxglove's public client, if Node is installed.
if command -v npm >/dev/null && ! cmp -s $VIEWER/package-lock.json $VIEWER/node_modules/.lock; then
    if (cd $VIEWER && timeout 120 npm ci --no-audit --no-fund --loglevel=error >/dev/null 2>&1); then
        cp $VIEWER/package-lock.json $VIEWER/node_modules/.lock
    else
        echo "hilt test: the packages of $VIEWER/package-lock.json could not be installed; their tests are skipped" >&2
    fi
fi

if ! cmp -s requirements-peers.lock $ENVIRONMENT/requirements-peers.lock; then
    echo "hilt test: installing the peers of the drivers (once, about a minute)"
    rm -rf $ENVIRONMENT
    "${PYTHON:-.venv/bin/python}" -m venv $ENVIRONMENT
    # Wheels only, so that nothing is compiled for minutes; a platform without a wheel goes without that peer.
    timeout 300 $ENVIRONMENT/bin/python -m pip -qq --disable-pip-version-check --retries 1 install \
        --no-compile --only-binary :all: --require-hashes -r requirements-peers.lock || {
        echo "hilt test: the peers of requirements-peers.lock could not be installed; their tests are skipped" >&2
        exit 2
    }
    cp requirements-peers.lock $ENVIRONMENT/requirements-peers.lock
fi
