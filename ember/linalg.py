"""Linear algebra: what NumPy has under the same name, differentiable and batched."""

from ember._errors import LinAlgError as LinAlgError
from ember._lazy import fill, missing

fill(globals(), "linalg")
__getattr__ = missing(__name__)
