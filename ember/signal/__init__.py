"""Signal processing."""

from ember.signal import windows

__all__ = ["windows"]
