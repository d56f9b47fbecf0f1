"""Activations as modules. Most differ only in a function and its arguments, so they
are made by two small bases: `_Plain` (no arguments) and `_Inplace`.
"""

import ember
from ember import Tensor, _lazy
from ember._types import DeviceLike, Dtype
from ember.nn import functional as F
from ember.nn.modules.module import Layer
from ember.nn.parameter import Parameter


class _Inplace(Layer):
    """Base of activations whose one argument is `inplace`."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


def _and_inplace(text: str, inplace: bool) -> str:
    return f"{text}, inplace=True" if inplace else text


class Threshold(Layer):
    """`input` where it is above `threshold`, else `value`.

    Args:
        threshold: the limit
        value: what stands in the place of what is not above it
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> nn.Threshold(0.5, 9.0)(ember.tensor([0.4, 0.6]))
    tensor([9.0000, 0.6000])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        text = f"threshold={self.threshold}, value={self.value}"
        return _and_inplace(text, self.inplace)


class ReLU(_Inplace):
    """max(input, 0).

    >>> import ember
    >>> ember.nn.ReLU()(ember.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)


class RReLU(Layer):
    """Leaky ReLU with a random slope in training.

    Args:
        lower: the least slope
        upper: the largest slope; in evaluation the mean of both is used
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> nn.RReLU().eval()(ember.tensor([-1.0, 2.0]))
    tensor([-0.2292,  2.0000])
    """

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"lower={self.lower}, upper={self.upper}", self.inplace)


class Hardtanh(Layer):
    """`input` limited to [min_val, max_val].

    Args:
        min_val: the least value
        max_val: the largest value
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> nn.Hardtanh(-1, 2)(ember.tensor([-3.0, 0.5, 3.0]))
    tensor([-1.0000,  0.5000,  2.0000])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise ValueError("max_val must be greater than min_val")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        text = f"min_val={self.min_val}, max_val={self.max_val}"
        return _and_inplace(text, self.inplace)


