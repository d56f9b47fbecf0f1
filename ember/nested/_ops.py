"""What ops do with nested tensors, by their names or by their traits.

Most run once on the values: they do the same to every row. Those that look at a whole
part at a time run on each.
"""

from collections.abc import Callable

import ember
from ember import Tensor
from ember.nested._tensor import TABLE, NestedTensor, is_nested


def entering(table: dict[str, Callable]) -> Callable:
    """`op(*names)`, which enters a function `f(func, *args)` under names of ops."""

    def op(*names: str) -> Callable:
        def enter(function: Callable) -> Callable:
            for name in names:
                table[name] = function
            return function

        return enter

    return op


op = entering(TABLE)


def _first(*values) -> NestedTensor:
    return next(v for v in values if is_nested(v))


def _same_parts(a: NestedTensor, b: NestedTensor, name: str) -> None:
    if a is b or a._offsets is b._offsets:
        return
    if a._dim != b._dim or not ember.equal(a._offsets, b._offsets):
        raise RuntimeError(
            f"cannot call binary pointwise function {name} with inputs of shapes "
            f"{a.shape} and {b.shape}"
        )


def _rows(like: NestedTensor, value, name: str):
    """An operand beside the values: a row of a dense [B, 1, ...] for each of theirs."""
    if is_nested(value):
        _same_parts(like, value, name)
        return value._values
    if not isinstance(value, Tensor) or value.dim() < like.dim():
        return value
    if value.dim() != like.dim() or like._dim != 1 or value.shape[1] != 1:
        raise RuntimeError(
            f"{name}(): a dense operand of shape {tuple(value.shape)} does not fit a "
            f"nested tensor of shape {like.shape}"
        )
    rows = value.squeeze(1)
    if rows.shape[0] == 1:
        return rows
    return rows.repeat_interleave(like._offsets.diff(), 0)


@op("requires_grad_")
def pointwise(func, *args, **kwargs):
    """Element by element: on the values."""
    name = getattr(func, "__name__", str(func))
    like = _first(*args, *kwargs.values())
    given = [_rows(like, a, name) for a in args]
    named = {k: _rows(like, v, name) for k, v in kwargs.items()}
    if func.__name__.strip("_") == "requires_grad":
        return func(*args, **kwargs)
    made = func(*given, **named)
    first = args[0] if args else like
    if is_nested(first) and made is first._values:
        return first
    return like.like(made)


@op("linear", "layer_norm", "rms_norm", "embedding", "normalize")
def by_rows(func, input, *args, **kwargs):
    """Over the last dimensions: on the values."""
    if args and func.__name__ == "embedding" and is_nested(args[0]):
        return args[0].like(func(input._values, args[0]._values, *args[1:], **kwargs))
    if func.__name__ in ("layer_norm", "rms_norm"):
        shape = args[0] if args else kwargs["normalized_shape"]
        if len(tuple(shape)) >= input._values.dim():
            raise RuntimeError(
                f"{func.__name__}(): the ragged dimension can't be normalized over"
            )
    if func.__name__ == "embedding" and is_nested(input):
        return input.like(func(input._values, *args, **kwargs))
    return input.like(func(input._values, *args, **kwargs))


@op("matmul", "__matmul__", "bmm", "__rmatmul__")
def matmul(func, a, b):
    """With a matrix: on the values. With a nested tensor: part by part."""
    if is_nested(a) and isinstance(b, Tensor) and not is_nested(b) and b.dim() == 2:
        return a.like(ember.matmul(a._values, b))
    others = [list(t) if is_nested(t) else list(t.unbind()) for t in (a, b)]
    parts = [ember.matmul(x, y) for x, y in zip(*others, strict=True)]
    like = _first(a, b)
    made = ember.cat(parts)
    if is_nested(a) and a._dim == 1 and not is_nested(b):
        return like.like(made)
    from ember.nested._tensor import from_parts

    if len({p.shape for p in parts}) == 1 and is_nested(a) and is_nested(b):
        return ember.stack(parts)
    return from_parts(parts, like._layout)


@op("scaled_dot_product_attention")
def attention(
    func, query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **options
):
    """Part by part: queries see the keys of their own part only."""
    if attn_mask is not None:
        raise RuntimeError("attn_mask is not supported for nested tensors")
    sides = (list(query), list(key), list(value))
    parts = []
    for q, k, v in zip(*sides, strict=True):
        q, k, v = (t.unsqueeze(0) for t in (q, k, v))
        out = func(q, k, v, None, dropout_p, is_causal, **options).squeeze(0)
        parts.append(out.transpose(0, 1) if query._dim == 2 else out)
    return query.like(ember.cat(parts))


@op("transpose", "swapaxes", "swapdims")
def transpose(func, x, a: int, b: int):
    """Of the ragged dimension with the next one (a change of view), or inside."""
    first, second = sorted(d % x.dim() for d in (a, b))
    if (first, second) == (1, 2):
        made = x.like(x._values)
        made._dim = 3 - x._dim
        return made
    if first < 1 or (first <= 2 and x._dim == 2) or first == 1:
        raise RuntimeError(
            f"transpose(): dimensions {a} and {b} of a nested tensor of shape "
            f"{x.shape} can't be exchanged"
        )
    return x.like(x._values.transpose(first - 1, second - 1))


