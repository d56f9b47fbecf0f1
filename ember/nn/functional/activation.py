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
    """Leaky ReLU with a random slope in training, its mean otherwise.

    Args:
        input: any shape
        lower: the least slope
        upper: the largest slope
        training: draw slopes; else their mean is used
        inplace: change the input instead of making a new tensor

    >>> F.rrelu(ember.tensor([-1.0, 2.0]))
    tensor([-0.2292,  2.0000])
    """
    function = ember.rrelu_ if inplace else ember.rrelu
    return function(input, lower, upper, training)


rrelu_ = _C._ops["rrelu_"]


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """First half along `dim`, gated by the sigmoid of the second.

    Args:
        input: [..., 2 K, ...]
        dim: the axis to halve

    >>> F.glu(ember.tensor([1.0, 2.0, 0.0, 100.0]))
    tensor([0.5000, 2.0000])
    """
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
    """1 / (1 + exp(-input)).

    >>> F.sigmoid(ember.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2689, 0.5000, 0.7311])
    """
    return ember.sigmoid(input)


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent.

    >>> F.tanh(ember.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.7616,  0.0000,  0.7616])
    """
    return ember.tanh(input)


def _softmax_dim(name: str, dims: int) -> int:
    from ember._user_line import warn

    warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call "
        "to include dim=X as an argument."
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
        dim = _softmax_dim("softmax", input.dim())
    return ember.softmax(input, dim) if dtype is None else input.softmax(dim, dtype)


def softmin(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: Dtype | None = None,
) -> Tensor:
    """softmax(-input).

    Args:
        input: any shape
        dim: the axis of the classes
        dtype: convert the input to it first

    >>> F.softmin(ember.tensor([0.0, 0.0, 100.0]), dim=0)
    tensor([5.0000e-01, 5.0000e-01, 1.9618e-44])
    """
    if dim is None:
        dim = _softmax_dim("softmin", input.dim())
    return softmax(-input, dim, dtype=dtype)


def log_softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: Dtype | None = None,
) -> Tensor:
    """log(softmax(input)), computed stably.

    Args:
        input: any shape
        dim: the axis of the classes
        dtype: convert the input to it first

    >>> F.log_softmax(ember.tensor([0.0, 1000.0]), dim=0)
    tensor([-1000.,     0.])
    """
    if dim is None:
        dim = _softmax_dim("log_softmax", input.dim())
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
    """A differentiable sample of a categorical distribution (arXiv:1611.01144).

    Args:
        logits: scores of the categories
        tau: temperature: small values give samples near one-hot vectors
        hard: give one-hot vectors, with the gradient of the soft ones
        dim: the axis of the categories

    >>> y = F.gumbel_softmax(ember.zeros(2, 3), hard=True)
    >>> y.sum(1)
    tensor([1., 1.])
    """
    noise = -ember.empty_like(logits, requires_grad=False).exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    picked = ember.zeros_like(logits, requires_grad=False).scatter_(dim, index, 1.0)
    return picked - soft.detach() + soft
