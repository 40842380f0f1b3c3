# smidgen: `make serve` runs the main job, `make test` passes the tests. Each target sets up what it needs.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help serve core core-sanitize bits test test-long test-postgresql test-ray simulate coverage faults faults-table check format listings surface golden docs docs-serve papers bench bench-quick bench-scaling bench-service test-typescript test-generated package clean
help: ## show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

# What compiles the core comes first: then pip, which uses one processor, gets the rest while the core is compiled.
BUILDER := --quiet --no-compile --constraint constraints.txt numpy hatchling editables
INSTALL := SMIDGEN_CORE=later $(BIN)/pip install --quiet --no-compile --no-build-isolation --constraint constraints.txt

$(VENV)/.ready: pyproject.toml papers/pyproject.toml constraints.txt build_core.py hatch_build.py
	@echo "setting up: the environment in $(VENV), the core, and the packages that the tests need (a minute and a half)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install $(BUILDER)
# The level of this machine, and the oldest, which the tests compare with it; the nightly tests compile the others.
	{ $(BIN)/python build_core.py --native --no-stubs && $(BIN)/python build_core.py --oldest --no-stubs; } & levels=$$!; \
	$(INSTALL) --editable ".[dev,docs]" --editable papers && wait $$levels
	@$(BIN)/python -m compileall -q -j 0 src papers/src  # else each process of the tests does it
	touch $@ $(VENV)/.serving

$(VENV)/.serving: pyproject.toml constraints.txt build_core.py hatch_build.py
	@echo "setting up: the environment in $(VENV), then the core (half a minute), then the packages of the service"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install $(BUILDER)
	@$(BIN)/python build_core.py --native
	@$(INSTALL) --editable ".[service]"
	@touch $@

serve: $(VENV)/.serving ## set up and run the main job: the decision service with its dashboard on http://127.0.0.1:8470 (PORT=…)
	@$(BIN)/python build_core.py --native
	@$(BIN)/smidgen serve $(if $(PORT),--port $(PORT))

core: $(VENV)/.ready ## compile what has changed of the core, and write the types of its entry points
	$(BIN)/python build_core.py

core-sanitize: $(VENV)/.ready ## the core with AddressSanitizer and UndefinedBehaviorSanitizer, under the fuzzer; `make core` afterwards
	$(BIN)/python build_core.py --native --sanitize
	LD_PRELOAD="$$(g++ -print-file-name=libasan.so) $$(g++ -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=tests $(BIN)/python -m core.fuzz $(or $(CALLS),1000000)

bits: core ## record the digests of every learner's bits (tests/core/bits.json), after a change that is meant to change them
	cd tests && PYTHONPATH=. ../$(BIN)/python -m core.play record

# In the order of tests/conftest.py. Bytecode is kept, or each of the many services that are started would compile its
# sources again.
# Two processes more than cores: many tests wait for another process, a lease or a browser.
PROCESSES := $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))
TOGETHER := --numprocesses $(PROCESSES) --maxprocesses 5 --dist loadfile --no-loadscope-reorder
test test-postgresql: export PYTHONDONTWRITEBYTECODE :=
# The players of the papers run as plain Python here: to compile them takes two minutes. `make test-long` compiles them.
test: export NUMBA_DISABLE_JIT := 1
test: $(VENV)/.ready ## set up and run the tests
	$(BIN)/python -m pytest -m "not long" $(TOGETHER)

test-long: $(VENV)/.ready ## run the tests that take minutes, and those of the papers with compiled kernels
	$(BIN)/python -m pytest -m long
	$(BIN)/python -m pytest -m "hypothesis and not long" --hypothesis-profile nightly
	$(BIN)/python -m pytest -m "not long" tests/papers

test-ray: $(VENV)/.ready ## install Ray (250 MB) and run the tests that need it; nightly
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[ray]"
	$(BIN)/python -m pytest tests/jobs tests/papers/test_paper_runner.py tests/service/replay -k ray

simulate: $(VENV)/.ready ## play HISTORIES=… short histories of the engine from FIRST=… on, or replay SEED=… step by step (STORE=memory, shared or sqlite; SHRUNK=1 shrinks it first)
	PYTHONPATH=tests $(BIN)/python -m simulation $(if $(STORE),--store $(STORE)) \
		$(if $(SEED),--seed $(SEED) $(if $(SHRUNK),--shrunk),--first $(or $(FIRST),0) --histories $(or $(HISTORIES),1000))

test-postgresql: $(VENV)/.ready ## the tests of the service on PostgreSQL (needs its server: Debian's postgresql)
	SMIDGEN_TEST_STORE=postgresql $(BIN)/python -m pytest -m "not long" $(TOGETHER) tests/service

test-typescript: $(VENV)/.ready ## the TypeScript client, and published clients of others, against a real service (needs node)
	cd clients/typescript && npm install --no-audit --no-fund --no-package-lock --loglevel=error && \
		SMIDGEN="$(CURDIR)/$(BIN)/smidgen" npm test --loglevel=error
	cd clients/conformance && npm install --no-audit --no-fund --no-package-lock --loglevel=error && \
		SMIDGEN="$(CURDIR)/$(BIN)/smidgen" npm test --loglevel=error