@op("view", "reshape", "unflatten", "flatten")
def reshape(func, x, *args, **kwargs):
    """Of the dimensions behind the ragged one."""
    if x._dim != 1:
        raise RuntimeError(f"{func.__name__}(): transpose the nested tensor back first")
    if func.__name__ == "unflatten":
        dim, sizes = (*args, *kwargs.values())
        return x.like(x._values.unflatten(_inner(x, dim, "unflatten"), sizes))
    if func.__name__ == "flatten":
        start = args[0] if args else kwargs.get("start_dim", 0)
        end = args[1] if len(args) > 1 else kwargs.get("end_dim", -1)
        start, end = _inner(x, start, "flatten"), _inner(x, end, "flatten")
        return x.like(x._values.flatten(start, end))
    size = (
        list(args[0]) if len(args) == 1 and not isinstance(args[0], int) else list(args)
    )
    ragged = size[1] is x._size or size[1] == -1
    if size[0] not in (len(x), -1) or not ragged:
        raise RuntimeError(
            f"{func.__name__}(): the first two sizes must be {x.shape[:2]}, got {size}"
        )
    return x.like(x._values.reshape((x._values.shape[0], *size[2:])))


def _inner(x: NestedTensor, dim: int, name: str) -> int:
    """A dimension behind the ragged one, as one of the values."""
    dim = dim % x.dim()
    if dim < 2:
        raise RuntimeError(
            f"{name}(): not supported for dimension {dim} of a nested tensor"
        )
    return dim - 1


@op("unsqueeze", "squeeze", "select", "narrow", "chunk", "split", "softmax")
def inside(func, x, *given, dim=None, **kwargs):
    """Along a dimension behind the ragged one."""
    name, args = func.__name__, list(given)
    at = 1 if name in ("chunk", "split") else 0
    if dim is None:
        dim = args.pop(at) if len(args) > at else 0
    if name == "softmax" and dim % x.dim() == 1:
        return x.like(ember.cat([func(p, 0, *args, **kwargs) for p in x.unbind()]))
    args.insert(
        at,
        _inner(x, dim, name) if name != "unsqueeze" else (dim - 1 if dim > 0 else dim),
    )
    made = func(x._values, *args, **kwargs)
    return tuple(map(x.like, made)) if isinstance(made, (tuple, list)) else x.like(made)


TABLE["log_softmax"] = inside


@op("cat", "concat", "stack")
def join(func, tensors, dim: int = 0):
    """Nested tensors of the same lengths, beside each other."""
    like = _first(*tensors)
    for t in tensors:
        _same_parts(like, t, func.__name__)
    inner = _inner(like, dim, func.__name__)
    return like.like(func([t._values for t in tensors], inner))


@op("sum", "mean", "amax", "amin", "prod", "any", "all", "max", "min")
def reduce(func, x, dim=None, keepdim: bool = False, **options):
    """Over everything, over the rows of each part, or inside of rows."""
    if dim is None:
        parts = x._values if x._lengths is None else ember.cat(list(x))
        return func(parts, **options)
    dims = [d % x.dim() for d in ([dim] if isinstance(dim, int) else dim)]
    if 0 in dims:
        raise RuntimeError(f"{func.__name__}(): not supported over the batch dimension")
    if x._dim in dims:
        within = [0, *(d - 1 for d in dims if d != x._dim)]
        each = within[0] if len(within) == 1 else within
        made = [
            func(x._values.narrow(0, a, n), each, keepdim, **options)
            for a, n in x._places()
        ]
        return ember.stack(made)
    within = [d - 1 for d in dims]
    each = within[0] if len(within) == 1 else within
    made = func(x._values, each, keepdim, **options)
    return made if not isinstance(made, Tensor) else x.like(made)


@op("unbind")
def unbind(func, x, dim: int = 0):
    return x.unbind(dim)


@op("equal")
def equal(func, a, b) -> bool:
    both = is_nested(a) and is_nested(b) and ember.equal(a._offsets, b._offsets)
    return both and ember.equal(a._values, b._values)


@op("is_floating_point", "is_complex", "element_size", "get_device", "type")
def of_values(func, x, *args, **kwargs):
    return func(x._values, *args, **kwargs)


@op("getitem", "__getitem__")
def getitem(func, x, index):
    """A part, or an index of rows: x[:, :, k]."""
    if isinstance(index, int):
        return x.unbind()[index]
    if isinstance(index, tuple) and len(index) > 2 and index[:2] == (slice(None),) * 2:
        return x.like(x._values[(slice(None), *index[2:])])
    if isinstance(index, tuple) and isinstance(index[0], int):
        return x.unbind()[index[0]][index[1:]]
    raise NotImplementedError(f"indexing a nested tensor with {index!r}")
