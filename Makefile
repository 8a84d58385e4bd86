# `make help` lists the targets.

PYTHON ?= $(shell for python in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
VENV := .venv
BIN := $(VENV)/bin
DEMO := demo

.DEFAULT_GOAL := help
.PHONY: help demo test bench accept format lint types wheel lock clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "%-8s %s\n", $$1, $$2 }' Makefile

demo: $(VENV)/.installed ## Read the sample campaign and make its report
	@mkdir -p $(DEMO)
	$(BIN)/incidentlab report sample_logs/llama3_54d -d $(DEMO)/incidentlab.duckdb -o $(DEMO)/incidentlab-report.html
	@echo "The report is here: file://$(CURDIR)/$(DEMO)/incidentlab-report.html"

test: $(VENV)/.installed-dev ## Run all tests
	$(BIN)/python -m pytest -n auto --dist loadfile

bench: $(VENV)/.installed-dev ## Measure beside other programs into docs/performance.md; takes an hour and 5 GB
	$(BIN)/python -m benchmarks --output docs/performance.md

accept: $(VENV)/.installed-dev ## Take over what changed in the golden files, and show it
	$(BIN)/python -m pytest --accept -s

format: $(VENV)/.installed-dev ## Format the Python code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(VENV)/.installed-dev ## Check format and style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.installed-dev ## Check the types
	$(BIN)/mypy

wheel: $(VENV)/.installed-dev ## Build the source archive and, from it, the wheel
	rm -rf dist
	$(BIN)/python -m build

lock: $(BIN)/python ## Try the newest versions that the bounds allow, and pin them for development
	rm -rf $(VENV)-lock
	$(BIN)/python -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet '.[dev]'
	{ echo "# The versions that the tests ran with last; \`make lock\` writes this file again."; \
	  $(VENV)-lock/bin/python -m pip freeze | grep -v '^incidentlab'; } > requirements-dev.lock
	rm -rf $(VENV)-lock

clean: ## Remove what the other targets made
	rm -rf $(VENV) $(VENV)-lock $(DEMO) dist build tests/actual

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "incidentlab needs Python 3.11 or newer; name one: make PYTHON=/path/to/python3" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"incidentlab needs Python 3.11 or newer, {sys.executable} is {sys.version.split()[0]}")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml requirements-dev.lock | $(BIN)/python
	@echo "installing into $(VENV); this takes about a minute ..."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements-dev.lock --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint requirements-dev.lock --editable '.[dev]'
	@touch $@
