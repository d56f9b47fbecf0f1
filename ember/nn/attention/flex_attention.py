"""Attention whose scores and mask are functions of positions.

>>> import ember
>>> from ember.nn.attention.flex_attention import create_block_mask, flex_attention
>>> def causal(b, h, q, kv):
...     return q >= kv
>>> mask = create_block_mask(causal, None, None, 4, 4, BLOCK_SIZE=2)
>>> q = ember.ones(1, 1, 4, 8)
>>> flex_attention(q, q, q, block_mask=mask).shape
torch.Size([1, 1, 4, 8])

A mask alone goes to the fused `scaled_dot_product_attention`; a function of the scores
is computed on all of them. Functions are called once, with positions that broadcast:
like PyTorch's, they consist of ops on elements and of indexing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

import ember
from ember import Tensor
from ember.nn import functional as F

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


class FlexKernelOptions(TypedDict, total=False):
    """Options of PyTorch's kernels; ember has none of them."""


class AuxRequest(NamedTuple):
    """What else to return."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What else is returned."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """True everywhere."""
    return ember.ones((), dtype=ember.bool, device=batch.device)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """True where all of these are."""

    def mask(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = noop_mask(b, h, q, kv)
        for one in mask_mods:
            result = result & one(b, h, q, kv)
        return result

    return mask


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """True where one of these is."""

    def mask(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = ~noop_mask(b, h, q, kv)
        for one in mask_mods:
            result = result | one(b, h, q, kv)
        return result

    return mask


def _positions(sizes: tuple[int, ...], device: Any) -> list[Tensor]:
    """The numbers of batch, head, query and key, each along its dimension."""
    return [
        ember.arange(n, device=device).reshape([-1 if i == d else 1 for i in range(4)])
        for d, n in enumerate(sizes)
    ]


def create_mask(
    mod_fn: Callable,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """What a function of positions says for all of them: (B, H, Q_LEN, KV_LEN)."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    where = ember.get_default_device() if device is None else device
    return mod_fn(*_positions(sizes, where)).expand(sizes).contiguous()


def _pair(size: int | tuple[int, int]) -> tuple[int, int]:
    return (size, size) if isinstance(size, int) else size


