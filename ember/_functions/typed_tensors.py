"""FloatTensor and its kin: constructors and `isinstance` tests by dtype."""

from typing import Any

import ember
from ember._tensor import legacy_constructor


class _TensorType(type):
    """A class whose instances are the tensors of one dtype."""

    dtype: Any = None
    _legacy_name = ""

    def __new__(cls, name: str, bases: tuple, body: dict):
        if bases:
            base = bases[0]._legacy_name
            raise TypeError(f"type '{base}' is not an acceptable base type")
        return super().__new__(cls, name, bases, body)

    def __instancecheck__(cls, obj: object) -> bool:
        if not isinstance(obj, ember.Tensor) or obj.layout is not ember.strided:
            return False
        return obj.is_cpu and obj.dtype == cls.dtype

    def __call__(cls, *args, **kwargs):
        return legacy_constructor(*args, dtype=cls.dtype, **kwargs)

    def __repr__(cls) -> str:
        return f"<class '{cls._legacy_name}'>"


def _make(name: str, dtype) -> _TensorType:
    doc = f"Legacy constructor of {dtype} tensors on the CPU."
    body = {"dtype": dtype, "_legacy_name": f"torch.{name}", "__doc__": doc}
    return _TensorType(name, (), body)


FloatTensor = _make("FloatTensor", ember.float32)
DoubleTensor = _make("DoubleTensor", ember.float64)
HalfTensor = _make("HalfTensor", ember.float16)
BFloat16Tensor = _make("BFloat16Tensor", ember.bfloat16)
LongTensor = _make("LongTensor", ember.int64)
IntTensor = _make("IntTensor", ember.int32)
ShortTensor = _make("ShortTensor", ember.int16)
CharTensor = _make("CharTensor", ember.int8)
ByteTensor = _make("ByteTensor", ember.uint8)
BoolTensor = _make("BoolTensor", ember.bool)


def set_default_tensor_type(t) -> None:
    """Set the default dtype by the name or class of a tensor type; deprecated.

    >>> import ember
    >>> ember.set_default_tensor_type("torch.FloatTensor")
    """
    import warnings

    warnings.warn(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        "torch.set_default_dtype() and torch.set_default_device() as alternatives.",
        stacklevel=2,
    )
    if not isinstance(t, str | _TensorType):
        raise TypeError(f"invalid type object: {t!r}")
    name = t if isinstance(t, str) else t._legacy_name
    found = globals().get(name.rpartition(".")[2])
    if not isinstance(found, _TensorType):
        raise TypeError(f"invalid type object: {t!r}")
    ember.set_default_dtype(found.dtype)
