"""TensorBoard's files, and running programs written for torch."""

import os
import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import ember
from ember.utils.tensorboard import SummaryWriter
from ember.utils.tensorboard.record import crc32c, varint


def records(path):
    """The events of a file, with their lengths checked."""
    data = path.read_bytes()
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        yield data[12 : 12 + length]
        data = data[16 + length :]


def test_event_files(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", ember.tensor(0.5), 7)
        writer.add_histogram("weights", ember.randn(50), 1)
        writer.add_image("image", ember.rand(3, 4, 5))
        writer.add_text("note", "hello")
        writer.add_scalars("both", {"a": 1.0, "b": 2.0}, 1)
        writer.add_hparams({"lr": 0.1}, {"accuracy": 0.9})
    (path,) = tmp_path.glob("events.out.tfevents.*")
    events = list(records(path))
    assert b"brain.Event:2" in events[0]
    assert b"loss" in events[1]
    assert struct.pack("<f", 0.5) in events[1]
    assert bytes([2 << 3, 7]) in events[1]  # field 2, the step
    assert b"\x89PNG" in events[3]
    assert (tmp_path / "both_a").is_dir()
    with SummaryWriter(tmp_path / "other") as writer, pytest.raises(ValueError):
        writer.add_image("image", ember.rand(3, 4), dataformats="CHW")
    with SummaryWriter(tmp_path / "more") as writer, pytest.raises(ValueError):
        writer.add_histogram("nan", np.full(3, np.nan))


def test_checksum_and_varint():
    assert crc32c(b"123456789") == 0xE3069283
    assert varint(300) == b"\xac\x02"
    assert len(varint(-1)) == 10


def run(tmp_path, program, *arguments):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(program))
    command = [sys.executable, "-m", "ember.as_torch", str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_a_program_for_torch_runs(tmp_path):
    result = run(
        tmp_path,
        """
        import sys
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        from torch.utils.data import DataLoader, TensorDataset
        from torch import Tensor, optim

        torch.backends.cudnn.benchmark = True
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        torch.manual_seed(int(sys.argv[1]))
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(device)
        data = TensorDataset(torch.randn(64, 4), torch.randint(0, 2, (64,)))
        optimizer = optim.AdamW(model.parameters(), lr=1e-2)
        for epoch in range(3):
            for x, y in DataLoader(data, batch_size=16, shuffle=True):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x.to(device)), y.to(device))
                loss.backward()
                optimizer.step()
        assert isinstance(loss, Tensor) and torch.__version__.startswith("2.")
        print("done", __name__)
        """,
        "1",
    )
    assert result.stdout == "done __main__\n", result.stderr


def test_what_is_missing_is_named(tmp_path):
    result = run(tmp_path, "import torch\ntorch.no_such_thing(1)\n")
    assert "torch.no_such_thing is not part of ember" in result.stderr
    result = run(tmp_path, "import torch.no_such_module\n")
    assert "torch.no_such_module is not part of ember" in result.stderr
    assert result.returncode == 1


def test_processes_started_afresh_have_it_too(tmp_path):
    result = run(
        tmp_path,
        """
        import torch
        import torch.multiprocessing as mp

        def work(rank, shared):
            shared[rank] = rank + 1.0

        if __name__ == "__main__":
            shared = torch.zeros(2).share_memory_()
            mp.spawn(work, args=(shared,), nprocs=2)
            print(shared.tolist())
        """,
    )
    assert result.stdout == "[1.0, 2.0]\n", result.stderr


def test_as_a_module_and_without_arguments(tmp_path):
    command = [sys.executable, "-m", "ember.as_torch"]
    nothing = subprocess.run(command, capture_output=True, text=True)
    assert nothing.returncode == 2
    assert "script.py" in nothing.stdout
    (tmp_path / "program.py").write_text("import torch, sys; print(sys.argv[1:])")
    command += ["-m", "program", "x"]
    root = str(Path(ember.__file__).parent.parent)
    result = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
    )
    assert result.stdout == "['x']\n", result.stderr
