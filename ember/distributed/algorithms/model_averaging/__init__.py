"""Averaging of parameters instead of gradients."""
