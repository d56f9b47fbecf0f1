"""Functions of the top level that are made of others: grids, combinations, norms."""

import math

import ember
from ember._C import Tensor
from ember._overridable import overridable
from ember._user_line import warn


def check_tensors(function: str, values) -> None:
    """A TypeError unless all are tensors, as ops written in C++ raise it."""
    for i, value in enumerate(values):
        if not isinstance(value, Tensor) and not hasattr(value, "__torch_function__"):
            raise TypeError(
                f"{function}(): expected Tensor as element {i}, "
                f"but got {type(value).__name__}"
            )


@overridable
def meshgrid(*tensors, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates on the grid that vectors span, one tensor per vector.

    With `indexing="xy"` the first two dimensions are swapped, as on a picture.

    >>> import ember
    >>> a, b = ember.meshgrid(ember.arange(2), ember.arange(3), indexing="ij")
    >>> b
    tensor([[0, 1, 2],
            [0, 1, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    check_tensors("meshgrid", tensors)
    if indexing is None:
        warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the "
            "indexing argument.",
            UserWarning,
        )
        indexing = "ij"
    if indexing not in ("ij", "xy"):
        raise RuntimeError(
            'torch.meshgrid: indexing must be one of "xy" or "ij", but received: '
            f"{indexing}"
        )
    first = tensors[0]
    for t in tensors:
        if t.dim() > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got a "
                f"tensor of {t.dim()} dimensions"
            )
        if t.dtype != first.dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
        if t.device != first.device:
            raise RuntimeError("meshgrid expects all tensors to have the same device")
    swap = indexing == "xy" and len(tensors) >= 2
    if swap:
        tensors = (tensors[1], tensors[0], *tensors[2:])
    shape = [t.numel() for t in tensors]
    grids = []
    for i, t in enumerate(tensors):
        own = [1] * len(tensors)
        own[i] = -1 if t.numel() else 0
        grids.append(t.reshape(own).expand(shape))
    if swap:
        grids[0], grids[1] = grids[1], grids[0]
    return tuple(grids)


def broadcast_shapes(*shapes) -> "ember.Size":
    """The shape that tensors of the given shapes have in common when broadcast.

    >>> import ember
    >>> ember.broadcast_shapes((3, 1), (4,))
    torch.Size([3, 4])
    """
    sizes: list[int] = []
    for shape in shapes:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        sizes[:0] = [1] * (len(shape) - len(sizes))
        for i, n in enumerate(reversed(shape), 1):
            if n < 0:
                raise ValueError(
                    "Attempting to broadcast a dimension with negative length! "
                    f"broadcast_shapes(): {n} in {shape}"
                )
            if n != sizes[-i] and n != 1:
                if sizes[-i] != 1:
                    raise RuntimeError(
                        "Shape mismatch: objects cannot be broadcast to one shape: "
                        f"{', '.join(map(str, shapes))}"
                    )
                sizes[-i] = n
    return ember.Size(sizes)


@overridable
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element of each vector, as rows.

    >>> import ember
    >>> ember.cartesian_prod(ember.tensor([1, 2]), ember.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    check_tensors("cartesian_prod", tensors)
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError("Expect a 1D vector, but got shape " + str(t.shape))
    if len(tensors) == 1:
        return tensors[0]
    grids = meshgrid(*tensors, indexing="ij")
    return ember.stack([g.reshape(-1) for g in grids], dim=1)


@overridable
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of `r` elements of a vector, as rows.

    >>> import ember
    >>> ember.combinations(ember.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.dim() != 1:
        raise RuntimeError("Expect a 1D vector, but got shape " + str(input.shape))
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return ember.empty(0, dtype=input.dtype, device=input.device)
    n = input.numel()
    total = _count_rows(n + r - 1 if with_replacement and n else n, r)
    if total is None or total * r > _MOST_CHOSEN:
        raise RuntimeError(
            f"combinations(): {'about ' if total is None else ''}"
            f"{'2**60 or more' if total is None else total} rows of {r} out of {n} "
            "elements are too many"
        )
    if total == 0:
        return input[ember.empty((0, r), dtype=ember.int64, device=input.device)]
    if total == 1:
        return input.repeat(r // n).reshape(1, r)
    # Prefixes of one more element at a time, each followed by all that can come next.
    step = 0 if with_replacement else 1
    last = ember.arange(n if with_replacement else n - r + 1)
    chain: list[tuple[Tensor | None, Tensor]] = [(None, last)]
    for k in range(1, r):
        first = last + step
        count = (n if with_replacement else n - r + 1 + k) - first
        parent = ember.arange(len(first)).repeat_interleave(count)
        begins = count.cumsum(0) - count
        last = ember.arange(len(parent)) - (begins - first)[parent]
        chain.append((parent, last))
    index = ember.empty((total, r), dtype=ember.int64)
    row = ember.arange(total)
    for k, (before, last) in reversed(list(enumerate(chain))):
        index[:, k] = last[row]
        row = row if before is None else before[row]
    return input[index.to(input.device)]


_MOST_CHOSEN = 2**33


def _count_rows(n: int, r: int) -> int | None:
    """Choices of r out of n; None for those that one need not count."""
    few = min(r, n - r)
    if few > 1000 or few * math.log2(max(n / max(few, 1), 1)) > 60:
        return None
    return math.comb(n, r)


@overridable
def frobenius_norm(
    input: Tensor, dim: int | tuple[int, ...], keepdim: bool = False
) -> Tensor:
    """The square root of the sum of squares, over `dim` or, for (), everything.

    >>> import ember
    >>> ember.frobenius_norm(ember.tensor([[3.0, 4.0]]), ())
    tensor(5.)
    """
    return ember.linalg.vector_norm(input, 2, dim if dim != () else None, keepdim)


@overridable
def nuclear_norm(
    input: Tensor,
    dim: tuple[int, int] = (-2, -1),
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The sum of the singular values of matrices.

    >>> import ember
    >>> ember.nuclear_norm(ember.eye(3))
    tensor(3.)
    """
    return ember.linalg.matrix_norm(input, "nuc", dim, keepdim, out=out)
