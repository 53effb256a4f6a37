#!/bin/sh
# Build the documentation as a site into build/site. mkdocs has its own environment, so that nothing else waits for it.
# Strict: a broken link, a page missing from the menu, or anything loaded from the network is an error.
set -eu
ENVIRONMENT=build/mkdocs

if ! cmp -s requirements-docs.lock $ENVIRONMENT/requirements-docs.lock; then
    echo "hilt docs: installing mkdocs (once, about half a minute)"
    rm -rf $ENVIRONMENT
    .venv/bin/python -m venv $ENVIRONMENT
    $ENVIRONMENT/bin/python -m pip -qq --disable-pip-version-check install --no-compile --require-hashes -r requirements-docs.lock
    cp requirements-docs.lock $ENVIRONMENT/requirements-docs.lock
fi
# mkdocs-material advertises another product at each start; that is not a warning about these pages.
NO_MKDOCS_2_WARNING=1 $ENVIRONMENT/bin/python -m mkdocs build --strict
echo "hilt docs: open build/site/index.html; with search: python3 -m http.server -d build/site"
