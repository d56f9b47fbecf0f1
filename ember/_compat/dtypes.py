"""Dtypes that can be named and compared, and of which ember makes no tensors:
diffusers, transformers and torchao have tables of them."""

from __future__ import annotations


class NamedDtype:
    """A dtype by name; a tensor of it cannot be made."""

    def __init__(self, name: str, itemsize: int, floating: bool = False) -> None:
        self._name, self.itemsize = name, itemsize
        self.is_floating_point, self.is_complex = floating, False
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
float4_e2m1fn_x2 = NamedDtype("float4_e2m1fn_x2", 1, True)
bit = uint1  # type: ignore[name-defined]  # noqa: F821 (made above)
