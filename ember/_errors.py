"""Exceptions of ember that Python does not have."""


class LinAlgError(RuntimeError):
    """A matrix without the property that an algorithm needs."""

    __module__ = "ember.linalg"


class OutOfMemoryError(RuntimeError):
    """A device has not enough memory for a tensor."""

    __module__ = "ember"


class AcceleratorError(RuntimeError):
    """An accelerator reported an error of its own."""

    __module__ = "ember"
