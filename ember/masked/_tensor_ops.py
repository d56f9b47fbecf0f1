"""What ops do with masked tensors, by their names or by their traits."""

from collections.abc import Callable

import ember
from ember import Tensor, masked
from ember.masked._tensor import TABLE, MaskedTensor
from ember.nested._ops import entering

op = entering(TABLE)


def _is(x) -> bool:
    return isinstance(x, MaskedTensor)


def _data(x):
    return x._masked_data if _is(x) else x


class _Counting(ember.autograd.Function):
    """The data, whose gradient is 0 where they do not count."""

    @staticmethod
    def forward(ctx, data: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(mask)
        return data.view_as(data)

    @staticmethod
    def backward(ctx, g: Tensor):
        (mask,) = ctx.saved_tensors
        return g.masked_fill(~mask, 0), None


def _counting(x):
    return _Counting.apply(x._masked_data, x._masked_mask) if _is(x) else x


@op("requires_grad_")
def pointwise(func, *args, **kwargs):
    """Element by element; masks of two operands must agree."""
    name = getattr(func, "__name__", str(func))
    given = [x for x in (*args, *kwargs.values()) if _is(x)]
    mask = given[0]._masked_mask
    for other in given[1:]:
        if not ember.equal(mask, other._masked_mask):
            raise ValueError(
                "Input masks must match. If you need support for this, please open an "
                f"issue on Github. ({name}: masks {mask} and {other._masked_mask})"
            )
    if name.strip("_") == "requires_grad":
        return func(*args, **kwargs)
    # A NaN that an op makes where nothing counts must not come back as a gradient.
    changes = name.endswith("_") and not name.endswith("__")
    read = _data if changes else _counting
    made = func(*map(read, args), **{k: read(v) for k, v in kwargs.items()})
    if changes and _is(args[0]):
        return args[0]
    if made.shape != mask.shape:
        mask = mask.expand(made.shape)
    return MaskedTensor(made, mask)


@op("getitem", "__getitem__")
def shapes(func, x, *given, **kwargs):
    """The same for data and mask."""
    args = [a._masked_data if _is(a) else a for a in given]
    data, mask = (
        func(x._masked_data, *args, **kwargs),
        func(x._masked_mask, *args, **kwargs),
    )
    if isinstance(data, (tuple, list)):
        return tuple(map(MaskedTensor, data, mask))
    return MaskedTensor(data, mask)


@op("cat", "stack", "concat")
def join(func, tensors, *args, **kwargs):
    data = func([t._masked_data for t in tensors], *args, **kwargs)
    return MaskedTensor(data, func([t._masked_mask for t in tensors], *args, **kwargs))


def _reduction(name: str) -> Callable:
    function = getattr(masked, name)

    def reduce(func, x, dim=None, keepdim: bool = False, **options):
        mask = x._masked_mask
        kind = {} if options.get("dtype") is None else {"dtype": options["dtype"]}
        if name in ("argmin", "argmax"):
            data = function(x._masked_data, dim, keepdim=keepdim, mask=mask)
        else:
            data = function(x._masked_data, dim, keepdim=keepdim, mask=mask, **kind)
        dims = (
            () if dim is None else (dim if isinstance(dim, (tuple, list)) else (dim,))
        )
        counts = mask.any() if not dims else mask
        for d in sorted((d % x.dim() for d in dims), reverse=True):
            counts = counts.any(d, keepdim=keepdim)
        if dim is None and keepdim:
            counts = counts.reshape(data.shape)
        return MaskedTensor(data, counts)

    return reduce


for _name in ("sum", "mean", "prod", "amin", "amax", "argmin", "argmax"):
    TABLE[_name] = _reduction(_name)


@op("min", "max")
def extreme(func, x, *args, **kwargs):
    if args or kwargs:
        raise NotImplementedError(
            f"{func.__name__}(): a MaskedTensor has amin and amax"
        )
    return TABLE["a" + func.__name__](func, x)


@op("softmax", "log_softmax", "softmin")
def normalised(func, x, dim: int, dtype=None, **options):
    made = getattr(masked, func.__name__)(
        x._masked_data, dim, dtype=dtype, mask=x._masked_mask
    )
    return MaskedTensor(made, x._masked_mask)


@op("where")
def where(func, condition, a, b):
    """Of two masked tensors, the mask of the chosen one."""
    sides = [x if _is(x) else None for x in (a, b)]
    if None in sides:
        raise ValueError("where(): both values must be MaskedTensors, or none")
    choose = _data(condition)
    data = func(choose, a._masked_data, b._masked_data)
    return MaskedTensor(data, func(choose, a._masked_mask, b._masked_mask))


@op("is_floating_point", "is_complex", "element_size", "get_device", "stride", "type")
def of_data(func, x, *args, **kwargs):
    return func(x._masked_data, *args, **kwargs)


@op("equal", "allclose")
def equal(func, a, b, *args, **kwargs) -> bool:
    if not ember.equal(a._masked_mask, b._masked_mask):
        return False
    return func(a.to_tensor(0), b.to_tensor(0), *args, **kwargs)
