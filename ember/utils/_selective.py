"""Which ops of a checkpointed function keep their results: selective checkpointing.

The first run stores the results of chosen ops, and lets these ops keep what their own
gradients need; the second run takes the results from there instead of computing them.
"""

from __future__ import annotations

import enum
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

from ember import Tensor
from ember.autograd.graph import saved_tensors_hooks
from ember.overrides import TorchFunctionMode


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
SAC_IGNORED_OPS = {Tensor.detach, Tensor.size, Tensor.dim, Tensor.numel, Tensor.stride}


class SelectiveCheckpointContext:
    """Tells a policy whether this is the first run or a later one."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


class _Store:
    """Results by op, in the order of their calls."""

    def __init__(self, policy: Callable[..., CheckpointPolicy]) -> None:
        self.policy = policy
        self.results: dict[Any, deque] = defaultdict(deque)

    def saves(self, again: bool, func: Callable, args: tuple, kwargs: dict) -> bool:
        if func in SAC_IGNORED_OPS:
            return False
        context = SelectiveCheckpointContext(is_recompute=again)
        return self.policy(context, func, *args, **kwargs) in _SAVES


def _detached(result: Any) -> Any:
    """A copy without history that is recorded from here on as the original was."""
    if isinstance(result, Tensor):
        return result.detach().requires_grad_(result.requires_grad)
    if isinstance(result, list | tuple):
        return type(result)(_detached(part) for part in result)
    return result


class _FirstRun(TorchFunctionMode):
    def __init__(self, store: _Store) -> None:
        super().__init__()
        self.store = store

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not self.store.saves(False, func, args, kwargs):
            return func(*args, **kwargs)
        with saved_tensors_hooks(lambda t: t, lambda t: t):
            result = func(*args, **kwargs)
        self.store.results[func].append(_detached(result))
        return result


class _LaterRun(TorchFunctionMode):
    def __init__(self, store: _Store) -> None:
        super().__init__()
        self.store = store

    def __enter__(self):
        # Several backward passes may each need a run of their own.
        self.waiting = {func: deque(kept) for func, kept in self.store.results.items()}
        return super().__enter__()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not self.store.saves(True, func, args, kwargs):
            return func(*args, **kwargs)
        waiting = self.waiting.get(func)
        if not waiting:
            name = getattr(func, "__name__", func)
            raise RuntimeError(
                f"selective checkpoint: {name} ran more often than in the first run"
            )
        return _detached(waiting.popleft())


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., CheckpointPolicy] | Sequence,
    allow_cache_entry_mutation: bool = False,
) -> tuple[TorchFunctionMode, TorchFunctionMode]:
    """Contexts for `checkpoint(context_fn=...)` in which some ops keep their results.

    Give a list of ops that do, or a function of (context, op, *args, **kwargs) that
    returns a `CheckpointPolicy`.

    >>> import ember
    >>> from functools import partial
    >>> from ember.utils.checkpoint import checkpoint
    >>> from ember.utils.checkpoint import create_selective_checkpoint_contexts
    >>> def block(x):
    ...     return ember.mm(x, x).sigmoid().sum()
    >>> keep = partial(create_selective_checkpoint_contexts, [ember.mm])
    >>> x = ember.ones(2, 2, requires_grad=True)
    >>> checkpoint(block, x, use_reentrant=False, context_fn=keep).backward()
    >>> x.grad.shape
    torch.Size([2, 2])
    """
    if callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        chosen = list(policy_fn_or_list)
        for op in chosen:
            if not callable(op):
                raise TypeError(
                    "create_selective_checkpoint_contexts(): expected ops, got "
                    f"{type(op).__name__}"
                )

        def policy(context, op, *args, **kwargs):
            if op in chosen:
                return CheckpointPolicy.MUST_SAVE
            return CheckpointPolicy.PREFER_RECOMPUTE

    store = _Store(policy)
    return _FirstRun(store), _LaterRun(store)
