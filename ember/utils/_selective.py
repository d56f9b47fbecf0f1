"""Which ops of a checkpointed function keep their results: selective checkpointing.

The first run stores the results of chosen ops, and lets these ops keep what their own
gradients need; the second run takes the results from there instead of computing them.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

import ember
from ember import Tensor
from ember.autograd.function import Function
from ember.autograd.graph import saved_tensors_hooks
from ember.utils._pytree import tree_map

TorchDispatchMode: Any = import_module("ember.utils._python_dispatch").TorchDispatchMode


class CheckpointPolicy(enum.Enum):
    """What to do with the result of an op. PREFER_ and MUST_ mean the same here, and
    results are offloaded to where they are."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


_SAVES = (
    CheckpointPolicy.MUST_SAVE,
    CheckpointPolicy.PREFER_SAVE,
    CheckpointPolicy.MUST_CPU_OFFLOAD,
    CheckpointPolicy.PREFER_CPU_OFFLOAD,
)

# Ops that are not worth a question.
SAC_IGNORED_OPS = {ember.ops.aten.detach, ember.ops.aten.prelu}
_IGNORED = frozenset("detach size dim numel stride item _local_scalar_dense".split())
# What PyTorch's policies know ops by that are one op here and several there.
_THERE = {
    "linear": ("addmm", "mm"),
    "matmul": ("mm", "bmm"),
    "conv1d": ("convolution",),
    "conv2d": ("convolution",),
    "conv3d": ("convolution",),
    "conv_transpose1d": ("convolution",),
    "conv_transpose2d": ("convolution",),
    "conv_transpose3d": ("convolution",),
    "scaled_dot_product_attention": (
        "_scaled_dot_product_flash_attention",
        "_scaled_dot_product_efficient_attention",
    ),
}


class SelectiveCheckpointContext:
    """Tells a policy that this is the first run: later ones do as that did."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


def _name(func: Any) -> str:
    return str(getattr(func, "__name__", func)).split(".")[0]


def _names_of(func: Any) -> Iterator[Any]:
    """An op, and what it would be in PyTorch."""
    yield func
    for name in _THERE.get(_name(func), ()):
        other = getattr(ember.ops.aten, name, None)
        if other is not None:
            yield other


class _Entry:
    """A result, and how often it had changed when it was kept."""

    def __init__(self, value: Any) -> None:
        self.val = value
        self.version = value._version if isinstance(value, Tensor) else 0
        self.recorded = isinstance(value, Tensor) and value.requires_grad
        if isinstance(value, Tensor):
            self.val = value.detach()


class _Kept(Function):
    """A kept value as the result of an op, which nothing leads on from: that is in the
    graph of the first run."""

    @staticmethod
    def forward(ctx, leaf: Tensor, entry: _Entry) -> Tensor:
        return entry.val.detach()

    @staticmethod
    def backward(ctx, grad: Tensor) -> tuple:
        return None, None


class _CachingTorchDispatchMode(TorchDispatchMode):
    """The first run."""

    def __init__(self, policy: Callable[..., Any], storage: dict) -> None:
        super().__init__()
        self.policy, self.storage = policy, storage

    def _saves(self, func: Any, args: tuple, kwargs: dict) -> bool:
        context = SelectiveCheckpointContext(is_recompute=False)
        for op in _names_of(func):
            found = self.policy(context, op, *args, **kwargs)
            if found in _SAVES if isinstance(found, CheckpointPolicy) else found:
                return True
        return False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if _name(func) in _IGNORED:
            return func(*args, **kwargs)
        if not self._saves(func, args, kwargs):
            self.storage[func].append(None)
            return func(*args, **kwargs)
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            result = func(*args, **kwargs)
        kept = tree_map(lambda part: _Entry(part), result)
        self.storage[func].append(kept)
        return result


class _CachedTorchDispatchMode(TorchDispatchMode):
    """A later run."""

    def __init__(self, storage: dict, allow_mutation: bool) -> None:
        super().__init__()
        self.storage, self.allow_mutation = storage, allow_mutation

    def __enter__(self):
        # Several backward passes may each need a run of their own.
        self.calls: dict[Any, int] = defaultdict(int)
        return super().__enter__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if _name(func) in _IGNORED:
            return func(*args, **kwargs)
        kept = self.storage.get(func)
        index = self.calls[func]
        self.calls[func] += 1
        if kept is None or index >= len(kept):
            which = "" if kept is None else f"invocation index {index} "
            raise RuntimeError(
                f"selective checkpoint: {func} ran more often than in the first run: "
                f"{which}not found in storage"
            )
        if kept[index] is None:
            return func(*args, **kwargs)
        return tree_map(self._take, kept[index])

    def _take(self, entry: _Entry) -> Any:
        value = entry.val
        if not isinstance(value, Tensor):
            return value
        if value._version != entry.version and not self.allow_mutation:
            raise RuntimeError(
                "selective checkpoint: a tensor whose value was kept has been mutated. "
                "Let its op compute it again, or pass allow_cache_entry_mutation=True"
            )
        if not entry.recorded:
            return value.detach()
        return _Kept.apply(ember.empty(0, requires_grad=True), entry)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., CheckpointPolicy | bool] | Sequence,
    allow_cache_entry_mutation: bool = False,
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """Contexts for `checkpoint(context_fn=...)` in which some ops keep their results.

    Give a list of ops that do, or a function of (context, op, *args, **kwargs) that
    returns a `CheckpointPolicy`. Ops are those of `ops.aten`; where several of
    PyTorch's are one here, as in `linear`, it is asked about by their names, too.

    >>> import ember
    >>> from functools import partial
    >>> from ember.utils.checkpoint import checkpoint
    >>> from ember.utils.checkpoint import create_selective_checkpoint_contexts
    >>> def block(x):
    ...     return ember.mm(x, x).sigmoid().sum()
    >>> products = [ember.ops.aten.mm.default]
    >>> keep = partial(create_selective_checkpoint_contexts, products)
    >>> x = ember.ones(2, 2, requires_grad=True)
    >>> checkpoint(block, x, use_reentrant=False, context_fn=keep).backward()
    >>> x.grad.shape
    torch.Size([2, 2])
    """
    policy: Callable[..., Any]
    if isinstance(policy_fn_or_list, list | tuple | set | frozenset):
        chosen = set()
        for op in policy_fn_or_list:
            if not callable(op):
                raise ValueError(
                    "create_selective_checkpoint_contexts(): Expected op in `op_list` "
                    f"to be an OpOverload but got {type(op).__name__}"
                )
            chosen.add(_name(op))

        def policy(context, op, *args, **kwargs):
            return _name(op) in chosen
    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError(
            "create_selective_checkpoint_contexts(): expected either a function or a "
            f"list of ops, got {type(policy_fn_or_list).__name__}"
        )
    storage: dict[Any, list] = defaultdict(list)
    return (
        _CachingTorchDispatchMode(policy, storage),
        _CachedTorchDispatchMode(storage, allow_cache_entry_mutation),
    )
