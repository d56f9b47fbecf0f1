"""Activation functions."""

import math

import ember
from ember import Tensor


def _into(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    """`result`, or `input` overwritten with it."""
    return input.copy_(result) if inplace else result


def threshold(
    input: Tensor, threshold: float, value: float, inplace: bool = False
) -> Tensor:
    """`input` where it is above `threshold`, else `value`."""
    return _into(input, ember.where(input <= threshold, value, input), inplace)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0).

    >>> import ember
    >>> ember.nn.functional.relu(ember.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return ember.relu_(input) if inplace else ember.relu(input)


def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """`input` limited to [min_val, max_val]; the gradient is zero at both ends."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if not input.is_floating_point():
        min_val, max_val = int(min_val), int(max_val)
    upper = ember.where(input >= max_val, max_val, input)
    return _into(input, ember.where(input <= min_val, min_val, upper), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """min(max(input, 0), 6)."""
    return hardtanh(input, 0.0, 6.0, inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input` above zero, alpha * (exp(input) - 1) below."""
    return _into(input, _elu(input, alpha, 1.0, 1.0), inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """ELU with the constants of self-normalizing networks (arXiv:1706.02515)."""
    alpha, scale = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946
    return _into(input, _elu(input, alpha, scale, 1.0), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """ELU that is differentiable for every alpha."""
    return _into(input, _elu(input, alpha, 1.0, 1.0 / alpha), inplace)


def _elu(x: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    # The unused branch of where() must stay finite, or its gradient is nan.
    below = ember.clamp(x, max=0) * input_scale
    return ember.where(x > 0, x * scale, ember.expm1(below) * (alpha * scale))


def leaky_relu(
    input: Tensor, negative_slope: float = 0.01, inplace: bool = False
) -> Tensor:
    """`input` above zero, `negative_slope * input` below."""
    result = ember.where(input > 0, input, input * negative_slope)
    return _into(input, result, inplace)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """Leaky ReLU with a learned slope, one or one for each channel (axis 1)."""
    if weight.dim() > 1:
        raise RuntimeError(
            "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = "
            f"{weight.dim()}"
        )
    if weight.numel() != 1:
        if input.dim() == 0:
            raise RuntimeError("prelu(): Not allow zero-dim input tensor.")
        channels = input.shape[1] if input.dim() > 1 else input.shape[0]
        if weight.numel() != channels:
            raise RuntimeError(
                "prelu(): weight has "
                f"{weight.numel()} elements, the input {channels} channels"
            )
    if input.dim() == 0:
        weight = weight.reshape(())
    elif input.dim() > 2:
        weight = weight.reshape(-1, *[1] * (input.dim() - 2))
    return ember.where(input > 0, input, input * weight)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Leaky ReLU with a random slope in training, its mean otherwise."""
    function = ember.rrelu_ if inplace else ember.rrelu
    return function(input, lower, upper, training)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """`input` times the normal distribution function at it (arXiv:1606.08415)."""
    if approximate == "none":
        return input * 0.5 * (1 + ember.erf(input * math.sqrt(0.5)))
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (input + 0.044715 * input * input * input)
        return input * 0.5 * (1 + ember.tanh(inner))
    raise RuntimeError("approximate argument must be either none or tanh.")


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    return _into(input, input * ember.sigmoid(input), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input))."""
    return _into(input, input * ember.tanh(softplus(input)), inplace)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """First half along `dim`, gated by the sigmoid of the second."""
    if input.dim() == 0:
        raise RuntimeError(
            "glu does not support scalars because halving size must be even"
        )
    size = input.shape[dim]
    if size % 2:
        raise RuntimeError(
            f"Halving dimension must be even, but dimension {dim} is size {size}"
        )
    a, b = input.chunk(2, dim)
    return a * ember.sigmoid(b)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Piecewise linear sigmoid."""
    return _into(input, hardtanh(input / 6 + 0.5, 0.0, 1.0), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * hardsigmoid(input) (arXiv:1905.02244)."""
    return _into(input, input * hardtanh(input + 3, 0.0, 6.0) / 6, inplace)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`input` where it is outside [-lambd, lambd], else 0."""
    return ember.where((input >= -lambd) & (input <= lambd), 0.0, input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`input` moved by `lambd` towards zero."""
    if lambd < 0:
        raise RuntimeError(
            f"lambda must be greater or equal to 0, but found to be {lambd}."
        )
    outer = ember.where(input > lambd, input - lambd, input * 0)
    return ember.where(input < -lambd, input + lambd, outer)


def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input)."""
    return input - ember.tanh(input)


def softsign(input: Tensor) -> Tensor:
    """input / (1 + abs(input))."""
    return input / (ember.abs(input) + 1)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta, linear above `threshold`."""
    scaled = input * beta
    linear = scaled > threshold
    bounded = ember.where(linear, 0.0, scaled)  # so that exp cannot overflow
    return ember.where(linear, input, ember.log1p(ember.exp(bounded)) / beta)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input))."""
    return ember.clamp(input, max=0) - ember.log1p(ember.exp(-ember.abs(input)))


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input))."""
    return ember.sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""
    return ember.tanh(input)


def _softmax_dim(name: str, dims: int, stacklevel: int) -> int:
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call "
        "to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if dims in (0, 1, 3) else 1


def softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype=None
) -> Tensor:
    """exp(input) scaled to sum to one along `dim`.

    >>> import ember
    >>> ember.nn.functional.softmax(ember.zeros(2), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _softmax_dim("softmax", input.dim(), _stacklevel)
    return ember.softmax(input, dim) if dtype is None else input.softmax(dim, dtype)


def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype=None
) -> Tensor:
    """softmax(-input)."""
    if dim is None:
        dim = _softmax_dim("softmin", input.dim(), _stacklevel)
    return softmax(-input, dim, dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype=None
) -> Tensor:
    """log(softmax(input)), computed stably."""
    if dim is None:
        dim = _softmax_dim("log_softmax", input.dim(), _stacklevel)
    if dtype is None:
        return ember.log_softmax(input, dim)
    return input.log_softmax(dim, dtype)


def gumbel_softmax(
    logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim=-1
) -> Tensor:
    """A differentiable sample of a categorical distribution (arXiv:1611.01144)."""
    noise = -ember.empty_like(logits, requires_grad=False).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    picked = ember.zeros_like(logits, requires_grad=False).scatter_(dim, index, 1.0)
    return picked - soft.detach() + soft


def _inplace(function):
    def changed(input: Tensor, *args, **kwargs) -> Tensor:
        return function(input, *args, inplace=True, **kwargs)

    changed.__name__ = changed.__qualname__ = function.__name__ + "_"
    changed.__doc__ = f"In-place form of `{function.__name__}`."
    return changed


threshold_ = _inplace(threshold)
relu_ = _inplace(relu)
hardtanh_ = _inplace(hardtanh)
elu_ = _inplace(elu)
selu_ = _inplace(selu)
celu_ = _inplace(celu)
leaky_relu_ = _inplace(leaky_relu)
rrelu_ = _inplace(rrelu)
