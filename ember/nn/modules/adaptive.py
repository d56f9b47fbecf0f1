"""Softmax over many classes, the rare ones in clusters of their own."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import ember
from ember import Tensor
from ember._types import DeviceLike, Dtype
from ember.nn import functional as F
from ember.nn.modules.container import ModuleList, Sequential
from ember.nn.modules.linear import Linear
from ember.nn.modules.module import Module


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of targets, and their loss (arXiv:1609.04309).

    Classes are sorted by frequency; those below `cutoffs[0]` are in the head, every
    further interval in a cluster with a smaller projection.

    >>> import ember
    >>> m = ember.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10])
    >>> output, loss = m(ember.randn(4, 8), ember.tensor([0, 4, 7, 19]))
    >>> output.shape, loss.shape
    (torch.Size([4]), torch.Size([]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        good = cutoffs == sorted(set(cutoffs)) and min(cutoffs) > 0
        if not good or max(cutoffs) > n_classes - 1:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in "
                "an increasing order, where each value is between 1 and n_classes-1"
            )
        if any(int(c) != c for c in cutoffs):
            raise ValueError("cutoffs should be a sequence of integers")
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **kind)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            width = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            projection = Sequential(
                Linear(in_features, width, bias=False, **kind),
                Linear(width, size, bias=False, **kind),
            )
            self.tail.append(projection)

    def reset_parameters(self) -> None:
        """Draw new values."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        batched = target_.dim() > 0
        if target_.dim() not in (0, 1):
            raise RuntimeError(
                "0D or 1D target tensor expected, multi-target not supported"
            )
        if batched and input_.shape[0] != target_.shape[0]:
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension."
            )
        if input_.dim() != target_.dim() + 1:
            wanted = "2D" if batched else "1D"
            raise RuntimeError(
                f"{wanted} input tensor expected for a target with "
                f"{target_.dim()} dimensions, but found inputs with size "
                f"{input_.size()}"
            )
        input = input_ if batched else input_.unsqueeze(0)
        target = target_ if batched else target_.unsqueeze(0)
        if target.numel():
            low, high = int(target.min()), int(target.max())
            if low < 0 or high >= self.n_classes:
                raise RuntimeError(
                    f"Target values should be in [0, {self.n_classes - 1}], but values "
                    f"in range [{low}, {high}] were found. "
                )
        in_head = target
        output = input.new_zeros((input.shape[0],))
        for i in range(self.n_clusters):
            start, stop = self.cutoffs[i : i + 2]
            inside = (target >= start) & (target < stop)
            rows = inside.nonzero().reshape(-1)
            if rows.numel() == 0:
                continue
            logp = F.log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
            chosen = (target.index_select(0, rows) - start).unsqueeze(1)
            output = output.index_add(0, rows, logp.gather(1, chosen).squeeze(1))
            in_head = in_head.masked_fill(inside, self.shortlist_size + i)
        head = F.log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """Log-probabilities of all classes, [N, n_classes]."""
        return self._full(input, self.head(input))

    def _full(self, input: Tensor, head_output: Tensor) -> Tensor:
        head = F.log_softmax(head_output, dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, projection in enumerate(self.tail):
            cluster = F.log_softmax(projection(input), dim=1)
            at = self.shortlist_size + i
            parts.append(cluster + head[:, at : at + 1])
        return ember.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The class with the highest probability, computing only clusters in need."""
        head = self.head(input)
        best = ember.argmax(head, dim=1)
        rows = (best >= self.shortlist_size).nonzero().reshape(-1)
        if rows.numel() == 0:
            return best
        every = self._full(input.index_select(0, rows), head.index_select(0, rows))
        return best.index_copy(0, rows, ember.argmax(every, dim=1))
