"""Which kernels `scaled_dot_product_attention` may use.

ember chooses by itself, so the choices made here are kept and checked but change
nothing else.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

from ember import _lazy

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """The kinds of attention kernels that PyTorch knows.

    >>> ember.nn.attention.SDPBackend.MATH.name
    'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_allowed = [
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
    SDPBackend.CUDNN_ATTENTION,
]


def _cur_sdpa_kernel_backends(with_priority: bool = False) -> list[SDPBackend]:
    return list(_allowed)


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """Name the kernels that attention may use inside.

    >>> import ember
    >>> from ember.nn.attention import SDPBackend, sdpa_kernel
    >>> q = ember.ones(1, 1, 2, 4)
    >>> with sdpa_kernel(SDPBackend.MATH):
    ...     y = ember.nn.functional.scaled_dot_product_attention(q, q, q)
    """
    global _allowed
    chosen = [backends] if isinstance(backends, SDPBackend) else list(backends)
    for backend in chosen:
        if not isinstance(backend, SDPBackend):
            raise AssertionError(
                "Backend must be an instance of SDPBackend or a list of SDPBackend "
                f"instances, got {backend!r}"
            )
    kept, _allowed = _allowed, chosen
    try:
        yield
    finally:
        _allowed = kept


def list_flash_attention_impls() -> list[str]:
    """Implementations that were registered: none is needed.

    >>> ember.nn.attention.list_flash_attention_impls()
    []
    """
    return sorted(_implementations)


_implementations: dict = {}
_active: str | None = None


def register_flash_attention_impl(impl: str, *, register_fn: Any) -> None:
    """Make an implementation known; `register_fn()` switches it on.

    >>> register_flash_attention_impl("mine", register_fn=lambda: None)
    >>> ember.nn.attention.activate_flash_attention_impl("mine")
    >>> ember.nn.attention.current_flash_attention_impl()
    'mine'
    >>> ember.nn.attention.restore_flash_attention_impl()
    """
    _implementations[impl] = register_fn


def activate_flash_attention_impl(impl: str) -> None:
    """Switch a registered implementation on."""
    global _active
    if impl not in _implementations:
        known = ", ".join(sorted(_implementations)) or "none"
        raise ValueError(f"Unknown flash attention impl '{impl}'. Available: {known}")
    _implementations[impl]()
    _active = impl


def current_flash_attention_impl() -> str | None:
    """The implementation that was switched on, if any.

    >>> ember.nn.attention.current_flash_attention_impl()
    """
    return _active


def restore_flash_attention_impl() -> None:
    """Back to ember's own."""
    global _active
    _active = None


__getattr__ = _lazy.missing(__name__)
