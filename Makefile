# `make demo` and `make test` set up everything they need in .venv.
# Bring an environment of your own with `make test VENV=/path/to/env`.
VENV ?= .venv
PYTHON ?= python3
PY := $(VENV)/bin/python
ENV := $(VENV)/.ready
TESTS ?= tests
PYTEST := $(PY) -m pytest -n 2 --dist worksteal
export OMP_WAIT_POLICY ?= PASSIVE
PINS := requirements/pinned.txt

.PHONY: demo test test-slow test-stack lint bench bench-peers docs env clean

# three methods from one shared step 0; a second call goes on where it stopped
demo: $(ENV)
	@$(PY) tools/run_demo.py

test: $(ENV)
	$(PYTEST) $(TESTS)

# goes on where it stopped; SLOW='--fresh' or file names, SYSTEM=1 for apt
test-slow: $(ENV)
	$(PY) tools/slow_tests.py --install $(if $(SYSTEM),--system) $(SLOW)

# the fast tests with other releases of OpenMMLab, in a folder of their own:
# make test-stack STACK=classic|continuation [PYTHON=python3.10] [TESTS=...]
STACK ?= continuation
STACK_PY := .stacks/$(STACK)/bin/python
STACK_ENV := .stacks/$(STACK)/.ready

test-stack: $(STACK_ENV)
	PYTHONPATH=$(CURDIR) $(STACK_PY) -m pytest -n 2 --dist worksteal \
	  -m 'not slow' $(TESTS)

# torch first: mmcv builds its operators where it finds one, so it is built
# in a place without
$(STACK_ENV): requirements/stacks/$(STACK).txt requirements/stacks/$(STACK)-mmcv.txt
	@test -x $(STACK_PY) || $(PYTHON) -m venv .stacks/$(STACK)
	@$(STACK_PY) -m pip install --quiet -r requirements/stacks/$(STACK).txt
	@MMCV_WITH_OPS=0 $(STACK_PY) -m pip install --quiet --no-deps \
	  -r requirements/stacks/$(STACK)-mmcv.txt
	@PYTHONPATH=$(CURDIR) $(STACK_PY) tools/doctor.py
	@touch $@

lint: $(ENV)
	$(PY) -m ruff check .

# all benchmarks, into docs/benchmarks.md; BENCH='--data-root MNIST' for real MNIST
bench: $(ENV)
	$(PY) benchmarks $(BENCH)

# other toolkits to compare with, in a folder of their own; torch is ours
bench-peers: $(ENV)
	$(PY) -m pip install --quiet --no-deps --upgrade --target benchmarks/.peers -r benchmarks/peers.txt

# the documentation as a site, in site/; fails on a broken link
docs: $(ENV)
	@$(PY) -m pip install --quiet -r requirements/docs.txt
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

env: $(ENV)

ifeq ($(VENV),.venv)
$(ENV): $(PINS) setup.py requirements/runtime.txt
	@echo "Setting up $(VENV) (once, a few minutes) ..."
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 13))' || { \
	  echo "$(PYTHON) must be Python 3.10 to 3.13: run make PYTHON=python3.11 ..."; exit 1; }
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@echo "  installing the versions of $(PINS)"
	@$(PY) -m pip install --quiet -r $(PINS)
	@echo "  installing mmseg_spwc in editable mode"
	@$(PY) -m pip install --quiet --no-deps --no-build-isolation -e .
	@$(PY) -c 'import mmseg_spwc; print("  ready: mmseg_spwc", mmseg_spwc.__version__)'
	@touch $@
else
.PHONY: $(ENV)
$(ENV):
	@$(PY) -c 'import mmseg_spwc' || { \
	  echo "$(VENV) cannot import mmseg_spwc; run: $(PY) -m pip install -e ."; exit 1; }
endif

clean:
	rm -rf .venv build dist *.egg-info .pytest_cache .ruff_cache
