"""`ember.library.opcheck`: whether what an operator says of itself is true."""

from collections.abc import Callable, Sequence
from typing import Any

import ember
from ember import Tensor
from ember.library._custom_op import CustomOpDef, _flatten, find

_DEFAULT = ("test_schema", "test_autograd_registration", "test_faketensor")


class OpCheckError(Exception):
    """An operator is not what it says."""


def opcheck(
    op: str | CustomOpDef,
    args: tuple,
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = _DEFAULT,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
) -> dict[str, Any]:
    """Try an operator: its schema, its gradient and what it makes of `meta` tensors.

    - "test_schema": it changes only what its schema says, and its results are new;
    - "test_autograd_registration": its gradients have the shapes of the inputs;
    - "test_faketensor": results on `meta` are as those of the real kernel.

    Gradients are compared with nothing: that is what `autograd.gradcheck` is for.

    >>> import ember
    >>> @ember.library.custom_op("docs::negated", mutates_args=())
    ... def negated(x: ember.Tensor) -> ember.Tensor:
    ...     return -x
    >>> ember.library.opcheck(negated, (ember.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    wanted = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    if not set(wanted) <= set(_TESTS):
        raise ValueError(
            f"opcheck(op, ..., test_utils={wanted}), expected test_utils to be subset "
            f"of {tuple(_TESTS)} but it was not"
        )
    found: dict[str, Any] = {}
    tried = find(op)
    for name in wanted:
        try:
            _TESTS[name](tried, args, kwargs or {})
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(
                    f"opcheck(op, ...): {name} failed with {error}"
                ) from error
            found[name] = error
    return found


def _mapped(function: Callable, value: Any) -> Any:
    if isinstance(value, Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(function, v) for v in value)
    return value


def _call(op: CustomOpDef, function: Callable, args: tuple, kwargs: dict) -> tuple:
    """The values of a call with tensors mapped, and the results as a list."""
    values = [_mapped(function, v) for v in op._bind(args, kwargs)]
    positional, by_name = op._split(values)
    result = op(*positional, **by_name)
    return values, list(result) if isinstance(result, (list, tuple)) else [result]


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _test_schema(op: CustomOpDef, args: tuple, kwargs: dict) -> None:
    before = op._bind(args, kwargs)
    with ember.no_grad():
        after, _ = _call(op, _copy, args, kwargs)
    for parameter, old, new in zip(op._parameters, before, after):
        pairs = zip(_flatten([old])[0], _flatten([new])[0])
        same = all(
            ember.equal(a, b) or bool(((a == b) | (a.isnan() & b.isnan())).all())
            for a, b in pairs
            if isinstance(a, Tensor)
        )
        if not same and not parameter.mutated:
            raise RuntimeError(
                f"Argument {parameter.name} is not defined as mutable but was mutated"
            )


def _test_gradient(op: CustomOpDef, args: tuple, kwargs: dict) -> None:
    if op._backward is None:
        return
    values, results = _call(op, _copy, args, kwargs)
    inputs = [
        v for v in _flatten(values)[0] if isinstance(v, Tensor) and v.requires_grad
    ]
    outputs = [r for r in results if isinstance(r, Tensor) and r.requires_grad]
    if not inputs or not outputs:
        return
    ones = [ember.ones_like(r) for r in outputs]
    ember.autograd.grad(outputs, inputs, ones, allow_unused=True)


def _test_fake(op: CustomOpDef, args: tuple, kwargs: dict) -> None:
    with ember.no_grad():
        _, real = _call(op, _copy, args, kwargs)
        _, fake = _call(op, lambda t: t.detach().to("meta"), args, kwargs)
    if len(real) != len(fake):
        raise RuntimeError(
            f"{op._qualname} gives {len(real)} results, on meta {len(fake)}"
        )
    for r, f in zip(real, fake):
        if not isinstance(r, Tensor):
            continue
        for what in ("shape", "dtype"):
            if getattr(r, what) != getattr(f, what, None):
                raise RuntimeError(
                    f"{op._qualname} gives a tensor of {what} {getattr(r, what)}, but "
                    f"on meta of {getattr(f, what, None)}"
                )


_TESTS: dict[str, Callable] = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_gradient,
    "test_faketensor": _test_fake,
}
