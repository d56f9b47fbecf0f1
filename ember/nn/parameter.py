"""Parameters and buffers: tensors that a Module registers when they are assigned."""

from collections.abc import Sequence
from typing import Any, Self

import ember
from ember import _C, _lazy
from ember._C import Tensor
from ember._types import DeviceLike, Dtype


class _ParameterMeta(type(Tensor)):  # type: ignore[misc]
    """Tensors of other subclasses that were made parameters are instances, too."""

    def __instancecheck__(cls, instance: object) -> bool:
        if type(instance) is Tensor or not isinstance(instance, Tensor):
            return False
        if cls in type(instance).__mro__:
            return True
        return cls is Parameter and getattr(instance, "_is_param", False)


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a parameter of the module it is assigned to.

    One made of a tensor of a subclass stays of that class.

    >>> import ember
    >>> ember.nn.Parameter(ember.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Self:
        if data is None:
            data = ember.empty(0)
        elif type(data) is not Tensor and hasattr(data, "_as_parameter"):
            return data._as_parameter(requires_grad)  # a DTensor stays one
        elif type(data) is not Tensor and _is_of_subclass(data):
            return _of_subclass(data, requires_grad)  # type: ignore[return-value]
        return Tensor._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) in memo:
            return memo[id(self)]
        data = self.detach().clone()
        memo[id(self)] = made = type(self)(data, self.requires_grad)
        return made

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __reduce_ex__(self, protocol: Any) -> Any:
        from collections import OrderedDict

        args: tuple = (self.detach(), self.requires_grad, OrderedDict())
        if not self.__dict__:
            return _rebuild_parameter, args
        return _rebuild_parameter_with_state, (*args, {**self.__dict__})


def _is_of_subclass(data: object) -> bool:
    return isinstance(data, Tensor) and not issubclass(type(data), (Parameter, Buffer))


def _of_subclass(data: Tensor, requires_grad: bool) -> Tensor:
    """A tensor of a subclass as a parameter of that class."""
    made = data.detach().requires_grad_(requires_grad)
    if type(made) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} "
            "requires that detach() returns an instance of the same type, but return "
            f"type {type(made).__name__} was found instead. To use the type as a "
            "Parameter, please correct the detach() semantics defined by its "
            "__torch_dispatch__() implementation."
        )
    made._is_param = True  # type: ignore[attr-defined]
    return made


def _rebuild_parameter(data, requires_grad, hooks):
    return Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, hooks, state):
    made = Parameter(data, requires_grad)
    made.__dict__.update(state)
    return made


class Buffer(Tensor):
    """A tensor that is a buffer of the module it is assigned to.

    It stays a plain Tensor otherwise; `persistent` says whether it is in `state_dict`.

    >>> import ember
    >>> m = ember.nn.Module()
    >>> m.count = ember.nn.Buffer(ember.zeros(1))
    >>> list(m.state_dict())
    ['count']
    """

    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = ember.empty(0)
        made = Tensor._make_subclass(cls, data, data.requires_grad)
        made.persistent = persistent
        return made


# What may be asked of a tensor that has no shape yet.
_ALLOWED = frozenset(
    "__hash__ __get__ __set__ __deepcopy__ __reduce_ex__ size copy_ is_complex half "
    "is_floating_point float double char short int long cuda cpu to get_device "
    "device dtype data layout requires_grad requires_grad_ is_leaf detach grad "
    "_make_subclass is_meta".split()
)


class UninitializedTensorMixin:
    """What parameters and buffers without a shape share."""

    cls_to_become: type

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. "
            "This error usually happens in `load_state_dict` when trying to load "
            "an uninitialized parameter into an initialized one. "
            "Call `forward` to initialize the parameters before accessing their "
            "attributes."
        )

    def share_memory_(self) -> Self:
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. "
            "Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in _ALLOWED:
            with _C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error "
            "happens when you are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{cls.__name__}` objects. When using LazyModules "
            "Call `forward` with a dummy batch to initialize the parameters before "
            "calling torch functions"
        )

    def materialize(
        self,
        shape: Sequence[int],
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        """Become an ordinary tensor of this shape, its values not yet set."""
        device = self.device if device is None else device  # type: ignore
        dtype = self.dtype if dtype is None else dtype  # type: ignore
        self.data = ember.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        args = self.requires_grad, self.device, self.dtype  # type: ignore
        return type(self), args


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; lazy modules give it one.

    >>> import ember
    >>> p = ember.nn.UninitializedParameter()
    >>> p.materialize((2, 3))
    >>> p.shape
    torch.Size([2, 3])
    """

    cls_to_become: type = Parameter

    def __new__(
        cls,
        requires_grad: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> Self:
        data = ember.empty(0, device=device, dtype=dtype)
        return Tensor._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            made = type(self)(self.requires_grad, self.device, self.dtype)
            memo[id(self)] = made
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet.

    Lazy modules register one, and give it a shape when their first input comes.

    >>> buffer = nn.UninitializedBuffer()
    >>> buffer.materialize((2, 3))
    >>> buffer.shape
    torch.Size([2, 3])
    """

    __torch_function__ = _C._disabled_torch_function_impl
    cls_to_become: type = Buffer  # a plain Tensor has another layout

    def __new__(
        cls,
        requires_grad: bool = False,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
        persistent: bool = True,
    ) -> Self:
        data = ember.empty(0, device=device, dtype=dtype)
        made = Tensor._make_subclass(cls, data, requires_grad)
        made.persistent = persistent
        return made


def is_lazy(param: object) -> bool:
    """Whether a parameter or buffer still waits for its shape.

    >>> nn.parameter.is_lazy(nn.LazyLinear(3).weight), nn.parameter.is_lazy(1)
    (True, False)
    """
    return isinstance(param, (UninitializedParameter, UninitializedBuffer))


__getattr__ = _lazy.missing(__name__)
