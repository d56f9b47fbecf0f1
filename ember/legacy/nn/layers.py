"""Modules with parameters: linear, convolution, normalisation; and pooling, dropout.

Sizes, strides and paddings are given as in Torch7: width before height.
"""

from __future__ import annotations

import math
from typing import Any

import ember
from ember import Tensor
from ember.legacy.nn.module import Module, Table
from ember.nn import functional as F


def _uniform(*shape: int, bound: float) -> Tensor:
    return ember.empty(*shape).uniform_(-bound, bound)


class _Weighted(Module):
    """A module whose weight and bias are drawn from +-1/sqrt(fan in)."""

    def _shapes(self) -> tuple[tuple[int, ...], tuple[int, ...] | None, int]:
        """Of weight and bias, and the number of inputs of one output."""
        raise NotImplementedError

    def reset(self, stdv: float | None = None) -> Module:
        weight, bias, fan_in = self._shapes()
        bound = stdv * math.sqrt(3) if stdv is not None else 1 / math.sqrt(fan_in)
        drawn = None if bias is None else _uniform(*bias, bound=bound)
        self.learn(weight=_uniform(*weight, bound=bound), bias=drawn)
        return self


class Linear(_Weighted):
    """input @ weight.T + bias."""

    def __init__(self, inputSize: int, outputSize: int, bias: bool = True) -> None:
        super().__init__()
        self._sizes = (outputSize, inputSize, bias)
        self.reset()

    def _shapes(self):
        outputs, inputs, bias = self._sizes
        return (outputs, inputs), (outputs,) if bias else None, inputs

    def compute(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def __repr__(self) -> str:
        return f"nn.Linear({self._sizes[1]} -> {self._sizes[0]})"


class Bilinear(_Weighted):
    """x1 W x2 + bias of a table [x1, x2]."""

    def __init__(
        self, inputSize1: int, inputSize2: int, outputSize: int, bias: bool = True
    ) -> None:
        super().__init__()
        self._sizes = (outputSize, inputSize1, inputSize2, bias)
        self.reset()

    def _shapes(self):
        outputs, first, second, bias = self._sizes
        return (outputs, first, second), (outputs,) if bias else None, first

    def compute(self, input: Table) -> Tensor:
        return F.bilinear(input[0], input[1], self.weight, self.bias)


class Add(Module):
    """Adds a learned vector, or one number if `scalar`."""

    learned = ("bias",)

    def __init__(self, inputSize: int, scalar: bool = False) -> None:
        super().__init__()
        size = 1 if scalar else inputSize
        self.learn(bias=_uniform(size, bound=1 / math.sqrt(size)))

    def compute(self, input: Tensor) -> Tensor:
        return input + self.bias


class Mul(Module):
    """Multiplies by one learned number."""

    learned = ("weight",)

    def __init__(self) -> None:
        super().__init__()
        self.learn(weight=_uniform(1, bound=1.0))

    def compute(self, input: Tensor) -> Tensor:
        return input * self.weight


class CAdd(Module):
    """Adds a learned tensor."""

    learned = ("bias",)

    def __init__(self, *size: int) -> None:
        super().__init__()
        shape = ember.Size(size)
        self.learn(bias=_uniform(*shape, bound=1 / math.sqrt(shape.numel())))

    def compute(self, input: Tensor) -> Tensor:
        return input + self.bias


class CMul(Module):
    """Multiplies by a learned tensor."""

    learned = ("weight",)

    def __init__(self, *size: int) -> None:
        super().__init__()
        shape = ember.Size(size)
        self.learn(weight=_uniform(*shape, bound=1 / math.sqrt(shape.numel())))

    def compute(self, input: Tensor) -> Tensor:
        return input * self.weight


class Cosine(Module):
    """The cosine between the input and each row of the weight."""

    learned = ("weight",)

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputSize)
        self.learn(weight=_uniform(outputSize, inputSize, bound=bound))

    def compute(self, input: Tensor) -> Tensor:
        rows = self.weight / self.weight.norm(2, 1, True).clamp_min(1e-12)
        return F.linear(input / input.norm(2, -1, True).clamp_min(1e-12), rows)


