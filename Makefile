# Every target sets up what it needs in .venv, from PyPI and without root. `make help` lists them.
#
# Variables: PYTHON (3.11 or newer, to make .venv with), VENV, JOBS (compilers at once),
# ARGS (more arguments for pytest, the demo or the benchmarks). Kept in build/dev once they are given:
# ISA (e.g. "baseline;avx2"), WERROR (ON: compiler warnings are errors).

PYTHON ?= python3
VENV ?= .venv
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
ISA ?=
WERROR ?=
ARGS ?=

# Quoted wherever they are used: a clone may be in a directory with spaces in its name.
BIN := $(if $(filter /%,$(VENV)),$(VENV),$(CURDIR)/$(VENV))/bin
PY := PYTHONPATH="$(CURDIR)" "$(BIN)/python"
REQUIREMENTS := pyproject.toml tools/requirements.py
CMAKE_OPTIONS = -DPython_EXECUTABLE="$(BIN)/python" -DCMAKE_MAKE_PROGRAM="$(BIN)/ninja" \
	$(if $(WERROR),-DEMBER_WERROR=$(WERROR))

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help build demo test bench wheel ecosystem asan tsan lint format stubs docs clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

build: $(VENV)/.build ## Compile ember/_C in place; incremental
	@"$(BIN)/cmake" --preset dev $(CMAKE_OPTIONS) $(if $(ISA),-DEMBER_ISA_LEVELS="$(ISA)") > /dev/null
	@"$(BIN)/cmake" --build --preset dev -j $(JOBS)
	@ln -sf build/dev/compile_commands.json .

demo: build $(VENV)/.examples ## Train a small network; writes runs/digits
	$(PY) examples/digits.py $(ARGS)

test: build $(VENV)/.test $(VENV)/.opencl $(VENV)/.dist $(VENV)/.jit ## Run the tests
	$(PY) -m pytest --timeout=300 -n auto $(ARGS)

bench: build $(VENV)/.oracle ## Compare speed and memory with torch, side by side
	$(PY) -m benchmarks $(ARGS)

wheel: $(VENV)/.wheel ## Build a wheel for other machines into dist, and try it without a compiler
	$(PY) tools/make_wheel.py $(ARGS)

ecosystem: build ## Run programs of libraries for PyTorch; writes docs/ecosystem.md
	$(PY) -m tests.ecosystem $(ARGS)

# --- Sanitizers ---------------------------------------------------------------------------------
# Python itself is not instrumented, so the sanitizers' run-time libraries must be loaded before it,
# and libstdc++ with them, or they miss C++ exceptions. Python's and numpy's allocations at exit are
# no leaks of ours. dlopen is called from within the sanitizer, which hides the rpath of _C. pytest
# must not capture file descriptor 2, where the report of an error goes. ARGS="-n 2" runs two
# processes; the report of one that dies is above the line that says so. The processes that tests start
# must not find ember/ of the checkout first, where another build is or none: hence the safe path and
# the import mode. The address sanitizer maps terabytes, which the limit of OpenCL builds must allow.
runtime = $(shell $${CXX:-g++} -print-file-name=$(1))

asan: $(VENV)/.build $(VENV)/.test ## Run the tests under ASan and UBSan (build/asan)
	@"$(BIN)/cmake" --preset asan $(CMAKE_OPTIONS) > /dev/null
	@"$(BIN)/cmake" --build --preset asan -j $(JOBS)
	env LD_PRELOAD="$(call runtime,libasan.so) $(call runtime,libubsan.so) $(call runtime,libstdc++.so.6)" \
	    LD_LIBRARY_PATH="$$("$(BIN)/python" tools/library_path.py)" \
	    ASAN_OPTIONS="detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1:$$ASAN_OPTIONS" \
	    UBSAN_OPTIONS="print_stacktrace=1:$$UBSAN_OPTIONS" EMBER_OPENCL_BUILD_MEMORY=100000000 \
	    PYTHONMALLOC=malloc PYTHONSAFEPATH=1 PYTHONPATH="$(CURDIR)/build/asan/site:$(CURDIR)" \
	    "$(BIN)/pytest" -o pythonpath="build/asan/site ." --import-mode=append --capture=sys --timeout=1800 $(ARGS)

# The tests that use threads. Blocks of Python's own allocator pass from thread to thread unseen, hence
# malloc. A forked child goes on, as workers of a DataLoader do. Addresses of the sanitizer must not be
# taken by others, for which the layout is fixed where the system lets us.
THREAD_TESTS = tests/threads tests/autograd tests/profiler tests/utils tests/test_multiprocessing.py \
	tests/test_linalg.py tests/test_fft.py tests/test_overrides.py tests/test_tensor_object.py \
	tests/test_odd_names.py tests/test_random.py tests/test_tiny.py
