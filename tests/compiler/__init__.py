"""Tests of ember/compiler."""

import importlib.util
import os
import platform

import pytest

from ember.version import pip_install

# Generated code repeats the bits of optimised kernels, not those of a sanitizer's.
SANITIZED = not {"ASAN_OPTIONS", "TSAN_OPTIONS"}.isdisjoint(os.environ)

needs_jit = pytest.mark.skipif(
    importlib.util.find_spec("llvmlite") is None
    or platform.machine() != "x86_64"
    or SANITIZED,
    reason=f"machine code needs llvmlite ({pip_install('jit')}) on x86-64, and "
    "optimised kernels to be compared with",
)
