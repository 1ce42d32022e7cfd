# `make demo` and `make test` are all a newcomer needs; each installs what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
LOWEST := .venv-lowest
CORE := tests/test_publishing.py tests/noise tests/counting tests/release tests/query tests/notebook tests/web tests/cli tests/engines
# Each process works on neighbouring tests, which share what they set up.
PYTEST := pytest -n 2 --dist worksteal
# Compiled Python is kept, also where the environment asks for none: tests start many processes.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test check thorough trust properties lowest lint audit bench pictures clean

# The whole story on generated data, in a minute.
demo: $(VENV)/.demo
	$(BIN)/hush demo

# Lint and every test, the attacks at their small size: five minutes on two cores.
test: $(VENV)/.test lint
	$(BIN)/$(PYTEST)

# More than `make test`: attacks at a middle size, most mutants, the code of all docs, the
# papers' experiments and the benchmarks at their quick size, the lowest versions: 45 minutes at most.
check: $(VENV)/.test lowest thorough
	$(BIN)/$(PYTEST) --check tests/trust
	rm -rf build/check && mkdir -p build/check
	$(BIN)/hush reproduce --all --quick -o build/check/papers
	$(BIN)/python -m benchmarks --quick --no-peers --out build/check/benchmarks.md

# More of what `make test` shows in small: every page of the docs, every figure.
thorough: $(VENV)/.test
	$(BIN)/$(PYTEST) -m thorough

# Every attack at its full size, every mutant, every property test on ten times as many examples.
trust: $(VENV)/.test
	$(BIN)/$(PYTEST) --trust tests/trust
	$(BIN)/$(PYTEST) --trust -m 'hypothesis or thorough' --ignore=tests/trust

# The property tests alone, on other examples for every seed: make properties SEEDS=50
SEEDS ?= 10
properties: $(VENV)/.test
	@failed=0; for seed in $$(seq $(SEEDS)); do \
	  $(BIN)/$(PYTEST) -m hypothesis --hypothesis-seed=$$seed \
	    || { echo "seed $$seed failed"; failed=1; }; \
	done; exit $$failed

# The core tests with the lowest version of everything that pyproject.toml allows.
lowest: $(LOWEST)/.test
	$(LOWEST)/bin/$(PYTEST) $(CORE)

# Style and types.
lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The pictures of web pages and notebooks in the docs, taken anew by the tests in a browser.
pictures: $(VENV)/.test
	$(BIN)/pytest -m "" tests/web/test_browser.py tests/notebook/test_notebook_pictures.py \
		--pictures docs/images

# Every mechanism attacked; with more patience: make audit AUDIT="--nightly -o audits.md"
AUDIT ?=
audit: $(VENV)/.demo
	$(BIN)/hush audit $(AUDIT)

# The size and the parts, for instance: make bench BENCH="--quick --only noise,counting"
BENCH ?=
bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(BENCH)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "hushtable needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml papers/pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]' -e papers
	touch $@ $(VENV)/.demo

# Pins that exclude each other are refused by pip: a bound is then not true.
$(LOWEST)/.test: pyproject.toml .ci/lowest.py
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python .ci/lowest.py test > $(LOWEST)/lowest.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check -r $(LOWEST)/lowest.txt -e . -e papers
	touch $@

$(VENV)/.bench: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	touch $@

clean:
	rm -rf $(VENV) $(LOWEST) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
