"""Checkpoints in the formats that ember reads but does not write, and one of each."""

import io
import pickle
import struct
import sys
import tarfile
from collections import OrderedDict

import ember
from ember.serialization import _before_zip, _storage_io
from ember.serialization._pickle import Pickler


def example() -> dict:
    base = ember.arange(12.0)
    return {
        "weight": base.view(3, 4),
        "view": base[2:8].view(2, 3).t(),
        "half": ember.ones(3, dtype=ember.bfloat16),
        "step": 3,
        "nested": OrderedDict(a=[1.5, None, "é", (1, (2, 3))], b={4, 5}),
        "parameter": ember.nn.Parameter(ember.ones(2, 2)),
        "odd": (ember.Size([2, 3]), ember.float32, b"bytes", 1 + 2j),
    }


def zipped(obj) -> bytes:
    buffer = io.BytesIO()
    ember.save(obj, buffer)
    return buffer.getvalue()


def pickled(obj) -> bytes:
    """As torch wrote it from version 0.2 to 1.5."""
    system = {"protocol_version": 1001, "little_endian": True, "type_sizes": {}}
    out = io.BytesIO()
    for part in (_before_zip.MAGIC, _before_zip.PROTOCOL, system):
        pickle.dump(part, out, 2)
    pickler = Pickler(out, 2)
    pickler.dump(obj)
    widths = {
        name: 1 if d is None else d.itemsize for name, d in pickler._keys.values()
    }
    pickle.dump(list(pickler.storages), out, 2)
    for key, storage in pickler.storages.items():
        data = bytes(_storage_io.storage_view(storage))
        out.write(struct.pack("<q", len(data) // widths[key]) + data)
    return out.getvalue()


def tarred() -> bytes:
    """As torch wrote it up to version 0.1: a list of two tensors of one storage."""
    storages, tensors, text = io.BytesIO(), io.BytesIO(), io.BytesIO()
    pickle.dump(1, storages, 2)
    # the key, the location, and torch.FloatStorage by name
    storages.write(b"\x80\x02(K\x0aX\x03\x00\x00\x00cpuctorch\nFloatStorage\nt.")
    values = [float(i) for i in range(6)]
    storages.write(struct.pack("<q", 6) + struct.pack("<6f", *values))
    pickle.dump([], storages, 2)
    pickle.dump(2, tensors, 2)
    for key, size, stride, offset in ((1, (2, 3), (3, 1), 0), (2, (3,), (1,), 3)):
        tensors.write(b"\x80\x02(K" + bytes([key]) + b"K\x0actorch\nFloatTensor\nt.")
        tensors.write(struct.pack("<ii", len(size), 0))
        numbers = (*size, *stride, offset)
        tensors.write(struct.pack(f"<{len(numbers)}q", *numbers))
    text.write(b"\x80\x02](U\x011QU\x012Qe.")  # [tensor 1, tensor 2]
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, part in (
            ("storages", storages),
            ("tensors", tensors),
            ("pickle", text),
        ):
            info = tarfile.TarInfo(name)
            info.size = part.tell()
            part.seek(0)
            tar.addfile(info, part)
    return out.getvalue()


assert sys.byteorder == "little"
