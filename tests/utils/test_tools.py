"""TensorBoard's files."""

import struct

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
