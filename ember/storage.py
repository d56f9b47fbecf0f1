"""Storages: blocks of memory that tensors are views of."""

import ember
from ember import _storage_methods
from ember._C import UntypedStorage
from ember._lazy import missing

__all__ = ["TypedStorage", "UntypedStorage"]


class _Kind(type):
    """The type of storage classes: what holds elements of one dtype is an instance of
    the class of that dtype."""

    def __instancecheck__(cls, obj: object) -> bool:
        if super().__instancecheck__(obj):
            return True
        own = vars(cls).get("dtype")
        return own is not None and type(obj) is TypedStorage and obj.dtype == own


class TypedStorage(metaclass=_Kind):
    """A storage seen as elements of one dtype. Deprecated: use `untyped_storage()`.

    >>> import ember
    >>> ember.ones(2).storage().tolist()
    [1.0, 1.0]
    """

    def __init__(
        self, size=0, *, wrap_storage=None, dtype=None, device=None, _internal=False
    ):
        self.dtype = ember.get_default_dtype() if dtype is None else dtype
        if wrap_storage is None and isinstance(size, int):
            nbytes = size * self.dtype.itemsize
            wrap_storage = UntypedStorage(nbytes, device=device)
        elif wrap_storage is None:  # a sequence of elements
            values = ember.tensor(size, dtype=self.dtype, device=device)
            wrap_storage = values.untyped_storage()
        self._untyped_storage = wrap_storage

    is_cuda = is_hpu = is_sparse = False

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def _tensor(self) -> "ember.Tensor":
        return _storage_methods.tensor_of(self._untyped_storage, self.dtype)

    def _like(self, storage: UntypedStorage) -> "TypedStorage":
        """Another storage, of the same dtype."""
        return TypedStorage(wrap_storage=storage, dtype=self.dtype)

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
        return self._like(self._untyped_storage.clone())

    def copy_(self, source, non_blocking: bool = False) -> "TypedStorage":
        """Copy the bytes of another storage."""
        self._untyped_storage.copy_(getattr(source, "_untyped_storage", source))
        return self

    def to(self, *, device, non_blocking: bool = False) -> "TypedStorage":
        """The storage on a device."""
        return self._like(self._untyped_storage.to(device=device))

    def cpu(self) -> "TypedStorage":
        """The storage in host memory."""
        return self._like(self._untyped_storage.cpu())

    def cuda(self, device=None, non_blocking: bool = False):
        """Not available: ember's accelerators are OpenCL devices."""
        return self._untyped_storage.cuda()

    def type(self, dtype=None, non_blocking: bool = False):
        """The name of the type; or, given one, the elements as that type.

        >>> import ember
        >>> ember.ones(2).storage().type()
        'torch.FloatStorage'
        """
        if dtype is None:
            return f"torch.{self.pickle_storage_type()}"
        wanted = _storage_methods.named(dtype)
        if wanted is UntypedStorage:
            return self._untyped_storage
        return self._convert(wanted.dtype)

    def _convert(self, dtype) -> "TypedStorage":
        return _storage_methods.converted(self._untyped_storage, self.dtype, dtype)

    def pickle_storage_type(self) -> str:
        """The name of the class of storages of this dtype."""
        for name, kind in globals().items():
            if getattr(kind, "dtype", None) == self.dtype:
                return name
        raise KeyError(self.dtype)

    def fill_(self, value) -> "TypedStorage":
        """Set every element."""
        self._tensor().fill_(value)
        return self

    @classmethod
    def from_buffer(cls, *args, dtype=None, device=None, **kwargs) -> "TypedStorage":
        """A copy of a buffer's elements, turned to this machine's byte order.

        >>> import ember
        >>> ember.ShortStorage.from_buffer(bytes([0, 1, 0, 2]), "big").tolist()
        [1, 2]
        """
        own = getattr(cls, "dtype", None)
        if own is not None and (dtype is not None or device is not None):
            raise RuntimeError(
                "from_buffer: 'dtype' and 'device' can only be specified in "
                "UntypedStorage.from_buffer and TypedStorage.from_buffer"
            )
        kind = own or dtype or ember.get_default_dtype()
        made = _storage_methods.from_buffer(*args, dtype=kind, **kwargs)
        if device is not None:
            made = made.to(device=device)
        return TypedStorage(wrap_storage=made, dtype=kind)

    @classmethod
    def from_file(cls, filename, shared: bool = False, size: int = 0) -> "TypedStorage":
        """`size` elements of a file; with `shared`, writes reach the file."""
        kind = getattr(cls, "dtype", None)
        if kind is None:
            raise RuntimeError("from_file can only be called on derived classes")
        nbytes = size * kind.itemsize
        made = _storage_methods.map_file(filename, shared, nbytes)
        return cls(wrap_storage=made)

    @property
    def filename(self) -> str | None:
        """The file that writes go to, or None."""
        return self._untyped_storage.filename

    def get_device(self) -> int | None:
        """The number of the device; None on the CPU."""
        return self.device.index

    def is_pinned(self, device="cuda") -> bool:
        """Whether a device can read the memory by itself: no."""
        return False

    def pin_memory(self, device="cuda") -> "TypedStorage":
        """The storage itself: memory is not pinned, as for tensors."""
        return self

    def resizable(self) -> bool:
        """Whether `resize_` works."""
        return self._untyped_storage.resizable()

    def is_shared(self) -> bool:
        """Whether other processes have mapped the memory too."""
        return self._untyped_storage.is_shared()

    def share_memory_(self) -> "TypedStorage":
        """Move the memory to where other processes can map it."""
        self._untyped_storage.share_memory_()
        return self

    def tolist(self) -> list:
        """The elements as a list."""
        return self._tensor().tolist()

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise RuntimeError(
                "slices are only supported in UntypedStorage.__getitem__"
            )
        return self._tensor()[index].item()

    def __setitem__(self, index, value) -> None:
        self._tensor()[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def __repr__(self) -> str:
        return f"TypedStorage(dtype={self.dtype}, size={self.size()})"


def _conversion(name: str, dtype):
    def convert(self: TypedStorage) -> TypedStorage:
        return self._convert(dtype)

    convert.__name__ = name
    convert.__doc__ = f"The elements as {dtype}."
    return convert


for _name, _dtype in _storage_methods.DTYPES.items():
    setattr(TypedStorage, _name, _conversion(_name, _dtype))


def _of(name: str, dtype) -> type:
    """The class of storages of one dtype."""

    def __init__(self, size=0, **options):
        TypedStorage.__init__(self, size, **{"dtype": dtype, **options})

    doc = f"A storage of {dtype or 'the default dtype'} elements."
    body = {"__init__": __init__, "__doc__": doc, "dtype": dtype}
    return _Kind(name, (TypedStorage,), body)


Storage = _of("Storage", None)
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

__getattr__ = missing(__name__)
