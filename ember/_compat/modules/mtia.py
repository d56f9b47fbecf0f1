"""Devices of the kind "mtia", of which there are none: accelerate
ask whether there are."""

from ember._compat import absent_device

absent_device.fill(globals(), "mtia")
