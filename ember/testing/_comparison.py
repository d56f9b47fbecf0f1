"""assert_close: are two results equal, up to what their dtypes can hold?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import ember
from ember import Tensor

# (rtol, atol)
_TOLERANCES = {
    ember.float16: (1e-3, 1e-5),
    ember.bfloat16: (1.6e-2, 1e-5),
    ember.float32: (1.3e-6, 1e-5),
    ember.float64: (1e-7, 1e-7),
    ember.complex32: (1e-3, 1e-5),
    ember.complex64: (1.3e-6, 1e-5),
    ember.complex128: (1e-7, 1e-7),
}


_Options = SimpleNamespace


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected|.

    Takes tensors, numbers, arrays, and sequences and mappings of these. Tolerances
    depend on the dtype unless both are given.

    >>> import ember
    >>> ember.testing.assert_close([1, ember.ones(2)], [1, ember.ones(2)])
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "rtol and atol must both be specified or both be unspecified, got "
            f"rtol={rtol} and atol={atol}"
        )
    options = _Options(
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        device=check_device,
        dtype=check_dtype,
        layout=check_layout,
        stride=check_stride,
        subclasses=allow_subclasses,
    )
    try:
        _compare(actual, expected, options, "")
    except AssertionError as error:
        text = str(error)
        if msg is not None:
            text = msg(text) if callable(msg) else msg
        raise AssertionError(text) from None


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older form of `assert_close`, which takes anything that makes a tensor."""
    if not isinstance(actual, Tensor):
        actual = ember.tensor(actual)
    if not isinstance(expected, Tensor):
        expected = ember.tensor(expected, dtype=actual.dtype)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        msg=msg or None,
    )


def _compare(actual: Any, expected: Any, options: _Options, place: str) -> None:
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            raise AssertionError(
                "The length of the sequences mismatch: "
                f"{len(actual)} != {len(expected)}{_where(place)}"
            )
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            _compare(a, b, options, f"{place}[{i}]")
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            raise AssertionError(
                "The keys of the mappings do not match: missing in actual "
                f"{sorted(map(str, set(expected) - set(actual)))}, missing in expected "
                f"{sorted(map(str, set(actual) - set(expected)))}{_where(place)}"
            )
        for key in actual:
            _compare(actual[key], expected[key], options, f"{place}[{key!r}]")
    elif actual is None or expected is None:
        if actual is not expected:
            raise AssertionError(f"None mismatch: {actual} is not {expected}")
    else:
        _compare_tensors(actual, expected, options, place)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _where(place: str) -> str:
    return f"\n\nThe failure occurred for item {place}" if place else ""


def _as_tensor(value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    try:
        return ember.as_tensor(value)
    except Exception:
        raise TypeError(
            f"assert_close(): no way to compare objects of type {type(value).__name__}"
        ) from None


def _compare_tensors(actual: Any, expected: Any, options: _Options, place: str) -> None:
    numbers = isinstance(actual, int | float | complex) and isinstance(
        expected, int | float | complex
    )
    if not options.subclasses and type(actual) is not type(expected):
        raise TypeError(
            "assert_close(): types differ and subclasses are not allowed: "
            f"{type(actual).__name__} and {type(expected).__name__}"
        )
    a, b = _as_tensor(actual), _as_tensor(expected)
    kind = "Scalars" if numbers else "Tensor-likes"
    if a.shape != b.shape:
        raise AssertionError(
            "The values for attribute 'shape' do not match: "
            f"{a.shape} != {b.shape}.{_where(place)}"
        )
    checks = (("layout", options.layout), ("device", options.device))
    for name, wanted in (*checks, ("dtype", options.dtype and not numbers)):
        if wanted and getattr(a, name) != getattr(b, name):
            raise AssertionError(
                f"The values for attribute '{name}' do not match: "
                f"{getattr(a, name)} != {getattr(b, name)}.{_where(place)}"
            )
    if options.stride and a.stride() != b.stride():
        raise AssertionError(
            "The values for attribute 'stride()' do not match: "
            f"{a.stride()} != {b.stride()}.{_where(place)}"
        )
    dtypes = (a.dtype, b.dtype)
    if str(a.layout) != "torch.strided":
        a, b = a.to_dense(), b.to_dense()
    with ember.no_grad():
        a, b = a.detach().cpu(), b.detach().cpu()
        dtype = ember.promote_types(a.dtype, b.dtype)
        a, b = a.to(dtype), b.to(dtype)
        if options.rtol is None:
            pairs = [_TOLERANCES.get(d, (0.0, 0.0)) for d in dtypes]
            rtol, atol = max(p[0] for p in pairs), max(p[1] for p in pairs)
        else:
            rtol, atol = options.rtol, options.atol
        if dtype.is_floating_point and dtype.itemsize == 1:
            if rtol or atol:
                raise AssertionError(
                    f"Rtol={rtol} and atol={atol} are not supported for bitwise "
                    "comparison of low dimensional floats. Please use rtol=0.0 and "
                    f"atol=0.0.{_where(place)}"
                )
            a, b = a.float(), b.float()
        near = ember.isclose(a, b, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
        if not near.all():
            raise AssertionError(
                _describe(kind, a, b, near, rtol, atol) + _where(place)
            )


def _describe(
    kind: str, a: Tensor, b: Tensor, near: Tensor, rtol: float, atol: float
) -> str:
    equality = "equal" if rtol == 0 and atol == 0 else "close"
    wide = ember.complex128 if a.is_complex() else ember.float64
    if not (a.is_floating_point() or a.is_complex()):
        wide = ember.int64
    a, b = a.to(wide), b.to(wide)
    difference = (a - b).abs().double()
    if a.dim() == 0:
        relative = (difference / b.abs().double()).item()
        return (
            f"{kind} are not {equality}!\n\n"
            f"Expected {b.item()} but got {a.item()}.\n"
            f"Absolute difference: {difference.item()} (up to {atol} allowed)\n"
            f"Relative difference: {relative} (up to {rtol} allowed)"
        )
    wrong = ~near
    difference = ember.where(wrong, difference, ember.zeros_like(difference))
    ratio = difference / b.abs().double()
    ratio = ember.where(wrong, ratio, ember.zeros_like(ratio))
    count, total = int(wrong.sum()), wrong.numel()

    def worst(values: Tensor) -> str:
        flat = int(values.nan_to_num(float("inf"), float("inf")).argmax())
        index = tuple(int(i) for i in ember.unravel_index(ember.tensor(flat), a.shape))
        return f"{values[index].item()} at index {index}"

    return (
        f"{kind} are not {equality}!\n\n"
        f"Mismatched elements: {count} / {total} ({100 * count / total:.1f}%)\n"
        f"Greatest absolute difference: {worst(difference)} (up to {atol} allowed)\n"
        f"Greatest relative difference: {worst(ratio)} (up to {rtol} allowed)"
    )
