"""Devices of the kind "xpu", of which there are none: accelerate, diffusers, peft
and transformers ask whether there are."""

from ember._compat import absent_device

absent_device.fill(globals(), "xpu")
