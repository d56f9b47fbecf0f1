"""Reads Torch7's .t7 files: numbers, texts, tables, tensors and nn modules.

A file is a tree of objects, each a type number and its content; tables and Torch
objects carry an index by which later places refer to them. Objects of classes that are
not tensors come back as `TorchObject`, or as modules of `ember.legacy.nn` where there
is one of the same name.
"""

from __future__ import annotations

import os
import struct
from typing import Any, BinaryIO

import ember
from ember.serialization._storage_io import tensor_over

_NIL, _NUMBER, _STRING, _TABLE, _TORCH, _BOOLEAN = 0, 1, 2, 3, 4, 5
_FUNCTIONS = (6, 7, 8)

_ITEMS = {
    "Byte": ember.uint8,
    "Char": ember.int8,
    "Short": ember.int16,
    "Int": ember.int32,
    "Long": ember.int64,
    "Float": ember.float32,
    "Double": ember.float64,
    "Half": ember.float16,
}
_MOST_DEPTH = 200


class TorchObject:
    """An object of a class that ember does not know: its name and its fields."""

    def __init__(self, torch_typename: str, fields: Any = None) -> None:
        self.torch_typename, self.fields = torch_typename, fields

    def __repr__(self) -> str:
        return f"TorchObject({self.torch_typename!r})"


class _Reader:
    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file, self.size = file, size
        self.seen: dict[int, Any] = {}
        self.depth = 0

    def take(self, count: int) -> bytes:
        if count < 0 or count > self.size:
            raise ValueError(f".t7: a length of {count} in a file of {self.size} bytes")
        data = self.file.read(count)
        if len(data) != count:
            raise EOFError(f".t7: the file ends {count - len(data)} bytes too early")
        return data

    def integer(self) -> int:
        return struct.unpack("<i", self.take(4))[0]

    def longs(self, count: int) -> list[int]:
        return list(struct.unpack(f"<{count}q", self.take(8 * count)))

    def text(self) -> str:
        return self.take(self.integer()).decode("utf-8", "surrogateescape")

    def value(self) -> Any:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise ValueError(f".t7: objects are nested more than {_MOST_DEPTH} deep")
        try:
            return self._value(self.integer())
        finally:
            self.depth -= 1

    def _value(self, kind: int) -> Any:
        if kind == _NIL:
            return None
        if kind == _NUMBER:
            number = struct.unpack("<d", self.take(8))[0]
            return int(number) if number.is_integer() else number
        if kind == _STRING:
            return self.text()
        if kind == _BOOLEAN:
            return self.integer() == 1
        if kind == _TABLE:
            return self._table()
        if kind == _TORCH:
            return self._torch()
        if kind in _FUNCTIONS:
            raise ValueError(".t7: the file holds a Lua function, which cannot be read")
        raise ValueError(f".t7: there is no type {kind}; the file may be damaged")

    def _table(self) -> Any:
        index = self.integer()
        if index in self.seen:
            return self.seen[index]
        table: dict[Any, Any] = {}
        self.seen[index] = table
        for _ in range(self.integer()):
            key = self.value()
            if not isinstance(key, str | int | float | bool):
                raise ValueError(f".t7: a table has a key of type {type(key).__name__}")
            table[key] = self.value()
        return table

    def _torch(self) -> Any:
        index = self.integer()
        if index in self.seen:
            return self.seen[index]
        name = self.text()
        if name.startswith("V "):
            name = self.text()
        kind = name.removeprefix("torch.")
        for item, dtype in _ITEMS.items():
            if kind in (f"{item}Tensor", f"Cuda{item}Tensor"):
                self.seen[index] = self._tensor(dtype)
                return self.seen[index]
            if kind in (f"{item}Storage", f"Cuda{item}Storage"):
                self.seen[index] = self._storage(dtype)
                return self.seen[index]
        if kind in ("CudaTensor", "CudaStorage"):
            read = self._tensor if kind == "CudaTensor" else self._storage
            self.seen[index] = read(ember.float32)
            return self.seen[index]
        whole = TorchObject(name)
        self.seen[index] = whole
        whole.fields = self.value()
        return whole

    def _storage(self, dtype: ember.dtype) -> ember.Tensor:
        (count,) = self.longs(1)
        data = bytearray(self.take(count * dtype.itemsize))
        if not data:
            return ember.empty(0, dtype=dtype, device="cpu")
        return ember.frombuffer(data, dtype=dtype)

    def _tensor(self, dtype: ember.dtype) -> ember.Tensor:
        dims = self.integer()
        if not 0 <= dims <= 64:
            raise ValueError(f".t7: a tensor of {dims} dimensions")
        shape, strides = self.longs(dims), self.longs(dims)
        offset = self.longs(1)[0] - 1  # Lua counts from 1
        storage = self.value()
        if storage is None or dims == 0:
            return ember.empty(0, dtype=dtype, device="cpu")
        if not isinstance(storage, ember.Tensor):
            raise ValueError(".t7: a tensor without a storage")
        if storage.dtype != dtype:
            raise ValueError(f".t7: a tensor of {dtype} over {storage.dtype}")
        offset += storage.storage_offset()
        try:
            memory = storage.untyped_storage()
            return tensor_over(memory, dtype, offset, shape, strides)
        except RuntimeError as error:
            raise ValueError(f".t7: {error}") from None


