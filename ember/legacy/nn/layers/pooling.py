"""Pooling of sequences, images and volumes; sizes are given width before height."""

from __future__ import annotations

from ember import Tensor
from ember.legacy.nn.module import Module
from ember.nn import functional as F


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
