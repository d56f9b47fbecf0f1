"""Batch rules of views, joins, indexing, matrix products and convolutions.

See Note [Batched tensors] in `_batched.py`.
"""

import ember
from ember import Tensor
from ember.func._batched import Batched, Call, Loop, rule, underneath
from ember.func._rules import broadcast_values, shifted


def _own(call: Call):
    x = call.args[0] if call.args else call.kwargs.get("self")
    if not call.batched(x):
        raise Loop
    return x


def _size(call: Call, name: str) -> tuple:
    """A size given as one sequence, as numbers, or by name."""
    if name in call.kwargs:
        return tuple(call.kwargs[name])
    rest = call.args[1:]
    if len(rest) == 1 and not isinstance(rest[0], int):
        return tuple(rest[0])
    return tuple(rest)


@rule("reshape", "view", "view_copy")
def reshape(call: Call):
    x = _own(call)
    if len(call.args) > 1 and isinstance(call.args[1], ember.dtype):
        raise Loop
    size = _size(call, "shape" if "shape" in call.kwargs else "size")
    if -1 in size and x.numel() == 0:
        raise Loop
    return call.func(x.value, (call.size, *size))


@rule("view_as", "reshape_as", "expand_as")
def like_other(call: Call):
    x, other = call.args
    return getattr(x, call.name[:-3])(other.shape)


@rule("expand", "broadcast_to", "expand_copy")
def expand(call: Call):
    x = _own(call)
    size = _size(call, "size")
    missing = len(size) - x.dim()
    if missing < 0:
        raise Loop
    value = x.value.reshape(call.size, *[1] * missing, *x.shape)
    return value.expand(call.size, *size)


@rule("permute", "permute_copy")
def permute(call: Call):
    x = _own(call)
    dims = [d % max(x.dim(), 1) for d in _size(call, "dims")]
    if len(dims) != x.dim():
        raise Loop
    return call.func(x.value, (0, *(d + 1 for d in dims)))


@rule("transpose", "swapaxes", "swapdims", "transpose_copy")
def transpose(call: Call):
    x = _own(call)
    a, b = [*call.args[1:], *call.kwargs.values()]
    return x.value.transpose(shifted(a, x.dim()), shifted(b, x.dim()))


@rule("movedim", "moveaxis")
def movedim(call: Call):
    x = _own(call)
    source, destination = [*call.args[1:], *call.kwargs.values()]
    rank = x.dim()
    return x.value.movedim(shifted(source, rank), shifted(destination, rank))


@rule("t", "T", "mT", "H", "mH", "adjoint", "t_copy")
def turned(call: Call):
    x = _own(call)
    rank = x.dim()
    if rank < 2:
        if call.name in ("t", "T", "t_copy"):
            return x.value
        raise Loop
    if call.name == "T" and rank != 2:
        return x.value.permute(0, *range(rank, 0, -1))
    turned = x.value.transpose(-2, -1)
    return turned.conj() if call.name in ("H", "mH", "adjoint") else turned


@rule("flatten", "ravel")
def flatten(call: Call):
    x = _own(call)
    if x.dim() == 0:
        return x.value.reshape(call.size, 1)
    _, start, end = call.bind("self", start_dim=0, end_dim=-1)
    return x.value.flatten(shifted(start, x.dim()), shifted(end, x.dim()))


@rule("unsqueeze", "unsqueeze_copy")
def unsqueeze(call: Call):
    x, dim = call.bind("self", "dim")
    return _own(call).value.unsqueeze(shifted(dim, x.dim() + 1))


@rule("squeeze", "squeeze_copy")
def squeeze(call: Call):
    x, dim = call.bind("self", dim=None)
    if dim is None:
        dim = tuple(d for d in range(x.dim()) if x.shape[d] == 1)
    if x.dim() == 0 or not call.batched(x):
        raise Loop
    return x.value.squeeze(shifted(dim, x.dim()))


@rule("diagonal")
def diagonal(call: Call):
    x, offset, dim1, dim2 = call.bind("self", offset=0, dim1=0, dim2=1)
    rank = x.dim()
    return _own(call).value.diagonal(offset, shifted(dim1, rank), shifted(dim2, rank))


@rule("repeat", "tile")
def repeat(call: Call):
    x = _own(call)
    times = _size(call, "repeats" if call.name == "repeat" else "dims")
    missing = len(times) - x.dim()
    if missing < 0:
        raise Loop
    value = x.value.reshape(call.size, *[1] * missing, *x.shape)
    return value.repeat(1, *times)


