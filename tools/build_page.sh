#!/bin/sh
# Build the cockpit's page: src/hilt/cockpit/page (TypeScript) -> src/hilt/cockpit/static (shipped with the package). Called by make.
# Does nothing when the sources have not changed since the last time.
set -eu
fail() { echo "hilt page: $*" >&2; exit 2; }

cd "$(dirname "$0")/../src/hilt/cockpit/page"
built=../static/index.html
if [ -f "$built" ] && [ -z "$(find . ../../../../tools/build_page.sh -name node_modules -prune -o -type f -newer "$built" -print)" ]; then
    exit 0
fi

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null ||
        fail "Node was not found, which is needed to build the cockpit's page; ask an administrator for: apt-get install nodejs npm"
    echo "hilt page: installing Node (once)"
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends nodejs npm; } >/dev/null 2>&1 ||
        fail "Node could not be installed; try: apt-get install nodejs npm"
fi

if ! cmp -s package-lock.json node_modules/.lock; then
    echo "hilt page: fetching three.js, uPlot and the compiler (once)"
    npm ci --no-audit --no-fund --loglevel=error || fail "npm could not fetch the packages of package-lock.json; see above"
    cp package-lock.json node_modules/.lock
fi
npm run --silent check || fail "the page's TypeScript has errors; see above"
npm run --silent build || fail "the page could not be bundled; see above"
touch "$built"
