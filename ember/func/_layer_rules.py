"""Batch rules of convolutions, norms, losses and other layers.

See Note [Batched tensors] in `_batched.py`.
"""

import ember
from ember import Tensor
from ember.func._batched import Call, Loop, Refused, rule, wrap
from ember.func._rules import broadcast_values

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
        return made if alone else made.unflatten(0, (call.size, x.shape[0]))
    x, weight = call.full(x), call.full(weight)
    if alone:
        x = x.unsqueeze(1)
    # [B, N, C, ...] -> [N, B * C, ...]: each sample convolves with its own weight.
    x = x.movedim(0, 1).flatten(1, 2)
    flat = None if bias is None else call.full(bias).flatten()
    given["groups"] *= call.size
    made = call.func(x, weight.flatten(0, 1), flat, **given)
    made = made.unflatten(1, (call.size, made.shape[1] // max(call.size, 1)))
    made = made.movedim(1, 0)
    return made.squeeze(1) if alone else made


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


# --- losses ---------------------------------------------------------------------------


@rule("cross_entropy", "nll_loss")
def class_loss(call: Call):
    """Losses of the elements, reduced sample by sample."""
    x, target, weight, average, ignored, reduce, how, *rest = call.values()
    if (average, reduce) != (None, None):
        raise Loop
    call.of_sample()  # for its errors
    at = 0 if x.dim() == 1 else 1
    smoothing = rest[0] if rest else 0.0
    logs = x.log_softmax(at) if call.name == "cross_entropy" else x
    shape = [-1 if d == at else 1 for d in range(x.dim())]
    weighted = logs if weight is None else logs * weight.reshape(shape)
    if target.is_floating_point():
        target = target * (1 - smoothing) + smoothing / x.shape[at]
        losses = -(weighted * target).sum(at)
        count = losses.numel()
    else:
        valid = target != ignored
        place = ember.where(valid, target, 0)
        losses = -weighted.gather(at, place.unsqueeze(at)).squeeze(at)
        if smoothing:
            others = -weighted.sum(at) * (smoothing / x.shape[at])
            losses = losses * (1 - smoothing) + others
        losses = ember.where(valid, losses, 0.0).to(x.dtype)
        counts = valid.to(x.dtype)
        count = (counts if weight is None else counts * weight[place]).sum()
    if how == "none":
        return losses
    return losses.sum() if how == "sum" else losses.sum() / count


# --- norms ----------------------------------------------------------------------------


def _channels(call: Call, x: Tensor | None) -> Tensor | None:
    """One number for each channel, for the channels of all samples."""
    return None if x is None else call.full(x).reshape(-1)


@rule(
    "batch_norm",
    "native_batch_norm",
    "_native_batch_norm_legit",
    "_native_batch_norm_legit_no_training",
    "_batch_norm_with_update",
)
def batch_norm(call: Call):
    """Channels of samples beside each other: [B, N, C, ...] -> [N, B * C, ...]."""
    if not call.size:
        raise Loop
    given = call.bound()
    x = given.given["input"]
    value = call.full(x).movedim(0, 1).flatten(1, 2)
    mean, var = given.get("running_mean"), given.get("running_var")
    options = {p.name: p for p in given.schema.params}
    trained = "no_training" not in call.name
    if "training" in options:
        trained = given.value(options["training"])
    if trained and mean is not None:
        _check_statistics(call, mean, var)
    for name in ("weight", "bias", "running_mean", "running_var"):
        if name in given.given:
            given.given[name] = _channels(call, given.given[name])
    given.given["input"] = value
    made = given.call(call.func)
    if trained and mean is not None:
        mean.value.copy_(given.given["running_mean"].reshape(mean.value.shape))
        var.value.copy_(given.given["running_var"].reshape(var.value.shape))
    y, *rest = (made,) if isinstance(made, Tensor) else made
    y = y.unflatten(1, (call.size, x.shape[1])).movedim(1, 0)
    rest = [r.reshape(call.size, x.shape[1] if r.numel() else 0) for r in rest]
    return y if isinstance(made, Tensor) else (y, *rest)


def _check_statistics(call: Call, *statistics) -> None:
    if not all(map(call.batched, statistics)):
        raise Refused(
            "Batch norm got a batched tensor as input while the running_mean or "
            "running_var, which will be updated in place, were not batched. Make them "
            "arguments of the mapped function, or replace_all_batch_norm_modules_()"
        )


@rule("group_norm", "instance_norm", "native_group_norm")
def norm_of_entries(call: Call):
    """Norms of each entry of a batch; a scale that differs comes after them."""
    given = call.bound()
    x, weight, bias = (given.get(n) for n in ("input", "weight", "bias"))
    if any(given.get(n) is not None for n in ("running_mean", "running_var")):
        return _with_statistics(call, given)
    given.given["input"] = call.full(x).flatten(0, 1)
    if "N" in given.given:
        given.given["N"] *= call.size
    apart = call.batched(weight) or call.batched(bias)
    if apart:
        given.given["weight"] = given.given["bias"] = None
    made = given.call(call.func)
    y, *rest = (made,) if isinstance(made, Tensor) else made
    y = y.unflatten(0, (call.size, x.shape[0]))
    if apart:
        y = wrap(y, call.level)
        shape = (-1, *[1] * (x.dim() - 2))
        y = y if weight is None else y * weight.reshape(shape)
        y = y if bias is None else y + bias.reshape(shape)
    rest = [r.unflatten(0, (call.size, x.shape[0])) for r in rest]
    return y if isinstance(made, Tensor) else (y, *rest)


def _with_statistics(call: Call, given):
    """Entries of samples are of the same channels only within the sample."""
    x = given.given["input"]
    given.given["input"] = call.full(x).movedim(0, 1).flatten(1, 2)
    means = [given.given[n] for n in ("running_mean", "running_var")]
    if given.given.get("use_input_stats", True):
        _check_statistics(call, *means)
    for name in ("weight", "bias", "running_mean", "running_var"):
        given.given[name] = _channels(call, given.get(name))
    made = given.call(call.func)
    for name, t in zip(("running_mean", "running_var"), means):
        if call.batched(t):
            t.value.copy_(given.given[name].reshape(t.value.shape))
    return made.unflatten(1, (call.size, x.shape[1])).movedim(1, 0)


@rule("layer_norm", "rms_norm", "native_layer_norm")
def trailing_norm(call: Call):
    """Norms of the last dimensions; a scale that differs comes after them."""
    others = [*call.args[1:], *call.kwargs.values()]
    if call.args and not any(map(call.batched, others)):
        return call.func(call.args[0].value, *call.args[1:], **call.kwargs)
    given = call.bound()
    name = given.schema.params[0].name
    weight, bias = given.get("weight"), given.get("bias")
    given.given[name] = call.full(given.given[name])
    if not call.batched(weight) and not call.batched(bias):
        return given.call(call.func)
    for scale in ("weight", "bias"):
        if scale in given.given:
            given.given[scale] = None
    made = given.call(call.func)
    y, *rest = (made,) if isinstance(made, Tensor) else made
    y = wrap(y, call.level)
    y = y if weight is None else y * weight
    y = y if bias is None else y + bias
    return y if isinstance(made, Tensor) else (y, *rest)


@rule("prelu")
def prelu(call: Call):
    x, weight = call.values()
    if weight.numel() != 1:
        weight = weight.reshape(-1, *[1] * (x.dim() - 2))
    elif x.dim() < weight.dim():
        weight = weight.reshape(())
    return ember.where(x > 0, x, weight * x)


# --- others ---------------------------------------------------------------------------


@rule("one_hot")
def one_hot(call: Call):
    x, classes = call.bind("tensor", num_classes=-1)
    if classes == -1:
        raise Loop  # which asks for the largest index: an error, as it should be
    return call.func(x.value, classes)


@rule("segment_reduce", "_segment_reduce")
def segment_reduce(call: Call):
    given = call.bound()
    for name in given.tensors():
        given.given[name] = call.full(given.given[name])
    given.given["axis"] = given.given.get("axis", 0) + 1
    return given.call(call.func)


@rule("_sample_dirichlet", "multinomial")
def draw_rows(call: Call):
    """Each row of numbers draws its own."""
    value = call.args[0].value
    rows = value.reshape(-1, value.shape[-1])
    made = call.func(rows, *call.args[1:], **call.kwargs)
    return made.reshape(*value.shape[:-1], made.shape[-1])


@rule(
    "feature_dropout", "feature_dropout_", "feature_alpha_dropout",
    "feature_alpha_dropout_",
)  # fmt: skip
def drop_channels(call: Call):
    x = call.args[0]
    if x.dim() < 2:
        raise Loop
    made = call.func(x.value.flatten(0, 1), *call.args[1:], **call.kwargs)
    return made.unflatten(0, (call.size, x.shape[0]))
