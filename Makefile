# Every target does its own set-up. State lives in .venv and build/, both ignored by git.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1

.PHONY: help setup demo test check format lint types layers bench detection e2e examples clean

help:  ## list the targets
	@grep -E '^[a-z0-9]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

# The stamps make a second run of a target free of the network.
$(VENV)/.demo: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[demo]'
	touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[demo]' --group test
	touch $@ $(VENV)/.demo

$(VENV)/.lint: pyproject.toml constraints.txt $(VENV)/.test
	$(BIN)/python -m pip install --quiet -c constraints.txt --group lint
	touch $@

# The peers pin other OpenTelemetry versions, so they live in an environment of their own.
build/bench-venv/.done: pyproject.toml
	$(PYTHON) -m venv build/bench-venv
	build/bench-venv/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	build/bench-venv/bin/python -m pip install --quiet -e '.[demo]' --group bench
	touch $@

# Older majors of the SDKs, on httpx instead of httpx2: the transparency tests run over both.
build/legacy/.done: tests/transparency/legacy-requirements.txt | $(VENV)/.test
	rm -rf build/legacy
	$(BIN)/python -m pip install --quiet --no-deps --target build/legacy -r $<
	touch $@

setup: $(VENV)/.lint  ## install everything a contributor needs

demo: $(VENV)/.demo  ## the founding story, end to end, on this machine
	$(BIN)/spanwitness demo

test: $(VENV)/.test build/legacy/.done  ## all tests that need no outside server
	PYTHONPATH=build/legacy $(BIN)/python -m pytest -q tests/transparency
	$(BIN)/python -m pytest -m "not e2e" -n auto

check: format lint types layers test  ## everything that must be green before a commit

format: $(VENV)/.lint
	$(BIN)/ruff format --check src tests examples benchmarks

lint: $(VENV)/.lint
	$(BIN)/ruff check src tests examples benchmarks

types: $(VENV)/.lint
	$(BIN)/mypy

layers: $(VENV)/.lint
	$(BIN)/lint-imports --no-logo

bench: build/bench-venv/.done  ## print the performance bars of benchmarks/README.md
	build/bench-venv/bin/python -m benchmarks

detection: $(VENV)/.test build/bench-venv/.done  ## recall and false alarms on real runs (needs ../shared/data, or DATA=folder)
	$(BIN)/python -m benchmarks.detection --peers build/bench-venv/bin/python $(if $(DATA),--data $(DATA))

e2e: $(VENV)/.test  ## tests against real backends, which its own scripts build and cache
	tests/e2e/browser.sh
	backends="$$(tests/e2e/backends.sh | tail -n 1)" && \
	  SPANWITNESS_BACKENDS="$$backends" $(BIN)/python -m pytest -m e2e tests/e2e

clean:
	rm -rf $(VENV) build dist
