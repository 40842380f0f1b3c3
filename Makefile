# smidgen: `make serve` runs the main job, `make test` passes the tests. Each target sets up what it needs.

VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help serve test test-long test-postgresql test-ray test-nojit coverage faults faults-table check format listings golden docs docs-serve papers bench bench-quick bench-scaling bench-service test-typescript package clean
help: ## show this help
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[dev,docs]"
	touch $@ $(VENV)/.serving

$(VENV)/.serving: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --no-compile --constraint constraints.txt --editable ".[service]"
	touch $@

serve: $(VENV)/.serving ## set up and run the main job: the decision service with its dashboard on http://127.0.0.1:8470 (PORT=…)
	$(BIN)/smidgen serve $(if $(PORT),--port $(PORT))

# File by file, in the order of tests/conftest.py. Bytecode is kept, or each of the many services that are started would
# compile its sources again.
TOGETHER := --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder
test test-postgresql: export PYTHONDONTWRITEBYTECODE :=
test: $(VENV)/.ready ## set up and run the tests
	$(BIN)/python -m pytest -m "not long" $(TOGETHER)

test-long: $(VENV)/.ready ## run the tests that take minutes
	$(BIN)/python -m pytest -m long

test-ray: $(VENV)/.ready ## install Ray (250 MB) and run the tests that need it; nightly
	$(BIN)/pip install --quiet --constraint constraints.txt --editable ".[ray]"
	$(BIN)/python -m pytest tests/jobs tests/papers/test_paper_runner.py tests/service/replay -k ray

test-nojit: $(VENV)/.ready ## run the kernels as plain Python, so that a debugger or a coverage tool sees them
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -m "not long" -W ignore::RuntimeWarning tests/laws tests/geometry tests/state tests/optim tests/learners

test-postgresql: $(VENV)/.ready ## the tests of the service on PostgreSQL (needs its server: Debian's postgresql)
	SMIDGEN_TEST_STORE=postgresql $(BIN)/python -m pytest -m "not long" $(TOGETHER) tests/service

test-typescript: $(VENV)/.ready ## the TypeScript client, and published clients of others, against a real service (needs node)
	cd clients/typescript && npm install --no-audit --no-fund --no-package-lock --loglevel=error && \
		SMIDGEN="$(CURDIR)/$(BIN)/smidgen" npm test --loglevel=error
	cd clients/conformance && npm install --no-audit --no-fund --no-package-lock --loglevel=error && \
		SMIDGEN="$(CURDIR)/$(BIN)/smidgen" npm test --loglevel=error

package: $(VENV)/.ready ## build wheel and sdist, install each into an empty environment, and try it
	bash .ci/smoke

COVERING := stores store_edges heads snapshots upgrade service_commands tokens whatif learner_cache engine survivors \
	fold forgetting undoing amending examples rewards fsck backup modes ready retention copies kinds_of_events
coverage: $(VENV)/.ready ## every branch of store, log, snapshots and tokens is tested (which files: pyproject.toml)
	$(BIN)/coverage run -m pytest -q -m "not long" $(COVERING:%=tests/service/test_%.py)
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

FORMAT := 1.0
golden: $(VENV)/.ready ## write the golden files of a format that is new (FORMAT=1.0), or of learners that are; FORCE=1 overwrites, before a release only
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
	rm -rf $(VENV) site dist .coverage faults.json .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
