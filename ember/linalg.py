"""Linear algebra: what NumPy has under the same name, differentiable and batched."""

from typing import TYPE_CHECKING

from ember._errors import LinAlgError as LinAlgError
from ember._lazy import fill, missing

if TYPE_CHECKING:
    from ember._names.linalg import *

fill(globals(), "linalg")
if not TYPE_CHECKING:  # a checker reports what is not here
    __getattr__ = missing(__name__)