@rule("unsqueeze_", "squeeze_", "t_", "transpose_", "swapaxes_", "swapdims_")
def turned_in_place(call: Call):
    """The wrapper gets another value, and another shape."""
    x = _own(call)
    changed = getattr(x, call.name[:-1])(*call.args[1:], **call.kwargs)
    underneath(call.func, call.args, call.kwargs)
    x.value = changed.value
    return x


@rule("as_strided", "as_strided_copy", "as_strided_scatter")
def as_strided(call: Call):
    """Strides and offsets are those of a sample in memory of its own."""
    x = call.args[0]
    rest = [
        [a.value[i] if call.batched(a) else a for a in call.args[1:]]
        for i in range(call.size)
    ]
    samples = call.full(x).contiguous().unbind(0)
    made = [call.func(s.clone(), *r, **call.kwargs) for s, r in zip(samples, rest)]
    return ember.stack(made)


@rule("resize_", "resize_as_", "set_", "as_strided_")
def refuse(call: Call):
    raise RuntimeError(
        f"vmap: {call.name} would change the memory of one sample of a batch; make a "
        "new tensor instead"
    )


@rule("new_zeros", "new_ones", "new_empty", "new_full")
def new(call: Call):
    x = _own(call)
    if "size" in call.kwargs or not call.args[1:]:
        raise Loop
    if call.name == "new_full":
        size, rest = tuple(call.args[1]), call.args[2:]
    else:
        size, rest = _size(call, "size"), ()
    return call.func(x.value, (call.size, *size), *rest, **call.kwargs)


# --- joins ----------------------------------------------------------------------------


@rule("cat", "concat", "concatenate", "stack")
def join(call: Call):
    tensors, dim = call.bind("tensors", dim=0)
    rank = tensors[0].dim() + (call.name == "stack")
    values = [call.full(t) for t in tensors]
    return call.func(values, shifted(dim, rank))


# --- indexing -------------------------------------------------------------------------


def _positions(call: Call, size: int, like: Tensor, rank: int) -> Tensor:
    """0 ... size - 1 along the batch, to go with batched indices of this rank."""
    return ember.arange(size, device=like.device).reshape(size, *[1] * rank)


@rule("__getitem__")
def getitem(call: Call):
    x, key = call.args
    key = key if isinstance(key, tuple) else (key,)
    indices = [k for k in key if isinstance(k, (Tensor, list))]
    mapped = [k for k in indices if call.batched(k)]
    if any(isinstance(k, Tensor) and k.dtype == ember.bool for k in mapped):
        raise RuntimeError(
            "vmap: indexing by a mask that differs between samples gives results of "
            "different shapes; use where() instead"
        )
    if not mapped:
        places = [i for i, k in enumerate(key) if isinstance(k, (Tensor, list))]
        if places and places != list(range(places[0], places[-1] + 1)):
            raise Loop  # dimensions that move to the front would pass the batch
        return x.value[(slice(None), *key)]
    if len(key) == 1:
        index = key[0]
        if not call.batched(x):
            return x[index.value]
        batch = _positions(call, call.size, index.value, index.dim())
        return x.value[batch, index.value]
    raise Loop


@rule("__setitem__")
def setitem(call: Call):
    x, key, value = call.args
    key = key if isinstance(key, tuple) else (key,)
    if not call.batched(x) or any(isinstance(k, (Tensor, list)) for k in key):
        raise Loop
    place = (slice(None), *key)
    if call.batched(value):
        rank = x.value[place].dim() - 1
        if value.dim() > rank:
            raise Loop
        (value,) = broadcast_values(call, [value], rank)
    x.value[place] = value
    return x


@rule("gather", "take_along_dim")
def gather(call: Call):
    if call.name == "gather":
        x, dim, index, _ = call.bind("self", "dim", "index", sparse_grad=False)
    else:
        x, index, dim = call.bind("self", "indices", dim=None)
    if dim is None or x.dim() == 0 or index.dim() != x.dim():
        raise Loop
    given = (shifted(dim, x.dim()), call.full(index))
    return call.func(call.full(x), *(given if call.name == "gather" else given[::-1]))


