"""Dropout layers."""

from ember import Tensor, _lazy
from ember.nn import functional as F
from ember.nn.modules.module import Layer


class _Dropout(Layer):
    """Base: a probability, and a function of `torch.nn.functional`'s signature."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(
                f"dropout probability has to be between 0 and 1, but got {p}"
            )
        self.p = p
        self.inplace = inplace

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """Zeroes elements with probability `p` in training.

    >>> import ember
    >>> ember.nn.Dropout(0.5).eval()(ember.ones(2))
    tensor([1., 1.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout1d(_Dropout):
    """Zeroes whole channels of [N, C, L].

    In training each channel of each sample is zeroed with probability `p`, and the
    others are divided by 1 - p.

    Args:
        p: probability that a channel is dropped
        inplace: change the input instead of making a new tensor

    Shape:
        [N, C, L] or [C, L]; the output likewise

    >>> y = nn.Dropout1d(0.5)(ember.ones(1, 4, 3))
    >>> sorted(set(y.sum(2).flatten().tolist()))
    [0.0, 6.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout1d(input, self.p, self.training, self.inplace)


class Dropout2d(_Dropout):
    """Zeroes whole channels of [N, C, H, W].

    In training each channel of each sample is zeroed with probability `p`, and the
    others are divided by 1 - p. Neighbouring pixels are alike, so dropping single ones
    would hide little.

    Args:
        p: probability that a channel is dropped
        inplace: change the input instead of making a new tensor

    Shape:
        [N, C, H, W] or [C, H, W]; the output likewise

    >>> layer = nn.Dropout2d(0.5)
    >>> layer.eval()(ember.ones(1, 2, 2, 2)).sum()  # nothing happens in evaluation
    tensor(8.)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout2d(input, self.p, self.training, self.inplace)


class Dropout3d(_Dropout):
    """Zeroes whole channels of [N, C, D, H, W].

    In training each channel of each sample is zeroed with probability `p`, and the
    others are divided by 1 - p.

    Args:
        p: probability that a channel is dropped
        inplace: change the input instead of making a new tensor

    Shape:
        [N, C, D, H, W] or [C, D, H, W]; the output likewise

    >>> nn.Dropout3d(0.0)(ember.ones(1, 2, 2, 2, 2)).sum()
    tensor(16.)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout3d(input, self.p, self.training, self.inplace)


class AlphaDropout(_Dropout):
    """Dropout that keeps mean and variance, for SELU.

    In training elements are set to the value that `SELU` tends to for very negative
    inputs, then all are scaled and shifted so that mean and variance are what they
    were. In evaluation nothing happens.

    Args:
        p: probability that an element is dropped
        inplace: change the input instead of making a new tensor

    Shape:
        any; the output has the shape of the input

    >>> y = nn.AlphaDropout(0.2)(ember.randn(10000))
    >>> round(y.mean().item(), 1), round(y.std().item(), 1)
    (-0.0, 1.0)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_Dropout):
    """`AlphaDropout` of whole channels.

    Args:
        p: probability that a channel is dropped
        inplace: change the input instead of making a new tensor

    Shape:
        [N, C, ...]; the output likewise

    >>> nn.FeatureAlphaDropout(0.5).eval()(ember.ones(1, 2, 3)).sum()
    tensor(6.)
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)


__getattr__ = _lazy.missing(__name__)
