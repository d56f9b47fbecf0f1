"""Ops on sparse tensors that go element by element: sums, products, functions with
f(0) = 0. The names are those of the ops they implement; conversions and copies are in
`_copies.py`.
"""

import numbers

import ember
from ember import Tensor
from ember.sparse import _convert
from ember.sparse._convert import to_compressed, to_coo
from ember.sparse._out import check_cast, writes_out, written
from ember.sparse._places import check_bounds, coalesced, keys_of
from ember.sparse._table import handles
from ember.sparse._tensor import BLOCKS, SparseTensor, coo


def like(result: Tensor, t: SparseTensor) -> Tensor:
    """A result that was computed as COO, in the layout of `t`."""
    if t._layout is ember.sparse_coo or not isinstance(result, SparseTensor):
        return result
    blocksize = None
    if t._layout in BLOCKS:
        batch = t._index[0].dim() - 1
        blocksize = tuple(t._val.shape[batch + 1 : batch + 3])
        if any(n % b for n, b in zip(result._size[batch:], blocksize)):
            return result
    return to_compressed(result, t._layout, blocksize)


def is_scalar(value) -> bool:
    """A number, or a dense tensor of no dimensions."""
    if isinstance(value, Tensor):
        return value.layout is ember.strided and value.dim() == 0
    return isinstance(value, numbers.Number)


def same_places(a: SparseTensor, b: SparseTensor) -> bool:
    """Whether two tensors have their elements at the same places, in one order."""
    if a._layout is not b._layout or a._size != b._size:
        return False
    if a._val.shape != b._val.shape:
        return False
    return all(x is y or ember.equal(x, y) for x, y in zip(a._index, b._index))


def check_shapes(op: str, a: Tensor, b: Tensor) -> None:
    """Sparse tensors do not broadcast."""
    if a.shape != b.shape:
        raise RuntimeError(
            f"{op}: expected 'self' and 'other' to have same sizes, but "
            f"{list(a.shape)} != {list(b.shape)}"
        )


# --- sums -----------------------------------------------------------------------------


@handles("add")
@writes_out
def add(input, other, *, alpha=1) -> Tensor:
    """self + alpha * other."""
    if not isinstance(input, SparseTensor):
        if not isinstance(input, Tensor):  # number + sparse
            return add(other, input)
        return add_to_dense(input, other, alpha)
    if not isinstance(other, SparseTensor):
        if isinstance(other, Tensor) and not input.is_sparse:
            dtype = ember.promote_types(input.dtype, other.dtype)
            return add_to_dense(_scaled(other, alpha, dtype), input, 1)
        raise RuntimeError(
            "add(sparse, dense) is not supported. Use add(dense, sparse) instead."
        )
    check_shapes("add", input, other)
    if same_places(input, other):
        return input._with(ember.add(input._val, other._val, alpha=alpha))
    a, b = to_coo(input), to_coo(other)
    if a.sparse_dim() != b.sparse_dim() and not (a._nnz() and b._nnz()):
        dtype = ember.promote_types(a.dtype, b.dtype)
        scale, full = (1, a) if a._nnz() else (alpha, b)
        made = full._with(_scaled(full._val, scale, dtype))
        return like(made, input)
    if a.sparse_dim() != b.sparse_dim():
        raise RuntimeError(
            "add: expected 'self' and 'other' to have same number of sparse "
            f"dimensions, got {a.sparse_dim()} and {b.sparse_dim()}"
        )
    check_bounds(a)
    check_bounds(b)
    dtype = ember.promote_types(a.dtype, b.dtype)
    values = ember.cat([a._val.to(dtype), _scaled(b._val, alpha, dtype)])
    made = coo(ember.cat([a._index[0], b._index[0]], 1), values, a._size)
    if a._coalesced and b._coalesced:
        made = coalesced(made)
    return like(made, input)


def _scaled(t: Tensor, alpha, dtype) -> Tensor:
    """alpha * t, computed in `dtype`: -1 times a uint8 is not negative."""
    return t.to(dtype) if alpha == 1 else t.to(dtype) * alpha


def add_to_dense(dense: Tensor, t: SparseTensor, alpha=1) -> Tensor:
    """A dense tensor plus a sparse one: dense."""
    if dense.shape != t.shape:
        try:
            dense = dense.expand(t.shape)
        except RuntimeError:
            raise RuntimeError(
                "add: expected 'self' and 'other' to have same size, but self has size "
                f"{list(dense.shape)} while other has size {list(t.shape)}"
            ) from None
    t = to_coo(t)
    check_bounds(t)
    dtype = ember.promote_types(dense.dtype, t.dtype)
    values = _scaled(t._val, alpha, dtype)
    (indices,), sparse = t._index, t.sparse_dim()
    if sparse == 1:
        return dense.to(dtype).index_add(0, indices[0], values)
    flat = dense.to(dtype).reshape(t._size[:sparse].numel(), *t._size[sparse:])
    keys = keys_of(indices, t._size[:sparse])
    return flat.index_add(0, keys, values).reshape(t._size)


