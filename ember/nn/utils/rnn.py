"""Batches of sequences that differ in length: padded, packed and back."""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self, TypeVar

import ember
from ember import Tensor

_T = TypeVar("_T")
_R = TypeVar("_R")


def bind(optional: _T | None, fn: Callable[[_T], _R]) -> _R | None:
    """`fn` of a value, or None if there is none.

    >>> from ember.nn.utils.rnn import bind
    >>> bind("abc", len), bind(None, len)
    (3, None)
    """
    return None if optional is None else fn(optional)


class PackedSequence_(NamedTuple):
    """The fields of `PackedSequence`.

    >>> nn.utils.rnn.PackedSequence_._fields
    ('data', 'batch_sizes', 'sorted_indices', 'unsorted_indices')
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(PackedSequence_):
    """The steps of several sequences one after the other, without padding.

    Step t has batch_sizes[t] rows, from the longest sequence to the shortest;
    `sorted_indices` says where the rows come from, `unsorted_indices` puts them back.

    `pack_sequence` and `pack_padded_sequence` make one; recurrent layers take it and
    give one.

    >>> a, b = ember.tensor([1.0, 2.0, 3.0]), ember.tensor([4.0, 5.0])
    >>> packed = nn.utils.rnn.pack_sequence([a, b])
    >>> packed.data, packed.batch_sizes
    (tensor([1., 4., 2., 5., 3.]), tensor([2, 2, 1]))
    """

    def __new__(
        cls,
        data: Any,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:  # PyTorch also takes (data, batch_sizes) as one pair
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence "
                "should never be created manually."
            )
        given = (data, batch_sizes, sorted_indices, unsorted_indices)
        return super().__new__(cls, *given)

    def to(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        """The same with its data (and indices) moved or converted."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        order = [
            None if index is None else index.to(data.device)
            for index in (self.sorted_indices, self.unsorted_indices)
        ]
        return type(self)(data, self.batch_sizes, *order)

    def cpu(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        """On the CPU."""
        return self.to("cpu")

    def double(self) -> "PackedSequence":
        """In float64."""
        return self.to(ember.float64)

    def float(self) -> "PackedSequence":
        """In float32."""
        return self.to(ember.float32)

    def half(self) -> "PackedSequence":
        """In float16."""
        return self.to(ember.float16)

    def long(self) -> "PackedSequence":
        """In int64."""
        return self.to(ember.int64)

    def int(self) -> "PackedSequence":
        """In int32."""
        return self.to(ember.int32)

    def short(self) -> "PackedSequence":
        """In int16."""
        return self.to(ember.int16)

    def char(self) -> "PackedSequence":
        """In int8."""
        return self.to(ember.int8)

    def byte(self) -> "PackedSequence":
        """In uint8."""
        return self.to(ember.uint8)

    def cuda(self, *args: Any, **kwargs: Any) -> "PackedSequence":
        """On a CUDA device: there is none."""
        return type(self)(self.data.cuda(*args, **kwargs), self.batch_sizes)

    def pin_memory(self) -> "PackedSequence":
        """With its data in pinned memory."""
        given = (self.batch_sizes, self.sorted_indices, self.unsorted_indices)
        return type(self)(self.data.pin_memory(), *given)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a CUDA device."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes this one.

    >>> import ember
    >>> ember.nn.utils.rnn.invert_permutation(ember.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = ember.arange(permutation.numel(), device=permutation.device)
    return ember.empty_like(permutation).scatter_(0, permutation, places)


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack sequences [T, N, ...] (or [N, T, ...]) that have these lengths.

    >>> import ember
    >>> x = ember.tensor([[1, 2], [3, 0]])
    >>> ember.nn.utils.rnn.pack_padded_sequence(x, [2, 1], batch_first=True).data
    tensor([1, 3, 2])
    """
    lengths = ember.as_tensor(lengths, dtype=ember.int64, device="cpu")
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.dim() != 1:
        raise RuntimeError("lengths must be a 1D tensor")
    count = lengths.tolist()
    order = None
    if not enforce_sorted:
        ranks = sorted(range(len(count)), key=lambda i: -count[i])
        order = ember.tensor(ranks, dtype=ember.int64, device=input.device)
        input = input.index_select(0 if batch_first else 1, order)
        count = [count[i] for i in ranks]
    if batch_first:
        input = input.transpose(0, 1)
    if input.shape[1] != len(count):
        raise RuntimeError(
            "Expected `len(lengths)` to be equal to batch_size, but got "
            f"{len(count)} (batch_size={input.shape[1]})"
        )
    if any(n <= 0 for n in count):
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in "
            "'lengths' that is <= 0"
        )
    if any(a < b for a, b in pairwise(count)):
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` "
            "is True. You can pass `enforce_sorted=False` to pack_padded_sequence "
            "and/or pack_sequence to sidestep this requirement if you do not need "
            "ONNX exportability."
        )
    if count[0] > input.shape[0]:
        raise RuntimeError(
            f"Expected lengths of at most {input.shape[0]}, but got {count[0]}"
        )
    sizes = [sum(n > t for n in count) for t in range(count[0])]
    data = ember.cat([input[t, :n] for t, n in enumerate(sizes)])
    return PackedSequence(data, ember.tensor(sizes), order)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The sequences padded to the same length, and their lengths.

    Args:
        sequence: what a recurrent layer gave
        batch_first: give [batch, steps, ...] instead of [steps, batch, ...]
        padding_value: what stands after the end of a sequence
        total_length: number of steps, if not that of the longest

    >>> packed = nn.utils.rnn.pack_sequence([ember.tensor([1, 2]), ember.tensor([3])])
    >>> nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    data, batch_sizes, _, unsorted = sequence
    sizes = batch_sizes.tolist()
    length = len(sizes)
    if not sizes:
        raise RuntimeError("batch_sizes of a packed sequence must not be empty")
    if total_length is not None:
        if total_length < length:
            raise ValueError(
                "Expected total_length to be at least the length of the longest "
                f"sequence in input, but got total_length={total_length} and max "
                f"sequence length being {length}"
            )
        length = total_length
    padded = data.new_full((length, sizes[0], *data.shape[1:]), padding_value)
    for t, step in enumerate(data.split(sizes)):
        padded[t, : sizes[t]] = step
    counts = ember.tensor([sum(n > i for n in sizes) for i in range(sizes[0])])
    if unsorted is not None:
        padded = padded.index_select(1, unsorted)
        counts = counts[unsorted.cpu()]
    return padded.transpose(0, 1) if batch_first else padded, counts


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Sequences of several lengths as one tensor [T, N, ...] (or [N, T, ...]).

    >>> import ember
    >>> rows = [ember.tensor([1, 2]), ember.tensor([3])]
    >>> ember.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    sequences = list(sequences)
    if not sequences:
        raise RuntimeError("received an empty list of sequences")
    for i, sequence in enumerate(sequences):
        if not isinstance(sequence, Tensor):
            raise TypeError(
                f"pad_sequence(): expected Tensor as element {i} in argument 0, but "
                f"got {type(sequence).__name__}"
            )
    length = max(s.shape[0] for s in sequences)
    rest = sequences[0].shape[1:]
    padded = sequences[0].new_full((len(sequences), length, *rest), padding_value)
    for i, s in enumerate(sequences):
        start = length - s.shape[0] if padding_side == "left" else 0
        padded[i, start : start + s.shape[0]] = s
    return padded if batch_first else padded.transpose(0, 1).contiguous()


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The opposite of `pad_sequence`.

    Args:
        padded_sequences: [steps, batch, ...]
        lengths: one for each sequence
        batch_first: the batch is the first axis

    >>> padded = ember.tensor([[1, 2], [3, 0]])
    >>> nn.utils.rnn.unpad_sequence(padded, ember.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [row[: int(n)] for row, n in zip(padded_sequences.unbind(0), lengths)]


def pack_sequence(
    sequences: Sequence[Tensor], enforce_sorted: bool = True
) -> PackedSequence:
    """Pack a list of sequences.

    Args:
        sequences: tensors [steps, ...], from the longest to the shortest
        enforce_sorted: False: any order

    >>> packed = nn.utils.rnn.pack_sequence(
    ...     [ember.tensor([1]), ember.tensor([2, 3])], enforce_sorted=False
    ... )
    >>> packed.data, packed.batch_sizes
    (tensor([2, 1, 3]), tensor([2, 1]))
    """
    lengths = [s.shape[0] for s in sequences]
    return pack_padded_sequence(
        pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted
    )


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The opposite of `pack_sequence`.

    >>> packed = nn.utils.rnn.pack_sequence([ember.tensor([1, 2]), ember.tensor([3])])
    >>> nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