@rule("scatter", "scatter_add", "index_select", "index_add", "index_fill")
def along_index(call: Call):
    x, dim, index, *rest = call.args
    if x.dim() == 0 or not isinstance(index, Tensor):
        raise Loop
    if call.name in ("scatter", "scatter_add"):
        index = call.full(index)
        rest = [call.full(r) if isinstance(r, Tensor) else r for r in rest]
    else:
        if call.batched(index) or any(isinstance(r, Tensor) for r in rest[1:]):
            raise Loop
        if call.name == "index_fill" and any(map(call.batched, rest)):
            raise Loop
        if call.name != "index_fill":
            rest = [call.full(r) if isinstance(r, Tensor) else r for r in rest]
    return call.func(call.full(x), shifted(dim, x.dim()), index, *rest, **call.kwargs)


# --- matrix products ------------------------------------------------------------------


@rule("matmul", "linalg.matmul", "mm", "bmm", "mv", "dot", "__matmul__", "__rmatmul__")
def matmul(call: Call):
    a, b = call.bind("self", "other") if not call.kwargs else call.args
    if call.name == "__rmatmul__":
        a, b = b, a
    ranks = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}
    wanted = ranks.get(call.name)
    if (wanted and wanted != (a.dim(), b.dim())) or 0 in (a.dim(), b.dim()):
        raise Loop  # for the error of the op itself
    if call.batched(a) and not call.batched(b) and b.dim() <= 2:
        return ember.matmul(a.value, b)
    rank = max(a.dim(), b.dim(), 2)
    left, right = call.value(a), call.value(b)
    if a.dim() == 1:
        left = left.unsqueeze(-2)
    if b.dim() == 1:
        right = right.unsqueeze(-1)
    left, right = (
        v.reshape(call.size, *[1] * (rank - max(t.dim(), 2)), *v.shape[1:])
        if call.batched(t)
        else v
        for t, v in ((a, left), (b, right))
    )
    made = ember.matmul(left, right)
    if a.dim() == 1:
        made = made.squeeze(-2)
    return made.squeeze(-1) if b.dim() == 1 else made


@rule("vdot", "inner", "outer", "ger")
def vector_product(call: Call):
    a, b = call.args
    if a.dim() != 1 or b.dim() != 1:
        raise Loop
    if call.name == "vdot":
        return a.conj() @ b
    return a @ b if call.name == "inner" else a.unsqueeze(-1) * b


@rule("addmm", "baddbmm", "addmv", "addbmm", "addr")
def add_product(call: Call):
    x, a, b, beta, alpha = call.bind("self", "a", "b", beta=1, alpha=1)
    if call.name == "addr":
        product = a.unsqueeze(-1) * b
    else:
        product = a @ b
    if call.name == "addbmm":
        product = product.sum(0)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (x if beta == 1 else x * beta)


@rule("linear")
def linear(call: Call):
    x, weight, bias = call.bind("self", "weight", bias=None)
    if not call.batched(weight) and not call.batched(bias):
        return call.func(x.value, weight, bias)
    made = x @ weight.t() if weight.dim() == 2 else x @ weight
    return made if bias is None else made + bias


# --- layers ---------------------------------------------------------------------------


_CONV = ("conv1d", "conv2d", "conv3d")
_TRANSPOSED = ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")


@rule(*_CONV, *_TRANSPOSED)
def convolution(call: Call):
    """A batched input is a larger one; batched weights are more groups."""
    if call.name in _CONV:
        options = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
    else:
        options = {"stride": 1, "padding": 0, "output_padding": 0, "groups": 1}
        options["dilation"] = 1
    x, weight, bias, *rest = call.bind("input", "weight", bias=None, **options)
    given = dict(zip(options, rest))
    alone = x.dim() == weight.dim() - 1
    if not call.batched(weight) and not call.batched(bias):
        value = x.value
        if not alone:
            value = value.flatten(0, 1)
        made = call.func(value, weight, bias, **given)
        return made if alone else made.unflatten(0, (call.size, -1))
    x, weight = call.full(x), call.full(weight)
    if alone:
        x = x.unsqueeze(1)
    # [B, N, C, ...] -> [N, B * C, ...]: each sample convolves with its own weight.
    x = x.movedim(0, 1).flatten(1, 2)
    flat = None if bias is None else call.full(bias).flatten()
    given["groups"] *= call.size
    made = call.func(x, weight.flatten(0, 1), flat, **given)
    made = made.unflatten(1, (call.size, -1)).movedim(1, 0)
    return made.squeeze(1) if alone else made


