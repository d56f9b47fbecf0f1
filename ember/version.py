"""The version of the package, and of what it was built with."""

__version__ = "0.2.0"
distribution = "embergrad"  # what pip calls the package `ember`
cuda = None
hip = None
xpu = None
rocm = None
debug = False


def pip_install(extra: str) -> str:
    """The command that installs ember with an extra, for messages.

    >>> from ember.version import pip_install
    >>> pip_install("opencl")
    'pip install "embergrad[opencl]"'
    """
    return f'pip install "{distribution}[{extra}]"'
