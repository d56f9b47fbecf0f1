"""Training steps of whole models. `t` stands for torch or for ember: one text for both.

`TRAIN` are quick, `MODELS` take seconds a step and are measured only when asked for.
A function of either makes the model and its batch and returns the step.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

Step = Callable[[], Any]
Wrap = Callable[[Any], Any]  # what a model is put into


def unchanged(model: Any) -> Any:
    """As it is."""
    return model


def training(model: Any, optimizer: Any, loss: Callable[[], Any]) -> Step:
    """A step as everybody writes it."""

    def step() -> Any:
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value

    return step


def classifier(
    t: Any, model: Any, x: Any, classes: int, optimizer: str = "SGD"
) -> Step:
    """Cross-entropy against random classes."""
    y = t.randint(0, classes, (x.shape[0],))
    options = {"momentum": 0.9} if optimizer == "SGD" else {}
    update = getattr(t.optim, optimizer)(model.parameters(), lr=1e-3, **options)
    loss = t.nn.functional.cross_entropy
    return training(model, update, lambda: loss(model(x), y))


def mlp(t: Any, *sizes: int, activation: str = "ReLU") -> Any:
    """Linear layers with an activation between them."""
    layers: list[Any] = []
    for i, (a, b) in enumerate(pairwise(sizes)):
        layers += [getattr(t.nn, activation)()] if i else []
        layers.append(t.nn.Linear(a, b))
    return t.nn.Sequential(*layers)


# --- quick ----------------------------------------------------------------------------


def tiny_sgd(t: Any) -> Step:
    """MLP 4-4-4-4, SGD"""
    return _tiny(t, "SGD")


def tiny_adam(t: Any) -> Step:
    """MLP 4-4-4-4, Adam"""
    return _tiny(t, "Adam")


def _tiny(t: Any, optimizer: str) -> Step:
    model = mlp(t, 4, 4, 4, 4, activation="Tanh")
    x, y = t.randn(8, 4), t.randn(8, 4)
    update = getattr(t.optim, optimizer)(model.parameters(), lr=0.01)
    return training(model, update, lambda: ((model(x) - y) ** 2).mean())


def policy(t: Any) -> Step:
    """Policy 4-64-64-2, 32 steps of an episode"""
    model = mlp(t, 4, 64, 64, 2, activation="Tanh")
    states, returns = t.randn(32, 4), t.randn(32)
    actions = t.randint(0, 2, (32,))
    update = t.optim.Adam(model.parameters(), lr=1e-3)

    def loss() -> Any:
        chosen = t.distributions.Categorical(logits=model(states))
        return -(chosen.log_prob(actions) * returns).mean()

    return training(model, update, loss)


def digits_mlp(t: Any) -> Step:
    """MLP 784-128-10, batch 64"""
    return classifier(t, mlp(t, 784, 128, 10), t.randn(64, 784), 10)


def lenet(t: Any) -> Step:
    """LeNet, batch 64"""
    nn = t.nn
    model = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), mlp(t, 400, 120, 84, 10),
    )  # fmt: skip
    return classifier(t, model, t.randn(64, 1, 28, 28), 10)


def characters(t: Any) -> Step:
    """LSTM of characters, 2 x 256, batch 32 x 100"""
    nn, symbols = t.nn, 96

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(symbols, 256)
            self.lstm = nn.LSTM(256, 256, 2, batch_first=True)
            self.head = nn.Linear(256, symbols)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(self.embed(x))[0])

    return _language(t, Model(), symbols, 32, 100, t.optim.Adam)


def _language(t: Any, model: Any, symbols: int, batch: int, length: int, kind: Any):
    x, y = (t.randint(0, symbols, (batch, length)) for _ in range(2))
    entropy = t.nn.functional.cross_entropy

    def loss() -> Any:
        return entropy(model(x).reshape(-1, symbols), y.reshape(-1))

    return training(model, kind(model.parameters(), lr=1e-3), loss)


def ncf(t: Any) -> Step:
    """Collaborative filtering (NCF) of MovieLens-20M, batch 2048"""
    nn, users, items, size = t.nn, 138493, 26744, 64

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.users, self.items = (
                nn.Embedding(users, size),
                nn.Embedding(items, size),
            )
            self.deep_users = nn.Embedding(users, 2 * size)
            self.deep_items = nn.Embedding(items, 2 * size)
            self.deep = mlp(t, 256, 256, 128, 64)
            self.head = nn.Linear(size + 64, 1)

        def forward(self, user: Any, item: Any) -> Any:
            product = self.users(user) * self.items(item)
            pair = t.cat([self.deep_users(user), self.deep_items(item)], 1)
            return self.head(t.cat([product, self.deep(pair)], 1)).squeeze(1)

    model = Model()
    user, item = t.randint(0, users, (2048,)), t.randint(0, items, (2048,))
    liked = t.randint(0, 2, (2048,)).float()
    entropy = t.nn.functional.binary_cross_entropy_with_logits
    update = t.optim.Adam(model.parameters(), lr=1e-3)
    return training(model, update, lambda: entropy(model(user, item), liked))


def gpt(t: Any, batch: int = 8, wrap: Wrap = unchanged) -> Step:
    """GPT, 6 layers of 384, batch 8 x 256"""
    nn, functional, symbols, width, heads = t.nn, t.nn.functional, 65, 384, 6

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = (
                nn.Linear(width, 4 * width),
                nn.Linear(4 * width, width),
            )

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            shape = (batch, length, heads, width // heads)
            parts = self.qkv(self.norm1(x)).split(width, dim=2)
            q, k, v = (part.view(*shape).transpose(1, 2) for part in parts)
            seen = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.place = (
                nn.Embedding(symbols, width),
                nn.Embedding(256, width),
            )
            self.blocks = nn.ModuleList([Block() for _ in range(6)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, symbols)

        def forward(self, x: Any) -> Any:
            x = self.embed(x) + self.place(t.arange(x.shape[1]))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return _language(t, wrap(Model()), symbols, batch, 256, t.optim.AdamW)


# --- slow -----------------------------------------------------------------------------


def alexnet(t: Any) -> Step:
    """AlexNet, batch 16 x 224 x 224"""
    nn = t.nn
    layers: list[Any] = []
    for i, o, size, stride, padding, pool in (
        (3, 64, 11, 4, 2, True), (64, 192, 5, 1, 2, True), (192, 384, 3, 1, 1, False),
        (384, 256, 3, 1, 1, False), (256, 256, 3, 1, 1, True),
    ):  # fmt: skip
        layers += [nn.Conv2d(i, o, size, stride, padding), nn.ReLU()]
        layers += [nn.MaxPool2d(3, 2)] if pool else []
    head = [nn.Flatten(), nn.Dropout(), nn.Linear(9216, 4096), nn.ReLU(), nn.Dropout()]
    head += [nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)]
    return classifier(t, nn.Sequential(*layers, *head), _images(t, 16), 1000)


def _images(t: Any, batch: int) -> Any:
    return t.randn(batch, 3, 224, 224)


def vgg19(t: Any) -> Step:
    """VGG-19, batch 4 x 224 x 224"""
    nn, layers, width = t.nn, [], 3
    for size, count in ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4)):
        for _ in range(count):
            layers += [nn.Conv2d(width, size, 3, padding=1), nn.ReLU()]
            width = size
        layers.append(nn.MaxPool2d(2))
    head = [nn.Flatten(), nn.Linear(25088, 4096), nn.ReLU(), nn.Dropout()]
    head += [nn.Linear(4096, 4096), nn.ReLU(), nn.Dropout(), nn.Linear(4096, 1000)]
    return classifier(t, nn.Sequential(*layers, *head), _images(t, 4), 1000)


def _conv(
    t: Any, i: int, o: int, size: int, stride=1, groups=1, act: Any = None
) -> Any:
    nn = t.nn
    conv = nn.Conv2d(i, o, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(o), *([act] if act else []))


def resnet50(t: Any, batch: int = 8, wrap: Wrap = unchanged) -> Step:
    """ResNet-50, batch 8 x 224 x 224"""
    nn = t.nn

    class Bottleneck(nn.Module):
        def __init__(self, i: int, width: int, stride: int) -> None:
            super().__init__()
            o = 4 * width
            self.body = nn.Sequential(
                _conv(t, i, width, 1, act=nn.ReLU()),
                _conv(t, width, width, 3, stride, act=nn.ReLU()),
                _conv(t, width, o, 1),
            )
            plain = i == o and stride == 1
            self.skip = nn.Identity() if plain else _conv(t, i, o, 1, stride)

        def forward(self, x: Any) -> Any:
            return t.relu(self.body(x) + self.skip(x))

    layers = [_conv(t, 3, 64, 7, 2, act=nn.ReLU()), nn.MaxPool2d(3, 2, 1)]
    width = 64
    for size, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
        for i in range(count):
            layers.append(Bottleneck(width, size, 1 if i else stride))
            width = 4 * size
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000)]
    model = wrap(nn.Sequential(*layers, *head))
    return classifier(t, model, _images(t, batch), 1000)


def mobilenet(t: Any) -> Step:
    """MobileNet-v2, batch 8 x 224 x 224"""
    nn = t.nn

    class Inverted(nn.Module):
        def __init__(self, i: int, o: int, stride: int, expand: int) -> None:
            super().__init__()
            wide = i * expand
            layers = [_conv(t, i, wide, 1, act=nn.ReLU6())] if expand > 1 else []
            layers.append(_conv(t, wide, wide, 3, stride, wide, nn.ReLU6()))
            self.body = nn.Sequential(*layers, _conv(t, wide, o, 1))
            self.residual = stride == 1 and i == o

        def forward(self, x: Any) -> Any:
            return x + self.body(x) if self.residual else self.body(x)

    layers, width = [_conv(t, 3, 32, 3, 2, act=nn.ReLU6())], 32
    for expand, size, count, stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
        (6, 160, 3, 2), (6, 320, 1, 1),
    ):  # fmt: skip
        for i in range(count):
            layers.append(Inverted(width, size, 1 if i else stride, expand))
            width = size
    layers.append(_conv(t, 320, 1280, 1, act=nn.ReLU6()))
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)]
    return classifier(t, nn.Sequential(*layers, *head), _images(t, 8), 1000)


def translation(t: Any) -> Step:
    """Translation like GNMT, 4 x 512, batch 32 x 30"""
    nn, functional, symbols, width = t.nn, t.nn.functional, 8000, 512

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.source, self.target = (nn.Embedding(symbols, width) for _ in range(2))
            self.first = nn.LSTM(width, width // 2, bidirectional=True)
            self.encoder = nn.LSTM(width, width, 3, dropout=0.2)
            self.decoder = nn.LSTM(width, width)
            self.above = nn.LSTM(2 * width, width, 3, dropout=0.2)
            self.head = nn.Linear(width, symbols)

        def forward(self, source: Any, target: Any) -> Any:
            memory = self.encoder(self.first(self.source(source))[0])[0].transpose(0, 1)
            query = self.decoder(self.target(target))[0]
            scores = query.transpose(0, 1) @ memory.transpose(1, 2)
            seen = (functional.softmax(scores / width**0.5, -1) @ memory).transpose(
                0, 1
            )
            return self.head(self.above(t.cat([query, seen], 2))[0])

    model = Model()
    source, target, y = (t.randint(0, symbols, (30, 32)) for _ in range(3))
    update = t.optim.Adam(model.parameters(), lr=1e-3)

    def loss() -> Any:
        found = model(source, target).reshape(-1, symbols)
        return functional.cross_entropy(found, y.reshape(-1))

    def step() -> Any:
        update.zero_grad()
        value = loss()
        value.backward()
        t.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        update.step()
        return value

    return step


TRAIN = [tiny_sgd, tiny_adam, policy, digits_mlp, lenet, characters, ncf, gpt]
MODELS = [alexnet, vgg19, resnet50, mobilenet, translation]


def make(t: Any, name: str, **options: Any) -> Step:
    """The step of a model by the name of its function; weights are always the same."""
    t.manual_seed(0)
    return globals()[name](t, **options)
