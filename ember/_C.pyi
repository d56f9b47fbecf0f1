# Written by `make stubs` from the schemas of the compiled module. Do not edit.
# mypy: disable-error-code="overload-overlap,overload-cannot-match,override,misc"
from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from builtins import type as _builtin_type
from collections.abc import Callable as _Callable
from collections.abc import Iterator as _Iterator
from collections.abc import Sequence as _Sequence
from typing import Any, Literal, NamedTuple, Self, SupportsIndex, TypeAlias, TypeVar
from typing import overload

import numpy as _np

from ember.utils.hooks import RemovableHandle as _RemovableHandle

_S = TypeVar("_S")
_ndarray: TypeAlias = _np.ndarray[Any, Any]

_Number: TypeAlias = _bool | _int | _float | _complex
_Operand: TypeAlias = Tensor | _Number
_Dims: TypeAlias = _int | _Sequence[_int] | None
_Size: TypeAlias = _Sequence[_int]
_dtype: TypeAlias = dtype
_device: TypeAlias = device
_layout: TypeAlias = layout
_DtypeLike: TypeAlias = _dtype | type
_DeviceLike: TypeAlias = _device | _str | _int

_extension_api: Any
_global_hooks: Any
_opencl_generator: Generator
_ops: Any
_schemas: Any
_traits: Any
bfloat16: dtype
bool: dtype
cdouble: dtype
cfloat: dtype
chalf: dtype
channels_last: memory_format
channels_last_3d: memory_format
complex128: dtype
complex32: dtype
complex64: dtype
contiguous_format: memory_format
default_generator: Generator
double: dtype
float: dtype
float16: dtype
float32: dtype
float64: dtype
float8_e4m3fn: dtype
float8_e4m3fnuz: dtype
float8_e5m2: dtype
float8_e5m2fnuz: dtype
float8_e8m0fnu: dtype
half: dtype
int: dtype
int16: dtype
int32: dtype
int64: dtype
int8: dtype
jagged: layout
long: dtype
preserve_format: memory_format
short: dtype
sparse_bsc: layout
sparse_bsr: layout
sparse_coo: layout
sparse_csc: layout
sparse_csr: layout
strided: layout
uint16: dtype
uint32: dtype
uint64: dtype
uint8: dtype

class _min_max(NamedTuple):
    min: Tensor
    max: Tensor

class _values_indices(NamedTuple):
    values: Tensor
    indices: Tensor

class _mantissa_exponent(NamedTuple):
    mantissa: Tensor
    exponent: Tensor

class _a_tau(NamedTuple):
    a: Tensor
    tau: Tensor

class _hist_bin_edges(NamedTuple):
    hist: Tensor
    bin_edges: Tensor

class _Q_R(NamedTuple):
    Q: Tensor
    R: Tensor

class _sign_logabsdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _U_S_V(NamedTuple):
    U: Tensor
    S: Tensor
    V: Tensor

class _solution_cloned_coefficient(NamedTuple):
    solution: Tensor
    cloned_coefficient: Tensor

