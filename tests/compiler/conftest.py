"""Beside a sanitizer regions run without machine code: its kernels have other bits."""

from ember.compiler import _llvm

from . import SANITIZED

if SANITIZED:
    _llvm.why_not = lambda: "a sanitizer's kernels have other bits"
