"""Pickling of tensors in PyTorch's terms, without PyTorch.

Objects of ember are written under torch's names and read back from them, so that either
library reads what the other wrote. Storages are not pickled but named by persistent
ids, `("storage", class, key, location, size)`; their bytes are records of the archive.
"""

import pickle
import pickletools
import struct
import sys
from collections import Counter, OrderedDict
from typing import Any

import ember
from ember import _storage_io as io
from ember._checkpoint_options import location_tag

# dtype -> the class of its storage in checkpoints. Other dtypes are written untyped.
_STORAGE_NAMES = {
    ember.float32: "FloatStorage",
    ember.float64: "DoubleStorage",
    ember.float16: "HalfStorage",
    ember.bfloat16: "BFloat16Storage",
    ember.int64: "LongStorage",
    ember.int32: "IntStorage",
    ember.int16: "ShortStorage",
    ember.int8: "CharStorage",
    ember.uint8: "ByteStorage",
    ember.bool: "BoolStorage",
    ember.complex64: "ComplexFloatStorage",
    ember.complex128: "ComplexDoubleStorage",
}
_DTYPES = (
    "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 uint16 uint32 "
    "uint64 bool complex32 complex64 complex128 float8_e4m3fn float8_e5m2 "
    "float8_e4m3fnuz float8_e5m2fnuz"
).split()


_MOST_IN_TUPLES = 1_000_000  # elements of a tuple and of all tuples in it
_DEEPEST_TUPLE = 200


