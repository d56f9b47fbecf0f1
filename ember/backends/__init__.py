"""Switches of the libraries under PyTorch, for programs that set them.

ember computes with its own kernels, oneDNN and OpenBLAS; what has no meaning here keeps
its value and changes nothing.

>>> import ember
>>> ember.backends.cudnn.benchmark = True
>>> ember.backends.mps.is_available()
False
"""

from __future__ import annotations

from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any


@contextmanager
def _flags(**values: Any):
    yield


def _absent(**switches: Any) -> SimpleNamespace:
    """A library that is not here, with its switches."""
    return SimpleNamespace(
        is_available=lambda: False, is_built=lambda: False, flags=_flags, **switches
    )


def _present(**switches: Any) -> SimpleNamespace:
    """A library that ember uses."""
    return SimpleNamespace(is_available=lambda: True, flags=_flags, **switches)


def _cpu_capability() -> str:
    from ember import _C

    return _C._cpu_level().upper()


cpu = SimpleNamespace(get_cpu_capability=_cpu_capability)
cuda = _absent(
    matmul=SimpleNamespace(allow_tf32=False, fp32_precision="none"),
    flash_sdp_enabled=lambda: False,
    mem_efficient_sdp_enabled=lambda: False,
    math_sdp_enabled=lambda: True,
    enable_flash_sdp=lambda enabled: None,
    enable_mem_efficient_sdp=lambda enabled: None,
    enable_math_sdp=lambda enabled: None,
)
cudnn = _absent(
    enabled=True,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    version=lambda: None,
)
mkl = _absent()
mkldnn = _present(enabled=True, deterministic=False)
mps = _absent()
nnpack = _absent(set_flags=lambda enabled: (False,))
openmp = _present()
opt_einsum = _absent(enabled=False, strategy=None)
xeon = SimpleNamespace()
