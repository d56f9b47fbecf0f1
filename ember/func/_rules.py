"""Batch rules of pointwise ops, casts, reductions, scans: see Note [Batched tensors].

A rule gets a `Call` and works on the values, whose first dimension is the batch. It
raises `Loop` for arguments that it does not know.
"""

from typing import Any

import ember
from ember import Tensor
from ember.func._batched import Call, Loop, rule

_POINTWISE = """
    abs absolute acos acosh add addcdiv addcmul angle arccos arccosh arcsin arcsinh
    arctan arctan2 arctanh asin asinh atan atan2 atanh bitwise_and bitwise_left_shift
    bitwise_not bitwise_or bitwise_right_shift bitwise_xor ceil celu clamp clamp_max
    clamp_min clip complex conj conj_physical copysign cos cosh deg2rad digamma div
    divide eq erf erfc erfinv exp exp2 expm1 fix float_power floor floor_divide fmax
    fmin fmod frac gcd ge greater greater_equal gt hardshrink heaviside hypot i0 igamma
    igammac imag isclose isfinite isinf isnan isneginf isposinf isreal lcm ldexp le lerp
    less less_equal lgamma log log10 log1p log2 logaddexp logaddexp2 logical_and
    logical_not logical_or logical_xor logit lt maximum minimum mul multiply
    nan_to_num ne neg negative nextafter not_equal polar polygamma positive pow rad2deg
    real reciprocal relu relu6 remainder round rsqrt rsub selu sgn sigmoid sign signbit
    sin sinc sinh sqrt square sub subtract tan tanh threshold true_divide trunc where
    xlogy zeta xlog1py entr erfcx i0e i1 i1e log_ndtr ndtr ndtri expit gammaln psi
    bessel_j0 bessel_j1 bessel_y0 bessel_y1 airy_ai spherical_bessel_j0
    elu gelu hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish silu softplus
    softshrink softsign tanhshrink
    __rsub__ __rtruediv__ __rfloordiv__ __rmod__ __rpow__ __floordiv__ __rlshift__
    __rrshift__ __lshift__ __rshift__ __eq__ __ne__ __and__ __or__ __xor__ __rmul__
    __radd__ __truediv__ __pow__ __mod__ __invert__ __abs__ __neg__ __pos__
    clone contiguous detach to type type_as float double half bfloat16 int long short
    char byte bool cfloat cdouble chalf cpu data alias_copy resolve_conj resolve_neg
    zeros_like ones_like empty_like full_like tril triu
    """.split()


def _category(dtype) -> int:
    if dtype.is_complex:
        return 3
    if dtype.is_floating_point:
        return 2
    return 0 if dtype == ember.bool else 1


def _scalar_dtype(tensors: list, rank: int):
    """The dtype that tensors of one number are cast to, so that they do not promote the
    others, as they would not without the batch dimension; None if it makes no odds."""
    wide = [t for t in tensors if t.dim() > 0]
    if rank == 0 or not wide or len(wide) == len(tensors):
        return None
    dtype = wide[0].dtype
    for t in wide[1:]:
        dtype = ember.promote_types(dtype, t.dtype)
    return dtype


def broadcast_values(call: Call, tensors: list, rank: int) -> list:
    """The values, with ones after the batch where a tensor has fewer dimensions."""
    made = []
    for t in tensors:
        value = call.value(t)
        missing = rank - t.dim()
        if call.batched(t) and missing > 0:
            value = value.reshape(call.size, *[1] * missing, *t.shape)
        made.append(value)
    return made