def _as_list(table: Any) -> Any:
    """A table with keys 1 ... n is a list."""
    if isinstance(table, dict) and set(table) == set(range(1, len(table) + 1)):
        return [table[i] for i in range(1, len(table) + 1)]
    return table


def _finish(value: Any, done: dict[int, Any]) -> Any:
    """Tables as lists and dicts, nn objects as modules; shared parts stay shared."""
    if id(value) in done:
        return done[id(value)]
    if isinstance(value, dict):
        finished: dict[Any, Any] = {}
        done[id(value)] = finished
        for key, part in value.items():
            finished[key] = _finish(part, done)
        listed = _as_list(finished)
        done[id(value)] = listed
        return listed
    if isinstance(value, TorchObject):
        return _object(value, done)
    return value


def _object(value: TorchObject, done: dict[int, Any]) -> Any:
    from ember.legacy import nn

    known: Any = getattr(nn, value.torch_typename.removeprefix("nn."), None)
    is_module = isinstance(known, type) and issubclass(known, nn.Module | nn.Criterion)
    if not value.torch_typename.startswith("nn.") or not is_module:
        done[id(value)] = value
        value.fields = _finish(value.fields, done)
        return value
    module = known.__new__(known)
    done[id(value)] = module
    base = nn.Module if issubclass(known, nn.Module) else nn.Criterion
    base.__init__(module)
    fields = _finish(value.fields, done) or {}
    if not isinstance(fields, dict):
        raise ValueError(f".t7: a module whose fields are a {type(fields).__name__}")
    for name, part in fields.items():
        if isinstance(name, str) and not name.startswith("__"):
            setattr(module, name, part)
    _adapt(module)
    return module


def _adapt(module: Any) -> None:
    """Give a module that was read what its class keeps under other names."""
    from ember.legacy import nn

    def pair(a: str, b: str) -> tuple:
        return getattr(module, a), getattr(module, b)

    for name in ("weight", "bias"):
        if not hasattr(module, name) and name in module.learned:
            setattr(module, name, None)
    if isinstance(module, nn.Linear):
        outputs, inputs = module.weight.shape
        module._sizes = (outputs, inputs, module.bias is not None)
    if isinstance(module, nn.SpatialConvolution):
        module.kernel, module.stride = pair("kH", "kW"), pair("dH", "dW")
        module.padding, module.options = pair("padH", "padW"), {}
        shape = (module.nOutputPlane, module.nInputPlane, *module.kernel)
        if module.weight.nbytes > module.weight.untyped_storage().nbytes():
            raise ValueError(".t7: weights that repeat the same number")
        module.weight = module.weight.reshape(shape)
        module.gradWeight = ember.zeros_like(module.weight)
    if isinstance(module, nn.SpatialMaxPooling | nn.SpatialAveragePooling):
        module.kernel, module.stride = pair("kH", "kW"), pair("dH", "dW")
        module.padding = (getattr(module, "padH", 0), getattr(module, "padW", 0))
    if isinstance(module, nn.View | nn.Reshape):
        size = getattr(module, "size", None)
        if isinstance(size, ember.Tensor):
            size = size[:64].tolist()  # no tensor has more dimensions
        module.args = tuple(size or ())
        if isinstance(module, nn.View) and -1 not in module.args:
            module.args = (-1, *module.args)
        module._names = ["args"]
    elif hasattr(module, "takes"):
        _adapt_arguments(module)


# What Torch7 calls an argument of a module, and arguments that it counts from 1.
_SYNONYMS = {"v": "val", "min_value": "min_val", "max_value": "max_val", "p": "pow"}
_COUNTED = ("dimension", "dim", "index", "pos", "offset")


def _adapt_arguments(module: Any) -> None:
    module._names = list(module.takes.parameters)
    for name, parameter in module.takes.parameters.items():
        given = vars(module).get(name, vars(module).get(_SYNONYMS.get(name, name)))
        if given is None:
            given = parameter.default
        elif name in _COUNTED and isinstance(given, int):
            given -= given > 0
        setattr(module, name, given)


def load(file: str | os.PathLike | BinaryIO) -> Any:
    """Read a .t7 file (binary, with 64-bit sizes, as Torch7 writes on x86-64)."""
    if not hasattr(file, "read"):
        with open(file, "rb") as opened:
            return load(opened)
    stream: Any = file
    at = stream.tell()
    size = stream.seek(0, os.SEEK_END) - at
    stream.seek(at)
    return _finish(_Reader(stream, size).value(), {})
