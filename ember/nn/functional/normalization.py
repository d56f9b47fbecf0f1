"""Normalization by statistics of the batch, of channels, of groups, of neighbours."""

import ember
from ember import Tensor

_SMALL = (ember.float16, ember.bfloat16)


def _wide(x: Tensor) -> Tensor:
    """Half precision is too coarse for sums of squares."""
    return x.float() if x.dtype in _SMALL else x


def _per_channel(values: Tensor | None, like: Tensor) -> Tensor | None:
    """A vector over channels in the shape that broadcasts along axis 1."""
    if values is None:
        return None
    return _wide(values).view(-1, *[1] * (like.dim() - 2))


def _affine(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    if weight is not None:
        x = x * weight
    return x if bias is None else x + bias


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 for each channel (axis 1) over the batch.

    In training the running statistics are updated, otherwise they are used.

    >>> import ember
    >>> x = ember.tensor([[1.0], [3.0]])
    >>> ember.nn.functional.batch_norm(x, None, None, training=True, eps=1e-9)
    tensor([[-1.],
            [ 1.]])
    """
    channels = input.shape[1] if input.dim() > 1 else 0
    if input.dim() < 2:
        if input.numel() == 0:
            return input.clone()
        raise RuntimeError(
            f"batch_norm(): expected at least 2 dimensions, got {list(input.shape)}"
        )
    named = {"weight": weight, "bias": bias}
    named |= {"running_mean": running_mean, "running_var": running_var}
    for name, values in named.items():
        if values is not None and values.numel() != channels:
            raise RuntimeError(
                f"{name} should contain {channels} elements not {values.numel()}"
            )
    if eps < 0.0 or (training and eps == 0.0):
        wanted = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {wanted}, but got {eps}")
    x = _wide(input)
    weight, bias = _per_channel(weight, x), _per_channel(bias, x)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "running_mean and running_var must be defined in evaluation mode"
            )
        mean, variance = _per_channel(running_mean, x), _per_channel(running_var, x)
        scaled = (x - mean) * ember.rsqrt(variance + eps)
        return _affine(scaled, weight, bias).to(input.dtype)
    if input.numel() == channels or input.numel() == 0:
        if input.numel():
            raise ValueError(
                "Expected more than 1 value per channel when training, got input size "
                f"{input.size()}"
            )
        return _affine(x, weight, bias).to(input.dtype)
    dims = (0, *range(2, input.dim()))
    mean = x.mean(dims, keepdim=True)
    centred = x - mean
    variance = (centred * centred).mean(dims, keepdim=True)
    with ember.no_grad():
        count = x.numel() // channels
        _track(running_mean, mean, momentum)
        _track(running_var, variance * (count / (count - 1)), momentum)
    scaled = centred * ember.rsqrt(variance + eps)
    return _affine(scaled, weight, bias).to(input.dtype)


def _track(running: Tensor | None, now: Tensor, momentum: float) -> None:
    if running is not None:
        running.mul_(1 - momentum).add_(now.reshape(-1).to(running.dtype) * momentum)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Batch normalization of every sample by itself."""
    if use_input_stats:
        spatial = input.shape[2:]
        if spatial.numel() == 1:
            raise ValueError(
                "Expected more than 1 spatial element when training, got input size "
                f"{input.size()}"
            )
    elif running_mean is None or running_var is None:
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats "
            "is false"
        )
    else:
        stats = (running_mean, running_var)
        return batch_norm(input, *stats, weight, bias, False, momentum, eps)
    batch, channels = input.shape[:2]
    flat = input.reshape(1, batch * channels, *input.shape[2:])
    repeated = [
        None if values is None else values.repeat(batch)
        for values in (running_mean, running_var)
    ]
    scaled = batch_norm(flat, *repeated, None, None, True, momentum, eps)
    for own, values in zip((running_mean, running_var), repeated):
        if own is not None:
            own.copy_(values.view(batch, channels).mean(0))
    scaled = scaled.view(input.shape)
    parts = [
        None if values is None else values.view(-1, *[1] * (input.dim() - 2))
        for values in (weight, bias)
    ]
    return _affine(scaled, *parts)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Mean 0 and variance 1 over groups of channels of each sample."""
    if input.dim() < 2:
        raise RuntimeError(
            "Expected at least 2 dimensions for input tensor but received "
            f"{input.dim()}"
        )
    batch, channels = input.shape[:2]
    if num_groups <= 0:
        raise RuntimeError(
            f"Expected num groups to be greater than 0, got {num_groups}"
        )
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but "
            f"got input of shape {list(input.shape)} and num_groups={num_groups}"
        )
    for name, values in (("weight", weight), ("bias", bias)):
        if values is not None and tuple(values.shape) != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of "
                f"channels in input, but got {name} of shape {list(values.shape)} and "
                f"input of shape {list(input.shape)}"
            )
    if input.shape[2:].numel() * (channels // num_groups) == 1 and batch == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{[batch * channels // num_groups, num_groups, *input.shape[2:]]}"
        )
    x = _wide(input)
    if x.numel():
        groups = x.reshape(batch, num_groups, -1)
        centred = groups - groups.mean(-1, keepdim=True)
        variance = (centred * centred).mean(-1, keepdim=True)
        x = (centred * ember.rsqrt(variance + eps)).view(input.shape)
    weight, bias = _per_channel(weight, x), _per_channel(bias, x)
    return _affine(x, weight, bias).to(input.dtype)


def rms_norm(
    input: Tensor,
    normalized_shape,
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """`input` divided by its root mean square over the last axes (arXiv:1910.07467).

    >>> import ember
    >>> ember.nn.functional.rms_norm(ember.tensor([3.0, 3.0]), (2,))
    tensor([1., 1.])
    """
    shape = tuple(normalized_shape)
    count = len(shape)
    if count == 0 or tuple(input.shape[-count:]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape "
            f"[*, {', '.join(map(str, shape))}], but got input of size"
            f"{list(input.shape)}"
        )
    if weight is not None and tuple(weight.shape) != shape:
        raise RuntimeError(
            "Expected weight to be of same shape as normalized_shape, but got weight "
            f"of shape {list(weight.shape)} and normalized_shape = {list(shape)}"
        )
    x = _wide(input)
    if eps is None:
        eps = ember.finfo(x.dtype).eps
    square = (x * x).mean(tuple(range(-count, 0)), keepdim=True)
    result = x * ember.rsqrt(square + eps)
    if weight is not None:
        result = result * weight
    return result.to(input.dtype)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """`input` divided by a power of the mean square of `size` neighbouring channels."""
    if input.dim() < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          input (got "
            f"{input.dim()} dimensions)"
        )
    if input.numel() == 0:
        return input
    from ember.nn.functional.padding import pad

    around = [0, 0] * (input.dim() - 2) + [size // 2, (size - 1) // 2]
    windows = pad(input * input, around).unfold(1, size, 1)
    if input.is_floating_point():
        square = windows.mean(-1)
    else:
        square = windows.sum(-1).div(size, rounding_mode="trunc")
    return input / (square * alpha + k) ** beta