tsan: $(VENV)/.build $(VENV)/.test ## Run the tests that use threads under TSan (build/tsan)
	@"$(BIN)/cmake" --preset tsan $(CMAKE_OPTIONS) > /dev/null
	@"$(BIN)/cmake" --build --preset tsan -j $(JOBS)
	$$(setarch -R true 2> /dev/null && echo setarch -R) \
	env LD_PRELOAD="$(call runtime,libtsan.so) $(call runtime,libstdc++.so.6)" \
	    LD_LIBRARY_PATH="$$("$(BIN)/python" tools/library_path.py)" \
	    TSAN_OPTIONS="suppressions='$(CURDIR)/tools/tsan.supp':die_after_fork=0:halt_on_error=1:$$TSAN_OPTIONS" \
	    PYTHONMALLOC=malloc PYTHONSAFEPATH=1 PYTHONPATH="$(CURDIR)/build/tsan/site:$(CURDIR)" \
	    "$(BIN)/pytest" -o pythonpath="build/tsan/site ." --import-mode=append --capture=sys --timeout=1800 \
	    $(if $(filter tests/%,$(ARGS)),,$(THREAD_TESTS)) $(ARGS)

# --- Source -------------------------------------------------------------------------------------
CXX_FILES = $(shell find core benchmarks -name '*.h' -o -name '*.cpp' -o -name '*.cl' 2>/dev/null)

lint: build $(VENV)/.dev ## Check format, style, types, stubs and the layout rules
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	$(if $(CXX_FILES),"$(BIN)/clang-format" --dry-run -Werror $(CXX_FILES))
	"$(BIN)/python" tools/check_layout.py
	$(PY) tools/make_stubs.py --check
	$(PY) tools/make_op_table.py --check
	"$(BIN)/mypy"

format: $(VENV)/.dev ## Format C++ and Python, and fix what ruff can
	"$(BIN)/ruff" check --fix .
	"$(BIN)/ruff" format .
	$(if $(CXX_FILES),"$(BIN)/clang-format" -i $(CXX_FILES))

stubs: build ## Write ember/_C.pyi and docs/ops.md from the compiled module
	$(PY) tools/make_stubs.py
	$(PY) tools/make_op_table.py

docs: build $(VENV)/.docs ## Build the documentation into build/docs
	$(PY) tools/make_op_table.py
	$(PY) -m sphinx -q -W --keep-going -b html docs build/docs
	@echo "build/docs/index.html"

clean: ## Remove what was built (not .venv)
	rm -rf build dist runs ember/_C*.so
	find . -name __pycache__ -not -path './$(VENV)/*' -prune -exec rm -rf {} +

# --- .venv: one stamp per set of packages, renewed when pyproject.toml changes --------------------
$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "ember needs Python 3.11 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

define install
"$(BIN)/python" tools/requirements.py $(1) > $@.txt
"$(BIN)/python" -m pip install --quiet --disable-pip-version-check -r $@.txt
@touch $@
endef

$(VENV)/.build: $(REQUIREMENTS) | $(VENV)/bin/python
	@"$(BIN)/python" tools/build_backend.py
	$(call install,build run)
$(VENV)/.test: $(REQUIREMENTS) | $(VENV)/.build
	$(call install,test)
$(VENV)/.examples: $(REQUIREMENTS) | $(VENV)/.build
	$(call install,examples)
$(VENV)/.dev: $(REQUIREMENTS) | $(VENV)/.build
	$(call install,dev)
$(VENV)/.docs: $(REQUIREMENTS) | $(VENV)/.build
	$(call install,docs)
$(VENV)/.wheel: $(REQUIREMENTS) | $(VENV)/.build
	$(call install,wheel)
$(VENV)/.oracle: $(REQUIREMENTS) | $(VENV)/.build
	$(call install,oracle)
# A device for the tests of OpenCL, an MPI for those of several processes, LLVM for those of generated
# code; where one cannot be installed its tests skip and say why.
define install_if_possible
-@"$(BIN)/python" tools/requirements.py $(1) > $@.txt && \
  "$(BIN)/python" -m pip install --quiet --disable-pip-version-check -r $@.txt && touch $@ || \
  echo "$(2) could not be installed: its tests skip, unless the system has one"
endef

$(VENV)/.opencl: $(REQUIREMENTS) | $(VENV)/.build
	$(call install_if_possible,opencl,an OpenCL device)
$(VENV)/.dist: $(REQUIREMENTS) | $(VENV)/.build
	$(call install_if_possible,dist,MPI)
$(VENV)/.jit: $(REQUIREMENTS) | $(VENV)/.build
	$(call install_if_possible,jit,llvmlite)
