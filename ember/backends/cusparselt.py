"""cuSPARSELt: not part of ember."""

from ember.backends import _switches

is_available = _switches.absent
