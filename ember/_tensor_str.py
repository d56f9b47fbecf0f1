"""Text of a tensor: what `repr(t)` and `print(t)` show, as PyTorch writes it.

`tensor_str` is called by the Tensor type in the core; `set_printoptions` is public.
The tensor is cut down to the elements that are shown, turned into nested Python
lists, and only then formatted, so printing costs no per-element tensor work.
"""

from math import ceil, inf, isfinite
from typing import Any

import ember
from ember import _lazy
from ember.autograd.grad_mode import dual_levels


class _Options:
    """The current print options, in PyTorch's names."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PRINT_OPTS = _Options()

_PROFILES = {
    "default": (4, 1000, 3, 80),
    "short": (2, 1000, 2, 80),
    "full": (4, inf, 3, 80),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors are printed.

    `profile` is "default", "short" or "full" and is applied first; `sci_mode` is
    reset to automatic when it is not given.

    >>> import ember
    >>> ember.set_printoptions(precision=2)
    >>> ember.tensor([1.12345])
    tensor([1.12])
    >>> ember.set_printoptions(profile="default")
    """
    opts = PRINT_OPTS
    if profile is not None:
        if profile not in _PROFILES:
            raise ValueError(
                f"set_printoptions(): profile is {profile!r}; "
                f"expected one of {', '.join(_PROFILES)}"
            )
        opts.precision, opts.threshold, opts.edgeitems, opts.linewidth = _PROFILES[
            profile
        ]
    if precision is not None:
        opts.precision = precision
    if threshold is not None:
        opts.threshold = threshold
    if edgeitems is not None:
        opts.edgeitems = edgeitems
    if linewidth is not None:
        opts.linewidth = linewidth
    opts.sci_mode = sci_mode


def get_printoptions() -> dict:
    """The current print options as a dictionary."""
    names = ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")
    return {name: getattr(PRINT_OPTS, name) for name in names}


