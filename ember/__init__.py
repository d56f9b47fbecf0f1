"""ember: PyTorch's programming model in a library that one person can read."""

from ember._C import *  # noqa: F403
