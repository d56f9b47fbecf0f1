"""A small GPT that learns to write, character by character.

    python examples/gpt.py

Learns from the source of a module of Python's library, or any other text (--text), and
then writes a few lines of its own.
"""

import argparse
import inspect
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ember
import ember.nn.functional as F
from ember import Tensor, nn


class Block(nn.Module):
    """Attention to what came before, then a small network, each around a shortcut."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def attend(self, x: Tensor) -> Tensor:
        B, T, D = x.shape
        qkv = self.qkv(x).view(B, T, 3, self.heads, D // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        drop = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=drop, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(B, T, D))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attend(self.norm1(x))
        return x + F.dropout(self.mlp(self.norm2(x)), self.dropout, self.training)


class GPT(nn.Module):
    """Characters in, scores of the next character out."""

    def __init__(
        self,
        letters: int,
        context: Any = 64,
        width: int = 96,
        layers: int = 3,
        heads: int = 4,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.context = context
        self.token = nn.Embedding(letters, width)
        self.place = nn.Embedding(context, width)
        self.blocks = nn.Sequential(
            *(Block(width, heads, dropout) for _ in range(layers))
        )
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters, bias=False)
        self.head.weight = self.token.weight  # tied
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)

    def forward(self, tokens: Tensor) -> Tensor:
        places = ember.arange(tokens.shape[1], device=tokens.device)
        x = self.token(tokens) + self.place(places)
        return self.head(self.norm(self.blocks(x)))

    @ember.no_grad()
    def write(self, tokens: Tensor, count: int) -> Tensor:
        """`count` more characters, drawn from what the model expects."""
        for _ in range(count):
            scores = self(tokens[:, -self.context :])[:, -1]
            drawn = ember.multinomial(F.softmax(scores, -1), 1)
            tokens = ember.cat([tokens, drawn], 1)
        return tokens


def batch_of(text: Tensor, context: int, size: int) -> tuple[Tensor, Tensor]:
    """Pieces of the text, and the same shifted by one character."""
    starts = ember.randint(len(text) - context - 1, (size, 1))
    pieces = text[starts + ember.arange(context + 1)]
    return pieces[:, :-1], pieces[:, 1:]


def loss_of(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
    tokens, following = batch
    return F.cross_entropy(model(tokens).flatten(0, 1), following.flatten())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", type=Path, help="what to learn from")
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--layers", type=int, default=3)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    ember.manual_seed(args.seed)
    text = (
        inspect.getsource(textwrap)
        if args.text is None
        else args.text.read_text(encoding="utf-8")
    )
    letters = sorted(set(text))
    data = ember.tensor([letters.index(c) for c in text])
    model = GPT(len(letters), args.context, args.width, args.layers)
    optimizer = ember.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.1)
    for step in range(1, args.steps + 1):
        loss = loss_of(model, batch_of(data, args.context, args.batch_size))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0 or step == 1:
            print(f"step {step:4}  loss {loss.item():.4f}")
    written = model.eval().write(data[None, :1], 300)
    print("".join(letters[i] for i in written[0].tolist()))


if __name__ == "__main__":
    main()
