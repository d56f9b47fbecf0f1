"""Views of a part, and copies with it replaced: core/ops/slices.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op, view_forms

ANY = "bifhc"


def slice_of(x, dim=0, start=None, end=None, step=1):
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def select(x, dim, index):
    return x[(slice(None),) * (dim % x.ndim) + (index,)]


def narrow(x, dim, start, length):
    start = int(start) % x.shape[dim]
    return x.take(range(start, start + length), dim)


def unfold(x, dim, size, step):
    windows = np.lib.stride_tricks.sliding_window_view(x, size, dim)
    return windows[(slice(None),) * (dim % x.ndim) + (slice(None, None, step),)]


def replaced(view):
    def reference(x, src, *where, **more):
        out = np.array(x)
        places = np.arange(out.size).reshape(out.shape)
        out.reshape(-1)[view(places, *where, **more)] = src
        return out

    return reference


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    n = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


op("select", S(T(3, 4), 0, 1), S(T(3, 4), -1, -2), view=True, dtypes=ANY,
   ref=select, result="same",
   errors=[(S(T(3), 0, 3), IndexError, "out of bounds|out of range"),
           (S(T(3), 2, 0), IndexError, "out of range"),
           (S(T(), 0, 0), IndexError, "0-dim")])
op("slice_copy", S(T(5, 4)), S(T(5, 4), 1, 1, 3), S(T(5, 4), 0, -3, None, 2),
   ref=slice_of, result="same", dtypes=ANY,
   errors=[(S(T(5), 0, 0, 5, 0), ValueError, "step")])
op("narrow", S(T(5, 4), 0, 1, 3), S(T(5, 4), -1, -2, 2),
   S(T(5, 4), 0, np.array(1), 2), view=True, ref=narrow, result="same",
   dtypes=ANY, skip="meta",  # the start is read
   errors=[(S(T(5), 0, 3, 3), RuntimeError, "exceeds"),
           (S(T(5), 0, 0, -1), RuntimeError, "non-negative"),
           (S(T(5), 0, 7, 1), IndexError, "out of range"),
           (S(T(), 0, 0, 1), RuntimeError, "0-dim")])
op("narrow_copy", S(T(5, 4), 0, 1, 3), S(T(5, 4), -1, -2, 2), ref=narrow,
   result="same", dtypes=ANY)
op("diagonal", T(3, 4), S(T(3, 4), 1), S(T(3, 4), -1), S(T(2, 3, 4), 1, 2, 0),
   S(T(3, 4), 9), view=True, ref=np.diagonal, result="same", dtypes=ANY,
   errors=[(S(T(3, 4), 0, 1, 1), RuntimeError, "identical")])
op("diag_embed", T(3), S(T(2, 3), 1), S(T(2, 3), -1, 0, 2), dtypes=ANY, result="same",
   ref=diag_embed, errors=[(S(T(3), 0, 1, 1), RuntimeError, "identical")])
op("diag", T(3), T(3, 4), S(T(3), -1), S(T(3, 4), 1), ref=np.diag, result="same",
   dtypes=ANY, errors=[(S(T(2, 2, 2)), RuntimeError, "1D or 2D")])
op("diagflat", T(2, 2), S(T(3), 1), T(), ref=np.diagflat, result="same", dtypes=ANY)
op("unfold", S(T(5), 0, 2, 1), S(T(3, 7), 1, 3, 2), S(T(5), 0, 2, 3), view=True,
   ref=unfold, result="same", dtypes=ANY,
   errors=[(S(T(3), 0, 4, 1), RuntimeError, "maximum size"),
           (S(T(3), 0, 2, 0), RuntimeError, "step")])
op("select_scatter", S(T(3, 4), T(4), 0, 1), S(T(3, 4), T(3), -1, -2),
   ref=replaced(select), result="same", dtypes=ANY,
   errors=[(S(T(3, 4), T(3), 0, 1), RuntimeError, "size")])
op("slice_scatter", S(T(5, 4), T(2, 4), 0, 1, 3), S(T(5, 4), T(5, 2), 1, 0, 4, 2),
   ref=replaced(slice_of), result="same", dtypes=ANY,
   errors=[(S(T(5), T(2), 0, 0, 1), RuntimeError, "size")])
op("diagonal_scatter", S(T(3, 4), T(3)), S(T(3, 4), T(3), 1), S(T(2, 3, 4), T(3, 2), 0, 0, 2),
   ref=replaced(np.diagonal), result="same", dtypes=ANY,
   errors=[(S(T(3, 4), T(4)), RuntimeError, "size")])
op("as_strided_scatter", S(T(6), T(2, 2), (2, 2), (3, 1)),
   S(T(3, 4), T(2), (2,), (5,), 1), result="same", dtypes=ANY,
   ref=lambda x, src, size, strides, offset=0: replaced(
       lambda p: np.lib.stride_tricks.as_strided(
           p.reshape(-1)[offset:], size, [s * p.itemsize for s in strides]))(x, src),
   skip="noncontiguous meta")  # it reads the memory itself
for name in ("select", "diagonal", "unfold"):
    view_forms(name, "copy")


def fill_diagonal(x, value, wrap=False):
    x = x.copy()
    np.fill_diagonal(x, value, wrap)
    return x


op("fill_diagonal_", S(T(3, 3), 5.0), S(T(7, 3), 5.0, True), S(T(7, 3), 5.0), S(T(2, 4), 1.0),
   S(T(3, 3, 3), 2.0), ref=fill_diagonal, dtypes="fhc", grad=False,
   errors=[(S(T(3), 1.0), RuntimeError, "larger than 1"), (S(T(2, 2, 3), 1.0), RuntimeError, "equal length")])
