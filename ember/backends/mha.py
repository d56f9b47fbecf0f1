"""PyTorch's fast path of attention layers, which ember's layers take by themselves."""

_fastpath = True


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` was given."""
    return _fastpath


def set_fastpath_enabled(value: bool) -> None:
    """Kept; results are the same."""
    global _fastpath
    _fastpath = value
