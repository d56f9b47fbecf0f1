"""Methods of Tensor that are easier in Python than in C++: copies, pickles, legacy.

They are put on the type of the core when ember is imported, so this module imports
nothing but the core.
"""

from types import MethodType
from typing import Any

from ember import _C, _lazy
from ember._C import Tensor
from ember._types import DeviceLike, Dtype, Sizes


def is_tensor(obj: object) -> bool:
    """Whether `obj` is a tensor.

    >>> import ember
    >>> ember.is_tensor(ember.ones(2)), ember.is_tensor(2)
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: object) -> bool:
    """Whether `obj` is a storage, typed or not."""
    from sys import modules

    typed = modules.get("ember.storage")  # unless it is there, nothing is of its types
    kinds = (_C.UntypedStorage, *([typed.TypedStorage] if typed else []))
    return isinstance(obj, kinds)


def typename(obj: object) -> str:
    """The name of an object's type, with the module it is in.

    >>> import ember
    >>> ember.typename(ember.ones(2))
    'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", "")
    prefix = f"{module}." if module and module != "builtins" else ""
    return prefix + kind.__qualname__


# --- __torch_function__: ember/overrides.py has the rest ------------------------------


class DisableTorchFunctionSubclass:
    """Within it, ops do not ask types for their `__torch_function__`.

    >>> import ember
    >>> class Named(ember.Tensor):
    ...     pass
    >>> x = ember.zeros(1).as_subclass(Named)
    >>> with ember.DisableTorchFunctionSubclass():
    ...     type(x + 1).__name__
    'Tensor'
    """

    def __enter__(self) -> None:
        self._before = _C._switch_overrides(True, False)

    def __exit__(self, *error: Any) -> None:
        _C._switch_overrides(*self._before)


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Within it, ops ask neither types nor modes.

    >>> import ember
    >>> class Loud(ember.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Loud(), ember.DisableTorchFunction():
    ...     x = ember.zeros(1) + 1
    """

    def __enter__(self) -> None:
        self._before = _C._switch_overrides(True, True)


def _torch_function(cls: type, func, types, args=(), kwargs=None):
    """Run an op on instances of a subclass; its results are instances, too."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    before = _C._switch_overrides(True, False)
    try:
        made = func(*args, **(kwargs or {}))
    finally:
        _C._switch_overrides(*before)
    return made if cls is Tensor or func in _NOT_CONVERTED else _converted(made, cls)


def _converted(value, cls: type):
    if isinstance(value, Tensor):
        if isinstance(value, cls):
            return value
        before = _C._switch_overrides(True, False)
        try:
            return value.as_subclass(cls)
        finally:
            _C._switch_overrides(*before)
    if isinstance(value, (tuple, list)) and not isinstance(value, _C.Size):
        return type(value)(_converted(v, cls) for v in value)
    return value


# Attributes that belong to another tensor, whatever its type is.
_NOT_CONVERTED = {Tensor._base.__get__, Tensor.grad.__get__}

_C.DisableTorchFunctionSubclass = DisableTorchFunctionSubclass  # type: ignore
_C.DisableTorchFunction = DisableTorchFunction  # type: ignore

# --- copies and pickles ---------------------------------------------------------------


def _geometry(t: Tensor) -> tuple:
    return t.dtype, t.storage_offset(), tuple(t.shape), t.stride()


def _copy_storage(storage, memo: dict):
    """A copy that tensors of one deepcopy share, as they shared the original."""
    made = memo.get(id(storage))
    if made is None:
        made = memo[id(storage)] = storage.clone()
        memo.setdefault(id(memo), []).append(storage)  # its id stays taken
    return made


def _deepcopy(self: Tensor, memo: dict) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the "
            "deepcopy protocol at the moment. If you were attempting to deepcopy a "
            "module, this may be because of a parameter that was computed; use "
            "detach() on it first."
        )
    from copy import deepcopy

    if is_wrapper(self):
        made = self.clone()
        if type(made) is not type(self):
            raise RuntimeError(
                "The default implementation of __deepcopy__() for wrapper subclasses "
                f"only works for subclass types that properly implement clone(), but "
                f"{type(self).__name__}'s gave {type(made).__name__}"
            )
        memo[id(self)] = made = made.detach().requires_grad_(self.requires_grad)
        if self.grad is not None:
            made.grad = deepcopy(self.grad, memo)
        made.__dict__.update(deepcopy(self.__dict__, memo))
        _set_slots(made, deepcopy(slots_of(self), memo))
        return made
    storage = _copy_storage(self.untyped_storage(), memo)
    made = _C._tensor_from_storage(storage, *_geometry(self))
    if type(self) is not Tensor:
        made = Tensor._make_subclass(type(self), made)
    memo[id(self)] = made
    if self.requires_grad:
        made.requires_grad_()
    if self.grad is not None:
        made.grad = deepcopy(self.grad, memo)
    if self.__dict__:
        made.__dict__.update(deepcopy(self.__dict__, memo))
    if type(self) is not Tensor:
        _set_slots(made, deepcopy(slots_of(self), memo))
    return made


