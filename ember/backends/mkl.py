"""Intel's MKL: not part of ember, which uses OpenBLAS."""

from ember.backends import _switches

is_available = _switches.absent
VERBOSE_OFF, VERBOSE_ON = 0, 1
verbose = _switches.nothing