class ReLU6(Hardtanh):
    """min(max(input, 0), 6).

    Args:
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> nn.ReLU6()(ember.tensor([-1.0, 3.0, 9.0]))
    tensor([0., 3., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Layer):
    """1 / (1 + exp(-input)).

    Shape:
        any; the output has the shape of the input

    >>> nn.Sigmoid()(ember.tensor([-1.0, 0.0, 1.0]))
    tensor([0.2689, 0.5000, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return ember.sigmoid(input)


class Tanh(Layer):
    """Hyperbolic tangent.

    Shape:
        any; the output has the shape of the input

    >>> nn.Tanh()(ember.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.7616,  0.0000,  0.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return ember.tanh(input)


class Hardsigmoid(_Inplace):
    """Piecewise linear sigmoid.

        min(max(x / 6 + 1/2, 0), 1)

    Args:
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> nn.Hardsigmoid()(ember.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardswish(_Inplace):
    """input * hardsigmoid(input).

        x * min(max(x + 3, 0), 6) / 6

    Args:
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> nn.Hardswish()(ember.tensor([-4.0, 0.0, 3.0]))
    tensor([-0., 0., 3.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class SiLU(_Inplace):
    """input * sigmoid(input).

    Also called swish.

    Args:
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> nn.SiLU()(ember.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2689,  0.0000,  0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """input * tanh(softplus(input)).

    Args:
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> nn.Mish()(ember.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.3034,  0.0000,  0.8651])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, self.inplace)


class SELU(_Inplace):
    """ELU with the constants of self-normalizing networks.

    Deep stacks of `Linear` and `SELU` keep mean 0 and variance 1 by themselves;
    `AlphaDropout` goes with it.

    Args:
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> nn.SELU()(ember.tensor([-1.0, 0.0, 1.0]))
    tensor([-1.1113,  0.0000,  1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class ELU(Layer):
    """`input` above zero, alpha * (exp(input) - 1) below.

    Args:
        alpha: where it tends to for very negative inputs, with its sign turned
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> nn.ELU()(ember.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"alpha={self.alpha}", self.inplace)


class CELU(ELU):
    """ELU that is differentiable for every alpha.

        max(0, x) + min(0, alpha * (exp(x / alpha) - 1))

    Args:
        alpha: where it tends to for very negative inputs, with its sign turned
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> nn.CELU()(ember.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class GLU(Layer):
    """First half along `dim`, gated by the sigmoid of the second.

        a * sigmoid(b), where a and b are the halves of x

    Args:
        dim: the axis to halve

    Shape:
        [..., 2 K, ...] to [..., K, ...]

    >>> nn.GLU()(ember.tensor([1.0, 2.0, 0.0, 100.0]))
    tensor([0.5000, 2.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Layer):
    """`input` times the normal distribution function at it.

        x / 2 * (1 + erf(x / sqrt(2)))

    Args:
        approximate: `"tanh"` computes an approximation by tanh, as some models were
            trained with

    Shape:
        any; the output has the shape of the input

    >>> nn.GELU()(ember.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(Layer):
    """`input` where it is outside [-lambd, lambd], else 0.

    Args:
        lambd: values up to this size become 0

    Shape:
        any; the output has the shape of the input

    >>> nn.Hardshrink()(ember.tensor([-1.0, 0.3, 0.6]))
    tensor([-1.0000,  0.0000,  0.6000])
    """

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Hardshrink):
    """`input` moved by `lambd` towards zero.

    Args:
        lambd: by how much; what is smaller becomes 0

    Shape:
        any; the output has the shape of the input

    >>> nn.Softshrink()(ember.tensor([-1.0, 0.2, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class LeakyReLU(Layer):
    """`input` above zero, `negative_slope * input` below.

    Args:
        negative_slope: factor of negative inputs, so that their gradient is not lost
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> nn.LeakyReLU(0.1)(ember.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"negative_slope={self.negative_slope}", self.inplace)


class LogSigmoid(Layer):
    """log(sigmoid(input)).

    Shape:
        any; the output has the shape of the input

    >>> nn.LogSigmoid()(ember.tensor([0.0, -1000.0]))  # log(0) would be -inf
    tensor([-6.9315e-01, -1.0000e+03])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softplus(Layer):
    """log(1 + exp(beta * input)) / beta.

    Args:
        beta: how sharp the bend is
        threshold: where beta * input is above it, the input is returned

    Shape:
        any; the output has the shape of the input

    >>> nn.Softplus()(ember.tensor([-1.0, 0.0, 100.0]))
    tensor([  0.3133,   0.6931, 100.0000])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class PReLU(Layer):
    """Leaky ReLU with a learned slope.

    Args:
        num_parameters: one slope for all, or one for each channel (axis 1)
        init: what the slopes begin with

    Shape:
        any; the output has the shape of the input

    >>> nn.PReLU()(ember.tensor([-1.0, 2.0]))
    tensor([-0.2500,  2.0000], grad_fn=<PreluBackward0>)
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        values = ember.empty(num_parameters, device=device, dtype=dtype)
        self.weight = Parameter(values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the slope back to `init`."""
        with ember.no_grad():
            self.weight.fill_(self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Layer):
    """input / (1 + abs(input)).

    Shape:
        any; the output has the shape of the input

    >>> nn.Softsign()(ember.tensor([-1.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  0.7500])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(Layer):
    """input - tanh(input).

    Shape:
        any; the output has the shape of the input

    >>> nn.Tanhshrink()(ember.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2384,  0.0000,  0.2384])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softmax(Layer):
    """exp(input) scaled to sum to one along `dim`.

    Args:
        dim: the axis of the classes

    Shape:
        any; the output has the shape of the input

    >>> nn.Softmax(dim=1)(ember.tensor([[1.0, 1.0], [0.0, 100.0]]))
    tensor([[5.0000e-01, 5.0000e-01],
            [3.7835e-44, 1.0000e+00]])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(Softmax):
    """softmax(-input).

    Args:
        dim: the axis of the classes

    Shape:
        any; the output has the shape of the input

    >>> nn.Softmin(dim=0)(ember.tensor([0.0, 0.0, 100.0]))
    tensor([5.0000e-01, 5.0000e-01, 1.9618e-44])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(Softmax):
    """log(softmax(input)).

    Args:
        dim: the axis of the classes

    Shape:
        any; the output has the shape of the input

    >>> nn.LogSoftmax(dim=0)(ember.tensor([0.0, 0.0, 1000.0]))
    tensor([-1000., -1000.,     0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Layer):
    """Softmax over the channels of [N, C, H, W] or [C, H, W].

    Shape:
        any; the output has the shape of the input

    >>> nn.Softmax2d()(ember.rand(4, 2, 2)).sum(0)
    tensor([[1.0000, 1.0000],
            [1.0000, 1.0000]])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return F.softmax(input, -3, _stacklevel=5)


__getattr__ = _lazy.missing(__name__)
