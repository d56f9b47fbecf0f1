"""torch._foreach_*: one function of each tensor of a list, made from a table.

Where the tensors are alike (dense, one floating dtype and device, no gradient wanted)
one loop runs over the elements of all of them (core/cpu/foreach.cpp); others are done
one after another. In-place forms return the list that they changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any, NoReturn

import ember
from ember import _C, Tensor

UNARY = """
    abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10
    log1p log2 neg reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
    """.split()
# name -> what the second argument may be: a number, numbers, tensors, a 0-d tensor,
# tensors (or that tensor) with alpha
BINARY = {
    "add": "scalar scalars other tensor alpha",
    "sub": "scalar scalars other alpha",
    "mul": "scalar scalars other tensor",
    "div": "scalar scalars other tensor",
    "clamp_max": "scalar scalars other",
    "clamp_min": "scalar scalars other",
    "maximum": "scalar scalars other",
    "minimum": "scalar scalars other",
    "pow": "scalar scalars other exponent",
}
TERNARY = ("addcmul", "addcdiv")

_Tensors = Sequence[Tensor]
_Numbers = (int, float, complex)
# A maximum with a number is a bound.
_BOUND = {"maximum": "clamp_min", "minimum": "clamp_max"}


def _is_number(value: Any) -> bool:
    return isinstance(value, (*_Numbers, Number)) or (
        isinstance(value, Tensor) and value.dim() == 0 and not value.requires_grad
    )


def _plain(value: Any) -> Any:
    """`value`; numbers of NumPy and tensors of no dimension as Python's numbers."""
    if isinstance(value, (list, tuple)):
        if any(not isinstance(v, (*_Numbers, Tensor)) for v in value):
            return [_plain(v) for v in value]
        return value
    if isinstance(value, _Numbers) or not _is_number(value):
        return value
    return value.item()


def _wrong(name: str, *args: Any) -> NoReturn:
    kinds = ", ".join(type(a).__name__ for a in args)
    raise TypeError(
        f"{name}() received an invalid combination of arguments - got ({kinds})"
    )


def _listed(name: str, at: int, value: Any) -> _Tensors:
    """`value`, which must be a list or tuple of tensors."""
    if not isinstance(value, (list, tuple)):
        raise TypeError(
            f"{name}(): argument {at} must be a list or tuple of Tensors, "
            f"not {type(value).__name__}"
        )
    for i, t in enumerate(value):
        if not isinstance(t, Tensor):
            raise TypeError(
                f"{name}(): expected Tensor as element {i} in argument {at}, "
                f"but got {type(t).__name__}"
            )
    return value


def _lists(name: str, *lists: Any) -> None:
    for at, value in enumerate(lists):
        _listed(name, at, value)
    if not lists[0]:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in lists[1:]:
        if len(other) != len(lists[0]):
            raise RuntimeError(
                "Tensor lists must have the same number of tensors, "
                f"got {len(lists[0])} and {len(other)}"
            )


def _numbers(self: _Tensors, numbers: Any) -> None:
    if len(numbers) != len(self):
        raise RuntimeError(
            "Tensor list must have same number of elements as scalar list."
        )


def _floats(values: Sequence[Any]) -> list[float] | None:
    """The numbers as the fused loop takes them, if it can."""
    if all(isinstance(v, (int, float)) for v in values):
        try:
            return [float(v) for v in values]
        except OverflowError:
            return None
    return None


def _fused(
    row: str, in_place: bool, self: _Tensors, lists: Sequence[_Tensors], numbers: Any
) -> Sequence[Tensor] | None:
    floats = _floats(numbers)
    if floats is None:
        return None
    second, third = (*lists, (), ())[:2]
    return _C._foreach_fused(row, self, second, third, floats, in_place) or None


def _finish(in_place: bool, self: Any, results: Any) -> Any:
    return self if in_place else tuple(results)


def _one_by_one(function: str, in_place: bool, *columns: Any, **options: Any) -> Any:
    """The method `function` of each tensor of the first column."""
    method = getattr(Tensor, function + "_" * in_place)
    return [method(*row, **options) for row in zip(*columns, strict=True)]


def _unary(name: str, in_place: bool) -> Callable[..., Any]:
    full = f"_foreach_{name}" + "_" * in_place

    def function(self: _Tensors) -> Any:
        _lists(full, self)
        results = _fused(name, in_place, self, (), ())
        if results is None:
            results = _one_by_one(name, in_place, self)
        return _finish(in_place, self, results)

    function.__doc__ = f"`{name}` of each tensor of a list."
    return function