class _LU_pivots_info(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class _P_L_U(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class DisableTorchFunction:
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...

class DisableTorchFunctionSubclass:
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...

class Generator:
    def __init__(self, device: _DeviceLike | None = ...) -> None: ...
    def clone_state(self) -> Generator:
        """A new generator in the same state."""
    @property
    def device(self) -> _device: ...
    def get_offset(self) -> _int:
        """Raises: generators on the CPU have none."""
    def get_state(self) -> Tensor:
        """The state as a tensor of bytes, in torch's format."""
    def initial_seed(self) -> _int:
        """The last seed."""
    def manual_seed(self, seed: _int) -> Generator:
        """Seeds the generator with a 64-bit number, and returns it."""
    def seed(self) -> _int:
        """Seeds the generator from the system's entropy; returns the seed."""
    def set_offset(self, offset: _int) -> Generator:
        """Raises: generators on the CPU have none."""
    def set_state(self, new_state: Tensor) -> Generator:
        """Restores what get_state() returned."""

class Node:
    @property
    def _input_metadata(self) -> Any: ...
    @_input_metadata.setter
    def _input_metadata(self, value: Any) -> None: ...
    def _sequence_nr(self) -> _int:
        """The order of the node among those of its thread."""
    def _set_sequence_nr(self, *args: Any, **kwargs: Any) -> Any: ...
    @property
    def metadata(self) -> dict[Any, Any]: ...
    def name(self) -> _str:
        """The name of the op's gradient, such as 'MulBackward0'."""
    @property
    def next_functions(self) -> tuple[tuple[Node | None, _int], ...]: ...
    def register_hook(self, fn: _Callable[..., Any]) -> _RemovableHandle:
        """Calls hook(grad_inputs, grad_outputs) after the node has run."""
    def register_prehook(self, fn: _Callable[..., Any]) -> _RemovableHandle:
        """Calls hook(grad_outputs) before the node runs."""
    @property
    def requires_grad(self) -> _bool: ...
    @property
    def variable(self) -> Tensor: ...

class Op:
    @property
    def schemas(self) -> Any: ...
    @schemas.setter
    def schemas(self, value: Any) -> None: ...
    @property
    def traits(self) -> Any: ...
    @traits.setter
    def traits(self, value: Any) -> None: ...

class Size(tuple[_int, ...]):
    def __new__(cls, sizes: _Sequence[_int] = ...) -> Self: ...
    @overload
    def __getitem__(self, index: SupportsIndex) -> _int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __add__(self, other: tuple[_int, ...]) -> Size: ...
    def numel(self) -> _int: ...

class Tensor:
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    @property
    def H(self) -> Tensor: ...
    @property
    def T(self) -> Tensor: ...
    @property
    def _base(self) -> Tensor | None: ...
    @property
    def _grad(self) -> Any: ...
    @property
    def _version(self) -> _int: ...
    @property
    def data(self) -> Tensor: ...
    @data.setter
    def data(self, value: Any) -> None: ...
    @property
    def device(self) -> _device: ...
    @property
    def dtype(self) -> _dtype: ...
    @property
    def grad(self) -> Tensor | None: ...
    @grad.setter
    def grad(self, value: Any) -> None: ...
    @property
    def grad_fn(self) -> Node | None: ...
    @property
    def imag(self) -> Tensor: ...
    @imag.setter
    def imag(self, value: Any) -> None: ...
    @property
    def is_cpu(self) -> _bool: ...
    @property
    def is_cuda(self) -> _bool: ...
    @property
    def is_ipu(self) -> _bool: ...
    @property
    def is_leaf(self) -> _bool: ...
    @property
    def is_maia(self) -> _bool: ...
    @property
    def is_meta(self) -> _bool: ...
    @property
    def is_mkldnn(self) -> _bool: ...
    @property
    def is_mps(self) -> _bool: ...
    @property
    def is_mtia(self) -> _bool: ...
    @property
    def is_nested(self) -> _bool: ...
    @property
    def is_quantized(self) -> _bool: ...
    @property
    def is_sparse(self) -> _bool: ...
    @property
    def is_sparse_csr(self) -> _bool: ...
    @property
    def is_vulkan(self) -> _bool: ...
    @property
    def is_xla(self) -> _bool: ...
    @property
    def is_xpu(self) -> _bool: ...
    @property
    def itemsize(self) -> _int: ...
    @property
    def layout(self) -> _layout: ...
    @property
    def mH(self) -> Tensor: ...
    @property
    def mT(self) -> Tensor: ...
    @property
    def names(self) -> tuple[None, ...]: ...
    @property
    def nbytes(self) -> _int: ...
    @property
    def ndim(self) -> _int: ...
    @property
    def output_nr(self) -> _int: ...
    @property
    def real(self) -> Tensor: ...
    @real.setter
    def real(self, value: Any) -> None: ...
    @property
    def requires_grad(self) -> _bool: ...
    @requires_grad.setter
    def requires_grad(self, value: Any) -> None: ...
    @property
    def retains_grad(self) -> _bool: ...
    @property
    def shape(self) -> Size: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __sub__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __truediv__(self, other: Any) -> Tensor: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __mod__(self, other: Any) -> Tensor: ...
    def __pow__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __or__(self, other: Any) -> Tensor: ...
    def __xor__(self, other: Any) -> Tensor: ...
    def __lshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __rpow__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __iadd__(self, other: Any) -> Self: ...
    def __isub__(self, other: Any) -> Self: ...
    def __imul__(self, other: Any) -> Self: ...
    def __itruediv__(self, other: Any) -> Self: ...
    def __ifloordiv__(self, other: Any) -> Self: ...
    def __imod__(self, other: Any) -> Self: ...
    def __ipow__(self, other: Any) -> Self: ...
    def __iand__(self, other: Any) -> Self: ...
    def __ior__(self, other: Any) -> Self: ...
    def __ixor__(self, other: Any) -> Self: ...
    def __ilshift__(self, other: Any) -> Self: ...
    def __irshift__(self, other: Any) -> Self: ...
    def __matmul__(self, other: Tensor) -> Tensor: ...
    def __rmatmul__(self, other: Tensor) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __gt__(self, other: Any) -> Tensor: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __eq__(self, other: Any) -> Tensor: ...
    def __ne__(self, other: Any) -> Tensor: ...
    def __neg__(self) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...
    def __bool__(self) -> _bool: ...
    def __int__(self) -> _int: ...
    def __float__(self) -> _float: ...
    def __index__(self) -> _int: ...
    def __len__(self) -> _int: ...
    def __buffer__(self, flags: _int, /) -> memoryview: ...
    def __hash__(self) -> _int: ...
    def __iter__(self) -> _Iterator[Tensor]: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __complex__(self) -> _complex: ...
    def __contains__(self, element: Any, /) -> _bool: ...
    def __dlpack__(self, *, stream: Any = ..., max_version: Any = ..., dl_device: tuple[_int, _int] | None = ..., copy: _bool | None = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __array__(self, dtype: Any = ...) -> _ndarray: ...
    def __array_namespace__(self, *, api_version: _str | None = ...) -> Any: ...
    def __reversed__(self) -> Tensor: ...
    _backward_hooks: Any
    def _coalesced_(self, coalesced: _bool) -> Self:
        """Say that a tensor is coalesced."""
    def _fix_weakref(self, *args: Any, **kwargs: Any) -> Any: ...
    def _hooks_of(self, *args: Any, **kwargs: Any) -> Any: ...
    def _indices(self) -> Tensor:
        """The places of a COO tensor, coalesced or not."""
    def _is_view(self) -> _bool:
        """Whether the tensor is a view of another."""
    @staticmethod
    def _make_subclass(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def _make_wrapper_subclass(*args: Any, **kwargs: Any) -> Any: ...
    def _nnz(self) -> _int:
        """Number of elements that are kept."""
    def _repr_html_(self) -> _str:
        """What notebooks show."""
    def _values(self) -> Tensor:
        """The values of a sparse tensor, without history."""
    def apply_(self, callable: _Callable[[Any], Any]) -> Self:
        """Replace each element by `callable(element)`; slow, and on the CPU only.

        >>> import ember
        >>> ember.tensor([1.0, 4.0]).apply_(lambda x: x + 1)
        tensor([2., 5.])
        """
    def as_subclass(self, cls: _builtin_type[_S]) -> _S:
        """The same tensor as an instance of a subclass.

        Args:
            cls (type): the subclass.

        Example:

            >>> class Weight(ember.Tensor):
            ...     pass
            >>> type(ember.zeros(1).as_subclass(Weight)).__name__
            'Weight'
        """
    def backward(self, gradient: Tensor | None = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., inputs: Tensor | _Sequence[Tensor] | None = ...) -> None:
        """Adds the gradient of the tensor with respect to the leaves of its graph to their `.grad`.

        Args:
            gradient (Tensor, optional): the gradient with respect to the tensor itself; may be left out for
                a tensor of one element.
            retain_graph (bool, optional): whether the graph can be used again; as `create_graph` if None.
            create_graph (bool, default False): whether the gradients can themselves be differentiated.
            inputs (sequence of Tensors, optional): the leaves that are meant; all if None.

        Example:

            >>> x = ember.tensor([1.0, 2.0], requires_grad=True)
            >>> (x * x).sum().backward()
            >>> x.grad
            tensor([2., 4.])
        """
    def ccol_indices(self) -> Tensor:
        """The `ccol_indices` of a layout that is compressed along columns.

        >>> import ember
        >>> x = ember.tensor([[0.0, 5.0], [6.0, 7.0]])
        >>> x.to_sparse_csc().ccol_indices()
        tensor([0, 1, 3])
        """
    def coalesce(self) -> Tensor:
        """The tensor with sorted elements, those at one place added up.

        >>> import ember
        >>> s = ember.sparse_coo_tensor([[1, 1, 0]], [1.0, 2.0, 3.0])
        >>> s.coalesce().values()
        tensor([3., 3.])
        """
    def col_indices(self) -> Tensor:
        """The `col_indices` of a layout that is compressed along rows.

        >>> import ember
        >>> x = ember.tensor([[0.0, 5.0], [6.0, 7.0]])
        >>> x.to_sparse_csr().col_indices()
        tensor([1, 0, 1])
        """
    def const_data_ptr(self) -> _int:
        """The address of the first element, for those who only read it.

        Example:

            >>> x = ember.zeros(4)
            >>> x.const_data_ptr() == x.data_ptr()
            True
        """
    def crow_indices(self) -> Tensor:
        """The `crow_indices` of a layout that is compressed along rows.

        >>> import ember
        >>> x = ember.tensor([[0.0, 5.0], [6.0, 7.0]])
        >>> x.to_sparse_csr().crow_indices()
        tensor([0, 1, 3])
        """
    def cuda(self, device: _DeviceLike | None = ..., non_blocking: _bool = ..., memory_format: memory_format = ...) -> Tensor:
        """On the device "cuda", which EMBER_CUDA=opencl makes of OpenCL's."""
    def data_ptr(self) -> _int:
        """The address of the first element.

        Example:

            >>> x = ember.zeros(4)
            >>> x[1:].data_ptr() - x.data_ptr()
            4
        """
    def dense_dim(self) -> _int:
        """The number of dense dimensions: all of a dense tensor.

        >>> import ember
        >>> ember.zeros(2, 3).to_sparse(1).dense_dim()
        1
        """
    def dequantize(self) -> Tensor:
        """In float32: there are no quantized tensors.

        >>> import ember
        >>> ember.tensor([1, 2]).dequantize()
        tensor([1., 2.])
        """
    def detach_(self) -> Self:
        """Makes the tensor a leaf that requires no gradient; returns it.

        Example:

            >>> x = ember.ones(1, requires_grad=True) * 2
            >>> x.detach_()
            tensor([2.])
        """
    def dim(self) -> _int:
        """The number of dimensions.

        Example:

            >>> ember.zeros(2, 3).dim()
            2
        """
    def dim_order(self, ambiguity_check: Any = ...) -> tuple[_int, ...]:
        """The dimensions, from the outermost in memory to the innermost.

        Args:
            ambiguity_check (bool or list of memory formats, default False): whether to raise an error
                where several orders are possible.

        Example:

            >>> ember.zeros(2, 3).t().dim_order()
            (1, 0)
        """
    def eig(self, *args: Any, **kwargs: Any) -> Any: ...
    def element_size(self) -> _int:
        """How many bytes an element takes.

        Example:

            >>> ember.zeros(2, dtype=ember.float64).element_size()
            8
        """
    def get_device(self) -> _int:
        """The index of the tensor's device; -1 for the CPU.

        Example:

            >>> ember.zeros(2).get_device()
            -1
        """
    grad_dtype: Any
    def has_names(self) -> _bool:
        """Always False: dimensions have no names.

        Example:

            >>> ember.zeros(2).has_names()
            False
        """
    def indices(self) -> Tensor:
        """The places of a coalesced COO tensor: (sparse dimensions, elements).

        >>> import ember
        >>> ember.tensor([0.0, 5.0]).to_sparse().indices()
        tensor([[1]])
        """
    def ipu(self, *args: Any, **kwargs: Any) -> Any: ...
    def is_coalesced(self) -> _bool:
        """Whether the elements are known to be sorted and without repetition.

        >>> import ember
        >>> s = ember.sparse_coo_tensor([[1, 1]], [1.0, 2.0])
        >>> s.is_coalesced(), s.coalesce().is_coalesced()
        (False, True)
        """
    def is_distributed(self) -> _bool:
        """Whether it lies on several devices: never.

        >>> import ember
        >>> ember.zeros(2).is_distributed()
        False
        """
    def is_inference(self) -> _bool:
        """Whether the tensor was made in inference mode.

        Example:

            >>> with ember.inference_mode():
            ...     x = ember.zeros(2)
            >>> x.is_inference()
            True
        """
    def is_pinned(self, device: Any = ...) -> _bool:
        """Always False: host memory is not pinned.

        Args:
            device (device, optional): taken for PyTorch's sake.

        Example:

            >>> ember.zeros(2).is_pinned()
            False
        """
    def is_set_to(self, tensor: Tensor) -> _bool:
        """Whether both tensors are the same view of the same storage.

        Args:
            tensor (Tensor): the other one.

        Example:

            >>> x = ember.zeros(4)
            >>> x.is_set_to(x.view(4)), x.is_set_to(x[1:])
            (True, False)
        """
    def is_shared(self) -> _bool:
        """Whether the memory is shared with other processes.

        Example:

            >>> ember.zeros(2).is_shared()
            False
        """
    def lstsq(self, *args: Any, **kwargs: Any) -> Any: ...
    def lu(self, pivot: _bool = ..., get_infos: _bool = ...) -> tuple[Tensor, ...]:
        """Packed LU factors and pivots: see `ember.lu`.

        >>> import ember
        >>> LU, pivots = ember.tensor([[1.0, 2.0], [2.0, 2.0]]).lu()
        >>> LU
        tensor([[2.0000, 2.0000],
                [0.5000, 1.0000]])
        """
    def map2_(self, x: Tensor, y: Tensor, callable: _Callable[[Any, Any, Any], Any]) -> Self:
        """Replace each element `a` by `callable(a, b, c)`, from `x` and `y`.

        >>> import ember
        >>> x = ember.tensor([1.0, 2.0])
        >>> ember.zeros(2).map2_(x, 10 * x, lambda a, b, c: a + b + c)
        tensor([11., 22.])
        """
    def map_(self, tensor: Tensor, callable: _Callable[[Any, Any], Any]) -> Self:
        """Replace each element `a` by `callable(a, b)`, `b` taken from `tensor`.

        >>> import ember
        >>> ember.tensor([1.0, 4.0]).map_(ember.tensor([2.0, 3.0]), max)
        tensor([2., 4.])
        """
    def module_load(self, *args: Any, **kwargs: Any) -> Any: ...
    def mtia(self, *args: Any, **kwargs: Any) -> Any: ...
    name: Any
    def ndimension(self) -> _int:
        """The number of dimensions: the same as `dim()`.

        Example:

            >>> ember.zeros(2, 3).ndimension()
            2
        """
    def nelement(self) -> _int:
        """The number of elements: the same as `numel()`.

        Example:

            >>> ember.zeros(2, 3).nelement()
            6
        """
    def new(self, *args: Any, **kwargs: Any) -> Tensor:
        """A tensor of the same dtype, by size or from data; `new_empty` says it better.

        >>> import ember
        >>> ember.zeros(1, dtype=ember.int8).new([1, 2])
        tensor([1, 2], dtype=torch.int8)
        """
    def numel(self) -> _int:
        """The number of elements.

        Example:

            >>> ember.zeros(2, 3).numel()
            6
        """
    def numpy(self, *, force: _bool = ...) -> _ndarray:
        """A NumPy array over the same memory.

        Args:
            force (bool, default False): whether a tensor that requires grad or lives on another device is
                detached and copied first.

        Example:

            >>> x = ember.zeros(2)
            >>> x.numpy()[0] = 1
            >>> x
            tensor([1., 0.])
        """
    def record_stream(self, stream: Any) -> None:
        """Tell that a stream uses the tensor, too: its memory waits for that once free."""
    def register_hook(self, hook: _Callable[[Tensor], Tensor | None]) -> _RemovableHandle:
        """Calls hook(grad) whenever the gradient of the tensor is computed.

        Args:
            hook (function): takes the gradient; what it returns, if not None, takes its place.

        Returns a handle, of which `remove()` takes the hook away.

        Example:

            >>> x = ember.ones(1, requires_grad=True)
            >>> handle = x.register_hook(lambda grad: 10 * grad)
            >>> (x * 2).backward()
            >>> x.grad
            tensor([20.])
        """
    def register_post_accumulate_grad_hook(self, hook: _Callable[[Tensor], None]) -> _RemovableHandle:
        """Calls hook(tensor) whenever the gradient of a leaf has been added to its `.grad`.

        Args:
            hook (function): takes the tensor.

        Returns a handle, of which `remove()` takes the hook away.

        Example:

            >>> x = ember.ones(1, requires_grad=True)
            >>> handle = x.register_post_accumulate_grad_hook(lambda t: print(t.grad))
            >>> (x * 2).backward()
            tensor([2.])
        """
    def reinforce(self, *args: Any, **kwargs: Any) -> Any: ...
    def requires_grad_(self, requires_grad: _bool = ...) -> Self:
        """Says whether gradients of the tensor are wanted; returns it.

        Args:
            requires_grad (bool, default True): whether they are.

        Example:

            >>> ember.zeros(2).requires_grad_()
            tensor([0., 0.], requires_grad=True)
        """
    def resize(self, *sizes: Any) -> Tensor:
        """Old: `reshape` says it better.

        >>> import ember
        >>> ember.arange(4).resize(2, 2)
        tensor([[0, 1],
                [2, 3]])
        """
    def resize_as(self, tensor: Tensor) -> Tensor:
        """Old: `reshape_as` says it better.

        >>> import ember
        >>> ember.arange(2).resize_as(ember.zeros(2, 1))
        tensor([[0],
                [1]])
        """
    def resize_as_sparse_(self, other: Tensor) -> Self:
        """Take over the size of another sparse tensor; elements stay where they are.

        Args:
            template (Tensor): the tensor whose size is taken.

        >>> import ember
        >>> x = ember.eye(2).to_sparse()
        >>> x.resize_as_sparse_(ember.zeros(3, 2).to_sparse()).shape
        torch.Size([3, 2])
        """
    def retain_grad(self) -> None:
        """Lets a tensor that is not a leaf have its `.grad` set by `backward()`.

        Example:

            >>> x = ember.ones(1, requires_grad=True)
            >>> y = x * 2
            >>> y.retain_grad()
            >>> (y * 3).backward()
            >>> y.grad
            tensor([3.])
        """
    def row_indices(self) -> Tensor:
        """The `row_indices` of a layout that is compressed along columns.

        >>> import ember
        >>> x = ember.tensor([[0.0, 5.0], [6.0, 7.0]])
        >>> x.to_sparse_csc().row_indices()
        tensor([1, 0, 1])
        """
    def share_memory_(self) -> Self:
        """Moves the memory to where other processes can map it; views and tensors of the same memory move
        too.

        Example:

            >>> ember.zeros(2).share_memory_().is_shared()
            True
        """
    @overload
    def size(self) -> Size:
        """The size of every dimension, or of one.

        Args:
            dim (int, optional): the dimension; None for all, as an `ember.Size`.

        Example:

            >>> x = ember.zeros(2, 3)
            >>> x.size(), x.size(1)
            (torch.Size([2, 3]), 3)
        """
    @overload
    def size(self, dim: _int) -> _int: ...
    def smm(self, mat: Tensor) -> Tensor:
        """sparse @ dense as a COO tensor.

        Args:
            input (Tensor): a sparse matrix.
            mat2 (Tensor): a dense matrix.

        >>> import ember
        >>> ember.eye(2).to_sparse().smm(ember.ones(2, 1)).to_dense()
        tensor([[1.],
                [1.]])
        """
    def solve(self, *args: Any, **kwargs: Any) -> Any: ...
    def sparse_dim(self) -> _int:
        """The number of sparse dimensions: 0 of a dense tensor.

        >>> import ember
        >>> ember.eye(2).to_sparse().sparse_dim()
        2
        """
    def sparse_mask(self, mask: Tensor) -> Tensor:
        """The elements of a tensor at the places of `mask`.

        >>> import ember
        >>> places = ember.eye(2).to_sparse()
        >>> ember.tensor([[1.0, 2.0], [3.0, 4.0]]).sparse_mask(places).values()
        tensor([1., 4.])
        """
    def sparse_resize_(self, size: _Size, sparse_dim: _int, dense_dim: _int) -> Self:
        """Give a COO tensor another size; its elements must fit.

        Args:
            size (tuple of ints): the size.
            sparse_dim (int): how many of the dimensions are sparse.
            dense_dim (int): how many are dense.

        >>> import ember
        >>> ember.eye(2).to_sparse().sparse_resize_((3, 2), 2, 0).to_dense()
        tensor([[1., 0.],
                [0., 1.],
                [0., 0.]])
        """
    def sparse_resize_and_clear_(self, size: _Size, sparse_dim: _int, dense_dim: _int) -> Self:
        """Give a COO tensor another size and no elements.

        Args:
            size (tuple of ints): the size.
            sparse_dim (int): how many of the dimensions are sparse.
            dense_dim (int): how many are dense.

        >>> import ember
        >>> ember.eye(2).to_sparse().sparse_resize_and_clear_((3, 3), 2, 0).shape
        torch.Size([3, 3])
        """
    def sspaddmm(self, *args: Any, **kwargs: Any) -> Tensor:
        """beta * input + alpha * (mat1 @ mat2) for a sparse input and mat1.

        Args:
            input (Tensor): a sparse matrix.
            mat1 (Tensor): a sparse matrix.
            mat2 (Tensor): a dense matrix.
            beta (number, default 1): factor of `input`.
            alpha (number, default 1): factor of the product.

        >>> import ember
        >>> x = ember.eye(2).to_sparse()
        >>> x.sspaddmm(x, ember.ones(2, 2)).to_dense()
        tensor([[2., 1.],
                [1., 2.]])
        """
    def storage(self) -> Any:
        """The tensor's memory as elements of its dtype; `untyped_storage()` is newer.

        >>> import ember
        >>> ember.tensor([1.0, 2.0]).storage().tolist()
        [1.0, 2.0]
        """
    def storage_offset(self) -> _int:
        """At which element of the storage the tensor begins.

        Example:

            >>> ember.arange(5)[2:].storage_offset()
            2
        """
    def storage_type(self) -> Any:
        """The class of storages of this dtype.

        >>> import ember
        >>> ember.zeros(2).storage_type().__name__
        'FloatStorage'
        """
    @overload
    def stride(self) -> tuple[_int, ...]:
        """How many elements lie between neighbours along every dimension, or along one.

        Args:
            dim (int, optional): the dimension; None for all.

        Example:

            >>> ember.zeros(2, 3).stride()
            (3, 1)
        """
    @overload
    def stride(self, dim: _int) -> _int: ...
    def symeig(self, *args: Any, **kwargs: Any) -> Any: ...
    def to_device(self, device: _DeviceLike, /, *, stream: Any = ...) -> Tensor:
        """The tensor on another device, as the array API standard calls it.

        >>> import ember
        >>> ember.zeros(2).to_device("cpu").device
        device(type='cpu')
        """
    @overload
    def to_sparse(self, sparse_dim: _int) -> Tensor:
        """The tensor in a sparse layout, COO unless another is named.

        >>> import ember
        >>> ember.eye(2).to_sparse().indices()
        tensor([[0, 1],
                [0, 1]])
        """
    @overload
    def to_sparse(self, *, layout: _layout | None = ..., blocksize: Any = ..., dense_dim: _int | None = ...) -> Tensor: ...
    def to_sparse_bsc(self, blocksize: Any, dense_dim: _int | None = ...) -> Tensor:
        """The tensor in compressed columns of blocks.

        Args:
            blocksize (tuple of ints): height and width of a block.
            dense_dim (int, optional): how many of the last dimensions stay dense.

        >>> import ember
        >>> ember.eye(4).to_sparse_bsc((2, 2)).values().shape
        torch.Size([2, 2, 2])
        """
    def to_sparse_bsr(self, blocksize: Any, dense_dim: _int | None = ...) -> Tensor:
        """The tensor in compressed rows of blocks.

        Args:
            blocksize (tuple of ints): height and width of a block.
            dense_dim (int, optional): how many of the last dimensions stay dense.

        >>> import ember
        >>> ember.eye(4).to_sparse_bsr((2, 2)).values().shape
        torch.Size([2, 2, 2])
        """
    def to_sparse_coo(self) -> Tensor:
        """The tensor in coordinate format.

        >>> import ember
        >>> ember.tensor([0.0, 5.0]).to_sparse_coo()
        tensor(indices=tensor([[1]]),
               values=tensor([5.]),
               size=(2,), nnz=1, layout=torch.sparse_coo)
        """
    def to_sparse_csc(self, dense_dim: _int | None = ...) -> Tensor:
        """The tensor in compressed columns.

        Args:
            dense_dim (int, optional): how many of the last dimensions stay dense.

        >>> import ember
        >>> ember.tensor([[0.0, 5.0], [6.0, 7.0]]).to_sparse_csc().ccol_indices()
        tensor([0, 1, 3])
        """
    def to_sparse_csr(self, dense_dim: _int | None = ...) -> Tensor:
        """The tensor in compressed rows.

        Args:
            dense_dim (int, optional): how many of the last dimensions stay dense.

        >>> import ember
        >>> ember.tensor([[0.0, 5.0], [6.0, 7.0]]).to_sparse_csr().crow_indices()
        tensor([0, 1, 3])
        """
    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers.

        Example:

            >>> ember.tensor([[1, 2], [3, 4]]).tolist()
            [[1, 2], [3, 4]]
        """
    @overload
    def type(self) -> _str:
        """The tensor in another dtype, or without one the name of its type.

        Args:
            dtype (dtype or str, optional): the dtype, or the name of a type.
            non_blocking (bool, default False): whether a copy to another device may go on in the background.

        Example:

            >>> ember.zeros(1).type()
            'torch.FloatTensor'
            >>> ember.zeros(1).type(ember.int64)
            tensor([0])
        """
    @overload
    def type(self, dtype: _dtype | _str | _builtin_type[Any], non_blocking: _bool = ...) -> Tensor: ...
    def untyped_storage(self) -> UntypedStorage:
        """The memory that the tensor is a view of.

        Example:

            >>> ember.zeros(4)[1:].untyped_storage().nbytes()
            16
        """
    def values(self) -> Tensor:
        """The values of the elements that are kept.

        >>> import ember
        >>> ember.tensor([0.0, 5.0]).to_sparse().values()
        tensor([5.])
        """
    volatile: Any
    def xpu(self, *args: Any, **kwargs: Any) -> Any: ...
    def abs(self, *, out: Tensor | None = ...) -> Tensor:
        """Absolute value of each element; of a complex one, its modulus."""
    def abs_(self) -> Self:
        """Absolute value of each element; of a complex one, its modulus."""
    def absolute(self, *, out: Tensor | None = ...) -> Tensor:
        """Alias of abs()."""
    def absolute_(self) -> Self:
        """Alias of abs()."""
    def acos(self, *, out: Tensor | None = ...) -> Tensor:
        """Inverse cosine of each element."""
    def acos_(self) -> Self:
        """Inverse cosine of each element."""
    def acosh(self, *, out: Tensor | None = ...) -> Tensor:
        """Inverse hyperbolic cosine of each element."""
    def acosh_(self) -> Self:
        """Inverse hyperbolic cosine of each element."""
    @overload
    def add(self, other: _Operand, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
        """self + alpha * other."""
    @overload
    def add(self, alpha: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def add(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def add_(self, other: _Operand, *, alpha: _Number = ...) -> Self:
        """self + alpha * other."""
    @overload
    def add_(self, alpha: _Number, other: Tensor) -> Self: ...
    @overload
    def add_(self, other: _Operand) -> Self: ...
    def addbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
        """beta * self + alpha * the sum of batch1 @ batch2 over the batch."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Self:
        """beta * self + alpha * the sum of batch1 @ batch2 over the batch."""
    @overload
    def addcdiv(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ..., out: Tensor | None = ...) -> Tensor:
        """self + value * tensor1 / tensor2."""
    @overload
    def addcdiv(self, value: _Number, tensor1: Tensor, tensor2: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def addcdiv_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ...) -> Self:
        """self + value * tensor1 / tensor2."""
    @overload
    def addcdiv_(self, value: _Number, tensor1: Tensor, tensor2: Tensor) -> Self: ...
    @overload
    def addcmul(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ..., out: Tensor | None = ...) -> Tensor:
        """self + value * tensor1 * tensor2."""
    @overload
    def addcmul(self, value: _Number, tensor1: Tensor, tensor2: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def addcmul_(self, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ...) -> Self:
        """self + value * tensor1 * tensor2."""
    @overload
    def addcmul_(self, value: _Number, tensor1: Tensor, tensor2: Tensor) -> Self: ...
    def addmm(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
        """beta * self + alpha * (mat1 @ mat2)."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Self:
        """beta * self + alpha * (mat1 @ mat2)."""
    def addmv(self, mat: Tensor, vec: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
        """beta * self + alpha * (mat @ vec)."""
    def addmv_(self, mat: Tensor, vec: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Self:
        """beta * self + alpha * (mat @ vec)."""
    def addr(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
        """beta * self + alpha * the outer product of vec1 and vec2."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Self:
        """beta * self + alpha * the outer product of vec1 and vec2."""
    def adjoint(self) -> Tensor:
        """The conjugate of the transpose of the last two dimensions."""
    def all(self, dim: _Dims = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Whether all elements over `dim` are nonzero."""
    def allclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
        """True if isclose() is, everywhere."""
    def amax(self, dim: _Dims = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Largest element over `dim`; the gradient is shared among ties."""
    def amin(self, dim: _Dims = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Smallest element over `dim`; the gradient is shared among ties."""
    def aminmax(self, *, dim: _int | None = ..., keepdim: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _min_max:
        """Smallest and largest element, of all or along `dim`."""
    def angle(self, *, out: Tensor | None = ...) -> Tensor:
        """Angle of each element with the positive real axis; 0 or pi for a real one."""
    def any(self, dim: _Dims = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Whether any element over `dim` is nonzero."""
    def arccos(self, *, out: Tensor | None = ...) -> Tensor:
        """Alias of acos()."""
    def arccos_(self) -> Self:
        """Alias of acos()."""
    def arccosh(self, *, out: Tensor | None = ...) -> Tensor:
        """Alias of acosh()."""
    def arccosh_(self) -> Self:
        """Alias of acosh()."""
    def arcsin(self, *, out: Tensor | None = ...) -> Tensor:
        """Alias of asin()."""
    def arcsin_(self) -> Self:
        """Alias of asin()."""
    def arcsinh(self, *, out: Tensor | None = ...) -> Tensor:
        """Alias of asinh()."""
    def arcsinh_(self) -> Self:
        """Alias of asinh()."""
    def arctan(self, *, out: Tensor | None = ...) -> Tensor:
        """Alias of atan()."""
    def arctan2(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Alias of atan2()."""
    def arctan2_(self, other: Tensor) -> Self:
        """Alias of atan2()."""
    def arctan_(self) -> Self:
        """Alias of atan()."""
    def arctanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Alias of atanh()."""
    def arctanh_(self) -> Self:
        """Alias of atanh()."""
    def argmax(self, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Index of the largest element, of all or along `dim`."""
    def argmin(self, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Index of the smallest element, of all or along `dim`."""
    def argsort(self, dim: _int = ..., descending: _bool = ..., *, stable: _bool = ..., out: Tensor | None = ...) -> Tensor:
        """The indices that sort a tensor along `dim`."""
    def argwhere(self) -> Tensor:
        """The positions of the elements that are not zero."""
    def as_strided(self, size: _Size, stride: _Size, storage_offset: _int | None = ...) -> Tensor:
        """A view of the storage with the given size, strides and offset."""
    def as_strided_(self, size: _Size, stride: _Size, storage_offset: _int | None = ...) -> Self:
        """A view of the storage with the given size, strides and offset. The tensor itself
        changes.
        """
    def as_strided_scatter(self, src: Tensor, size: _Size, stride: _Size, storage_offset: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """A copy with the part that as_strided() shows replaced by `src`."""
    def asin(self, *, out: Tensor | None = ...) -> Tensor:
        """Inverse sine of each element."""
    def asin_(self) -> Self:
        """Inverse sine of each element."""
    def asinh(self, *, out: Tensor | None = ...) -> Tensor:
        """Inverse hyperbolic sine of each element."""
    def asinh_(self) -> Self:
        """Inverse hyperbolic sine of each element."""
    def atan(self, *, out: Tensor | None = ...) -> Tensor:
        """Inverse tangent of each element."""
    def atan2(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Angle of the point (b, a)."""
    def atan2_(self, other: Tensor) -> Self:
        """Angle of the point (b, a)."""
    def atan_(self) -> Self:
        """Inverse tangent of each element."""
    def atanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Inverse hyperbolic tangent of each element."""
    def atanh_(self) -> Self:
        """Inverse hyperbolic tangent of each element."""
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
        """beta * self + alpha * (batch1 @ batch2), batch by batch."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Self:
        """beta * self + alpha * (batch1 @ batch2), batch by batch."""
    @overload
    def bernoulli(self, *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
        """1 with the probability that `input` gives for each element, else 0."""
    @overload
    def bernoulli(self, p: _float, *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor: ...
    @overload
    def bernoulli_(self, p: Tensor, *, generator: Generator | None = ...) -> Self:
        """Fills the tensor with 1 with the probabilities `p`, else 0."""
    @overload
    def bernoulli_(self, p: _float = ..., *, generator: Generator | None = ...) -> Self: ...
    def bfloat16(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    def bincount(self, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor:
        """How often each of 0, 1, 2 ... occurs, or the sum of its weights."""
    def bitwise_and(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Bitwise and; for bool, logical and."""
    def bitwise_and_(self, other: _Operand) -> Self:
        """Bitwise and; for bool, logical and."""
    def bitwise_left_shift(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Bits shifted left."""
    def bitwise_left_shift_(self, other: _Operand) -> Self:
        """Bits shifted left."""
    def bitwise_not(self, *, out: Tensor | None = ...) -> Tensor:
        """Bitwise complement; for bool, logical not."""
    def bitwise_not_(self) -> Self:
        """Bitwise complement; for bool, logical not."""
    def bitwise_or(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Bitwise or; for bool, logical or."""
    def bitwise_or_(self, other: _Operand) -> Self:
        """Bitwise or; for bool, logical or."""
    def bitwise_right_shift(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Bits shifted right, keeping the sign."""
    def bitwise_right_shift_(self, other: _Operand) -> Self:
        """Bits shifted right, keeping the sign."""
    def bitwise_xor(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Bitwise exclusive or."""
    def bitwise_xor_(self, other: _Operand) -> Self:
        """Bitwise exclusive or."""
    def bmm(self, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Products of two batches of matrices."""
    def bool(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    @overload
    def broadcast_to(self, size: _Size) -> Tensor:
        """A view in which dimensions of size 1 are repeated, without copying."""
    @overload
    def broadcast_to(self, *size: _int) -> Tensor: ...
    def byte(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    def cauchy_(self, median: _float = ..., sigma: _float = ..., *, generator: Generator | None = ...) -> Self:
        """Fills the tensor with numbers of the Cauchy distribution."""
    def cdouble(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    def ceil(self, *, out: Tensor | None = ...) -> Tensor:
        """Smallest integer not below each element."""
    def ceil_(self) -> Self:
        """Smallest integer not below each element."""
    def cfloat(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    def chalf(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    def char(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    def cholesky(self, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """The lower triangular L with L @ L.mH equal to the matrix, or its adjoint."""
    def cholesky_inverse(self, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """The inverse of a matrix from its Cholesky factor."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """The X with A @ X = self, from a Cholesky factor of A."""
    def chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """Views of at most `chunks` pieces of equal size along a dimension; the last may
        be smaller.
        """
    def clamp(self, min: _Operand | None = ..., max: _Operand | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Elements limited to the range between two bounds, each a number, a tensor or
        none.
        """
    def clamp_(self, min: _Operand | None = ..., max: _Operand | None = ...) -> Self:
        """Elements limited to the range between two bounds, each a number, a tensor or
        none.
        """
    def clamp_max(self, max: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Elements above a bound replaced by it."""
    def clamp_max_(self, max: _Operand) -> Self:
        """Elements above a bound replaced by it."""
    def clamp_min(self, min: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Elements below a bound replaced by it."""
    def clamp_min_(self, min: _Operand) -> Self:
        """Elements below a bound replaced by it."""
    def clip(self, min: _Operand | None = ..., max: _Operand | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Elements limited to the range between two bounds, each a number, a tensor or
        none.
        """
    def clip_(self, min: _Operand | None = ..., max: _Operand | None = ...) -> Self:
        """Elements limited to the range between two bounds, each a number, a tensor or
        none.
        """
    def clone(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """A copy of the tensor, recorded by the tape."""
    def conj(self) -> Tensor:
        """The complex conjugate; a real tensor itself."""
    def conj_physical(self, *, out: Tensor | None = ...) -> Tensor:
        """Complex conjugate of each element."""
    def conj_physical_(self) -> Self:
        """Complex conjugate of each element."""
    def contiguous(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor itself if it is laid out in `memory_format`, else a copy that is."""
    @overload
    def copy_(self, src: Tensor, non_blocking: _bool = ...) -> Self:
        """Copies the elements of `src`, broadcast and cast, into the tensor."""
    @overload
    def copy_(self, src: _Number, non_blocking: _bool = ...) -> Self: ...
    def copysign(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Magnitude of the first with the sign of the second."""
    def copysign_(self, other: _Operand) -> Self:
        """Magnitude of the first with the sign of the second."""
    def corrcoef(self) -> Tensor:
        """Correlations of the variables in rows: covariances scaled by deviations."""
    def cos(self, *, out: Tensor | None = ...) -> Tensor:
        """Cosine of each element."""
    def cos_(self) -> Self:
        """Cosine of each element."""
    def cosh(self, *, out: Tensor | None = ...) -> Tensor:
        """Hyperbolic cosine of each element."""
    def cosh_(self) -> Self:
        """Hyperbolic cosine of each element."""
    def count_nonzero(self, dim: _Dims = ...) -> Tensor:
        """Number of nonzero elements over `dim`."""
    def cov(self, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
        """Covariances of the variables in rows, over the observations in columns."""
    def cpu(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in host memory; itself if it is there."""
    def cross(self, other: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Cross products of vectors along `dim`, or the first dimension of size 3."""
    def cummax(self, dim: _int, *, out: _Sequence[Tensor] | None = ...) -> _values_indices:
        """Largest of each element along `dim` and all before it, and where it is."""
    def cummin(self, dim: _int, *, out: _Sequence[Tensor] | None = ...) -> _values_indices:
        """Smallest of each element along `dim` and all before it, and where it is."""
    def cumprod(self, dim: _int, *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
        """Product of each element along `dim` and all before it."""
    def cumprod_(self, dim: _int, *, dtype: _DtypeLike | None = ...) -> Self:
        """Product of each element along `dim` and all before it."""
    def cumsum(self, dim: _int, *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
        """Sum of each element along `dim` and all before it."""
    def cumsum_(self, dim: _int, *, dtype: _DtypeLike | None = ...) -> Self:
        """Sum of each element along `dim` and all before it."""
    def deg2rad(self, *, out: Tensor | None = ...) -> Tensor:
        """Degrees to radians."""
    def deg2rad_(self) -> Self:
        """Degrees to radians."""
    def det(self) -> Tensor:
        """The determinants of square matrices."""
    def detach(self) -> Tensor:
        """The same elements without history."""
    def diag(self, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
        """The diagonal of a matrix, or the matrix with the given diagonal."""
    def diag_embed(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """Zeros, with the last dimension of the tensor as a diagonal of two new ones."""
    def diagflat(self, offset: _int = ...) -> Tensor:
        """The matrix whose diagonal are the elements."""
    def diagonal(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """A view of a diagonal of two dimensions, as the last dimension."""
    def diagonal_scatter(self, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ...) -> Tensor:
        """A copy with a diagonal replaced by `src`."""
    def diff(self, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """The `n`-th difference of neighbours along `dim`."""
    def digamma(self, *, out: Tensor | None = ...) -> Tensor:
        """Derivative of lgamma."""
    def digamma_(self) -> Self:
        """Derivative of lgamma."""
    def dist(self, other: Tensor, p: _Number = ...) -> Tensor:
        """Norm of order `p` of the difference of two tensors."""
    @overload
    def div(self, other: _Operand, *, rounding_mode: _str | None = ..., out: Tensor | None = ...) -> Tensor:
        """self / other, rounded to an integer if rounding_mode is 'trunc' or 'floor'."""
    @overload
    def div(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def div_(self, other: _Operand, *, rounding_mode: _str | None = ...) -> Self:
        """self / other, rounded to an integer if rounding_mode is 'trunc' or 'floor'."""
    @overload
    def div_(self, other: _Operand) -> Self: ...
    def divide(self, other: _Operand, *, rounding_mode: _str | None = ..., out: Tensor | None = ...) -> Tensor:
        """self / other, rounded to an integer if rounding_mode is 'trunc' or 'floor'."""
    def divide_(self, other: _Operand, *, rounding_mode: _str | None = ...) -> Self:
        """self / other, rounded to an integer if rounding_mode is 'trunc' or 'floor'."""
    def dot(self, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Dot product of two vectors."""
    def double(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    @overload
    def dsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """Equal pieces, as views."""
    @overload
    def dsplit(self, indices: _Size) -> tuple[Tensor, ...]: ...
    @overload
    def dsplit(self, *indices: _int) -> tuple[Tensor, ...]: ...
    @overload
    def dsplit(self, indices_or_sections: _int) -> tuple[Tensor, ...]: ...
    @overload
    def dsplit(self, indices_or_sections: _Size) -> tuple[Tensor, ...]: ...
    @overload
    def dsplit(self, *indices_or_sections: _int) -> tuple[Tensor, ...]: ...
    def eq(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """True where the two elements are equal."""
    def eq_(self, other: _Operand) -> Self:
        """True where the two elements are equal."""
    def equal(self, other: Tensor) -> _bool:
        """True if two tensors have the same shape and elements."""
    def erf(self, *, out: Tensor | None = ...) -> Tensor:
        """Error function of each element."""
    def erf_(self) -> Self:
        """Error function of each element."""
    def erfc(self, *, out: Tensor | None = ...) -> Tensor:
        """1 - erf(x), accurate where that is small."""
    def erfc_(self) -> Self:
        """1 - erf(x), accurate where that is small."""
    def erfinv(self, *, out: Tensor | None = ...) -> Tensor:
        """Inverse error function."""
    def erfinv_(self) -> Self:
        """Inverse error function."""
    def exp(self, *, out: Tensor | None = ...) -> Tensor:
        """e to the power of each element."""
    def exp2(self, *, out: Tensor | None = ...) -> Tensor:
        """2 to the power of each element."""
    def exp2_(self) -> Self:
        """2 to the power of each element."""
    def exp_(self) -> Self:
        """e to the power of each element."""
    @overload
    def expand(self, size: _Size, *, implicit: _bool = ...) -> Tensor:
        """A view in which dimensions of size 1 are repeated, without copying."""
    @overload
    def expand(self, *size: _int, implicit: _bool = ...) -> Tensor: ...
    def expand_as(self, other: Tensor) -> Tensor:
        """expand() to the shape of `other`."""
    def expm1(self, *, out: Tensor | None = ...) -> Tensor:
        """exp(x) - 1, accurate near zero."""
    def expm1_(self) -> Self:
        """exp(x) - 1, accurate near zero."""
    def exponential_(self, lambd: _float = ..., *, generator: Generator | None = ...) -> Self:
        """Fills the tensor with exponential numbers of rate `lambd`."""
    def fill_(self, value: _Operand) -> Self:
        """Sets every element to `value`."""
    def fill_diagonal_(self, fill_value: _Number, wrap: _bool = ...) -> Self:
        """Fills the main diagonal; of a tall matrix also what would follow it, if `wrap`.
        """
    def fix(self, *, out: Tensor | None = ...) -> Tensor:
        """Alias of trunc()."""
    def fix_(self) -> Self:
        """Alias of trunc()."""
    def flatten(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
        """The dimensions from `start_dim` to `end_dim` as one."""
    @overload
    def flip(self, dims: _Size) -> Tensor:
        """A copy with the order along `dims` reversed."""
    @overload
    def flip(self, *dims: _int) -> Tensor: ...
    def fliplr(self) -> Tensor:
        """A copy with the columns in reverse order."""
    def flipud(self) -> Tensor:
        """A copy with the rows in reverse order."""
    def float(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    def float_power(self, exponent: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """self to the power of exponent, in double precision."""
    def float_power_(self, exponent: _Operand) -> Self:
        """self to the power of exponent, in double precision."""
    def floor(self, *, out: Tensor | None = ...) -> Tensor:
        """Largest integer not above each element."""
    def floor_(self) -> Self:
        """Largest integer not above each element."""
    def floor_divide(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Quotient rounded towards minus infinity."""
    def floor_divide_(self, other: _Operand) -> Self:
        """Quotient rounded towards minus infinity."""
    def fmax(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Larger of two elements; a NaN loses."""
    def fmax_(self, other: Tensor) -> Self:
        """Larger of two elements; a NaN loses."""
    def fmin(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Smaller of two elements; a NaN loses."""
    def fmin_(self, other: Tensor) -> Self:
        """Smaller of two elements; a NaN loses."""
    def fmod(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Remainder of the division, with the dividend's sign."""
    def fmod_(self, other: _Operand) -> Self:
        """Remainder of the division, with the dividend's sign."""
    def frac(self, *, out: Tensor | None = ...) -> Tensor:
        """Fractional part of each element, with its sign."""
    def frac_(self) -> Self:
        """Fractional part of each element, with its sign."""
    def frexp(self, *, out: _Sequence[Tensor] | None = ...) -> _mantissa_exponent:
        """Each element as mantissa * 2**exponent, the mantissa in [0.5, 1) but for its
        sign.
        """
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
        """The elements at `index` along a dimension: out[i][j] = self[index[i][j]][j] for
        dim 0.
        """
    def gcd(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Greatest common divisor."""
    def gcd_(self, other: Tensor) -> Self:
        """Greatest common divisor."""
    def ge(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """True where the first is at least the second."""
    def ge_(self, other: _Operand) -> Self:
        """True where the first is at least the second."""
    def geometric_(self, p: _float, *, generator: Generator | None = ...) -> Self:
        """Fills the tensor with the number of tries until a success of probability `p`."""
    def geqrf(self, *, out: _Sequence[Tensor] | None = ...) -> _a_tau:
        """R and below it the Householder reflectors of Q, and their factors."""
    def ger(self, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Outer product of two vectors."""
    def greater(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Alias of gt()."""
    def greater_(self, other: _Operand) -> Self:
        """Alias of gt()."""
    def greater_equal(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Alias of ge()."""
    def greater_equal_(self, other: _Operand) -> Self:
        """Alias of ge()."""
    def gt(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """True where the first is greater than the second."""
    def gt_(self, other: _Operand) -> Self:
        """True where the first is greater than the second."""
    def half(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    def hardshrink(self, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor:
        """x outside [-lambd, lambd], 0 inside."""
    def hash_tensor(self, dim: _Dims = ..., *, keepdim: _bool = ..., mode: _int = ..., out: Tensor | None = ...) -> Tensor:
        """The exclusive or of all elements, as 64-bit floats or integers: a checksum
        (uint64).
        """
    def heaviside(self, values: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """0 below zero, 1 above it, `values` at zero."""
    def heaviside_(self, values: Tensor) -> Self:
        """0 below zero, 1 above it, `values` at zero."""
    def histc(self, bins: _int = ..., min: _Number = ..., max: _Number = ..., *, out: Tensor | None = ...) -> Tensor:
        """Counts in `bins` equal bins from `min` to `max`, or over the range of the data
        if both are 0.
        """
    @overload
    def histogram(self, bins: Tensor, *, weight: Tensor | None = ..., density: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _hist_bin_edges:
        """Counts (or sums of weights) between the given edges, and the edges."""
    @overload
    def histogram(self, bins: _int = ..., *, range: _Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _hist_bin_edges: ...
    @overload
    def hsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """Equal pieces, as views."""
    @overload
    def hsplit(self, indices: _Size) -> tuple[Tensor, ...]: ...
    @overload
    def hsplit(self, *indices: _int) -> tuple[Tensor, ...]: ...
    @overload
    def hsplit(self, indices_or_sections: _int) -> tuple[Tensor, ...]: ...
    @overload
    def hsplit(self, indices_or_sections: _Size) -> tuple[Tensor, ...]: ...
    @overload
    def hsplit(self, *indices_or_sections: _int) -> tuple[Tensor, ...]: ...
    def hypot(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """sqrt(a * a + b * b) without overflow."""
    def hypot_(self, other: Tensor) -> Self:
        """sqrt(a * a + b * b) without overflow."""
    def i0(self, *, out: Tensor | None = ...) -> Tensor:
        """Modified Bessel function of the first kind, order 0."""
    def i0_(self) -> Self:
        """Modified Bessel function of the first kind, order 0."""
    def igamma(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Regularised lower incomplete gamma function."""
    def igamma_(self, other: Tensor) -> Self:
        """Regularised lower incomplete gamma function."""
    def igammac(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Regularised upper incomplete gamma function."""
    def igammac_(self, other: Tensor) -> Self:
        """Regularised upper incomplete gamma function."""
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
        """A copy with the rows of `source`, times `alpha`, added to the rows `index`."""
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = ...) -> Self:
        """A copy with the rows of `source`, times `alpha`, added to the rows `index`."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """A copy with the rows `index` replaced by those of `source`."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Self:
        """A copy with the rows `index` replaced by those of `source`."""
    def index_fill(self, dim: _int, index: Tensor, value: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """A copy with the rows `index` filled with a number."""
    def index_fill_(self, dim: _int, index: Tensor, value: _Operand) -> Self:
        """A copy with the rows `index` filled with a number."""
    def index_put(self, indices: _Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...) -> Tensor:
        """A copy with the elements at `indices` replaced by `values`, or increased by them
        if `accumulate`.
        """
    def index_put_(self, indices: _Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...) -> Self:
        """Replaces the elements at `indices` by `values`, or adds to them if `accumulate`.
        """
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
        """The prod, mean, amax or amin of the rows of `source` at the rows `index` of
        self.
        """
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = ...) -> Self:
        """The prod, mean, amax or amin of the rows of `source` at the rows `index` of
        self.
        """
    def index_select(self, dim: _int, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """The rows `index` along a dimension."""
    def inner(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Sum of products over the last dimension of both tensors."""
    def int(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    def inverse(self, *, out: Tensor | None = ...) -> Tensor:
        """The inverses of square matrices."""
    def is_complex(self) -> _bool:
        """Whether the elements are complex numbers."""
    def is_conj(self) -> _bool:
        """False: conjugates are never lazy."""
    def is_contiguous(self, *, memory_format: memory_format | None = ...) -> _bool:
        """Whether the elements lie in memory in the order of `memory_format`."""
    def is_floating_point(self) -> _bool:
        """Whether the elements are real floating point numbers."""
    def is_neg(self) -> _bool:
        """False: negatives are never lazy."""
    def is_nonzero(self) -> _bool:
        """Whether a tensor with one element is not zero."""
    def is_same_size(self, other: Tensor) -> _bool:
        """Whether two tensors have the same shape."""
    def is_signed(self) -> _bool:
        """Whether elements can be negative."""
    def isclose(self, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
        """True where abs(self - other) <= atol + rtol * abs(other)."""
    def isfinite(self, *, out: Tensor | None = ...) -> Tensor:
        """True where an element is neither infinite nor NaN."""
    def isinf(self, *, out: Tensor | None = ...) -> Tensor:
        """True where an element is infinite."""
    def isnan(self, *, out: Tensor | None = ...) -> Tensor:
        """True where an element is not a number."""
    def isneginf(self, *, out: Tensor | None = ...) -> Tensor:
        """True where an element is minus infinity."""
    def isposinf(self, *, out: Tensor | None = ...) -> Tensor:
        """True where an element is plus infinity."""
    def isreal(self, *, out: Tensor | None = ...) -> Tensor:
        """True where the imaginary part is zero."""
    def istft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
        """Inverse of stft: the signal whose windows have these transforms."""
    def item(self) -> _int | _float | _bool:
        """The value of a tensor with one element, as a Python number."""
    def kron(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """The Kronecker product: each element of the first times all of the second."""
    def kthvalue(self, k: _int, dim: _int = ..., keepdim: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices:
        """The `k`-th smallest element along `dim`, counted from 1, and where it is."""
    def lcm(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Least common multiple."""
    def lcm_(self, other: Tensor) -> Self:
        """Least common multiple."""
    def ldexp(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """The first times 2 to the power of the second."""
    def ldexp_(self, other: Tensor) -> Self:
        """The first times 2 to the power of the second."""
    def le(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """True where the first is at most the second."""
    def le_(self, other: _Operand) -> Self:
        """True where the first is at most the second."""
    def lerp(self, end: Tensor, weight: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """self + weight * (end - self)."""
    def lerp_(self, end: Tensor, weight: _Operand) -> Self:
        """self + weight * (end - self)."""
    def less(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Alias of lt()."""
    def less_(self, other: _Operand) -> Self:
        """Alias of lt()."""
    def less_equal(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Alias of le()."""
    def less_equal_(self, other: _Operand) -> Self:
        """Alias of le()."""
    def lgamma(self, *, out: Tensor | None = ...) -> Tensor:
        """Logarithm of the absolute value of gamma(x)."""
    def lgamma_(self) -> Self:
        """Logarithm of the absolute value of gamma(x)."""
    def log(self, *, out: Tensor | None = ...) -> Tensor:
        """Natural logarithm of each element."""
    def log10(self, *, out: Tensor | None = ...) -> Tensor:
        """Base-10 logarithm of each element."""
    def log10_(self) -> Self:
        """Base-10 logarithm of each element."""
    def log1p(self, *, out: Tensor | None = ...) -> Tensor:
        """log(1 + x), accurate near zero."""
    def log1p_(self) -> Self:
        """log(1 + x), accurate near zero."""
    def log2(self, *, out: Tensor | None = ...) -> Tensor:
        """Base-2 logarithm of each element."""
    def log2_(self) -> Self:
        """Base-2 logarithm of each element."""
    def log_(self) -> Self:
        """Natural logarithm of each element."""
    def log_normal_(self, mean: _float = ..., std: _float = ..., *, generator: Generator | None = ...) -> Self:
        """Fills the tensor with the exponentials of normal numbers."""
    def log_softmax(self, dim: _int, dtype: _DtypeLike | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Logarithm of softmax, without loss of accuracy."""
    def logaddexp(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """log(exp(a) + exp(b)) without overflow."""
    def logaddexp2(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """log2(2**a + 2**b) without overflow."""
    def logaddexp2_(self, other: Tensor) -> Self:
        """log2(2**a + 2**b) without overflow."""
    def logaddexp_(self, other: Tensor) -> Self:
        """log(exp(a) + exp(b)) without overflow."""
    def logcumsumexp(self, dim: _int, *, out: Tensor | None = ...) -> Tensor:
        """Logarithm of the sum of exponentials of each element along `dim` and all before
        it.
        """
    def logdet(self) -> Tensor:
        """The logarithm of determinants; NaN where they are negative."""
    def logical_and(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """True where both elements are nonzero."""
    def logical_and_(self, other: Tensor) -> Self:
        """True where both elements are nonzero."""
    def logical_not(self, *, out: Tensor | None = ...) -> Tensor:
        """True where an element is zero."""
    def logical_not_(self) -> Self:
        """True where an element is zero."""
    def logical_or(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """True where one of the elements is nonzero."""
    def logical_or_(self, other: Tensor) -> Self:
        """True where one of the elements is nonzero."""
    def logical_xor(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """True where just one element is nonzero."""
    def logical_xor_(self, other: Tensor) -> Self:
        """True where just one element is nonzero."""
    def logit(self, eps: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """log(x / (1 - x)), x being limited to [eps, 1 - eps] if eps is given."""
    def logit_(self, eps: _float | None = ...) -> Self:
        """log(x / (1 - x)), x being limited to [eps, 1 - eps] if eps is given."""
    def logsumexp(self, dim: _Dims, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """Logarithm of the sum of exponentials over `dim`, without overflow."""
    def long(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    def lt(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """True where the first is less than the second."""
    def lt_(self, other: _Operand) -> Self:
        """True where the first is less than the second."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """The X with A @ X = self, from the packed LU factors of A."""
    def masked_fill(self, mask: Tensor, value: _Operand) -> Tensor:
        """A copy with a number where `mask` is set."""
    def masked_fill_(self, mask: Tensor, value: _Operand) -> Self:
        """A copy with a number where `mask` is set."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor:
        """A copy with the elements of `source`, in order, where `mask` is set."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Self:
        """A copy with the elements of `source`, in order, where `mask` is set."""
    def masked_select(self, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """The elements where `mask` is set, as one dimension."""
    def matmul(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Matrix product of two tensors: vectors, matrices or batches, broadcast together.
        """
    def matrix_exp(self) -> Tensor:
        """The exponentials of square matrices."""
    def matrix_power(self, n: _int, *, out: Tensor | None = ...) -> Tensor:
        """Square matrices to the power `n`."""
    @overload
    def max(self, *, out: Tensor | None = ...) -> Tensor:
        """Largest of all elements."""
    @overload
    def max(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def max(self, dim: _int, keepdim: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices: ...
    def maximum(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Larger of two elements; NaN if either is."""
    def maximum_(self, other: Tensor) -> Self:
        """Larger of two elements; NaN if either is."""
    @overload
    def mean(self, dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
        """Mean over `dim`, or over every axis when `dim` is None."""
    @overload
    def mean(self, *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor: ...
    @overload
    def median(self) -> Tensor:
        """Median, the lower of two in the middle, of all elements."""
    @overload
    def median(self, dim: _int, keepdim: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices: ...
    @overload
    def min(self, *, out: Tensor | None = ...) -> Tensor:
        """Smallest of all elements."""
    @overload
    def min(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def min(self, dim: _int, keepdim: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices: ...
    def minimum(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Smaller of two elements; NaN if either is."""
    def minimum_(self, other: Tensor) -> Self:
        """Smaller of two elements; NaN if either is."""
    def mm(self, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Product of two matrices."""
    def mode(self, dim: _int = ..., keepdim: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices:
        """The most frequent element along `dim`, the smallest of several, and where it is.
        """
    def moveaxis(self, source: _Dims, destination: _Dims) -> Tensor:
        """movedim()."""
    def movedim(self, source: _Dims, destination: _Dims) -> Tensor:
        """A view with the dimensions `source` moved to `destination`."""
    def msort(self, *, out: Tensor | None = ...) -> Tensor:
        """The elements along the first dimension in order."""
    def mul(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Product of two tensors, broadcast together."""
    def mul_(self, other: _Operand) -> Self:
        """Product of two tensors, broadcast together."""
    def multinomial(self, num_samples: _int, replacement: _bool = ..., *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
        """Indices drawn with the weights in each row of `input`."""
    def multiply(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Alias of mul()."""
    def multiply_(self, other: _Operand) -> Self:
        """Alias of mul()."""
    def mv(self, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Product of a matrix and a vector."""
    def mvlgamma(self, p: _int, *, out: Tensor | None = ...) -> Tensor:
        """Logarithm of the multivariate gamma function."""
    def mvlgamma_(self, p: _int) -> Self:
        """Logarithm of the multivariate gamma function."""
    def nan_to_num(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """NaN and the infinities replaced by numbers: by default 0 and the largest there
        are.
        """
    def nan_to_num_(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Self:
        """NaN and the infinities replaced by numbers: by default 0 and the largest there
        are.
        """
    def nanmean(self, dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
        """Mean over `dim` of what is not NaN."""
    @overload
    def nanmedian(self) -> Tensor:
        """Median of what is not NaN of all elements."""
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices: ...
    @overload
    def nanquantile(self, q: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor:
        """Quantiles of what is not NaN."""
    @overload
    def nanquantile(self, q: _float, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor: ...
    def nansum(self, dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
        """Sum of what is not NaN over `dim`, or over every axis when `dim` is None."""
    @overload
    def narrow(self, dim: _int, start: _int, length: _int) -> Tensor:
        """A view of `length` indices from `start` along a dimension."""
    @overload
    def narrow(self, dim: _int, start: Tensor, length: _int) -> Tensor: ...
    def narrow_copy(self, dim: _int, start: _int, length: _int, *, out: Tensor | None = ...) -> Tensor:
        """A copy of `length` indices from `start` along a dimension."""
    def ne(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """True where the two elements differ."""
    def ne_(self, other: _Operand) -> Self:
        """True where the two elements differ."""
    def neg(self, *, out: Tensor | None = ...) -> Tensor:
        """Each element with its sign changed."""
    def neg_(self) -> Self:
        """Each element with its sign changed."""
    def negative(self, *, out: Tensor | None = ...) -> Tensor:
        """Alias of neg()."""
    def negative_(self) -> Self:
        """Alias of neg()."""
    @overload
    def new_empty(self, size: _Size, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of the given shape and the same dtype and device, with uninitialised
        elements.
        """
    @overload
    def new_empty(self, *size: _int, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor: ...
    def new_empty_strided(self, size: _Size, stride: _Size, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of the given shape and strides and the same dtype and device, with
        uninitialised elements.
        """
    def new_full(self, size: _Size, fill_value: _Number, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of the given shape and the same dtype and device, filled with a number.
        """
    @overload
    def new_ones(self, size: _Size, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of the given shape and the same dtype and device, filled with 1."""
    @overload
    def new_ones(self, *size: _int, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor: ...
    def new_tensor(self, data: Any, *, dtype: _DtypeLike | None = ..., device: _DeviceLike | None = ..., requires_grad: _bool = ..., layout: Any = ..., pin_memory: _bool = ...) -> Tensor:
        """A new tensor with a copy of `data`, of the same dtype and on the same device."""
    @overload
    def new_zeros(self, size: _Size, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
        """A tensor of the given shape and the same dtype and device, filled with 0."""
    @overload
    def new_zeros(self, *size: _int, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor: ...
    def nextafter(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Next number after the first towards the second."""
    def nextafter_(self, other: Tensor) -> Self:
        """Next number after the first towards the second."""
    @overload
    def nonzero(self, *, as_tuple: Literal[False] = ..., out: Tensor | None = ...) -> Tensor:
        """The positions of the elements that are not zero: one row for each, or with
        `as_tuple` one tensor for each dimension.
        """
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    @overload
    def nonzero(self, *, as_tuple: _bool) -> Any: ...
    def nonzero_static(self, *, size: _int, fill_value: _int = ..., out: Tensor | None = ...) -> Tensor:
        """nonzero() with exactly `size` rows: cut, or filled up with `fill_value`."""
    @overload
    def norm(self, p: _Number | None = ..., dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
        """Norm of order `p` over `dim`, or of all elements."""
    @overload
    def norm(self, p: _str, dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor: ...
    def normal_(self, mean: _float = ..., std: _float = ..., *, generator: Generator | None = ...) -> Self:
        """Fills the tensor with normal numbers."""
    def not_equal(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Alias of ne()."""
    def not_equal_(self, other: _Operand) -> Self:
        """Alias of ne()."""
    def orgqr(self, input2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """The first columns of a product of Householder reflectors."""
    def ormqr(self, input2: Tensor, input3: Tensor, left: _bool = ..., transpose: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
        """A matrix multiplied from the left or right by a product of reflectors, or its
        adjoint.
        """
    def outer(self, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Outer product of two vectors."""
    @overload
    def permute(self, dims: _Size) -> Tensor:
        """A view with its dimensions reordered."""
    @overload
    def permute(self, *dims: _int) -> Tensor: ...
    def pin_memory(self, device: _DeviceLike | None = ...) -> Tensor:
        """The tensor itself: host memory need not be pinned for ember's devices."""
    def pinverse(self, rcond: _float = ...) -> Tensor:
        """The pseudo-inverses of matrices."""
    def polygamma(self, n: _int) -> Tensor:
        """n-th derivative of digamma."""
    def polygamma_(self, n: _int) -> Self:
        """n-th derivative of digamma."""
    def positive(self) -> Tensor:
        """The tensor itself."""
    @overload
    def pow(self, exponent: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """self to the power of exponent."""
    @overload
    def pow(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def pow_(self, exponent: _Operand) -> Self:
        """self to the power of exponent."""
    @overload
    def pow_(self, other: _Operand) -> Self: ...
    @overload
    def prelu(self, weight: Tensor) -> Tensor:
        """x where it is positive, weight * x elsewhere; one weight, or one for each
        channel (dimension 1).
        """
    @overload
    def prelu(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
    def prelu_(self, other: Tensor) -> Self:
        """x where it is positive, weight * x elsewhere."""
    @overload
    def prod(self, *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
        """Product of all elements."""
    @overload
    def prod(self, dim: _int, keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor: ...
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
        """A copy with `source` at the places `index`, the tensor being one line."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Self:
        """A copy with `source` at the places `index`, the tensor being one line."""
    def qr(self, some: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _Q_R:
        """An orthogonal Q and an upper triangular R with input = Q @ R."""
    @overload
    def quantile(self, q: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor:
        """The values below which the fractions `q` of the elements along `dim` lie."""
    @overload
    def quantile(self, q: _float, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor: ...
    def rad2deg(self, *, out: Tensor | None = ...) -> Tensor:
        """Radians to degrees."""
    def rad2deg_(self) -> Self:
        """Radians to degrees."""
    @overload
    def random_(self, *, generator: Generator | None = ...) -> Self:
        """Fills the tensor with non-negative integers, of those that its dtype holds
        exactly.
        """
    @overload
    def random_(self, to: _int, *, generator: Generator | None = ...) -> Self: ...
    @overload
    def random_(self, from_: _int, to: _int | None, *, generator: Generator | None = ...) -> Self: ...
    def ravel(self) -> Tensor:
        """The elements as one dimension, in contiguous memory."""
    def reciprocal(self, *, out: Tensor | None = ...) -> Tensor:
        """1 / x for each element."""
    def reciprocal_(self) -> Self:
        """1 / x for each element."""
    def relu(self) -> Tensor:
        """max(x, 0) for each element."""
    def relu_(self) -> Self:
        """max(x, 0) for each element."""
    def remainder(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Remainder of the division, with the divisor's sign."""
    def remainder_(self, other: _Operand) -> Self:
        """Remainder of the division, with the divisor's sign."""
    def renorm(self, p: _Number, dim: _int, maxnorm: _Number, *, out: Tensor | None = ...) -> Tensor:
        """Slices along `dim` scaled down so that their norms are at most `maxnorm`."""
    def renorm_(self, p: _Number, dim: _int, maxnorm: _Number) -> Self:
        """Slices along `dim` scaled down so that their norms are at most `maxnorm`."""
    @overload
    def repeat(self, repeats: _Size) -> Tensor:
        """The tensor repeated as often along each dimension."""
    @overload
    def repeat(self, *repeats: _int) -> Tensor: ...
    @overload
    def repeat_interleave(self, repeats: _int, dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
        """Each element (or each index along `dim`) `repeats` times in a row."""
    @overload
    def repeat_interleave(self, repeats: Tensor, dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor: ...
    @overload
    def reshape(self, shape: _Size) -> Tensor:
        """The same elements under another shape: a view if possible, else a copy."""
    @overload
    def reshape(self, *shape: _int) -> Tensor: ...
    def reshape_as(self, other: Tensor) -> Tensor:
        """reshape() to the shape of `other`."""
    @overload
    def resize_(self, size: _Size, *, memory_format: memory_format | None = ...) -> Self:
        """Gives the tensor another shape, in more memory if it needs more; new elements
        are uninitialised.
        """
    @overload
    def resize_(self, *size: _int, memory_format: memory_format | None = ...) -> Self: ...
    def resize_as_(self, the_template: Tensor, *, memory_format: memory_format | None = ...) -> Self:
        """Gives the tensor the shape of another, in more memory if it needs more."""
    def resolve_conj(self) -> Tensor:
        """The tensor itself: conjugates are never lazy."""
    def resolve_neg(self) -> Tensor:
        """The tensor itself: negatives are never lazy."""
    def roll(self, shifts: _Dims, dims: _Dims = ...) -> Tensor:
        """A copy shifted along `dims`; what leaves at the end comes in at the front."""
    def rot90(self, k: _int = ..., dims: _Dims = ...) -> Tensor:
        """The plane of two dimensions turned by k times 90 degrees, from the first to the
        second.
        """
    @overload
    def round(self, *, decimals: _int, out: Tensor | None = ...) -> Tensor:
        """Each element rounded to a number of decimals, halves to even."""
    @overload
    def round(self, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def round_(self, *, decimals: _int) -> Self:
        """Each element rounded to a number of decimals, halves to even."""
    @overload
    def round_(self) -> Self: ...
    def rrelu_(self, lower: _float = ..., upper: _float = ..., training: _bool = ..., generator: Generator | None = ...) -> Self:
        """Leaky ReLU with slopes drawn from [lower, upper) in training, their mean
        otherwise.
        """
    def rsqrt(self, *, out: Tensor | None = ...) -> Tensor:
        """1 / sqrt(x) for each element."""
    def rsqrt_(self) -> Self:
        """1 / sqrt(x) for each element."""
    def rsub(self, other: _Operand, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
        """other - alpha * self."""
    @overload
    def scatter(self, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """A copy with `src` written to the places `index` along a dimension."""
    @overload
    def scatter(self, dim: _int, index: Tensor, value: _Number, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def scatter(self, dim: _int, index: Tensor, src: Tensor, *, reduce: _str, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def scatter(self, dim: _int, index: Tensor, value: _Number, *, reduce: _str, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def scatter_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """A copy with `src` written to the places `index` along a dimension."""
    @overload
    def scatter_(self, dim: _int, index: Tensor, value: _Number) -> Self: ...
    @overload
    def scatter_(self, dim: _int, index: Tensor, src: Tensor, *, reduce: _str) -> Self: ...
    @overload
    def scatter_(self, dim: _int, index: Tensor, value: _Number, *, reduce: _str) -> Self: ...
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """A copy with `src` added to what is at `index` along a dimension."""
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Self:
        """A copy with `src` added to what is at `index` along a dimension."""
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
        """The sum, prod, mean, amax or amin of `src` at the places `index` along a
        dimension, together with what is there if `include_self`.
        """
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = ...) -> Self:
        """The sum, prod, mean, amax or amin of `src` at the places `index` along a
        dimension, together with what is there if `include_self`.
        """
    def select(self, dim: _int, index: _int) -> Tensor:
        """A view of one index along a dimension."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int, *, out: Tensor | None = ...) -> Tensor:
        """A copy with one index along a dimension replaced by `src`."""
    @overload
    def set_(self) -> Self:
        """Makes the tensor empty, over a storage of its own."""
    @overload
    def set_(self, source: Tensor) -> Self: ...
    @overload
    def set_(self, source: Any, storage_offset: _int = ..., size: _Size | None = ..., stride: _Size | None = ...) -> Self: ...
    def sgn(self, *, out: Tensor | None = ...) -> Tensor:
        """Sign of each element; of a complex one, x / abs(x)."""
    def sgn_(self) -> Self:
        """Sign of each element; of a complex one, x / abs(x)."""
    def short(self, *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype, that of this name; itself if it has it."""
    def sigmoid(self, *, out: Tensor | None = ...) -> Tensor:
        """1 / (1 + exp(-x)) for each element."""
    def sigmoid_(self) -> Self:
        """1 / (1 + exp(-x)) for each element."""
    def sign(self, *, out: Tensor | None = ...) -> Tensor:
        """-1, 0 or 1 by the sign of each element."""
    def sign_(self) -> Self:
        """-1, 0 or 1 by the sign of each element."""
    def signbit(self, *, out: Tensor | None = ...) -> Tensor:
        """True where the sign bit is set, that of -0. included."""
    def sin(self, *, out: Tensor | None = ...) -> Tensor:
        """Sine of each element."""
    def sin_(self) -> Self:
        """Sine of each element."""
    def sinc(self, *, out: Tensor | None = ...) -> Tensor:
        """sin(pi x) / (pi x), which is 1 at zero."""
    def sinc_(self) -> Self:
        """sin(pi x) / (pi x), which is 1 at zero."""
    def sinh(self, *, out: Tensor | None = ...) -> Tensor:
        """Hyperbolic sine of each element."""
    def sinh_(self) -> Self:
        """Hyperbolic sine of each element."""
    def slice_scatter(self, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Tensor | None = ...) -> Tensor:
        """A copy with a slice along a dimension replaced by `src`."""
    def slogdet(self, *, out: _Sequence[Tensor] | None = ...) -> _sign_logabsdet:
        """The sign of determinants, and the logarithm of their absolute value."""
    def softmax(self, dim: _int, dtype: _DtypeLike | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """Exponentials along `dim`, scaled to sum to 1."""
    def sort(self, dim: _int = ..., descending: _bool = ..., *, stable: _bool | None = ..., out: _Sequence[Tensor] | None = ...) -> _values_indices:
        """The elements along `dim` in order, and where they came from. NaN counts as the
        largest.
        """
    @overload
    def split(self, split_size: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """Views of pieces of `split_size` along a dimension; the last may be smaller."""
    @overload
    def split(self, split_size: _Dims, dim: _int = ...) -> tuple[Tensor, ...]: ...
    def split_with_sizes(self, split_sizes: _Dims, dim: _int = ...) -> tuple[Tensor, ...]:
        """Views of pieces of the given sizes along a dimension."""
    def sqrt(self, *, out: Tensor | None = ...) -> Tensor:
        """Square root of each element."""
    def sqrt_(self) -> Self:
        """Square root of each element."""
    def square(self, *, out: Tensor | None = ...) -> Tensor:
        """Square of each element."""
    def square_(self) -> Self:
        """Square of each element."""
    def squeeze(self, dim: _Dims = ...) -> Tensor:
        """A view without dimensions of size 1, or without those among `dim`."""
    def squeeze_(self, dim: _Dims = ...) -> Self:
        """A view without dimensions of size 1, or without those among `dim`. The tensor
        itself changes.
        """
    @overload
    def std(self, unbiased: _bool) -> Tensor:
        """Standard deviation of all elements."""
    @overload
    def std(self, dim: _Dims, unbiased: _bool, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def std(self, dim: _Dims = ..., *, correction: _Number | None = ..., keepdim: _bool = ..., out: Tensor | None = ...) -> Tensor: ...
    def stft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: _str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
        """Short-time Fourier transform: of windows of `n_fft` samples, `hop_length` apart.
        """
    @overload
    def sub(self, other: _Operand, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
        """self - alpha * other."""
    @overload
    def sub(self, alpha: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def sub(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def sub_(self, other: _Operand, *, alpha: _Number = ...) -> Self:
        """self - alpha * other."""
    @overload
    def sub_(self, alpha: _Number, other: Tensor) -> Self: ...
    @overload
    def sub_(self, other: _Operand) -> Self: ...
    def subtract(self, other: _Operand, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
        """self - alpha * other."""
    def subtract_(self, other: _Operand, *, alpha: _Number = ...) -> Self:
        """self - alpha * other."""
    @overload
    def sum(self, dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
        """Sum over `dim`, or over every axis when `dim` is None."""
    @overload
    def sum(self, *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor: ...
    @overload
    def sum_to_size(self, size: _Size) -> Tensor:
        """The sum over the dimensions along which `size` would be broadcast to the
        tensor's shape.
        """
    @overload
    def sum_to_size(self, *size: _int) -> Tensor: ...
    def svd(self, some: _bool = ..., compute_uv: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _U_S_V:
        """Singular vectors and values: input = U @ diag(S) @ V.mH."""
    def swapaxes(self, axis0: _int, axis1: _int) -> Tensor:
        """transpose()."""
    def swapaxes_(self, axis0: _int, axis1: _int) -> Self:
        """transpose(). The tensor itself changes."""
    def swapdims(self, dim0: _int, dim1: _int) -> Tensor:
        """transpose()."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Self:
        """transpose(). The tensor itself changes."""
    def t(self) -> Tensor:
        """The transpose of a matrix."""
    def t_(self) -> Self:
        """The transpose of a matrix. The tensor itself changes."""
    def take(self, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """The elements at `index`, the tensor being one line."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
        """gather() with the other dimensions broadcast; of the flattened tensor if `dim`
        is None.
        """
    def tan(self, *, out: Tensor | None = ...) -> Tensor:
        """Tangent of each element."""
    def tan_(self) -> Self:
        """Tangent of each element."""
    def tanh(self, *, out: Tensor | None = ...) -> Tensor:
        """Hyperbolic tangent of each element."""
    def tanh_(self) -> Self:
        """Hyperbolic tangent of each element."""
    @overload
    def tensor_split(self, sections: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """Views of `sections` pieces along a dimension, of sizes that differ by one at
        most.
        """
    @overload
    def tensor_split(self, indices: _Dims, dim: _int = ...) -> tuple[Tensor, ...]: ...
    @overload
    def tensor_split(self, tensor_indices_or_sections: Tensor, dim: _int = ...) -> tuple[Tensor, ...]: ...
    @overload
    def tensor_split(self, indices_or_sections: _int, dim: _int = ...) -> tuple[Tensor, ...]: ...
    @overload
    def tensor_split(self, indices_or_sections: _Dims, dim: _int = ...) -> tuple[Tensor, ...]: ...
    @overload
    def tile(self, dims: _Size) -> Tensor:
        """The tensor repeated along each dimension; missing entries count as 1."""
    @overload
    def tile(self, *dims: _int) -> Tensor: ...
    @overload
    def to(self, dtype: _DtypeLike, non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: memory_format | None = ...) -> Tensor:
        """The tensor in another dtype."""
    @overload
    def to(self, device: _DeviceLike | None = ..., dtype: _DtypeLike | None = ..., non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: memory_format | None = ...) -> Tensor: ...
    @overload
    def to(self, other: Tensor, non_blocking: _bool = ..., copy: _bool = ..., *, memory_format: memory_format | None = ...) -> Tensor: ...
    def to_dense(self, dtype: _DtypeLike | None = ..., *, masked_grad: _bool | None = ...) -> Tensor:
        """The tensor itself, in another dtype if one is given: all tensors are dense."""
    def topk(self, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices:
        """The `k` largest (or smallest) elements along `dim`, and where they are."""
    def trace(self) -> Tensor:
        """The sum of the diagonal of a matrix."""
    def transpose(self, dim0: _int, dim1: _int) -> Tensor:
        """A view with two dimensions swapped."""
    def transpose_(self, dim0: _int, dim1: _int) -> Self:
        """A view with two dimensions swapped. The tensor itself changes."""
    def triangular_solve(self, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _solution_cloned_coefficient:
        """The X with A @ X = self, A being triangular, and a copy of A."""
    def tril(self, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
        """The lower triangle of matrices, up to a diagonal; 0 above it."""
    def tril_(self, diagonal: _int = ...) -> Self:
        """The lower triangle of matrices, up to a diagonal; 0 above it."""
    def triu(self, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
        """The upper triangle of matrices, from a diagonal on; 0 below it."""
    def triu_(self, diagonal: _int = ...) -> Self:
        """The upper triangle of matrices, from a diagonal on; 0 below it."""
    def true_divide(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """Alias of div()."""
    def true_divide_(self, other: _Operand) -> Self:
        """Alias of div()."""
    def trunc(self, *, out: Tensor | None = ...) -> Tensor:
        """Integer part of each element."""
    def trunc_(self) -> Self:
        """Integer part of each element."""
    def type_as(self, other: Tensor) -> Tensor:
        """The tensor with the dtype and device of `other`."""
    def unbind(self, dim: _int = ...) -> tuple[Tensor, ...]:
        """Views of each index along a dimension."""
    def unflatten(self, dim: _int, sizes: _Size) -> Tensor:
        """One dimension as several, of the given sizes."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor:
        """A view of all windows of `size` elements along a dimension, `step` apart, as a
        new last dimension.
        """
    def uniform_(self, from_: _float = ..., to: _float = ..., *, generator: Generator | None = ...) -> Self:
        """Fills the tensor with uniform numbers in [from, to)."""
    @overload
    def unique(self, sorted: _bool = ..., *, return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor:
        """The distinct elements (or slices along `dim`), in order; where each element
        went; how often each occurs.
        """
    @overload
    def unique(self, sorted: _bool = ..., *, return_inverse: Literal[True], return_counts: Literal[False] = ..., dim: _int | None = ...) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: _bool = ..., *, return_inverse: Literal[False] = ..., return_counts: Literal[True], dim: _int | None = ...) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: _bool = ..., *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = ...) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique(self, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: ...
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor:
        """One element of each run of equal ones; the run of each element; how long each
        is.
        """
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[True], return_counts: Literal[False] = ..., dim: _int | None = ...) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[False] = ..., return_counts: Literal[True], dim: _int | None = ...) -> tuple[Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = ...) -> tuple[Tensor, Tensor, Tensor]: ...
    @overload
    def unique_consecutive(self, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: ...
    def unsafe_chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """chunk() into pieces that may each be changed in place."""
    def unsafe_split(self, split_size: _int, dim: _int = ...) -> tuple[Tensor, ...]:
        """split() into pieces that may each be changed in place."""
    def unsafe_split_with_sizes(self, split_sizes: _Dims, dim: _int = ...) -> tuple[Tensor, ...]:
        """split_with_sizes() into pieces that may each be changed in place."""
    def unsqueeze(self, dim: _int) -> Tensor:
        """A view with a dimension of size 1 put in."""
    def unsqueeze_(self, dim: _int) -> Self:
        """A view with a dimension of size 1 put in. The tensor itself changes."""
    @overload
    def var(self, unbiased: _bool) -> Tensor:
        """Variance of all elements."""
    @overload
    def var(self, dim: _Dims, unbiased: _bool, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor: ...
    @overload
    def var(self, dim: _Dims = ..., *, correction: _Number | None = ..., keepdim: _bool = ..., out: Tensor | None = ...) -> Tensor: ...
    def vdot(self, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
        """Dot product of the conjugate of a vector with another."""
    @overload
    def view(self, dtype: _DtypeLike) -> Tensor:
        """The same bytes under another dtype."""
    @overload
    def view(self, size: _Size) -> Tensor: ...
    @overload
    def view(self, *size: _int) -> Tensor: ...
    def view_as(self, other: Tensor) -> Tensor:
        """A view with the shape of `other`."""
    @overload
    def vsplit(self, sections: _int) -> tuple[Tensor, ...]:
        """Equal pieces, as views."""
    @overload
    def vsplit(self, indices: _Size) -> tuple[Tensor, ...]: ...
    @overload
    def vsplit(self, *indices: _int) -> tuple[Tensor, ...]: ...
    @overload
    def vsplit(self, indices_or_sections: _int) -> tuple[Tensor, ...]: ...
    @overload
    def vsplit(self, indices_or_sections: _Size) -> tuple[Tensor, ...]: ...
    @overload
    def vsplit(self, *indices_or_sections: _int) -> tuple[Tensor, ...]: ...
    def where(self, condition: Tensor, other: _Operand) -> Tensor:
        """self where condition is true, other elsewhere."""
    def xlogy(self, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
        """a * log(b), which is 0 where a is."""
    def xlogy_(self, other: _Operand) -> Self:
        """a * log(b), which is 0 where a is."""
    def zero_(self) -> Self:
        """Sets every element to 0."""

class UntypedStorage:
    def __buffer__(self, flags: _int, /) -> memoryview: ...
    def __len__(self) -> _int: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def _cdata(self) -> Any: ...
    @_cdata.setter
    def _cdata(self, value: Any) -> None: ...
    def _fix_weakref(self, *args: Any, **kwargs: Any) -> Any: ...
    def _swap_data_ptr_(self, *args: Any, **kwargs: Any) -> Any: ...
    def bfloat16(self, *args: Any, **kwargs: Any) -> Any: ...
    def bool(self, *args: Any, **kwargs: Any) -> Any: ...
    def byte(self, *args: Any, **kwargs: Any) -> Any: ...
    def byteswap(self, *args: Any, **kwargs: Any) -> Any: ...
    def char(self, *args: Any, **kwargs: Any) -> Any: ...
    def clone(self) -> UntypedStorage:
        """A copy."""
    def complex_double(self, *args: Any, **kwargs: Any) -> Any: ...
    def complex_float(self, *args: Any, **kwargs: Any) -> Any: ...
    def copy_(self, source: Any, non_blocking: _bool | None = ...) -> Self:
        """Copies the bytes of another storage."""
    def cpu(self) -> UntypedStorage:
        """The storage in host memory; itself if it is there."""
    def cuda(self, *args: Any, **kwargs: Any) -> Any: ...
    def data_ptr(self) -> _int:
        """Address of the memory."""
    @property
    def device(self) -> _device: ...
    def double(self, *args: Any, **kwargs: Any) -> Any: ...
    def element_size(self) -> _int:
        """Always 1."""
    filename: Any
    def fill_(self, value: Any) -> Self:
        """Sets every byte."""
    def float(self, *args: Any, **kwargs: Any) -> Any: ...
    def float8_e4m3fn(self, *args: Any, **kwargs: Any) -> Any: ...
    def float8_e4m3fnuz(self, *args: Any, **kwargs: Any) -> Any: ...
    def float8_e5m2(self, *args: Any, **kwargs: Any) -> Any: ...
    def float8_e5m2fnuz(self, *args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def from_buffer(*args: Any, **kwargs: Any) -> Any: ...
    @staticmethod
    def from_file(*args: Any, **kwargs: Any) -> Any: ...
    def get_device(self) -> _int:
        """The number of the device; None on the CPU."""
    def half(self, *args: Any, **kwargs: Any) -> Any: ...
    def int(self, *args: Any, **kwargs: Any) -> Any: ...
    @property
    def is_cuda(self) -> Any: ...
    @is_cuda.setter
    def is_cuda(self, value: Any) -> None: ...
    is_hpu: Any
    def is_pinned(self, device: Any = ...) -> _bool:
        """Whether a device can read the memory by itself: no."""
    def is_shared(self) -> _bool:
        """Whether other processes have mapped it too."""
    @property
    def is_sparse(self) -> Any: ...
    @is_sparse.setter
    def is_sparse(self, value: Any) -> None: ...
    is_sparse_csr: Any
    def long(self, *args: Any, **kwargs: Any) -> Any: ...
    def nbytes(self) -> _int:
        """Bytes of memory."""
    def new(self, *args: Any, **kwargs: Any) -> Any: ...
    def pin_memory(self, *args: Any, **kwargs: Any) -> Any: ...
    def resizable(self) -> _bool:
        """Whether resize_() works."""
    def resize_(self, size: _int) -> Self:
        """Changes the size, keeping the bytes that fit."""
    def share_memory_(self) -> Self:
        """Moves the memory to where other processes can map it."""
    def short(self, *args: Any, **kwargs: Any) -> Any: ...
    def size(self) -> _int:
        """Bytes of memory."""
    def to(self, *args: Any, **kwargs: Any) -> Any: ...
    def tolist(self) -> list[_int]:
        """The bytes as a list of ints."""
    def type(self, *args: Any, **kwargs: Any) -> Any: ...
    def untyped(self) -> Self:
        """The storage itself."""

class _FunctionBase:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    @property
    def dirty_tensors(self) -> Any: ...
    @dirty_tensors.setter
    def dirty_tensors(self, value: Any) -> None: ...
    @property
    def materialize_grads(self) -> Any: ...
    @materialize_grads.setter
    def materialize_grads(self, value: Any) -> None: ...
    def maybe_clear_saved_tensors(self, *args: Any, **kwargs: Any) -> Any: ...
    @property
    def needs_input_grad(self) -> Any: ...
    @needs_input_grad.setter
    def needs_input_grad(self, value: Any) -> None: ...
    @property
    def non_differentiable(self) -> Any: ...
    @non_differentiable.setter
    def non_differentiable(self, value: Any) -> None: ...
    @property
    def saved_tensors(self) -> Any: ...
    @saved_tensors.setter
    def saved_tensors(self, value: Any) -> None: ...
    @property
    def saved_variables(self) -> Any: ...
    @saved_variables.setter
    def saved_variables(self, value: Any) -> None: ...
    @property
    def to_save(self) -> Any: ...
    @to_save.setter
    def to_save(self, value: Any) -> None: ...

class _ModuleBase:
    ...

class device:
    def __init__(self, type: Any, index: _int | None = None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *exc: object) -> None: ...
    @property
    def index(self) -> _int | None: ...
    @property
    def type(self) -> _str: ...

class dtype:
    @property
    def abbr(self) -> Any: ...
    @abbr.setter
    def abbr(self, value: Any) -> None: ...
    @property
    def is_complex(self) -> _bool: ...
    @property
    def is_floating_point(self) -> _bool: ...
    @property
    def is_signed(self) -> _bool: ...
    @property
    def itemsize(self) -> _int: ...
    def to_complex(self) -> _dtype:
        """The complex dtype of the same precision."""
    def to_real(self) -> _dtype:
        """The real dtype of the same precision."""

class layout:
    ...

class memory_format:
    ...

def _adopt_history(*args: Any, **kwargs: Any) -> Any: ...
def _call_device_kind(*args: Any, **kwargs: Any) -> Any: ...
def _call_override(*args: Any, **kwargs: Any) -> Any: ...
def _callgrind_dump(*args: Any, **kwargs: Any) -> Any: ...
def _callgrind_start(*args: Any, **kwargs: Any) -> Any: ...
def _callgrind_toggle(*args: Any, **kwargs: Any) -> Any: ...
def _cpu_level(*args: Any, **kwargs: Any) -> Any: ...
def _current_autograd_node(*args: Any, **kwargs: Any) -> Any: ...
def _current_graph_task_id(*args: Any, **kwargs: Any) -> Any: ...
def _die_with_parent(*args: Any, **kwargs: Any) -> Any: ...
def _disabled_torch_dispatch_impl(*args: Any, **kwargs: Any) -> Any: ...
def _disabled_torch_function_impl(*args: Any, **kwargs: Any) -> Any: ...
def _disk_cache(*args: Any, **kwargs: Any) -> Any: ...
def _disk_find(*args: Any, **kwargs: Any) -> Any: ...
def _disk_keep(*args: Any, **kwargs: Any) -> Any: ...
def _dist_ask(*args: Any, **kwargs: Any) -> Any: ...
def _dist_begin(*args: Any, **kwargs: Any) -> Any: ...
def _dist_begun(*args: Any, **kwargs: Any) -> Any: ...
def _dist_client(*args: Any, **kwargs: Any) -> Any: ...
def _dist_comm(*args: Any, **kwargs: Any) -> Any: ...
def _dist_leave(*args: Any, **kwargs: Any) -> Any: ...
def _dist_lost(*args: Any, **kwargs: Any) -> Any: ...
def _dist_server(*args: Any, **kwargs: Any) -> Any: ...
def _dist_server_port(*args: Any, **kwargs: Any) -> Any: ...
def _dist_source(*args: Any, **kwargs: Any) -> Any: ...
def _dist_start(*args: Any, **kwargs: Any) -> Any: ...
def _dist_table(*args: Any, **kwargs: Any) -> Any: ...
def _dist_wait(*args: Any, **kwargs: Any) -> Any: ...
def _empty_cache(*args: Any, **kwargs: Any) -> Any: ...
def _fill_uninitialised(*args: Any, **kwargs: Any) -> Any: ...
def _function_apply(*args: Any, **kwargs: Any) -> Any: ...
def _get_function_stack_at(*args: Any, **kwargs: Any) -> Any: ...
def _get_overloaded_args(*args: Any, **kwargs: Any) -> Any: ...
def _gradient_edge(*args: Any, **kwargs: Any) -> Any: ...
def _has_onednn(*args: Any, **kwargs: Any) -> Any: ...
def _has_torch_function(*args: Any, **kwargs: Any) -> Any: ...
def _has_torch_function_unary(*args: Any, **kwargs: Any) -> Any: ...
def _has_torch_function_variadic(*args: Any, **kwargs: Any) -> Any: ...
def _increment_version(*args: Any, **kwargs: Any) -> Any: ...
def _is_grad_layout_enforcement_enabled(*args: Any, **kwargs: Any) -> Any: ...
def _is_torch_function_enabled(*args: Any, **kwargs: Any) -> Any: ...
def _keep_heap(*args: Any, **kwargs: Any) -> Any: ...
def _keyed_digest(*args: Any, **kwargs: Any) -> Any: ...
def _lazy_close(*args: Any, **kwargs: Any) -> Any: ...
def _lazy_compile_hook(*args: Any, **kwargs: Any) -> Any: ...
def _lazy_flush(*args: Any, **kwargs: Any) -> Any: ...
def _lazy_is_open(*args: Any, **kwargs: Any) -> Any: ...
def _lazy_open(*args: Any, **kwargs: Any) -> Any: ...
def _lazy_reset(*args: Any, **kwargs: Any) -> Any: ...
def _lazy_set_enabled(*args: Any, **kwargs: Any) -> Any: ...
def _lazy_set_least(*args: Any, **kwargs: Any) -> Any: ...
def _lazy_stats(*args: Any, **kwargs: Any) -> Any: ...
def _len_torch_function_stack(*args: Any, **kwargs: Any) -> Any: ...
def _load_code(*args: Any, **kwargs: Any) -> Any: ...
def _means_device_kind(*args: Any, **kwargs: Any) -> Any: ...
def _memory_of(*args: Any, **kwargs: Any) -> Any: ...
def _memory_stats(*args: Any, **kwargs: Any) -> Any: ...
def _new_sparse(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_build_log(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_current_device(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_deterministic(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_device_count(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_empty_cache(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_event_done(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_event_record(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_event_time(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_event_wait(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_finish_all(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_helper(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_identity(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_limit_memory(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_memory_stats(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_open(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_program(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_program_binary(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_properties(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_record_stream(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_reset_peaks(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_set_device(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_stop_helper(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_stream_current(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_stream_idle(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_stream_new(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_stream_synchronize(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_stream_use(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_stream_wait(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_synchronize(*args: Any, **kwargs: Any) -> Any: ...
def _opencl_use(*args: Any, **kwargs: Any) -> Any: ...
def _pop_random_watcher(*args: Any, **kwargs: Any) -> Any: ...
def _pop_saved_tensors_hooks(*args: Any, **kwargs: Any) -> Any: ...
def _pop_torch_function_stack(*args: Any, **kwargs: Any) -> Any: ...
def _primitives(*args: Any, **kwargs: Any) -> Any: ...
def _profile_begin(*args: Any, **kwargs: Any) -> Any: ...
def _profile_now(*args: Any, **kwargs: Any) -> Any: ...
def _profile_on(*args: Any, **kwargs: Any) -> Any: ...
def _profile_start(*args: Any, **kwargs: Any) -> Any: ...
def _profile_stop(*args: Any, **kwargs: Any) -> Any: ...
def _push_on_torch_function_stack(*args: Any, **kwargs: Any) -> Any: ...
def _push_random_watcher(*args: Any, **kwargs: Any) -> Any: ...
def _push_saved_tensors_hooks(*args: Any, **kwargs: Any) -> Any: ...
def _queue_callback(*args: Any, **kwargs: Any) -> Any: ...
def _quick_attributes(*args: Any, **kwargs: Any) -> Any: ...
def _receive_message(*args: Any, **kwargs: Any) -> Any: ...
def _reference_texts(*args: Any, **kwargs: Any) -> Any: ...
def _register_backend(*args: Any, **kwargs: Any) -> Any: ...
def _replay_abandon(*args: Any, **kwargs: Any) -> Any: ...
def _replay_begin(*args: Any, **kwargs: Any) -> Any: ...
def _replay_end(*args: Any, **kwargs: Any) -> Any: ...
def _replay_results(*args: Any, **kwargs: Any) -> Any: ...
def _replay_run(*args: Any, **kwargs: Any) -> Any: ...
def _replay_same(*args: Any, **kwargs: Any) -> Any: ...
def _reset_peak_memory_stats(*args: Any, **kwargs: Any) -> Any: ...
def _resize_sparse(*args: Any, **kwargs: Any) -> Any: ...
def _row_kernel(*args: Any, **kwargs: Any) -> Any: ...
def _rows(*args: Any, **kwargs: Any) -> Any: ...
def _run_backward(*args: Any, **kwargs: Any) -> Any: ...
def _run_kernel(*args: Any, **kwargs: Any) -> Any: ...
def _saved_tensors_hooks_disable(*args: Any, **kwargs: Any) -> Any: ...
def _saved_tensors_hooks_enable(*args: Any, **kwargs: Any) -> Any: ...
def _saved_tensors_hooks_get_disabled_error_message(*args: Any, **kwargs: Any) -> Any: ...
def _send_message(*args: Any, **kwargs: Any) -> Any: ...
def _set_anomaly_enabled(*args: Any, **kwargs: Any) -> Any: ...
def _set_default_device(*args: Any, **kwargs: Any) -> Any: ...
def _set_grad_enabled(*args: Any, **kwargs: Any) -> Any: ...
def _set_grad_layout_enforcement_enabled(*args: Any, **kwargs: Any) -> Any: ...
def _set_grad_of_duals(*args: Any, **kwargs: Any) -> Any: ...
def _set_inference_mode(*args: Any, **kwargs: Any) -> Any: ...
def _set_wrapper_device(*args: Any, **kwargs: Any) -> Any: ...
def _shared_storage(*args: Any, **kwargs: Any) -> Any: ...
def _sparse_exists(*args: Any, **kwargs: Any) -> Any: ...
def _start_recording(*args: Any, **kwargs: Any) -> Any: ...
def _stop_recording(*args: Any, **kwargs: Any) -> Any: ...
def _storage_descriptor(*args: Any, **kwargs: Any) -> Any: ...
def _storage_from_buffer(*args: Any, **kwargs: Any) -> Any: ...
def _storage_from_bytes(*args: Any, **kwargs: Any) -> Any: ...
def _storage_from_descriptor(*args: Any, **kwargs: Any) -> Any: ...
def _storage_state(*args: Any, **kwargs: Any) -> Any: ...
def _switch_dispatch(*args: Any, **kwargs: Any) -> Any: ...
def _switch_overrides(*args: Any, **kwargs: Any) -> Any: ...
def _tensor_bytes(*args: Any, **kwargs: Any) -> Any: ...
def _tensor_of_bytes(*args: Any, **kwargs: Any) -> Any: ...
def _to_dlpack(*args: Any, **kwargs: Any) -> Any: ...
def _under_callgrind(*args: Any, **kwargs: Any) -> Any: ...
def _will_engine_execute_node(*args: Any, **kwargs: Any) -> Any: ...
def can_cast(from_: _dtype, to: _dtype) -> _bool:
    """Whether results may be written to an output of another dtype.

    Args:
        from_ (dtype): that of the result.
        to (dtype): that of the output.

    Example:

        >>> ember.can_cast(ember.float64, ember.float32), ember.can_cast(ember.float32, ember.int64)
        (True, False)
    """
def from_numpy(ndarray: _ndarray) -> Tensor:
    """A tensor that shares the memory of a NumPy array.

    Args:
        ndarray (numpy.ndarray): the array; one that cannot be written to gives a warning.

    Example:

        >>> import numpy
        >>> array = numpy.zeros(2)
        >>> x = ember.from_numpy(array)
        >>> array[0] = 5
        >>> x
        tensor([5., 0.], dtype=torch.float64)
    """
def get_default_device() -> _device:
    """The device of new tensors that name none.

    Example:

        >>> ember.get_default_device()
        device(type='cpu')
    """
def get_default_dtype() -> _dtype:
    """The dtype of floating point results that name none.

    Example:

        >>> ember.get_default_dtype()
        torch.float32
    """
def get_num_threads() -> _int:
    """The number of threads that one op uses.

    Example:

        >>> ember.get_num_threads() >= 1
        True
    """
def is_anomaly_check_nan_enabled() -> _bool:
    """Whether anomaly detection looks for NaN.

    Example:

        >>> ember.is_anomaly_check_nan_enabled()
        True
    """
def is_anomaly_enabled() -> _bool:
    """Whether anomaly detection is on.

    Example:

        >>> with ember.autograd.detect_anomaly():
        ...     ember.is_anomaly_enabled()
        True
    """
def is_grad_enabled() -> _bool:
    """Whether ops are recorded on this thread.

    Example:

        >>> with ember.no_grad():
        ...     ember.is_grad_enabled()
        False
    """
def is_inference_mode_enabled() -> _bool:
    """Whether inference mode is on for this thread.

    Example:

        >>> with ember.inference_mode():
        ...     ember.is_inference_mode_enabled()
        True
    """
def promote_types(type1: _dtype, type2: _dtype) -> _dtype:
    """The smallest dtype that both dtypes fit.

    Args:
        type1 (dtype): the one.
        type2 (dtype): the other.

    Example:

        >>> ember.promote_types(ember.int32, ember.float16)
        torch.float16
    """
def result_type(tensor1: _Operand, tensor2: _Operand) -> _dtype:
    """The dtype in which two tensors or numbers meet.

    Args:
        tensor1 (Tensor or number): the first operand.
        tensor2 (Tensor or number): the second operand; a number does not widen a tensor of its kind.

    Example:

        >>> ember.result_type(ember.tensor([1, 2]), 1.0)
        torch.float32
    """
def set_default_dtype(d: _dtype) -> None:
    """Sets the dtype of floating point results that name none.

    Args:
        d (dtype): float32, which it is at first, or another floating point dtype.

    Example:

        >>> ember.set_default_dtype(ember.float64)
        >>> ember.tensor([1.5])
        tensor([1.5000])
        >>> ember.set_default_dtype(ember.float32)
    """
def set_num_threads(num: _int) -> None:
    """Sets the number of threads that one op uses.

    Args:
        num (int): how many, at least 1.

    Example:

        >>> before = ember.get_num_threads()
        >>> ember.set_num_threads(1)
        >>> ember.get_num_threads()
        1
        >>> ember.set_num_threads(before)
    """

def _adaptive_avg_pool(input: Tensor, output_size: _Dims) -> Tensor:
    """The mean of windows that cover the last axes evenly."""

def _adaptive_max_pool(input: Tensor, output_size: _Dims) -> tuple[Tensor, Tensor]:
    """The maximum of windows that cover the last axes evenly, and its place."""

def _batch_norm_with_update(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, momentum: _float, eps: _float, *, out: _Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """native_batch_norm in training, with an empty tensor for its reserve."""

def _chunk_cat(tensors: _Sequence[Tensor], dim: _int, num_chunks: _int, *, out: Tensor | None = ...) -> Tensor:
    """Tensors in `num_chunks` parts along `dim`, padded with zeros, and joined part by
    part.
    """

def _csr_mm(start: Tensor, columns: Tensor, values: Tensor, dense: Tensor, width: _int, transposed: _bool = ...) -> Tensor:
    """The product of a sparse matrix of `width` columns, or of its transpose, and a
    dense one.
    """

def _csr_sample(start: Tensor, columns: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """The elements of a @ b.T at the positions of a sparse matrix."""

def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor:
    """How points of the simplex move with their concentrations."""

def _foreach_fused(name: _str, self: _Sequence[Tensor], second: _Sequence[Tensor], third: _Sequence[Tensor], numbers: _Sequence[_float], in_place: _bool) -> tuple[Tensor, ...]:
    """A row of the pointwise table for all tensors at once. Empty if they need it one
    by one.
    """

def _fused_adadelta_(input: _Sequence[Tensor], grads: _Sequence[Tensor], square_avg: _Sequence[Tensor], acc_delta: _Sequence[Tensor], step: _Sequence[Tensor], *, lr: _Operand = ..., weight_decay: _Operand = ..., decoupled_weight_decay: _Operand = ..., maximize: _Operand = ..., rho: _Operand = ..., eps: _Operand = ...) -> _bool:
    """A step of adadelta for all parameters. Whether one pass over memory made it."""

def _fused_adagrad_(input: _Sequence[Tensor], grads: _Sequence[Tensor], sum: _Sequence[Tensor], step: _Sequence[Tensor], *, lr: _Operand = ..., weight_decay: _Operand = ..., decoupled_weight_decay: _Operand = ..., maximize: _Operand = ..., lr_decay: _Operand = ..., eps: _Operand = ...) -> _bool:
    """A step of adagrad for all parameters. Whether one pass over memory made it."""

def _fused_adam_(input: _Sequence[Tensor], grads: _Sequence[Tensor], exp_avg: _Sequence[Tensor], exp_avg_sq: _Sequence[Tensor], max_exp_avg_sq: _Sequence[Tensor], step: _Sequence[Tensor], *, lr: _Operand = ..., weight_decay: _Operand = ..., decoupled_weight_decay: _Operand = ..., maximize: _Operand = ..., beta1: _Operand = ..., beta2: _Operand = ..., eps: _Operand = ...) -> _bool:
    """A step of adam for all parameters. Whether one pass over memory made it."""

def _fused_adamax_(input: _Sequence[Tensor], grads: _Sequence[Tensor], exp_avg: _Sequence[Tensor], exp_inf: _Sequence[Tensor], step: _Sequence[Tensor], *, lr: _Operand = ..., weight_decay: _Operand = ..., decoupled_weight_decay: _Operand = ..., maximize: _Operand = ..., beta1: _Operand = ..., beta2: _Operand = ..., eps: _Operand = ...) -> _bool:
    """A step of adamax for all parameters. Whether one pass over memory made it."""

def _fused_asgd_(input: _Sequence[Tensor], grads: _Sequence[Tensor], ax: _Sequence[Tensor], step: _Sequence[Tensor], eta: _Sequence[Tensor], mu: _Sequence[Tensor], *, lr: _Operand = ..., weight_decay: _Operand = ..., decoupled_weight_decay: _Operand = ..., maximize: _Operand = ..., lambd: _Operand = ..., alpha: _Operand = ..., t0: _Operand = ...) -> _bool:
    """A step of asgd for all parameters. Whether one pass over memory made it."""

def _fused_nadam_(input: _Sequence[Tensor], grads: _Sequence[Tensor], exp_avg: _Sequence[Tensor], exp_avg_sq: _Sequence[Tensor], step: _Sequence[Tensor], mu_product: _Sequence[Tensor], *, lr: _Operand = ..., weight_decay: _Operand = ..., decoupled_weight_decay: _Operand = ..., maximize: _Operand = ..., beta1: _Operand = ..., beta2: _Operand = ..., eps: _Operand = ..., momentum_decay: _Operand = ...) -> _bool:
    """A step of nadam for all parameters. Whether one pass over memory made it."""

def _fused_radam_(input: _Sequence[Tensor], grads: _Sequence[Tensor], exp_avg: _Sequence[Tensor], exp_avg_sq: _Sequence[Tensor], step: _Sequence[Tensor], *, lr: _Operand = ..., weight_decay: _Operand = ..., decoupled_weight_decay: _Operand = ..., maximize: _Operand = ..., beta1: _Operand = ..., beta2: _Operand = ..., eps: _Operand = ...) -> _bool:
    """A step of radam for all parameters. Whether one pass over memory made it."""

def _fused_rmsprop_(input: _Sequence[Tensor], grads: _Sequence[Tensor], square_avg: _Sequence[Tensor], grad_avg: _Sequence[Tensor], momentum_buffer: _Sequence[Tensor], step: _Sequence[Tensor], *, lr: _Operand = ..., weight_decay: _Operand = ..., decoupled_weight_decay: _Operand = ..., maximize: _Operand = ..., alpha: _Operand = ..., eps: _Operand = ..., momentum: _Operand = ...) -> _bool:
    """A step of rmsprop for all parameters. Whether one pass over memory made it."""

def _fused_rprop_(input: _Sequence[Tensor], grads: _Sequence[Tensor], prev: _Sequence[Tensor], step_size: _Sequence[Tensor], step: _Sequence[Tensor], *, lr: _Operand = ..., weight_decay: _Operand = ..., decoupled_weight_decay: _Operand = ..., maximize: _Operand = ..., eta_minus: _Operand = ..., eta_plus: _Operand = ..., step_min: _Operand = ..., step_max: _Operand = ...) -> _bool:
    """A step of rprop for all parameters. Whether one pass over memory made it."""

def _fused_sgd_(input: _Sequence[Tensor], grads: _Sequence[Tensor], momentum_buffer: _Sequence[Tensor], *, lr: _Operand = ..., weight_decay: _Operand = ..., decoupled_weight_decay: _Operand = ..., maximize: _Operand = ..., momentum: _Operand = ..., dampening: _Operand = ..., nesterov: _Operand = ..., first: _Operand = ...) -> _bool:
    """A step of sgd for all parameters. Whether one pass over memory made it."""

def _huber(input: Tensor, delta: _float) -> Tensor:
    """x * x / 2 within [-delta, delta], straight lines outside."""

def _int_mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Product of two matrices of 8-bit integers, in int32."""

def _interpolate(input: Tensor, size: _Dims, scales: _Sequence[_float], mode: _str, align_corners: _bool, antialias: _bool) -> Tensor:
    """(N, C, ...) resampled to `size`: what `interpolate` ends in."""

def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: _int, input_dtype: _DtypeLike, *, out: Tensor | None = ...) -> Tensor:
    """The gradient of log_softmax, from its output."""

def _lu_with_info(input: Tensor, pivot: _bool = ..., check_errors: _bool = ...) -> _LU_pivots_info:
    """What `lu` returns, with the info."""

@overload
def _native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, training: _bool, momentum: _float, eps: _float, *, out: _Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor, Tensor]:
    """The same as native_batch_norm."""
@overload
def _native_batch_norm_legit(input: Tensor, weight: Tensor | None, bias: Tensor | None, training: _bool, momentum: _float, eps: _float, *, out: _Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor, Tensor]: ...

def _native_batch_norm_legit_no_training(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor, momentum: _float, eps: _float, *, out: _Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor, Tensor]:
    """native_batch_norm by the running statistics."""

def _safe_softmax(input: Tensor, dim: _int, dtype: _DtypeLike | None = ...) -> Tensor:
    """softmax, with zeros where all elements along `dim` are -inf."""

def _sample_dirichlet(input: Tensor, generator: Generator | None = ...) -> Tensor:
    """Points of the simplex, with concentrations along the last dimension."""

def _scaled_mm(input: Tensor, mat2: Tensor, scale_a: Tensor, scale_b: Tensor, bias: Tensor | None = ..., scale_result: Tensor | None = ..., out_dtype: _DtypeLike | None = ..., use_fast_accum: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """(self * scale_a) @ (mat2 * scale_b) + bias of float8 matrices, summed in
    float32.
    """

def _segment_reduce(data: Tensor, reduce: _str, *, lengths: Tensor | None = ..., indices: Tensor | None = ..., offsets: Tensor | None = ..., axis: _int = ..., unsafe: _bool = ..., initial: _Number | None = ...) -> Tensor:
    """The same as segment_reduce."""

def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: _int, input_dtype: _DtypeLike, *, out: Tensor | None = ...) -> Tensor:
    """The gradient of softmax, from its output."""

def _standard_gamma(input: Tensor, generator: Generator | None = ...) -> Tensor:
    """Gamma numbers of rate 1 with the shapes in `input`."""

def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor:
    """How the gamma numbers `output` move with their shapes `input`."""

def _tensor_from_storage(storage: Any, dtype: _DtypeLike, offset: _int, size: _Size, stride: _Size) -> Tensor:
    """A tensor over a storage."""

def _unsafe_masked_index(input: Tensor, mask: Tensor, indices: _Sequence[Tensor | None], fill: _Number) -> Tensor:
    """self[indices], with `fill` where the mask is False."""

def _unsafe_masked_index_put_accumulate(input: Tensor, mask: Tensor, indices: _Sequence[Tensor | None], values: Tensor) -> Tensor:
    """A copy with the values under the mask added to the elements at `indices`."""

def _weight_int8pack_mm(input: Tensor, mat2: Tensor, scales: Tensor) -> Tensor:
    """self @ (mat2 * scales[:, None]).T with mat2 of int8, summed in float32."""

def _weights_mm(input: Tensor, weight: Tensor, scales: Tensor, offsets: Tensor | None = ...) -> Tensor:
    """self @ W.T with W = scales * weight + offsets, of groups of columns; weight is
    int8, or uint8 with two numbers of 4 bits each.
    """

def _widened_weights(weight: Tensor, scales: Tensor, offsets: Tensor | None = ...) -> Tensor:
    """W = scales * weight + offsets in float32; see _weights_mm()."""

def abs(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Absolute value of each element; of a complex one, its modulus."""

def abs_(input: Tensor) -> Tensor:
    """Absolute value of each element; of a complex one, its modulus."""

def absolute(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Alias of abs()."""

def acos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse cosine of each element."""

def acos_(input: Tensor) -> Tensor:
    """Inverse cosine of each element."""

def acosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse hyperbolic cosine of each element."""

def acosh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic cosine of each element."""

@overload
def add(input: _Operand, other: _Operand, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """self + alpha * other."""
@overload
def add(input: Tensor, alpha: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def add(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor: ...

def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """beta * self + alpha * the sum of batch1 @ batch2 over the batch."""

@overload
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """self + value * tensor1 / tensor2."""
@overload
def addcdiv(input: Tensor, value: _Number, tensor1: Tensor, tensor2: Tensor, *, out: Tensor | None = ...) -> Tensor: ...

@overload
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """self + value * tensor1 * tensor2."""
@overload
def addcmul(input: Tensor, value: _Number, tensor1: Tensor, tensor2: Tensor, *, out: Tensor | None = ...) -> Tensor: ...

def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """beta * self + alpha * (mat1 @ mat2)."""

def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """beta * self + alpha * (mat @ vec)."""

def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: _Number = ..., alpha: _Number = ...) -> Tensor:
    """beta * self + alpha * (mat @ vec)."""

def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """beta * self + alpha * the outer product of vec1 and vec2."""

def adjoint(input: Tensor) -> Tensor:
    """The conjugate of the transpose of the last two dimensions."""

def alias_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A view of the whole tensor. As a copy."""

def all(input: Tensor, dim: _Dims = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether all elements over `dim` are nonzero."""

def allclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool:
    """True if isclose() is, everywhere."""

def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Dropout that keeps mean and variance, for use after SELU."""

def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """alpha_dropout() in place."""

def amax(input: Tensor, dim: _Dims = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Largest element over `dim`; the gradient is shared among ties."""

def amin(input: Tensor, dim: _Dims = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Smallest element over `dim`; the gradient is shared among ties."""

def aminmax(input: Tensor, *, dim: _int | None = ..., keepdim: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _min_max:
    """Smallest and largest element, of all or along `dim`."""

def angle(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Angle of each element with the positive real axis; 0 or pi for a real one."""

def any(input: Tensor, dim: _Dims = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Whether any element over `dim` is nonzero."""

@overload
def arange(end: _Number, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The numbers 0, 1, 2 ... below `end`."""
@overload
def arange(start: _Number, end: _Number, step: _Number = ..., *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor: ...

def arccos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Alias of acos()."""

def arccos_(input: Tensor) -> Tensor:
    """Alias of acos()."""

def arccosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Alias of acosh()."""

def arccosh_(input: Tensor) -> Tensor:
    """Alias of acosh()."""

def arcsin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Alias of asin()."""

def arcsin_(input: Tensor) -> Tensor:
    """Alias of asin()."""

def arcsinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Alias of asinh()."""

def arcsinh_(input: Tensor) -> Tensor:
    """Alias of asinh()."""

def arctan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Alias of atan()."""

def arctan2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Alias of atan2()."""

def arctan_(input: Tensor) -> Tensor:
    """Alias of atan()."""

def arctanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Alias of atanh()."""

def arctanh_(input: Tensor) -> Tensor:
    """Alias of atanh()."""

def argmax(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Index of the largest element, of all or along `dim`."""

def argmin(input: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Index of the smallest element, of all or along `dim`."""

def argsort(input: Tensor, dim: _int = ..., descending: _bool = ..., *, stable: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The indices that sort a tensor along `dim`."""

def argwhere(input: Tensor) -> Tensor:
    """The positions of the elements that are not zero."""

def as_strided(input: Tensor, size: _Size, stride: _Size, storage_offset: _int | None = ...) -> Tensor:
    """A view of the storage with the given size, strides and offset."""

def as_strided_copy(input: Tensor, size: _Size, stride: _Size, storage_offset: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """A view of the storage with the given size, strides and offset. As a copy."""

def as_strided_scatter(input: Tensor, src: Tensor, size: _Size, stride: _Size, storage_offset: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """A copy with the part that as_strided() shows replaced by `src`."""

def as_tensor(data: Any, dtype: _DtypeLike | None = ..., device: _DeviceLike | None = ...) -> Tensor:
    """`data` as a tensor: itself or a view of its memory where possible, else a copy.
    """

def asarray(obj: Any, *, dtype: _DtypeLike | None = ..., device: _DeviceLike | None = ..., copy: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """`obj` as a tensor, sharing memory unless `copy` says otherwise."""

def asin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse sine of each element."""

def asin_(input: Tensor) -> Tensor:
    """Inverse sine of each element."""

def asinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse hyperbolic sine of each element."""

def asinh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic sine of each element."""

def atan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse tangent of each element."""

def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Angle of the point (b, a)."""

def atan_(input: Tensor) -> Tensor:
    """Inverse tangent of each element."""

def atanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse hyperbolic tangent of each element."""

def atanh_(input: Tensor) -> Tensor:
    """Inverse hyperbolic tangent of each element."""

@overload
def atleast_1d(input: Tensor) -> Tensor:
    """The tensor itself, or a view of it with dimensions of size 1 added to make 1."""
@overload
def atleast_1d(tensors: _Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_1d(*tensors: Tensor) -> tuple[Tensor, ...]: ...

@overload
def atleast_2d(input: Tensor) -> Tensor:
    """The tensor itself, or a view of it with dimensions of size 1 added to make 2."""
@overload
def atleast_2d(tensors: _Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_2d(*tensors: Tensor) -> tuple[Tensor, ...]: ...

@overload
def atleast_3d(input: Tensor) -> Tensor:
    """The tensor itself, or a view of it with dimensions of size 1 added to make 3."""
@overload
def atleast_3d(tensors: _Sequence[Tensor]) -> tuple[Tensor, ...]: ...
@overload
def atleast_3d(*tensors: Tensor) -> tuple[Tensor, ...]: ...

def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: _Number = ..., alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """beta * self + alpha * (batch1 @ batch2), batch by batch."""

def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> Tensor:
    """Mean 0 and variance 1 for each channel (axis 1) over the batch."""

@overload
def bernoulli(input: Tensor, *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """1 with the probability that `input` gives for each element, else 0."""
@overload
def bernoulli(input: Tensor, p: _float, *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor: ...

def bincount(input: Tensor, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor:
    """How often each of 0, 1, 2 ... occurs, or the sum of its weights."""

def binomial(count: Tensor, prob: Tensor, generator: Generator | None = ...) -> Tensor:
    """How many of `count` tries succeed with probability `prob`."""

def bitwise_and(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise and; for bool, logical and."""

def bitwise_left_shift(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Bits shifted left."""

def bitwise_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise complement; for bool, logical not."""

def bitwise_not_(input: Tensor) -> Tensor:
    """Bitwise complement; for bool, logical not."""

def bitwise_or(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise or; for bool, logical or."""

def bitwise_right_shift(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Bits shifted right, keeping the sign."""

def bitwise_xor(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Bitwise exclusive or."""

@overload
def block_diag(tensors: _Sequence[Tensor]) -> Tensor:
    """A matrix with the given ones along its diagonal, and zeros elsewhere."""
@overload
def block_diag(*tensors: Tensor) -> Tensor: ...

def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Products of two batches of matrices."""

@overload
def broadcast_tensors(tensors: _Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Views of the tensors, expanded to the shape in which they meet."""
@overload
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]: ...

@overload
def broadcast_to(input: Tensor, size: _Size) -> Tensor:
    """A view in which dimensions of size 1 are repeated, without copying."""
@overload
def broadcast_to(input: Tensor, *size: _int) -> Tensor: ...

def bucketize(input: _Operand, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The bucket between sorted `boundaries` that each value falls into."""

def cat(tensors: _Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The tensors one after the other along a dimension."""

@overload
def cdist(x1: Tensor, x2: Tensor, p: _float = ..., compute_mode: _int | None = ...) -> Tensor:
    """Distances of order `p` between each row of x1 and each row of x2."""
@overload
def cdist(x1: Tensor, x2: Tensor, p: _float = ..., compute_mode: _str = ...) -> Tensor: ...

def ceil(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Smallest integer not below each element."""

def ceil_(input: Tensor) -> Tensor:
    """Smallest integer not below each element."""

def celu(input: Tensor, alpha: _float = ...) -> Tensor:
    """x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere."""

def celu_(input: Tensor, alpha: _float = ...) -> Tensor:
    """x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere."""

@overload
def chain_matmul(matrices: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """The product of several matrices, multiplied in the best order."""
@overload
def chain_matmul(*matrices: Tensor, out: Tensor | None = ...) -> Tensor: ...

def cholesky(input: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The lower triangular L with L @ L.mH equal to the matrix, or its adjoint."""

def cholesky_inverse(input: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The inverse of a matrix from its Cholesky factor."""

def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The X with A @ X = self, from a Cholesky factor of A."""

def chunk(input: Tensor, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """Views of at most `chunks` pieces of equal size along a dimension; the last may
    be smaller.
    """

def clamp(input: Tensor, min: _Operand | None = ..., max: _Operand | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Elements limited to the range between two bounds, each a number, a tensor or
    none.
    """

def clamp_(input: Tensor, min: _Operand | None = ..., max: _Operand | None = ...) -> Tensor:
    """Elements limited to the range between two bounds, each a number, a tensor or
    none.
    """

def clamp_max(input: Tensor, max: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Elements above a bound replaced by it."""

def clamp_max_(input: Tensor, max: _Operand) -> Tensor:
    """Elements above a bound replaced by it."""

def clamp_min(input: Tensor, min: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Elements below a bound replaced by it."""

def clamp_min_(input: Tensor, min: _Operand) -> Tensor:
    """Elements below a bound replaced by it."""

def clip(input: Tensor, min: _Operand | None = ..., max: _Operand | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Elements limited to the range between two bounds, each a number, a tensor or
    none.
    """

def clip_(input: Tensor, min: _Operand | None = ..., max: _Operand | None = ...) -> Tensor:
    """Elements limited to the range between two bounds, each a number, a tensor or
    none.
    """

def clone(input: Tensor, *, memory_format: memory_format | None = ...) -> Tensor:
    """A copy of the tensor, recorded by the tape."""

def column_stack(tensors: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """The tensors side by side, lines as columns."""

def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A complex tensor with the given real and imaginary parts."""

def concat(tensors: _Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """cat()."""

def concatenate(tensors: _Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """cat()."""

def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor itself."""

def conj_physical(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Complex conjugate of each element."""

def conj_physical_(input: Tensor) -> Tensor:
    """Complex conjugate of each element."""

def copysign(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Magnitude of the first with the sign of the second."""

def corrcoef(input: Tensor) -> Tensor:
    """Correlations of the variables in rows: covariances scaled by deviations."""

def cos(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Cosine of each element."""

def cos_(input: Tensor) -> Tensor:
    """Cosine of each element."""

def cosh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Hyperbolic cosine of each element."""

def cosh_(input: Tensor) -> Tensor:
    """Hyperbolic cosine of each element."""

def count_nonzero(input: Tensor, dim: _Dims = ...) -> Tensor:
    """Number of nonzero elements over `dim`."""

def cov(input: Tensor, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
    """Covariances of the variables in rows, over the observations in columns."""

def cross(input: Tensor, other: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Cross products of vectors along `dim`, or the first dimension of size 3."""

def cummax(input: Tensor, dim: _int, *, out: _Sequence[Tensor] | None = ...) -> _values_indices:
    """Largest of each element along `dim` and all before it, and where it is."""

def cummin(input: Tensor, dim: _int, *, out: _Sequence[Tensor] | None = ...) -> _values_indices:
    """Smallest of each element along `dim` and all before it, and where it is."""

def cumprod(input: Tensor, dim: _int, *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
    """Product of each element along `dim` and all before it."""

def cumsum(input: Tensor, dim: _int, *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
    """Sum of each element along `dim` and all before it."""

@overload
def cumulative_trapezoid(y: Tensor, x: Tensor, *, dim: _int = ...) -> Tensor:
    """Areas under the samples `y` at `x` up to each by the trapezoidal rule."""
@overload
def cumulative_trapezoid(y: Tensor, *, dx: _Number = ..., dim: _int = ...) -> Tensor: ...

def deg2rad(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Degrees to radians."""

def deg2rad_(input: Tensor) -> Tensor:
    """Degrees to radians."""

def det(input: Tensor) -> Tensor:
    """The determinants of square matrices."""

def detach(input: Tensor) -> Tensor:
    """The same elements without history."""

def detach_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A copy without history."""

def diag(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The diagonal of a matrix, or the matrix with the given diagonal."""

def diag_embed(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """Zeros, with the last dimension of the tensor as a diagonal of two new ones."""

def diagflat(input: Tensor, offset: _int = ...) -> Tensor:
    """The matrix whose diagonal are the elements."""

def diagonal(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """A view of a diagonal of two dimensions, as the last dimension."""

def diagonal_copy(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """A view of a diagonal of two dimensions, as the last dimension. As a copy."""

def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """A copy with a diagonal replaced by `src`."""

def diff(input: Tensor, n: _int = ..., dim: _int = ..., prepend: Tensor | None = ..., append: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The `n`-th difference of neighbours along `dim`."""

def digamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Derivative of lgamma."""

def dist(input: Tensor, other: Tensor, p: _Number = ...) -> Tensor:
    """Norm of order `p` of the difference of two tensors."""

@overload
def div(input: _Operand, other: _Operand, *, rounding_mode: _str | None = ..., out: Tensor | None = ...) -> Tensor:
    """self / other, rounded to an integer if rounding_mode is 'trunc' or 'floor'."""
@overload
def div(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor: ...

def divide(input: _Operand, other: _Operand, *, rounding_mode: _str | None = ..., out: Tensor | None = ...) -> Tensor:
    """self / other, rounded to an integer if rounding_mode is 'trunc' or 'floor'."""

def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Dot product of two vectors."""

def dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Zeroes elements with probability `p` and scales the others by 1 / (1 - p)."""

def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """dropout() in place."""

@overload
def dsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """Equal pieces, as views."""
@overload
def dsplit(input: Tensor, indices: _Size) -> tuple[Tensor, ...]: ...
@overload
def dsplit(input: Tensor, *indices: _int) -> tuple[Tensor, ...]: ...
@overload
def dsplit(input: Tensor, indices_or_sections: _int) -> tuple[Tensor, ...]: ...
@overload
def dsplit(input: Tensor, indices_or_sections: _Size) -> tuple[Tensor, ...]: ...
@overload
def dsplit(input: Tensor, *indices_or_sections: _int) -> tuple[Tensor, ...]: ...

def dstack(tensors: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """The tensors behind each other."""

def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor:
    """Rows of `weight`; the row `padding_idx` gets no gradient."""

def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: _float, norm_type: _float) -> Tensor:
    """Scales the rows that are used down to a norm of `max_norm`, in place."""

@overload
def empty(size: _Size, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., memory_format: memory_format | None = ..., out: Tensor | None = ...) -> Tensor:
    """A tensor with uninitialised elements."""
@overload
def empty(*size: _int, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., memory_format: memory_format | None = ..., out: Tensor | None = ...) -> Tensor: ...

def empty_like(input: Tensor, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., memory_format: memory_format | None = ...) -> Tensor:
    """A tensor of the shape, dtype and device of another, with uninitialised elements.
    """

def empty_permuted(size: _Size, physical_layout: _Size, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor with uninitialised elements whose dimensions lie in memory in the order
    `physical_layout`.
    """

def empty_strided(size: _Size, stride: _Size, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A tensor with uninitialised elements and the given strides."""

def eq(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """True where the two elements are equal."""

def equal(input: Tensor, other: Tensor) -> _bool:
    """True if two tensors have the same shape and elements."""

def erf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Error function of each element."""

def erf_(input: Tensor) -> Tensor:
    """Error function of each element."""

def erfc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 - erf(x), accurate where that is small."""

def erfc_(input: Tensor) -> Tensor:
    """1 - erf(x), accurate where that is small."""

def erfinv(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Inverse error function."""

def exp(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """e to the power of each element."""

def exp2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """2 to the power of each element."""

def exp2_(input: Tensor) -> Tensor:
    """2 to the power of each element."""

def exp_(input: Tensor) -> Tensor:
    """e to the power of each element."""

@overload
def expand_copy(input: Tensor, size: _Size, *, implicit: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """A view in which dimensions of size 1 are repeated, without copying. As a copy."""
@overload
def expand_copy(input: Tensor, *size: _int, implicit: _bool = ..., out: Tensor | None = ...) -> Tensor: ...

def expm1(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """exp(x) - 1, accurate near zero."""

def expm1_(input: Tensor) -> Tensor:
    """exp(x) - 1, accurate near zero."""

@overload
def eye(n: _int, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """A matrix with 1 on the diagonal and 0 elsewhere."""
@overload
def eye(n: _int, m: _int, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor: ...

def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """alpha_dropout() of whole channels."""

def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """feature_alpha_dropout() in place."""

def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor:
    """Zeroes whole channels with probability `p`."""

def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor:
    """feature_dropout() in place."""

def fill(input: Tensor, value: _Operand) -> Tensor:
    """A tensor of the same shape with every element `value`."""

def fill_(input: Tensor, value: _Operand) -> Tensor:
    """Sets every element to `value`."""

def fix(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Alias of trunc()."""

def fix_(input: Tensor) -> Tensor:
    """Alias of trunc()."""

def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ...) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` as one."""

@overload
def flip(input: Tensor, dims: _Size) -> Tensor:
    """A copy with the order along `dims` reversed."""
@overload
def flip(input: Tensor, *dims: _int) -> Tensor: ...

def fliplr(input: Tensor) -> Tensor:
    """A copy with the columns in reverse order."""

def flipud(input: Tensor) -> Tensor:
    """A copy with the rows in reverse order."""

def float_power(input: _Operand, exponent: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """self to the power of exponent, in double precision."""

def floor(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Largest integer not above each element."""

def floor_(input: Tensor) -> Tensor:
    """Largest integer not above each element."""

def floor_divide(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Quotient rounded towards minus infinity."""

def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Larger of two elements; a NaN loses."""

def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Smaller of two elements; a NaN loses."""

def fmod(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Remainder of the division, with the dividend's sign."""

def frac(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Fractional part of each element, with its sign."""

def frac_(input: Tensor) -> Tensor:
    """Fractional part of each element, with its sign."""

def frexp(input: Tensor, *, out: _Sequence[Tensor] | None = ...) -> _mantissa_exponent:
    """Each element as mantissa * 2**exponent, the mantissa in [0.5, 1) but for its
    sign.
    """

def from_dlpack(ext_tensor: Any, *, device: _DeviceLike | None = ..., copy: _bool | None = ...) -> Tensor:
    """A tensor that shares the memory of a tensor of another library."""

def frombuffer(buffer: Any, *, dtype: _DtypeLike, count: _int = ..., offset: _int = ..., requires_grad: _bool = ...) -> Tensor:
    """A 1-D tensor that shares the memory of an object with the buffer protocol."""

def full(size: _Size, fill_value: _Number, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """A tensor filled with a number."""

def full_like(input: Tensor, fill_value: _Number, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., memory_format: memory_format | None = ...) -> Tensor:
    """A tensor of the shape, dtype and device of another, filled with a number."""

def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The elements at `index` along a dimension: out[i][j] = self[index[i][j]][j] for
    dim 0.
    """

def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Greatest common divisor."""

def gcd_(input: Tensor, other: Tensor) -> Tensor:
    """Greatest common divisor."""

def ge(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """True where the first is at least the second."""

def geqrf(input: Tensor, *, out: _Sequence[Tensor] | None = ...) -> _a_tau:
    """R and below it the Householder reflectors of Q, and their factors."""

def ger(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Outer product of two vectors."""

def get_device(input: Tensor) -> _int:
    """Index of the tensor's device; -1 for the CPU."""

@overload
def gradient(input: Tensor, *, spacing: _Number | None = ..., dim: _Dims = ..., edge_order: _int = ...) -> tuple[Tensor, ...]:
    """Derivatives of samples along each of `dim`, by finite differences."""
@overload
def gradient(input: Tensor, *, spacing: _Sequence[_float], dim: _Dims = ..., edge_order: _int = ...) -> tuple[Tensor, ...]: ...
@overload
def gradient(input: Tensor, *, spacing: _Sequence[Tensor], dim: _Dims = ..., edge_order: _int = ...) -> tuple[Tensor, ...]: ...

def greater(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Alias of gt()."""

def greater_equal(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Alias of ge()."""

def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enabled: _bool = ...) -> Tensor:
    """Mean 0 and variance 1 over groups of channels of each sample."""

@overload
def gru(input: Tensor, hx: Tensor, params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """Layers of gated recurrent units over sequences: outputs, last h."""
@overload
def gru(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool) -> tuple[Tensor, Tensor]: ...

def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor:
    """One step of gated recurrent units: the next h."""

def gt(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """True where the first is greater than the second."""

def hardshrink(input: Tensor, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """x outside [-lambd, lambd], 0 inside."""

def hash_tensor(input: Tensor, dim: _Dims = ..., *, keepdim: _bool = ..., mode: _int = ..., out: Tensor | None = ...) -> Tensor:
    """The exclusive or of all elements, as 64-bit floats or integers: a checksum
    (uint64).
    """

def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """0 below zero, 1 above it, `values` at zero."""

def histc(input: Tensor, bins: _int = ..., min: _Number = ..., max: _Number = ..., *, out: Tensor | None = ...) -> Tensor:
    """Counts in `bins` equal bins from `min` to `max`, or over the range of the data
    if both are 0.
    """

@overload
def histogram(input: Tensor, bins: Tensor, *, weight: Tensor | None = ..., density: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _hist_bin_edges:
    """Counts (or sums of weights) between the given edges, and the edges."""
@overload
def histogram(input: Tensor, bins: _int = ..., *, range: _Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ..., out: _Sequence[Tensor] | None = ...) -> _hist_bin_edges: ...

@overload
def hsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """Equal pieces, as views."""
@overload
def hsplit(input: Tensor, indices: _Size) -> tuple[Tensor, ...]: ...
@overload
def hsplit(input: Tensor, *indices: _int) -> tuple[Tensor, ...]: ...
@overload
def hsplit(input: Tensor, indices_or_sections: _int) -> tuple[Tensor, ...]: ...
@overload
def hsplit(input: Tensor, indices_or_sections: _Size) -> tuple[Tensor, ...]: ...
@overload
def hsplit(input: Tensor, *indices_or_sections: _int) -> tuple[Tensor, ...]: ...

def hstack(tensors: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """The tensors side by side: cat() along columns."""

def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """sqrt(a * a + b * b) without overflow."""

def i0(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""

def i0_(input: Tensor) -> Tensor:
    """Modified Bessel function of the first kind, order 0."""

def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Regularised lower incomplete gamma function."""

def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Regularised upper incomplete gamma function."""

def imag(input: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, as a view."""

def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """A copy with the rows of `source`, times `alpha`, added to the rows `index`."""

def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A copy with the rows `index` replaced by those of `source`."""

def index_fill(input: Tensor, dim: _int, index: Tensor, value: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """A copy with the rows `index` filled with a number."""

def index_put(input: Tensor, indices: _Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...) -> Tensor:
    """A copy with the elements at `indices` replaced by `values`, or increased by them
    if `accumulate`.
    """

def index_put_(input: Tensor, indices: _Sequence[Tensor | None], values: Tensor, accumulate: _bool = ...) -> Tensor:
    """Replaces the elements at `indices` by `values`, or adds to them if `accumulate`.
    """

def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: _str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The prod, mean, amax or amin of the rows of `source` at the rows `index` of
    self.
    """

def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The rows `index` along a dimension."""

def inner(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Sum of products over the last dimension of both tensors."""

def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool) -> Tensor:
    """batch_norm of every sample by itself."""

def inverse(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The inverses of square matrices."""

def is_complex(input: Tensor) -> _bool:
    """Whether the elements are complex numbers."""

def is_conj(input: Tensor) -> _bool:
    """False: conjugates are never lazy."""

def is_floating_point(input: Tensor) -> _bool:
    """Whether the elements are real floating point numbers."""

def is_inference(input: Tensor) -> _bool:
    """Whether the tensor was made in inference mode."""

def is_neg(input: Tensor) -> _bool:
    """False: negatives are never lazy."""

def is_nonzero(input: Tensor) -> _bool:
    """Whether a tensor with one element is not zero."""

def is_same_size(input: Tensor, other: Tensor) -> _bool:
    """Whether two tensors have the same shape."""

def is_signed(input: Tensor) -> _bool:
    """Whether elements can be negative."""

def isclose(input: Tensor, other: Tensor, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor:
    """True where abs(self - other) <= atol + rtol * abs(other)."""

def isfinite(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where an element is neither infinite nor NaN."""

def isin(elements: _Operand, test_elements: _Operand, *, assume_unique: _bool = ..., invert: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Whether each element is among `test_elements`."""

def isinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where an element is infinite."""

def isnan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where an element is not a number."""

def isneginf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where an element is minus infinity."""

def isposinf(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where an element is plus infinity."""

def isreal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where the imaginary part is zero."""

def istft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
    """Inverse of stft: the signal whose windows have these transforms."""

def kron(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The Kronecker product: each element of the first times all of the second."""

def kthvalue(input: Tensor, k: _int, dim: _int = ..., keepdim: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices:
    """The `k`-th smallest element along `dim`, counted from 1, and where it is."""

def layer_norm(input: Tensor, normalized_shape: _Size, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enable: _bool = ...) -> Tensor:
    """Mean 0 and variance 1 over the last axes, then scale and shift."""

def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Least common multiple."""

def lcm_(input: Tensor, other: Tensor) -> Tensor:
    """Least common multiple."""

def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The first times 2 to the power of the second."""

def ldexp_(input: Tensor, other: Tensor) -> Tensor:
    """The first times 2 to the power of the second."""

def le(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """True where the first is at most the second."""

def lerp(input: Tensor, end: Tensor, weight: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """self + weight * (end - self)."""

def less(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Alias of lt()."""

def less_equal(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Alias of le()."""

def lgamma(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the absolute value of gamma(x)."""

def linspace(start: _Operand, end: _Operand, steps: _int, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """`steps` numbers from `start` to `end`, equally far apart."""

def log(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Natural logarithm of each element."""

def log10(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Base-10 logarithm of each element."""

def log10_(input: Tensor) -> Tensor:
    """Base-10 logarithm of each element."""

def log1p(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """log(1 + x), accurate near zero."""

def log1p_(input: Tensor) -> Tensor:
    """log(1 + x), accurate near zero."""

def log2(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Base-2 logarithm of each element."""

def log2_(input: Tensor) -> Tensor:
    """Base-2 logarithm of each element."""

def log_(input: Tensor) -> Tensor:
    """Natural logarithm of each element."""

def log_softmax(input: Tensor, dim: _int, dtype: _DtypeLike | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of softmax, without loss of accuracy."""

def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """log(exp(a) + exp(b)) without overflow."""

def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """log2(2**a + 2**b) without overflow."""

def logcumsumexp(input: Tensor, dim: _int, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the sum of exponentials of each element along `dim` and all before
    it.
    """

def logdet(input: Tensor) -> Tensor:
    """The logarithm of determinants; NaN where they are negative."""

def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where both elements are nonzero."""

def logical_not(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where an element is zero."""

def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where one of the elements is nonzero."""

def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where just one element is nonzero."""

def logit(input: Tensor, eps: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """log(x / (1 - x)), x being limited to [eps, 1 - eps] if eps is given."""

def logit_(input: Tensor, eps: _float | None = ...) -> Tensor:
    """log(x / (1 - x)), x being limited to [eps, 1 - eps] if eps is given."""

def logspace(start: _Operand, end: _Operand, steps: _int, base: _float = ..., *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """`base` to the power of `steps` numbers from `start` to `end`, equally far apart.
    """

def logsumexp(input: Tensor, dim: _Dims, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the sum of exponentials over `dim`, without overflow."""

@overload
def lstm(input: Tensor, hx: _Sequence[Tensor], params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor, Tensor]:
    """Layers of long short-term memory over sequences: outputs, last h, last c."""
@overload
def lstm(data: Tensor, batch_sizes: Tensor, hx: _Sequence[Tensor], params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool) -> tuple[Tensor, Tensor, Tensor]: ...

def lstm_cell(input: Tensor, hx: _Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> tuple[Tensor, Tensor]:
    """One step of long short-term memory: the next h and c."""

def lt(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """True where the first is less than the second."""

def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The X with A @ X = self, from the packed LU factors of A."""

def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = ..., unpack_pivots: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _P_L_U:
    """The factors that `linalg.lu_factor` has packed into one matrix."""

def masked_fill(input: Tensor, mask: Tensor, value: _Operand) -> Tensor:
    """A copy with a number where `mask` is set."""

def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy with the elements of `source`, in order, where `mask` is set."""

def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The elements where `mask` is set, as one dimension."""

def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Matrix product of two tensors: vectors, matrices or batches, broadcast together.
    """

def matrix_exp(input: Tensor) -> Tensor:
    """The exponentials of square matrices."""

def matrix_power(input: Tensor, n: _int, *, out: Tensor | None = ...) -> Tensor:
    """Square matrices to the power `n`."""

@overload
def max(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Largest of all elements."""
@overload
def max(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices: ...

def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Larger of two elements; NaN if either is."""

@overload
def mean(input: Tensor, dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
    """Mean over `dim`, or over every axis when `dim` is None."""
@overload
def mean(input: Tensor, *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor: ...

@overload
def median(input: Tensor) -> Tensor:
    """Median, the lower of two in the middle, of all elements."""
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices: ...

@overload
def min(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Smallest of all elements."""
@overload
def min(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices: ...

def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Smaller of two elements; NaN if either is."""

def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Product of two matrices."""

def mode(input: Tensor, dim: _int = ..., keepdim: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices:
    """The most frequent element along `dim`, the smallest of several, and where it is.
    """

def moveaxis(input: Tensor, source: _Dims, destination: _Dims) -> Tensor:
    """movedim()."""

def movedim(input: Tensor, source: _Dims, destination: _Dims) -> Tensor:
    """A view with the dimensions `source` moved to `destination`."""

def msort(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The elements along the first dimension in order."""

def mul(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Product of two tensors, broadcast together."""

def multinomial(input: Tensor, num_samples: _int, replacement: _bool = ..., *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor:
    """Indices drawn with the weights in each row of `input`."""

def multiply(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Alias of mul()."""

def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Product of a matrix and a vector."""

def mvlgamma(input: Tensor, p: _int, *, out: Tensor | None = ...) -> Tensor:
    """Logarithm of the multivariate gamma function."""

def nan_to_num(input: Tensor, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """NaN and the infinities replaced by numbers: by default 0 and the largest there
    are.
    """

def nan_to_num_(input: Tensor, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor:
    """NaN and the infinities replaced by numbers: by default 0 and the largest there
    are.
    """

def nanmean(input: Tensor, dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
    """Mean over `dim` of what is not NaN."""

@overload
def nanmedian(input: Tensor) -> Tensor:
    """Median of what is not NaN of all elements."""
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices: ...

@overload
def nanquantile(input: Tensor, q: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor:
    """Quantiles of what is not NaN."""
@overload
def nanquantile(input: Tensor, q: _float, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor: ...

def nansum(input: Tensor, dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
    """Sum of what is not NaN over `dim`, or over every axis when `dim` is None."""

@overload
def narrow(input: Tensor, dim: _int, start: _int, length: _int) -> Tensor:
    """A view of `length` indices from `start` along a dimension."""
@overload
def narrow(input: Tensor, dim: _int, start: Tensor, length: _int) -> Tensor: ...

def narrow_copy(input: Tensor, dim: _int, start: _int, length: _int, *, out: Tensor | None = ...) -> Tensor:
    """A copy of `length` indices from `start` along a dimension."""

def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, *, out: _Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor, Tensor]:
    """batch_norm, with the mean and the reciprocal deviation of the batch."""

def native_dropout(input: Tensor, p: _float, train: _bool | None) -> tuple[Tensor, Tensor]:
    """dropout() that returns its mask too."""

def native_dropout_backward(grad_output: Tensor, mask: Tensor, scale: _float, *, out: Tensor | None = ...) -> Tensor:
    """The gradient of native_dropout."""

def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: _int, C: _int, HxW: _int, group: _int, eps: _float, *, out: _Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor, Tensor]:
    """group_norm, with the mean and the reciprocal deviation of each group."""

def native_layer_norm(input: Tensor, normalized_shape: _Size, weight: Tensor | None, bias: Tensor | None, eps: _float, *, out: _Sequence[Tensor] | None = ...) -> tuple[Tensor, Tensor, Tensor]:
    """layer_norm, with the mean and the reciprocal deviation of each row."""

def ne(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """True where the two elements differ."""

def neg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Each element with its sign changed."""

def neg_(input: Tensor) -> Tensor:
    """Each element with its sign changed."""

def negative(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Alias of neg()."""

def negative_(input: Tensor) -> Tensor:
    """Alias of neg()."""

def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Next number after the first towards the second."""

@overload
def nonzero(input: Tensor, *, as_tuple: Literal[False] = ..., out: Tensor | None = ...) -> Tensor:
    """The positions of the elements that are not zero: one row for each, or with
    `as_tuple` one tensor for each dimension.
    """
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@overload
def nonzero(input: Tensor, *, as_tuple: _bool) -> Any: ...

def nonzero_static(input: Tensor, *, size: _int, fill_value: _int = ..., out: Tensor | None = ...) -> Tensor:
    """nonzero() with exactly `size` rows: cut, or filled up with `fill_value`."""

@overload
def norm(input: Tensor, p: _Number | None = ..., dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
    """Norm of order `p` over `dim`, or of all elements."""
@overload
def norm(input: Tensor, p: _str, dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor: ...

@overload
def normal(mean: _float, std: _float, size: _Size, *, generator: Generator | None = ..., dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Normal numbers with the given mean and standard deviation."""
@overload
def normal(mean: Tensor, std: Tensor, *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def normal(mean: Tensor, std: _float = ..., *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor: ...
@overload
def normal(mean: _float, std: Tensor, *, generator: Generator | None = ..., out: Tensor | None = ...) -> Tensor: ...

def not_equal(input: Tensor, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Alias of ne()."""

def numel(input: Tensor) -> _int:
    """Number of elements."""

@overload
def ones(size: _Size, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """A tensor filled with 1."""
@overload
def ones(*size: _int, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor: ...

def ones_like(input: Tensor, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., memory_format: memory_format | None = ...) -> Tensor:
    """A tensor of the shape, dtype and device of another, filled with 1."""

def orgqr(input: Tensor, input2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The first columns of a product of Householder reflectors."""

def ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: _bool = ..., transpose: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """A matrix multiplied from the left or right by a product of reflectors, or its
    adjoint.
    """

def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Outer product of two vectors."""

def pdist(input: Tensor, p: _float = ...) -> Tensor:
    """Distances of order `p` between all pairs of rows, each pair once."""

@overload
def permute(input: Tensor, dims: _Size) -> Tensor:
    """A view with its dimensions reordered."""
@overload
def permute(input: Tensor, *dims: _int) -> Tensor: ...

@overload
def permute_copy(input: Tensor, dims: _Size, *, out: Tensor | None = ...) -> Tensor:
    """A view with its dimensions reordered. As a copy."""
@overload
def permute_copy(input: Tensor, *dims: _int, out: Tensor | None = ...) -> Tensor: ...

def pinverse(input: Tensor, rcond: _float = ...) -> Tensor:
    """The pseudo-inverses of matrices."""

def poisson(input: Tensor, generator: Generator | None = ...) -> Tensor:
    """Poisson numbers with the rates in `input`."""

def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A complex tensor with the given absolute values and angles."""

def polygamma(n: _int, self: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """n-th derivative of digamma."""

def positive(input: Tensor) -> Tensor:
    """The tensor itself."""

@overload
def pow(input: _Operand, exponent: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """self to the power of exponent."""
@overload
def pow(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor: ...

@overload
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where it is positive, weight * x elsewhere; one weight, or one for each
    channel (dimension 1).
    """
@overload
def prelu(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...

@overload
def prod(input: Tensor, *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
    """Product of all elements."""
@overload
def prod(input: Tensor, dim: _int, keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor: ...

def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor:
    """A copy with `source` at the places `index`, the tensor being one line."""

def qr(input: Tensor, some: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _Q_R:
    """An orthogonal Q and an upper triangular R with input = Q @ R."""

@overload
def quantile(input: Tensor, q: Tensor, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor:
    """The values below which the fractions `q` of the elements along `dim` lie."""
@overload
def quantile(input: Tensor, q: _float, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: _str = ..., out: Tensor | None = ...) -> Tensor: ...

def rad2deg(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Radians to degrees."""

def rad2deg_(input: Tensor) -> Tensor:
    """Radians to degrees."""

@overload
def rand(size: _Size, *, generator: Generator | None = ..., dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Uniform numbers in [0, 1)."""
@overload
def rand(*size: _int, generator: Generator | None = ..., dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor: ...

def rand_like(input: Tensor, *, generator: Generator | None = ..., dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., memory_format: memory_format | None = ...) -> Tensor:
    """Uniform numbers in [0, 1), with the shape, dtype and device of `input`."""

@overload
def randint(high: _int, size: _Size, *, generator: Generator | None = ..., dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Integers from 0 to `high` - 1, all as likely."""
@overload
def randint(low: _int, high: _int, size: _Size, *, generator: Generator | None = ..., dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor: ...

@overload
def randint_like(input: Tensor, high: _int, *, generator: Generator | None = ..., dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., memory_format: memory_format | None = ...) -> Tensor:
    """Integers from 0 to `high` - 1, with the shape, dtype and device of `input`."""
@overload
def randint_like(input: Tensor, low: _int, high: _int, *, generator: Generator | None = ..., dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., memory_format: memory_format | None = ...) -> Tensor: ...

@overload
def randn(size: _Size, *, generator: Generator | None = ..., dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """Normal numbers with mean 0 and variance 1."""
@overload
def randn(*size: _int, generator: Generator | None = ..., dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor: ...

def randn_like(input: Tensor, *, generator: Generator | None = ..., dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., memory_format: memory_format | None = ...) -> Tensor:
    """Normal numbers with mean 0 and variance 1, with the shape, dtype and device of
    `input`.
    """

def randperm(n: _int, *, generator: Generator | None = ..., dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The numbers from 0 to n - 1 in random order."""

def range(start: _Number, end: _Number, step: _Number = ..., *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The numbers from `start` to `end`, both included, `step` apart; deprecated."""

def ravel(input: Tensor) -> Tensor:
    """The elements as one dimension, in contiguous memory."""

def real(input: Tensor) -> Tensor:
    """The real part, as a view; a real tensor itself."""

def reciprocal(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 / x for each element."""

def reciprocal_(input: Tensor) -> Tensor:
    """1 / x for each element."""

def relu(input: Tensor) -> Tensor:
    """max(x, 0) for each element."""

def relu_(input: Tensor) -> Tensor:
    """max(x, 0) for each element."""

def remainder(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Remainder of the division, with the divisor's sign."""

def renorm(input: Tensor, p: _Number, dim: _int, maxnorm: _Number, *, out: Tensor | None = ...) -> Tensor:
    """Slices along `dim` scaled down so that their norms are at most `maxnorm`."""

@overload
def repeat_interleave(input: Tensor, repeats: _int, dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor:
    """Each element (or each index along `dim`) `repeats` times in a row."""
@overload
def repeat_interleave(input: Tensor, repeats: Tensor, dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor: ...
@overload
def repeat_interleave(repeats: Tensor, *, output_size: _int | None = ...) -> Tensor: ...

@overload
def reshape(input: Tensor, shape: _Size) -> Tensor:
    """The same elements under another shape: a view if possible, else a copy."""
@overload
def reshape(input: Tensor, *shape: _int) -> Tensor: ...

def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: memory_format | None = ...) -> Tensor:
    """Gives the tensor the shape of another, in more memory if it needs more."""

def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are never lazy."""

def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negatives are never lazy."""

def rms_norm(input: Tensor, normalized_shape: _Size, weight: Tensor | None = ..., eps: _float | None = ...) -> Tensor:
    """`input` divided by its root mean square over the last axes (arXiv:1910.07467)."""

@overload
def rnn_relu(input: Tensor, hx: Tensor, params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """Layers of h = relu(W_ih x + b_ih + W_hh h + b_hh) over sequences: outputs, last
    h.
    """
@overload
def rnn_relu(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool) -> tuple[Tensor, Tensor]: ...

def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor:
    """relu(W_ih x + b_ih + W_hh h + b_hh)."""

@overload
def rnn_tanh(input: Tensor, hx: Tensor, params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool, batch_first: _bool) -> tuple[Tensor, Tensor]:
    """Layers of h = tanh(W_ih x + b_ih + W_hh h + b_hh) over sequences: outputs, last
    h.
    """
@overload
def rnn_tanh(data: Tensor, batch_sizes: Tensor, hx: Tensor, params: _Sequence[Tensor], has_biases: _bool, num_layers: _int, dropout: _float, train: _bool, bidirectional: _bool) -> tuple[Tensor, Tensor]: ...

def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor:
    """tanh(W_ih x + b_ih + W_hh h + b_hh)."""

def roll(input: Tensor, shifts: _Dims, dims: _Dims = ...) -> Tensor:
    """A copy shifted along `dims`; what leaves at the end comes in at the front."""

def rot90(input: Tensor, k: _int = ..., dims: _Dims = ...) -> Tensor:
    """The plane of two dimensions turned by k times 90 degrees, from the first to the
    second.
    """

@overload
def round(input: Tensor, *, decimals: _int, out: Tensor | None = ...) -> Tensor:
    """Each element rounded to a number of decimals, halves to even."""
@overload
def round(input: Tensor, *, out: Tensor | None = ...) -> Tensor: ...

@overload
def round_(input: Tensor, *, decimals: _int) -> Tensor:
    """Each element rounded to a number of decimals, halves to even."""
@overload
def round_(input: Tensor) -> Tensor: ...

def row_stack(tensors: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """vstack()."""

def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., generator: Generator | None = ...) -> Tensor:
    """Leaky ReLU with slopes drawn from [lower, upper) in training, their mean
    otherwise.
    """

def rrelu_(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., generator: Generator | None = ...) -> Tensor:
    """Leaky ReLU with slopes drawn from [lower, upper) in training, their mean
    otherwise.
    """

def rsqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 / sqrt(x) for each element."""

def rsqrt_(input: Tensor) -> Tensor:
    """1 / sqrt(x) for each element."""

def rsub(input: Tensor, other: _Operand, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """other - alpha * self."""

def scalar_tensor(s: _Number, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ...) -> Tensor:
    """A 0-d tensor, of the default dtype unless `dtype` is given."""

@overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A copy with `src` written to the places `index` along a dimension."""
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, value: _Number, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, reduce: _str, out: Tensor | None = ...) -> Tensor: ...
@overload
def scatter(input: Tensor, dim: _int, index: Tensor, value: _Number, *, reduce: _str, out: Tensor | None = ...) -> Tensor: ...

def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A copy with `src` added to what is at `index` along a dimension."""

def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: _str, *, include_self: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """The sum, prod, mean, amax or amin of `src` at the places `index` along a
    dimension, together with what is there if `include_self`.
    """

def searchsorted(sorted_sequence: Tensor, self: _Operand, *, out_int32: _bool = ..., right: _bool = ..., side: _str | None = ..., sorter: Tensor | None = ..., out: Tensor | None = ...) -> Tensor:
    """Where values would have to be put into sorted sequences to keep them sorted."""

def segment_reduce(data: Tensor, reduce: _str, *, lengths: Tensor | None = ..., indices: Tensor | None = ..., offsets: Tensor | None = ..., axis: _int = ..., unsafe: _bool = ..., initial: _Number | None = ...) -> Tensor:
    """The sum, mean, product, maximum or minimum of each run of elements along `axis`,
    given by the lengths of the runs or by their offsets.
    """

def select(input: Tensor, dim: _int, index: _int) -> Tensor:
    """A view of one index along a dimension."""

def select_copy(input: Tensor, dim: _int, index: _int, *, out: Tensor | None = ...) -> Tensor:
    """A view of one index along a dimension. As a copy."""

def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int, *, out: Tensor | None = ...) -> Tensor:
    """A copy with one index along a dimension replaced by `src`."""

def selu(input: Tensor) -> Tensor:
    """elu() with the constants of self-normalizing networks."""

def selu_(input: Tensor) -> Tensor:
    """elu() with the constants of self-normalizing networks."""

def sgn(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Sign of each element; of a complex one, x / abs(x)."""

def sgn_(input: Tensor) -> Tensor:
    """Sign of each element; of a complex one, x / abs(x)."""

def sigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """1 / (1 + exp(-x)) for each element."""

def sigmoid_(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)) for each element."""

def sign(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """-1, 0 or 1 by the sign of each element."""

def sign_(input: Tensor) -> Tensor:
    """-1, 0 or 1 by the sign of each element."""

def signbit(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """True where the sign bit is set, that of -0. included."""

def sin(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Sine of each element."""

def sin_(input: Tensor) -> Tensor:
    """Sine of each element."""

def sinc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """sin(pi x) / (pi x), which is 1 at zero."""

def sinc_(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), which is 1 at zero."""

def sinh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Hyperbolic sine of each element."""

def sinh_(input: Tensor) -> Tensor:
    """Hyperbolic sine of each element."""

def slice_copy(input: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """A view of every `step`-th index from `start` to `end` along a dimension. As a
    copy.
    """

def slice_scatter(input: Tensor, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """A copy with a slice along a dimension replaced by `src`."""

def slogdet(input: Tensor, *, out: _Sequence[Tensor] | None = ...) -> _sign_logabsdet:
    """The sign of determinants, and the logarithm of their absolute value."""

def softmax(input: Tensor, dim: _int, dtype: _DtypeLike | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """Exponentials along `dim`, scaled to sum to 1."""

def sort(input: Tensor, dim: _int = ..., descending: _bool = ..., *, stable: _bool | None = ..., out: _Sequence[Tensor] | None = ...) -> _values_indices:
    """The elements along `dim` in order, and where they came from. NaN counts as the
    largest.
    """

@overload
def split(tensor: Tensor, split_size_or_sections: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """Views of pieces of `split_size` along a dimension; the last may be smaller."""
@overload
def split(tensor: Tensor, split_size_or_sections: _Dims, dim: _int = ...) -> tuple[Tensor, ...]: ...

def split_copy(input: Tensor, split_size: _int, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Pieces of `split_size` along a dimension. As a copy."""

def split_with_sizes(input: Tensor, split_sizes: _Dims, dim: _int = ...) -> tuple[Tensor, ...]:
    """Views of pieces of the given sizes along a dimension."""

def split_with_sizes_copy(input: Tensor, split_sizes: _Dims, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Views of pieces of the given sizes along a dimension. As a copy."""

def sqrt(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Square root of each element."""

def sqrt_(input: Tensor) -> Tensor:
    """Square root of each element."""

def square(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Square of each element."""

def square_(input: Tensor) -> Tensor:
    """Square of each element."""

def squeeze(input: Tensor, dim: _Dims = ...) -> Tensor:
    """A view without dimensions of size 1, or without those among `dim`."""

def squeeze_copy(input: Tensor, dim: _Dims = ..., *, out: Tensor | None = ...) -> Tensor:
    """A view without dimensions of size 1, or without those among `dim`. As a copy."""

def stack(tensors: _Sequence[Tensor], dim: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The tensors along a new dimension."""

@overload
def std(input: Tensor, unbiased: _bool) -> Tensor:
    """Standard deviation of all elements."""
@overload
def std(input: Tensor, dim: _Dims, unbiased: _bool, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def std(input: Tensor, dim: _Dims = ..., *, correction: _Number | None = ..., keepdim: _bool = ..., out: Tensor | None = ...) -> Tensor: ...

@overload
def std_mean(input: Tensor, unbiased: _bool) -> tuple[Tensor, Tensor]:
    """Standard deviation and mean of all elements."""
@overload
def std_mean(input: Tensor, dim: _Dims, unbiased: _bool, keepdim: _bool = ...) -> tuple[Tensor, Tensor]: ...
@overload
def std_mean(input: Tensor, dim: _Dims = ..., *, correction: _Number | None = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]: ...

def stft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: _str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
    """Short-time Fourier transform: of windows of `n_fft` samples, `hop_length` apart.
    """

@overload
def sub(input: _Operand, other: _Operand, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """self - alpha * other."""
@overload
def sub(input: Tensor, alpha: _Number, other: Tensor, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def sub(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor: ...

def subtract(input: _Operand, other: _Operand, *, alpha: _Number = ..., out: Tensor | None = ...) -> Tensor:
    """self - alpha * other."""

@overload
def sum(input: Tensor, dim: _Dims = ..., keepdim: _bool = ..., *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor:
    """Sum over `dim`, or over every axis when `dim` is None."""
@overload
def sum(input: Tensor, *, dtype: _DtypeLike | None = ..., out: Tensor | None = ...) -> Tensor: ...

def svd(input: Tensor, some: _bool = ..., compute_uv: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _U_S_V:
    """Singular vectors and values: input = U @ diag(S) @ V.mH."""

def swapaxes(input: Tensor, axis0: _int, axis1: _int) -> Tensor:
    """transpose()."""

def swapdims(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """transpose()."""

def t(input: Tensor) -> Tensor:
    """The transpose of a matrix."""

def t_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The transpose of a matrix. As a copy."""

def take(input: Tensor, index: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """The elements at `index`, the tensor being one line."""

def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """gather() with the other dimensions broadcast; of the flattened tensor if `dim`
    is None.
    """

def tan(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Tangent of each element."""

def tan_(input: Tensor) -> Tensor:
    """Tangent of each element."""

def tanh(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Hyperbolic tangent of each element."""

def tanh_(input: Tensor) -> Tensor:
    """Hyperbolic tangent of each element."""

def tensor(data: Any, *, dtype: _DtypeLike | None = ..., device: _DeviceLike | None = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A new tensor with a copy of `data`: a number, nested sequences or an array."""

@overload
def tensor_split(input: Tensor, sections: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """Views of `sections` pieces along a dimension, of sizes that differ by one at
    most.
    """
@overload
def tensor_split(input: Tensor, indices: _Dims, dim: _int = ...) -> tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, tensor_indices_or_sections: Tensor, dim: _int = ...) -> tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, indices_or_sections: _int, dim: _int = ...) -> tuple[Tensor, ...]: ...
@overload
def tensor_split(input: Tensor, indices_or_sections: _Dims, dim: _int = ...) -> tuple[Tensor, ...]: ...

def threshold(input: Tensor, threshold: _Number, value: _Number, *, out: Tensor | None = ...) -> Tensor:
    """x above a threshold, a given value elsewhere."""

def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor:
    """x above a threshold, a given value elsewhere."""

@overload
def tile(input: Tensor, dims: _Size) -> Tensor:
    """The tensor repeated along each dimension; missing entries count as 1."""
@overload
def tile(input: Tensor, *dims: _int) -> Tensor: ...

def topk(input: Tensor, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _values_indices:
    """The `k` largest (or smallest) elements along `dim`, and where they are."""

def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""

def transpose(input: Tensor, dim0: _int, dim1: _int) -> Tensor:
    """A view with two dimensions swapped."""

def transpose_copy(input: Tensor, dim0: _int, dim1: _int, *, out: Tensor | None = ...) -> Tensor:
    """A view with two dimensions swapped. As a copy."""

@overload
def trapezoid(y: Tensor, x: Tensor, *, dim: _int = ...) -> Tensor:
    """Area under the samples `y` at `x` by the trapezoidal rule."""
@overload
def trapezoid(y: Tensor, *, dx: _Number = ..., dim: _int = ...) -> Tensor: ...

@overload
def trapz(y: Tensor, x: Tensor, *, dim: _int = ...) -> Tensor:
    """The same as trapezoid."""
@overload
def trapz(y: Tensor, *, dx: _float = ..., dim: _int = ...) -> Tensor: ...

def triangular_solve(input: Tensor, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: _Sequence[Tensor] | None = ...) -> _solution_cloned_coefficient:
    """The X with A @ X = self, A being triangular, and a copy of A."""

def tril(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The lower triangle of matrices, up to a diagonal; 0 above it."""

def tril_indices(row: _int, col: _int, offset: _int = ..., *, dtype: _DtypeLike | None = ..., device: _DeviceLike | None = ..., layout: Any = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Row and column numbers of the lower triangle of a matrix, as a 2 by n tensor."""

def triu(input: Tensor, diagonal: _int = ..., *, out: Tensor | None = ...) -> Tensor:
    """The upper triangle of matrices, from a diagonal on; 0 below it."""

def triu_indices(row: _int, col: _int, offset: _int = ..., *, dtype: _DtypeLike | None = ..., device: _DeviceLike | None = ..., layout: Any = ..., pin_memory: _bool | None = ...) -> Tensor:
    """Row and column numbers of the upper triangle of a matrix, as a 2 by n tensor."""

def true_divide(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """Alias of div()."""

def trunc(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Integer part of each element."""

def trunc_(input: Tensor) -> Tensor:
    """Integer part of each element."""

def unbind(input: Tensor, dim: _int = ...) -> tuple[Tensor, ...]:
    """Views of each index along a dimension."""

def unbind_copy(input: Tensor, dim: _int = ..., *, out: Tensor | None = ...) -> tuple[Tensor, ...]:
    """Views of each index along a dimension. As a copy."""

def unflatten(input: Tensor, dim: _int, sizes: _Size) -> Tensor:
    """One dimension as several, of the given sizes."""

def unfold_copy(input: Tensor, dimension: _int, size: _int, step: _int, *, out: Tensor | None = ...) -> Tensor:
    """A view of all windows of `size` elements along a dimension, `step` apart, as a
    new last dimension. As a copy.
    """

@overload
def unique(input: Tensor, sorted: _bool = ..., *, return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor:
    """The distinct elements (or slices along `dim`), in order; where each element
    went; how often each occurs.
    """
@overload
def unique(input: Tensor, sorted: _bool = ..., *, return_inverse: Literal[True], return_counts: Literal[False] = ..., dim: _int | None = ...) -> tuple[Tensor, Tensor]: ...
@overload
def unique(input: Tensor, sorted: _bool = ..., *, return_inverse: Literal[False] = ..., return_counts: Literal[True], dim: _int | None = ...) -> tuple[Tensor, Tensor]: ...
@overload
def unique(input: Tensor, sorted: _bool = ..., *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = ...) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: ...

@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor:
    """One element of each run of equal ones; the run of each element; how long each
    is.
    """
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[False] = ..., dim: _int | None = ...) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[False] = ..., return_counts: Literal[True], dim: _int | None = ...) -> tuple[Tensor, Tensor]: ...
@overload
def unique_consecutive(input: Tensor, *, return_inverse: Literal[True], return_counts: Literal[True], dim: _int | None = ...) -> tuple[Tensor, Tensor, Tensor]: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: ...

@overload
def unravel_index(indices: Tensor, shape: _Size) -> tuple[Tensor, ...]:
    """Positions in the flattened tensor as one index for each dimension of `shape`."""
@overload
def unravel_index(indices: Tensor, *shape: _int) -> tuple[Tensor, ...]: ...

def unsafe_chunk(input: Tensor, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """chunk() into pieces that may each be changed in place."""

def unsafe_split(input: Tensor, split_size: _int, dim: _int = ...) -> tuple[Tensor, ...]:
    """split() into pieces that may each be changed in place."""

def unsafe_split_with_sizes(input: Tensor, split_sizes: _Dims, dim: _int = ...) -> tuple[Tensor, ...]:
    """split_with_sizes() into pieces that may each be changed in place."""

def unsqueeze(input: Tensor, dim: _int) -> Tensor:
    """A view with a dimension of size 1 put in."""

def unsqueeze_copy(input: Tensor, dim: _int, *, out: Tensor | None = ...) -> Tensor:
    """A view with a dimension of size 1 put in. As a copy."""

def vander(x: Tensor, N: _int | None = ..., increasing: _bool = ...) -> Tensor:
    """The Vandermonde matrix of a vector: its powers as columns."""

@overload
def var(input: Tensor, unbiased: _bool) -> Tensor:
    """Variance of all elements."""
@overload
def var(input: Tensor, dim: _Dims, unbiased: _bool, keepdim: _bool = ..., *, out: Tensor | None = ...) -> Tensor: ...
@overload
def var(input: Tensor, dim: _Dims = ..., *, correction: _Number | None = ..., keepdim: _bool = ..., out: Tensor | None = ...) -> Tensor: ...

@overload
def var_mean(input: Tensor, unbiased: _bool) -> tuple[Tensor, Tensor]:
    """Variance and mean of all elements."""
@overload
def var_mean(input: Tensor, dim: _Dims, unbiased: _bool, keepdim: _bool = ...) -> tuple[Tensor, Tensor]: ...
@overload
def var_mean(input: Tensor, dim: _Dims = ..., *, correction: _Number | None = ..., keepdim: _bool = ...) -> tuple[Tensor, Tensor]: ...

def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """Dot product of the conjugate of a vector with another."""

def view_as_complex(input: Tensor) -> Tensor:
    """A complex view of a real tensor whose last dimension has size 2."""

def view_as_complex_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A complex view of a real tensor whose last dimension has size 2. As a copy."""

def view_as_real(input: Tensor) -> Tensor:
    """A real view of a complex tensor, with a last dimension of size 2."""

def view_as_real_copy(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """A real view of a complex tensor, with a last dimension of size 2. As a copy."""

@overload
def view_copy(input: Tensor, dtype: _DtypeLike, *, out: Tensor | None = ...) -> Tensor:
    """The same bytes under another dtype. As a copy."""
@overload
def view_copy(input: Tensor, size: _Size, *, out: Tensor | None = ...) -> Tensor: ...
@overload
def view_copy(input: Tensor, *size: _int, out: Tensor | None = ...) -> Tensor: ...

@overload
def vsplit(input: Tensor, sections: _int) -> tuple[Tensor, ...]:
    """Equal pieces, as views."""
@overload
def vsplit(input: Tensor, indices: _Size) -> tuple[Tensor, ...]: ...
@overload
def vsplit(input: Tensor, *indices: _int) -> tuple[Tensor, ...]: ...
@overload
def vsplit(input: Tensor, indices_or_sections: _int) -> tuple[Tensor, ...]: ...
@overload
def vsplit(input: Tensor, indices_or_sections: _Size) -> tuple[Tensor, ...]: ...
@overload
def vsplit(input: Tensor, *indices_or_sections: _int) -> tuple[Tensor, ...]: ...

def vstack(tensors: _Sequence[Tensor], *, out: Tensor | None = ...) -> Tensor:
    """The tensors on top of each other."""

@overload
def where(condition: Tensor, self: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """self where condition is true, other elsewhere."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...

def xlogy(input: _Operand, other: _Operand, *, out: Tensor | None = ...) -> Tensor:
    """a * log(b), which is 0 where a is."""

def xlogy_(input: _Operand, other: _Operand) -> Tensor:
    """a * log(b), which is 0 where a is."""

def zero_(input: Tensor) -> Tensor:
    """Sets every element to 0."""

@overload
def zeros(size: _Size, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor:
    """A tensor filled with 0."""
@overload
def zeros(*size: _int, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor: ...

def zeros_like(input: Tensor, *, dtype: _DtypeLike | None = ..., layout: Any = ..., device: _DeviceLike | None = ..., pin_memory: _bool | None = ..., requires_grad: _bool = ..., memory_format: memory_format | None = ...) -> Tensor:
    """A tensor of the shape, dtype and device of another, filled with 0."""
