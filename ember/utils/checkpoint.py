"""Parts of a model that are computed again in backward, to save memory.

`checkpoint(f, x)` keeps the inputs of `f` only. With `use_reentrant=False` tensors that
ops would save are replaced by placeholders, which run `f` again when they are first
needed; with True, `f` is one node of the graph whose backward runs `f` and its own
backward pass.
"""

from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

import ember
from ember import Tensor, _lazy
from ember._user_line import warn
from ember.autograd.function import Function
from ember.autograd.graph import saved_tensors_hooks
from ember.random import _set_states, _states

if TYPE_CHECKING:  # loaded when they are asked for
    from ember.utils._selective import (
        SAC_IGNORED_OPS as SAC_IGNORED_OPS,
        CheckpointPolicy as CheckpointPolicy,
        SelectiveCheckpointContext as SelectiveCheckpointContext,
        create_selective_checkpoint_contexts as create_selective_checkpoint_contexts,
    )

_early_stop: bool | None = None
_debug: bool | None = None


class CheckpointError(RuntimeError):
    """Running a function again did not give what it gave the first time."""


class DefaultDeviceType:
    """The type of device whose random numbers are kept with those of the CPU."""

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Choose it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type() -> str:
        """The type that is chosen."""
        return DefaultDeviceType._default_device_type


def noop_context_fn() -> Any:
    """Contexts for the first run and for later ones that do nothing."""
    return nullcontext(), nullcontext()


@contextmanager
def set_checkpoint_early_stop(enable: bool) -> Any:
    """Whether a second run ends as soon as all that backward needs is there."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Any:
    """Accepted for PyTorch's sake: errors always say what differed."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def detach_variable(inputs: tuple) -> tuple:
    """Tensors without history, requiring gradients as before."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            + type(inputs).__name__
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x
        for x in inputs
    )


def check_backward_validity(inputs: Any) -> None:
    """Warn if no input requires a gradient: nothing would come back."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warn(
            "None of the inputs have requires_grad=True. Gradients will be None",
        )


def get_device_states(*args: Any) -> tuple[list, list]:
    """Random states of accelerators: there are none beside the CPU's."""
    return [], []


def set_device_states(
    devices: Any, states: Any, *, device_type: str | None = None
) -> None:
    """The opposite of `get_device_states`."""


class _Surroundings:
    """Random state and autocast of the first run, for the later ones."""

    def __init__(self, preserve_rng_state: bool) -> None:
        self.random = _states() if preserve_rng_state else None
        self.autocast = None
        import sys

        amp = sys.modules.get("ember.amp.autocast_mode")
        if amp is not None:  # else nobody can have switched it on
            enabled = amp.is_autocast_enabled("cpu")
            self.autocast = (amp, amp.get_autocast_dtype("cpu"), enabled)

    @contextmanager
    def restored(self) -> Any:
        before = _states()
        if self.random is not None:
            _set_states(self.random)
        amp = nullcontext()
        if self.autocast is not None:
            module, dtype, enabled = self.autocast
            amp = module.autocast("cpu", dtype, enabled)
        try:
            with amp:
                yield
        finally:
            if self.random is not None:
                _set_states(before)


class CheckpointFunction(Function):
    """The node of `checkpoint(..., use_reentrant=True)`."""

    @staticmethod
    def forward(
        ctx: Any, run_function: Any, preserve_rng_state: Any, *args: Any
    ) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.surroundings = _Surroundings(preserve_rng_state)
        ctx.inputs = [None if isinstance(a, Tensor) else a for a in args]
        ctx.tensor_indices = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.tensor_indices))
        with ember.no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        if not ember.autograd.is_checkpoint_valid():
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with "
                ".grad() or passing an `inputs` parameter to .backward(). To resolve "
                "this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for i, tensor in zip(ctx.tensor_indices, ctx.saved_tensors):
            inputs[i] = tensor
        detached = detach_variable(tuple(inputs))
        with ctx.surroundings.restored(), ember.enable_grad():
            outputs = ctx.run_function(*detached)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [
            (out, grad)
            for out, grad in zip(outputs, args)
            if isinstance(out, Tensor) and out.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not "
                "necessary"
            )
        ember.autograd.backward([o for o, _ in pairs], [g for _, g in pairs])
        grads = tuple(x.grad if isinstance(x, Tensor) else None for x in detached)
        return (None, None, *grads)


