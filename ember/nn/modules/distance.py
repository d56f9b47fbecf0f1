"""Distances as modules."""

from ember import Tensor
from ember.nn import functional as F
from ember.nn.modules.module import Layer


class PairwiseDistance(Layer):
    """The p-norm of x1 - x2 along the last axis.

    Args:
        p: the exponent of the norm
        eps: added to the differences
        keepdim: keep the last axis, with size 1

    Shape:
        two tensors [N, D] or [D]; distances [N] or a number

    >>> nn.PairwiseDistance()(ember.tensor([[3.0, 4.0]]), ember.zeros(1, 2))
    tensor([5.0000])
    """

    def __init__(
        self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
    ) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Layer):
    """The cosine of the angle between x1 and x2 along `dim`.

        x1 · x2 / max(|x1| |x2|, eps)

    Args:
        dim: the axis along which the vectors lie
        eps: the least product of lengths

    >>> nn.CosineSimilarity()(ember.tensor([[3.0, 4.0]]), ember.tensor([[3.0, 0.0]]))
    tensor([0.6000])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
