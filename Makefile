# hilt: `make run` and `make test` set everything up by themselves, in .venv.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.DEFAULT_GOAL := help
.PHONY: help run cockpit test check wheel bench docs lock clean

help:  ## show this help
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements.lock pyproject.toml tools/setup.sh
	@PYTHON="$(PYTHON)" sh tools/setup.sh

run: $(READY)  ## run the main job: a docking contact on a robot 20 ms late, untreated and compensated
	@$(BIN)/hilt compare docking --scenario table1 --set robot.delay="20 ms" --over compensate.method=none,pida,twin

cockpit: $(READY)  ## watch, drive and stop runs in a browser
	@sh tools/build_page.sh
	@$(BIN)/hilt cockpit

test:  ## all tests, also with bounds checks and without the compiler
	@PYTHON="$(PYTHON)" MAKE="$(MAKE)" sh tools/test.sh

check: $(READY)  ## formatting, lint, types, generated docs and the site, known vulnerabilities
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@MYPY_CACHE_DIR="$${XDG_CACHE_HOME:-$${HOME:-.}/.cache}/hilt-mypy" $(BIN)/mypy # shared with other checkouts
	@$(BIN)/python tools/make_docs.py --check
	@sh tools/build_site.sh
	@$(BIN)/python tools/audit.py

wheel: $(READY)  ## build dist/hilt-*.whl with the cockpit's page: pip install it anywhere
	@sh tools/build_page.sh
	@$(BIN)/python -m hatchling build -t wheel

bench: $(READY)  ## tick cost beside C++ and NumPy, allocations, start time (JSON lines)
	@sh tools/bench.sh

docs: $(READY)  ## write the generated pages of docs/ and build the site: build/site/index.html
	@$(BIN)/python tools/make_docs.py
	@sh tools/build_site.sh

lock: $(READY)  ## pin the dependencies again (needs uv on the PATH)
	@uv pip compile --quiet --no-header --generate-hashes --python-version 3.11 --extra dev pyproject.toml -o requirements.lock
	@uv pip compile --quiet --no-header --generate-hashes --python-version 3.11 --group pyproject.toml:docs -o requirements-docs.lock
	@uv pip compile --quiet --no-header --generate-hashes --python-version 3.11 --group pyproject.toml:peers -o requirements-peers.lock

clean:  ## remove the environment, caches and runs
	rm -rf src/hilt/cockpit/static src/hilt/cockpit/page/node_modules
	rm -rf .venv .venv-peers .pytest_cache .ruff_cache .hypothesis runs build dist
