"""Small models, and batches for them, that tests of sharded training share."""

import ember
import ember.nn.functional as F
from ember import nn

WIDTH, HEADS, VOCABULARY, LENGTH = 16, 4, 12, 6


def mlp():
    return nn.Sequential(
        nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 3)
    )


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.GroupNorm(2, channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.second(F.relu(self.norm(self.first(x)))))


class ResNet(nn.Module):
    """Norms by groups: those by batches see only the part of their rank."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 6, 3, padding=1)
        self.blocks = nn.Sequential(Residual(6), Residual(6))
        self.head = nn.Linear(6, 3)

    def forward(self, x):
        x = x.view(-1, 1, 2, 3)
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 32), nn.Linear(32, WIDTH)

    def heads(self, x):
        # As many heads as this process has.
        return x.view(*x.shape[:2], -1, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x):
        h = self.norm1(x)
        q, k, v = (self.heads(f(h)) for f in (self.query, self.key, self.value))
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(h.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.token = nn.Embedding(VOCABULARY, WIDTH)
        self.place = nn.Parameter(ember.randn(LENGTH, WIDTH) * 0.1)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, x):
        x = self.token(x) + self.place
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


MODELS = {"mlp": mlp, "resnet": ResNet, "gpt": GPT}


def make(name):
    """The model of that name, always with the same parameters."""
    ember.manual_seed(11)
    return MODELS[name]()


def batches(name, steps=3, size=8):
    ember.manual_seed(7)
    for _ in range(steps):
        if name == "gpt":
            tokens = ember.randint(VOCABULARY, (size, LENGTH + 1))
            yield tokens[:, :-1], tokens[:, 1:]
        else:
            yield ember.randn(size, 6), ember.randn(size, 3)


def loss_of(name, out, y):
    if name == "gpt":
        return F.cross_entropy(out.flatten(0, 1), y.flatten())
    return F.mse_loss(out, y)


def part(t, rank, size):
    return t[rank * len(t) // size : (rank + 1) * len(t) // size]


def train(model, name, optimizer, shard=(0, 1), accumulate=1, clip=None, sync=None):
    """Some steps; `sync(last)` is told before each backward pass of an accumulation."""
    norms = []
    for x, y in batches(name):
        optimizer.zero_grad()
        for i in range(accumulate):
            a, b = part(x, i, accumulate), part(y, i, accumulate)
            if sync is not None:
                sync(i == accumulate - 1)
            out = model(part(a, *shard))
            (loss_of(name, out, part(b, *shard)) / accumulate).backward()
        if clip is not None:
            norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
            norms.append(getattr(norm, "full_tensor", lambda n=norm: n)())
        optimizer.step()
    return norms
