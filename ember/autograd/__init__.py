"""Automatic differentiation from Python: `backward`, `grad`, gradient modes, custom
functions and checks. The tape and the engine are in the core (core/autograd/).
"""

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar, overload

import ember
from ember import _C, _lazy
from ember.autograd import graph
from ember.autograd.anomaly_mode import detect_anomaly, set_detect_anomaly
from ember.autograd.function import Function, vmaps as vmaps
from ember.autograd.grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
)
from ember.autograd.gradcheck import gradcheck, gradgradcheck
from ember.autograd.graph import GradientEdge


class _VariableMeta(type):
    def __instancecheck__(cls, obj: object) -> bool:
        return isinstance(obj, _C.Tensor)


class Variable(metaclass=_VariableMeta):
    """What tensors with gradients were before 0.4; today every Tensor is one.

    >>> import ember
    >>> x = ember.autograd.Variable(ember.ones(2), requires_grad=True)
    >>> x.requires_grad, isinstance(x, ember.autograd.Variable)
    (True, True)
    """

    def __new__(
        cls, data: Any = None, requires_grad: bool = False, volatile: Any = None
    ) -> Any:
        if data is None:
            data = _C.empty(0)
        if not isinstance(data, _C.Tensor):
            kind = type(data).__name__
            raise TypeError(f"Variable data has to be a tensor, but got {kind}")
        return data.detach().requires_grad_(bool(requires_grad))

    from_numpy = staticmethod(_C.from_numpy)
    _execution_engine: "_Engine"


class _Engine:
    """The engine's own names of what `queue_callback` and backward do."""

    def queue_callback(self, callback: Any) -> None:
        """Call `callback()` at the end of the backward pass that is running."""
        _C._queue_callback(callback)


Variable._execution_engine = _Engine()


def is_multithreading_enabled() -> bool:
    """Whether backward may use several threads: ops do, the engine itself does not."""
    return _multithreading[-1]


class set_multithreading_enabled:
    """Accepted, for a block or for good; see `is_multithreading_enabled`."""

    def __init__(self, mode: bool) -> None:
        self.prev, _multithreading[-1] = _multithreading[-1], mode

    def __enter__(self) -> None: ...

    def __exit__(self, *error: Any) -> None:
        _multithreading[-1] = self.prev


_multithreading = [True]


def is_view_replay_enabled() -> bool:
    """Whether views are made again by their ops instead of by strides: no."""
    return False


def variable(*args: Any, **kwargs: Any) -> Any:
    """Gone: tensors are made by `ember.tensor`."""
    raise RuntimeError(
        "torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead"
    )


def backward(
    tensors: "ember.Tensor | Sequence[ember.Tensor]",
    grad_tensors: "ember.Tensor | Sequence[ember.Tensor | None] | None" = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: "ember.Tensor | Sequence[ember.Tensor] | None" = None,
) -> None:
    """Add the gradients of `tensors` with respect to the leaves to their `.grad`.

    >>> import ember
    >>> x = ember.tensor([1.0, 2.0], requires_grad=True)
    >>> ember.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    if grad_variables is not None:
        import warnings

        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=2,
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both "
                "passed to `backward()`. Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if inputs is None:
        inputs = ()
    else:
        inputs = _tuple(_values(inputs))
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    if create_graph:
        from ember._runtime import warn_of_create_graph

        warn_of_create_graph()
    tensors = _tuple(tensors)
    grads = _grads_tuple(grad_tensors, len(tensors))
    if _distributed((*tensors, *inputs)):
        tensors, grads, inputs = _parts(tensors, grads, inputs)
    if retain_graph is None:
        retain_graph = create_graph
    _run_backward(tensors, grads, retain_graph, create_graph, inputs, True, True)


K = TypeVar("K")


@overload
def grad(
    outputs: "ember.Tensor | Sequence[ember.Tensor]",
    inputs: "ember.Tensor | Sequence[ember.Tensor]",
    grad_outputs: "ember.Tensor | Sequence[ember.Tensor | None] | None" = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> "tuple[ember.Tensor, ...]": ...
@overload
def grad(
    outputs: "ember.Tensor | Sequence[ember.Tensor]",
    inputs: "dict[K, ember.Tensor]",
    grad_outputs: "ember.Tensor | Sequence[ember.Tensor | None] | None" = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> "dict[K, ember.Tensor]": ...
def grad(
    outputs: "ember.Tensor | Sequence[ember.Tensor]",
    inputs: "ember.Tensor | Sequence[ember.Tensor] | dict[Any, ember.Tensor]",
    grad_outputs: "ember.Tensor | Sequence[ember.Tensor | None] | None" = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of the sum of `outputs` with respect to `inputs`: a tuple, or a
    dict if `inputs` is one.

    >>> import ember
    >>> x = ember.tensor([1.0, 2.0], requires_grad=True)
    >>> ember.autograd.grad((x * x).sum(), x)
    (tensor([2., 4.]),)
    >>> ember.autograd.grad((x * x).sum(), {"x": x})
    {'x': tensor([2., 4.])}
    """
    if type(inputs) is dict:
        if not inputs:
            raise RuntimeError("grad(): `inputs` cannot be empty.")
        found = grad(
            outputs,
            tuple(inputs.values()),
            grad_outputs,
            retain_graph,
            create_graph,
            only_inputs,
            allow_unused,
            is_grads_batched,
            materialize_grads,
        )
        return dict(zip(inputs, found))
    inputs = _values(inputs)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when "
            "materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not only_inputs:
        import warnings

        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to "
            "True). To accumulate gradient for other parts of the graph, please use "
            "torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    outputs, inputs = _tuple(outputs), _tuple(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if retain_graph is None:
        retain_graph = create_graph
    given = _grads_tuple(grad_outputs, len(outputs))
    whole = inputs
    if distributed := _distributed((*outputs, *inputs)):
        outputs, given, inputs = _parts(outputs, given, inputs)
    if is_grads_batched:
        result = _batched_grad(
            outputs, inputs, given, retain_graph, create_graph, allow_unused
        )
    else:
        options = (retain_graph, create_graph, allow_unused)
        result = _run_grad(outputs, inputs, given, *options)
    if materialize_grads:
        if any(
            g is None and isinstance(i, GradientEdge) for g, i in zip(result, inputs)
        ):
            raise RuntimeError(
                "materialize_grads cannot be used when the given input is a "
                "GradientEdge"
            )
        batch = given[0].shape[:1] if is_grads_batched else ()
        result = tuple(
            i.new_zeros((*batch, *i.shape), requires_grad=create_graph)
            if g is None
            else g
            for g, i in zip(result, inputs)
        )
    if distributed:
        pairs = zip(result, whole)
        result = tuple(g if g is None else _like(i, g) for g, i in pairs)
    return result


