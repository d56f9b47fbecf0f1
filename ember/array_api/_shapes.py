"""Creation, dtypes, shapes, places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import ember
from ember import Tensor
from ember.array_api._arrays import axes_of

# --- creation -------------------------------------------------------------------------


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Tensor:
    """An array of what is given: an array, numbers, nested sequences, a buffer."""
    if isinstance(obj, Tensor) or not isinstance(obj, bool | int | float | complex):
        shared = obj if isinstance(obj, Tensor) else _shared(obj)
    else:
        shared = None
    if shared is None:
        if copy is False:
            raise ValueError("asarray(): a copy is needed, and copy=False forbids it")
        return ember.tensor(obj, dtype=dtype, device=device)
    same = dtype in (None, shared.dtype)
    same &= device is None or ember.device(device) == shared.device
    if copy is False and not same:
        raise ValueError("asarray(): a copy is needed, and copy=False forbids it")
    if same and not copy:
        return shared
    return shared.to(
        device=device or shared.device, dtype=dtype or shared.dtype, copy=True
    )


def _shared(obj: Any) -> Tensor | None:
    """The memory of an array of another library; None of what is no array."""
    if isinstance(obj, list | tuple):
        return None
    return ember.as_tensor(obj)


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """From `start` (0) up to, but without, `stop`."""
    if stop is None:
        start, stop = 0, start
    if (stop - start) * step <= 0:
        if dtype is None:
            whole = all(isinstance(v, int) for v in (start, stop, step))
            dtype = ember.int64 if whole else ember.get_default_dtype()
        return ember.empty(0, dtype=dtype, device=device)
    return ember.arange(start, stop, step, dtype=dtype, device=device)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Tensor:
    """`num` numbers at equal distances; the last is `stop` if it is an `endpoint`."""
    if not endpoint:
        return ember.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]
    return ember.linspace(start, stop, num, dtype=dtype, device=device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """Ones on the diagonal `k`, zeros elsewhere."""
    n_cols = n_rows if n_cols is None else n_cols
    out = ember.zeros((n_rows, n_cols), dtype=dtype, device=device)
    if -n_rows < k < n_cols:
        out.diagonal(k).fill_(1)
    return out


def full(
    shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """An array of one value."""
    return ember.full(_shape(shape), fill_value, dtype=dtype, device=device)


def full_like(
    x: Tensor, /, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """An array of one value, in the shape of `x`."""
    return ember.full_like(x, fill_value, dtype=dtype, device=device)


def _shape(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def _maker(name: str) -> tuple[Any, Any]:
    make, like = getattr(ember, name), getattr(ember, name + "_like")

    def of_shape(shape: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
        return make(_shape(shape), dtype=dtype, device=device)

    def of_array(x: Tensor, /, *, dtype: Any = None, device: Any = None) -> Tensor:
        return like(x, dtype=dtype, device=device)

    of_shape.__name__, of_array.__name__ = name, name + "_like"
    return of_shape, of_array


empty, empty_like = _maker("empty")
ones, ones_like = _maker("ones")
zeros, zeros_like = _maker("zeros")


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """The memory of an array of any library that speaks DLPack."""
    return ember.from_dlpack(x, device=device, copy=copy)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Coordinates of the points of a grid."""
    return list(ember.meshgrid(*arrays, indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Zeros above the diagonal `k`."""
    return ember.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Zeros below the diagonal `k`."""
    return ember.triu(x, k)


# --- shapes ---------------------------------------------------------------------------


def broadcast_arrays(*arrays: Tensor) -> list[Tensor]:
    """The arrays in the shape that they have together."""
    return list(ember.broadcast_tensors(*arrays))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """The array repeated to a shape."""
    return ember.broadcast_to(x, shape)


def concat(arrays: Sequence[Tensor], /, *, axis: int | None = 0) -> Tensor:
    """Arrays one after another; flat ones if `axis` is None."""
    dtype = result_type(*arrays)
    parts = [x.to(dtype) for x in arrays]
    if axis is None:
        return ember.cat([x.reshape(-1) for x in parts])
    return ember.cat(parts, axis)


def expand_dims(x: Tensor, /, axis: int = 0) -> Tensor:
    """A dimension of size one at `axis`."""
    if not -x.ndim - 1 <= axis <= x.ndim:
        raise IndexError(f"axis {axis} is out of range for {x.ndim} dimensions")
    return x.unsqueeze(axis)


def flip(x: Tensor, /, *, axis: Any = None) -> Tensor:
    """The order along `axis`, or along all, the other way round."""
    return ember.flip(x, axes_of(x, axis))


def moveaxis(x: Tensor, source: Any, destination: Any, /) -> Tensor:
    """Axes at other places."""
    return ember.moveaxis(x, source, destination)


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """The axes in another order."""
    return x.permute(axes)


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Each element several times."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    if isinstance(repeats, Tensor):
        repeats = repeats.to(ember.int64)
    return ember.repeat_interleave(x, repeats, axis)


def reshape(
    x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None
) -> Tensor:
    """The elements in another shape; a view unless `copy`, or where it can't be one."""
    if copy:
        return x.clone().reshape(shape)
    return x.view(shape) if copy is False else x.reshape(shape)


def roll(x: Tensor, /, shift: Any, *, axis: Any = None) -> Tensor:
    """Elements moved on; those that leave at the end come in at the start."""
    if isinstance(shift, int) and isinstance(axis, tuple | list):
        shift = (shift,) * len(axis)
    return ember.roll(x, shift, axis)


def squeeze(x: Tensor, /, axis: Any) -> Tensor:
    """Without axes of size one."""
    axes = axes_of(x, axis)
    if wrong := [a for a in axes if x.shape[a] != 1]:
        raise ValueError(f"squeeze(): axis {wrong[0]} has size {x.shape[wrong[0]]}")
    return ember.squeeze(x, axes)


def stack(arrays: Sequence[Tensor], /, *, axis: int = 0) -> Tensor:
    """Arrays of one shape along a new axis."""
    dtype = result_type(*arrays)
    return ember.stack([x.to(dtype) for x in arrays], axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """The array several times beside itself."""
    return ember.tile(x, tuple(repetitions))


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The arrays along an axis."""
    return ember.unbind(x, axis)


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """The elements at these places of an axis."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError("axis is needed for an array that has not one dimension")
        axis = 0
    return ember.index_select(x, axis, indices.reshape(-1).to(ember.int64))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """For each row its own places."""
    return ember.take_along_dim(x, indices, axis)


# --- dtypes ---------------------------------------------------------------------------


def astype(
    x: Tensor, dtype: Any, /, *, copy: bool = True, device: Any = None
) -> Tensor:
    """The array in another dtype."""
    return x.to(device=device or x.device, dtype=dtype, copy=copy)


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether promotion leads from one dtype to the other."""
    dtype = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return ember.promote_types(dtype, to) == to
    except (RuntimeError, TypeError):
        return False


class FloatLimits(NamedTuple):
    """What `finfo` gives."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


class IntegerLimits(NamedTuple):
    """What `iinfo` gives."""

    bits: int
    max: int
    min: int
    dtype: Any


def finfo(type: Any, /) -> FloatLimits:
    """Limits of a floating dtype; of a complex one, those of its parts."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    dtype = dtype.to_real() if dtype.is_complex else dtype
    found = ember.finfo(dtype)
    numbers = (found.bits, found.eps, found.max, found.min, found.smallest_normal)
    return FloatLimits(*numbers, dtype)


def iinfo(type: Any, /) -> IntegerLimits:
    """Limits of an integer dtype."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    found = ember.iinfo(dtype)
    return IntegerLimits(found.bits, found.max, found.min, dtype)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype to which all promote; Python's numbers only count by their kind."""
    dtypes = [getattr(each, "dtype", each) for each in arrays_and_dtypes]
    found = [d for d in dtypes if isinstance(d, ember.dtype)]
    if not found:
        raise ValueError("result_type(): no array or dtype among the arguments")
    out = found[0]
    for dtype in found[1:]:
        out = ember.promote_types(out, dtype)
    for value in dtypes:
        if not isinstance(value, ember.dtype):
            out = ember.result_type(ember.empty(1, dtype=out), value)
    return out


KINDS = {
    "bool": (ember.bool,),
    "signed integer": (ember.int8, ember.int16, ember.int32, ember.int64),
    "unsigned integer": (ember.uint8,),
    "real floating": (ember.float32, ember.float64),
    "complex floating": (ember.complex64, ember.complex128),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = (
    KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
)
_HALF = (ember.float16, ember.bfloat16)


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether the dtype is of this kind (or of one of these)."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        if kind not in KINDS:
            raise ValueError(f"isdtype(): unknown kind {kind!r}")
        half = kind in ("real floating", "numeric") and dtype in _HALF
        return dtype in KINDS[kind] or half
    return dtype == kind


__all__ = """
    asarray arange linspace eye full full_like empty empty_like ones ones_like zeros
    zeros_like from_dlpack meshgrid tril triu broadcast_arrays broadcast_to concat
    expand_dims flip moveaxis permute_dims repeat reshape roll squeeze stack tile
    unstack take take_along_axis astype can_cast finfo iinfo result_type isdtype
    """.split()
