"""What names of torch in a pickle mean here: how tensors are rebuilt, dtypes, classes.

Only what any checkpoint may call is in this table; it is all that restricted loading
knows, so a function here must stand any arguments.
"""

import copyreg
import pickle
from collections import Counter, OrderedDict

import ember
from ember.serialization import _storage_io as io

_DTYPES = (
    "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 uint16 uint32 "
    "uint64 bool complex32 complex64 complex128 float8_e4m3fn float8_e5m2 "
    "float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu"
).split()


def _rebuild_tensor(stored, offset, size, stride, requires_grad=False, *rest):
    if not isinstance(stored, io.typed_class()):
        raise pickle.UnpicklingError("load(): a tensor without a typed storage")
    t = io.tensor_over(stored.untyped(), stored.dtype, offset, size, stride)
    return t.requires_grad_() if requires_grad else t


def _rebuild_untyped(stored, offset, size, stride, requires_grad, hooks, dtype, *rest):
    untyped = getattr(stored, "untyped", None)
    if untyped is None or not isinstance(dtype, ember.dtype):
        raise pickle.UnpicklingError("load(): a tensor without a storage or a dtype")
    t = io.tensor_over(untyped(), dtype, offset, size, stride)
    return t.requires_grad_() if requires_grad else t


def _rebuild_meta(dtype, size, stride, requires_grad=False):
    """A tensor of the meta device, which has no storage."""
    if not isinstance(dtype, ember.dtype):
        raise pickle.UnpicklingError(f"load(): a dtype that is {io.brief(dtype)}")
    for numbers in (size, stride):
        if not isinstance(numbers, (tuple, list)):
            raise pickle.UnpicklingError(f"load(): sizes that are {io.brief(numbers)}")
        io.check_numbers(numbers)
    t = ember.empty_strided(tuple(size), tuple(stride), dtype=dtype, device="meta")
    return t.requires_grad_() if requires_grad else t


def _rebuild_sparse(layout, parts):
    from ember.sparse._tensor import rebuild

    if type(parts) is not tuple or not isinstance(layout, type(ember.strided)):
        raise pickle.UnpicklingError("load(): a sparse tensor without its parts")
    for part in parts:
        if isinstance(part, ember.Tensor):
            # Indices are looked at, so there may not be more of them than were stored.
            if part.nbytes > part.untyped_storage().nbytes():
                raise pickle.UnpicklingError("load(): a sparse tensor of repeats")
        elif not (part is None or isinstance(part, (bool, tuple, ember.Size))):
            raise pickle.UnpicklingError(f"load(): a sparse tensor of {io.brief(part)}")
    return rebuild(layout, parts)


def _get_layout(name):
    layouts = "strided sparse_coo sparse_csr sparse_csc sparse_bsr sparse_bsc".split()
    short = name.removeprefix("torch.") if type(name) is str else ""
    if short not in layouts:
        raise pickle.UnpicklingError(f"load(): unknown layout {io.brief(name)}")
    return getattr(ember, short)


def set_state(target, state) -> None:
    """Give an object attributes. They are of the object alone, whatever their names.

    A pair is the attributes, and those that the object's class has slots for.
    """
    if type(state) is tuple and len(state) == 2 and type(state[1]) is dict:
        own = copyreg._slotnames(type(target))  # type: ignore[attr-defined]
        slots = {n: v for n, v in state[1].items() if n in own}
        rest = {n: v for n, v in state[1].items() if n not in own}
        state = {**(state[0] or {}), **rest}
        for name, value in slots.items():
            setattr(target, name, value)
    if not isinstance(state, dict) or not all(type(name) is str for name in state):
        raise pickle.UnpicklingError(
            "Weights only load failed: a state that is not a dictionary of names"
        )
    target.__dict__.update(state)


def _rebuild_parameter(data, requires_grad, hooks):
    if not isinstance(data, ember.Tensor):
        raise pickle.UnpicklingError(f"load(): a parameter of {io.brief(data)}")
    return ember.nn.Parameter(data, bool(requires_grad))


