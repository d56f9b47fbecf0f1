"""sparse.FloatTensor and its kin: constructors and `isinstance` tests by dtype."""

from typing import Any

import ember
from ember.sparse._create import sparse_coo_tensor
from ember.sparse._tensor import SparseTensor


class _SparseType(type):
    """A class whose instances are the COO tensors of one dtype."""

    dtype: Any = None
    _legacy_name = ""

    def __instancecheck__(cls, obj: object) -> bool:
        return isinstance(obj, SparseTensor) and obj.type() == cls._legacy_name

    def __call__(cls, *args, **options):
        """(), (sizes ...), (indices, values) or (indices, values, size)."""
        if not args:
            return sparse_coo_tensor(size=(0,), dtype=cls.dtype)
        if isinstance(args[0], (int, ember.Size)):
            size = args if isinstance(args[0], int) else args[0]
            return sparse_coo_tensor(size=size, dtype=cls.dtype)
        if args[1].dtype != cls.dtype:
            raise TypeError(
                f"{cls._legacy_name}: expected values of {cls.dtype}, got "
                f"{args[1].dtype}"
            )
        return sparse_coo_tensor(*args, **options)

    def __repr__(cls) -> str:
        return f"<class '{cls._legacy_name}'>"


def _make(name: str, dtype) -> _SparseType:
    doc = f"Legacy constructor of {dtype} tensors in COO layout."
    body = {"dtype": dtype, "_legacy_name": f"torch.sparse.{name}", "__doc__": doc}
    return _SparseType(name, (), body)


FloatTensor = _make("FloatTensor", ember.float32)
DoubleTensor = _make("DoubleTensor", ember.float64)
HalfTensor = _make("HalfTensor", ember.float16)
BFloat16Tensor = _make("BFloat16Tensor", ember.bfloat16)
LongTensor = _make("LongTensor", ember.int64)
IntTensor = _make("IntTensor", ember.int32)
ShortTensor = _make("ShortTensor", ember.int16)
CharTensor = _make("CharTensor", ember.int8)
ByteTensor = _make("ByteTensor", ember.uint8)
