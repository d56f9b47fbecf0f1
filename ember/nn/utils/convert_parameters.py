"""Parameters as one vector, and back."""

from collections.abc import Iterable

import ember
from ember import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters one after the other, flattened.

    >>> import ember
    >>> pieces = [ember.zeros(2, 2), ember.ones(1)]
    >>> ember.nn.utils.parameters_to_vector(pieces)
    tensor([0., 0., 0., 0., 1.])
    """
    return ember.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give parameters their parts of a vector; they share its memory afterwards.

    Args:
        vec: one dimension, as long as all parameters together
        parameters: which

    >>> layer = nn.Linear(2, 1)
    >>> nn.utils.vector_to_parameters(ember.tensor([1.0, 2.0, 3.0]), layer.parameters())
    >>> layer.weight.tolist(), layer.bias.tolist()
    ([[1.0, 2.0]], [3.0])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    start = 0
    for p in parameters:
        stop = start + p.numel()
        p.data = vec[start:stop].view_as(p).data
        start = stop
