"""Linear layers."""

import math
from typing import Any

import ember
from ember import Tensor
from ember._types import DeviceLike, Dtype
from ember.nn import functional as F, init
from ember.nn.modules.lazy import LazyModuleMixin
from ember.nn.modules.module import Layer
from ember.nn.parameter import Parameter, UninitializedParameter


class Identity(Layer):
    """Returns its input; takes and ignores any arguments.

    >>> import ember
    >>> ember.nn.Identity(54)(ember.ones(1))
    tensor([1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Layer):
    """y = x @ weight.T + bias, with weight [out_features, in_features].

    Args:
        in_features: size of the last axis of the input
        out_features: size of the last axis of the output
        bias: learn a summand

    Shape:
        [..., in_features] to [..., out_features]

    >>> import ember
    >>> ember.nn.Linear(3, 2)(ember.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        self.weight = Parameter(ember.empty((out_features, in_features), **kind))
        if bias:
            self.bias = Parameter(ember.empty(out_features, **kind))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values, both uniform in ±1 / sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = self.weight.shape[1]
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that PyTorch's attention gives its output layer."""


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear that takes `in_features` from its first input.

    >>> import ember
    >>> m = ember.nn.LazyLinear(2)
    >>> m(ember.ones(4, 3)).shape, m.in_features
    (torch.Size([4, 2]), 3)
    """

    cls_to_become = Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        self.weight = UninitializedParameter(**kind)
        if bias:
            self.bias = UninitializedParameter(**kind)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))
            if self.bias is not None:
                self.bias.materialize((self.out_features,))
            self.reset_parameters()
        if self.in_features == 0:  # the parameters came from a state dict
            self.in_features = self.weight.shape[-1]


class Bilinear(Layer):
    """y_k = x1' weight[k] x2 + bias_k.

    >>> import ember
    >>> m = ember.nn.Bilinear(2, 3, 4)
    >>> m(ember.ones(5, 2), ember.ones(5, 3)).shape
    torch.Size([5, 4])
    """

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got {in1_features}")
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(ember.empty(shape, **kind))
        if bias:
            self.bias = Parameter(ember.empty(out_features, **kind))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values, uniform in ±1 / sqrt(in1_features)."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )
