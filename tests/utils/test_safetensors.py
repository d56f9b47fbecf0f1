"""Files in the safetensors format."""

import json
import struct

import pytest

import ember
from ember.utils import safetensors
from ember.utils.safetensors import SafetensorError, safe_open

DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()


def tensors():
    made = {d: ember.arange(6).view(2, 3).to(getattr(ember, d)) for d in DTYPES}
    made["turned"] = ember.arange(6.0).view(2, 3).t()
    made["part"] = ember.arange(10)[3:7]
    made["empty"], made["number"] = ember.zeros(0, 4), ember.tensor(2.5)
    made["c"] = ember.tensor([1 + 2j])
    return made


def test_round_trip(tmp_path):
    path = tmp_path / "a.safetensors"
    safetensors.save_file(tensors(), path, {"format": "pt", "é": "ü"})
    got = safetensors.load_file(path)
    assert set(got) == set(tensors())
    for name, want in tensors().items():
        assert got[name].dtype == want.dtype and got[name].shape == want.shape
        assert got[name].tolist() == want.tolist()
    with safe_open(path, framework="pt", device="cpu") as f:
        assert f.metadata() == {"format": "pt", "é": "ü"}
        assert f.get_tensor("part").tolist() == [3, 4, 5, 6]
        part = f.get_slice("turned")
        assert part.get_shape() == [3, 2] and part.get_dtype() == "F32"
        want = tensors()["turned"]
        for index in (slice(1, 3), slice(-1, None), 2, (slice(0, 2), 1), slice(2, 1)):
            assert part[index].tolist() == want[index].tolist()
        with pytest.raises(SafetensorError, match="does not contain"):
            f.get_tensor("no")


def test_the_format_itself():
    data = safetensors.save({"b": ember.tensor([1, 2], dtype=ember.int16)})
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0 and data[8 + length :] == b"\1\0\2\0"
    header = json.loads(data[8 : 8 + length])
    assert header == {"b": {"dtype": "I16", "shape": [2], "data_offsets": [0, 4]}}


def entry(**changes):
    return {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | changes


@pytest.mark.parametrize(
    "header",
    [
        "[]",
        "{",
        "[" * 100_000,
        {"a": 3},
        {"a": entry(dtype="F99")},
        {"a": entry(dtype=["F32"])},
        {"a": entry(shape=[3])},
        {"a": entry(shape=[-2])},
        {"a": entry(shape=[True, 2])},
        {"a": entry(shape=[1 << 40, 1 << 40, 0], data_offsets=[0, 0])},
        {"a": entry(shape=[1] * 100)},
        {"a": entry(data_offsets=[4, 12])},
        {"a": entry(data_offsets=[0, 1 << 70])},
        {"a": entry(), "b": entry()},
        {"a": entry(), "__metadata__": 3},
        '{"a": 1, "a": 2}',
    ],
)
def test_damaged_headers(header):
    text = (header if isinstance(header, str) else json.dumps(header)).encode()
    with pytest.raises(SafetensorError):
        safetensors.load(struct.pack("<Q", len(text)) + text + b"\0" * 8)


def test_damaged_files():
    data = safetensors.save({"a": ember.ones(2)})
    for size in range(len(data)):
        with pytest.raises(SafetensorError):
            safetensors.load(data[:size])
    with pytest.raises(SafetensorError):
        safetensors.load(b"\xff" * 8 + data[8:])


def test_what_cannot_be_saved(tmp_path):
    path = tmp_path / "a"
    safetensors.save_file({"a": ember.ones(1)}, path)
    with pytest.raises(ValueError, match="names to tensors"):
        safetensors.save_file({"a": 3}, path)
    with pytest.raises(TypeError, match="metadata is text"):
        safetensors.save_file({}, path, {"a": 3})
    with pytest.raises(ValueError, match="the format has no"):
        safetensors.save_file({"a": ember.ones(1, dtype=ember.complex128)}, path)
    assert safetensors.load_file(path)["a"].tolist() == [1]
