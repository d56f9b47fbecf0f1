"""Types that signatures are written with.

>>> import ember
>>> isinstance("opencl:0", ember._types.DeviceLike)
True
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

from ember._C import Generator, Tensor, device, dtype

DeviceLike: TypeAlias = device | str | int
Dtype: TypeAlias = dtype
Sizes: TypeAlias = int | Sequence[int]  # of every dimension, or of each
OptionalSizes: TypeAlias = int | Sequence[int | None] | None
Numbers: TypeAlias = float | Sequence[float]
RNG: TypeAlias = Generator
# Of optimizers: parameters, groups of them, or parameters with their names.
Parameters: TypeAlias = (
    Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]
)
Rate: TypeAlias = float | Tensor
FileLike: TypeAlias = Any  # a path, or an object with read() or write()
F = TypeVar("F", bound=Callable[..., Any])
