"""Beside a sanitizer regions run without machine code, which has other bits than its kernels."""

from ember.compiler import _llvm

from . import SANITIZED

if SANITIZED:
    _llvm.why_not = lambda: "a sanitizer's kernels have other bits"
