"""The pruning methods: which entries of a tensor each of them keeps."""

import ember
from ember import Tensor
from ember.nn.utils.prune._amount import (
    _compute_nparams_toprune,
    _validate_pruning_amount,
    _validate_pruning_amount_init,
    _validate_structured_pruning,
)
from ember.nn.utils.prune._base import BasePruningMethod


class Identity(BasePruningMethod):
    """Prunes nothing: adds the mask, all ones.

    >>> layer = nn.Linear(2, 1)
    >>> _ = nn.utils.prune.Identity.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[1., 1.]])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` itself."""
        return default_mask


class _Amount(BasePruningMethod):
    """A method that prunes an amount: a number, or a share if it is a float."""

    def __init__(self, amount: int | float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def _count(self, size: int) -> int:
        """How many of `size` to prune."""
        _validate_pruning_amount(self.amount, size)
        return _compute_nparams_toprune(self.amount, size)

    def _without(self, scores: Tensor, mask: Tensor, largest: bool) -> Tensor:
        """`mask` without the largest or smallest of `scores`."""
        mask = mask.clone(memory_format=ember.contiguous_format)
        count = self._count(scores.nelement())
        if count != 0:
            chosen = ember.topk(scores.reshape(-1), k=count, largest=largest)
            mask.view(-1)[chosen.indices] = 0
        return mask


class RandomUnstructured(_Amount):
    """Prunes entries chosen at random.

    Args:
        amount: how many entries, or which share

    >>> nn.utils.prune.RandomUnstructured(0.25).prune(ember.ones(8)).sum()
    tensor(6.)
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask without as many entries, from anywhere."""
        if self._count(t.nelement()) == 0:
            return default_mask.clone(memory_format=ember.contiguous_format)
        return self._without(ember.rand_like(t), default_mask, largest=True)


class L1Unstructured(_Amount):
    """Prunes the entries with the smallest magnitude.

    Args:
        amount: how many entries, or which share

    >>> nn.utils.prune.L1Unstructured(2).prune(ember.tensor([3.0, -1.0, 0.5, -4.0]))
    tensor([ 3., -0.,  0., -4.])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask without the smallest entries."""
        return self._without(t.abs(), default_mask, largest=False)


class _Channels(_Amount):
    """A method that prunes whole slices along `dim`."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: int | float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Tensor, count: int) -> Tensor:
        """Which channels stay, if `count` go: a vector of ones and zeros."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask without some channels along `dim`."""
        _validate_structured_pruning(t)
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self._count(t.shape[self.dim])
        if count == 0:
            return default_mask
        shape = [1] * t.dim()
        shape[self.dim] = -1
        kept = self._kept(t, count).to(default_mask.dtype).view(shape)
        return default_mask * kept


class RandomStructured(_Channels):
    """Prunes channels chosen at random.

    Args:
        amount: how many channels, or which share
        dim: the axis of the channels

    >>> pruned = nn.utils.prune.RandomStructured(1, dim=0).prune(ember.ones(3, 2))
    >>> pruned.sum(1).sort().values
    tensor([0., 2., 2.])
    """

    def _kept(self, t: Tensor, count: int) -> Tensor:
        scores = ember.rand(t.shape[self.dim])
        return (scores > ember.kthvalue(scores, k=count).values).to(t.device)


class LnStructured(_Channels):
    """Prunes the channels with the smallest L`n` norm.

    Args:
        amount: how many channels, or which share
        n: exponent of the norm
        dim: the axis of the channels

    >>> method = nn.utils.prune.LnStructured(1, n=2, dim=0)
    >>> method.prune(ember.tensor([[1.0, 1.0], [2.0, 2.0]]))
    tensor([[0., 0.],
            [2., 2.]])
    """

    def __init__(self, amount: int | float, n: float | str, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t: Tensor, count: int) -> Tensor:
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = ember.norm(t, p=self.n, dim=others)
        largest = ember.topk(norms, k=t.shape[self.dim] - count, largest=True)
        kept = ember.zeros(t.shape[self.dim], device=t.device)
        kept[largest.indices] = 1
        return kept


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask that is given.

    Args:
        mask: 1 where an entry is kept, shaped as the parameter

    >>> method = nn.utils.prune.CustomFromMask(ember.tensor([1.0, 0.0]))
    >>> method.compute_mask(ember.ones(2), default_mask=ember.ones(2))
    tensor([1., 0.])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """`default_mask` times the given one."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError("mask shape must match default_mask shape")
        return default_mask * self.mask.to(dtype=default_mask.dtype)
