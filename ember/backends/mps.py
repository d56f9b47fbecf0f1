"""Apple's Metal: not part of ember."""

from ember.backends import _switches

is_available = is_built = _switches.absent


def is_macos_or_newer(major: int, minor: int) -> bool:
    """False: there is no Metal to use."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """False: there is no Metal to use."""
    return False
