"""Initial values of parameters. All functions change their tensor and return it; the
same seeds give the same values as in PyTorch.
"""

import math
from typing import TYPE_CHECKING

import ember
from ember import Tensor, _lazy
from ember._types import RNG
from ember._user_line import warn
from ember.autograd.grad_mode import no_grad


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps variance through a nonlinearity.

    >>> import ember
    >>> ember.nn.init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity.startswith(("linear", "conv")) or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@no_grad()
def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: RNG | None = None
) -> Tensor:
    """Uniform in [a, b).

    Args:
        tensor: what to fill, in place
        a: the least value
        b: the end, which is not reached
        generator: where random numbers come from

    >>> w = nn.init.uniform_(ember.empty(1000), 2.0, 3.0)
    >>> bool((w >= 2).all() and (w < 3).all())
    True
    """
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: RNG | None = None
) -> Tensor:
    """Normal with this mean and standard deviation.

    Args:
        tensor: what to fill, in place
        mean: of the distribution
        std: its standard deviation
        generator: where random numbers come from

    >>> w = nn.init.normal_(ember.empty(10000), mean=3.0, std=0.1)
    >>> round(w.mean().item(), 2), round(w.std().item(), 2)
    (3.0, 0.1)
    """
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: RNG | None = None,
) -> Tensor:
    """Normal, drawn again where it falls outside [a, b].

    Where little of the distribution is inside, by rejection from the uniform one.

    Args:
        tensor: what to fill, in place
        mean: of the distribution
        std: its standard deviation, before the ends are cut off
        a: the least value
        b: the largest value
        generator: where random numbers come from

    >>> w = nn.init.trunc_normal_(ember.empty(1000), a=-1.0, b=1.0)
    >>> bool((w.abs() <= 1).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The "
            "distribution of values may be incorrect.",
        )
    low, high = (a - mean) / std, (b - mean) / std
    inside = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
    if inside > 0.3:
        _redraw_normal(tensor, mean, std, a, b, generator)
    else:
        _reject_uniform(tensor, mean, std, a, b, generator)
    return tensor


def _redraw_normal(tensor, mean, std, a, b, generator) -> None:
    tensor.normal_(mean, std, generator=generator)
    while True:
        outside = (tensor < a) | (tensor > b)
        if not bool(outside.any()):
            return
        again = ember.empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(ember.where(outside, again, tensor))


def _where_dense(peak, mean, std, a, b) -> tuple[float, float]:
    """The part of [a, b] with all but e**-40 of what lies there: without it, a bound
    far away would leave next to none of the draws."""
    if not std > 0:
        return a, b
    far = abs(peak - mean) / std
    # away * (away + 2 * far) / 2 = 40, solved without cancelling.
    width = 80 / (far + math.sqrt(far * far + 80)) * std
    return max(a, peak - width), min(b, peak + width)


def _reject_uniform(tensor, mean, std, a, b, generator) -> None:
    peak = min(max(mean, a), b)  # where the density in [a, b] is largest
    a, b = _where_dense(peak, mean, std, a, b)
    tensor.uniform_(a, b, generator=generator)
    todo = ember.ones_like(tensor, dtype=ember.bool)
    while True:
        # Relative to the peak's, as a product: the squares of large bounds overflow.
        away = (tensor - peak) / std
        density = ember.exp(-0.5 * away * (away + 2 * (peak - mean) / std))
        height = ember.empty_like(tensor).uniform_(0, 1, generator=generator)
        todo = todo & (height > density)
        if not bool(todo.any()):
            return
        again = ember.empty_like(tensor).uniform_(a, b, generator=generator)
        tensor.copy_(ember.where(todo, again, tensor))


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """The same value everywhere.

    Args:
        tensor: what to fill, in place
        val: with what

    >>> nn.init.constant_(ember.empty(2), 0.5)
    tensor([0.5000, 0.5000])
    """
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """Ones.

    >>> nn.init.ones_(ember.empty(2))
    tensor([1., 1.])
    """
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Zeros.

    >>> nn.init.zeros_(ember.empty(2))
    tensor([0., 0.])
    """
    return tensor.zero_()


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix.

    Args:
        tensor: 2 dimensions, filled in place

    >>> nn.init.eye_(ember.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(ember.eye(*tensor.shape, dtype=tensor.dtype))


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Convolution kernels that pass their input channels through.

    With such kernels a convolution begins as the identity.

    Args:
        tensor: 3 to 5 dimensions, [out, in, ...]
        groups: groups of the convolution

    >>> kernels = nn.init.dirac_(ember.empty(2, 2, 3))
    >>> F.conv1d(ember.tensor([[[1.0, 2.0], [3.0, 4.0]]]), kernels, padding=1)
    tensor([[[1., 2.],
             [3., 4.]]])
    """
    dims = tensor.ndimension()
    if dims not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    tensor.zero_()
    for g in range(groups):
        for d in range(min(per_group, tensor.shape[1])):
            tensor[(g * per_group + d, d, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 "
            "dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(
            f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']"
        )
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: RNG | None = None
) -> Tensor:
    """Uniform, variance 2 / (fan_in + fan_out) times gain² (Glorot and Bengio).

    Keeps the size of activations and of gradients through layers with tanh.

    Args:
        tensor: 2 dimensions or more, filled in place
        gain: factor, see `calculate_gain`
        generator: where random numbers come from

    >>> w = nn.init.xavier_uniform_(ember.empty(20, 40))
    >>> bool((w.abs() <= 0.1**0.5 + 1e-6).all())  # sqrt(6 / 60)
    True
    """
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, generator: RNG | None = None
) -> Tensor:
    """Normal, variance 2 / (fan_in + fan_out) times gain² (Glorot and Bengio).

    Keeps the size of activations and of gradients through layers with tanh.

    Args:
        tensor: 2 dimensions or more, filled in place
        gain: factor, see `calculate_gain`
        generator: where random numbers come from

    >>> w = nn.init.xavier_normal_(ember.empty(300, 500))
    >>> round(w.std().item(), 2)  # sqrt(2 / 800)
    0.05
    """
    std = gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: RNG | None = None,
) -> Tensor:
    """Uniform, variance gain² / fan (arXiv:1502.01852).

    Keeps the size of activations through layers with ReLU. `nn.Linear` and convolutions
    begin with it.

    Args:
        tensor: 2 dimensions or more, filled in place
        a: slope of a leaky ReLU below zero
        mode: `"fan_in"` keeps the variance forward, `"fan_out"` backward
        nonlinearity: what follows, by the name of its function
        generator: where random numbers come from

    >>> w = nn.init.kaiming_uniform_(ember.empty(50, 24), nonlinearity="relu")
    >>> bool((w.abs() <= 0.5).all())  # sqrt(3) * sqrt(2 / 24)
    True
    """
    if 0 in tensor.shape:
        return _nothing_to_do(tensor)
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: RNG | None = None,
) -> Tensor:
    """Normal, variance gain² / fan (arXiv:1502.01852).

    Keeps the size of activations through layers with ReLU.

    Args:
        tensor: 2 dimensions or more, filled in place
        a: slope of a leaky ReLU below zero
        mode: `"fan_in"` keeps the variance forward, `"fan_out"` backward
        nonlinearity: what follows, by the name of its function
        generator: where random numbers come from

    >>> w = nn.init.kaiming_normal_(ember.empty(500, 200), nonlinearity="relu")
    >>> round(w.std().item(), 2)  # sqrt(2 / 200)
    0.1
    """
    if 0 in tensor.shape:
        return _nothing_to_do(tensor)
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def _nothing_to_do(tensor: Tensor) -> Tensor:
    warn("Initializing zero-element tensors is a no-op")
    return tensor


@no_grad()
def orthogonal_(
    tensor: Tensor, gain: float = 1, generator: RNG | None = None
) -> Tensor:
    """A (semi-)orthogonal matrix (arXiv:1312.6120).

    Args:
        tensor: 2 dimensions or more, seen as [first, rest], filled in place
        gain: factor
        generator: where random numbers come from

    >>> q = nn.init.orthogonal_(ember.empty(3, 5))
    >>> ember.allclose(q @ q.T, ember.eye(3), atol=1e-5)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    flat = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    if rows < columns:
        flat = flat.t()
    q, r = ember.linalg.qr(flat)
    q = q * r.diagonal().sign()  # of all such q the one with a positive diagonal in r
    if rows < columns:
        q = q.t()
    return tensor.copy_(q.reshape(tensor.shape)).mul_(gain)


@no_grad()
def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: RNG | None = None
) -> Tensor:
    """Normal, with a fraction of every column set to zero.

    Args:
        tensor: 2 dimensions, filled in place
        sparsity: share of zeros in each column
        std: standard deviation of the rest
        generator: where random numbers come from

    >>> nn.init.sparse_(ember.empty(4, 3), 0.5).count_nonzero(0)
    tensor([2, 2, 2])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        tensor[ember.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(function):
    old = function.__name__[:-1]

    def renamed(*args, **kwargs):
        warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{old}_`.",
            FutureWarning,
        )
        return function(*args, **kwargs)

    renamed.__name__ = renamed.__qualname__ = old
    renamed.__doc__ = f"Old name of `{function.__name__}`."
    return renamed


uniform, normal, constant = map(_deprecated, (uniform_, normal_, constant_))
eye, dirac, orthogonal = map(_deprecated, (eye_, dirac_, orthogonal_))
xavier_uniform, xavier_normal = map(_deprecated, (xavier_uniform_, xavier_normal_))
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
sparse = _deprecated(sparse_)


if not TYPE_CHECKING:  # a checker reports what is not here
    __getattr__ = _lazy.missing(__name__)
