"""Methods of Tensor that are easier in Python than in C++: copies, pickles, legacy.

They are put on the type of the core when ember is imported, so this module imports
nothing but the core.
"""

from ember import _C
from ember._C import Tensor


def is_tensor(obj: object) -> bool:
    """Whether `obj` is a tensor.

    >>> import ember
    >>> ember.is_tensor(ember.ones(2)), ember.is_tensor(2)
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: object) -> bool:
    """Whether `obj` is a storage."""
    return isinstance(obj, _C.UntypedStorage)


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
    return made


def _reduce_ex(self: Tensor, protocol: int) -> tuple:
    storage = None if self.is_meta else self.untyped_storage()
    args = (storage, *_geometry(self), self.requires_grad)
    if type(self) is Tensor and not self.__dict__:
        return _rebuild, args
    return _rebuild_subclass, (type(self), args, self.__dict__)


def _rebuild(storage, dtype, offset, size, stride, requires_grad) -> Tensor:
    if storage is None:
        made = _C.empty_strided(size, stride, dtype=dtype, device="meta")
    else:
        made = _C._tensor_from_storage(storage, dtype, offset, size, stride)
    return made.requires_grad_() if requires_grad else made


def _rebuild_subclass(cls: type, args: tuple, state: dict) -> Tensor:
    made = _rebuild(*args)
    if cls is not Tensor:
        made = Tensor._make_subclass(cls, made, args[-1])
    made.__dict__.update(state)
    return made


# --- the rest -------------------------------------------------------------------------


def _format(self: Tensor, spec: str) -> str:
    if self.dim() == 0 and not self.is_meta and type(self) is Tensor:
        return format(self.item(), spec)
    return object.__format__(self, spec)


def _apply(self: Tensor, callable) -> Tensor:
    """Replace each element by `callable(element)`; slow, and on the CPU only."""
    return _map_elements("apply_", callable, self)


def _map(self: Tensor, tensor: Tensor, callable) -> Tensor:
    """Replace each element `a` by `callable(a, b)`, `b` taken from `tensor`."""
    return _map_elements("map_", callable, self, tensor)


def _map2(self: Tensor, x: Tensor, y: Tensor, callable) -> Tensor:
    """Replace each element `a` by `callable(a, b, c)`, from `x` and `y`."""
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
    made = _C.tensor(values, dtype=first.dtype).reshape(first.shape)
    return first.copy_(made)


def _reversed(self: Tensor) -> Tensor:
    return self if self.dim() == 0 else self.flip(0)


def _cuda(self: Tensor, device=None, non_blocking=False, memory_format=None):
    """Not available: ember's accelerators are OpenCL devices."""
    raise AssertionError("Torch not compiled with CUDA enabled")


def _new(self: Tensor, *args, **kwargs) -> Tensor:
    """A tensor of the same dtype, by size or from data; `new_empty` says it better."""
    return legacy_constructor(*args, dtype=self.dtype, **kwargs)


def _storage(self: Tensor):
    """The tensor's memory as elements of its dtype; `untyped_storage()` is newer."""
    from ember.storage import TypedStorage

    return TypedStorage(wrap_storage=self.untyped_storage(), dtype=self.dtype)


def legacy_constructor(*args, dtype=None, device=None) -> Tensor:
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
    kind = _C.get_default_dtype() if dtype is None else dtype
    if not args:
        return _C.empty(0, dtype=kind, device="cpu")
    first = args[0]
    if len(args) == 1:
        if isinstance(first, Tensor):
            if dtype is not None and first.dtype != dtype:
                raise TypeError(f"expected a tensor of {dtype} (got {first.dtype})")
            return first.detach()
        if isinstance(first, _C.UntypedStorage):
            size = first.nbytes() // kind.itemsize
            return _C._tensor_from_storage(first, kind, 0, (size,), (1,))
        if isinstance(first, _C.Size):
            return _C.empty(first, dtype=kind, device="cpu")
        if not hasattr(first, "__index__") or hasattr(first, "__len__"):
            if not hasattr(first, "__len__"):
                name = type(first).__name__
                raise TypeError(f"new(): data must be a sequence (got {name})")
            return _C.tensor(first, dtype=kind, device="cpu")
    return _C.empty(args, dtype=kind, device="cpu")


for _name, _method in {
    "__deepcopy__": _deepcopy,
    "__reduce_ex__": _reduce_ex,
    "__format__": _format,
    "__reversed__": _reversed,
    "apply_": _apply,
    "cuda": _cuda,
    "map2_": _map2,
    "map_": _map,
    "new": _new,
    "storage": _storage,
}.items():
    if _name.startswith("__") or not hasattr(Tensor, _name):
        _method.__name__ = _name
        _method.__qualname__ = f"Tensor.{_name}"
        setattr(Tensor, _name, _method)
Tensor.__rdiv__ = Tensor.__rtruediv__