@handles("add_ __iadd__")
def add_(input, other, *, alpha=1) -> Tensor:
    """self += alpha * other; a dense tensor is changed in its own memory."""
    if isinstance(input, SparseTensor):
        return input._become(_cast(add(input, other, alpha=alpha), input.dtype))
    check_cast("add_(): ", ember.result_type(input, other), input.dtype)
    check_shapes("add_", input, other)
    t = to_coo(other)
    check_bounds(t)
    (indices,) = t._index
    values = _scaled(t._val, alpha, input.dtype)
    if indices.shape[0] == 0:
        return input.add_(values.sum(0))
    if indices.shape[0] == 1:
        return input.index_add_(0, indices[0], values)
    return input.index_put_(tuple(indices.unbind(0)), values, accumulate=True)


@handles("sub subtract")
@writes_out
def sub(input, other, *, alpha=1) -> Tensor:
    """self - alpha * other."""
    if not isinstance(input, Tensor):
        return add(neg(other), input)
    if isinstance(input, SparseTensor) and not isinstance(other, SparseTensor):
        return add(input, other)  # which says that it cannot be
    return add(input, other, alpha=-alpha)


@handles("sub_ subtract_")
def sub_(input, other, *, alpha=1) -> Tensor:
    """self -= alpha * other."""
    return add_(input, other, alpha=-alpha)


@handles("__rsub__ rsub")
def rsub(input, other, *, alpha=1) -> Tensor:
    """other - alpha * self."""
    return add(other, input, alpha=-alpha)


# --- products -------------------------------------------------------------------------


@handles("mul multiply")
@writes_out
def mul(input, other) -> Tensor:
    """The product, which has elements where both factors do."""
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if is_scalar(other):
        return input._with(input._val * other)
    if isinstance(other, SparseTensor) and bool(input.dim()) != bool(other.dim()):
        if other.dim():
            input, other = other, input
        return input._with(input._val * _convert.to_dense(other))
    if input.shape != other.shape:
        input, other = _broadcast("mul", input, other)
    if isinstance(other, SparseTensor):
        return _mul_sparse(input, other)
    return _mul_dense(input, other)


def _broadcast(name: str, *tensors: Tensor) -> list[Tensor]:
    """Tensors, some of them sparse, in the one shape that theirs broadcast to."""
    from ember.sparse._shape import broadcast_to

    try:
        shape = ember.broadcast_shapes(*(t.shape for t in tensors))
    except RuntimeError:
        raise RuntimeError(
            f"{name}: expected 'self' and 'other' to have same sizes, but "
            + " != ".join(str(list(t.shape)) for t in tensors)
        ) from None
    return [
        t
        if t.shape == shape
        else broadcast_to(t, shape)
        if isinstance(t, SparseTensor)
        else t.expand(shape)
        for t in tensors
    ]


def _mul_sparse(a: SparseTensor, b: SparseTensor) -> Tensor:
    layout = a
    if a._layout is ember.sparse_coo or b._layout is not a._layout:
        a, b = coalesced(to_coo(a)), coalesced(to_coo(b))
    if same_places(a, b):
        return like(a._with(a._val * b._val), layout)
    a, b = coalesced(to_coo(a)), coalesced(to_coo(b))
    if a.sparse_dim() != b.sparse_dim():
        raise RuntimeError(
            "mul: expected tensors of the same number of sparse dimensions, got "
            f"{a.sparse_dim()} and {b.sparse_dim()}"
        )
    mine, theirs = matches(a, b)
    values = a._val.index_select(0, mine) * b._val.index_select(0, theirs)
    indices = a._index[0].index_select(1, mine)
    return like(coo(indices, values, a._size, coalesced=True), layout)


def matches(a: SparseTensor, b: SparseTensor) -> tuple[Tensor, Tensor]:
    """The numbers of the elements of `a` that `b` has too, and those in `b`.

    `b` is coalesced.
    """
    sparse = a._size[: a.sparse_dim()]
    check_bounds(a)
    check_bounds(b)
    mine, theirs = keys_of(a._index[0], sparse), keys_of(b._index[0], sparse)
    if not theirs.numel():
        empty = theirs.new_zeros(0)
        return empty, empty
    at = ember.searchsorted(theirs, mine).clamp(max=theirs.numel() - 1)
    found = (theirs[at] == mine).nonzero().reshape(-1)
    return found, at[found]


