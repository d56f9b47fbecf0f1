"""Collectives as functions with gradients."""

from __future__ import annotations

from ember import _lazy, _unavailable
from ember.distributed.nn import functional as functional
from ember.distributed.nn.functional import *
from ember.distributed.nn.functional import __all__ as __all__

RemoteModule = _unavailable.kind(
    "distributed.nn.RemoteModule", "ember.distributed has no RPC yet"
)
__getattr__ = _lazy.missing(__name__)
