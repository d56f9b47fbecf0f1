"""Typical programs, for type checkers: nothing here runs, everything has to check.

`test_types.py` gives this file to mypy and pyright, which compare each `assert_type`
with what they infer from ember's hints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, assert_type

import numpy as np

import ember
import ember.distributions as D
import ember.nn.functional as F
from ember import Tensor, nn, optim
from ember.autograd.function import Function
from ember.nn import Parameter
from ember.optim import lr_scheduler
from ember.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    default_collate,
    random_split,
)

# --- tensors --------------------------------------------------------------------------


def tensors(x: Tensor, y: Tensor) -> None:
    assert_type(ember.tensor([1.0, 2.0]), Tensor)
    assert_type(ember.zeros(2, 3), Tensor)
    assert_type(ember.zeros((2, 3), dtype=ember.float64, device="cpu"), Tensor)
    assert_type(ember.arange(0, 10, 2), Tensor)
    assert_type(ember.from_numpy(np.zeros(3)), Tensor)
    assert_type(x + 1, Tensor)
    assert_type(2.0 - x, Tensor)
    assert_type(1 / x, Tensor)
    assert_type(x**2, Tensor)
    assert_type(-x, Tensor)
    assert_type(x @ y, Tensor)
    assert_type(x < y, Tensor)
    assert_type(x == 0, Tensor)
    assert_type((x > 0) & ~(y > 0), Tensor)
    assert_type(x[0], Tensor)
    assert_type(x[..., 1:, None], Tensor)
    assert_type(x[x > 0], Tensor)
    x[0] = 1.0
    x += y
    assert_type(x, Tensor)
    assert_type(x.shape, ember.Size)
    assert_type(x.shape[0], int)
    assert_type(x.size(), ember.Size)
    assert_type(x.size(0), int)
    assert_type(x.stride(), tuple[int, ...])
    assert_type(x.stride(1), int)
    assert_type(x.dim(), int)
    assert_type(x.ndim, int)
    assert_type(x.numel(), int)
    assert_type(len(x), int)
    assert_type(x.dtype, ember.dtype)
    assert_type(x.device, ember.device)
    assert_type(x.device.type, str)
    assert_type(x.requires_grad, bool)
    assert_type(x.is_contiguous(), bool)
    assert_type(bool(x), bool)
    assert_type(float(x), float)
    assert_type(x.data_ptr(), int)
    assert_type(x.T, Tensor)
    assert_type(x.view(-1, 2), Tensor)
    assert_type(x.view((4, 2)), Tensor)
    assert_type(x.reshape(-1), Tensor)
    assert_type(x.permute(1, 0), Tensor)
    assert_type(x.to("cpu"), Tensor)
    assert_type(x.to(ember.float64), Tensor)
    assert_type(x.to(device="cpu", dtype=ember.float16), Tensor)
    assert_type(x.to(y), Tensor)
    assert_type(x.float().half().cpu().cuda(), Tensor)
    assert_type(x.clone().detach(), Tensor)
    assert_type(x.split(2), tuple[Tensor, ...])
    assert_type(x.chunk(2, dim=1), tuple[Tensor, ...])
    assert_type(x.unbind(), tuple[Tensor, ...])
    for row in x:
        assert_type(row, Tensor)
    array: np.ndarray[Any, Any] = x.numpy()
    array[0] = 1
    np.asarray(x)
    memoryview(x)


def results(x: Tensor) -> None:
    assert_type(x.sum(), Tensor)
    assert_type(x.mean(dim=(0, 1), keepdim=True), Tensor)
    assert_type(x.max(), Tensor)
    assert_type(x.max(dim=1).values, Tensor)
    values, indices = x.max(1)
    assert_type(values, Tensor)
    assert_type(indices, Tensor)
    assert_type(ember.min(x, 0).indices, Tensor)
    assert_type(ember.max(x, x), Tensor)
    assert_type(x.sort(descending=True).values, Tensor)
    assert_type(ember.topk(x, 3).indices, Tensor)
    assert_type(x.unique(), Tensor)
    assert_type(ember.unique(x, return_inverse=True), tuple[Tensor, Tensor])
    assert_type(
        x.unique(return_inverse=True, return_counts=True),
        tuple[Tensor, Tensor, Tensor],
    )
    assert_type(x.nonzero(), Tensor)
    assert_type(x.nonzero(as_tuple=True), tuple[Tensor, ...])
    assert_type(ember.where(x > 0, x, 0.0), Tensor)
    assert_type(ember.where(x > 0), tuple[Tensor, ...])
    assert_type(ember.cat([x, x], dim=0), Tensor)
    assert_type(ember.stack((x, x)), Tensor)
    assert_type(ember.einsum("ij,jk->ik", x, x), Tensor)
    assert_type(ember.allclose(x, x), bool)
    assert_type(ember.is_tensor(x), bool)
    assert_type(ember.result_type(x, 1), ember.dtype)
    assert_type(ember.finfo(ember.float32).eps, float)
    assert_type(ember.iinfo(ember.int8).max, int)
    assert_type(x.add_(1).mul_(2), Tensor)
    assert_type(ember.add(x, x, alpha=2), Tensor)
    x.uniform_(-1, 1, generator=ember.Generator().manual_seed(0))


def namespaces(x: Tensor) -> None:
    assert_type(ember.linalg.norm(x), Tensor)
    assert_type(ember.linalg.eigh(x).eigenvalues, Tensor)
    u, s, vh = ember.linalg.svd(x, full_matrices=False)
    assert_type(u, Tensor)
    assert_type(ember.linalg.solve(x, x), Tensor)
    assert_type(ember.fft.rfft(x, dim=-1), Tensor)
    assert_type(ember.fft.fftfreq(8), Tensor)
    assert_type(ember.special.expit(x), Tensor)
    assert_type(ember.sparse_coo_tensor(x, x, (2, 3)).coalesce().indices(), Tensor)
    assert_type(s + vh, Tensor)


# --- dtypes, devices, seeds -----------------------------------------------------------


def settings() -> None:
    dtype: ember.dtype = ember.bfloat16
    device: ember.device = ember.device("opencl", 0)
    assert_type(dtype.is_floating_point, bool)
    assert_type(dtype.itemsize, int)
    assert_type(device.index, int | None)
    assert_type(ember.get_default_dtype(), ember.dtype)
    ember.set_default_dtype(ember.float64)
    assert_type(ember.manual_seed(0), ember.Generator)
    assert_type(ember.get_rng_state(), Tensor)
    assert_type(ember.get_num_threads(), int)
    ember.set_num_threads(2)
    ember.set_printoptions(precision=3)
    ember.use_deterministic_algorithms(True)
    assert_type(ember.__version__, str)
    assert_type(ember.pi, float)
    with ember.device("cpu"):
        ember.zeros(2)


# --- autograd -------------------------------------------------------------------------


@ember.no_grad()
def evaluate(model: nn.Module, x: Tensor) -> float:
    return float(model(x).mean())


@ember.inference_mode()
def infer(x: Tensor) -> Tensor:
    return x * 2


@ember.compile
def fused(x: Tensor, scale: float = 2.0) -> Tensor:
    return x * scale


@ember.compile(dynamic=True)
def fused_too(x: Tensor) -> Tensor:
    return x + 1


class Square(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        x: Tensor = ctx.saved_tensors[0]
        return grad * 2 * x


def gradients(x: Tensor, model: nn.Module) -> None:
    assert_type(evaluate(model, x), float)
    assert_type(infer(x), Tensor)
    assert_type(fused(x, scale=3.0), Tensor)
    assert_type(fused_too(x), Tensor)
    with ember.no_grad():
        y = x * 2
    with ember.enable_grad(), ember.set_grad_enabled(True), ember.inference_mode():
        y = x * 2
    with ember.autocast("cpu", dtype=ember.bfloat16):
        y = x @ x
    with ember.autograd.set_detect_anomaly(True):
        y.sum().backward(retain_graph=True)
    assert_type(x.grad, Tensor | None)
    assert_type(x.requires_grad_(), Tensor)
    assert_type(ember.is_grad_enabled(), bool)
    grads = ember.autograd.grad(y.sum(), [x], create_graph=True)
    assert_type(grads, tuple[Tensor, ...])
    handle = x.register_hook(lambda g: g * 2)
    handle.remove()
    if x.grad_fn is not None:
        assert_type(x.grad_fn.name(), str)
    Square.apply(x)
    squares: Callable[[Tensor], Tensor] = ember.func.grad(lambda t: (t * t).sum())
    squares(x)
    ember.vmap(lambda t: t * 2)(x)


# --- modules --------------------------------------------------------------------------


class Net(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, kernel_size=3, padding="same", bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(2))
        self.head = nn.Linear(width, 10)
        self.scale = nn.Parameter(ember.ones(1))
        self.register_buffer("count", ember.zeros(1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        x = self.body(x)
        for layer in self.layers:
            x = F.gelu(layer(x)) + x
        return self.head(x * self.scale)


def hook(module: nn.Module, args: Any, output: Any) -> None:
    pass


def modules(x: Tensor) -> None:
    net = Net()
    assert_type(net.head.weight, Parameter)
    assert_type(net.head.in_features, int)
    assert_type(net.scale, Parameter)
    assert_type(net.training, bool)
    assert_type(net.train(), Net)
    assert_type(net.eval().to("cpu").double(), Net)
    assert_type(net.requires_grad_(False), Net)
    for p in net.parameters():
        assert_type(p, Parameter)
    for name, p in net.named_parameters():
        assert_type(name, str)
        assert_type(p.grad, Tensor | None)
    assert_type(sum(p.numel() for p in net.parameters()), int)
    for module in net.modules():
        assert_type(module, nn.Module)
    for name, child in net.named_children():
        assert_type((name, child), tuple[str, nn.Module])
    assert_type(net.state_dict(), dict[str, Any])
    result = net.load_state_dict(net.state_dict(), strict=False)
    print(result.missing_keys)
    net.register_forward_hook(hook).remove()
    net.apply(lambda m: None)
    net.zero_grad(set_to_none=True)
    assert_type(nn.ModuleDict({"a": nn.ReLU()})["a"], nn.Module)
    assert_type(nn.utils.clip_grad_norm_(net.parameters(), 1.0), Tensor)
    nn.init.kaiming_normal_(net.head.weight, nonlinearity="relu")
    embedding = nn.Embedding(10, 4, padding_idx=0)
    assert_type(embedding.weight, Parameter)
    out, (hidden, cell) = nn.LSTM(4, 8, num_layers=2, batch_first=True)(x)
    print(out, hidden, cell)
    attention = nn.MultiheadAttention(8, 2, batch_first=True)
    print(*attention(x, x, x))
    layer = nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, activation="gelu")
    nn.TransformerEncoder(layer, num_layers=2)(x)
    nn.CrossEntropyLoss(label_smoothing=0.1)(x, x)
    nn.LayerNorm((8,), eps=1e-6, device="cpu", dtype=ember.float32)
    nn.Conv1d(1, 1, (3,), stride=2, padding=(1,))


def item(x: Tensor) -> float:
    correct = 0.0
    correct += (x > 0).sum().item()
    losses = [x.item()]
    losses.append(x.mean().item())
    print(f"{x.item():.2f}", x.item() > 3, max(losses), x.item() + 1)
    return x.item()


def call(model: nn.Module, x: Tensor) -> Tensor:
    assert_type(model(x), Any)
    assert_type(nn.Linear(2, 3)(x), Tensor)
    assert_type(nn.Sequential(nn.Linear(2, 3), nn.ReLU())(x), Tensor)
    assert_type(nn.CrossEntropyLoss()(x, x), Tensor)
    z: dict[str, Tensor] = model(x)
    first, second = model(x)
    out, (hidden, cell) = model(x)
    print(z["a"], first, second, out, hidden, cell, model(x) + 1, model(x)["logits"])
    print(ember.stack([model(x) for _ in range(3)]), F.relu(model(x)), len(model(x)))
    for part in model(x):
        print(part)
    print(max(model(x), 1), sum(model(x)), np.asarray(model(x)), float(model(x)))
    return nn.ReLU()(model(x))


def functional(x: Tensor, labels: Tensor) -> None:
    assert_type(F.relu(x, inplace=True), Tensor)
    assert_type(F.softmax(x, dim=-1), Tensor)
    assert_type(F.cross_entropy(x, labels, reduction="sum"), Tensor)
    assert_type(F.mse_loss(x, x), Tensor)
    assert_type(F.binary_cross_entropy_with_logits(x, x), Tensor)
    assert_type(F.dropout(x, 0.5, training=True), Tensor)
    assert_type(F.conv2d(x, x, stride=2, padding=1), Tensor)
    assert_type(F.max_pool2d(x, 2), Tensor)
    assert_type(F.avg_pool2d(x, (2, 2)), Tensor)
    assert_type(F.adaptive_avg_pool2d(x, (1, None)), Tensor)
    assert_type(F.layer_norm(x, (4,)), Tensor)
    assert_type(F.one_hot(labels, 10), Tensor)
    assert_type(F.pad(x, (1, 1), value=0.0), Tensor)
    assert_type(F.interpolate(x, scale_factor=2.0, mode="bilinear"), Tensor)
    assert_type(F.scaled_dot_product_attention(x, x, x, is_causal=True), Tensor)
    assert_type(F.normalize(x, dim=1), Tensor)
    assert_type(F.embedding(labels, x), Tensor)
    assert_type(F.linear(x, x), Tensor)


# --- training -------------------------------------------------------------------------


class Squares(Dataset[tuple[Tensor, int]]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        return ember.tensor(index**2), index


class Stream(IterableDataset[Tensor]):
    def __iter__(self) -> Iterator[Tensor]:
        yield ember.zeros(2)


def data() -> None:
    squares = Squares()
    assert_type(squares[3], tuple[Tensor, int])
    first, second = random_split(squares, [0.8, 0.2])
    assert_type(first, Subset[tuple[Tensor, int]])
    assert_type(first[0], tuple[Tensor, int])
    assert_type(TensorDataset(ember.zeros(3))[0], tuple[Tensor, ...])
    loader = DataLoader(squares, batch_size=4, shuffle=True, num_workers=2)
    assert_type(loader, DataLoader[tuple[Tensor, int]])
    assert_type(len(loader), int)
    for x, y in loader:
        print(x, y)
    DataLoader(Stream(), batch_size=None)
    DataLoader([1, 2, 3], collate_fn=default_collate)
    print(second)


def training(model: nn.Module, loader: DataLoader[tuple[Tensor, Tensor]]) -> None:
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    optim.AdamW([{"params": [*model.parameters()], "lr": 0.1}], betas=(0.9, 0.95))
    optim.Adam(model.named_parameters(), lr=ember.tensor(1e-3))
    scheduler = lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=100)
    plateau = lr_scheduler.ReduceLROnPlateau(optimizer, patience=2)
    scaler = ember.amp.GradScaler("cpu")
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    scheduler.step()
    plateau.step(total)
    assert_type(scheduler.get_last_lr(), list[float])
    assert_type(optimizer.param_groups[0]["lr"], Any)
    assert_type(optimizer.state_dict(), dict[str, Any])
    optimizer.load_state_dict(optimizer.state_dict())

    def closure() -> Tensor:
        return F.relu(model(ember.zeros(1))).sum()

    optim.LBFGS(model.parameters()).step(closure)


def saving(model: nn.Module) -> None:
    ember.save(model.state_dict(), "model.pt")
    state = ember.load("model.pt", map_location="cpu", weights_only=True)
    model.load_state_dict(state)
    ember.utils.safetensors.save_file({"x": ember.zeros(1)}, "x.safetensors")
    for name, value in ember.utils.safetensors.load_file("x.safetensors").items():
        assert_type(name, str)
        assert_type(value, Tensor)


def trainer(model: nn.Module, loader: DataLoader[Any]) -> None:
    from ember.utils.trainer import Trainer

    run = Trainer(model, optim.Adam(model.parameters()), F.cross_entropy)
    run.fit(loader, epochs=2)


def drawing(writer_path: str) -> None:
    from ember.utils.tensorboard import SummaryWriter

    with SummaryWriter(writer_path) as writer:
        writer.add_scalar("loss", 0.1, 1)


# --- distributions --------------------------------------------------------------------


def distributions() -> None:
    normal = D.Normal(ember.zeros(2), 1.0)
    assert_type(normal.sample(), Tensor)
    assert_type(normal.rsample((3,)), Tensor)
    assert_type(normal.log_prob(ember.zeros(2)), Tensor)
    assert_type(normal.entropy(), Tensor)
    assert_type(normal.mean, Tensor)
    assert_type(D.kl_divergence(normal, D.Normal(0.0, 1.0)), Tensor)
    assert_type(D.Categorical(logits=ember.zeros(3)).sample(), Tensor)
