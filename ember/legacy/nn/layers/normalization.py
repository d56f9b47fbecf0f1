"""Normalisation over the batch and across planes."""

from __future__ import annotations

import ember
from ember import Tensor
from ember.legacy.nn.module import Module
from ember.nn import functional as F


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


class SpatialCrossMapLRN(Module):
    """Local response normalisation across planes."""

    def __init__(
        self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
    ) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def compute(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)
