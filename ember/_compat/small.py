"""Private functions and classes of PyTorch that are a few lines each."""

from __future__ import annotations

from enum import Enum
from typing import Any, NoReturn

import ember
from ember import Tensor


def nothing(*args: Any, **kwargs: Any) -> None:
    """Switches of compilers that are not here; results do not depend on them."""


def false(*args: Any, **kwargs: Any) -> bool:
    """What a build without the feature answers."""
    return False


def true(*args: Any, **kwargs: Any) -> bool:
    """What a build without CUDA answers when asked what it lacks."""
    return True


def print_stacks_when_dying(on: bool) -> None:
    """Whether a signal that ends the process first prints Python's stacks."""
    import faulthandler

    (faulthandler.enable if on else faulthandler.disable)()


no = False  # what flags of builds without the feature are


def none(*args: Any, **kwargs: Any) -> None:
    """What PyTorch answers when nothing is traced or recorded."""
    return None


def itself(function: Any) -> Any:
    """A decorator for compilers."""
    return function


def decorator(*args: Any, **kwargs: Any) -> Any:
    """What makes `itself`: for rules that only compilers read."""
    return itself


def disable_dynamo(fn: Any = None, recursive: bool = True) -> Any:
    """A function that a compiler is to leave alone, or a decorator for one."""
    return itself if fn is None else fn


def sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dimensions."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    """How many inputs, or outputs, each output, or input, of a layer has."""
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(
            f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']"
        )
    fans = ember.nn.init._calculate_fan_in_and_fan_out(tensor)
    return fans[mode == "fan_out"]


def parse_to(*args: Any, **kwargs: Any) -> tuple:
    """The arguments of `Tensor.to` as (device, dtype, non_blocking, memory_format)."""
    names = ["device", "dtype", "non_blocking", "copy"]
    values = dict(kwargs)
    if args and isinstance(args[0], Tensor):
        values |= {"device": args[0].device, "dtype": args[0].dtype}
        names, args = ["non_blocking", "copy"], args[1:]
    elif args and isinstance(args[0], ember.dtype):
        names = ["dtype", "non_blocking", "copy"]
    values |= dict(zip(names, args))
    other = values.pop("other", values.pop("tensor", None))
    if other is not None:
        values |= {"device": other.device, "dtype": other.dtype}
    device = values.get("device")
    return (
        None if device is None else ember.device(device),
        values.get("dtype"),
        bool(values.get("non_blocking", False)),
        values.get("memory_format"),
    )


def can_take_data_of(input: Tensor, from_: Tensor) -> bool:
    """Whether `input.data = from_` can be."""
    return input.layout == from_.layout


def shape_as_tensor(self: Tensor) -> Tensor:
    """The sizes as a tensor."""
    return ember.tensor(list(self.shape), dtype=ember.int64)


def coo_to_csr(self: Tensor, size: int, *, out_int32: bool = False) -> Tensor:
    """Sorted row numbers as the places where the rows begin."""
    counts = ember.bincount(self.long(), minlength=size)
    starts = ember.zeros(size + 1, dtype=ember.int64, device=self.device)
    starts[1:] = counts.cumsum(0)
    return starts.to(ember.int32) if out_int32 else starts


def csr_to_coo(
    crow: Tensor, col: Tensor, *, out_int32: bool = False, transpose: bool = False
) -> Tensor:
    """The opposite of `coo_to_csr`, with the columns."""
    rows = ember.repeat_interleave(
        ember.arange(crow.numel() - 1, device=crow.device), crow.diff().long()
    )
    both = (col.long(), rows) if transpose else (rows, col.long())
    return ember.stack(both).to(ember.int32 if out_int32 else ember.int64)


def get_accelerator() -> ember.device:
    """The accelerator that is there, or the CPU."""
    return ember.accelerator.current_accelerator() or ember.device("cpu")


def privateuse1_name() -> str:
    """The name of a device that a library added; there is no such thing here."""
    return "privateuseone"


def assert_int_or_pair(arg: Any, arg_name: str, message: str) -> None:
    """That an argument is a number or two."""
    assert isinstance(arg, int) or len(arg) == 2, message.format(arg_name)


Tag = Enum(  # type: ignore[misc]
    "Tag",
    "core cudagraph_unsafe data_dependent_output dynamic_output_shape "
    "flexible_layout generated inplace_view maybe_aliasing_or_mutating "
    "needs_contiguous_strides needs_exact_strides needs_fixed_stride_order "
    "nondeterministic_bitwise nondeterministic_seeded out_variant pointwise "
    "pt2_compliant_tag reduction view_copy",
    start=0,
)


class _Symbol:
    """A number that a tracing compiler does not know; sizes are numbers here, so there
    is none, and `isinstance` is False."""

    def __init__(self, node: Any) -> None:
        raise TypeError(f"{type(self).__name__}: sizes are Python numbers in ember")


class SymInt(_Symbol): ...


class SymFloat(_Symbol): ...


class SymBool(_Symbol): ...


for _kind in (SymInt, SymFloat, SymBool):
    _kind.__module__ = "ember"


class TensorMeta(type(Tensor)):  # type: ignore[misc]
    """The class of `Tensor`'s class."""


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Let two tensors exchange what they are; their objects stay."""
    import weakref

    for t in (t1, t2):
        if weakref.getweakrefs(t):
            raise RuntimeError(
                "Cannot swap t1 because it has weakref associated with it"
            )
    kinds = t1.__class__, t2.__class__
    data = t1.data, t2.data
    grads, requires = (t1.grad, t2.grad), (t1.requires_grad, t2.requires_grad)
    if not (t1.is_leaf and t2.is_leaf):
        raise RuntimeError("swap_tensors(): only leaves can be swapped")
    if kinds[0] is not kinds[1]:
        t1.__class__, t2.__class__ = kinds[1], kinds[0]
    spaces = dict(vars(t1)), dict(vars(t2))
    for t, i in ((t1, 1), (t2, 0)):
        t.grad = None
        t.data = data[i]
        t.requires_grad_(requires[i])
        t.grad = grads[i]
        vars(t).clear()
        vars(t).update(spaces[i])


def validate_cuda_device(location: str) -> int:
    """The index of a device that a checkpoint names; fails where there is none."""
    if not ember.cuda.is_available():
        raise RuntimeError(
            "Attempting to deserialize object on a CUDA device but "
            "torch.cuda.is_available() is False. If you are running on a CPU-only "
            "machine, please use torch.load with map_location=torch.device('cpu') to "
            "map your storages to the CPU."
        )
    index = ember.device(location).index or 0
    if index >= ember.cuda.device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {index} but "
            f"torch.cuda.device_count() is {ember.cuda.device_count()}."
        )
    return index


def validate_hpu_device(location: str) -> NoReturn:
    """Fails: there is no such device."""
    raise RuntimeError(
        "Attempting to deserialize object on a HPU device but ember has none. Please "
        "use torch.load with map_location=torch.device('cpu')"
    )


class _Classes:
    """Where C++ classes of TorchScript would be found; there are none."""

    __file__ = "_classes.py"
    loaded_libraries: set = set()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(
            f"Tried to instantiate class '{name}', but it does not exist: ember has no "
            "C++ classes of TorchScript"
        )

    def load_library(self, path: str) -> None:
        """Fails: see `ember.ops.load_library`."""
        ember.ops.load_library(path)


classes = _Classes()


def cudnn_enabled() -> bool:
    """The switch `backends.cudnn.enabled`."""
    return bool(ember.backends.cudnn.enabled)


def default_device_name() -> str:
    """The device on which tensors are made, by name."""
    return str(ember.get_default_device())


def element_size(dtype: ember.dtype) -> int:
    """Bytes of a number; PyTorch counts bits of complex ones' halves, too."""
    return dtype.itemsize


def clipped_sigmoid(x: Tensor) -> Tensor:
    """The sigmoid, kept away from 0 and 1."""
    info = ember.finfo(x.dtype)
    return ember.clamp(ember.sigmoid(x), min=info.tiny, max=1.0 - info.eps)


def default_schedule(step: int) -> Any:
    """Every step is recorded."""
    return ember.profiler.ProfilerAction.RECORD


Device = ember.device


def infer_size(a: Any, b: Any) -> Any:
    """The shape that two shapes broadcast to."""
    return ember.broadcast_shapes(a, b)


def is_alias_of(a: Any, b: Any) -> bool:
    """Whether two tensors lie in one storage."""
    mine, other = a.untyped_storage(), b.untyped_storage()
    return mine.data_ptr() == other.data_ptr()


# Who writes the files of `ember.onnx`.
producer_name, producer_version = "ember", ember.__version__
