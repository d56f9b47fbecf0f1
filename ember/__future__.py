"""Switches of behaviour that PyTorch plans to change; they are kept, and
`load_state_dict` and conversions work in place whatever they say."""

_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether `module.to(...)` makes new parameters."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    """What was set."""
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether `module.to(...)` exchanges parameters with new ones."""
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    """What was set."""
    return _swap
