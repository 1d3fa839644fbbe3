# Every target sets up what it needs in .venv; nothing else has to be installed but Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
DATA ?= ../shared/datasets

.PHONY: demo test test-all lint bench rivals clean

$(READY): pyproject.toml requirements-dev.txt
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check -e . -r requirements-dev.txt
	touch $(READY)

demo: $(READY)
	$(VENV)/bin/karat demo

lint: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

test: lint
	$(RUN) -m pytest -n 2 -m "not slow"

test-all: lint
	$(RUN) -m pytest -n 2

bench: $(READY)
	$(RUN) bench/ptbcc.py --data $(DATA)
	$(RUN) bench/start_up.py

rivals: $(READY)
	$(RUN) bench/rivals.py --data $(DATA)

clean:
	rm -rf $(VENV) karat-demo