def slots_of(t: Tensor) -> dict:
    """What an object of a subclass keeps in its `__slots__`."""
    import copyreg

    names = copyreg._slotnames(type(t))  # type: ignore[attr-defined]
    return {name: getattr(t, name) for name in names if hasattr(t, name)}


def _set_slots(t: Tensor, slots: dict) -> None:
    for name, value in slots.items():
        setattr(t, name, value)


def is_wrapper(t: Tensor) -> bool:
    """Whether it was made by `_make_wrapper_subclass`, and has no memory."""
    if not hasattr(type(t), "__torch_dispatch__"):
        return False
    from ember._dispatch import wrappers

    return wrappers.cell_of(t) is not None


def wrapper_args(t: Tensor) -> tuple:
    """What such a tensor is made of, besides its attributes."""
    shape, stride = tuple(t.shape), tuple(t.stride())
    kind = (t.storage_offset(), t.layout, t.device, t.requires_grad)
    return (type(t), t.dtype, shape, stride, *kind)


def _reduce_ex(self: Tensor, protocol: int) -> tuple:
    if is_wrapper(self):
        return _rebuild_wrapper, (wrapper_args(self), self.__dict__)
    storage = None if self.is_meta else self.untyped_storage()
    args = (storage, *_geometry(self), self.requires_grad)
    if type(self) is Tensor and not self.__dict__:
        return _rebuild, args
    return _rebuild_subclass, (type(self), args, self.__dict__, slots_of(self))


def _rebuild(storage, dtype, offset, size, stride, requires_grad) -> Tensor:
    if storage is None:
        made = _C.empty_strided(size, stride, dtype=dtype, device="meta")
    else:
        made = _C._tensor_from_storage(storage, dtype, offset, size, stride)
    return made.requires_grad_() if requires_grad else made


def _rebuild_wrapper(args: tuple, state: dict) -> Tensor:
    from ember.serialization._names import _rebuild_wrapper as rebuild

    made = rebuild(*args)
    made.__dict__.update(state)
    return made


def _rebuild_subclass(
    cls: type, args: tuple, state: dict, slots: dict | None = None
) -> Tensor:
    made = _rebuild(*args)
    if cls is not Tensor:
        made = Tensor._make_subclass(cls, made, args[-1])
    made.__dict__.update(state)
    _set_slots(made, slots or {})
    return made


# --- the rest -------------------------------------------------------------------------


def _format(self: Tensor, spec: str) -> str:
    if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
        return format(self.item(), spec)
    return object.__format__(self, spec)


_plain_repr = Tensor.__repr__


def _repr(self: Tensor, *, tensor_contents: str | None = None) -> str:
    if tensor_contents is None:
        return _plain_repr(self)
    from ember._tensor_str import tensor_str

    return tensor_str(self, tensor_contents)


