"""Backends by name are in `ember._dynamo` itself: `register_backend`."""

from ember.compiler._face.backends import (
    lookup as lookup_backend,
    names as list_backends,
    register as register_backend,
)

__all__ = ["list_backends", "lookup_backend", "register_backend"]
