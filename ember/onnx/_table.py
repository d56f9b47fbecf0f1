"""How each op of an exported program is written in ONNX: one row or function each.

A translation gets the `Writer`, the node, and the node's arguments: names of values for
nodes (`Value`), everything else as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ember

TABLE: dict[str, Callable[..., Any]] = {}


def rule(*names: str) -> Callable[[Callable], Callable]:
    """Register a translation for ops of these names."""

    def register(function: Callable) -> Callable:
        TABLE.update(dict.fromkeys(names, function))
        return function

    return register


_UNARY = """
    abs:Abs acos:Acos acosh:Acosh asin:Asin asinh:Asinh atan:Atan atanh:Atanh ceil:Ceil
    cos:Cos cosh:Cosh erf:Erf exp:Exp floor:Floor log:Log neg:Neg negative:Neg
    reciprocal:Reciprocal relu:Relu round:Round sigmoid:Sigmoid sign:Sign sin:Sin
    sinh:Sinh sqrt:Sqrt tan:Tan tanh:Tanh isnan:IsNaN isinf:IsInf softsign:Softsign
    logical_not:Not bitwise_not:Not special_erf:Erf special_expit:Sigmoid det:Det
    clone:Identity alias:Identity detach:Identity contiguous:Identity
    lift_fresh:Identity relu_:Relu
    """
for _pair in _UNARY.split():
    _name, _, _kind = _pair.partition(":")

    def _unary(w: Any, n: Any, x: Any, *rest: Any, _kind: str = _kind, **k: Any) -> Any:
        return w.op(_kind, x)

    TABLE[_name] = _unary

_BINARY = """
    mul:Mul multiply:Mul minimum:Min maximum:Max
    eq:Equal gt:Greater ge:GreaterOrEqual lt:Less le:LessOrEqual
    greater:Greater less:Less
    """
for _pair in _BINARY.split():
    _name, _, _kind = _pair.partition(":")

    def _binary(w: Any, n: Any, a: Any, b: Any, _kind: str = _kind) -> Any:
        return w.op(_kind, *w.promoted(n, a, b))

    TABLE[_name] = _binary
for _name, _kind in (
    ("logical_and", "And"),
    ("logical_or", "Or"),
    ("logical_xor", "Xor"),
):

    def _logical(w: Any, n: Any, a: Any, b: Any, _kind: str = _kind) -> Any:
        return w.op(_kind, w.cast(a, ember.bool), w.cast(b, ember.bool))

    TABLE[_name] = _logical
    TABLE["bitwise_" + _name[8:]] = _logical


@rule("ne", "not_equal")
def _ne(w, n, a, b):
    return w.op("Not", w.op("Equal", *w.promoted(n, a, b)))


@rule("add", "add_", "sub", "sub_", "subtract", "rsub")
def _add(w, n, a, b, alpha=1):
    name = n.target.__name__
    if name == "rsub":
        a, b = b, a
    a, b = w.promoted(n, a, b)
    if alpha != 1:
        b = w.op("Mul", b, w.number(alpha, w.dtype(n)))
    return w.op("Add" if name.startswith("add") else "Sub", a, b)


@rule("div", "true_divide", "floor_divide")
def _div(w, n, a, b, rounding_mode=None):
    a, b = w.promoted(n, a, b)
    out = w.op("Div", a, b)
    if n.target.__name__ == "floor_divide" or rounding_mode == "floor":
        return w.op("Floor", out) if w.dtype(n).is_floating_point else out
    return out


@rule("remainder")
def _remainder(w, n, a, b):
    a, b = w.promoted(n, a, b)
    if not w.dtype(n).is_floating_point:
        return w.op("Mod", a, b)
    return w.op("Sub", a, w.op("Mul", w.op("Floor", w.op("Div", a, b)), b))


@rule("pow")
def _pow(w, n, a, b):
    return w.op("Pow", *w.promoted(n, a, b))


@rule("rsqrt")
def _rsqrt(w, n, x):
    return w.op("Reciprocal", w.op("Sqrt", x))


@rule("square")
def _square(w, n, x):
    return w.op("Mul", x, x)


@rule("log2", "log10", "log1p", "expm1")
def _logs(w, n, x):
    name = n.target.__name__
    one = w.number(1, w.dtype(n))
    if name == "log1p":
        return w.op("Log", w.op("Add", x, one))
    if name == "expm1":
        return w.op("Sub", w.op("Exp", x), one)
    base = math.log(2 if name == "log2" else 10)
    return w.op("Div", w.op("Log", x), w.number(base, w.dtype(n)))


@rule("addmm")
def _addmm(w, n, bias, a, b, beta=1, alpha=1):
    return w.op("Gemm", a, b, bias, alpha=float(alpha), beta=float(beta))


@rule("matmul", "mm", "bmm")
def _matmul(w, n, a, b):
    return w.op("MatMul", a, b)


@rule("linear")
def _linear(w, n, x, weight, bias=None):
    out = w.op("MatMul", x, w.op("Transpose", weight, perm=[1, 0]))
    return out if bias is None else w.op("Add", out, bias)


# --- activations ----------------------------------------------------------------------


@rule("gelu")
def _gelu(w, n, x, approximate="none"):
    half = w.op("Mul", x, w.number(0.5, w.dtype(n)))
    one = w.number(1, w.dtype(n))
    if approximate == "tanh":
        cube = w.op("Mul", w.op("Mul", x, x), x)
        inner = w.op("Add", x, w.op("Mul", cube, w.number(0.044715, w.dtype(n))))
        inner = w.op("Mul", inner, w.number(math.sqrt(2 / math.pi), w.dtype(n)))
        return w.op("Mul", half, w.op("Add", w.op("Tanh", inner), one))
    inner = w.op("Mul", x, w.number(math.sqrt(0.5), w.dtype(n)))
    return w.op("Mul", half, w.op("Add", w.op("Erf", inner), one))


@rule("silu")
def _silu(w, n, x, inplace=False):
    return w.op("Mul", x, w.op("Sigmoid", x))


@rule("mish")
def _mish(w, n, x, inplace=False):
    return w.op("Mul", x, w.op("Tanh", w.op("Softplus", x)))


@rule("hardswish")
def _hardswish(w, n, x, inplace=False):
    return w.op("HardSwish", x)


@rule("hardsigmoid")
def _hardsigmoid(w, n, x, inplace=False):
    return w.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)


@rule("relu6")
def _relu6(w, n, x, inplace=False):
    return w.op("Clip", x, w.number(0, w.dtype(n)), w.number(6, w.dtype(n)))


@rule("clamp", "clip", "hardtanh")
def _clamp(w, n, x, min=None, max=None, min_val=-1.0, max_val=1.0, inplace=False):
    if n.target.__name__ == "hardtanh" and min is None:
        min, max = min_val, max_val
    for bound, kind in ((min, "Max"), (max, "Min")):
        if bound is not None:
            x = w.op(kind, *w.promoted(n, x, bound))
    return x


@rule("leaky_relu", "elu", "celu", "selu")
def _leaky(w, n, x, slope=None, *rest, negative_slope=0.01, alpha=1.0, inplace=False):
    name = n.target.__name__
    if name == "selu":
        return w.op("Selu", x)
    if name == "leaky_relu":
        value = negative_slope if slope is None else slope
        return w.op("LeakyRelu", x, alpha=float(value))
    value = alpha if slope is None else slope
    return w.op("Elu" if name == "elu" else "Celu", x, alpha=float(value))


@rule("softplus")
def _softplus(w, n, x, beta=1, threshold=20):
    if beta == 1:
        return w.op("Softplus", x)
    b = w.number(beta, w.dtype(n))
    return w.op("Div", w.op("Softplus", w.op("Mul", x, b)), b)


@rule("logsigmoid")
def _logsigmoid(w, n, x):
    return w.op("Neg", w.op("Softplus", w.op("Neg", x)))


@rule("prelu")
def _prelu(w, n, x, weight):
    rank = w.rank(n.args[0])
    if rank > 2:
        weight = w.op("Unsqueeze", weight, w.ints(range(1, rank - 1)))
    return w.op("PRelu", x, weight)


@rule("softmax", "log_softmax")
def _softmax(w, n, x, dim=-1, dtype=None, _stacklevel=3):
    kind = "Softmax" if n.target.__name__ == "softmax" else "LogSoftmax"
    return w.op(kind, x if dtype is None else w.cast(x, dtype), axis=dim)


@rule("dropout", "feature_dropout", "alpha_dropout")
def _dropout(w, n, x, p=0.5, training=False, train=None, inplace=False):
    if training:
        raise w.error(n, "a layer of dropout in training mode; call model.eval()")
    return w.op("Identity", x)


@rule("glu")
def _glu(w, n, x, dim=-1):
    a, b = w.op("Split", x, outputs=2, axis=dim, num_outputs=2)
    return w.op("Mul", a, w.op("Sigmoid", b))


# --- layers ---------------------------------------------------------------------------


def _many(value: Any, count: int) -> list[int]:
    if isinstance(value, list | tuple):
        return list(value) * (count if len(value) == 1 else 1)
    return [value] * count


@rule("conv1d", "conv2d", "conv3d")
def _conv(w, n, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    k = int(n.target.__name__[4])
    stride, dilation = _many(stride, k), _many(dilation, k)
    options: dict[str, Any] = {
        "strides": stride,
        "dilations": dilation,
        "group": groups,
    }
    if padding == "same":
        options["auto_pad"] = "SAME_UPPER"
    elif padding != "valid":
        options["pads"] = _many(padding, k) * 2
    return w.op("Conv", x, weight, *([bias] if bias is not None else []), **options)


@rule("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def _conv_transpose(
    w,
    n,
    x,
    weight,
    bias=None,
    stride=1,
    padding=0,
    output_padding=0,
    groups=1,
    dilation=1,
):
    k = int(n.target.__name__[14])
    return w.op(
        "ConvTranspose", x, weight, *([bias] if bias is not None else []),
        strides=_many(stride, k), pads=_many(padding, k) * 2, group=groups,
        dilations=_many(dilation, k), output_padding=_many(output_padding, k),
    )  # fmt: skip


@rule("max_pool1d", "max_pool2d", "max_pool3d")
def _max_pool(
    w, n, x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False,
    return_indices=False,
):  # fmt: skip
    k = int(n.target.__name__[8])
    stride = kernel_size if stride in (None, [], ()) else stride
    return w.op(
        "MaxPool", x, kernel_shape=_many(kernel_size, k), strides=_many(stride, k),
        pads=_many(padding, k) * 2, dilations=_many(dilation, k),
        ceil_mode=int(ceil_mode),
    )  # fmt: skip


@rule("avg_pool1d", "avg_pool2d", "avg_pool3d")
def _avg_pool(
    w, n, x, kernel_size, stride=None, padding=0, ceil_mode=False,
    count_include_pad=True, divisor_override=None,
):  # fmt: skip
    k = int(n.target.__name__[8])
    stride = kernel_size if stride in (None, [], ()) else stride
    return w.op(
        "AveragePool", x, kernel_shape=_many(kernel_size, k),
        strides=_many(stride, k), pads=_many(padding, k) * 2,
        ceil_mode=int(ceil_mode), count_include_pad=int(count_include_pad),
    )  # fmt: skip


@rule("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d")
def _adaptive(w, n, x, output_size):
    k = int(n.target.__name__[17])
    sizes, shape = _many(output_size, k), w.shape(n.args[0])[-k:]
    if all(s == 1 for s in sizes):
        return w.op("GlobalAveragePool", x)
    if any(a % b for a, b in zip(shape, sizes, strict=True)):
        raise w.error(n, f"sizes {list(shape)} are no multiples of {sizes}")
    step = [a // b for a, b in zip(shape, sizes, strict=True)]
    return w.op("AveragePool", x, kernel_shape=step, strides=step)


@rule("batch_norm")
def _batch_norm(
    w, n, x, mean, var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    if training:
        raise w.error(n, "batch norm in training mode; call model.eval()")
    count = w.shape(n.args[1])[0]
    weight = w.constant(ember.ones(count)) if weight is None else weight
    bias = w.constant(ember.zeros(count)) if bias is None else bias
    return w.op("BatchNormalization", x, weight, bias, mean, var, epsilon=eps)


@rule("layer_norm")
def _layer_norm(w, n, x, shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    weight = w.constant(ember.ones(list(shape))) if weight is None else weight
    given = [x, weight] + ([bias] if bias is not None else [])
    return w.op("LayerNormalization", *given, axis=-len(shape), epsilon=eps)


@rule("group_norm", "instance_norm")
def _group_norm(w, n, x, groups, weight=None, bias=None, eps=1e-5, **rest):
    if n.target.__name__ == "instance_norm":
        raise w.error(n, "instance norm")
    channels, rank = w.shape(n.args[0])[1], w.rank(n.args[0])
    shaped = w.op("Reshape", x, w.ints([0, groups, -1]))
    ones = w.constant(ember.ones(groups))
    zeros = w.constant(ember.zeros(groups))
    out = w.op("InstanceNormalization", shaped, ones, zeros, epsilon=eps)
    out = w.op("Reshape", out, w.op("Shape", x))
    for kind, value in (("Mul", weight), ("Add", bias)):
        if value is not None:
            form = w.ints([1, channels] + [1] * (rank - 2))
            out = w.op(kind, out, w.op("Reshape", value, form))
    return out


@rule("embedding")
def _embedding(w, n, *args, **kwargs):
    a, b = args[:2]
    index_first = not w.meta(n.args[0]).dtype.is_floating_point
    weight, index = (b, a) if index_first else (a, b)
    return w.op("Gather", weight, index, axis=0)


@rule("embedding_bag")
def _embedding_bag(
    w, n, index, weight, offsets=None, max_norm=None, norm_type=2.0, scale=False,
    mode="mean", sparse=False, per_sample_weights=None, include_last_offset=False,
    padding_idx=None,
):  # fmt: skip
    if offsets is not None or padding_idx is not None:
        raise w.error(n, "bags by offsets, or with padding")
    rows = w.op("Gather", weight, index, axis=0)
    if per_sample_weights is not None:
        rows = w.op("Mul", rows, w.op("Unsqueeze", per_sample_weights, w.ints([-1])))
    kind = {"mean": "ReduceMean", "sum": "ReduceSum", "max": "ReduceMax"}[mode]
    return w.op(kind, rows, w.ints([1]), keepdims=0)


@rule("scaled_dot_product_attention")
def _attention(
    w, n, q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
    enable_gqa=False,
):  # fmt: skip
    rank, dtype = w.rank(n.args[1]), w.dtype(n)
    size = w.shape(n.args[0])[-1]
    order = [*range(rank - 2), rank - 1, rank - 2]
    scores = w.op("MatMul", q, w.op("Transpose", k, perm=order))
    factor = 1 / math.sqrt(size) if scale is None else scale
    scores = w.op("Mul", scores, w.number(factor, dtype))
    low = w.number(-1e9 if dtype is ember.float32 else -6e4, dtype)
    if is_causal:
        ones = w.op(
            "ConstantOfShape",
            w.op("Shape", scores, start=rank - 2),
            value=w.tensor(ember.ones(1, dtype=ember.int64)),
        )
        mask = w.op("Cast", w.op("Trilu", ones, upper=0), to=w.code(ember.bool))
        scores = w.op("Where", mask, scores, low)
    if attn_mask is not None:
        if w.meta(_argument(n, 3, "attn_mask")).dtype == ember.bool:
            scores = w.op("Where", attn_mask, scores, low)
        else:
            scores = w.op("Add", scores, attn_mask)
    return w.op("MatMul", w.op("Softmax", scores, axis=-1), v)


def _argument(n: Any, position: int, name: str) -> Any:
    return n.args[position] if len(n.args) > position else n.kwargs[name]


@rule("lstm", "gru")
def _recurrent(
    w, n, x, state, weights, has_biases, layers, dropout, train, bidirectional,
    batch_first,
):  # fmt: skip
    kind = n.target.__name__.upper()
    gates = [0, 3, 1, 2] if kind == "LSTM" else [1, 0, 2]  # ours to ONNX's order
    ways = 2 if bidirectional else 1
    per = 4 if has_biases else 2
    if batch_first:
        x = w.op("Transpose", x, perm=[1, 0, 2])
    states = list(state) if isinstance(state, list | tuple) else [state]
    finals: list[list[Any]] = [[] for _ in states]
    for layer in range(layers):
        parts: list[list[Any]] = [[], [], []]
        for way in range(ways):
            at = (layer * ways + way) * per
            found = [w.gates(v, gates) for v in weights[at : at + per]]
            parts[0].append(w.op("Unsqueeze", found[0], w.ints([0])))
            parts[1].append(w.op("Unsqueeze", found[1], w.ints([0])))
            if has_biases:
                both = w.op("Concat", found[2], found[3], axis=0)
                parts[2].append(w.op("Unsqueeze", both, w.ints([0])))
        joined = [w.op("Concat", *p, axis=0) if p else "" for p in parts]
        rows = w.ints(range(layer * ways, (layer + 1) * ways))
        first = [w.op("Gather", s, rows, axis=0) for s in states]
        options: dict[str, Any] = {
            "hidden_size": w.shape(weights[1].node)[1],
            "direction": "bidirectional" if ways == 2 else "forward",
        }
        if kind == "GRU":
            options["linear_before_reset"] = 1
        out, *last = w.op(
            kind, x, *joined, "", *first, outputs=len(states) + 1, **options
        )
        for store, value in zip(finals, last, strict=True):
            store.append(value)
        out = w.op("Transpose", out, perm=[0, 2, 1, 3])
        x = w.op("Reshape", out, w.ints([0, 0, -1]))
    if batch_first:
        x = w.op("Transpose", x, perm=[1, 0, 2])
    ends = [w.op("Concat", *f, axis=0) for f in finals]
    return [x, *ends]


# --- shapes ---------------------------------------------------------------------------


def _sizes(shape: tuple) -> list[Any]:
    return (
        list(shape[0])
        if len(shape) == 1 and isinstance(shape[0], list | tuple)
        else (list(shape))
    )


@rule("view", "reshape", "_unsafe_view")
def _reshape(w, n, x, *shape, **kwargs):
    return w.op("Reshape", x, w.sizes(_sizes(shape or tuple(kwargs.values()))))


@rule("flatten", "unflatten")
def _flatten(w, n, x, *rest, **kwargs):
    return w.op("Reshape", x, w.like(n))


@rule("unsqueeze")
def _unsqueeze(w, n, x, dim):
    return w.op("Unsqueeze", x, w.ints([dim]))


@rule("squeeze")
def _squeeze(w, n, x, dim=None):
    if dim is None:
        return w.op("Squeeze", x)
    dims = [dim] if isinstance(dim, int) else list(dim)
    dims = [d for d in dims if w.shape(n.args[0])[d] == 1]
    return w.op("Squeeze", x, w.ints(dims)) if dims else w.op("Identity", x)


@rule("permute")
def _permute(w, n, x, *dims):
    rank = w.rank(n.args[0])
    return w.op("Transpose", x, perm=[d % rank for d in _sizes(dims)])


@rule("transpose", "t", "swapaxes")
def _transpose(w, n, x, a=0, b=1):
    order = list(range(w.rank(n.args[0])))
    if len(order) < 2:
        return w.op("Identity", x)
    order[a], order[b] = order[b], order[a]
    return w.op("Transpose", x, perm=order)


@rule("expand")
def _expand(w, n, x, *shape):
    sizes = [1 if s == -1 else s for s in _sizes(shape)]
    return w.op("Expand", x, w.sizes(sizes))


@rule("cat", "concat")
def _cat(w, n, tensors, dim=0):
    dtype = w.dtype(n)
    return w.op("Concat", *(w.cast(t, dtype) for t in tensors), axis=dim)


@rule("stack")
def _stack(w, n, tensors, dim=0):
    parts = [w.op("Unsqueeze", t, w.ints([dim])) for t in tensors]
    return w.op("Concat", *parts, axis=dim)


@rule("split", "chunk", "unbind")
def _split(w, n, x, size=1, dim=0):
    name, shape = n.target.__name__, w.shape(n.args[0])
    if name == "unbind":
        dim, size = (size if len(n.args) > 1 else dim), 1
    sizes = [v.shape[dim] if name != "unbind" else 1 for v in n.meta["val"]]
    del shape
    parts = w.op("Split", x, w.ints(sizes), outputs=len(sizes), axis=dim)
    parts = parts if isinstance(parts, list) else [parts]
    if name == "unbind":
        return [w.op("Squeeze", p, w.ints([dim])) for p in parts]
    return parts


@rule("select")
def _select(w, n, x, dim, index):
    return w.op("Gather", x, w.scalar(index), axis=dim)


@rule("slice")
def _slice(w, n, x, dim=0, start=None, end=None, step=1):
    stop = (1 << 62) if end is None else end
    begin = 0 if start is None else start
    given = [w.sizes([begin]), w.sizes([stop]), w.ints([dim]), w.ints([step])]
    return w.op("Slice", x, *given)


@rule("index")
def _index(w, n, x, indices):
    used = [(i, v) for i, v in enumerate(indices) if v is not None]
    if len(used) != 1 or w.meta(n.args[1][used[0][0]]).dtype == ember.bool:
        raise w.error(n, "indexing by several tensors, or by a mask")
    return w.op("Gather", x, used[0][1], axis=used[0][0])


@rule("index_select", "gather", "take_along_dim")
def _gather(w, n, x, dim, index):
    kind = "Gather" if n.target.__name__ == "index_select" else "GatherElements"
    return w.op(kind, x, index, axis=dim)


@rule("where")
def _where(w, n, condition, a, b):
    return w.op("Where", condition, *w.promoted(n, a, b))


@rule("masked_fill")
def _masked_fill(w, n, x, mask, value):
    value = value if hasattr(value, "node") else w.number(value, w.dtype(n))
    return w.op("Where", mask, value, x)


@rule("tril", "triu")
def _trilu(w, n, x, diagonal=0):
    upper = int(n.target.__name__ == "triu")
    return w.op("Trilu", x, w.scalar(diagonal), upper=upper)


@rule("to", "type", "float", "half", "double", "long", "int", "bool", "type_as")
def _to(w, n, x, *rest, **kwargs):
    return w.cast(x, w.dtype(n))


@rule("pad", "constant_pad_nd")
def _pad(w, n, x, pad, mode="constant", value=0):
    rank = w.rank(n.args[0])
    before, after = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        before[rank - 1 - i], after[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    kinds = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}
    if mode not in kinds:
        raise w.error(n, f"padding of mode {mode}")
    given = [w.ints(before + after)]
    if mode == "constant":
        given.append(w.number(value or 0, w.dtype(n)))
    return w.op("Pad", x, *given, mode=kinds[mode])


@rule("interpolate")
def _interpolate(
    w, n, x, size=None, scale_factor=None, mode="nearest", align_corners=None, *rest,
    **kwargs,
):  # fmt: skip
    rank = w.rank(n.args[0])
    kinds = {"nearest": "nearest", "bilinear": "linear", "bicubic": "cubic",
             "linear": "linear", "trilinear": "linear"}  # fmt: skip
    if mode not in kinds:
        raise w.error(n, f"interpolation of mode {mode}")
    options: dict[str, Any] = {"mode": kinds[mode]}
    if mode == "nearest":
        options.update(
            coordinate_transformation_mode="asymmetric", nearest_mode="floor"
        )
    elif align_corners:
        options["coordinate_transformation_mode"] = "align_corners"
    else:
        options["coordinate_transformation_mode"] = "half_pixel"
    if mode == "bicubic":
        options["cubic_coeff_a"] = -0.75
    if scale_factor is not None:
        factors = [1.0, 1.0] + [float(f) for f in _many(scale_factor, rank - 2)]
        return w.op("Resize", x, "", w.constant(ember.tensor(factors)), **options)
    return w.op("Resize", x, "", "", w.like(n), **options)


@rule("pixel_shuffle")
def _pixel_shuffle(w, n, x, factor):
    return w.op("DepthToSpace", x, blocksize=factor, mode="CRD")


@rule("repeat")
def _repeat(w, n, x, *sizes):
    times = _sizes(sizes)
    if len(times) > w.rank(n.args[0]):
        count = len(times) - w.rank(n.args[0])
        x = w.op("Unsqueeze", x, w.ints(range(count)))
    return w.op("Tile", x, w.sizes(times))


@rule("sym_size")
def _sym_size(w, n, x, dim):
    size = w.op("Shape", x, start=dim, end=dim + 1)
    return w.op("Squeeze", size, w.ints([0]))


# --- making tensors -------------------------------------------------------------------


@rule("zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full",
      "zeros", "ones", "full")  # fmt: skip
def _full(w, n, *args, **kwargs):
    name = n.target.__name__
    value = 0 if "zeros" in name else 1
    if "full" in name:
        value = args[-1] if len(args) > 1 else kwargs["fill_value"]
    content = w.tensor(ember.full((1,), value, dtype=w.dtype(n)))
    if name.endswith("like"):
        shape = w.op("Shape", args[0])
    else:
        given = args[1:] if name.startswith("new") else args
        given = given[:1] if "full" in name else given
        shape = w.sizes(_sizes(given))
    return w.op("ConstantOfShape", shape, value=content)


@rule("arange")
def _arange(w, n, *args, dtype=None, device=None, **kwargs):
    start, end, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    values = [w.cast(w.scalar(v), ember.int64) for v in (start, end, step)]
    return w.cast(w.op("Range", *values), w.dtype(n))


@rule("randn_like", "randn")
def _randn(w, n, *args, **kwargs):
    if n.target.__name__ == "randn_like":
        return w.op("RandomNormalLike", args[0])
    return w.op("RandomNormal", shape=_sizes(args))


# --- reductions -----------------------------------------------------------------------


def _reduction(kind: str) -> Callable:
    def reduce(w, n, x, dim=None, keepdim=False, dtype=None, **kwargs):
        x = w.cast(x, w.dtype(n))
        dims = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
        given = [w.ints(dims)] if dims else []
        return w.op(kind, x, *given, keepdims=int(bool(keepdim)))

    return reduce


for _name, _kind in (
    ("sum", "ReduceSum"),
    ("mean", "ReduceMean"),
    ("prod", "ReduceProd"),
    ("amax", "ReduceMax"),
    ("amin", "ReduceMin"),
    ("logsumexp", "ReduceLogSumExp"),
):
    TABLE[_name] = _reduction(_kind)


@rule("max", "min")
def _max(w, n, x, dim=None, keepdim=False):
    kind = n.target.__name__.capitalize()
    if hasattr(dim, "node"):
        return w.op(kind, *w.promoted(n, x, dim))
    if dim is None:
        return w.op(f"Reduce{kind}", x, keepdims=0)
    best = w.op(f"Reduce{kind}", x, w.ints([dim]), keepdims=int(keepdim))
    return [best, w.op(f"Arg{kind}", x, axis=dim, keepdims=int(keepdim))]


@rule("argmax", "argmin")
def _argmax(w, n, x, dim=None, keepdim=False):
    if dim is None:
        x, dim = w.op("Reshape", x, w.ints([-1])), 0
    kind = "ArgMax" if n.target.__name__ == "argmax" else "ArgMin"
    return w.op(kind, x, axis=dim, keepdims=int(keepdim))


@rule("topk")
def _topk(w, n, x, k, dim=-1, largest=True, sorted=True):
    return w.op(
        "TopK", x, w.sizes([k]), outputs=2, axis=dim, largest=int(largest),
        sorted=int(sorted),
    )  # fmt: skip


@rule("cumsum")
def _cumsum(w, n, x, dim, dtype=None):
    return w.op("CumSum", w.cast(x, w.dtype(n)), w.scalar(dim))


@rule("var", "std")
def _var(w, n, x, dim=None, unbiased=True, keepdim=False, correction=None):
    shape = w.shape(n.args[0])
    dims = (
        list(range(len(shape)))
        if dim is None
        else ([dim] if isinstance(dim, int) else list(dim))
    )
    less = (1 if unbiased else 0) if correction is None else correction
    count = math.prod(shape[d] for d in dims)
    mean = w.op("ReduceMean", x, w.ints(dims), keepdims=1)
    apart = w.op("Sub", x, mean)
    total = w.op("ReduceSum", w.op("Mul", apart, apart), w.ints(dims),
                 keepdims=int(keepdim))  # fmt: skip
    out = w.op("Div", total, w.number(count - less, w.dtype(n)))
    return w.op("Sqrt", out) if n.target.__name__ == "std" else out
