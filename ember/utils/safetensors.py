"""Files in the safetensors format: a header in JSON and the bytes of the tensors.

They hold named tensors and some text, and cannot hold code. The functions are those of
the `safetensors` package, which is not needed.

>>> import ember
>>> from ember.utils import safetensors
>>> data = safetensors.save({"w": ember.arange(3)}, metadata={"by": "me"})
>>> safetensors.load(data)
{'w': tensor([0, 1, 2])}
"""

import io
import json
import math
import os
import struct
from collections.abc import Iterator, Mapping
from typing import Any

import ember
from ember import _C, Tensor
from ember._files import replacing

_NAMES = {
    ember.float64: "F64",
    ember.float32: "F32",
    ember.float16: "F16",
    ember.bfloat16: "BF16",
    ember.int64: "I64",
    ember.int32: "I32",
    ember.int16: "I16",
    ember.int8: "I8",
    ember.uint64: "U64",
    ember.uint32: "U32",
    ember.uint16: "U16",
    ember.uint8: "U8",
    ember.bool: "BOOL",
    ember.complex64: "C64",
    ember.float8_e4m3fn: "F8_E4M3",
    ember.float8_e5m2: "F8_E5M2",
    ember.float8_e4m3fnuz: "F8_E4M3FNUZ",
    ember.float8_e5m2fnuz: "F8_E5M2FNUZ",
    ember.float8_e8m0fnu: "F8_E8M0",
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
_LONGEST_HEADER = 100_000_000


class SafetensorError(Exception):
    """The file is not one of this format, or is damaged."""


def save_file(
    tensors: Mapping[str, Tensor],
    filename: str | os.PathLike,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors to a file, which gets its name only when all is written.

    Tensors are written as they read: views as copies, shared memory as often as it is
    named.
    """
    with replacing(filename) as file:
        _write(file, tensors, metadata)


def save(
    tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> bytes:
    """The same as bytes."""
    file = io.BytesIO()
    _write(file, tensors, metadata)
    return file.getvalue()


def _write(file, tensors: Mapping[str, Tensor], metadata) -> None:
    header: dict[str, Any] = {}
    if metadata:
        bad = [k for k, v in metadata.items() if not isinstance(v, str)]
        if bad:
            raise TypeError(f"save_file(): metadata is text, but that of {bad} is not")
        header["__metadata__"] = dict(metadata)
    for name, t in tensors.items():
        if not isinstance(name, str) or not isinstance(t, Tensor):
            raise ValueError(
                "save_file(): expected a dictionary from names to tensors, got "
                f"{type(name).__name__} to {type(t).__name__}"
            )
        if t.dtype not in _NAMES:
            raise ValueError(f"save_file(): the format has no {t.dtype} ({name!r})")
    # The widest elements first, so that each tensor is aligned.
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    at = 0
    for name in order:
        t = tensors[name]
        end = at + t.nbytes
        shape = list(t.shape)
        kind = _NAMES[t.dtype]
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    file.write(struct.pack("<Q", len(text)) + text)
    for name in order:
        flat = tensors[name].detach().cpu().contiguous()
        if flat.nbytes:
            start = flat.storage_offset() * flat.dtype.itemsize
            whole = memoryview(flat.untyped_storage())
            file.write(whole[start : start + flat.nbytes])


def load_file(filename: str | os.PathLike, device: Any = "cpu") -> dict[str, Tensor]:
    """All tensors of a file."""
    with open(filename, "rb") as file:
        return _load(file, device)


def load(data: bytes) -> dict[str, Tensor]:
    """All tensors in bytes."""
    return _load(io.BytesIO(data), "cpu")


def _load(file, device) -> dict[str, Tensor]:
    entries, _, start = _read_header(file)
    return {name: _read(file, start, e).to(device) for name, e in entries.items()}


def _read(file, start: int, entry: dict) -> Tensor:
    begin, end = entry["data_offsets"]
    storage: Any = ember.UntypedStorage(end - begin)
    file.seek(start + begin)
    if end > begin and file.readinto(memoryview(storage)) != end - begin:
        raise SafetensorError("the file ends in the middle of a tensor")
    shape = entry["shape"]
    stride = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    dtype = _DTYPES[entry["dtype"]]
    return _C._tensor_from_storage(storage, dtype, 0, shape, stride)


def _read_header(file) -> tuple[dict[str, dict], dict[str, str], int]:
    """What is in the file, its text, and where the bytes begin; all checked."""
    size = file.seek(0, io.SEEK_END)
    file.seek(0)
    if size < 8:
        raise SafetensorError("the file is too short to have a header")
    (length,) = struct.unpack("<Q", file.read(8))
    if length > min(_LONGEST_HEADER, size - 8):
        raise SafetensorError(f"the header cannot have {length} bytes")
    try:
        header = json.loads(file.read(length).decode(), object_pairs_hook=_no_twins)
    except (ValueError, RecursionError) as error:
        raise SafetensorError(f"the header is not valid JSON: {error}") from None
    if not isinstance(header, dict):
        raise SafetensorError("the header is not a JSON object")
    metadata = header.pop("__metadata__", None) or {}
    if not isinstance(metadata, dict):
        raise SafetensorError("the metadata is not a JSON object")
    for name, entry in header.items():
        _check_entry(name, entry)
    at = 0
    for begin, end in sorted(e["data_offsets"] for e in header.values()):
        if begin != at:
            raise SafetensorError(f"bytes {at} to {begin} are of none or of two")
        at = end
    if at != size - 8 - length:
        raise SafetensorError(f"{at} bytes of tensors, but {size - 8 - length} follow")
    return header, metadata, 8 + length


def _no_twins(pairs: list) -> dict:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a name occurs twice")
    return made


def _check_entry(name: str, entry) -> None:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise SafetensorError(f"the entry of {name!r:.80} is malformed")
    dtype = entry["dtype"]
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise SafetensorError(f"{name!r:.80} has an unknown dtype {dtype!r:.40}")
    shape, offsets = entry["shape"], entry["data_offsets"]
    for numbers in (shape, offsets):
        whole = isinstance(numbers, list) and all(
            type(n) is int and 0 <= n < 1 << 60 for n in numbers
        )
        if not whole or len(numbers) > 64:
            raise SafetensorError(f"the entry of {name!r:.80} has bad numbers")
    bytes_of = math.prod(shape) * _DTYPES[dtype].itemsize
    if len(offsets) != 2 or offsets[1] - offsets[0] != bytes_of:
        raise SafetensorError(f"{name!r:.80} needs {bytes_of} bytes, not {offsets}")
    if math.prod(n for n in shape if n) >= 1 << 60:
        raise SafetensorError(f"{name!r:.80} has too many elements")


class safe_open:
    """A file whose tensors are read one by one, or in part.

    >>> import ember
    >>> from ember.utils.safetensors import safe_open, save_file
    >>> save_file({"w": ember.arange(6).view(3, 2)}, "weights.safetensors")
    >>> with safe_open("weights.safetensors", framework="pt") as f:
    ...     print(list(f.keys()), f.get_slice("w")[1:])
    ['w'] tensor([[2, 3],
            [4, 5]])
    """

    def __init__(
        self, filename: str | os.PathLike, framework: str = "pt", device: Any = "cpu"
    ) -> None:
        if framework not in ("pt", "torch", "pytorch", "ember"):
            raise SafetensorError(f"framework {framework!r} is not available here")
        self._file = open(filename, "rb")  # noqa: SIM115  until __exit__
        self._device = device
        try:
            self._entries, self._metadata, self._start = _read_header(self._file)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> "safe_open":
        return self

    def __exit__(self, *exc: Any) -> None:
        self._file.close()

    def keys(self) -> list[str]:
        """Names of the tensors."""
        return sorted(self._entries)

    def offset_keys(self) -> list[str]:
        """The same, in the order of the file."""
        entries = self._entries
        return sorted(entries, key=lambda name: entries[name]["data_offsets"])

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def metadata(self) -> dict[str, str] | None:
        """The text that was saved along."""
        return self._metadata or None

    def get_tensor(self, name: str) -> Tensor:
        """One tensor."""
        return _read(self._file, self._start, self._entry(name)).to(self._device)

    def get_slice(self, name: str) -> "_Slice":
        """A stand-in to take a part of a tensor from; only rows of it are read."""
        return _Slice(self, self._entry(name))

    def _entry(self, name: str) -> dict:
        if name not in self._entries:
            raise SafetensorError(f"File does not contain tensor {name}")
        return self._entries[name]


class _Slice:
    def __init__(self, file: safe_open, entry: dict) -> None:
        self._file, self._entry = file, entry

    def get_shape(self) -> list[int]:
        """The shape of the whole."""
        return list(self._entry["shape"])

    def get_dtype(self) -> str:
        """The dtype as the format names it."""
        return self._entry["dtype"]

    def __getitem__(self, index: Any) -> Tensor:
        shape = self._entry["shape"]
        first = index[0] if isinstance(index, tuple) and index else index
        file, start = self._file._file, self._file._start
        if not shape or not isinstance(first, slice) or first.step not in (None, 1):
            return _read(file, start, self._entry)[index].to(self._file._device)
        begin, end, _ = first.indices(shape[0])
        end = max(begin, end)
        row = math.prod(shape[1:]) * _DTYPES[self._entry["dtype"]].itemsize
        at = self._entry["data_offsets"][0]
        part = {
            "dtype": self._entry["dtype"],
            "shape": [end - begin, *shape[1:]],
            "data_offsets": [at + begin * row, at + end * row],
        }
        rows = _read(file, start, part)
        rest = index[1:] if isinstance(index, tuple) else ()
        return (rows[(slice(None), *rest)] if rest else rows).to(self._file._device)
