"""Views: core/ops/shape.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

ANY = "bifhc"
LATE = [(S(T(2, 3), 5), IndexError, "out of range")]


def squeeze(x, dim=None):
    dims = range(x.ndim) if dim is None else np.atleast_1d(dim)
    return x.squeeze(tuple(d for d in dims if x.shape[d] == 1))


def expand(x, *size):
    size = size[0] if isinstance(size[0], tuple) else size
    missing = len(size) - x.ndim
    return np.broadcast_to(
        x, [n if n >= 0 else x.shape[i - missing] for i, n in enumerate(size)]
    )


op("view", S(T(2, 6), (3, 4)), S(T(2, 6), 3, -1), S(T(), (1, 1)), view=True, dtypes=ANY,
   ref=lambda x, *s: x.reshape(*s), result="same",
   errors=[(S(T(2, 3), (4, 2)), RuntimeError, "invalid"),
           (S(T(2, 3), (-1, -1)), RuntimeError, "one dimension")],
   skip="noncontiguous")  # strides may forbid it
op("reshape", S(T(2, 6), (3, 4)), S(T(2, 6), (-1,)), view=True,
   ref=lambda x, *s: x.reshape(*s), result="same", dtypes=ANY,
   errors=[(S(T(2, 3), (4, 2)), RuntimeError, "invalid")])
op("expand", S(T(2, 1), (3, 2, 4)), S(T(2, 1), -1, 3), S(T(), (2,)), view=True,
   ref=expand,
   errors=[(S(T(2, 3), (2, 4)), RuntimeError, "must match the existing size")],
   result="same", dtypes=ANY)
op("permute", S(T(2, 3, 4), (2, 0, 1)), view=True, dtypes=ANY,
   ref=lambda x, *d: x.transpose(*d), result="same",
   errors=[(S(T(2, 3), (0, 0)), RuntimeError, "duplicate"),
           (S(T(2, 3), (0,)), RuntimeError, "number of dimensions")])
op("transpose", S(T(2, 3, 4), 0, 2), S(T(2, 3), -1, 0), S(T(), 0, -1), view=True,
   ref=lambda x, a, b: x.swapaxes(a, b) if x.ndim else x, result="same", dtypes=ANY,
   errors=[(S(T(2, 3), 0, 5), IndexError, "out of range")])
op("squeeze", T(1, 3, 1), S(T(1, 3, 1), 0), S(T(1, 3, 1), 1), S(T(1, 3, 1), (0, -1)),
   view=True, ref=squeeze, result="same", dtypes=ANY, errors=LATE)
op("unsqueeze", S(T(2, 3), 0), S(T(2, 3), -1), S(T(), 0), view=True, errors=LATE,
   ref=np.expand_dims, result="same", dtypes=ANY)
op("as_strided", S(T(12), (3, 2), (4, 1)), S(T(12), (4, 4), (2, 1), 1), view=True,
   ref=lambda x, size, strides, offset=0: np.lib.stride_tricks.as_strided(
       x[offset:], size, [s * x.itemsize for s in strides]), result="same",
   errors=[(S(T(4), (3, 3), (3, 1)), RuntimeError, "out of bounds|storage")],
   skip="noncontiguous")  # it reads the memory itself
op("select", S(T(3, 4), 0, 1), S(T(3, 4), -1, -2), view=True, dtypes=ANY,
   ref=lambda x, dim, i: x.take(i, dim), result="same",
   errors=[(S(T(3), 0, 3), IndexError, "out of bounds|out of range"),
           (S(T(3), 2, 0), IndexError, "out of range"),
           (S(T(), 0, 0), IndexError, "0-dim")])
op("view_as_real", T(2, 3), dtypes="c", view=True, result="real",
   ref=lambda x: np.stack([x.real, x.imag], -1),
   errors=[(S(T(2, dtype="float32")), RuntimeError, "complex")])
op("view_as_complex", T(3, 2), view=True, ref=lambda x: x[..., 0] + 1j * x[..., 1],
   errors=[(S(T(3)), RuntimeError, "size 2")],
   skip="noncontiguous")  # the last stride must be 1
