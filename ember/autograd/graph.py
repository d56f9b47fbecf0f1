"""Looking at and hooking into the recorded graph: hooks on saved tensors, gradient
edges and hooks that wait for several gradients.

The graph itself (nodes, engine) is in the core.
"""

import threading
from collections import namedtuple
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import ember
from ember import _C, Tensor, _lazy

if TYPE_CHECKING:
    from ember.autograd._mutation import AllowMutation

Node = _C.Node


class GradientEdge(namedtuple("GradientEdge", "node output_nr")):
    """One output of a node: what a gradient with respect to a tensor flows into."""

    __slots__ = ()


def get_gradient_edge(tensor: "ember.Tensor") -> GradientEdge:
    """The edge that `tensor`'s gradient arrives at.

    >>> import ember
    >>> x = ember.ones(2, requires_grad=True)
    >>> ember.autograd.graph.get_gradient_edge(x * 2).output_nr
    0
    """
    return GradientEdge(*_C._gradient_edge(tensor))


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Mark tensors as changed in place, as a write from outside would."""
    tensors = (tensor,) if isinstance(tensor, ember.Tensor) else tensor
    for t in tensors:
        _C._increment_version(t)


class saved_tensors_hooks:
    """Every tensor saved for backward inside is packed, and unpacked when needed.

    >>> import ember
    >>> x = ember.tensor([2.0], requires_grad=True)
    >>> packed = []
    >>> def pack(t):
    ...     packed.append(t)
    ...     return len(packed) - 1
    >>> with ember.autograd.graph.saved_tensors_hooks(pack, lambda i: packed[i]):
    ...     y = x.exp()
    >>> y.backward()
    >>> len(packed)
    1
    """

    def __init__(self, pack_hook: Callable, unpack_hook: Callable) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> None:
        _C._push_saved_tensors_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc: object) -> None:
        _C._pop_saved_tensors_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Tensors saved inside are kept on the CPU and go back to their device for use."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor):
            return tensor.device, tensor.cpu()

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


def allow_mutation_on_saved_tensors() -> "AllowMutation":
    """Inside, what backward needs may be changed in place: it uses the values of then.

    Saved tensors are copied before they change; backward has to run inside, too.

    >>> import ember
    >>> with ember.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = ember.tensor([2.0], requires_grad=True)
    ...     b = a.clone()
    ...     out = (b**2).sum()
    ...     _ = b.sin_()
    ...     out.backward()
    >>> a.grad
    tensor([4.])
    """
    from ember.autograd._mutation import AllowMutation

    return AllowMutation()


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Inside, setting saved-tensor hooks raises `error_message`."""
    previous = _C._saved_tensors_hooks_get_disabled_error_message()
    _C._saved_tensors_hooks_disable(error_message)
    try:
        yield
    finally:
        if previous is None:
            _C._saved_tensors_hooks_enable()
        else:
            _C._saved_tensors_hooks_disable(previous)


class _MultiHandle:
    """Removes several hooks at once."""

    def __init__(self, handles: Any) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> "_MultiHandle":
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence["ember.Tensor"], fn: Callable, *, mode: str = "all"
) -> _MultiHandle:
    """Call `fn` once a backward pass has the gradients of all `tensors` (or of any).

    With mode "all", `fn` gets a list with None for tensors that this pass does not
    reach; with "any", it gets the first gradient.

    >>> import ember
    >>> a, b = (ember.ones(1, requires_grad=True) for _ in range(2))
    >>> handle = ember.autograd.graph.register_multi_grad_hook(
    ...     [a, b], lambda grads: print(len(grads)))
    >>> (a * b).backward()
    2
    >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    lock = threading.Lock()
    if mode == "any":
        return _register_any(tensors, fn, lock)

    nodes = [_C._gradient_edge(t)[0] for t in tensors]
    passes: dict[int, list] = {}  # graph task -> [gradients, count, number expected]

    def hook_of(index):
        def hook(grad):
            task = _C._current_graph_task_id()
            with lock:
                if task not in passes:
                    expected = sum(map(_C._will_engine_execute_node, nodes))
                    passes[task] = [[None] * len(tensors), 0, expected]
                state = passes[task]
                state[0][index] = grad
                state[1] += 1
                done = state[1] == state[2]
                if done:
                    del passes[task]
            if done:
                fn(state[0])

        return hook

    return _MultiHandle(t.register_hook(hook_of(i)) for i, t in enumerate(tensors))


def _register_any(tensors, fn, lock) -> _MultiHandle:
    seen: set = set()

    def hook(grad):
        task = _C._current_graph_task_id()
        with lock:
            if task in seen:
                return
            seen.clear()
            seen.add(task)
        fn(grad)

    return _MultiHandle(t.register_hook(hook) for t in tensors)


__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


__getattr__ = _lazy.missing(__name__)
