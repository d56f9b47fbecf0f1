"""Convolutions of sequences, images and volumes.

Sizes, strides and paddings are given as in Torch7: width before height.
"""

from __future__ import annotations

import math
from typing import Any

from ember import Tensor
from ember.legacy.nn.layers._weighted import _Weighted
from ember.nn import functional as F


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
