"""Calls of a module with other parameters and buffers than its own."""

from contextlib import contextmanager
from typing import Any

from ember import Tensor
from ember.nn.modules.module import Module


def functional_call(
    module: Module,
    parameters_and_buffers: dict[str, Tensor],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
):
    """The older name of `ember.func.functional_call`."""
    import warnings

    warnings.warn(
        "This API is deprecated as of PyTorch 2.0 and will be removed in a future "
        "version of PyTorch. Please use torch.func.functional_call instead which is a "
        "drop-in replacement for this API.",
        FutureWarning,
        stacklevel=2,
    )
    given = (module, parameters_and_buffers, args, kwargs)
    return call_with(*given, tie_weights=tie_weights, strict=strict)


def call_with(
    module: Module, tensors: dict, args, kwargs, *, tie_weights=True, strict=False
):
    """Call `module` with `tensors` in place of those of the same names."""
    if args is None:
        args = ()
    elif not isinstance(args, tuple):
        args = (args,)
    with replaced(module, tensors, tie_weights, strict):
        return module(*args, **(kwargs or {}))


@contextmanager
def replaced(module: Module, tensors: dict, tie_weights: bool, strict: bool):
    """The module with `tensors` in it; afterwards with its own again, except that
    buffers that forward assigned are handed back in `tensors`."""
    slots = {name: (table, key) for name, table, key in _slots(module)}
    unknown = [name for name in tensors if name not in slots]
    chosen = {name: value for name, value in tensors.items() if name in slots}
    if strict:
        # Tied names count as given when one of them is.
        given = {id(slots[name][0][slots[name][1]]) for name in chosen}
        missing = [
            name
            for name, (table, key) in slots.items()
            if name not in tensors
            and not (tie_weights and id(table[key]) in given)
            and table[key] is not None
        ]
        problems = []
        if unknown:
            problems.append(f"Unexpected key(s): {', '.join(map(repr, unknown))}.")
        if missing:
            problems.append(f"Missing key(s): {', '.join(map(repr, missing))}.")
        if problems:
            text = "\n\t".join(problems)
            name = type(module).__name__
            raise RuntimeError(f"Error(s) in reparametrizing for {name}:\n\t{text}")
    if tie_weights:
        chosen = _with_ties(chosen, slots, tensors)
    kept = []
    try:
        for name, value in chosen.items():
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"{value} is not an instance of torch.Tensor")
            table, key = slots[name]
            kept.append((name, table, key, table[key]))
            table[key] = value
        yield
    finally:
        for name, table, key, own in reversed(kept):
            if name in tensors:
                tensors[name] = table[key]
            table[key] = own


def _slots(module: Module):
    """(dotted name, table, key) of every parameter and buffer, tied ones each."""
    for prefix, part in module.named_modules(remove_duplicate=False):
        head = f"{prefix}." if prefix else ""
        for table in (part._parameters, part._buffers):
            for key in table:
                yield head + key, table, key


def _with_ties(chosen: dict, slots: dict, tensors: dict) -> dict:
    """`chosen` extended to names that share a tensor with a chosen one."""
    values: dict[int, Any] = {}
    for name, value in chosen.items():
        table, key = slots[name]
        own = id(table[key])
        if values.setdefault(own, value) is not value:
            tied = [n for n, (t, k) in slots.items() if id(t[k]) == own]
            raise ValueError(
                "functional_call got multiple values for keys "
                f"{sorted(n for n in tied if n in tensors)}, which are tied. Consider "
                "using tie_weights=False"
            )
    extended = dict(chosen)
    for name, (table, key) in slots.items():
        if name not in extended and table[key] is not None and id(table[key]) in values:
            extended[name] = values[id(table[key])]
    return extended
