"""ember: PyTorch's programming model in a library that one person can read.

>>> import ember
>>> x = ember.tensor([1.0, 2.0], requires_grad=True)
>>> (x * x).sum().backward()
>>> x.grad
tensor([2., 4.])
"""

# Only what every program needs is imported here; the rest arrives on first use, through
# __getattr__ below. Beware: in this module, names such as `sum`, `float` and `bool`
# mean ember's own once the core is imported.

import os as _os
import sys as _sys
import typing as _typing

if "t" in _sys.abiflags:  # the core relies on the GIL, and its file has another name
    raise ImportError(
        "ember needs a build of Python with the GIL, and this one is free-threaded: "
        f"{_sys.executable} (Python {_sys.version.split()[0]})"
    )

# libgomp reads it when it is loaded; spinning longer would starve other processes.
_os.environ.setdefault("GOMP_SPINCOUNT", "10000")

from math import e as e, inf as inf, nan as nan, pi as pi

from ember import _C, _device, _lazy
from ember._C import *
from ember._device import set_default_device as set_default_device
from ember._tensor import (
    is_storage as is_storage,
    is_tensor as is_tensor,
    typename as typename,
)
from ember.version import __version__ as __version__

if _typing.TYPE_CHECKING:  # what arrives on first use
    from ember._compat.checks import _assert as _assert
    from ember._names.top import *

newaxis = None
if "EMBER_CUDA" in _os.environ:
    _device.cuda_means(_os.environ["EMBER_CUDA"])
_C.__getattr__ = _lazy.missing("ember._C")  # type: ignore[method-assign]
_C.__path__ = []  # so that there can be modules such as ember._C._nn


if not _typing.TYPE_CHECKING:  # a checker knows the names, and reports others

    def __getattr__(name: str) -> "_typing.Any":
        value = _lazy.find(name)
        globals()[name] = value
        return value


def __dir__() -> list:
    return sorted({*globals(), *_lazy.NAMES, *_lazy.SUBMODULES})
