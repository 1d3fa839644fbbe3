# Every target sets up what it needs in .venv; nothing else has to be installed but Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
DATA ?= ../shared/datasets

.PHONY: demo test test-all test-dependencies lint bench rivals clean docs docs-serve

# Karat and the 21 packages that it needs.
$(INSTALLED): pyproject.toml
	@echo "Karat and the packages that it needs (640 MB) are installed into $(VENV), once."
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --disable-pip-version-check -e .
	touch $(INSTALLED)

$(READY): $(INSTALLED) requirements-dev.txt
	@echo "Tools for tests, benchmarks and documentation are installed into $(VENV), once."
	$(RUN) -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	touch $(READY)

demo: $(INSTALLED)
	$(VENV)/bin/karat demo

lint: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(RUN) docs/check_docstrings.py

test: lint
	$(RUN) -m pytest -n 2 -m "not slow"

test-all: lint
	$(RUN) -m pytest -n 2

# The tests with the oldest and with the newest versions that pyproject.toml allows, in .environments.
test-dependencies: $(READY)
	$(RUN) tests/dependencies.py

bench: $(READY)
	$(RUN) bench/ptbcc.py --data $(DATA)
	$(RUN) bench/start_up.py

rivals: $(READY)
	$(RUN) bench/rivals.py --data $(DATA)

# Built without warnings, and to be read from the disk: site/index.html
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build

docs-serve: $(READY)
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs serve --no-strict

clean:
	rm -rf $(VENV) karat-demo site
