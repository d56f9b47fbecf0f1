"""Dual numbers: tensors with a direction, which ops carry along.

The direction of a result is computed when it is asked for, by differentiating the
backward pass (Note [Derivatives of functions], ember/func/_grad.py); so every op with a
second derivative takes part, and a tensor keeps its history while the level is entered:
also inside of `no_grad`. A custom Function with a `jvp` is asked for it.

>>> import ember
>>> from ember.autograd import forward_ad
>>> with forward_ad.dual_level():
...     x = forward_ad.make_dual(ember.tensor([1.0, 2.0]), ember.ones(2))
...     forward_ad.unpack_dual(x * x).tangent
tensor([2., 4.])
"""

from typing import Any, NamedTuple

import ember
from ember import Tensor
from ember.autograd.function import Function
from ember.autograd.grad_mode import dual_levels
from ember.func._batched import highest
from ember.func._batched_grad import run_grad
from ember.func._grad import fresh


class _Direction(NamedTuple):
    """A tensor that was given a direction: the tensor, its node then, what its history
    begins with, and the direction."""

    dual: Tensor
    node: object
    start: Tensor
    tangent: Tensor

    def still_of(self, tensor: Tensor) -> bool:
        """Whether this is the tensor's direction: it was not changed in place since."""
        return self.dual is tensor and tensor.grad_fn is self.node


_levels: list[list[_Direction]] = dual_levels


class UnpackedDualTensor(NamedTuple):
    """A tensor and its direction, None if it has none."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Enter a level, in which tensors can be made dual."""
    if _levels:
        raise RuntimeError(
            "Nested forward mode AD is not supported at the moment; use ember.func.jvp"
        )
    _levels.append([])
    return len(_levels) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the level; its directions are forgotten."""
    if not _levels or (level is not None and level != len(_levels) - 1):
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was "
            "created. This is not supported."
        )
    _levels.pop()


class dual_level:
    """A context in which tensors can be made dual."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: Any) -> None:
        exit_dual_level()


class _SameMemory(Function):
    """A tensor of the same memory that is no view, so that it can change in place."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad

    @staticmethod
    def vmap(info: Any, in_dims: tuple, x: Tensor) -> tuple[Tensor, int]:
        return _SameMemory.apply(x), in_dims[0]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """`tensor` with a direction."""
    if not _levels:
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make "
            "sure to enter_dual_level() first."
        )
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(
            f"Expected primal to be floating point or complex, but got: {tensor.dtype}"
        )
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(
            "Expected tangent to be floating point or complex, but got: "
            f"{tangent.dtype}"
        )
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of "
            "the original Tensor, this is not supported. Tensor is of size "
            f"{list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    if any(d.dual is tangent for d in _levels[-1]):
        raise RuntimeError(
            "Trying to set a forward gradient that has a forward gradient at the same "
            "level, this is not supported."
        )
    with ember.enable_grad():
        start = fresh(tensor)
        dual = _SameMemory.apply(start)  # no leaf: see grad_mode.dual_levels
    _levels[-1].append(_Direction(dual, dual.grad_fn, start, tangent))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor and the direction that ops gave it."""
    if not _levels:
        return UnpackedDualTensor(tensor, None)
    for known in _levels[-1]:
        if known.still_of(tensor):
            return UnpackedDualTensor(tensor.detach(), known.tangent)
    if not tensor.requires_grad or not _levels[-1]:
        return UnpackedDualTensor(tensor, None)
    inputs = [d.start for d in _levels[-1]]
    with ember.enable_grad():
        probe = fresh(ember.zeros_like(tensor))
        pulled = run_grad([tensor], inputs, [probe], True, True)
    pairs = [
        (p, d.tangent)
        for p, d in zip(pulled, _levels[-1])
        if p is not None and p.requires_grad
    ]
    if not pairs:
        zero = ember.zeros_like(tensor.detach()) if _reaches(tensor, inputs) else None
        return UnpackedDualTensor(tensor.detach(), zero)
    given = [p for p, _ in pairs], [probe], [t for _, t in pairs]
    (tangent,) = run_grad(*given, False, True)
    return UnpackedDualTensor(tensor.detach(), tangent)


