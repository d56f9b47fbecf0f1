"""Dtypes that can be named and compared, and of which ember makes no tensors:
diffusers, transformers and torchao have tables of them."""

from __future__ import annotations


class NamedDtype:
    """A dtype by name; a tensor of it cannot be made."""

    def __init__(self, name: str, itemsize: int, floating: bool = False) -> None:
        self._name, self.itemsize = name, itemsize
        self.is_floating_point, self.is_complex = floating, name == "complex32"
        self.is_signed = not name.startswith(("u", "q", "b"))

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> str:
        return self._name


for _bits in range(1, 8):
    for _kind in ("int", "uint"):
        globals()[f"{_kind}{_bits}"] = NamedDtype(f"{_kind}{_bits}", 1)
for _name in ("qint8", "quint8", "quint4x2", "quint2x4", "bits8", "bits1x8", "bits2x4"):
    globals()[_name] = NamedDtype(_name, 1)
bits4x2, bits16 = NamedDtype("bits4x2", 1), NamedDtype("bits16", 2)
qint32 = NamedDtype("qint32", 4)
# smallest and largest number, the step at 1, the smallest normal number
_LIMITS = {
    "e4m3fn": (-448.0, 448.0, 2.0**-3, 2.0**-6),
    "e5m2": (-57344.0, 57344.0, 2.0**-2, 2.0**-14),
    "e4m3fnuz": (-240.0, 240.0, 2.0**-3, 2.0**-7),
    "e5m2fnuz": (-57344.0, 57344.0, 2.0**-2, 2.0**-15),
    "e8m0fnu": (2.0**-127, 2.0**127, 1.0, 2.0**-127),
}
for _name, _limits in _LIMITS.items():
    _made = globals()["float8_" + _name] = NamedDtype("float8_" + _name, 1, True)
    _made.limits = _limits  # type: ignore[attr-defined]
float4_e2m1fn_x2 = NamedDtype("float4_e2m1fn_x2", 1, True)
complex32 = chalf = NamedDtype("complex32", 4)
bit = uint1  # type: ignore[name-defined]  # noqa: F821 (made above)