def is_checkpoint_valid() -> bool:
    """Whether the running backward pass, if any, is for all leaves: a reentrant
    checkpoint cannot tell which of its own are asked for."""
    return not getattr(_pass, "chosen", False)


_pass = threading.local()  # .chosen: whether the one under way has `inputs`


def _distributed(tensors: tuple) -> bool:
    """Whether some are DTensors: their parts have the history."""
    return _C._has_torch_function(tensors) and any(
        hasattr(t, "_local_tensor") for t in tensors
    )


def _parts(outputs: tuple, grads: tuple, inputs: tuple) -> tuple:
    """Outputs, their gradients and inputs, by the parts of this process."""
    from ember.distributed.tensor._api import local_gradient

    given = tuple(local_gradient(t, g) for t, g in zip(outputs, grads))
    parts = (
        [getattr(t, "_local_tensor", t) for t in many] for many in (outputs, inputs)
    )
    own, leaves = map(tuple, parts)
    return own, given, leaves


def _like(tensor, grad):
    """A gradient that lies as its tensor does."""
    return tensor._like(grad) if hasattr(tensor, "_local_tensor") else grad


def _run_backward(*call):
    """Run a pass, and know meanwhile what it is for."""
    outer = getattr(_pass, "chosen", False)
    _pass.chosen = bool(call[4])
    try:
        return _run_pass(*call)
    finally:
        _pass.chosen = outer


def _run_pass(*call):
    """The core's function, or the one that also knows sparse tensors."""
    if not _C._sparse_exists():
        return _C._run_backward(*call)
    from ember.sparse._engine import run_backward

    return run_backward(*call)


def _run_grad(outputs, inputs, given, retain_graph, create_graph, allow_unused):
    if vmaps:
        from ember.func._functions import grad

        return grad(outputs, inputs, given, retain_graph, create_graph, allow_unused)
    options = (retain_graph, create_graph, inputs, allow_unused, False)
    return _run_backward(outputs, given, *options)


def _batched_grad(outputs, inputs, given, retain_graph, create_graph, allow_unused):
    """One pass for each entry of the leading axis of the given gradients."""
    if any(g is None for g in given):
        raise RuntimeError("grad(): is_grads_batched=True needs grad_outputs")
    for i, (g, o) in enumerate(zip(given, outputs)):
        shape = getattr(o, "shape", None)
        if shape is not None and g.shape[1:] != shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each "
                "grad_output as the batch dimension. The sizes of the remaining "
                "dimensions are expected to match the shape of corresponding output, "
                f"but a mismatch was detected: grad_output[{i}] has a shape of "
                f"{g.shape} and output[{i}] has a shape of {shape}. If you only want "
                "some tensors in `grad_output` to be considered batched, consider "
                "using vmap."
            )
    size = given[0].shape[0]
    rows = []
    for i in range(size):
        grads = tuple(g[i] for g in given)
        keep = retain_graph or i + 1 < size
        rows.append(_run_grad(outputs, inputs, grads, keep, create_graph, allow_unused))
    return tuple(
        None if column[0] is None else ember.stack(column)
        for column in zip(*rows, strict=True)
    )


def _values(inputs):
    """The tensors of a dict of them."""
    if not isinstance(inputs, dict):
        return inputs
    if type(inputs) is not dict:
        kind = type(inputs).__name__
        raise TypeError(f"`inputs` with names must be a dict, got {kind}")
    return tuple(inputs.values())


def _tuple(value) -> tuple:
    """A tensor or an edge as a tuple of one, any other sequence as a tuple."""
    if isinstance(value, (_C.Tensor, GradientEdge)):
        return (value,)
    return tuple(value)


def _grads_tuple(grads, count: int) -> tuple:
    if grads is None:
        return (None,) * count
    grads = (grads,) if isinstance(grads, _C.Tensor) else tuple(grads)
    if len(grads) != count:
        raise RuntimeError(f"got {count} tensors and {len(grads)} gradients")
    return grads


_OF_PROFILER = (
    "ProfilerActivity",
    "ProfilerConfig",
    "ProfilerState",
    "kineto_available",
)


if not TYPE_CHECKING:  # a checker reports what is not here

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _OF_PROFILER:
            return getattr(import_module("ember.profiler"), name)
        return _lazy.missing(__name__)(name)


__all__ = [
    "Function",
    "GradientEdge",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_multithreading_enabled",
    "is_view_replay_enabled",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]
