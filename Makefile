# `make demo` and `make test` work alone on a fresh clone: each target sets up what it needs.

PYTHON ?= python3
PY := .venv/bin/python
ARGS ?=

# Surroundings that forbid it (container images often do) would have every worker of every run rewrite and compile the
# assertions of all tests anew, and every process that a test starts compile its modules.
export PYTHONDONTWRITEBYTECODE :=

VENV_STAMP := .venv/.installed
NPM_STAMP := tests/fixtures/npm/node_modules/.installed
MCP1_STAMP := .tools/mcp1/.installed
CONFORMANCE_STAMP := tests/fixtures/conformance/node_modules/.installed
MEMTOMEM_STAMP := .tools/memtomem/.installed

.PHONY: help setup demo test test-slow lint format bench test-env clean conformance bench-edges bench-surfacing bench-analytics docs ltm-env bench-quality bench-compress fuzz

help:
	@echo "make setup            create .venv with everything for development"
	@echo "make demo             the guided demonstration (no network beyond the set-up)"
	@echo "make test             the tests; make test ARGS='tests/bus -x' for some"
	@echo "make test-slow        the others: whole clusters killed and replaced, official suites"
	@echo "make lint             ruff, mypy, import rules"
	@echo "make format           let ruff format and fix"
	@echo "make bench            what the gateway costs, beside no gateway"
	@echo "make bench-analytics  what recording, loading and asking cost"
	@echo "make docs             write docs/commands.md anew"
	@echo "make bench-edges      lists, starts and cached calls, beside what they may cost"
	@echo "make bench-surfacing  how often the right memory is shown"
	@echo "make ltm-env          the public memory server for the contract tests (Python 3.12 or later)"
	@echo "make conformance      the official conformance suites, directly and behind the gateway"
	@echo "make bench-quality    what survives compression; ARGS='--corpus DIR' for your own payloads"
	@echo "make bench-compress   what compression costs, by kind and size"
	@echo "make fuzz             random texts against the compressor for some ten minutes"
	@echo "make test-env         the official servers and the older client that some tests use"
	@echo "make clean            remove everything that the other targets made"

setup: $(VENV_STAMP)

$(VENV_STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else f"Python 3.11 or later is needed, this is {sys.version.split()[0]}; run: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(PY) -m pip install --quiet --disable-pip-version-check --editable . --group dev
	$(PY) -m compileall -q bus actors gateway cli config
	@touch $@

# The official servers are optional: without Node.js their tests are skipped, and say so.
$(NPM_STAMP): tests/fixtures/npm/package-lock.json
	@if command -v npm >/dev/null; then \
		echo "npm ci --prefix tests/fixtures/npm"; \
		npm ci --prefix tests/fixtures/npm --no-audit --no-fund --loglevel=error && touch $@; \
	else \
		echo "npm is not installed: the tests with the official servers will be skipped"; \
	fi

# An environment of its own, because mcp 1.x and the mcp 2.x that we depend on exclude each other.
$(MCP1_STAMP): tests/fixtures/clients/requirements.txt
	$(PYTHON) -m venv .tools/mcp1
	.tools/mcp1/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

# The conformance suites, with a Node.js of their own: they need version 22.
$(CONFORMANCE_STAMP): tests/fixtures/conformance/package-lock.json
	@if command -v npm >/dev/null; then \
		echo "npm ci --prefix tests/fixtures/conformance"; \
		npm ci --prefix tests/fixtures/conformance --no-audit --no-fund --loglevel=error && touch $@; \
	else \
		echo "npm is not installed: the conformance suites will be skipped"; \
	fi

test-env: $(NPM_STAMP) $(MCP1_STAMP) $(CONFORMANCE_STAMP)

conformance: $(VENV_STAMP) $(CONFORMANCE_STAMP)
	@$(PY) -m tests.conformance

# The public memory server, which needs Python 3.12; without it the contract tests run with the embedded one only.
$(MEMTOMEM_STAMP): tests/fixtures/memtomem_env.py
	$(PYTHON) -m tests.fixtures.memtomem_env .tools/memtomem
	@touch $@

ltm-env: $(MEMTOMEM_STAMP)

bench-surfacing: $(VENV_STAMP)
	@$(PY) -m tests.bench.surfacing $(ARGS)

demo: $(VENV_STAMP)
	@.venv/bin/mms demo

# Whoever names tests gets what is named.
test: $(VENV_STAMP) test-env
	@$(PY) -m pytest -n 3 --dist loadfile $(if $(ARGS),$(ARGS),-m "not slow")

test-slow: $(VENV_STAMP) test-env
	@$(PY) -m pytest -n 3 --dist loadfile -m slow $(ARGS)

lint: $(VENV_STAMP)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

format: $(VENV_STAMP)
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

bench-analytics: $(VENV_STAMP)
	@$(PY) -m tests.bench.analytics $(ARGS)

docs: $(VENV_STAMP)
	@$(PY) -m tests.docs.commands --write

bench: $(VENV_STAMP)
	@$(PY) -m tests.bench.calls $(ARGS)

bench-edges: $(VENV_STAMP)
	@$(PY) -m tests.bench.edges $(ARGS)

bench-quality: $(VENV_STAMP)
	@$(PY) -m tests.bench.quality $(ARGS)

bench-compress: $(VENV_STAMP)
	@$(PY) -m tests.bench.compress $(ARGS)

fuzz: $(VENV_STAMP)
	@HYPOTHESIS_PROFILE=fuzz $(PY) -m pytest tests/actors/compressor/test_fuzz.py $(ARGS)

clean:
	rm -rf .venv .tools tests/fixtures/npm/node_modules tests/fixtures/conformance/node_modules tests/bench/results
	rm -rf build dist ./*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .xprocess
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
