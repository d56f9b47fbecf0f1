"""The version of the package, and of what it was built with."""

__version__ = "0.1.0"
cuda = None
hip = None
xpu = None
rocm = None
debug = False
