"""Compilers: none."""
