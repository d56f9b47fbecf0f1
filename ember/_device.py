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


def of_kind(kind: str, device=None) -> "_C.device":
    """The device of a kind that an argument such as None, 1 or "cuda:1" names."""
    if device is None:
        return _C.device(kind)
    return _C.device(kind, device) if isinstance(device, int) else _C.device(device)


def cuda_means(kind: str) -> None:
    """Let "cuda" be the device of this kind: "opencl", or "" for none."""
    if kind not in ("", "opencl"):
        raise ValueError(f"EMBER_CUDA={kind}: expected opencl, or nothing")
    if kind:
        _C._call_device_kind(kind, "cuda")
