#!/bin/sh
# What the cockpit's browser tests need: the built page, and Chromium.
set -eu
sh tools/build_page.sh
has() { command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null; }
get() { apt-get install -y -qq --no-install-recommends "$1" >/dev/null 2>&1; }
if ! has; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "hilt test: Chromium was not found; ask an administrator for: apt-get install chromium-headless-shell" >&2
        exit 2
    fi
    echo "hilt test: installing Chromium (once)"
    apt-get update -qq >/dev/null 2>&1 || true
    get chromium-headless-shell || get chromium || { # the shell draws a page for two thirds of the work
        echo "hilt test: Chromium could not be installed; try: apt-get install chromium" >&2
        exit 2
    }
fi
