# Every target sets up what it needs in .venv; nothing else has to be installed but Python 3.11+ and make.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
INSTALLED := $(VENV)/.installed
READY := $(VENV)/.ready
DATA ?= ../shared/datasets
FETCHED ?= .data

# The versions that development is done with; `make CONSTRAINTS= ...` takes the newest instead.
CONSTRAINTS ?= constraints.txt

# Bytecode is kept, also where the environment forbids it: the tests start hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-all test-data test-processors test-dependencies coverage lint lock release bench paper rivals clean docs docs-serve

# Finegold and the 14 packages that it needs.
$(INSTALLED): pyproject.toml
	@echo "Finegold and the packages that it needs (640 MB) are installed into $(VENV), once."
	$(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --disable-pip-version-check -e .
	touch $(INSTALLED)

# Dependency groups need pip 25.1; the pip of a new environment may be older.
$(READY): $(INSTALLED) pyproject.toml $(CONSTRAINTS)
	@echo "Tools for tests, benchmarks and documentation are installed into $(VENV), once."
	$(RUN) -m pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(RUN) -m pip install --quiet --disable-pip-version-check --group dev -e ".[all]" $(if $(CONSTRAINTS),-c $(CONSTRAINTS))
	touch $(READY)

demo: $(INSTALLED)
	$(VENV)/bin/finegold demo
	@echo "To type finegold instead of $(VENV)/bin/finegold: . $(VENV)/bin/activate"

lint: $(READY)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports

# Three processes use two cores well: some tests wait for browsers, servers and signals. tests/conftest.py orders the files.
# Each uses one thread where libraries would start more.
PARALLEL := -n 3 --dist loadfile --no-loadscope-reorder
test test-all test-data test-processors coverage: export OPENBLAS_NUM_THREADS := 1
test test-all test-data test-processors coverage: export POLARS_MAX_THREADS := 1
test: lint
	$(RUN) -m pytest $(PARALLEL) -m "not slow"

test-all: lint
	HYPOTHESIS_PROFILE=thorough $(RUN) -m pytest $(PARALLEL)

# The numerical tests on the paper's data sets, which are fetched and checked; without network those on the sample remain.
PUBLIC := val7 aircr cf fact ms dog face adult val5 web
NUMERICAL := methods paper votes/test_sample.py
test-data: $(READY)
	-$(RUN) -m paper.data $(FETCHED)/datasets $(PUBLIC)
	FINEGOLD_TEST_DATA=$(FETCHED) $(RUN) -m pytest $(PARALLEL) -m "not slow" -rs $(NUMERICAL:%=tests/%)

# The numerical tests as other processors compute them; the first takes minutes, since all kernels are compiled anew.
test-processors: $(READY)
	NUMBA_CPU_NAME=generic $(RUN) -m pytest $(PARALLEL) -m "not slow" tests/methods tests/kernels
	NUMBA_CPU_NAME=haswell $(RUN) -m pytest $(PARALLEL) -m "not slow" tests/methods
	NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4 AVX512_ICL AVX512_SPR" $(RUN) -m pytest $(PARALLEL) -m "not slow" tests/methods

# The tests with the oldest and with the newest versions that pyproject.toml allows, each in an environment of its own.
test-dependencies: $(READY)
	$(RUN) -m uv run --isolated --resolution lowest-direct --all-extras --group dev pytest $(PARALLEL) -m "not slow" -W ignore::DeprecationWarning
	$(RUN) -m uv run --isolated --resolution highest --all-extras --group dev pytest $(PARALLEL) -m "not slow"

# The tables and figures of the PTBCC paper, compared with the printed numbers; data sets are fetched if there are none.
OUT ?= .paper
paper: $(READY)
	$(RUN) -m paper --data $(if $(wildcard $(DATA)),$(DATA),$(FETCHED)/datasets) --out $(OUT)

bench: $(READY)
	$(RUN) -m bench.speed.ptbcc --data $(DATA)
	$(RUN) -m bench.speed.start_up

rivals: $(READY)
	$(RUN) -m bench.rivals.rivals --data $(DATA)

# Built without warnings, and to be read from the disk: site/index.html
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build

docs-serve: $(READY)
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs serve --no-strict

# Which lines the tests run: a table here, and pages in htmlcov/.
coverage: $(READY)
	$(RUN) -m pytest $(PARALLEL) -m "not slow" --cov --cov-report=term:skip-covered --cov-report=html

# constraints.txt anew, with the newest versions, and the same with checksums. Neither has addresses.
COMPILE := -m uv pip compile pyproject.toml --extra all --group dev --universal --python-version 3.11 \
	--no-annotate --no-header --quiet
lock: $(READY)
	$(RUN) $(COMPILE) --upgrade --output-file constraints.txt
	$(RUN) $(COMPILE) --constraint constraints.txt --generate-hashes --output-file constraints-hashes.txt

# sdist and wheel in dist/, checked and tried in a fresh environment, then a tag. DRY_RUN=1 leaves out the tag.
release: $(READY)
	$(RUN) tools/release.py $(if $(DRY_RUN),--dry-run)

clean:
	rm -rf $(VENV) finegold-demo site dist htmlcov
