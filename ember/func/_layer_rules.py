"""Batch rules of matrix products, convolutions and other layers.

See Note [Batched tensors] in `_batched.py`.
"""

import ember
from ember import Tensor
from ember.func._batched import Batched, Call, Loop, rule
from ember.func._rules import broadcast_values
from ember.func._shape_rules import own

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
    own(call).value.zero_()
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