def take(dense: Tensor, t: SparseTensor) -> Tensor:
    """The elements of a dense tensor at the places of a COO tensor."""
    check_bounds(t)
    (indices,) = t._index
    if indices.shape[0] == 0:
        return dense.expand(t._val.shape)
    return dense[tuple(indices.unbind(0))]


def _mul_dense(t: SparseTensor, dense: Tensor) -> Tensor:
    places = to_coo(t)
    values = places._val * take(dense.expand(t._size), places)
    return like(places._with(values), t)


@handles("mul_ multiply_")
def mul_(input, other) -> Tensor:
    """self *= other."""
    if isinstance(input, SparseTensor):
        made = mul(input, other)
        return input._become(_cast(made, input.dtype))
    made = mul(input, other)
    check_cast("mul_(): ", made.dtype, input.dtype)
    check_shapes("mul_", input, made)
    return input.copy_(_convert.to_dense(made))


def _cast(made: Tensor, dtype) -> Tensor:
    check_cast("", made.dtype, dtype)
    return made if made.dtype is dtype else made._with(made._val.to(dtype))


def _divide(name: str, input, other, **options):
    if isinstance(other, SparseTensor) or not is_scalar(other):
        shape = list(other.shape) if isinstance(other, Tensor) else other
        raise RuntimeError(
            f"Sparse {'floor ' if name == 'floor_divide' else ''}division requires a "
            f"scalar or zero-dim dense tensor divisor (got shape {shape} for divisor)"
        )
    if options.get("rounding_mode") is not None or name != "div":
        input = coalesced(input) if input.is_sparse else input
    return input._with(getattr(ember, name)(input._val, other, **options))


@handles("div divide true_divide __truediv__")
@writes_out
def div(input, other, *, rounding_mode=None) -> Tensor:
    """self / other, where other is a number."""
    return _divide("div", input, other, rounding_mode=rounding_mode)


@handles("div_ divide_ true_divide_")
def div_(input, other, *, rounding_mode=None) -> Tensor:
    """self /= other."""
    made = div(input, other, rounding_mode=rounding_mode)
    return input._become(_cast(made, input.dtype))


@handles("floor_divide __floordiv__")
def floor_divide(input, other) -> Tensor:
    """self // other, where other is a number."""
    return _divide("floor_divide", input, other)


@handles("floor_divide_")
def floor_divide_(input, other) -> Tensor:
    """self //= other."""
    return input._become(_cast(floor_divide(input, other), input.dtype))


@handles("pow")
@writes_out
def pow(input, exponent) -> Tensor:
    """self ** exponent, for a number that keeps 0 at 0."""
    if not isinstance(input, SparseTensor) or not is_scalar(exponent):
        raise NotImplementedError("pow(): a sparse tensor takes a number as exponent")
    if exponent <= 0:
        raise RuntimeError(
            "pow(): only positive exponents are supported for sparse tensors, got "
            f"{exponent}"
        )
    t = coalesced(input) if input.is_sparse else input
    return t._with(t._val**exponent)


@handles("pow_")
def pow_(input, exponent) -> Tensor:
    """self **= exponent."""
    return input._become(_cast(pow(input, exponent), input.dtype))


# --- functions that keep zeros --------------------------------------------------------


@handles("neg negative")
@writes_out
def neg(input) -> Tensor:
    """-self."""
    return input._with(-input._val)


@handles("neg_ negative_")
def neg_(input) -> Tensor:
    """Change the sign in place."""
    return input._become(neg(input))


_KEEP_ZERO = """
    abs absolute asin arcsin asinh arcsinh atan arctan atanh arctanh ceil conj_physical
    deg2rad erf erfinv expm1 fix floor frac isinf isnan isneginf isposinf log1p
    nan_to_num nn.functional.relu rad2deg relu round sgn sign signbit sin sinh sqrt
    square tan tanh trunc
    """


def _pointwise(name: str):
    function = ember._C._ops.get(name) or getattr(ember, name, None)
    if function is None:
        return

    def apply(input, *args, out=None, **kwargs) -> Tensor:
        t = coalesced(input) if input.is_sparse else input
        return written(name, t._with(function(t._val, *args, **kwargs)), out)

    def apply_(input, *args, **kwargs) -> Tensor:
        if not input._coalesced:
            short = name.replace("arc", "a")  # arcsin is asin
            raise RuntimeError(f"{short}_ requires coalesced input")
        return input._become(_cast(apply(input, *args, **kwargs), input.dtype))

    handles(name)(apply)
    handles(name + "_")(apply_)


for _name in _KEEP_ZERO.split():
    _pointwise(_name)


@handles("positive conj resolve_conj resolve_neg contiguous")
def unchanged(input, *args, **kwargs) -> Tensor:
    """Ops that leave a real tensor as it is."""
    if input.is_complex():
        return input._with(input._val.conj())
    return input
