"""Trainer by several processes: the numbers of one, files of the first."""

import pytest

import ember
import ember.distributed as dist
from ember import nn
from ember.profiler import profile
from ember.utils.data import DataLoader, TensorDataset
from ember.utils.trainer import Trainer
from tests.distributed.ranks import needs_mpi, run


def setting(out, ranks, **options):
    ember.manual_seed(3)
    x = ember.randn(48, 5, dtype=ember.float64)
    data = TensorDataset(x, x.sum(1, keepdim=True))
    loader = DataLoader(data, batch_size=8 // ranks)
    model = nn.Sequential(nn.Linear(5, 9), nn.Tanh(), nn.Linear(9, 1)).double()
    optimizer = ember.optim.Adam(model.parameters(), lr=0.01)
    options = {"quiet": True, "metrics": {"size": lambda a, b: len(b)}, **options}
    return Trainer(model, optimizer, nn.MSELoss(), out=out, **options), loader


def fits(rank, ranks, out, accumulate):
    trainer, loader = setting(
        f"{out}/{rank}", ranks, distributed=True, accumulate=accumulate, clip_norm=1.0
    )
    # As many examples as cannot be shared out evenly.
    odd = TensorDataset(*(t[:13] for t in loader.dataset.tensors))
    history = trainer.fit(loader, 2, validation=DataLoader(odd, batch_size=3))
    return history, trainer.checkpoint_path.exists(), len(trainer.losses)


@needs_mpi
@pytest.mark.parametrize("ranks, accumulate", [(2, 1), (2, 2), (4, 1)])
def test_fit_equals_one_process(tmp_path, ranks, accumulate):
    trainer, loader = setting(tmp_path / "one", 1, accumulate=accumulate, clip_norm=1.0)
    odd = TensorDataset(*(t[:13] for t in loader.dataset.tensors))
    expected = trainer.fit(loader, 2, validation=DataLoader(odd, batch_size=3))
    found = run(fits, ranks, ranks, str(tmp_path), accumulate)
    for history, _, steps in found:
        assert steps == 12
        for row, wanted in zip(history, expected, strict=True):
            for name in ("loss", "val_loss", "epoch", "lr"):
                assert row[name] == pytest.approx(wanted[name], abs=1e-10)
    assert [wrote for _, wrote, _ in found] == [True] + [False] * (ranks - 1)


def resumes(rank, out):
    whole, loader = setting(f"{out}/whole", 2, distributed=True, checkpoint_every=2)
    expected = whole.fit(loader, 3)
    broken, loader = setting(f"{out}/broken", 2, distributed=True)
    broken.fit(loader, 1)
    dist.barrier()
    again, loader = setting(f"{out}/broken", 2, distributed=True)
    assert again.fit(loader, 3, resume=True) == expected
    return list(ember.load(f"{out}/whole/checkpoint.pt")["model"])


@needs_mpi
def test_resume(tmp_path):
    names = ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert run(resumes, 2, str(tmp_path)) == [names, names]


def test_by_environment(monkeypatch, tmp_path):
    monkeypatch.delenv("RANK", raising=False)
    trainer, _ = setting(tmp_path, 1)
    assert trainer.ranks.size == 1 and not dist.is_initialized()
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    trainer, _ = setting(tmp_path, 1, distributed=False)
    assert trainer.ranks.size == 1 and not dist.is_initialized()


def profiled(rank):
    with profile() as prof:
        dist.all_reduce(ember.ones(10))
        work = dist.broadcast(ember.ones(10), 0, async_op=True)
        work.wait()
    names = [event.name for event in prof.events()]
    return [name for name in names if name.startswith("gloo:")]


@needs_mpi
def test_profiles_show_collectives():
    wanted = {"gloo:all_reduce", "gloo:all_reduce wait", "gloo:broadcast"}
    for names in run(profiled, 2):
        assert wanted <= set(names)


def staged(rank):
    x = ember.full((5,), rank + 1.0, device="opencl")
    dist.all_reduce(x)
    rows = [ember.zeros(5, device="opencl") for _ in range(2)]
    dist.all_gather(rows, x + rank)
    model = nn.Linear(5, 2).to("opencl")
    model = nn.parallel.DistributedDataParallel(model)
    model(x + rank).sum().backward()
    grad = model.module.weight.grad
    return (
        x.device.type,
        x.cpu().tolist(),
        [r.cpu()[0].item() for r in rows],
        grad.cpu()[0].tolist(),
    )


@needs_mpi
@pytest.mark.skipif(not ember.opencl.is_available(), reason="no OpenCL device")
def test_opencl_tensors_go_through_the_host():
    for found in run(staged, 2, seconds=120):
        assert found == ("opencl", [3.0] * 5, [3.0, 4.0], [3.5] * 5)
