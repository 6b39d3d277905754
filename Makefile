# Everything happens in .venv: needed are Python 3.11 or newer, make and git. Each target installs what it needs, once.
#
#   make test PYTHON=/path/to/python3.12    another Python (after `make clean`)
#   make test PYTEST_ARGS="-k fold --no-cov"    arguments for pytest
#   make mutants MUTANTS=turns.is_question      the mutants with that in their names

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?=
SECONDS ?= 600
PYTEST_ARGS ?=
MUTANTS ?=
CODE := langchain_mentor_reducer tests scripts
BIN := .venv/bin
UV := VIRTUAL_ENV=$(CURDIR)/.venv $(BIN)/uv
GROUPS := setup demo test lint integration acceptance bench notebooks dist

.PHONY: help
help:  ## Show this help
	@grep -hE '^[a-z_]+:.*  ## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z_]+):.*  ## /\1\t/' | expand -t 20

# --- environment -----------------------------------------------------------------------------------------------------

.venv/.uv: constraints.txt
	@for python in $(or $(PYTHON),python3.11 python3 python3.12 python3.13); do \
		if "$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
			set -ex; \
			test -x $(BIN)/python || "$$python" -m venv .venv; \
			$(BIN)/python -m pip install --quiet --constraint constraints.txt uv; \
			touch $@; \
			exit 0; \
		fi; \
	done; \
	echo "no Python 3.11 or newer found; name one: make PYTHON=/path/to/python3.11" >&2; exit 1

# One stamp for each dependency group.
.venv/.%: .venv/.uv pyproject.toml constraints.txt
	$(UV) pip install --quiet --constraint constraints.txt --build-constraint constraints.txt \
		--group $* --editable '.[agents]'
	@touch $@

# --- use -------------------------------------------------------------------------------------------------------------

.PHONY: demo
demo: .venv/.demo  ## Show a real reduction and why, then an agent on SQLite and its follow-up
	$(BIN)/python -m langchain_mentor_reducer
	$(BIN)/python -m scripts.demo_agent

# --- check -----------------------------------------------------------------------------------------------------------

.PHONY: test
test: .venv/.test  ## Unit tests and every example in the docs, with branch coverage (no network)
	$(BIN)/python -m pytest --disable-socket --allow-unix-socket --cov=langchain_mentor_reducer \
		tests/unit_tests $(PYTEST_ARGS)

.PHONY: integration_tests
integration_tests: .venv/.integration  ## Tests with real servers, databases and clients on this machine
	$(BIN)/python -m pytest tests/integration_tests $(PYTEST_ARGS)

.PHONY: acceptance
acceptance: .venv/.acceptance  ## Reduced histories against validators that others wrote
	$(BIN)/python -m pytest tests/acceptance $(PYTEST_ARGS)

.PHONY: fuzz
fuzz: .venv/.acceptance  ## Look for a history that breaks a promise, for SECONDS=600
	$(BIN)/python -m tests.fuzz --seconds $(SECONDS)

.PHONY: mutants
mutants: .venv/.test  ## Break the rule and what it stands on, on purpose, and name what no test noticed
	$(BIN)/python -m tests.mutants $(if $(MUTANTS),'$(MUTANTS)')

.PHONY: notebooks
notebooks: .venv/.notebooks  ## Run the notebooks again and compare their outputs
	$(BIN)/python -m pytest tests/notebooks $(PYTEST_ARGS)

.PHONY: lint
lint: .venv/.lint check_imports  ## Style, format, types and the arrows between modules
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy $(CODE)
	$(BIN)/basedpyright --pythonpath $(BIN)/python

.PHONY: check_imports
check_imports: .venv/.lint  ## The arrows between modules alone
	$(BIN)/lint-imports --no-cache

.PHONY: format
format: .venv/.lint  ## Format the code and mend what ruff can mend
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

# --- measure ---------------------------------------------------------------------------------------------------------

.PHONY: bench
bench: .venv/.bench  ## Speed, side by side with trim_messages and others
	$(BIN)/python -m tests.benchmarks

.PHONY: cache
cache: .venv/.bench  ## What a steady window saves under a prompt cache
	$(BIN)/python -m tests.benchmarks.cache

.PHONY: facts
facts: .venv/.test  ## What a window still knows of what the model goes on to use
	$(BIN)/python -m tests.benchmarks.facts

# --- release ---------------------------------------------------------------------------------------------------------

.PHONY: dist
dist: .venv/.dist  ## Build wheel and sdist, check them, run the README's example from the wheel
	rm -rf dist
	$(BIN)/python -m build --installer uv
	$(BIN)/twine check --strict dist/*
	$(BIN)/python scripts/check_dist.py

.PHONY: wheels
wheels: .venv/.dist  ## Run the wheel on each Python found, with the lowest and the newest versions it claims
	$(BIN)/python scripts/check_wheels.py

.PHONY: constraints
constraints: .venv/.uv  ## Write constraints.txt anew: the newest versions that every group can share
	$(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --no-annotate --no-header \
		--extra agents $(addprefix --group ,$(GROUPS)) --output-file constraints.txt pyproject.toml

.PHONY: clean
clean:  ## Remove the environment and everything that was built
	rm -rf .venv dist .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +
