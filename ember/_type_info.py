"""`finfo` and `iinfo`: limits of the number types."""

from typing import Any

import ember

# name: bits, bits of the significand behind the point, largest and least exponent
_FLOATS = {
    "float8_e4m3fn": (8, 3, 8, -6),
    "float8_e5m2": (8, 2, 15, -14),
    "float8_e4m3fnuz": (8, 3, 7, -7),
    "float8_e5m2fnuz": (8, 2, 15, -15),
    "float8_e8m0fnu": (8, 0, 127, -127),
    "float16": (16, 10, 15, -14),
    "bfloat16": (16, 7, 127, -126),
    "float32": (32, 23, 127, -126),
    "float64": (64, 52, 1023, -1022),
}
_RESOLUTION = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6, "float64": 1e-15}
_INTEGERS = {
    "uint8": (0, 8),
    "int8": (1, 8),
    "int16": (1, 16),
    "int32": (1, 32),
    "int64": (1, 64),
    "uint16": (0, 16),
    "uint32": (0, 32),
    "uint64": (0, 64),
}


def _name(dtype) -> str:
    return str(dtype).rpartition(".")[2]


class finfo:
    """Limits of a floating point dtype (the default one if none is given).

    >>> import ember
    >>> ember.finfo(ember.float32).eps
    1.1920928955078125e-07
    """

    __slots__ = (
        "bits",
        "dtype",
        "eps",
        "max",
        "min",
        "resolution",
        "smallest_normal",
        "tiny",
    )

    def __init__(self, type: Any = None) -> None:
        dtype = ember.get_default_dtype() if type is None else type
        if not isinstance(dtype, ember.dtype):
            raise TypeError(f"finfo(): argument 'type' must be a dtype, not {dtype!r}")
        if dtype.is_complex:
            dtype = dtype.to_real()
        if not dtype.is_floating_point:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo "
                f"to handle '{dtype}'"
            )
        self.dtype = name = _name(dtype)
        self.bits, digits, top, least = _FLOATS[name]
        self.eps = step = 2.0**-digits
        if name == "float8_e5m2fnuz":
            self.eps /= 2  # as PyTorch has it
        steps = 2 if name == "float8_e4m3fn" else 1  # there, 1.111 * 2**8 is the NaN
        self.max = (2.0 - steps * step) * 2.0**top
        self.smallest_normal = self.tiny = 2.0**least
        self.min = -self.max if dtype.is_signed else self.tiny
        self.resolution = _RESOLUTION.get(name, 1.0)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, "
            f"max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)


class iinfo:
    """Limits of an integer dtype.

    >>> import ember
    >>> ember.iinfo(ember.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: Any) -> None:
        if not isinstance(type, ember.dtype):
            raise TypeError(f"iinfo(): argument 'type' must be a dtype, not {type!r}")
        if type == ember.bool:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.is_floating_point or type.is_complex:
            raise TypeError(
                "torch.iinfo() requires an integer input type. Use torch.finfo to "
                f"handle '{type}'"
            )
        self.dtype = name = _name(type)
        signed, self.bits = _INTEGERS[name]
        self.max: int = 2 ** (self.bits - signed) - 1
        self.min: int = -self.max - 1 if signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)
