"""Convolutions of one to three axes, from windows (views) and one matrix product.

A transposed convolution is a convolution of the input with zeros between its elements
and of the kernel turned around, so that both have all their gradients from the ops.
"""

import ember
from ember import Tensor
from ember.nn.functional._sizes import expanded, text
from ember.nn.functional.padding import pad


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride=1,
    padding=0,
    dilation=1,
    groups: int = 1,
) -> Tensor:
    """Convolution of [N, C, L] with kernels [out, C / groups, K].

    >>> import ember
    >>> x = ember.arange(4.0).view(1, 1, 4)
    >>> ember.nn.functional.conv1d(x, ember.ones(1, 1, 2))
    tensor([[[1., 3., 5.]]])
    """
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride=1,
    padding=0,
    dilation=1,
    groups: int = 1,
) -> Tensor:
    """Convolution of [N, C, H, W] with kernels [out, C / groups, KH, KW].

    >>> import ember
    >>> x = ember.ones(1, 3, 8, 8)
    >>> ember.nn.functional.conv2d(x, ember.ones(5, 3, 3, 3), padding="same").shape
    torch.Size([1, 5, 8, 8])
    """
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride=1,
    padding=0,
    dilation=1,
    groups: int = 1,
) -> Tensor:
    """Convolution of [N, C, D, H, W] with kernels [out, C / groups, KD, KH, KW]."""
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride=1,
    padding=0,
    output_padding=0,
    groups: int = 1,
    dilation=1,
) -> Tensor:
    """The gradient of `conv1d` as a layer; kernels are [C, out / groups, K].

    >>> import ember
    >>> x = ember.ones(1, 1, 2)
    >>> ember.nn.functional.conv_transpose1d(x, ember.ones(1, 1, 2), stride=2)
    tensor([[[1., 1., 1., 1.]]])
    """
    sizes = (stride, padding, output_padding, groups, dilation)
    return _transposed("conv_transpose1d", 1, input, weight, bias, *sizes)


def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride=1,
    padding=0,
    output_padding=0,
    groups: int = 1,
    dilation=1,
) -> Tensor:
    """The gradient of `conv2d` as a layer; kernels are [C, out / groups, KH, KW]."""
    sizes = (stride, padding, output_padding, groups, dilation)
    return _transposed("conv_transpose2d", 2, input, weight, bias, *sizes)


def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride=1,
    padding=0,
    output_padding=0,
    groups: int = 1,
    dilation=1,
) -> Tensor:
    """The gradient of `conv3d` as a layer; kernels [C, out / groups, KD, KH, KW]."""
    sizes = (stride, padding, output_padding, groups, dilation)
    return _transposed("conv_transpose3d", 3, input, weight, bias, *sizes)


def _conv(name, dims, input, weight, bias, stride, padding, dilation, groups) -> Tensor:
    _check_operands(name, dims, input, weight, bias, groups)
    stride = expanded("stride", stride, dims, (1,) * dims)
    dilation = expanded("dilation", dilation, dims, (1,) * dims)
    _check_steps(stride, dilation)
    kernel = tuple(weight.shape[2:])
    if isinstance(padding, str):
        sides = _named_padding(name, padding, kernel, stride, dilation)
    else:
        sides = [(p, p) for p in expanded("padding", padding, dims, (0,) * dims)]
        if any(p < 0 for p, _ in sides):
            raise RuntimeError("negative padding is not supported")
    _check_channels(name, dims, input, weight, bias, groups)
    batched = input.dim() == dims + 2
    x = input if batched else input.unsqueeze(0)
    x = _padded(x, sides)
    reach = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation))
    if any(r > n for r, n in zip(reach, x.shape[2:])):
        raise RuntimeError(
            f"Calculated padded input size per channel: {text(x.shape[2:])}. Kernel "
            f"size: {text(reach)}. Kernel size can't be greater than actual input size"
        )
    result = _correlate(x, weight, stride, dilation, groups)
    result = _with_bias(result, bias)
    return result if batched else result.squeeze(0)


