"""The transformer: encoder and decoder layers, stacks of them, and the whole."""

import copy
from collections.abc import Callable
from typing import Any

import ember
from ember import Tensor, _lazy
from ember._types import DeviceLike, Dtype
from ember.nn import functional as F, init
from ember.nn.modules.attention import MultiheadAttention
from ember.nn.modules.container import ModuleList
from ember.nn.modules.dropout import Dropout
from ember.nn.modules.linear import Linear
from ember.nn.modules.module import Layer, Module
from ember.nn.modules.normalization import LayerNorm


def _activation(given: str | Callable) -> Callable:
    if callable(given):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return getattr(F, given)


def _copies(module: Module, count: int) -> ModuleList:
    if not isinstance(module, Module):
        raise TypeError(f"{type(module).__name__} is not a Module subclass")
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _looks_causal(mask: Tensor | None, hint: bool | None, size: int | None) -> bool:
    """Whether a mask is the one that hides the future; `hint` if that is given."""
    if hint is not None or mask is None:
        return hint is True
    if mask.dim() != 2 or (size is not None and tuple(mask.shape) != (size, size)):
        return False
    causal = Transformer.generate_square_subsequent_mask(
        mask.shape[0], device=mask.device, dtype=mask.dtype
    )
    return mask.shape == causal.shape and bool((mask == causal).all())


class _Layer(Layer):
    """Base of the two layers: the feed-forward block and the norms."""

    _attentions: tuple[str, ...]

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout, bias, batch_first=batch_first, **kind
            )
            setattr(self, name, attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **kind)
        self.norm_first = norm_first
        blocks = range(1, len(self._attentions) + 2)
        for i in blocks:
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind)
            setattr(self, f"norm{i}", norm)
        for i in blocks:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _attend(self, name, x, memory, mask, padding, causal) -> Tensor:
        attention = getattr(self, name)
        return attention(
            x,
            memory,
            memory,
            attn_mask=mask,
            key_padding_mask=padding,
            is_causal=causal,
            need_weights=False,
        )[0]

    def _blocks(self, x: Tensor, blocks) -> Tensor:
        """x plus what every block makes of it, normalized before or after."""
        for i, block in enumerate(blocks, 1):
            norm = getattr(self, f"norm{i}")
            drop = getattr(self, f"dropout{i}")
            if self.norm_first:
                x = x + drop(block(norm(x)))
            else:
                x = norm(x + drop(block(x)))
        return x


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network (arXiv:1706.03762).

    >>> import ember
    >>> layer = ember.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    >>> layer(ember.randn(3, 5, 8)).shape
    torch.Size([3, 5, 8])
    """

    _attentions = ("self_attn",)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        mask = F.attention._float_mask(src_mask, src, "src_mask")
        padding = F.attention._float_mask(
            src_key_padding_mask, src, "src_key_padding_mask"
        )

        def attend(x: Tensor) -> Tensor:
            return self._attend("self_attn", x, x, mask, padding, is_causal)

        return self._blocks(src, [attend, self._feed_forward])


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output and a feed-forward network.

    >>> import ember
    >>> layer = ember.nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> layer(ember.randn(3, 5, 8), ember.randn(3, 7, 8)).shape
    torch.Size([3, 5, 8])
    """

    _attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            given = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
            return self._attend("self_attn", x, x, *given)

        def look(x: Tensor) -> Tensor:
            given = (memory_mask, memory_key_padding_mask, memory_is_causal)
            return self._attend("multihead_attn", x, memory, *given)

        return self._blocks(tgt, [attend, look, self._feed_forward])


class TransformerEncoder(Layer):
    """A stack of copies of an encoder layer.

    >>> import ember
    >>> layer = ember.nn.TransformerEncoderLayer(8, 2, 16)
    >>> ember.nn.TransformerEncoder(layer, num_layers=2)(ember.randn(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        padding = F.attention._float_mask(
            src_key_padding_mask, src, "src_key_padding_mask"
        )
        mask = F.attention._float_mask(mask, src, "mask")
        first = self.layers[0].self_attn if self.num_layers else None
        length = None
        if src.dim() == 3:
            length = src.shape[1 if first is not None and first.batch_first else 0]
        causal = _looks_causal(mask, is_causal, length)
        output = src
        for layer in self.layers:
            output = layer(
                output,
                src_mask=mask,
                is_causal=causal,
                src_key_padding_mask=padding,
            )
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Layer):
    """A stack of copies of a decoder layer.

    Args:
        decoder_layer: the layer to copy
        num_layers: how many copies
        norm: a module for the end, such as a `LayerNorm`

    Shape:
        target and memory [steps, batch, features], or with the batch first if the layer
        says so

    >>> layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)
    >>> decoder = nn.TransformerDecoder(layer, 2)
    >>> decoder(ember.rand(1, 3, 8), memory=ember.rand(1, 5, 8)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        decoder_layer: TransformerDecoderLayer,
        num_layers: int,
        norm: Module | None = None,
    ) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        causal = _looks_causal(tgt_mask, tgt_is_causal, None)
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Layer):
    """An encoder and a decoder (arXiv:1706.03762).

    >>> import ember
    >>> m = ember.nn.Transformer(8, 2, 1, 1, 16)
    >>> m(ember.randn(7, 3, 8), ember.randn(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        sizes = (d_model, nhead, dim_feedforward, dropout, activation)
        options = (layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*sizes, *options, **kind)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind)
            custom_encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoding = TransformerDecoderLayer(*sizes, *options, **kind)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **kind)
            custom_decoder = TransformerDecoder(decoding, num_decoder_layers, norm)
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for values in self.parameters():
            if values.dim() > 1:
                init.xavier_uniform_(values)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        axis = 0 if self.batch_first else 1
        if src.dim() == 3 and src.shape[axis] != tgt.shape[axis]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                "the feature number of src and tgt must be equal to d_model"
            )
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: DeviceLike | None = None, dtype: Dtype | None = None
    ) -> Tensor:
        """A mask that hides the future: -inf above the diagonal, 0 elsewhere.

        >>> import ember
        >>> ember.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        full = ember.full((sz, sz), float("-inf"), dtype=dtype, device=device)
        return ember.triu(full, diagonal=1)


__getattr__ = _lazy.missing(__name__)
