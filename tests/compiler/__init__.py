"""Tests of ember/compiler."""

import importlib.util
import platform

import pytest

needs_jit = pytest.mark.skipif(
    importlib.util.find_spec("llvmlite") is None or platform.machine() != "x86_64",
    reason="machine code needs llvmlite (pip install 'ember-dl[jit]') on x86-64",
)
