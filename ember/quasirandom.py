"""Points that fill a cube more evenly than random ones.

The numbers in `_sobol_numbers.bin` are those of S. Joe and F. Y. Kuo, "Constructing
Sobol sequences with better two-dimensional projections" (2008): for each dimension a
primitive polynomial and its first direction numbers.
"""

from __future__ import annotations

import struct
import zlib
from functools import cache
from pathlib import Path

import ember
from ember import Tensor

__all__ = ["SobolEngine"]


@cache
def _table() -> tuple[tuple[int, ...], bytes]:
    """The polynomials, as bits, and the direction numbers: for each polynomial as many
    as its degree, number i without its last bit, which is 1, in i bits."""
    data = Path(__file__).with_name("_sobol_numbers.bin").read_bytes()
    end = 4 + struct.unpack("<I", data[:4])[0]
    polynomials = zlib.decompress(data[4:end])
    return struct.unpack(f"<{len(polynomials) // 4}I", polynomials), data[end:]


def _directions(dimension: int, bits: int) -> list[list[int]]:
    """Direction numbers of the first dimensions, shifted to the left."""
    polynomials, packed = _table()
    rows, at = [[1] * bits], 0
    for polynomial in polynomials[: dimension - 1]:
        degree = polynomial.bit_length() - 1
        width = degree * (degree - 1) // 2
        first, last = at // 8, (at + width + 7) // 8
        number = int.from_bytes(packed[first:last], "little") >> (at % 8)
        row = []
        for i in range(min(degree, bits)):
            row.append((number & ((1 << i) - 1)) << 1 | 1)
            number >>= i
        for i in range(degree, bits):
            new = row[i - degree] ^ (row[i - degree] << degree)
            for k in range(1, degree):
                if polynomial >> (degree - k) & 1:
                    new ^= row[i - k] << k
            row.append(new)
        rows.append(row)
        at += width
    return [[v << (bits - 1 - i) for i, v in enumerate(row)] for row in rows]


class SobolEngine:
    """A Sobol sequence in [0, 1), plain or scrambled.

    >>> import ember
    >>> engine = ember.quasirandom.SobolEngine(2)
    >>> engine.draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(
        self, dimension: int, scramble: bool = False, seed: int | None = None
    ) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(
                "Supported range of dimensionality for SobolEngine is "
                f"[1, {self.MAXDIM}]"
            )
        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        self.sobolstate = ember.tensor(_directions(dimension, self.MAXBIT))
        self.shift = ember.zeros(dimension, dtype=ember.int64)
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self._first_point = (self.quasi / 2**self.MAXBIT).reshape(1, -1)
        self.num_generated = 0

    def _scramble(self) -> None:
        """Move all points by a random matrix of bits and a random shift."""
        bits = self.MAXBIT
        generator = None
        if self.seed is not None:
            generator = ember.Generator()
            generator.manual_seed(self.seed)
        shift = ember.randint(2, (self.dimension, bits), generator=generator)
        powers = ember.pow(2, ember.arange(bits))
        self.shift = (shift * powers).sum(1)
        shape = (self.dimension, bits, bits)
        matrix = ember.randint(2, shape, generator=generator).tril()
        matrix.diagonal(0, -2, -1).fill_(1)
        # Bits of a direction number, the highest first, times the matrix modulo 2.
        places = ember.arange(bits - 1, -1, -1)
        state = (self.sobolstate[:, None, :] >> places[None, :, None]) & 1
        mixed = ember.matmul(matrix.float(), state.float()).long() % 2
        self.sobolstate = (mixed << places[None, :, None]).sum(1)

    def draw(
        self, n: int = 1, out: Tensor | None = None, dtype: ember.dtype | None = None
    ) -> Tensor:
        """The next `n` points."""
        dtype = ember.get_default_dtype() if dtype is None else dtype
        self._check_count(n)
        first = self.num_generated == 0
        points = self._next(n - 1 if first else n, dtype)
        if first:
            points = ember.cat([self._first_point.to(dtype), points])
        self.num_generated += n
        if out is None:
            return points
        return out.resize_(points.shape).copy_(points)

    def _check_count(self, n: int) -> None:
        if self.num_generated + n > 2**self.MAXBIT:
            raise ValueError(
                f"SobolEngine: a sequence has 2**{self.MAXBIT} points, of which "
                f"{self.num_generated} were generated; got n={n}"
            )

    def _next(self, n: int, dtype: ember.dtype) -> Tensor:
        """Points after the first; each changes the one before by a direction number."""
        start = max(self.num_generated - 1, 0)
        rows = []
        for i in range(start, start + n):
            zero = (~i & (i + 1)).bit_length() - 1  # the place of i's lowest zero
            self.quasi = self.quasi ^ self.sobolstate[:, zero]
            rows.append(self.quasi)
        if not rows:
            return ember.empty(0, self.dimension, dtype=dtype)
        return ember.stack(rows).to(dtype) * 2.0**-self.MAXBIT

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: ember.dtype | None = None
    ) -> Tensor:
        """The next 2**m points, after which a power of two have been drawn."""
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: "
                f"n={self.num_generated}+2**{m}={total}. If you still want to do this, "
                "please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Back to the first point."""
        self.quasi = self.shift.clone()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skip `n` points."""
        if n > 0:
            self._check_count(n)
            self.num_generated += n
            # The point after k changes: those of the bits of k's Gray code.
            last = self.num_generated - 1
            code = last ^ (last >> 1)
            self.quasi = self.shift.clone()
            for bit in range(code.bit_length()):
                if code >> bit & 1:
                    self.quasi = self.quasi ^ self.sobolstate[:, bit]
        return self

    def __repr__(self) -> str:
        options = [f"dimension={self.dimension}"]
        if self.scramble:
            options.append("scramble=True")
        if self.seed is not None:
            options.append(f"seed={self.seed}")
        return f"SobolEngine({', '.join(options)})"