def _split(full: str, self: _Tensors, args: tuple, named: dict, kinds: str) -> tuple:
    """(kind, value) of the argument that is either numbers or tensors."""
    keys = [
        k for k in ("scalar", "scalars", "other", "exponent", "tensor") if k in named
    ]
    values = [*args, *(named[k] for k in keys)]
    unknown = set(named) - set(keys)
    if len(values) != 1 or unknown or any(k not in kinds.split() for k in keys):
        _wrong(full, self, *values, *unknown)
    value = values[0] if isinstance(values[0], Tensor) else _plain(values[0])
    if isinstance(value, Tensor):
        if "tensor" not in kinds.split():
            if value.dim() != 0:
                _wrong(full, self, value)
            return "scalar", value.item()
        if value.dim() != 0:
            raise RuntimeError(
                f"scalar tensor expected to be 0 dim but it has {value.dim()} "
                f"dimensions and {value.numel()} elements."
            )
        return "tensor", value
    if isinstance(value, _Numbers):
        return "scalar", value
    if isinstance(value, (list, tuple)):
        if value and all(isinstance(v, _Numbers) for v in value):
            return "scalars", value
        return "other", _listed(full, 1, value)
    _wrong(full, self, value)


def _binary(name: str, in_place: bool) -> Callable[..., Any]:
    full, kinds = f"_foreach_{name}" + "_" * in_place, BINARY[name]

    def function(self: Any, *args: Any, alpha: Any = None, **named: Any) -> Any:
        if name == "pow" and not in_place and _is_number(self):
            exponents: Any = named.get("exponent", args[0] if args else None)
            _lists(full, exponents)
            return tuple(ember.pow(self, e) for e in exponents)
        _listed(full, 0, self)
        kind, value = _split(full, self, args, named, kinds)
        if alpha is not None and ("alpha" not in kinds or kind.startswith("scalar")):
            _wrong(full, self, value, alpha)
        if not self:
            _lists(full, self)
        count = len(self)
        if kind == "other":
            _lists(full, self, value)
        elif kind == "scalars":
            _numbers(self, value)
        scaled = alpha is not None and alpha != 1
        if name == "add" and kind == "tensor" and not value.requires_grad:
            value = value.item()  # a number: it does not take part in promotion
        method = _BOUND.get(name, name) if kind.startswith("scalar") else name
        # Powers have shortcuts for some exponents, which a loop for all would not take.
        if name != "pow" and kind != "tensor" and not isinstance(value, bool):
            tensors = (value,) if kind == "other" else ()
            numbers = value if kind == "scalars" else (value,) * (kind == "scalar")
            row = method
            if scaled:
                row, numbers = "addcmul", (-alpha if name == "sub" else alpha,)
            results = _fused(row, in_place, self, tensors, numbers)
            if results is not None:
                return _finish(in_place, self, results)
        column = value if kind in ("other", "scalars") else [value] * count
        options = {"alpha": alpha} if scaled else {}
        return _finish(
            in_place, self, _one_by_one(method, in_place, self, column, **options)
        )

    function.__doc__ = f"`{name}` of each tensor of a list and a number or a tensor."
    return function


def _whole(t: Tensor, value: Any) -> Any:
    """As a factor of integers, a number loses what is behind the point."""
    whole = not (t.is_floating_point() or t.is_complex())
    return int(value) if whole and isinstance(value, float) else value


def _ternary(name: str, in_place: bool) -> Callable[..., Any]:
    full = f"_foreach_{name}" + "_" * in_place

    def function(
        self: _Tensors,
        tensor1: _Tensors,
        tensor2: _Tensors,
        scalars: Any = None,
        *,
        value: Any = None,
    ) -> Any:
        if scalars is not None and value is not None:
            _wrong(full, self, tensor1, tensor2, scalars, value)
        by = _plain(1 if value is None else value)
        if scalars is not None:
            by = scalars if isinstance(scalars, Tensor) else _plain(scalars)
        _lists(full, self, tensor1, tensor2)
        if isinstance(by, Tensor):
            if by.dim() != 1:
                raise RuntimeError(
                    "Expected packed scalar Tensor to be of dimension 1. "
                    f"Got {by.dim()} instead."
                )
            if len(by) != len(self):
                raise RuntimeError(
                    f"Expected length of scalars to match input of length {len(self)} "
                    f"but got {len(by)} instead."
                )
            by = by.tolist()
        if isinstance(by, (list, tuple)):
            _numbers(self, by)
            numbers = by
        elif isinstance(by, _Numbers):
            numbers = [by]
        else:
            _wrong(full, self, tensor1, tensor2, by)
        results = _fused(name, in_place, self, (tensor1, tensor2), numbers)
        if results is None:
            method = getattr(Tensor, name + "_" * in_place)
            each = numbers if len(numbers) == len(self) else numbers * len(self)
            rows = zip(self, tensor1, tensor2, each, strict=True)
            results = [method(t, a, b, value=_whole(t, v)) for t, a, b, v in rows]
        return _finish(in_place, self, results)

    function.__doc__ = f"`{name}` of the tensors of three lists."
    return function