@rule(*_POINTWISE, *(f"{name}_" for name in _POINTWISE if name[0] != "_"), "copy_")
def pointwise(call: Call):
    """The same op on the values, once they broadcast."""
    if "out" in call.kwargs:
        raise Loop
    given = [*call.args, *call.kwargs.values()]
    tensors = [x for x in given if isinstance(x, Tensor)]
    rank = max(t.dim() for t in tensors)
    in_place = call.name[-1] == "_" and not call.name.endswith("__")
    if in_place and not (call.batched(tensors[0]) and tensors[0].dim() == rank):
        raise Loop
    values = broadcast_values(call, tensors, rank)
    common = _scalar_dtype(tensors, rank)
    if common is not None and not in_place:
        for i, (t, v) in enumerate(zip(tensors, values)):
            condition = call.name == "where" and i == 0
            small = t.dim() == 0 and call.batched(t) and t.dtype != common
            if small and not condition and _category(t.dtype) <= _category(common):
                values[i] = v.to(common)
    rest = iter(values)
    new = [next(rest) if isinstance(x, Tensor) else x for x in given]
    args, kwargs = new[: len(call.args)], dict(zip(call.kwargs, new[len(call.args) :]))
    if call.name in ("data",):
        return call.func(*args)
    made = call.func(*args, **kwargs)
    return call.args[0] if in_place else made


@rule("masked_fill", "masked_fill_")
def masked_fill(call: Call):
    """Pointwise, but for a value that differs between samples."""
    x, mask, value = call.bind("self", "mask", "value")
    if not call.batched(value):
        return pointwise(call)
    if call.name == "masked_fill_":
        raise Loop
    return ember.where(mask, value.to(x.dtype), x)


@rule("fill", "fill_")
def fill(call: Call):
    """One number for all elements of a sample."""
    x, value = call.bind("self", "value")
    if not call.batched(x):
        raise Loop
    if call.batched(value):
        value = value.value.reshape(call.size, *[1] * x.dim())
        value = value.expand(call.size, *x.shape).to(x.dtype)
    elif call.name == "fill":
        return call.func(x.value, value)
    if call.name == "fill":
        return value
    x.value.copy_(value) if isinstance(value, Tensor) else x.value.fill_(value)
    return x


def shifted(dim, rank: int):
    """A dimension, or several, of a sample as one of the batch."""
    if isinstance(dim, (tuple, list)):
        return tuple(shifted(d, rank) for d in dim)
    if rank == 0 or isinstance(dim, Tensor):
        raise Loop
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}],"
            f" but got {dim})"
        )
    return dim + 1 if dim >= 0 else dim


def _alone(call: Call, x) -> Tensor:
    """The value of the only tensor of a call."""
    others = [*call.args[1:], *call.kwargs.values()]
    if not call.batched(x) or any(isinstance(o, Tensor) for o in others):
        raise Loop
    return x.value


_SEVERAL = """
    sum nansum mean nanmean amax amin logsumexp std var std_mean var_mean all any
    count_nonzero
    """.split()


@rule(*_SEVERAL)
def reduce_several(call: Call):
    """Reductions over any number of dimensions, all if there is no `dim`."""
    x = call.args[0]
    value, rank = _alone(call, x), x.dim()
    args, kwargs = list(call.args[1:]), dict(call.kwargs)
    if "axis" in kwargs:
        kwargs["dim"] = kwargs.pop("axis")
    dim = args[0] if args else kwargs.pop("dim", None)
    if isinstance(dim, bool) or "out" in kwargs:
        raise Loop
    if rank == 0 and dim in (None, 0, -1) and not args[1:]:
        kwargs.pop("keepdim", None)
        return call.func(value.unsqueeze(1), 1, **kwargs)
    if dim is None or dim == () or dim == []:
        dim = tuple(range(1, rank + 1))
    else:
        dim = shifted(dim, rank)
    return call.func(value, dim, *args[1:], **kwargs)


@rule("max", "min", "median", "nanmedian", "prod", "argmax", "argmin")
def reduce_one(call: Call):
    """Reductions over one dimension, or over all of them at once."""
    if isinstance(call.kwargs.get("other", (*call.args, 0)[1]), Tensor):
        return pointwise(call)
    x = call.args[0]
    value, rank = _alone(call, x), x.dim()
    args, kwargs = list(call.args[1:]), dict(call.kwargs)
    if "axis" in kwargs:
        kwargs["dim"] = kwargs.pop("axis")
    dim = args[0] if args else kwargs.pop("dim", None)
    if rank == 0 or "out" in kwargs:
        raise Loop
    if dim is not None:
        return call.func(value, shifted(dim, rank), *args[1:], **kwargs)
    if args[1:] or kwargs.get("keepdim"):
        raise Loop
    made = call.func(value.flatten(1), 1, **kwargs)
    return made if isinstance(made, Tensor) else made[0]


