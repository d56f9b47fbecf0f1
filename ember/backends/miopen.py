"""MIOpen, AMD's library of layers: its switch, which changes nothing here."""

from ember.backends import _switches

immediate = False
flags = _switches.flags_of(globals(), "immediate")
set_flags = _switches.setter(globals(), "immediate")