class Euclidean(Module):
    """The distance between the input and each column of the weight."""

    learned = ("weight",)

    def __init__(self, inputSize: int, outputSize: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(inputSize)
        self.learn(weight=_uniform(inputSize, outputSize, bound=bound))

    def compute(self, input: Tensor) -> Tensor:
        return (input.unsqueeze(-1) - self.weight).norm(2, -2)


class LookupTable(Module):
    """Rows of the weight, by index."""

    learned = ("weight",)

    def __init__(
        self, nIndex: int, nOutput: int, paddingValue: int | None = None
    ) -> None:
        super().__init__()
        self.paddingValue = paddingValue
        self.learn(weight=ember.randn(nIndex, nOutput))

    def compute(self, input: Tensor) -> Tensor:
        return F.embedding(input.long(), self.weight, self.paddingValue)


class PReLU(Module):
    """A slope learned for negative numbers, one or one per plane."""

    learned = ("weight",)

    def __init__(self, nOutputPlane: int = 0) -> None:
        super().__init__()
        self.learn(weight=ember.full((nOutputPlane or 1,), 0.25))

    def compute(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)


class RReLU(Module):
    """A slope drawn at random for negative numbers in training."""

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        self.lower, self.upper = lower, upper

    def compute(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.train)


class Dropout(Module):
    """Sets elements to zero with probability p in training."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def compute(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.train)


class SpatialDropout(Dropout):
    """Sets whole planes to zero."""

    def compute(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.train)


class BatchNormalization(Module):
    """Normalises each feature over the batch."""

    def __init__(
        self,
        nOutput: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
    ) -> None:
        super().__init__()
        self.eps, self.momentum = eps, momentum
        self.running_mean = ember.zeros(nOutput)
        self.running_var = ember.ones(nOutput)
        weight = ember.empty(nOutput).uniform_() if affine else None
        self.learn(weight=weight, bias=ember.zeros(nOutput) if affine else None)

    def compute(self, input: Tensor) -> Tensor:
        return F.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.train,
            self.momentum,
            self.eps,
        )


SpatialBatchNormalization = VolumetricBatchNormalization = BatchNormalization


class _Convolution(_Weighted):
    """nIn planes to nOut; kernel, stride and padding are (height, width) or alike."""

    transposed = False

    def __init__(
        self,
        nInputPlane: int,
        nOutputPlane: int,
        kernel: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        **options: Any,
    ) -> None:
        super().__init__()
        self.nInputPlane, self.nOutputPlane = nInputPlane, nOutputPlane
        self.kernel, self.stride, self.padding = kernel, stride, padding
        self.options = options
        self.reset()

    def _shapes(self):
        inputs, outputs = self.nInputPlane, self.nOutputPlane
        planes = (inputs, outputs) if self.transposed else (outputs, inputs)
        return (*planes, *self.kernel), (outputs,), inputs * math.prod(self.kernel)

    def compute(self, input: Tensor) -> Tensor:
        kind = "conv_transpose" if self.transposed else "conv"
        function = getattr(F, f"{kind}{len(self.kernel)}d")
        return function(
            input, self.weight, self.bias, self.stride, self.padding, **self.options
        )


class SpatialConvolution(_Convolution):
    """Convolution of images."""

    def __init__(self, nIn, nOut, kW, kH, dW=1, dH=1, padW=0, padH=None) -> None:
        padH = padW if padH is None else padH
        super().__init__(nIn, nOut, (kH, kW), (dH, dW), (padH, padW))


SpatialConvolutionMM = SpatialConvolution


class SpatialDilatedConvolution(_Convolution):
    """Convolution of images with holes in its kernel."""

    def __init__(
        self,
        nIn,
        nOut,
        kW,
        kH,
        dW=1,
        dH=1,
        padW=0,
        padH=None,
        dilationW=1,
        dilationH=None,
    ) -> None:
        padH = padW if padH is None else padH
        dilation = (dilationW if dilationH is None else dilationH, dilationW)
        super().__init__(nIn, nOut, (kH, kW), (dH, dW), (padH, padW), dilation=dilation)


class SpatialFullConvolution(_Convolution):
    """Transposed convolution of images."""

    transposed = True

    def __init__(
        self, nIn, nOut, kW, kH, dW=1, dH=1, padW=0, padH=None, adjW=0, adjH=None
    ) -> None:
        padH = padW if padH is None else padH
        extra = (adjW if adjH is None else adjH, adjW)
        super().__init__(
            nIn, nOut, (kH, kW), (dH, dW), (padH, padW), output_padding=extra
        )


class VolumetricConvolution(_Convolution):
    """Convolution of volumes."""

    def __init__(
        self, nIn, nOut, kT, kW, kH, dT=1, dW=1, dH=1, padT=0, padW=None, padH=None
    ) -> None:
        padW = padT if padW is None else padW
        padH = padW if padH is None else padH
        super().__init__(nIn, nOut, (kT, kH, kW), (dT, dH, dW), (padT, padH, padW))


class TemporalConvolution(_Convolution):
    """Convolution of sequences of frames: (batch,) time, frame."""

    def __init__(self, inputFrameSize, outputFrameSize, kW, dW=1) -> None:
        super().__init__(inputFrameSize, outputFrameSize, (kW,), (dW,), (0,))

    def compute(self, input: Tensor) -> Tensor:
        return super().compute(input.transpose(-1, -2)).transpose(-1, -2)


class _Pooling(Module):
    def __init__(self, kernel: tuple, stride: tuple, padding: tuple) -> None:
        super().__init__()
        self.kernel, self.stride, self.padding = kernel, stride, padding
        self.ceil_mode = False

    def ceil(self) -> Module:
        """Let windows stick out at the end."""
        self.ceil_mode = True
        return self

    def floor(self) -> Module:
        """Leave out windows that would stick out."""
        self.ceil_mode = False
        return self


class SpatialMaxPooling(_Pooling):
    """The largest element of each window."""

    def __init__(self, kW, kH, dW=None, dH=None, padW=0, padH=0) -> None:
        super().__init__((kH, kW), (dH or kH, dW or kW), (padH, padW))

    def compute(self, input: Tensor) -> Tensor:
        return F.max_pool2d(
            input, self.kernel, self.stride, self.padding, ceil_mode=self.ceil_mode
        )


class SpatialAveragePooling(_Pooling):
    """The mean of each window."""

    def __init__(self, kW, kH, dW=1, dH=1, padW=0, padH=0) -> None:
        super().__init__((kH, kW), (dH, dW), (padH, padW))

    def compute(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input, self.kernel, self.stride, self.padding, self.ceil_mode
        )


class VolumetricMaxPooling(_Pooling):
    """The largest element of each window of a volume."""

    def __init__(self, kT, kW, kH, dT=None, dW=None, dH=None) -> None:
        super().__init__((kT, kH, kW), (dT or kT, dH or kH, dW or kW), (0, 0, 0))

    def compute(self, input: Tensor) -> Tensor:
        return F.max_pool3d(
            input, self.kernel, self.stride, self.padding, ceil_mode=self.ceil_mode
        )


class TemporalMaxPooling(_Pooling):
    """The largest element of each window of a sequence."""

    def __init__(self, kW, dW=None) -> None:
        super().__init__((kW,), (dW or kW,), (0,))

    def compute(self, input: Tensor) -> Tensor:
        x = input.transpose(-1, -2)
        return F.max_pool1d(x, self.kernel, self.stride).transpose(-1, -2)


class SpatialAdaptiveMaxPooling(Module):
    """The largest element of each of W x H windows."""

    def __init__(self, W: int, H: int) -> None:
        super().__init__()
        self.size = (H, W)

    def compute(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(input, self.size)


class SpatialCrossMapLRN(Module):
    """Local response normalisation across planes."""

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def compute(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)
