"""cuDNN, NVIDIA's library of layers: its switches, which change nothing here."""

from typing import Any

from ember.backends import _switches

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"
_NAMES = "enabled benchmark benchmark_limit deterministic allow_tf32 fp32_precision"
flags = _switches.flags_of(globals(), *_NAMES.split())
set_flags = _switches.setter(globals(), *_NAMES.split())
is_available = _switches.absent
CUDNN_TENSOR_DTYPES: set = set()


def version() -> int | None:
    """None: the library is not part of ember."""
    return None


def is_acceptable(tensor: Any) -> bool:
    """False: the library is not part of ember."""
    return False