def _rebuild_parameter_with_state(data, requires_grad, hooks, state):
    made = _rebuild_parameter(data, requires_grad, hooks)
    set_state(made, state)
    return made


def _rebuild_from_type(func, kind, args, state):
    if not any(func is known for known in _REBUILDERS) or type(args) is not tuple:
        raise pickle.UnpicklingError("load(): a tensor that is made in an unknown way")
    made = func(*args)
    if isinstance(kind, type) and issubclass(kind, ember.Tensor):
        if not isinstance(made, kind):
            made = made.as_subclass(kind)
        if hasattr(kind, "__setstate__") and kind.__setstate__ is not _OWN_SETSTATE:
            made.__setstate__(state)
            return made
    if isinstance(state, (dict, tuple)):
        set_state(made, state)
    return made


_OWN_SETSTATE = getattr(ember.Tensor, "__setstate__", None)


def _rebuild_wrapper(kind, dtype, size, stride, offset, layout, device, requires_grad):
    if not (isinstance(kind, type) and issubclass(kind, ember.Tensor)):
        raise pickle.UnpicklingError("load(): a wrapper that is no tensor subclass")
    return ember.Tensor._make_wrapper_subclass(
        kind,
        size,
        strides=stride,
        dtype=dtype,
        device=device,
        requires_grad=bool(requires_grad),
    )


_REBUILDERS = (
    _rebuild_tensor,
    _rebuild_meta,
    _rebuild_untyped,
    _rebuild_parameter,
    _rebuild_parameter_with_state,
    _rebuild_wrapper,
)


def _encode(text, encoding="latin1"):
    """How protocol 2 writes bytes."""
    if type(text) is not str or type(encoding) is not str:
        raise pickle.UnpicklingError(f"load(): bytes made of {io.brief(text)}")
    if encoding not in ("latin1", "latin-1", "utf-8", "ascii"):
        raise pickle.UnpicklingError(f"load(): bytes in the encoding {encoding!r:.40}")
    return text.encode(encoding)


def _bytearray(data=b"", encoding="latin1"):
    """A bytearray of given bytes; never one of a given size."""
    if isinstance(data, str):
        return bytearray(_encode(data, encoding))
    if not isinstance(data, (bytes, bytearray)):
        raise pickle.UnpicklingError("load(): a bytearray that is not made of bytes")
    return bytearray(data)


def known_names() -> dict:
    """Names of torch that have a meaning of their own here."""
    utils = "torch._utils"
    known = {
        (utils, "_rebuild_tensor"): _rebuild_tensor,
        (utils, "_rebuild_tensor_v2"): _rebuild_tensor,
        (utils, "_rebuild_tensor_v3"): _rebuild_untyped,
        (utils, "_rebuild_meta_tensor_no_storage"): _rebuild_meta,
        (utils, "_rebuild_sparse_tensor"): _rebuild_sparse,
        ("torch.serialization", "_get_layout"): _get_layout,
        (utils, "_rebuild_parameter"): _rebuild_parameter,
        (utils, "_rebuild_parameter_with_state"): _rebuild_parameter_with_state,
        (utils, "_rebuild_wrapper_subclass"): _rebuild_wrapper,
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
    for dtype, name in io.CLASS_NAMES.items():
        known["torch", name] = dtype
    known["torch.storage", "UntypedStorage"] = None
    known["torch", "UntypedStorage"] = None
    for name in _DTYPES:
        if hasattr(ember, name):
            known["torch", name] = getattr(ember, name)
    for module, name in (("torch", "Tensor"), ("torch.nn.parameter", "Parameter")):
        known[module, name] = only_a_name
    for name in io.CLASS_NAMES.values():  # in the oldest files
        known["torch", name.replace("Storage", "Tensor")] = only_a_name
    return known


def only_a_name(*args):
    raise pickle.UnpicklingError("load(): a tensor class may be named but not called")
