"""Devices of the kind "mps", of which there are none: accelerate, diffusers and
transformers ask whether there are."""

from ember._compat import absent_device

absent_device.fill(globals(), "mps")
