"""Helpers under PyTorch's normal distributions: gpytorch and pyro import them."""

from __future__ import annotations

import ember
from ember import Tensor


def _batch_mv(bmat: Tensor, bvec: Tensor) -> Tensor:
    """Products of matrices and vectors, both with batch dimensions."""
    return ember.matmul(bmat, bvec.unsqueeze(-1)).squeeze(-1)


def _batch_mahalanobis(bL: Tensor, bx: Tensor) -> Tensor:
    """x' M^-1 x for M = L L', with batch dimensions that broadcast."""
    y = ember.linalg.solve_triangular(bL, bx.unsqueeze(-1), upper=False)
    return y.squeeze(-1).square().sum(-1)


def _precision_to_scale_tril(P: Tensor) -> Tensor:
    """The lower triangular factor of a covariance, from its inverse."""
    turned = ember.linalg.cholesky(P.flip((-2, -1)))
    inverse = turned.flip((-2, -1)).transpose(-2, -1)
    eye = ember.eye(P.shape[-1], dtype=P.dtype, device=P.device)
    return ember.linalg.solve_triangular(inverse, eye, upper=False)
