"""oneDNN, which ember uses for convolutions of float32 where it was built with it."""

from ember import _C
from ember.backends import _switches

enabled = True
deterministic = False
allow_tf32 = True
fp32_precision = "none"
VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
verbose = _switches.nothing
_NAMES = "enabled deterministic allow_tf32 fp32_precision"
flags = _switches.flags_of(globals(), *_NAMES.split())
set_flags = _switches.setter(globals(), *_NAMES.split())


def is_available() -> bool:
    """Whether ember was built with oneDNN, as it is for x86-64."""
    return _C._has_onednn()


is_acl_available = _switches.absent
