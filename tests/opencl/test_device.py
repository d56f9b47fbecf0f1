"""The device itself: opening, memory, events, errors, and training on it."""

import io
import os
import subprocess
import sys

import pytest

import ember
from ember import nn
from ember.testing import assert_close


def run(code, **variables):
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=240,
    )


def test_without_a_loader_the_rest_works_and_the_error_says_what_to_install():
    code = """
import ember
assert not ember.opencl.is_available() and ember.opencl.device_count() == 0
assert not ember.accelerator.is_available()
assert ember.ones(2).sum() == 2
try:
    ember.ones(2, device="opencl")
except RuntimeError as error:
    assert ember.version.pip_install("opencl") in str(error), error
else:
    raise AssertionError
"""
    done = run(code, EMBER_OPENCL_LIBRARY="libnothing.so")
    assert done.returncode == 0, done.stderr


def test_import_does_not_open_the_device():
    done = run("import ember, ember.opencl; assert not ember.opencl.is_initialized()")
    assert done.returncode == 0, done.stderr


def test_programs_are_kept_on_disk(tmp_path):
    code = """
import ember
(ember.ones(3, device="opencl") * 3).cpu()
stats = ember.opencl.memory_stats()
print(stats["programs_built"], stats["programs_loaded"])
"""
    first = run(code, EMBER_OPENCL_CACHE=str(tmp_path))
    again = run(code, EMBER_OPENCL_CACHE=str(tmp_path))
    built, loaded = map(int, first.stdout.split())
    assert built > 0 and loaded == 0
    assert again.stdout.split() == ["0", str(built)]
    for path in tmp_path.glob("*"):  # a damaged file costs a build, nothing else
        path.write_bytes(b"nonsense")
    assert run(code, EMBER_OPENCL_CACHE=str(tmp_path)).returncode == 0


def test_names_and_numbers():
    assert ember.device("opencl:0") == ember.device("opencl")
    assert ember.opencl.get_device_name() == ember.opencl.get_device_properties().name
    assert ember.opencl.get_device_properties().total_memory > 0
    assert ember.accelerator.current_accelerator().type == "opencl"
    with pytest.raises(RuntimeError, match="there is no 'opencl:99'"):
        ember.device("opencl:99")


def test_memory_is_reused():
    ember.opencl.empty_cache()
    before = ember.opencl.memory_stats()
    x = ember.zeros(1000, 1000, device="opencl")
    assert ember.opencl.memory_allocated() >= before["allocated"] + 4_000_000
    del x
    assert ember.opencl.memory_allocated() == before["allocated"]
    assert ember.opencl.memory_reserved() >= 4_000_000
    taken = ember.opencl.memory_stats()["device_allocations"]
    y = ember.zeros(1000, 1000, device="opencl")
    assert ember.opencl.memory_stats()["device_allocations"] == taken
    del y
    ember.opencl.empty_cache()
    assert ember.opencl.memory_reserved() == ember.opencl.memory_allocated()


def test_out_of_memory_frees_the_cache_then_raises():
    with pytest.raises(ember.OutOfMemoryError, match="tried to allocate 4398046511104"):
        ember.empty(1 << 40, device="opencl")
    cached = ember.empty(1 << 20, device="opencl")
    del cached
    total = ember.opencl.get_device_properties().total_memory
    try:
        room = ember.opencl.memory_allocated() + (6 << 20)
        ember.opencl.set_per_process_memory_fraction(room / total)
        ember.empty(5 << 18, device="opencl")  # fits only without what is cached
        with pytest.raises(ember.OutOfMemoryError, match="limit"):
            ember.empty(8 << 20, device="opencl")
    finally:
        ember.opencl.set_per_process_memory_fraction(1.0)


def test_events():
    start, end = (ember.opencl.Event(enable_timing=True) for _ in range(2))
    start.record()
    x = ember.ones(1000, device="opencl") * 2
    end.record()
    end.synchronize()
    assert start.query() and end.query()
    assert start.elapsed_time(end) >= 0
    assert x.sum().item() == 2000


def test_save_and_load():
    file = io.BytesIO()
    ember.save(ember.arange(4.0, device="opencl"), file)
    file.seek(0)
    assert ember.load(file).device.type == "opencl"
    file.seek(0)
    assert_close(ember.load(file, map_location="cpu"), ember.arange(4.0))


def test_devices_do_not_mix():
    with pytest.raises(RuntimeError, match="same device"):
        ember.ones(2) + ember.ones(2, device="opencl")


MANY_DIMENSIONS = """
import ember
x = ember.arange(2.0**14).view([2] * 14)
def f(x):
    y = x.permute([*range(0, 14, 2), *range(1, 14, 2)])
    return [y.flip(0) + y, y.cumsum(3), ember.fft.rfft(y, dim=4)]
for here, there in zip(f(x), f(x.to("opencl"))):
    assert there.device.type == "opencl"
    assert (here - there.cpu()).abs().max() == 0
"""


def test_what_has_no_kernel_raises_or_runs_on_the_host_if_asked():
    done = run(MANY_DIMENSIONS)
    assert done.returncode == 1
    assert "NotImplementedError: OpenCL kernels walk at most 12" in done.stderr
    done = run(MANY_DIMENSIONS, EMBER_OPENCL_FALLBACK="1")
    assert done.returncode == 0, done.stderr


def network(kind):
    if kind == "mlp":
        return nn.Sequential(
            nn.Linear(20, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 5)
        ), ember.randn(64, 20)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 8, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(128, 5),
    ), ember.randn(16, 1, 12, 12)


class Sequence(nn.Module):
    """Predicts the next of some symbols, by an LSTM or a Transformer layer."""

    def __init__(self, kind):
        super().__init__()
        self.embedding = nn.Embedding(20, 16)
        self.body = (
            nn.LSTM(16, 16, batch_first=True)
            if kind == "lstm"
            else nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        )
        self.head = nn.Linear(16, 20)

    def forward(self, x):
        x = self.embedding(x)
        if isinstance(self.body, nn.LSTM):
            return self.head(self.body(x)[0])
        size = x.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(size, device=x.device)
        return self.head(self.body(x, src_mask=mask, is_causal=True))


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_sequence_models_follow_the_cpu(kind):
    curves = []
    for device in ("cpu", "opencl"):
        ember.manual_seed(0)
        model = Sequence(kind)
        x = ember.randint(0, 20, (8, 13)).to(device)
        model.to(device)
        optimizer = ember.optim.AdamW(model.parameters(), lr=1e-2)
        losses = []
        for _ in range(6):
            optimizer.zero_grad()
            scores = model(x[:, :-1]).flatten(0, 1)
            loss = nn.functional.cross_entropy(scores, x[:, 1:].flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        curves.append(losses)
    assert curves[0][-1] < curves[0][0]
    assert curves[1] == pytest.approx(curves[0], rel=1e-4)


def train(kind, device):
    ember.manual_seed(0)
    model, x = network(kind)
    y = ember.randint(0, 5, (len(x),)).to(device)
    model.to(device)
    x = x.to(device)
    optimizer = ember.optim.Adam(model.parameters(), lr=1e-2)
    losses, taken = [], []
    for _ in range(10):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if device == "opencl":
            taken.append(ember.opencl.memory_stats()["device_allocations"])
    return losses, taken


@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_training_follows_the_cpu(kind):
    expected, _ = train(kind, "cpu")
    actual, taken = train(kind, "opencl")
    assert expected[-1] < expected[0] / 2
    assert actual == pytest.approx(expected, rel=1e-4)
    # After the first two steps all memory is reused.
    assert taken[2] == taken[-1]
