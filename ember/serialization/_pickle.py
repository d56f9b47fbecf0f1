"""Pickling of tensors in PyTorch's terms, without PyTorch.

Objects of ember are written under torch's names and read back from them (`_unpickle`),
so that either library reads what the other wrote. Storages are not pickled but named by
persistent ids, `("storage", class, key, location, size)`; their bytes are records of
the archive.
"""

import pickle
from collections import OrderedDict
from typing import Any

import ember
from ember import Tensor
from ember._tensor import is_wrapper, slots_of, wrapper_args
from ember.serialization import _storage_io as io
from ember.serialization._options import location_tag


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
_REBUILD_META = _Global("torch._utils", "_rebuild_meta_tensor_no_storage")
_REBUILD_SPARSE = _Global("torch._utils", "_rebuild_sparse_tensor")
_GET_LAYOUT = _Global("torch.serialization", "_get_layout")
_REBUILD_PARAMETER = _Global("torch._utils", "_rebuild_parameter")
_REBUILD_WRAPPER = _Global("torch._utils", "_rebuild_wrapper_subclass")
_REBUILD_PARAMETER_WITH_STATE = _Global("torch._utils", "_rebuild_parameter_with_state")
_REBUILD_FROM_TYPE = _Global("torch._tensor", "_rebuild_from_type_v2")
_UNTYPED = _Global("torch.storage", "UntypedStorage")
_SIZE, _DEVICE = _Global("torch", "Size"), _Global("torch", "device")
_STORAGES = {d: _Global("torch", name) for d, name in io.CLASS_NAMES.items()}


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
            if not isinstance(obj, io.typed_class()):
                return None
            obj = _Stored(obj.untyped(), obj.dtype)
        key, storage, dtype = io.storage_key(obj.storage), obj.storage, obj.dtype
        if key not in self._keys:
            name = str(len(self.storages))
            self.storages[name] = storage
            self._keys[key] = name, dtype
        name, first = self._keys[key]
        if first != dtype and storage.nbytes():  # one without memory holds nothing
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as "
                "different types"
            )
        size = storage.nbytes()
        kind = _UNTYPED if dtype is None else _STORAGES[dtype]
        count = size if dtype is None else size // dtype.itemsize
        return "storage", kind, name, location_tag(storage), count

    def reducer_override(self, obj):
        if not isinstance(obj, ember.Tensor):
            return NotImplemented
        if obj.layout is not ember.strided and obj.layout is not ember.jagged:
            return _reduce_tensor(obj)
        parameter, kind = ember.nn.Parameter, type(obj)
        if kind.__reduce_ex__ not in (Tensor.__reduce_ex__, parameter.__reduce_ex__):
            return NotImplemented  # it says itself how it is saved
        state = _state_of(obj)
        if is_wrapper(obj):
            return _REBUILD_FROM_TYPE, (
                _REBUILD_WRAPPER,
                kind,
                wrapper_args(obj),
                state,
            )
        if isinstance(obj, parameter):
            args: tuple = (obj.detach(), obj.requires_grad, OrderedDict())
            if not state:
                return _REBUILD_PARAMETER, args
            return _REBUILD_PARAMETER_WITH_STATE, (*args, state)
        if kind is ember.nn.Buffer or (kind is Tensor and not state):
            return _reduce_tensor(obj)
        function, args = _reduce_tensor(obj)
        return _REBUILD_FROM_TYPE, (function, kind, args, state)

    def save_type(self, obj):
        """A class; those without a name of their own are made by `type`."""
        for one in (None, NotImplemented, ...):
            if obj is type(one):
                return self.save_reduce(type, (one,), obj=obj)
        self.save_global(obj)

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
    dispatch[type] = save_type
    dispatch[type(_save_name)] = save_global


_OWN_GETSTATE = getattr(Tensor, "__getstate__", None)


def _state_of(obj):
    if getattr(type(obj), "__getstate__", None) is not _OWN_GETSTATE:
        return obj.__getstate__()
    state, slots = {**getattr(obj, "__dict__", {})}, slots_of(obj)
    return (state, slots) if slots else state


def _reduce_tensor(t) -> tuple:
    if t.layout is not ember.strided:
        return _REBUILD_SPARSE, t._parts()
    if t.is_complex() and t.is_conj():
        t = t.resolve_conj()
    if t.is_meta:
        sizes = tuple(t.shape), tuple(t.stride())
        return _REBUILD_META, (t.dtype, *sizes, t.requires_grad and t.is_leaf)
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
