"""Storages: blocks of memory that tensors are views of."""

import ember
from ember._C import UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


class TypedStorage:
    """A storage seen as elements of one dtype. Deprecated: use `untyped_storage()`.

    >>> import ember
    >>> ember.ones(2).storage().tolist()
    [1.0, 1.0]
    """

    def __init__(self, size=0, *, wrap_storage=None, dtype=None, device=None):
        self.dtype = ember.get_default_dtype() if dtype is None else dtype
        if wrap_storage is None and isinstance(size, int):
            nbytes = size * self.dtype.itemsize
            wrap_storage = UntypedStorage(nbytes, device=device)
        elif wrap_storage is None:  # a sequence of elements
            values = ember.tensor(size, dtype=self.dtype, device=device)
            wrap_storage = values.untyped_storage()
        self._untyped_storage = wrap_storage

    def _tensor(self) -> "ember.Tensor":
        storage, size = self._untyped_storage, (self.size(),)
        return ember._C._tensor_from_storage(storage, self.dtype, 0, size, (1,))

    @property
    def device(self) -> "ember.device":
        """Where the memory is."""
        return self._untyped_storage.device

    def untyped(self) -> UntypedStorage:
        """The memory without a dtype."""
        return self._untyped_storage

    def size(self) -> int:
        """Number of elements."""
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    def nbytes(self) -> int:
        """Bytes of memory."""
        return self._untyped_storage.nbytes()

    def element_size(self) -> int:
        """Bytes per element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """Address of the memory."""
        return self._untyped_storage.data_ptr()

    def resize_(self, size: int) -> "TypedStorage":
        """Change the number of elements, keeping those that fit."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def clone(self) -> "TypedStorage":
        """A copy."""
        storage = self._untyped_storage.clone()
        return TypedStorage(wrap_storage=storage, dtype=self.dtype)

    def fill_(self, value) -> "TypedStorage":
        """Set every element."""
        self._tensor().fill_(value)
        return self

    def is_shared(self) -> bool:
        """Whether other processes have mapped the memory too."""
        return self._untyped_storage.is_shared()

    def tolist(self) -> list:
        """The elements as a list."""
        return self._tensor().tolist()

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, index):
        return self.tolist()[index]

    def __setitem__(self, index, value) -> None:
        self._tensor()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __repr__(self) -> str:
        return f"TypedStorage(dtype={self.dtype}, size={self.size()})"


def _of(name: str, dtype) -> type:
    """The class of storages of one dtype."""

    def __init__(self, size=0, **options):
        TypedStorage.__init__(self, size, **{"dtype": dtype, **options})

    doc = f"A storage of {dtype} elements."
    return type(name, (TypedStorage,), {"__init__": __init__, "__doc__": doc})


FloatStorage = _of("FloatStorage", ember.float32)
DoubleStorage = _of("DoubleStorage", ember.float64)
HalfStorage = _of("HalfStorage", ember.float16)
BFloat16Storage = _of("BFloat16Storage", ember.bfloat16)
LongStorage = _of("LongStorage", ember.int64)
IntStorage = _of("IntStorage", ember.int32)
ShortStorage = _of("ShortStorage", ember.int16)
CharStorage = _of("CharStorage", ember.int8)
ByteStorage = _of("ByteStorage", ember.uint8)
BoolStorage = _of("BoolStorage", ember.bool)
ComplexFloatStorage = _of("ComplexFloatStorage", ember.complex64)
ComplexDoubleStorage = _of("ComplexDoubleStorage", ember.complex128)
