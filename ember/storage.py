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

    def __init__(self, size: int = 0, *, wrap_storage=None, dtype=None, device=None):
        self.dtype = ember.get_default_dtype() if dtype is None else dtype
        if wrap_storage is None:
            nbytes = size * self.dtype.itemsize
            wrap_storage = UntypedStorage(nbytes, device=device)
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
        values = self.tolist()[index]
        return values

    def __setitem__(self, index, value) -> None:
        self._tensor()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __repr__(self) -> str:
        return f"TypedStorage(dtype={self.dtype}, size={self.size()})"