def checkpoint(
    function: Callable,
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args)`, computed again in backward instead of kept.

    >>> import ember
    >>> from ember.utils.checkpoint import checkpoint
    >>> x = ember.tensor([2.0], requires_grad=True)
    >>> checkpoint(lambda x: (x * x).exp(), x, use_reentrant=False).backward()
    >>> x.grad
    tensor([218.3926])
    """
    if use_reentrant is None:
        warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed "
            "explicitly. use_reentrant=False is recommended, but if you need to "
            "preserve the current default behavior, you can pass use_reentrant=True.",
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if not use_reentrant:
        frame = _Frame(function, args, kwargs, context_fn, determinism_check)
        frame.early_stop = early_stop if _early_stop is None else _early_stop
        return frame.run(preserve)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if context_fn is not noop_context_fn or debug:
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when "
            "use_reentrant=False."
        )
    return CheckpointFunction.apply(function, preserve, *args)


class GraphExecGroup:
    """Backward passes inside run each checkpointed function again at most once.

    So they must be of different parts of the graph: none may need what another has
    used. Only checkpoints with `use_reentrant=False` take part.

    >>> import ember
    >>> from ember.utils.checkpoint import GraphExecGroup, checkpoint
    >>> x = ember.ones(2, requires_grad=True)
    >>> a, b = checkpoint(lambda x: (x.exp(), x.sin()), x, use_reentrant=False)
    >>> with GraphExecGroup():
    ...     a.sum().backward(retain_graph=True)
    ...     b.sum().backward()
    """

    _current: "GraphExecGroup | None" = None

    def __init__(self) -> None:
        self._used: WeakKeyDictionary[_Frame, set[int]] = WeakKeyDictionary()

    def __enter__(self) -> "GraphExecGroup":
        if GraphExecGroup._current is not None:
            raise RuntimeError(
                "GraphExecGroup contexts cannot be nested. Already inside group "
                f"{GraphExecGroup._current}"
            )
        GraphExecGroup._current = self
        return self

    def __exit__(self, *error: Any) -> None:
        GraphExecGroup._current = None

    @classmethod
    def _get_current_group(cls) -> "GraphExecGroup | None":
        return GraphExecGroup._current

    def _use(self, frame: "_Frame", index: int) -> None:
        """Take note of a value that is given out, or raise."""
        used = self._used.setdefault(frame, set())
        if index in used:
            raise CheckpointError(
                "torch.utils.checkpoint: a saved tensor is needed that a backward pass "
                "has already used. Within one GraphExecGroup backward passes must not "
                "overlap; use another group for each of them."
            )
        used.add(index)


class _Holder:
    """What the graph keeps in place of a saved tensor."""

    __slots__ = ("__weakref__", "index")

    def __init__(self, index: int) -> None:
        self.index = index


class _Stop(Exception):
    """All tensors that were asked for are there."""


class _Frame:
    """One checkpointed call: how to run it again, and what that gave."""

    def __init__(
        self,
        function: Any,
        args: Any,
        kwargs: Any,
        context_fn: Any,
        determinism_check: Any,
    ) -> None:
        if determinism_check not in ("default", "none"):
            raise ValueError(
                "determinism_check should be one of ['default', 'none'], but got "
                f"{determinism_check}"
            )
        self.function, self.args, self.kwargs = function, args, kwargs
        self.first, self.again = context_fn()
        self.checked = determinism_check == "default"
        self.holders: list = []  # weak references
        self.kinds: list = []
        self.values: dict[int, Tensor] = {}
        # What the node that runs (a pass, a number) has been given: its rules may ask
        # for a tensor several times.
        self.given: dict[int, Tensor] = {}
        self.asking: tuple[int, int] | None = None
        self.early_stop = True

    def run(self, preserve: bool) -> Any:
        if not ember.is_grad_enabled():
            return self.function(*self.args, **self.kwargs)
        self.surroundings = _Surroundings(preserve)
        with saved_tensors_hooks(self.pack, self.unpack), self.first:
            return self.function(*self.args, **self.kwargs)
        raise RuntimeError(
            "torch.utils.checkpoint: a context manager of context_fn suppressed an "
            "exception of the function, which therefore has no result"
        )

    def pack(self, tensor: Tensor) -> _Holder:
        holder = _Holder(len(self.kinds))
        self.holders.append(ref(holder))
        self.kinds.append(_kind(tensor))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        index, task = holder.index, ember._C._current_graph_task_id()
        node = ember._C._current_autograd_node() if task >= 0 else None
        if node is not None:
            asking = (task, node._sequence_nr())
            if asking == self.asking and index in self.given:
                return self.given[index]
            if self.asking is None or self.asking[0] != task:
                ember._C._queue_callback(self.forget)
            if asking != self.asking:
                self.asking, self.given = asking, {}
        if GraphExecGroup._current is not None:
            GraphExecGroup._current._use(self, index)
        if index not in self.values:
            self.recompute()
        # Dropped after the node: another backward pass computes it again.
        value = self.values.pop(index)
        if node is not None:
            self.given[index] = value
        return value

    def forget(self) -> None:
        """At the end of a pass."""
        self.asking, self.given = None, {}

    def recompute(self) -> None:
        found: list = []
        wanted = [i for i, weak in enumerate(self.holders) if weak() is not None]
        last = wanted[-1]

        def pack(tensor: Tensor):
            i = len(found)
            found.append(_kind(tensor))
            if i < len(self.holders) and self.holders[i]() is not None:
                self.values[i] = tensor.detach()
            if self.early_stop and i == last:
                raise _Stop
            return tensor

        hooks = saved_tensors_hooks(pack, lambda tensor: tensor)
        with self.surroundings.restored(), ember.enable_grad(), hooks, self.again:
            try:
                self.function(*self.args, **self.kwargs)
            except _Stop:
                pass
        self.check(found)

    def check(self, found: list) -> None:
        count = len(self.kinds)
        missing = any(weak() for weak in self.holders[len(found) :])
        if len(found) > count and not self.early_stop:
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during "
                f"recomputation than during the original forward pass, {len(found)} "
                f"instead of {count}."
            )
        # A run that stopped early may have saved fewer, but all that were asked for.
        if missing or (len(found) != count and not self.early_stop):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during"
                " the original forward and recomputation.\n"
                f"Number of tensors saved during forward: {count}\n"
                f"Number of tensors saved during recomputation: {len(found)}."
            )
        if not self.checked:
            return
        for i, (old, new) in enumerate(zip(self.kinds, found)):
            if old != new:
                raise CheckpointError(
                    "torch.utils.checkpoint: Recomputed values for the following "
                    "tensors have different metadata than during the forward pass.\n"
                    f"tensor at position {i}:\nsaved metadata: {old}\n"
                    f"recomputed metadata: {new}"
                )


def _kind(tensor: Tensor) -> dict:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Tensor,
    use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:
    """A sequence of modules in segments, each but the last checkpointed.

    >>> import ember
    >>> model = ember.nn.Sequential(ember.nn.Linear(2, 2), ember.nn.Linear(2, 2))
    >>> run = ember.utils.checkpoint.checkpoint_sequential
    >>> run(model, 2, ember.ones(1, 2), use_reentrant=False).shape
    torch.Size([1, 2])
    """
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if isinstance(functions, ember.nn.Sequential):
        functions = list(functions.children())

    def piece(start: int, stop: int) -> Callable:
        def run(value):
            for function in functions[start:stop]:
                value = function(value)
            return value

        return run

    size = len(functions) // segments
    starts = range(0, size * (segments - 1), size) if size else ()
    options = {"use_reentrant": use_reentrant, "preserve_rng_state": preserve}
    for start in starts:
        input = checkpoint(piece(start, start + size), input, **options)
    return piece(size * (segments - 1), len(functions))(input)


_SELECTIVE = """
    SAC_IGNORED_OPS CheckpointPolicy SelectiveCheckpointContext
    create_selective_checkpoint_contexts _CachedTorchDispatchMode
    _CachingTorchDispatchMode
""".split()


def __getattr__(name: str) -> Any:
    if name in _SELECTIVE:  # with all that dispatch needs
        from ember.utils import _selective

        return getattr(_selective, name)
    return _lazy.missing(__name__)(name)
