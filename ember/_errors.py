"""Exceptions of ember that Python does not have."""


class LinAlgError(RuntimeError):
    """A matrix without the property that an algorithm needs."""

    __module__ = "ember.linalg"


class OutOfMemoryError(RuntimeError):
    """A device has not enough memory for a tensor.

    >>> issubclass(ember.OutOfMemoryError, RuntimeError)
    True
    """

    __module__ = "ember"


class AcceleratorError(RuntimeError):
    """An accelerator reported an error of its own.

    >>> issubclass(ember.AcceleratorError, RuntimeError)
    True
    """

    __module__ = "ember"
