"""The default device: set for good, or for a `with` block.

>>> import ember
>>> with ember.device("meta"):
...     ember.ones(2).device
device(type='meta')
"""

from ember import _C

_outer: list = []  # default devices outside the current `with` blocks


def set_default_device(device) -> None:
    """Make new tensors on `device` unless they name another; None means the CPU.

    >>> import ember
    >>> ember.set_default_device("meta")
    >>> ember.empty(3).is_meta
    True
    >>> ember.set_default_device(None)
    """
    _C._set_default_device(device)


def enter(device):
    """`with device:` begins."""
    _outer.append(_C.get_default_device())
    _C._set_default_device(device)
    return device


def exit(device) -> None:
    """`with device:` ends."""
    _C._set_default_device(_outer.pop())