def _apply(self: Tensor, callable) -> Tensor:
    """Replace each element by `callable(element)`; slow, and on the CPU only.

    >>> import ember
    >>> ember.tensor([1.0, 4.0]).apply_(lambda x: x + 1)
    tensor([2., 5.])
    """
    return _map_elements("apply_", callable, self)


def _map(self: Tensor, tensor: Tensor, callable) -> Tensor:
    """Replace each element `a` by `callable(a, b)`, `b` taken from `tensor`.

    >>> import ember
    >>> ember.tensor([1.0, 4.0]).map_(ember.tensor([2.0, 3.0]), max)
    tensor([2., 4.])
    """
    return _map_elements("map_", callable, self, tensor)


def _map2(self: Tensor, x: Tensor, y: Tensor, callable) -> Tensor:
    """Replace each element `a` by `callable(a, b, c)`, from `x` and `y`.

    >>> import ember
    >>> x = ember.tensor([1.0, 2.0])
    >>> ember.zeros(2).map2_(x, 10 * x, lambda a, b, c: a + b + c)
    tensor([11., 22.])
    """
    return _map_elements("map2_", callable, self, x, y)


def _map_elements(name: str, callable, first: Tensor, *others: Tensor) -> Tensor:
    for t in (first, *others):
        if t.requires_grad:
            raise RuntimeError(
                f"Can't call {name}() on Variable that requires grad. Use "
                f"var.detach().{name}() instead."
            )
    if first.device.type != "cpu":
        raise TypeError(f"{name} is only implemented on CPU tensors")
    columns = [first, *(t.expand_as(first) for t in others)]
    flat = [t.reshape(-1).tolist() for t in columns]
    values = [callable(*row) for row in zip(*flat, strict=True)]
    for value in values:
        if not isinstance(value, (int, float, complex)) and not hasattr(value, "item"):
            raise TypeError(
                f"{name}(): the function must return a number, not "
                f"{type(value).__name__}"
            )
    made = _C.tensor(values, dtype=first.dtype).reshape(first.shape)
    return first.copy_(made)


def _reversed(self: Tensor) -> Tensor:
    return self if self.dim() == 0 else self.flip(0)


def _cuda(
    self: Tensor, device=None, non_blocking=False, memory_format=_C.preserve_format
):
    """On the device "cuda", which EMBER_CUDA=opencl makes of OpenCL's."""
    from ember._device import of_kind

    return self.to(
        of_kind("cuda", device), non_blocking=non_blocking, memory_format=memory_format
    )


def _new(self: Tensor, *args, **kwargs) -> Tensor:
    """A tensor of the same dtype, by size or from data; `new_empty` says it better.

    >>> import ember
    >>> ember.zeros(1, dtype=ember.int8).new([1, 2])
    tensor([1, 2], dtype=torch.int8)
    """
    return legacy_constructor(*args, dtype=self.dtype, **kwargs)


def _storage(self: Tensor):
    """The tensor's memory as elements of its dtype; `untyped_storage()` is newer.

    >>> import ember
    >>> ember.tensor([1.0, 2.0]).storage().tolist()
    [1.0, 2.0]
    """
    from ember.storage import TypedStorage

    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


