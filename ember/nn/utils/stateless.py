"""Calls of a module with other parameters and buffers than its own."""

from contextlib import contextmanager
from typing import Any

from ember import Tensor, _lazy
from ember.nn.modules.module import Module


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """The older name of `ember.func.functional_call`."""
    import warnings

    warnings.warn(
        "This API is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use `torch.func.functional_call` instead, a "
        "drop-in replacement for this API.",
        FutureWarning,
        stacklevel=2,
    )
    given = (module, parameters_and_buffers, args, kwargs)
    return call_with(*given, tie_weights=tie_weights, strict=strict)


def call_with(
    module: Module,
    tensors: dict,
    args: Any = None,
    kwargs: Any = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call `module` with `tensors` in place of those of the same names."""
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with replaced(module, tensors, tie_weights, strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def replaced(module: Module, tensors: dict, tie_weights: bool, strict: bool) -> Any:
    """The module with `tensors` in it; afterwards with its own again, except that
    buffers that forward assigned are handed back in `tensors`."""
    chosen = tensors
    if tie_weights or strict:
        slots = {name: (table, key) for name, table, key in _slots(module)}
        if strict:
            _check_names(module, tensors, slots, tie_weights)
        if tie_weights:
            chosen = _with_ties(tensors, slots)
    kept = []
    try:
        for name, value in chosen.items():
            path, _, key = name.rpartition(".")
            owner = _part(module, path)
            kept.append((name, owner, key, _swap(owner, key, value)))
        yield
    finally:
        for name, owner, key, own in reversed(kept):
            now = _swap(owner, key, own)
            if name in tensors:
                tensors[name] = now


_NOTHING = object()  # in the place of a member that is not there


def _part(module: Module, path: str) -> Module:
    """The module at a dotted path."""
    for name in path.split(".") if path else ():
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        module = getattr(module, name)
        if not isinstance(module, Module):
            raise TypeError(f"{path}: {module} is not an instance of torch.nn.Module")
    return module


def _swap(owner: Module, key: str, value: Any) -> Any:
    """Put a tensor in the place of a member of a module; what was there."""
    if value is not None and value is not _NOTHING and not isinstance(value, Tensor):
        raise TypeError(f"{value} is not an instance of torch.Tensor")
    for table in (owner._parameters, owner._buffers):
        if key in table:
            own = table[key]
            if value is _NOTHING:
                del table[key]
            else:
                table[key] = value
            return own
    own = getattr(owner, key, _NOTHING)
    if own is not None and own is not _NOTHING and not isinstance(own, Tensor):
        raise TypeError(f"attribute `{key}`: {own} is not an instance of torch.Tensor")
    if value is not _NOTHING:
        setattr(owner, key, value)
    elif own is not _NOTHING:
        delattr(owner, key)
    return own


def _check_names(module: Module, tensors: dict, slots: dict, tied: bool) -> None:
    """Refuse tensors that are too many, or too few for all slots of a module."""
    # Tied names count as given when one of them is.
    given = {id(slots[name][0][slots[name][1]]) for name in tensors if name in slots}
    problems = []
    unknown = sorted(name for name in tensors if name not in slots)
    if unknown:
        problems.append(f"Unexpected key(s): {', '.join(map(repr, unknown))}.")
    missing = sorted(
        name
        for name, (table, key) in slots.items()
        if name not in tensors
        and not (tied and id(table[key]) in given)
        and table[key] is not None
    )
    if missing:
        problems.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
    if problems:
        text = "\n\t".join(problems)
        name = type(module).__name__
        raise RuntimeError(f"Error(s) in reparametrizing for {name}:\n\t{text}")


def _slots(module: Module):
    """(dotted name, table, key) of every parameter and buffer, tied ones each."""
    for prefix, part in module.named_modules(remove_duplicate=False):
        head = f"{prefix}." if prefix else ""
        for table in (part._parameters, part._buffers):
            for key in table:
                yield head + key, table, key


def _with_ties(tensors: dict, slots: dict) -> dict:
    """`tensors` extended to names that share a tensor with one of them."""
    values: dict[int, Any] = {}
    for name, value in tensors.items():
        if name not in slots:
            continue
        table, key = slots[name]
        own = id(table[key])
        if values.setdefault(own, value) is not value:
            tied = [n for n, (t, k) in slots.items() if id(t[k]) == own]
            raise ValueError(
                "functional_call got multiple values for keys "
                f"{sorted(n for n in tied if n in tensors)}, which are tied. Consider "
                "using tie_weights=False"
            )
    extended = dict(tensors)
    for name, (table, key) in slots.items():
        if name not in extended and table[key] is not None and id(table[key]) in values:
            extended[name] = values[id(table[key])]
    return extended


__getattr__ = _lazy.missing(__name__)
