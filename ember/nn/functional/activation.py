"""Activation functions that the core does not have as ops: most are rows of its table
(`core/scalar_functions.h`, `core/ops/activation.cpp`)."""

import ember
from ember import _C, Tensor
from ember._types import Dtype


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


rrelu_ = _C._ops["rrelu_"]


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
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: Dtype | None = None,
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
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: Dtype | None = None,
) -> Tensor:
    """softmax(-input)."""
    if dim is None:
        dim = _softmax_dim("softmin", input.dim(), _stacklevel)
    return softmax(-input, dim, dtype=dtype)


def log_softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: Dtype | None = None,
) -> Tensor:
    """log(softmax(input)), computed stably."""
    if dim is None:
        dim = _softmax_dim("log_softmax", input.dim(), _stacklevel)
    if dtype is None:
        return ember.log_softmax(input, dim)
    return input.log_softmax(dim, dtype)


def gumbel_softmax(
    logits: Tensor,
    tau: float = 1,
    hard: bool = False,
    eps: float = 1e-10,
    dim: int = -1,
) -> Tensor:
    """A differentiable sample of a categorical distribution (arXiv:1611.01144)."""
    noise = -ember.empty_like(logits, requires_grad=False).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    picked = ember.zeros_like(logits, requires_grad=False).scatter_(dim, index, 1.0)
    return picked - soft.detach() + soft