class _later:
    """A method (`of` in its module) that is imported when it is called or looked at."""

    def __init__(self, module: str, name: str, owner: str = "Tensor", of: str = ""):
        self._where = f"ember.{module}", of or name
        self.__name__ = name
        self.__qualname__ = f"{owner}.{name}"

    @property
    def __wrapped__(self) -> Any:
        from importlib import import_module

        module, name = self._where
        return getattr(import_module(module), name)

    def __call__(self, *args, **kwargs):
        return self.__wrapped__(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<function {self.__qualname__}>"


# Not in the body, where it would be the class's own.
_later.__doc__ = property(lambda self: self.__wrapped__.__doc__)  # type: ignore


def _later_static(module: str, name: str, owner: str = "Tensor", of: str = ""):
    """The same as a static method. That looks at docstrings, so there is none."""
    found = _later(module, name, owner, of)

    def method(*args, **kwargs):
        return found(*args, **kwargs)

    method.__name__, method.__qualname__ = name, found.__qualname__
    return staticmethod(method)


def legacy_constructor(
    *args: Any,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    size: Sizes | None = None,
) -> Tensor:
    """`Tensor(2, 3)`, `Tensor([1, 2])` and `Tensor(tensor)`.

    >>> import ember
    >>> ember.Tensor([1, 2])
    tensor([1., 2.])
    """
    if device is not None and _C.device(device).type != "cpu":
        raise RuntimeError(
            "legacy constructor expects device type: cpu but device type: "
            f"{_C.device(device).type} was passed"
        )
    if device is not None and len(args) == 1 and isinstance(args[0], Tensor):
        raise RuntimeError(
            "new(tensor, device=...) is not supported: use torch.as_tensor() instead"
        )
    kind = _C.get_default_dtype() if dtype is None else dtype
    if size is not None:
        if args:
            raise TypeError("new(): the size is given twice, as size= and before it")
        args = (_C.Size(size),)  # type: ignore[arg-type]
    if not args:
        return _C.empty(0, dtype=kind, device="cpu")
    first = args[0]
    if len(args) == 1:
        if isinstance(first, Tensor):
            if dtype is not None and first.dtype != dtype:
                raise TypeError(f"expected a tensor of {dtype} (got {first.dtype})")
            return first.detach()
        storage = getattr(first, "_untyped_storage", first)  # a typed one has it inside
        if isinstance(storage, _C.UntypedStorage):
            made = _C.empty(0, dtype=kind, device="cpu")
            return made.set_(first)
        if isinstance(first, _C.Size):
            return _C.empty(first, dtype=kind, device="cpu")
        if not hasattr(first, "__index__") or hasattr(first, "__len__"):
            if not hasattr(first, "__len__"):
                name = type(first).__name__
                raise TypeError(f"new(): data must be a sequence (got {name})")
            return _C.tensor(first, dtype=kind, device="cpu")
    return _C.empty(args, dtype=kind, device="cpu")


def _lu(self: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple:
    """Packed LU factors and pivots: see `ember.lu`.

    >>> import ember
    >>> LU, pivots = ember.tensor([[1.0, 2.0], [2.0, 2.0]]).lu()
    >>> LU
    tensor([[2.0000, 2.0000],
            [0.5000, 1.0000]])
    """
    from ember._functions.lowrank import lu

    return lu(self, pivot, get_infos)


def _absent(kind: str):
    """A method that would move to a device which there is not."""

    def move(self: Tensor, device=None, non_blocking=False, memory_format=None):
        raise AssertionError(
            f"ember is not compiled with {kind} enabled: it has no such devices. "
            "Use 'cpu', or 'opencl' for a GPU"
        )

    move.__doc__ = f"Raises: there are no devices of kind {kind}."
    return move


def _module_load(self: Tensor, other: Tensor, assign: bool = False) -> Tensor:
    """What `load_state_dict` makes of `other` for this tensor.

    >>> import ember
    >>> ember.zeros(2).module_load(ember.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    return other.detach() if assign else self.copy_(other).detach()


def _record_stream(self: Tensor, stream) -> None:
    """Tell that a stream uses the tensor, too: its memory waits for that once free."""
    if _C._means_device_kind(self.device.type, "opencl"):
        _C._opencl_record_stream(self, stream.device_index, stream.stream_id)


def _resize(self: Tensor, *sizes) -> Tensor:
    """Old: `reshape` says it better.

    >>> import ember
    >>> ember.arange(4).resize(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    return self.contiguous().view(*sizes)


def _resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """Old: `reshape_as` says it better.

    >>> import ember
    >>> ember.arange(2).resize_as(ember.zeros(2, 1))
    tensor([[0],
            [1]])
    """
    return self.contiguous().view(tensor.shape)


def _reinforce(self: Tensor, reward):
    """Gone: `ember.distributions` has the log-probabilities to use instead."""
    raise RuntimeError("reinforce() was removed. Use torch.distributions instead.")


def _gone(name: str, instead: str):
    """A method that PyTorch had; calling it says what to use."""

    def method(self: Tensor, *args, **kwargs):
        raise RuntimeError(
            "This function was deprecated since version 1.9 and is now removed: "
            f"{name}(). Use {instead}."
        )

    method.__doc__ = f"Gone: use {instead}."
    return method


def _storage_type(self: Tensor) -> type:
    """The class of storages of this dtype.

    >>> import ember
    >>> ember.zeros(2).storage_type().__name__
    'FloatStorage'
    """
    from ember import storage

    return getattr(storage, self.storage().pickle_storage_type())


def _setstate(self: Tensor, state: tuple) -> None:
    """Take over (storage, offset, size, stride), of old pickles."""
    self.set_(*state[:4])


def _is_distributed(self: Tensor) -> bool:
    """Whether it lies on several devices: never.

    >>> import ember
    >>> ember.zeros(2).is_distributed()
    False
    """
    return False


def _dequantize(self: Tensor) -> Tensor:
    """In float32: there are no quantized tensors.

    >>> import ember
    >>> ember.tensor([1, 2]).dequantize()
    tensor([1., 2.])
    """
    return self.to(_C.float32)


def _array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """The module with the functions of the Python array API standard."""
    from ember import array_api

    known = ("2021.12", "2022.12", "2023.12", "2024.12")
    if api_version is not None and api_version not in known:
        raise ValueError(
            f"__array_namespace__(): version {api_version!r} of the standard is not "
            f"one of {', '.join(known)}"
        )
    return array_api


def _repr_html(self: Tensor) -> str:
    """What notebooks show."""
    from ember.utils import _html

    return _html.tensor(self)


def _to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor on another device, as the array API standard calls it.

    >>> import ember
    >>> ember.zeros(2).to_device("cpu").device
    device(type='cpu')
    """
    if stream is not None:
        raise NotImplementedError("to_device(): streams are not supported")
    return self.to(device=device)


for _name in ("div", "idiv", "rdiv"):  # Python 2's names
    _operator = getattr(Tensor, f"__{_name.replace('div', 'truediv')}__")
    setattr(Tensor, f"__{_name}__", _operator)
for _name, _value in {"name": None, "volatile": False}.items():
    _always = property(lambda self, value=_value: value, doc=f"Always {_value}.")  # type: ignore
    setattr(Tensor, _name, _always)


def _get_hooks(self: Tensor) -> dict | None:
    """What `register_hook` was given, by number, or None."""
    idle = self.__dict__.get("_idle_hooks")
    return self._hooks_of() if idle is None else idle


def _fix_weakref(self) -> None:
    """Nothing: weak references to what came back to Python are valid as they are."""


def _set_hooks(self: Tensor, hooks: dict | None) -> None:
    if hooks is not None and not isinstance(hooks, dict):
        raise TypeError(f"_backward_hooks: expected a dict, got {type(hooks).__name__}")
    self.__dict__.pop("_idle_hooks", None)
    if not self.requires_grad:  # nothing will call them
        if hooks is not None:
            self.__dict__["_idle_hooks"] = hooks
        return
    (self._hooks_of() or {}).clear()
    for hook in (hooks or {}).values():
        self.register_hook(hook)


Tensor._backward_hooks = property(_get_hooks, _set_hooks)  # type: ignore
_GRAD_DTYPE = """The dtype of `grad`.

>>> import ember
>>> ember.zeros(2).grad_dtype
torch.float32
"""
Tensor.grad_dtype = property(lambda self: self.dtype, doc=_GRAD_DTYPE)

_SPARSE_METHODS = {
    "_convert": """
        to_dense to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc
        to_sparse_csr
        """,
    "_parts": """
        _coalesced_ _indices _nnz _values ccol_indices coalesce col_indices crow_indices
        dense_dim indices is_coalesced row_indices sparse_dim sparse_resize_
        sparse_resize_and_clear_ values
        """,
    "_copies": "resize_as_sparse_ sparse_mask",
    "_matmul": "smm sspaddmm",
}
for _module, _names in _SPARSE_METHODS.items():
    for _name in _names.split():
        setattr(Tensor, _name, _later(f"sparse.{_module}", _name))

Tensor.__torch_function__ = classmethod(_torch_function)  # type: ignore
Tensor._make_wrapper_subclass = _later_static(  # type: ignore
    "_dispatch.wrappers", "_make_wrapper_subclass", of="make_wrapper_subclass"
)
for _name, _method in {
    "__deepcopy__": _deepcopy,
    "__reduce_ex__": _reduce_ex,
    "__format__": _format,
    "__repr__": _repr,
    "__reversed__": _reversed,
    "apply_": _apply,
    "cuda": _cuda,
    "ipu": _absent("IPU"),
    "mtia": _absent("MTIA"),
    "xpu": _absent("XPU"),
    "__setstate__": _setstate,
    "dequantize": _dequantize,
    "eig": _gone("eig", "torch.linalg.eig or torch.linalg.eigvals"),
    "lstsq": _gone("lstsq", "torch.linalg.lstsq, whose arguments are the other way"),
    "solve": _gone("solve", "torch.linalg.solve, whose arguments are the other way"),
    "symeig": _gone("symeig", "torch.linalg.eigh or torch.linalg.eigvalsh"),
    "is_distributed": _is_distributed,
    "module_load": _module_load,
    "record_stream": _record_stream,
    "reinforce": _reinforce,
    "resize": _resize,
    "resize_as": _resize_as,
    "storage_type": _storage_type,
    "lu": _lu,
    "_fix_weakref": _fix_weakref,
    "map2_": _map2,
    "map_": _map,
    "new": _new,
    "storage": _storage,
    "to_device": _to_device,
    "_repr_html_": _repr_html,
    "__array_namespace__": _array_namespace,
}.items():
    if _name.startswith("__") or not hasattr(Tensor, _name):
        _method.__name__ = _name
        _method.__qualname__ = f"Tensor.{_name}"
        setattr(Tensor, _name, _method)

_C.UntypedStorage._fix_weakref = _fix_weakref  # type: ignore
_STORAGE_METHODS = """
    byteswap cuda get_device is_pinned new pin_memory to type=type_of
    bfloat16=to_bfloat16 bool=to_bool byte=to_byte char=to_char double=to_double
    complex_double=to_complex_double complex_float=to_complex_float float=to_float
    float8_e4m3fn=to_float8_e4m3fn float8_e4m3fnuz=to_float8_e4m3fnuz
    float8_e5m2=to_float8_e5m2 float8_e5m2fnuz=to_float8_e5m2fnuz
    half=to_half int=to_int long=to_long short=to_short
    _swap_data_ptr_=swap_data
    """
for _name, _, _other in (n.partition("=") for n in _STORAGE_METHODS.split()):
    _method = _later("_storage_methods", _name, "UntypedStorage", _other)
    setattr(_C.UntypedStorage, _name, _method)
for _name in ("from_buffer", "from_file"):
    _method = _later_static("_storage_methods", _name, "UntypedStorage")
    setattr(_C.UntypedStorage, _name, _method)
_method = _later("_storage_methods", "filename", "UntypedStorage")
_C.UntypedStorage.filename = property(
    _method, doc="The file that writes go to, or None."
)
for _name in ("is_hpu", "is_sparse_csr"):
    setattr(_C.UntypedStorage, _name, False)


__getattr__ = _lazy.missing(__name__)
