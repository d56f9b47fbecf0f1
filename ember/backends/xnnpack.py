"""XNNPACK: not part of ember."""

enabled = False
