"""`__torch_dispatch__`: tensor subclasses and modes that carry out ops themselves.

What nobody took over by `__torch_function__` gets here, if an argument's type or a mode
of this thread defines `__torch_dispatch__`. It is told the op by its name in aten, with
its arguments, and what it returns is the result. A subclass is asked below the tape:
the history of its results is the op's own (Note [Wrappers]), and its gradients come
about by ops that it is asked for again.

>>> import ember
>>> class Doubled(ember.Tensor):
...     @staticmethod
...     def __new__(cls, elem):
...         return ember.Tensor._make_wrapper_subclass(cls, elem.shape)
...     def __init__(self, elem):
...         self.elem = elem
...     @classmethod
...     def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
...         args = [a.elem if isinstance(a, Doubled) else a for a in args]
...         return Doubled(2 * func(*args, **(kwargs or {})))
>>> (Doubled(ember.ones(2)) + 1).elem
tensor([4., 4.])
"""

from __future__ import annotations

import threading
from functools import cache, partial
from typing import Any

import ember
from ember import _C
from ember._C import Tensor
from ember._dispatch import steps, wrappers
from ember._schemas import parse
from ember._traits import SWAPPED, op_named, telling
from ember.utils._pytree import tree_leaves

# Answered by the tensor itself, whatever it stands for: its shape, its history.
_QUESTIONS = telling("size form kind history gradient object") | {
    "untyped_storage",
    "get_device",
}
_DEVICES = telling("place")
_NUMBERS: dict[str, Any] = {
    "__bool__": bool,
    "is_nonzero": bool,
    "__int__": int,
    "__float__": float,
    "__complex__": complex,
    "__index__": int,
    "item": lambda x: x,
}
# Operators whose op has another name.
_OPERATORS = {
    f"__{name}__": op_named(f"__{name}__").__name__
    for name in "floordiv lshift rshift matmul eq ne".split()
}
# Attributes that are ops.
_VIEWS: dict[str, Any] = {
    "T": lambda x: ember.permute(x, tuple(range(x.dim()))[::-1]),
    "mT": lambda x: ember.transpose(x, -2, -1),
    "H": ember.adjoint,
    "mH": ember.adjoint,
    "real": ember.real,
    "imag": ember.imag,
    "data": ember.detach,
}


def _batch_norm(
    input, mean=None, var=None, weight=None, bias=None,
    training=False, momentum=0.1, eps=1e-5,
):  # fmt: skip
    return input, weight, bias, mean, var, training, momentum, eps, True


def _instance_norm(
    input, mean=None, var=None, weight=None, bias=None,
    use_input_stats=True, momentum=0.1, eps=1e-5,
):  # fmt: skip
    return input, weight, bias, mean, var, use_input_stats, momentum, eps, True


# Functions of `nn.functional` whose operator in aten takes its arguments in another
# order, ...
_ARRANGED = {"batch_norm": _batch_norm, "instance_norm": _instance_norm}
# ... and those that have another name there.
_RENAMED = {"nn.functional.unfold": "im2col", "nn.functional.fold": "col2im"}


def call(func: Any, args: tuple, kwargs: dict) -> Any:
    """A call of a function of the core with tensors, or modes, that take over ops."""
    name = func.__name__
    if name in ("__get__", "__set__", "__delete__"):
        return _attribute(func.__self__.__name__, func, args)
    if name == "backward":
        return _backward(*args, **kwargs)
    if name in _QUESTIONS:
        return _bare(func, args, kwargs)
    if name in _NUMBERS:
        return _NUMBERS[name](_run("_local_scalar_dense", Tensor.item, args[:1], {}))
    if name == "tolist":
        return _bare(func, (_readable(args[0]),), kwargs)
    if name in ("__repr__", "__format__"):
        if wrappers.dispatches(type(args[0])):
            return _text(args[0])
        return _bare(func, args, kwargs)
    if name == "__getitem__":
        return steps.getitem(_step, args[0], args[1], "__torch_dispatch__")
    if name == "__setitem__":
        return steps.setitem(_step, args[0], args[1], args[2], "__torch_dispatch__")
    if name in SWAPPED:
        return _run(SWAPPED[name], getattr(ember, SWAPPED[name]), args[::-1], kwargs)
    if name in _OPERATORS:
        return _run(_OPERATORS[name], getattr(ember, _OPERATORS[name]), args, kwargs)
    if not isinstance(func, _C.Op) and hasattr(func, "__wrapped__"):
        return func.__wrapped__(*args, **kwargs)
    name = _aten_name(func)
    place = _place_of_inplace(func)
    if place is not None:  # no argument in aten, but an operator of its own
        if kwargs.pop("inplace", args[place] if len(args) > place else False):
            name, func = f"{name}_", partial(func, inplace=True)
        return _run(name, func, args[:place], kwargs)
    if name in _ARRANGED and func is not getattr(ember, name):
        parts = _ARRANGED[name](*args, **_without_running(kwargs))
        return _run(name, getattr(ember, name), parts, {})
    return _run(name, func, args, kwargs)


@cache
def _place_of_inplace(func: Any) -> int | None:
    """Where an activation of `nn.functional` takes `inplace`."""
    if not isinstance(func, _C.Op):
        return None
    names = [p.name for p in parse(func.schemas[0]).params]
    return names.index("inplace") if "inplace" in names else None


def _without_running(kwargs: dict) -> dict:
    return {name.removeprefix("running_"): value for name, value in kwargs.items()}


def _step(name: str, func: Any, args: tuple) -> Any:
    return _run(name, func, args, {})