# The position of `dim` among the arguments, and its value if it is not given.
_ALONG = {
    "cumsum": (1, None),
    "cumprod": (1, None),
    "cummax": (1, None),
    "cummin": (1, None),
    "logcumsumexp": (1, None),
    "softmax": (1, None),
    "log_softmax": (1, None),
    "sort": (1, -1),
    "argsort": (1, -1),
    "mode": (1, -1),
    "aminmax": (1, None),
    "topk": (2, -1),
    "kthvalue": (2, -1),
    "quantile": (2, None),
    "nanquantile": (2, None),
    "flip": (1, None),
    "roll": (2, None),
    "diff": (2, -1),
    "select": (1, None),
    "narrow": (1, None),
    "unbind": (1, 0),
    "chunk": (2, 0),
    "split": (2, 0),
    "split_with_sizes": (2, 0),
    "tensor_split": (2, 0),
    "unfold": (1, None),
    "glu": (1, -1),
    "unflatten": (1, None),
    "squeeze": (1, None),
    "select_copy": (1, None),
    "cumulative_trapezoid": (2, -1),
}
_NAMED = {"flip": "dims", "roll": "dims", "unfold": "dimension"}


@rule(*_ALONG)
def along(call: Call):
    """Ops that work along one dimension and leave the others alone."""
    x: Any = call.args[0] if call.args else None
    value, rank = _alone(call, x), x.dim()
    place, default = _ALONG[call.name]
    args, kwargs = list(call.args), dict(call.kwargs)
    args[0] = value
    key = _NAMED.get(call.name, "dim")
    name = next((k for k in (key, "dim", "axis") if k in kwargs), None)
    if "out" in kwargs or rank == 0:
        raise Loop
    if name is not None:
        kwargs[name] = shifted(kwargs[name], rank)
    elif len(args) > place:
        if call.name == "flip" and len(args) > 2:
            args[1:] = [tuple(args[1:])]
        args[place] = shifted(args[place], rank)
    elif default is None:
        raise Loop
    else:
        kwargs[key] = shifted(default, rank)
    return call.func(*args, **kwargs)


@rule("norm")
def norm(call: Call):
    """`Tensor.norm`: over all dimensions unless some are named."""
    x, p, dim, keepdim, dtype = call.bind(
        "self", p="fro", dim=None, keepdim=False, dtype=None
    )
    value, rank = _alone(call, x), x.dim()
    if rank == 0:
        raise Loop
    if dim is None:
        if keepdim or p not in ("fro", None, 2, 2.0, 1, 1.0, float("inf")):
            raise Loop
        value, dim = value.flatten(1), 1
    else:
        dim = shifted(dim, rank)
    return call.func(value, p, dim, keepdim, dtype=dtype)


@rule("linalg.vector_norm")
def vector_norm(call: Call):
    """`linalg.vector_norm`."""
    x, order, dim, keepdim, dtype = call.bind(
        "self", ord=2, dim=None, keepdim=False, dtype=None
    )
    value, rank = _alone(call, x), x.dim()
    if rank == 0:
        raise Loop
    dim = tuple(range(1, rank + 1)) if dim is None else shifted(dim, rank)
    return call.func(value, order, dim, keepdim, dtype=dtype)


@rule("grad")
def grad(call: Call):
    """The gradient that the whole batch has."""
    return call.args[0].value.grad


@rule("requires_grad_", "retain_grad", "detach_")
def change_value(call: Call):
    """What is a matter of the value alone."""
    x = call.args[0]
    call.func(x.value, *call.args[1:], **call.kwargs)
    return x