class _Global:
    """A name in a pickle, standing for an object that need not exist here."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self, *args):  # only so that pickle accepts it as a constructor
        raise TypeError(f"{self.module}.{self.name} is only a name")


class _Stored:
    """A storage with the dtype that checkpoints note beside it."""

    __slots__ = ("dtype", "storage")

    def __init__(self, storage, dtype) -> None:
        self.storage, self.dtype = storage, dtype


_REBUILD_TENSOR = _Global("torch._utils", "_rebuild_tensor_v2")
_REBUILD_UNTYPED = _Global("torch._utils", "_rebuild_tensor_v3")
_REBUILD_SPARSE = _Global("torch._utils", "_rebuild_sparse_tensor")
_GET_LAYOUT = _Global("torch.serialization", "_get_layout")
_REBUILD_PARAMETER = _Global("torch._utils", "_rebuild_parameter")
_UNTYPED = _Global("torch.storage", "UntypedStorage")
_SIZE, _DEVICE = _Global("torch", "Size"), _Global("torch", "device")
_STORAGES = {d: _Global("torch", name) for d, name in _STORAGE_NAMES.items()}


class Pickler(pickle._Pickler):
    """Writes objects; afterwards `storages` holds what the archive must contain."""

    # The C pickler insists on importing the names it writes, so this is the Python one.
    dispatch = pickle._Pickler.dispatch.copy()

    def __init__(self, file, protocol: int = 2) -> None:
        super().__init__(file, protocol)
        self.storages: dict[str, Any] = {}
        self._keys: dict[tuple, tuple] = {}

    def persistent_id(self, obj):
        if isinstance(obj, ember.UntypedStorage):
            obj = _Stored(obj, None)
        elif type(obj) is not _Stored:
            if not isinstance(obj, _typed_storage()):
                return None
            obj = _Stored(obj.untyped(), obj.dtype)
        key, storage, dtype = io.storage_key(obj.storage), obj.storage, obj.dtype
        if key not in self._keys:
            name = str(len(self.storages))
            self.storages[name] = storage
            self._keys[key] = name, dtype
        name, first = self._keys[key]
        if first != dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as "
                "different types"
            )
        size = storage.nbytes()
        kind = _UNTYPED if dtype is None else _STORAGES[dtype]
        count = size if dtype is None else size // dtype.itemsize
        return "storage", kind, name, location_tag(storage), count

    def reducer_override(self, obj):
        if isinstance(obj, ember.nn.Parameter):
            data = obj.detach()
            return _REBUILD_PARAMETER, (data, obj.requires_grad, OrderedDict())
        if isinstance(obj, ember.Tensor):
            return _reduce_tensor(obj)
        return NotImplemented

    def save_global(self, obj, name=None):
        name = name or getattr(obj, "__qualname__", None) or obj.__name__
        module = pickle.whichmodule(obj, name)
        if module != "ember" and not module.startswith("ember."):
            return super().save_global(obj, name)
        self._write_global("torch" + module.removeprefix("ember"), name, obj)

    def _save_name(self, obj: _Global) -> None:
        self._write_global(obj.module, obj.name, obj)

    def _save_dtype(self, obj) -> None:
        self._write_global("torch", str(obj).rpartition(".")[2], obj)

    def _save_size(self, obj) -> None:
        self.save_reduce(_SIZE, (tuple(obj),), obj=obj)

    def _save_layout(self, obj) -> None:
        self.save_reduce(_GET_LAYOUT, (str(obj),), obj=obj)

    def _save_device(self, obj) -> None:
        args = (obj.type,) if obj.index is None else (obj.type, obj.index)
        self.save_reduce(_DEVICE, args, obj=obj)

    def _write_global(self, module: str, name: str, obj) -> None:
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    dispatch[_Global] = _save_name
    dispatch[type(ember.float32)] = _save_dtype
    dispatch[ember.Size] = _save_size
    dispatch[type(ember.strided)] = _save_layout
    dispatch[ember.device] = _save_device
    # pickle's own table holds its function, not the override.
    for _kind in (type, type(_save_name)):
        dispatch[_kind] = save_global


def _reduce_tensor(t) -> tuple:
    if t.layout is not ember.strided:
        return _REBUILD_SPARSE, t._parts()
    if t.is_complex() and t.is_conj():
        t = t.resolve_conj()
    dtype = t.dtype if t.dtype in _STORAGES else None
    place: tuple = (
        _Stored(io.storage_of(t), dtype),
        t.storage_offset(),
        tuple(t.shape),
        tuple(t.stride()),
        t.requires_grad and t.is_leaf,
        OrderedDict(),
    )
    if dtype is None:
        return _REBUILD_UNTYPED, (*place, t.dtype)
    return _REBUILD_TENSOR, place


def _typed_storage() -> type:
    """TypedStorage; the empty tuple of types if nobody can have made one."""
    module = sys.modules.get("ember.storage")
    return () if module is None else module.TypedStorage  # type: ignore[return-value]


def _rebuild_tensor(stored, offset, size, stride, requires_grad=False, *rest):
    if not isinstance(stored, _typed_storage()):
        raise pickle.UnpicklingError("load(): a tensor without a typed storage")
    t = io.tensor_over(stored.untyped(), stored.dtype, offset, size, stride)
    return t.requires_grad_() if requires_grad else t


def _rebuild_untyped(stored, offset, size, stride, requires_grad, hooks, dtype, *rest):
    untyped = getattr(stored, "untyped", None)
    if untyped is None or not isinstance(dtype, ember.dtype):
        raise pickle.UnpicklingError("load(): a tensor without a storage or a dtype")
    t = io.tensor_over(untyped(), dtype, offset, size, stride)
    return t.requires_grad_() if requires_grad else t


def _rebuild_sparse(layout, parts):
    from ember.sparse._tensor import rebuild

    return rebuild(layout, parts)


def _get_layout(name):
    layouts = "strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc".split()
    short = str(name).removeprefix("torch.")
    if short not in layouts:
        raise pickle.UnpicklingError(f"load(): unknown layout {name!r}")
    return getattr(ember, short)


def _rebuild_parameter(data, requires_grad, hooks):
    return ember.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, hooks, state):
    made = ember.nn.Parameter(data, requires_grad)
    made.__dict__.update(state)
    return made


def _rebuild_from_type(func, kind, args, state):
    if func not in _REBUILDERS:
        raise pickle.UnpicklingError("load(): a tensor that is made in an unknown way")
    made = func(*args)
    if isinstance(state, dict):
        made.__dict__.update(state)
    return made


_REBUILDERS = (
    _rebuild_tensor,
    _rebuild_untyped,
    _rebuild_parameter,
    _rebuild_parameter_with_state,
)


def _encode(text, encoding="latin1"):
    """How protocol 2 writes bytes."""
    if encoding not in ("latin1", "latin-1", "utf-8", "ascii"):
        raise pickle.UnpicklingError(f"load(): bytes in the encoding {encoding!r}")
    return text.encode(encoding)


def _bytearray(data=b"", encoding="latin1"):
    """A bytearray of given bytes; never one of a given size."""
    if isinstance(data, str):
        return bytearray(_encode(data, encoding))
    if not isinstance(data, (bytes, bytearray)):
        raise pickle.UnpicklingError("load(): a bytearray that is not made of bytes")
    return bytearray(data)


def _known_names() -> dict:
    """Names of torch that have a meaning of their own here."""
    utils = "torch._utils"
    known = {
        (utils, "_rebuild_tensor"): _rebuild_tensor,
        (utils, "_rebuild_tensor_v2"): _rebuild_tensor,
        (utils, "_rebuild_tensor_v3"): _rebuild_untyped,
        (utils, "_rebuild_sparse_tensor"): _rebuild_sparse,
        ("torch.serialization", "_get_layout"): _get_layout,
        (utils, "_rebuild_parameter"): _rebuild_parameter,
        (utils, "_rebuild_parameter_with_state"): _rebuild_parameter_with_state,
        ("torch._tensor", "_rebuild_from_type_v2"): _rebuild_from_type,
        ("torch", "Size"): ember.Size,
        ("torch", "device"): ember.device,
        ("_codecs", "encode"): _encode,
        ("collections", "Counter"): Counter,
    }
    known["collections", "OrderedDict"] = OrderedDict
    for module in ("builtins", "__builtin__"):
        for kind in (set, frozenset, complex):
            known[module, kind.__name__] = kind
        known[module, "bytearray"] = _bytearray
    for dtype, name in _STORAGE_NAMES.items():
        known["torch", name] = dtype
    known["torch.storage", "UntypedStorage"] = None
    known["torch", "UntypedStorage"] = None
    for name in _DTYPES:
        if hasattr(ember, name):
            known["torch", name] = getattr(ember, name)
    for module, name in (("torch", "Tensor"), ("torch.nn.parameter", "Parameter")):
        known[module, name] = _global_only
    for name in _STORAGE_NAMES.values():  # in the oldest files
        known["torch", name.replace("Storage", "Tensor")] = _global_only
    return known


def _global_only(*args):
    raise pickle.UnpicklingError("load(): a tensor class may be named but not called")


class _Names:
    """What the names and persistent ids in a checkpoint stand for."""

    known: dict = {}

    def __init__(self, file, storage, safe: dict | None, made=None, **options) -> None:
        super().__init__(file, **options)
        self.storage, self.safe, self.made = storage, safe or {}, made
        if not _Names.known:
            _Names.known = _known_names()

    def persistent_load(self, pid):
        """The storage, or class, or (in the oldest files) tensor with this id."""
        if self.made is not None and not isinstance(pid, tuple):
            return self.made[str(pid)]
        kind = pid[0] if isinstance(pid, tuple) and pid else None
        if kind == "module" and len(pid) == 4:  # a class, with its source code
            return pid[1]
        if kind != "storage" or len(pid) not in (5, 6):
            raise pickle.UnpicklingError(f"load(): unknown persistent id {pid!r:.80}")
        _, dtype, key, location, count, *view = pid
        if (
            not (dtype is None or isinstance(dtype, ember.dtype))
            or type(count) is not int
        ):
            raise pickle.UnpicklingError("load(): a storage of an unknown kind")
        storage = self.storage(str(key), str(location), dtype, count)
        if view and view[0] is not None:
            _, start, length = view[0]
            width = 1 if dtype is None else dtype.itemsize
            storage = io.part_of(storage, start * width, length * width)
        return io.typed(storage, dtype)


class Unpickler(_Names, pickle.Unpickler):
    """Imports whatever the pickle names, from ember where that is torch."""

    def find_class(self, module: str, name: str):
        if module == "torch" or module.startswith("torch."):
            found = self.known.get((module, name), _global_only)
            if found is not _global_only:
                return found
            module = "ember" + module.removeprefix("torch")
        return super().find_class(module, name)


def _then_checked(load):
    def load_and_check(self) -> None:
        load(self)
        self._check_tuple()

    return load_and_check


class SafeUnpickler(_Names, pickle._Unpickler):
    """Knows the names above and `safe` (objects by dotted name), refuses all others.

    It is the unpickler written in Python because that can refuse opcodes too, and
    because a hostile memo index makes the one in C allocate without bound.
    """

    dispatch = pickle._Unpickler.dispatch.copy()

    def find_class(self, module: str, name: str):
        if (module, name) in self.known:
            return self.known[module, name]
        here = module.replace("torch", "ember", 1)
        for dotted in (f"{module}.{name}", f"{here}.{name}"):
            if dotted in self.safe:
                return self.safe[dotted]
        raise pickle.UnpicklingError(
            f"Weights only load failed: {module}.{name} is not an allowed global. "
            "If the file comes from a source you trust, allow it with "
            "`ember.serialization.add_safe_globals([...])`, or load everything, "
            "running any code in the file, with `weights_only=False`."
        )

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        self._weights: dict[int, tuple[int, int]] = {}
        self._tuples: list[tuple] = []

    def load_build(self) -> None:
        """Set an object's state: only of kinds that have one by right."""
        state, target = self.stack[-1], self.stack[-2]
        if isinstance(target, tuple(filter(_is_type, self.safe.values()))):
            return super().load_build()
        if not isinstance(target, (OrderedDict, ember.Tensor)):
            raise pickle.UnpicklingError(
                f"Weights only load failed: state given to a {type(target).__name__}"
            )
        if not isinstance(state, dict):
            raise pickle.UnpicklingError(
                "Weights only load failed: a state that is not a dictionary"
            )
        self.stack.pop()
        target.__dict__.update(state)

    def load_bytearray8(self) -> None:
        """A bytearray; its size is believed only if the bytes are there."""
        (size,) = struct.unpack("<Q", self.read(8))
        data = self.read(min(size, sys.maxsize))
        if len(data) != size:
            raise pickle.UnpicklingError("pickle data was truncated")
        self.append(bytearray(data))

    def _check_tuple(self) -> None:
        # To hash a tuple is to hash all that is in it, however often and deep it is
        # in there; Python does so without looking at the time or at its stack.
        made = self.stack[-1]
        inner = [self._weights.get(id(v), (1, 0)) for v in made if type(v) is tuple]
        weight = len(made) + sum(w for w, _ in inner)
        depth = 1 + max((d for _, d in inner), default=0)
        if weight > _MOST_IN_TUPLES or depth > _DEEPEST_TUPLE:
            raise pickle.UnpicklingError("Weights only load failed: tuples in tuples")
        self._weights[id(made)] = (weight, depth)
        self._tuples.append(made)  # so that its id stays its own

    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8
    for _code in (pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
        dispatch[_code[0]] = _then_checked(dispatch[_code[0]])


def _is_type(obj) -> bool:
    return isinstance(obj, type)


def names_in(data: bytes) -> set[tuple[str, str]]:
    """Modules and names that a pickle refers to, found without running it."""
    found: set[tuple[str, str]] = set()
    texts: list = []  # that were pushed, most recent last
    memo: dict[int, object] = {}
    arg: Any
    for code, arg, _ in pickletools.genops(data):
        if code.name == "GLOBAL":
            module, _, name = arg.partition(" ")
            found.add((module, name))
        elif code.name == "STACK_GLOBAL":
            if len(texts) >= 2:
                found.add((str(texts[-2]), str(texts[-1])))
        elif code.name == "MEMOIZE" or code.name.endswith("PUT"):
            memo[len(memo) if arg is None else int(arg)] = texts[-1] if texts else None
        elif code.name.endswith("GET"):
            texts.append(memo.get(int(arg)))
        elif isinstance(arg, str):
            texts.append(arg)
    return found


def is_allowed(module: str, name: str, safe: dict) -> bool:
    """Whether restricted loading knows a name."""
    known = _Names.known or _known_names()
    here = module.replace("torch", "ember", 1)
    dotted = (f"{module}.{name}", f"{here}.{name}")
    return (module, name) in known or any(d in safe for d in dotted)
