"""A language model of words with an LSTM.

    python examples/lstm_lm.py

Learns sentences that a small grammar makes, with the state of the LSTM carried from one
piece of text to the next, and prints the perplexity; the grammar's own is 2.87.
"""

import argparse
import math
import random
from collections.abc import Sequence
from typing import Any

import ember
import ember.nn.functional as F
from ember import Tensor, nn

GRAMMAR = {
    "article": ["the", "a"],
    "adjective": ["small", "old", "red", "quiet"],
    "noun": ["cat", "dog", "house", "river", "child"],
    "verb": ["sees", "likes", "follows", "hears"],
}
PATTERN = "article adjective noun verb article noun .".split()
WORDS = sorted({w for group in GRAMMAR.values() for w in group} | {"."})


class LSTMModel(nn.Module):
    """Words in, scores of the next word out."""

    def __init__(
        self,
        words: int,
        width: int = 64,
        hidden: int = 128,
        layers: int = 2,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, hidden, layers, dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(hidden, words)

    def forward(self, tokens: Tensor, state: Any = None) -> tuple[Tensor, Any]:
        x, state = self.lstm(self.dropout(self.embed(tokens)), state)
        return self.out(self.dropout(x)), state


def sentences(count: int, seed: int = 0) -> Tensor:
    """Text of the grammar as numbers of words."""
    pick = random.Random(seed)
    text = []
    for _ in range(count):
        for part in PATTERN:
            text.append(pick.choice(GRAMMAR[part]) if part in GRAMMAR else part)
    return ember.tensor([WORDS.index(w) for w in text])


def batches(text: Tensor, columns: int, length: int) -> list[tuple[Tensor, Tensor]]:
    """[T, N] pieces of `columns` streams, each with what follows."""
    rows = (len(text) - 1) // columns
    streams = text[: rows * columns].view(columns, rows).t()
    following = text[1 : rows * columns + 1].view(columns, rows).t()
    return [
        (streams[i : i + length], following[i : i + length])
        for i in range(0, rows - length + 1, length)
    ]


def loss_of(
    model: nn.Module, batch: Sequence[Tensor], state: Any = None
) -> tuple[Tensor, Any]:
    """The loss, and the state after the batch without its history."""
    tokens, following = batch
    scores, state = model(tokens, state)
    loss = F.cross_entropy(scores.flatten(0, 1), following.flatten())
    return loss, tuple(s.detach() for s in state)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--length", type=int, default=20, help="of a piece of text")
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    ember.manual_seed(args.seed)
    pieces = batches(sentences(args.sentences), args.batch_size, args.length)
    model = LSTMModel(len(WORDS))
    optimizer = ember.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(1, args.epochs + 1):
        total, state = 0.0, None
        for batch in pieces:
            loss, state = loss_of(model, batch, state)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch:3}  perplexity {math.exp(total / len(pieces)):.3f}")


if __name__ == "__main__":
    main()