def _lerp(in_place: bool) -> Callable[..., Any]:
    full = "_foreach_lerp" + "_" * in_place

    def function(
        self: _Tensors, tensors1: _Tensors, weight: Any = None, *, weights: Any = None
    ) -> Any:
        if (weight is None) == (weights is None):
            _wrong(full, self, tensors1, weight, weights)
        by = _plain(weights if weight is None else weight)
        _lists(full, self, tensors1)
        tensors: tuple = (tensors1,)
        numbers: Any = ()
        if isinstance(by, _Numbers):
            numbers = (by,)
        elif isinstance(by, (list, tuple)) and all(isinstance(w, Tensor) for w in by):
            _lists(full, self, by)
            tensors = (tensors1, by)
        elif isinstance(by, (list, tuple)) and all(isinstance(w, _Numbers) for w in by):
            _numbers(self, by)
            numbers = by
        else:
            _wrong(full, self, tensors1, by)
        results = _fused("lerp", in_place, self, tensors, numbers)
        if results is None:
            column = [by] * len(self) if isinstance(by, _Numbers) else by
            results = _one_by_one("lerp", in_place, self, tensors1, column)
        return _finish(in_place, self, results)

    function.__doc__ = "`lerp` of the tensors of two lists, by numbers or tensors."
    return function


def _order(name: str, ord: Any) -> None:
    if not _is_number(ord):
        raise TypeError(
            f"{name}(): argument 'ord' must be Number, not {type(ord).__name__}"
        )
    if isinstance(ord, complex):
        raise RuntimeError(f"{name}(): expected ord to be a float, got complex")


def _foreach_norm(self: _Tensors, ord: float = 2, dtype: Any = None) -> Any:
    """The norm of each tensor of a list, over all its elements.

    >>> import ember
    >>> ember._foreach_norm([ember.tensor([3.0, 4.0]), ember.ones(4)])
    (tensor(5.), tensor(2.))
    """
    _order("_foreach_norm", ord)
    _lists("_foreach_norm", self)
    if isinstance(ord, bool):
        raise RuntimeError("_foreach_norm(): expected ord to be a float, got bool")
    if ord == float("inf") and any(t.numel() == 0 for t in self):
        raise RuntimeError(
            "_foreach_norm cannot compute the infinity norm on an empty tensor "
            "because the operation does not have an identity"
        )
    return tuple(ember.linalg.vector_norm(t, ord, dtype=dtype) for t in self)


def _foreach_powsum(self: _Tensors, ord: float = 2, dtype: Any = None) -> Any:
    """The sum of the powers of each tensor's absolute values."""
    _order("_foreach_powsum", ord)
    _lists("_foreach_powsum", self)
    for t in self:
        if not (t.is_floating_point() or t.is_complex()):
            raise NotImplementedError(
                f"_foreach_powsum() not implemented for {t.dtype}"
            )
    results = []
    for t in self:
        size = t.abs()
        result = dtype or size.dtype
        if size.dtype in (ember.float16, ember.bfloat16):
            size = size.float()
        results.append(size.pow(ord).sum().to(result))
    return tuple(results)


def _foreach_max(self: _Tensors) -> Any:
    """The largest element of each tensor of a list."""
    _lists("_foreach_max", self)
    if any(t.numel() == 0 for t in self):
        raise RuntimeError(
            "_foreach_max cannot compute the maximum of an empty tensor; "
            "max over zero elements is undefined."
        )
    return tuple(t.max() for t in self)


def _foreach_mm(self: _Tensors, mat2: _Tensors) -> Any:
    """The matrix products of the tensors of two lists."""
    if len(_listed("_foreach_mm", 0, self)) != len(_listed("_foreach_mm", 1, mat2)):
        raise RuntimeError(
            "_foreach_mm: self and mat2 must have the same number of tensors"
        )
    if not self:
        raise RuntimeError("_foreach_mm requires non-empty tensor lists")
    return tuple(ember.mm(a, b) for a, b in zip(self, mat2, strict=True))


def _foreach_clone(self: _Tensors, *, memory_format: Any = None) -> Any:
    """A copy of each tensor of a list."""
    _lists("_foreach_clone", self)
    if memory_format is None:
        return tuple(t.clone() for t in self)
    return tuple(t.clone(memory_format=memory_format) for t in self)


def _foreach_copy_(self: _Tensors, src: _Tensors, non_blocking: bool = False) -> Any:
    """Copies each tensor of `src` into that of `self`."""
    if not isinstance(non_blocking, bool):
        _wrong("_foreach_copy_", self, src, non_blocking)
    _lists("_foreach_copy_", self, src)
    for to, source in zip(self, src, strict=True):
        to.copy_(source, non_blocking)
    return self


def _foreach_zero_(self: _Tensors) -> Any:
    """Fills each tensor of a list with zeros."""
    _lists("_foreach_zero_", self)
    for t in self:
        t.zero_()
    return self


def _make() -> dict[str, Callable[..., Any]]:
    made: dict[str, Callable[..., Any]] = {}
    for in_place in (False, True):
        end = "_" * in_place
        made |= {f"_foreach_{n}{end}": _unary(n, in_place) for n in UNARY}
        made |= {f"_foreach_{n}{end}": _binary(n, in_place) for n in BINARY}
        made |= {f"_foreach_{n}{end}": _ternary(n, in_place) for n in TERNARY}
        made[f"_foreach_lerp{end}"] = _lerp(in_place)
    for name, function in made.items():
        function.__name__ = function.__qualname__ = name
    return made


FUNCTIONS = _make()
globals().update(FUNCTIONS)
