"""Passes and tracers that PyTorch calls experimental."""