# The generator needs another version of typer than we do: an environment of its own.
test-generated: $(VENV)/.ready ## generate a Python client, a Go client and TypeScript types from our OpenAPI document, and use them (needs node; Go and Java for the Go client)
	$(PYTHON) -m venv $(VENV)/generators
	$(VENV)/generators/bin/pip install --quiet openapi-python-client==0.29.1 openapi-generator-cli==7.26.0
	npm install --prefix $(VENV)/generators --no-audit --no-fund --no-package-lock --loglevel=error openapi-typescript@7.13.0 typescript@5.9.3
	OPENAPI_PYTHON_CLIENT="$(CURDIR)/$(VENV)/generators/bin/openapi-python-client" \
		OPENAPI_GENERATOR="$(CURDIR)/$(VENV)/generators/bin/openapi-generator-cli" \
		OPENAPI_TYPESCRIPT="$(CURDIR)/$(VENV)/generators/node_modules/.bin" $(BIN)/python -m pytest tests/service/http/test_openapi.py

package: $(VENV)/.ready ## build wheels and sdists of smidgen and of the papers, install each into an empty environment, and try it (PYTHONS="python3.12 …": for other interpreters too)
	bash .ci/smoke $(PYTHONS)

COVERING := tests/service/test_engine.py \
	$(patsubst %,tests/service/storage/test_%.py,stores store_edges heads snapshots permissions) \
	$(patsubst %,tests/service/admin/test_%.py,fsck backup) \
	$(patsubst %,tests/service/cli/test_%.py,service_commands) \
	$(patsubst %,tests/service/http/test_%.py,tokens ready rewards) \
	$(patsubst %,tests/service/ope/test_%.py,whatif) \
	$(patsubst %,tests/service/engine/test_%.py,learner_cache survivors undone_events forgetting rollback live_settings teach retention copies event_types)
coverage: $(VENV)/.ready ## every branch of store, log, snapshots and tokens is tested (which files: pyproject.toml)
	$(BIN)/coverage run -m pytest -q -m "not long" $(COVERING)
	$(BIN)/coverage report

faults: $(VENV)/.ready ## kills, faults below SQLite and power loss, over a thousand services (an hour or two); writes the table into the pages
	rm -f faults.json
	SMIDGEN_FAULTS_JSON=faults.json $(BIN)/python -m pytest -q -m long tests/service/faults
	PYTHONPATH=tests:. $(BIN)/python -m service.faults.table faults.json

faults-table: $(VENV)/.ready ## write the table of the last run of faults into the pages
	PYTHONPATH=tests:. $(BIN)/python -m service.faults.table

check: $(VENV)/.ready ## ruff, mypy --strict, import-linter
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.ready ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

listings: $(VENV)/.ready ## write the lists of learners that people and type checkers read, from the register
	$(BIN)/python docs/extensions/listings.py

surface: $(VENV)/.ready ## write the snapshots of the public surface (HTTP, commands, names, codes, metrics), after a change that is meant
	$(BIN)/python tests/surface/snapshots.py

golden: $(VENV)/.ready ## write the golden files of the present format (or FORMAT=…), or add learners that are new; FORCE=1 overwrites, before a release only
	$(BIN)/python tests/golden/write.py $(FORMAT) $(if $(FORCE),--force)

docs: $(VENV)/.ready ## build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

docs-serve: $(VENV)/.ready ## show the documentation on this machine
	$(BIN)/mkdocs serve

$(VENV)/.bench: $(VENV)/.ready pyproject.toml constraints.txt
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[bench]"
	$(BIN)/pip install --quiet --constraint constraints.txt contextualbandits || echo "contextualbandits did not build: left out"
	touch $@

papers: $(VENV)/.ready ## run every experiment of the papers and write their pages (about an hour on two cores)
	$(BIN)/smidgen papers run --all
	$(BIN)/smidgen papers report
	$(BIN)/smidgen papers pages docs

bench: $(VENV)/.bench ## compare with peers, interleaved (some ten minutes); PAGE=docs/speed.md puts the results into the page
	$(BIN)/python -m benchmarks $(if $(PAGE),--page $(PAGE))

bench-quick: $(VENV)/.bench ## the same in two minutes: few rounds, small sizes
	$(BIN)/python -m benchmarks --quick

bench-scaling: $(VENV)/.bench ## time and memory against size, for every learner; PAGE=docs/speed.md as above
	$(BIN)/python -m benchmarks scaling $(if $(PAGE),--page $(PAGE))

bench-service: $(VENV)/.ready ## the decision service under load: requests, syncs, CPU, memory, recovery (about ten minutes); AGAINST=PATH measures another version's source in turns
	$(BIN)/python -m benchmarks.service $(if $(AGAINST),--against $(AGAINST))

clean: ## remove the environment and everything built
	rm -rf $(VENV) site build dist .coverage faults.json .pytest_cache .mypy_cache .ruff_cache .hypothesis
	rm -f src/smidgen/_core/*.so
	find src papers tests -name __pycache__ -type d -prune -exec rm -rf {} +
