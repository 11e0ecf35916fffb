PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: reproduce test test-slow bench clean

reproduce: $(READY)  ## verify every theorem
	$(BIN)/dph verify

test: $(READY)  ## style, types, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n auto -m 'not slow'

test-slow: $(READY)  ## the tests that train, kill and resume
	$(BIN)/python -m pytest -n auto -m slow

bench: $(READY)  ## speed: verification, the losses against the naive formulas, the audit's catalogue
	$(BIN)/python benchmarks/verification.py
	$(BIN)/python benchmarks/losses.py
	$(BIN)/python benchmarks/audit.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) build *.egg-info
