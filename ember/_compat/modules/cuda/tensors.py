"""`torch.cuda.FloatTensor` and its kin, storages too: accelerate and old programs ask
whether a tensor is one, or make one, which needs the device."""

from __future__ import annotations

from typing import Any

import ember
from ember import cuda

_NAMES = {
    "BFloat16": "bfloat16",
    "Bool": "bool",
    "Byte": "uint8",
    "Char": "int8",
    "Double": "float64",
    "Float": "float32",
    "Half": "float16",
    "Int": "int32",
    "Long": "int64",
    "Short": "int16",
}


class _Meta(type):
    dtype: ember.dtype

    def __instancecheck__(cls, obj: object) -> bool:
        return isinstance(obj, ember.Tensor) and obj.is_cuda and obj.dtype == cls.dtype


def _tensor_class(name: str) -> type:
    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        if not cuda.is_available():
            raise TypeError(
                f"type torch.cuda.{name} not available: ember is not compiled with "
                "CUDA enabled"
            )
        return getattr(ember, name)(*args, **kwargs).cuda()

    dtype = getattr(ember, _NAMES[name.removesuffix("Tensor")])
    space = {"__new__": __new__, "dtype": dtype, "__module__": "ember.cuda"}
    return _Meta(name, (), space)


def _storage_class(name: str) -> type:
    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"torch.cuda.{name}: make a tensor on the device instead")

    return type(name, (), {"__new__": __new__, "__module__": "ember.cuda"})


for _kind in _NAMES:
    globals()[_kind + "Tensor"] = _tensor_class(_kind + "Tensor")
for _kind in [*_NAMES, "ComplexFloat", "ComplexDouble"]:
    globals()[_kind + "Storage"] = _storage_class(_kind + "Storage")
