# Every target does its own set-up in .venv; nothing outside this folder is touched.

PY := .venv/bin/python
WERROR ?= OFF
ARGS ?=
PYTEST := $(PY) -m pytest -n auto --maxprocesses=4

# Two stamps: the locked packages, and the C++ kernel built into them.
PACKAGES := .venv/.packages
KERNEL := .venv/.kernel
KERNEL_SOURCES := CMakeLists.txt pyproject.toml $(shell find src/spantree/kernels/_native -type f)

.NOTPARALLEL:
.DEFAULT_GOAL := help
.PHONY: help setup run test slow lint format types docs doctest bench gallery notebooks wheel wheel-test lock check clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(KERNEL) ## Create .venv, install the locked packages, build the C++ kernel

run: $(KERNEL) ## A tour of the library in under a minute, with pictures in out/
	@.venv/bin/spantree demo $(ARGS)

test: $(KERNEL) ## Run the fast tests (ARGS="-k jet" chooses)
	$(PYTEST) $(ARGS)

slow: $(KERNEL) ## Run the slow tests
	$(PYTEST) -m slow $(ARGS)

lint: $(KERNEL) ## Check style, formatting, the direction of imports and the lock
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	.venv/bin/lint-imports --no-logo
	$(PY) -m pip check

format: $(PACKAGES) ## Format the code and fix what can be fixed
	$(PY) -m ruff format
	$(PY) -m ruff check --fix

types: $(KERNEL) ## Check the types
	$(PY) -m pyright

docs: $(KERNEL) ## Build the documentation into build/site
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet

doctest: $(KERNEL) ## Run the examples in docstrings, README and docs
	$(PY) -m pytest --doctest-modules --doctest-glob='*.md' src README.md docs

bench: $(KERNEL) ## Measure the engine and what is built on it (ARGS="--quick")
	$(PY) benchmarks/engine.py $(ARGS)
	$(PY) benchmarks/expectations.py $(ARGS)
	$(PY) benchmarks/decoding.py $(ARGS)
	$(PY) benchmarks/sampling.py $(ARGS)

notebooks: $(KERNEL) ## Build the notebooks of examples from their scripts, and execute them
	$(PY) tools/notebooks.py $(ARGS)

gallery: $(KERNEL) ## Draw every kind of picture into out/gallery, to be looked at
	$(PY) tools/gallery.py

wheel: $(KERNEL) ## Build a wheel into dist
	CXX="$$(cat $(KERNEL))" $(PY) -m pip wheel . --no-deps --no-build-isolation --wheel-dir dist $(BUILD_SETTINGS)

wheel-test: $(KERNEL) ## Build a wheel, install it into an empty environment, use it there
	CXX="$$(cat $(KERNEL))" $(PY) tools/check_wheel.py $(BUILD_SETTINGS)

lock: $(PACKAGES) ## Renew requirements/dev.lock
	$(PY) tools/lock.py

check: lint types test slow doctest docs run wheel-test ## Everything that must pass before a change lands

clean: ## Remove all that make has made
	rm -rf .venv build dist out .hypothesis .import_linter_cache .pytest_cache .ruff_cache

BUILD_SETTINGS := --config-settings=build-dir=build/native \
	--config-settings=cmake.define.SPANTREE_WERROR=$(WERROR)

# Put what tools/preflight.sh finds for python or compiler into FOUND_...; where it finds none, what it
# says is all that make says.
require = $(eval FOUND_$1 := $(shell sh tools/preflight.sh $1))\
	$(if $(filter /%,$(firstword $(FOUND_$1))),,$(error $(FOUND_$1)))

$(PACKAGES): requirements/dev.lock
	$(call require,python)$(call require,compiler)
	@echo "Installing the locked packages into .venv (a few minutes, once)"
	@rm -f $(KERNEL)
	@$(PY) -m pip --version >/dev/null 2>&1 || $(FOUND_python) -m venv --clear .venv
	@$(PY) -m pip install -qq --disable-pip-version-check --requirement $<
	@touch $@

# The stamp holds the compiler, which a build must be told: it would take the one that built Python.
$(KERNEL): $(PACKAGES) $(KERNEL_SOURCES)
	$(call require,compiler)
	@echo "Building the C++ kernel"
	@CXX="$(FOUND_compiler)" $(PY) -m pip install -qq --disable-pip-version-check \
		--no-deps --no-build-isolation --editable . $(BUILD_SETTINGS)
	@echo "$(FOUND_compiler)" >$@
