#!/bin/sh
# What the cockpit's browser tests need: the built page, and Chromium.
set -eu
sh tools/build_page.sh
if ! command -v chromium >/dev/null; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
        echo "hilt test: Chromium was not found; ask an administrator for: apt-get install chromium" >&2
        exit 2
    fi
    echo "hilt test: installing Chromium (once)"
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 || {
        echo "hilt test: Chromium could not be installed; try: apt-get install chromium" >&2
        exit 2
    }
fi
