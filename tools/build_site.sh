#!/bin/sh
# Build the documentation as a site into build/site. mkdocs has an environment of its own, so that nothing else waits for it.
# Strict: a broken link, a page that is not in the menu, or anything that would be loaded from the network fails.
set -eu
ENVIRONMENT=build/mkdocs

if ! cmp -s requirements-docs.lock $ENVIRONMENT/requirements-docs.lock; then
    echo "hilt docs: installing mkdocs (once, about half a minute)"
    rm -rf $ENVIRONMENT
    .venv/bin/python -m venv $ENVIRONMENT
    $ENVIRONMENT/bin/python -m pip -qq --disable-pip-version-check install --require-hashes -r requirements-docs.lock
    cp requirements-docs.lock $ENVIRONMENT/requirements-docs.lock
fi
# mkdocs-material announces another product of its makers at each start; that is no warning about these pages.
NO_MKDOCS_2_WARNING=1 $ENVIRONMENT/bin/python -m mkdocs build --strict
echo "hilt docs: open build/site/index.html; with search: python3 -m http.server -d build/site"