def _reaches(tensor: Tensor, starts: list[Tensor]) -> bool:
    """Whether a tensor was made of one of these, if only by ops of derivative 0."""
    nodes, seen = [tensor.grad_fn], set()
    while nodes:
        node = nodes.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if any(leaf is s or node is s.grad_fn for s in starts):
            return True
        nodes += [following for following, _ in node.next_functions]
    return False


class _ForwardContext:
    """The context of a Function as its `jvp` sees it."""

    def __init__(self, ctx: Any) -> None:
        self._ctx = ctx

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)

    @property
    def saved_tensors(self) -> tuple:
        kept = self._ctx.saved_for_forward
        return () if kept is None else kept


def apply_dual(cls: Any, args: tuple) -> Any:
    """`cls.apply(*args)` with directions by `cls.jvp`; None if no argument has one."""
    tangents = [unpack_dual(x).tangent if isinstance(x, Tensor) else None for x in args]
    if all(t is None for t in tangents):
        return None
    if highest(args):
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but a Function with a jvp takes "
            "no directions inside of vmap: use ember.func.jvp"
        )
    result = ember._C._function_apply(cls, args)
    results = result if isinstance(result, tuple) else (result,)
    nodes = [r.grad_fn for r in results if isinstance(r, Tensor) and r.grad_fn]
    if not nodes:
        return result
    wanted = [
        ember.zeros_like(x.detach()) if t is None and _can_move(x) else t
        for x, t in zip(args, tangents)
    ]
    versions = [t._version if isinstance(t, Tensor) else 0 for t in wanted]
    with ember.no_grad():
        moved = cls.jvp(_ForwardContext(nodes[0]), *wanted)
    moved = moved if isinstance(moved, tuple) else (moved,)
    for r, t in zip(results, moved):
        _check_moved(r, t, args, wanted, versions)
    # Cut from their history, which would give the same directions once more.
    made = tuple(r if t is None else _moved(r, t, args) for r, t in zip(results, moved))
    return made if isinstance(result, tuple) else made[0]


def _can_move(x: object) -> bool:
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def _check_moved(
    result, tangent: Tensor | None, args: tuple, given: list, versions: list
) -> None:
    """A result that shares memory with an argument needs a direction that shares it
    with the argument's: else one of them would not see what changes the other."""
    if tangent is None:
        return
    if isinstance(result, Tensor) and not result.requires_grad:
        raise RuntimeError(
            "A custom Function returned a forward gradient for an output that is not "
            "differentiable. You should return None at that position instead."
        )
    for arg, before, version in zip(args, given, versions):
        if result is arg:
            if tangent is before and before._version != version:
                return
            raise RuntimeError(
                "An inplace custom Function is not modifying the forward mode "
                "gradients inplace. If the forward is modifying an input inplace, then "
                "the jvp function must modify the corresponding gradient inplace."
            )
        if not isinstance(arg, Tensor) or not result._is_view():
            continue
        if result._base is not (arg if arg._base is None else arg._base):
            continue
        if not tangent._is_view():
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) "
                "but the jvp is not returning a view."
            )
        if tangent._base is not (before if before._base is None else before._base):
            which = "given grad input" if arg._base is None else "same base as it"
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) "
                f"but the jvp is not returning a view of the {which}."
            )
        return


def _moved(result: Tensor, tangent: Tensor, args: tuple) -> Tensor:
    """A result with its direction; an argument that was changed stays what it is."""
    if not any(result is a for a in args):
        return make_dual(result.detach(), tangent)
    pairs = _levels[-1]
    pairs[:] = [p for p in pairs if p.dual is not result]
    pairs.append(_Direction(result, result.grad_fn, result, tangent))
    return result


def __getattr__(name: str) -> int:
    if name == "_current_level":  # -1 outside of all; libraries ask for it
        return len(_levels) - 1
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
