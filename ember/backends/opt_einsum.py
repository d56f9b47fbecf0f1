"""opt_einsum, a search for the order of products: not used; see `ember.einsum`."""

from typing import Any

from ember.backends import _switches

enabled = False
strategy: Any = None
is_available = _switches.absent
flags = _switches.flags_of(globals(), "enabled", "strategy")
set_flags = _switches.setter(globals(), "enabled", "strategy")


def get_opt_einsum() -> None:
    """None: it is not used."""
    return None
