# Everything that one types: `make run`, `make test`. Each target sets up what it needs, once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=
ARGS ?=

.PHONY: setup run test test-slow test-external external-llamafactory external-vllm lint format \
  bench bench-iteration bench-swap bench-rollouts figures student clean-venv

setup: $(VENV)/.installed

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "dataenvgym needs Python 3.11 or newer; name one with: make PYTHON=python3.12 ..."; exit 1; }
	@echo "Creating $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.dependencies: requirements.lock $(VENV)/.created
	@echo "Installing the pinned dependencies (some minutes, once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@touch $@

$(VENV)/.installed: setup.py $(VENV)/.dependencies
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --editable .
	@touch $@

# The default episode: an agent teaches the pocket student math. ARGS are Hydra overrides.
run: setup
	@$(BIN)/dataenvgym run --fresh $(ARGS)

test: setup
	$(BIN)/python -m pytest $(PYTEST_ARGS)

test-slow: setup
	$(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

# LLaMA-Factory and vLLM, each pinned in an environment of its own (some minutes and GB, once).
external-llamafactory external-vllm: external-%: setup
	$(BIN)/dataenvgym external install $*

test-external: external-llamafactory external-vllm
	$(BIN)/python -m pytest -m "external and not gpu" $(PYTEST_ARGS)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python -m benchmarks

# Needs no external program.
bench-rollouts: setup
	$(BIN)/python -m benchmarks.rollouts

# With LLaMA-Factory and vLLM themselves: the published protocol against ours, and adapter swaps.
bench-iteration: external-llamafactory external-vllm
	$(BIN)/python -m benchmarks.iteration

bench-swap: external-vllm
	$(BIN)/python -m benchmarks.swap

# The README's learning figures: 23 episodes, about 20 minutes.
figures: setup
	for figure in gain honesty strategies; do $(BIN)/python -m benchmarks.learning $$figure || exit 1; done

# Pretrains the pocket student anew (20 minutes); its figures must then be measured again.
student: setup
	$(BIN)/python -m dataenvgym.pocket.build

clean-venv:
	rm -rf $(VENV)
