"""Differentiable maps with known Jacobians, which make new distributions from old ones.

>>> import ember
>>> from ember.distributions.transforms import AffineTransform, ExpTransform
>>> AffineTransform(1.0, 2.0)(ember.tensor([0.0, 3.0]))
tensor([1., 7.])
>>> ExpTransform().inv(ember.tensor(1.0))
tensor(0.)
"""

from ember import _lazy
from ember.distributions.transforms.base import Transform, _InverseTransform
from ember.distributions.transforms.combine import (
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    identity_transform,
)
from ember.distributions.transforms.elementwise import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from ember.distributions.transforms.parts import CatTransform, StackTransform
from ember.distributions.transforms.vector import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


__getattr__ = _lazy.missing(__name__)