def tensor_str(t: "ember.Tensor", contents: str | None = None) -> str:
    """The whole text of a tensor, with its dtype, device and gradient suffixes.

    A subclass may say what stands for its elements.
    """
    cls = type(t)
    plain = cls is ember.Tensor or cls.__name__ == "Parameter"
    prefix = "tensor(" if plain else f"{cls.__name__}("
    grad_fn, requires_grad = t.grad_fn, t.requires_grad
    default_dtype = ember.get_default_dtype()
    suffixes = []
    if t.device.type != "cpu":
        suffixes.append(f"device='{t.device}'")

    shows_dtype = t.dtype != default_dtype
    if contents is not None:
        body = contents
    elif t.device.type == "meta":
        suffixes.append(f"size={tuple(t.shape)}")
        body = "..."
    elif t.numel() == 0:
        if t.dim() != 1:
            suffixes.append(f"size={tuple(t.shape)}")
        body = "[]"
    else:
        if not PRINT_OPTS.edgeitems:
            suffixes.append(f"size={tuple(t.shape)}")
        shows_dtype = shows_dtype and not _is_implied(t.dtype, default_dtype)
        body = _contents(t.detach(), len(prefix))
    if shows_dtype:
        suffixes.append(f"dtype={t.dtype}")

    tangent = _tangent_of(t)
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    elif grad_fn is not None:
        suffixes.append(f"grad_fn=<{_node_name(grad_fn)}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    text = _join(prefix + body, suffixes, len(prefix))
    return f"Parameter({text})" if getattr(t, "_is_param", False) else text


def _is_implied(dtype, default_dtype) -> bool:
    """Whether the printed elements alone tell the dtype."""
    if dtype in (ember.int64, ember.bool):
        return True
    wide = default_dtype == ember.float64
    return dtype == (ember.complex128 if wide else ember.complex64)


def _tangent_of(t: "ember.Tensor"):
    """The direction of a dual tensor, inside of a level of forward mode."""
    if not dual_levels or t.layout is not ember.strided:
        return None
    from ember.autograd.forward_ad import unpack_dual

    return unpack_dual(t).tangent


def _node_name(node) -> str:
    name = type(node).__name__
    if name in ("Node", "CppFunction"):
        return node.name().rsplit("::", 1)[-1]
    return name


def _join(text: str, suffixes: list[str], indent: int) -> str:
    """Append `suffixes`, each on a new line where it would pass the line width."""
    parts = [text]
    width = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if width + len(suffix) + 2 > PRINT_OPTS.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            width = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            width += len(suffix) + 2
    parts.append(")")
    return "".join(parts)


def _contents(t, indent: int) -> str:
    """The bracketed elements of a tensor that has some."""
    shape = tuple(t.shape)
    summarize = t.numel() > PRINT_OPTS.threshold
    if summarize:
        t = _edges(t)
    if t.device.type != "cpu":
        t = t.cpu()
    if t.is_complex():
        values = t.to(ember.complex128).tolist()
        flat = list(_flatten(values, len(shape)))
        form: Any = _ComplexFormat(flat)
    elif t.is_floating_point():
        values = t.to(ember.float64).tolist()
        flat = list(_flatten(values, len(shape)))
        # What stands for zero in a format without one is laid out as such.
        zero = 2.0**-127 if t.dtype == ember.float8_e8m0fnu else 0.0
        form = _FloatFormat(flat, zero)
    else:
        values = t.tolist()
        form = _IntFormat(list(_flatten(values, len(shape))))
    return _nested(values, shape, indent, summarize, form)


def _edges(t):
    """Keep the first and last `edgeitems` of each axis longer than both."""
    edge = PRINT_OPTS.edgeitems
    for dim, size in enumerate(t.shape):
        if size > 2 * edge:
            before = (slice(None),) * dim
            first, last = slice(edge), slice(size - edge, size)
            t = ember.cat([t[(*before, first)], t[(*before, last)]], dim)
    return t


def _flatten(values, dims: int):
    if dims == 0:
        yield values
    elif dims == 1:
        yield from values
    else:
        for row in values:
            yield from _flatten(row, dims - 1)


def _nested(values, shape: tuple, indent: int, summarize: bool, form) -> str:
    """Format nested lists; `shape` is the full shape that they were cut from."""
    if not shape:
        return form(values)
    edge = PRINT_OPTS.edgeitems
    cut = summarize and shape[0] > 2 * edge
    if len(shape) == 1:
        items = [form(v) for v in values]
        if cut:
            items[edge:edge] = [" ..." if edge else "..."]
        fit = max(1, (PRINT_OPTS.linewidth - indent) // (form.width + 2))
        lines = [", ".join(items[i : i + fit]) for i in range(0, len(items), fit)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    rows = [_nested(row, shape[1:], indent + 1, summarize, form) for row in values]
    if cut:
        rows[edge:edge] = ["..."]
    gap = "," + "\n" * (len(shape) - 1) + " " * (indent + 1)
    return "[" + gap.join(rows) + "]"


class _IntFormat:
    """Integers and booleans, right-aligned."""

    def __init__(self, values: list) -> None:
        self.width = max((len(str(v)) for v in values), default=1)

    def __call__(self, value: Any) -> str:
        return str(value).rjust(self.width)


class _FloatFormat:
    """Floats: all as integers ("2."), all fixed or all scientific."""

    def __init__(self, values: list[float], zero: float = 0.0) -> None:
        precision, forced = PRINT_OPTS.precision, PRINT_OPTS.sci_mode
        finite = [v for v in values if v != zero and isfinite(v)]
        self.integral = all(v == ceil(v) for v in finite)
        self.scientific = False
        if finite:
            sizes = [abs(v) for v in finite]
            low, high = min(sizes), max(sizes)
            tiny = low < 1e-4 and not self.integral
            wide = high / low > 1000.0 or high > 1e8
            self.scientific = (tiny or wide) if forced is None else forced
        self.spec = f".{precision}{'e' if self.scientific else 'f'}"
        self.dotted = self.integral and not self.scientific
        if self.dotted:
            self.spec = ".0f"
        longest = max((len(format(v, self.spec)) for v in finite), default=0)
        self.width = max(1, longest + (self.dotted and bool(finite)))

    def __call__(self, value: float) -> str:
        text = format(value, self.spec)
        if self.dotted and isfinite(value):
            text += "."
        return text.rjust(self.width)


class _ComplexFormat:
    """Complex numbers: each part has a float format of its own."""

    def __init__(self, values: list[complex]) -> None:
        self.real = _FloatFormat([v.real for v in values])
        self.imag = _FloatFormat([v.imag for v in values])
        self.width = self.real.width + self.imag.width + 1

    def __call__(self, value: complex) -> str:
        imag = self.imag(value.imag).lstrip() + "j"
        sign = "" if imag[0] in "+-" else "+"
        return self.real(value.real) + sign + imag


__getattr__ = _lazy.missing(__name__)
