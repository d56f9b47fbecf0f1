"""Exceptions of ember that Python does not have."""


class LinAlgError(RuntimeError):
    """A matrix without the property that an algorithm needs."""

    __module__ = "ember.linalg"