def _transposed(
    name, dims, input, weight, bias, stride, padding, output_padding, groups, dilation
) -> Tensor:
    _check_operands(name, dims, input, weight, bias, groups)
    stride = expanded("stride", stride, dims, (1,) * dims)
    padding = expanded("padding", padding, dims, (0,) * dims)
    extra = expanded("output_padding", output_padding, dims, (0,) * dims)
    dilation = expanded("dilation", dilation, dims, (1,) * dims)
    _check_steps(stride, dilation)
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(e < 0 for e in extra):
        raise RuntimeError("negative output_padding is not supported")
    for e, s, d in zip(extra, stride, dilation):
        if e >= s and e >= d:
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but "
                f"got output_padding: {list(extra)} stride: {list(stride)} dilation: "
                f"{list(dilation)}"
            )
    _check_transposed_channels(dims, input, weight, bias, groups)
    batched = input.dim() == dims + 2
    x = input if batched else input.unsqueeze(0)
    kernel = tuple(weight.shape[2:])
    for axis, step in enumerate(stride, 2):
        x = _spread(x, axis, step)
    sides = []
    for k, p, e, d in zip(kernel, padding, extra, dilation):
        around = d * (k - 1) - p
        sides.append((around, around + e))
    size = [n + a + b for n, (a, b) in zip(x.shape[2:], sides)]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    if any(n < r for n, r in zip(size, reach)):
        raise RuntimeError(
            f"Given input size per channel: {text(input.shape[-dims:])}. Calculated "
            f"output size per channel: {text(n - r + 1 for n, r in zip(size, reach))}. "
            "Output size is too small"
        )
    x = _padded(x, sides)
    channels, out = weight.shape[:2]
    turned = weight.flip(tuple(range(2, dims + 2)))
    turned = turned.reshape(groups, channels // groups, out, *kernel).transpose(1, 2)
    turned = turned.reshape(groups * out, channels // groups, *kernel)
    result = _with_bias(_correlate(x, turned, (1,) * dims, dilation, groups), bias)
    return result if batched else result.squeeze(0)


def _correlate(x: Tensor, weight: Tensor, stride, dilation, groups: int) -> Tensor:
    """Products of `weight` with the windows of x [N, C, ...], without padding."""
    batch = x.shape[0]
    out, dims = weight.shape[0], weight.dim() - 2
    windows = x
    for axis in range(dims):
        size, step = weight.shape[2 + axis], dilation[axis]
        windows = windows.unfold(2 + axis, step * (size - 1) + 1, stride[axis])
        if step > 1:
            windows = windows[..., ::step]
    places = tuple(windows.shape[2 : 2 + dims])
    # [N, C, places, kernel] -> [N, groups, C / groups * kernel, places]
    after = range(2 + dims, 2 + 2 * dims)
    windows = windows.permute(0, 1, *after, *range(2, 2 + dims))
    rows = weight[0].numel() if out else 0
    count = 1
    for n in places:
        count *= n
    columns = windows.reshape(batch, groups, rows, count)
    product = ember.matmul(weight.reshape(groups, out // groups, rows), columns)
    return product.reshape(batch, out, *places)


def _with_bias(result: Tensor, bias: Tensor | None) -> Tensor:
    if bias is None:
        return result
    return result + bias.view(-1, *[1] * (result.dim() - 2))


def _padded(x: Tensor, sides) -> Tensor:
    """Zeros around (or, if negative, a part cut off) the last axes."""
    if not any(a or b for a, b in sides):
        return x
    return pad(x, [n for a, b in reversed(sides) for n in (a, b)])


def _spread(x: Tensor, axis: int, step: int) -> Tensor:
    """x with step - 1 zeros between neighbours along an axis."""
    size = x.shape[axis]
    if step == 1 or size == 0:
        return x
    apart = pad(x.unsqueeze(axis + 1), [0, 0] * (x.dim() - axis - 1) + [0, step - 1])
    return apart.flatten(axis, axis + 1).narrow(axis, 0, (size - 1) * step + 1)


def _named_padding(name, padding, kernel, stride, dilation):
    if padding == "valid":
        return [(0, 0)] * len(kernel)
    if padding != "same":
        raise RuntimeError(
            f"Invalid padding string: '{padding}'; {name}() knows 'valid' and 'same'"
        )
    if any(s != 1 for s in stride):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel, dilation)]
    return [(t // 2, t - t // 2) for t in total]


def _check_steps(stride, dilation) -> None:
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")


def _check_operands(name, dims, input, weight, bias, groups) -> None:
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to "
            f"{name}, but got input of size: {list(input.shape)}"
        )
    if weight.dim() != dims + 2:
        raise RuntimeError(
            f"{name}(): expected a {dims + 2}-dimensional weight, but got weight of "
            f"size {list(weight.shape)}"
        )
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    for other, what in ((weight, "weight"), (bias, "bias")):
        if other is not None and other.dtype != input.dtype:
            raise RuntimeError(
                f"{name}(): input type ({input.dtype}) and {what} type "
                f"({other.dtype}) should be the same"
            )
    if any(n == 0 for n in weight.shape[2:]):
        raise RuntimeError(
            f"{name}(): kernel size should be greater than zero, but got "
            f"{list(weight.shape[2:])}"
        )


def _check_channels(name, dims, input, weight, bias, groups) -> None:
    channels = input.shape[-dims - 1]
    out = weight.shape[0]
    given = f"Given groups={groups}, weight of size {list(weight.shape)}, expected "
    if out < groups or out % groups:
        raise RuntimeError(
            f"{given}weight to be divisible by {groups} at dimension 0, but got weight "
            f"of size {list(weight.shape)} instead"
        )
    if channels != weight.shape[1] * groups:
        raise RuntimeError(
            f"{given}input{list(input.shape)} to have {weight.shape[1] * groups} "
            f"channels, but got {channels} channels instead"
        )
    _check_bias(weight, bias, out)


def _check_transposed_channels(dims, input, weight, bias, groups) -> None:
    channels = input.shape[-dims - 1]
    if channels != weight.shape[0] or channels % groups:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight.shape)}, groups={groups},"
            f" expected input{list(input.shape)} to have {weight.shape[0]} channels, "
            f"but got {channels} channels instead"
        )
    _check_bias(weight, bias, weight.shape[1] * groups)


def _check_bias(weight, bias, out: int) -> None:
    if bias is not None and tuple(bias.shape) != (out,):
        raise RuntimeError(
            f"Given weight of size {list(weight.shape)}, expected bias to be "
            f"1-dimensional with {out} elements, but got bias of size "
            f"{list(bias.shape)} instead"
        )