def _listed(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many blocks of each row are True, and which, those first."""
    order = blocks.int().argsort(-1, descending=True, stable=True)
    return blocks.sum(-1).to(ember.int32), order.to(ember.int32)


def _unlisted(count: Tensor, indices: Tensor) -> Tensor:
    """The opposite of `_listed`."""
    used = ember.arange(indices.shape[-1], device=count.device) < count[..., None]
    blocks = ember.zeros(indices.shape, dtype=ember.bool, device=count.device)
    return blocks.scatter(-1, indices.long(), used)


class BlockMask:
    """A mask as a function, and which blocks of it have anything in them."""

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int],
        mask_mod: MaskMod,
    ) -> None:
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = (
            seq_lengths,
            BLOCK_SIZE,
            mask_mod,
        )
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = (
            full_kv_num_blocks,
            full_kv_indices,
        )

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: MaskMod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
        **options: Any,
    ) -> BlockMask:
        """A mask from lists of the blocks of keys that each block of queries sees."""
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError(
                "full_kv_num_blocks and full_kv_indices must be both given or omitted"
            )
        size = _pair(BLOCK_SIZE)
        if seq_lengths is None:
            rows, columns = kv_indices.shape[-2:]
            seq_lengths = (rows * size[0], columns * size[1])
        full = full_kv_num_blocks, full_kv_indices
        mod = mask_mod or noop_mask
        return cls(seq_lengths, kv_num_blocks, kv_indices, *full, size, mod)

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.kv_num_blocks.shape[:-1], *self.seq_lengths)

    def numel(self) -> int:
        """Positions of the whole mask."""
        return math.prod(self.shape)

    def to_dense(self) -> Tensor:
        """1 for each block with anything in it."""
        dense = _unlisted(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            dense = dense | _unlisted(self.full_kv_num_blocks, self.full_kv_indices)
        return dense.to(ember.int32)

    def sparsity(self) -> float:
        """Percent of positions in blocks with nothing in them."""
        used = self.to_dense().sum().item() * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1]
        return 100 * (1 - used / self.numel())

    def as_tuple(self, flatten: bool = True) -> tuple:
        """All parts."""
        lists = (self.kv_num_blocks, self.kv_indices)
        full = (self.full_kv_num_blocks, self.full_kv_indices)
        ends = self.seq_lengths if flatten else (self.seq_lengths,)
        sizes = self.BLOCK_SIZE if flatten else (self.BLOCK_SIZE,)
        return (*ends, *lists, *full, *sizes, self.mask_mod)

    def _with(
        self, change: Callable[[Tensor], Tensor], lengths: Any = None
    ) -> BlockMask:
        lists = (
            self.kv_num_blocks,
            self.kv_indices,
            self.full_kv_num_blocks,
            self.full_kv_indices,
        )
        a, b, c, d = (None if t is None else change(t) for t in lists)
        assert a is not None and b is not None
        ends = lengths or self.seq_lengths
        return BlockMask(ends, a, b, c, d, self.BLOCK_SIZE, self.mask_mod)

    def to(self, device: Any) -> BlockMask:
        """On another device."""
        return self._with(lambda t: t.to(device))

    def __getitem__(self, index: Any) -> BlockMask:
        """Some batches, heads and blocks of queries."""
        index = index if isinstance(index, tuple) else (index,)
        index = tuple(slice(i, i + 1) if isinstance(i, int) else i for i in index)
        part = self._with(lambda t: t[index])
        rows = part.kv_num_blocks.shape[-1] * self.BLOCK_SIZE[0]
        part.seq_lengths = (min(rows, self.seq_lengths[0]), self.seq_lengths[1])
        return part

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%)"

    def tokens(self, sizes: tuple[int, ...], device: Any) -> Tensor:
        """For every position, whether it is seen."""
        seen = create_mask(self.mask_mod, *sizes, device)  # type: ignore[call-arg]

        def spread(count: Tensor, indices: Tensor) -> Tensor:
            blocks = _unlisted(count.to(device), indices.to(device))
            for dim, size in ((-2, self.BLOCK_SIZE[0]), (-1, self.BLOCK_SIZE[1])):
                blocks = blocks.repeat_interleave(size, dim)
            return blocks[..., : sizes[2], : sizes[3]]

        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return seen & spread(self.kv_num_blocks, self.kv_indices)
        full = spread(self.full_kv_num_blocks, self.full_kv_indices)
        return (seen & spread(self.kv_num_blocks, self.kv_indices)) | full


def create_block_mask(
    mask_mod: MaskMod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    **options: Any,
) -> BlockMask:
    """A mask from a function of the numbers of batch, head, query and key."""
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    rows, columns = size = _pair(BLOCK_SIZE)
    padded = F.pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    parts = padded.reshape(
        *mask.shape[:2],
        padded.shape[2] // rows,
        rows,
        padded.shape[3] // columns,
        columns,
    )
    count = parts.sum((3, 5))
    full = count == rows * columns
    partial = (count > 0) & ~full if separate_full_blocks else count > 0
    some, which = _listed(partial)
    whole = _listed(full) if separate_full_blocks else (None, None)
    lengths = (Q_LEN, KV_LEN)
    return BlockMask(lengths, some, which, whole[0], whole[1], size, mask_mod)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """softmax(score_mod(query @ key^T * scale)) @ value, where `block_mask` is True.

    A query that sees no key gives zeros. With `return_lse`, also the logarithm of each
    row's sum of exponentials.
    """
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError(
            "flex_attention(): query, key, and value must be 4D tensors, got "
            f"{query.dim()}D, {key.dim()}D and {value.dim()}D"
        )
    heads = query.shape[1]
    if key.shape[1] != heads:
        if not enable_gqa:
            raise ValueError(
                "Expect query and key/value to have the same number of heads but got "
                f"Hq={heads} and Hkv={key.shape[1]}. Try setting enable_gqa=True."
            )
        if heads % key.shape[1]:
            raise ValueError(
                "Expect number of query heads to be a multiple of kv heads for GQA but "
                f"got Hq={heads} and Hkv={key.shape[1]}."
            )
        key = key.repeat_interleave(heads // key.shape[1], 1)
        value = value.repeat_interleave(heads // value.shape[1], 1)
    sizes = (query.shape[0], heads, query.shape[2], key.shape[2])
    seen = None if block_mask is None else block_mask.tokens(sizes, query.device)
    more = return_lse or return_aux is not None
    if score_mod is None and not more:
        out = F.scaled_dot_product_attention(query, key, value, seen, scale=scale)
        if seen is None:
            return out
        return out.masked_fill(~seen.any(-1, keepdim=True), 0.0)
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    wide = ember.float64 if query.dtype == ember.float64 else ember.float32
    scores = (query @ key.transpose(-2, -1)).to(wide) * factor
    if score_mod is not None:
        scores = score_mod(scores, *_positions(sizes, query.device)).to(wide)
        scores = scores.expand(sizes)
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    lse = scores.logsumexp(-1)
    empty = lse == -math.inf
    weights = (scores - lse.masked_fill(empty, 0.0)[..., None]).exp()
    out = weights.to(value.dtype) @ value
    if return_aux is not None:
        top = scores.amax(-1) if return_aux.max_scores else None
        return out, AuxOutput(lse if return_aux.lse else None, top)
    return (out, lse) if return_lse else out
