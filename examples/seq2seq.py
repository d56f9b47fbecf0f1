"""Sequence to sequence with attention (arXiv:1409.0473): words spelled backwards.

    python examples/seq2seq.py

A GRU reads a word, another writes it backwards, looking at what the first has read.
"""

import argparse
from collections.abc import Sequence

import ember
import ember.nn.functional as F
from ember import Tensor, nn

LETTERS = "abcdefghijklmnop"
START, PAD = len(LETTERS), len(LETTERS) + 1
SYMBOLS = len(LETTERS) + 2


class Attention(nn.Module):
    """The memory where it fits the question, by a small network."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.question = nn.Linear(width, width, bias=False)
        self.memory = nn.Linear(2 * width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)

    def forward(self, question: Tensor, memory: Tensor, padding: Tensor) -> Tensor:
        h = ember.tanh(self.question(question).unsqueeze(1) + self.memory(memory))
        scores = self.score(h).squeeze(2).masked_fill(padding, float("-inf"))
        return (F.softmax(scores, 1).unsqueeze(1) @ memory).squeeze(1)


class Seq2Seq(nn.Module):
    """Encoder, attention, decoder."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, width, padding_idx=PAD)
        self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * width, width)
        self.attention = Attention(width)
        self.cell = nn.GRUCell(3 * width, width)
        self.out = nn.Linear(3 * width, SYMBOLS)

    def forward(self, source: Tensor, target: Tensor | None = None) -> Tensor:
        """Scores [N, T, S]; each step sees the right symbol before it, if given."""
        padding = source == PAD
        memory, last = self.encoder(self.embed(source))
        state = ember.tanh(self.bridge(ember.cat([last[0], last[1]], 1)))
        symbol = ember.full((len(source),), START, device=source.device)
        steps = []
        for t in range(source.shape[1]):
            seen = self.attention(state, memory, padding)
            state = self.cell(ember.cat([self.embed(symbol), seen], 1), state)
            steps.append(self.out(ember.cat([state, seen], 1)))
            symbol = steps[-1].argmax(1) if target is None else target[:, t]
        return ember.stack(steps, 1)


def batch_of(size: int, longest: int) -> tuple[Tensor, Tensor]:
    """Words of several lengths, and the same backwards, both padded."""
    lengths = ember.randint(2, longest + 1, (size, 1))
    places = ember.arange(longest).expand(size, longest)
    words = ember.randint(len(LETTERS), (size, longest))
    inside = places < lengths
    source = ember.where(inside, words, PAD)
    mirrored = (lengths - 1 - places).clamp(min=0)
    target = ember.where(inside, source.gather(1, mirrored), PAD)
    return source, target


def loss_of(model: nn.Module, batch: Sequence[Tensor]) -> Tensor:
    source, target = batch
    scores = model(source, target)
    return F.cross_entropy(scores.flatten(0, 1), target.flatten(), ignore_index=PAD)


def spelled(symbols: Tensor) -> str:
    return "".join(LETTERS[i] if i < len(LETTERS) else " " for i in symbols.tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--longest", type=int, default=8)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()

    ember.manual_seed(args.seed)
    model = Seq2Seq()
    optimizer = ember.optim.Adam(model.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        loss = loss_of(model, batch_of(args.batch_size, args.longest))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 0 or step == 1:
            print(f"step {step:4}  loss {loss.item():.4f}")
    source, target = batch_of(200, args.longest)
    with ember.no_grad():
        written = model(source).argmax(2)
    right = ((written == target) | (target == PAD)).all(1).double().mean().item()
    print(f"{spelled(source[0])!r} backwards: {spelled(written[0])!r}")
    print(f"{right:.1%} of 200 new words are right")


if __name__ == "__main__":
    main()