def _call_full(call: Call):
    """The op itself on whole batches: it leaves leading dimensions alone."""
    args = [call.full(a) if isinstance(a, Tensor) else a for a in call.args]
    kwargs = {
        key: call.full(a) if isinstance(a, Tensor) else a
        for key, a in call.kwargs.items()
    }
    return call.func(*args, **kwargs)


@rule(
    *"""
    det slogdet logdet inverse cholesky qr svd geqrf matrix_exp matrix_power
    linalg.det linalg.slogdet linalg.inv linalg.inv_ex linalg.cholesky
    linalg.cholesky_ex linalg.qr linalg.svd linalg.svdvals linalg.eig linalg.eigvals
    linalg.eigh linalg.eigvalsh linalg.matrix_exp linalg.matrix_power linalg.pinv
    linalg.lu linalg.lu_factor linalg.lu_factor_ex
    """.split()
)
def of_matrices(call: Call):
    if any(isinstance(a, Tensor) for a in call.args[1:]) or call.args[0].dim() < 2:
        raise Loop
    return _call_full(call)


@rule("view_as_real", "view_as_complex", "frexp", "diag_embed")
def of_last_dimensions(call: Call):
    if call.name == "diag_embed" and len(call.args) + len(call.kwargs) > 1:
        raise Loop
    return _call_full(call)


@rule("zero_")
def zero(call: Call):
    _own(call).value.zero_()
    return call.args[0]


@rule("scaled_dot_product_attention")
def attention(call: Call):
    q, k, v, mask, *rest = call.bind(
        "query",
        "key",
        "value",
        attn_mask=None,
        dropout_p=0.0,
        is_causal=False,
        scale=None,
        enable_gqa=False,
    )
    if call.batched(mask):
        (mask,) = broadcast_values(call, [mask], q.dim())
    drop, causal, scale, grouped = rest
    values = [call.full(t) for t in (q, k, v)]
    return call.func(*values, mask, drop, causal, scale=scale, enable_gqa=grouped)


@rule("cross_entropy", "nll_loss")
def class_loss(call: Call):
    """The loss of every element, reduced sample by sample."""
    names: dict = {
        "weight": None,
        "size_average": None,
        "ignore_index": -100,
        "reduce": None,
        "reduction": "mean",
    }
    if call.name == "cross_entropy":
        names["label_smoothing"] = 0.0
    x, target, weight, size_average, ignored, reduce, how, *rest = call.bind(
        "input", "target", **names
    )
    given = (size_average, reduce)
    if weight is not None or given != (None, None) or target.is_floating_point():
        raise Loop
    values, targets = call.full(x), call.full(target)
    alone = x.dim() == 1
    if not alone:
        values, targets = values.flatten(0, 1), targets.flatten(0, 1)
    options = {"label_smoothing": rest[0]} if rest else {}
    losses = call.func(
        values, targets, ignore_index=ignored, reduction="none", **options
    )
    losses = losses if alone else losses.unflatten(0, (call.size, -1))
    if how == "none":
        return losses
    total = losses.reshape(call.size, -1).sum(1)
    if how == "sum":
        return total
    counted = (call.full(target) != ignored).reshape(call.size, -1).sum(1)
    return total / counted


@rule("group_norm", "instance_norm")
def fold_into_batch(call: Call):
    """Norms of each entry of a batch: a batch of batches is a larger one."""
    others = [*call.args[1:], *call.kwargs.values()]
    statistics = call.name == "instance_norm" and any(
        isinstance(a, Tensor) for a in call.args[1:3]
    )
    if statistics or any(map(call.batched, others)):
        raise Loop
    value = call.args[0].value.flatten(0, 1)
    made = call.func(value, *call.args[1:], **call.kwargs)
    return made.unflatten(0, (call.size, -1))


@rule("layer_norm", "rms_norm")
def trailing_norm(call: Call):
    if any(type(a) is Batched for a in [*call.args[1:], *call.kwargs.values()]):
        raise Loop
    return call.func(call.args[0].value, *call.args[1:], **call.kwargs)


@rule("one_hot")
def one_hot(call: Call):
    x, classes = call.bind("tensor", num_classes=-1)
    if classes == -1:
        raise Loop  # which asks for the largest index: an error, as it should be
    return call.func(x.value, classes)