def _bare(func: Any, args: tuple, kwargs: dict) -> Any:
    # Gradients and the like are tensors, which are shown as what they stand for.
    before = _C._switch_overrides(True, True)
    inside = _C._switch_dispatch(True, 0)
    try:
        made = func(*args, **kwargs)
    finally:
        _C._switch_dispatch(*inside)
        _C._switch_overrides(*before)
    if type(made) is Tensor and wrappers.cell_of(made) is not None:
        return wrappers.surface(made)
    return made


def _backward(
    tensor: Any, gradient=None, retain_graph=None, create_graph=False, inputs=None
) -> None:
    ember.autograd.backward(tensor, gradient, retain_graph, create_graph, inputs=inputs)


def _attribute(name: str, func: Any, args: tuple) -> Any:
    tensor = args[0]
    cell = wrappers.cell_of(tensor) if name in _DEVICES else None
    if cell is not None:
        return cell.device if name == "device" else f"is_{cell.device.type}" == name
    if name in _VIEWS and func.__name__ == "__get__":
        return _VIEWS[name](tensor)
    return _bare(func, args, {})


def _text(tensor: Any) -> str:
    shape, kind = tuple(tensor.shape), type(tensor).__name__
    return f"{kind}(shape={shape}, dtype={tensor.dtype}, device={tensor.device})"


def _readable(tensor: Any) -> Any:
    if wrappers.dispatches(type(tensor)):
        raise RuntimeError(
            f"tolist() of a {type(tensor).__name__}: only the subclass knows its values"
        )
    return tensor


def _aten_name(func: Any) -> str:
    if isinstance(func, _C.Op):
        from ember.fx._names import op_name

        full = op_name(func)
        if full in _RENAMED:
            return _RENAMED[full]
        name = full.removeprefix("Tensor.").removeprefix("nn.functional.")
        return name.replace(".", "_")
    return func.__name__


def _operator(name: str, func: Any) -> Any:
    try:
        return getattr(ember.ops.aten, name)
    except AttributeError:
        return ember.ops.OpOverloads(name, func)


# --- asking ---------------------------------------------------------------------------


class _Modes(threading.local):
    def __init__(self) -> None:
        self.stack: list = []


_modes = _Modes()


def push_mode(mode: Any) -> None:
    """Let `mode` see the ops of this thread."""
    _modes.stack.append(mode)
    _count()


def pop_mode() -> Any:
    """The innermost mode, which sees no more."""
    mode = _modes.stack.pop()
    _count()
    return mode


def modes() -> list:
    """The modes of this thread, the innermost last."""
    return _modes.stack


def _count() -> None:
    off, _ = _C._switch_dispatch(False, len(_modes.stack))
    _C._switch_dispatch(off, len(_modes.stack))


def _subclasses(args: tuple, kwargs: dict) -> list:
    """One argument of each type that dispatches, subclasses before their bases."""
    found: list = []
    for x in tree_leaves((args, kwargs)):
        kind = type(x)
        if not isinstance(x, Tensor) or kind is Tensor or not wrappers.dispatches(kind):
            continue
        if any(type(y) is kind for y in found):
            continue
        at = [i for i, y in enumerate(found) if issubclass(kind, type(y))]
        found.insert(at[0] if at else len(found), x)
    return found


def _run(name: str, func: Any, args: tuple, kwargs: dict) -> Any:
    """One op: its value from whoever dispatches, its history from the tape."""
    op = _operator(name, func)
    asked = _subclasses(args, kwargs)
    if not asked or not _needs_history(args, kwargs):
        return _ask(op, func, asked, args, kwargs)
    in_place = name.endswith("_") and not name.endswith("__")
    *traced, log = wrappers.record(func, args, kwargs, in_place)
    with ember.no_grad():
        made = _ask(op, func, asked, args, kwargs)
    if in_place:
        made = args[0]
    else:
        made = _with_history(made, traced, args)
    log.settle()
    return made


def _needs_history(args: tuple, kwargs: dict) -> bool:
    if not _C.is_grad_enabled():
        return False
    with wrappers.bare():
        return any(
            isinstance(x, Tensor) and x.requires_grad
            for x in tree_leaves((args, kwargs))
        )


def _with_history(made: Any, traced: list, args: tuple) -> Any:
    """`made` with the history of the only item of `traced`, which goes with it."""
    if isinstance(made, (tuple, list)) and isinstance(traced[0], (tuple, list)):
        parts = list(traced.pop())
        for value in made:
            _with_history(value, [parts.pop(0) if parts else None], args)
        return made
    if any(made is a for a in args):
        return made
    return wrappers.adopt(made, traced, _detached)


def _detached(made: Any) -> Any:
    with ember.no_grad():
        return made.detach()


def _ask(op: Any, func: Any, asked: list, args: tuple, kwargs: dict) -> Any:
    types = tuple(type(x) for x in asked)
    functions = _C._switch_overrides(True, True)
    try:
        if _modes.stack:
            mode = pop_mode()
            try:
                made = mode.__torch_dispatch__(op, types, args, kwargs)
            finally:
                push_mode(mode)
            if made is not NotImplemented:
                return made
        for x in asked:
            made = type(x).__torch_dispatch__(op, types, args, kwargs)
            if made is not NotImplemented:
                return made
    finally:
        _C._switch_overrides(*functions)
    if not asked:
        return _bare(func, args, kwargs)
    names = "".join(f"\n\n  - tensor subclass {kind!r}" for kind in types)
    raise TypeError(
        f"Multiple dispatch failed for '{op}'; all __torch_dispatch__ handlers "
        f"returned NotImplemented:{names}"
    )
