"""TensorBoard's files."""

import struct

import numpy as np
import pytest

import ember
from ember.utils.tensorboard import SummaryWriter, summary
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


def test_hyperparameters_are_a_run_of_their_own(tmp_path):
    given = {"lr": 0.5, "name": "adam", "nesterov": True, "nothing": None}
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams(given, {"accuracy": 0.75}, {"lr": [0.5, 1.0]}, "run", 3)
        with pytest.raises(TypeError, match="list of same type"):
            writer.add_hparams(given, {}, {"lr": ["fast"]})
        with pytest.raises(ValueError, match="'betas' is a tuple"):
            writer.add_hparams({"betas": (0.9, 0.99)}, {})
    (path,) = (tmp_path / "run").glob("events.out.tfevents.*")
    _, experiment, start, end, metric = records(path)
    for name in (b"lr", b"name", b"nesterov"):
        assert name in experiment and name in start
    assert b"nothing" not in start and b"accuracy" in experiment
    assert struct.pack("<d", 0.5) in start and b"adam" in start
    assert b"_hparams_/session_end_info" in end
    assert struct.pack("<f", 0.75) in metric


def test_summaries_are_written_by_the_files_writer(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        file = writer._get_file_writer()
        assert file is writer.file_writer and file.get_logdir() == str(tmp_path)
        for part in summary.hparams({"a": 1}, {"b": 2}):
            file.add_summary(part, 5)
    assert len(list(records(file.path))) == 4


def test_sounds_and_curves(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_audio("beep", ember.tensor([[0.0, 1.0, -2.0]]), 1, 8000)
        guess = ember.tensor([0.1, 0.4, 0.6, 0.9])
        writer.add_pr_curve("curve", ember.tensor([0, 1, 0, 1]), guess, 0, 11)
        with pytest.raises(ValueError, match=r"got shape \(2, 3\)"):
            writer.add_audio("stereo", ember.ones(2, 3))
    _, sound, curve = records(next(tmp_path.glob("*")))
    assert struct.pack("<3h", 0, 32767, -32767) in sound and b"audio/wav" in sound
    rows = np.frombuffer(curve[curve.index(b"*\x88\x02") + 3 :], "<f4", 66).reshape(
        6, 11
    )
    assert rows[0].tolist() == [2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 0]  # true positives
    assert rows[1].tolist() == [2, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0]  # false ones
    assert rows[4, 5] == 0.5 and rows[5, 0] == 1


def test_figures_are_pictures(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = pyplot.figure(figsize=(1, 1), dpi=20)
    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("figure", [figure, figure])
    assert figure.number not in pyplot.get_fignums()
    (path,) = tmp_path.glob("events.out.tfevents.*")
    size = bytes([1 << 3, 20, 2 << 3, 40])  # height and width
    assert size in list(records(path))[1]


def test_checksum_and_varint():
    assert crc32c(b"123456789") == 0xE3069283
    assert varint(300) == b"\xac\x02"
    assert len(varint(-1)) == 10
