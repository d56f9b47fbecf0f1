"""NNPACK: not part of ember."""

from ember.backends import _switches

enabled = False
is_available = _switches.absent
flags = _switches.flags_of(globals(), "enabled")
set_flags = _switches.setter(globals(), "enabled")
