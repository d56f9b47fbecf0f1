"""More views, their copies, splitting and joining: core/ops/views.cpp, split.cpp, join.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, alias, op

ANY = "bifhc"
M = T(3, 4)
PAIR = [T(2, 3), T(4, 3)]


def view(name, *samples, ref, **fields):
    op(name, *samples, ref=ref, view=True, dtypes=ANY, result="same", **fields)


def copy(name, *samples, ref, **fields):
    op(name, *samples, ref=ref, dtypes="fc", result="same", **fields)


def joined(name, ref, *samples, errors=()):
    op(name, *samples, ref=ref, dtypes=ANY, errors=errors)


def diagonal(x, offset=0, a=0, b=1):
    return np.diagonal(x, offset, a, b)


def unfold(x, dim, size, step):
    windows = np.lib.stride_tricks.sliding_window_view(x, size, dim)
    return windows[tuple(slice(None, None, step) if d == dim % x.ndim else slice(None) for d in range(x.ndim))]


def split(x, size, dim=0):
    cuts = range(size, x.shape[dim], size) if isinstance(size, int) else np.cumsum(size)[:-1]
    return np.split(x, list(cuts), dim)


def flatten(x, first=0, last=-1):
    first, last = first % max(x.ndim, 1), last % max(x.ndim, 1)
    return x.reshape(*x.shape[:first], -1, *x.shape[last + 1:])


view("t", M, T(3), ref=np.transpose, errors=[(S(T(2, 3, 4)), RuntimeError, "2")])
view("adjoint", M, ref=lambda x: x.conj().T, skip="view")  # a copy if it is complex
view("swapaxes", S(M, 0, 1), ref=np.swapaxes)
view("swapdims", S(M, 0, -1), ref=np.swapaxes)
view("movedim", S(T(2, 3, 4), 0, 2), S(T(2, 3, 4), (0, 1), (2, 0)), ref=np.moveaxis)
alias("moveaxis", "movedim")
view("narrow", S(M, 1, 1, 2), S(M, 0, -2, 2), ref=lambda x, d, s, n: x.take(range(s, s + n), d),
     errors=[(S(M, 0, 2, 3), RuntimeError, "exceeds|size")])
view("diagonal", M, S(M, 1), S(T(2, 3, 4), -1, 0, 2), ref=diagonal)
view("unfold", S(T(7), 0, 3, 2), S(M, 1, 2, 1), ref=unfold, skip="empty")  # a window must fit
view("flatten", T(2, 3, 4), S(T(2, 3, 4), 1), S(T(2, 3, 4), 0, 1), ref=flatten)
view("ravel", M, ref=np.ravel)
view("unflatten", S(T(2, 6), 1, (2, 3)), S(T(2, 6), -1, (-1, 2)), ref=lambda x, d, s: x.reshape(2, *s))
view("broadcast_to", S(T(3, 1), (2, 3, 4)), ref=np.broadcast_to)
view("expand_as", S(T(3, 1), T(2, 3, 4, grad=False)), ref=lambda x, y: np.broadcast_to(x, y.shape), skip="empty")
view("view_as", S(T(2, 6), T(3, 4, grad=False)), ref=lambda x, y: x.reshape(y.shape), skip="noncontiguous")
view("reshape_as", S(T(2, 6), T(3, 4, grad=False)), ref=lambda x, y: x.reshape(y.shape))
op("real", M, ref=np.real, dtypes="fc", result="real")
op("imag", M, ref=np.imag, dtypes="c", result="real")
op("conj", M, ref=np.conj, dtypes=ANY, result="same")

for name, sample, ref in (
    ("squeeze_", S(T(1, 3, 1)), np.squeeze), ("unsqueeze_", S(M, 1), np.expand_dims),
    ("transpose_", S(M, 0, 1), np.swapaxes), ("swapaxes_", S(M, 0, 1), np.swapaxes),
    ("swapdims_", S(M, 0, 1), np.swapaxes), ("t_", S(M), np.transpose),
    ("as_strided_", S(T(6), (2, 2), (3, 1)), lambda x, *a: np.array([[x[0], x[1]], [x[3], x[4]]])),
):
    op(name, sample, ref=ref, dtypes="f", grad=False, skip="noncontiguous empty")  # changes its shape

copy("alias_copy", M, ref=np.copy)
copy("view_copy", S(T(2, 6), (3, 4)), ref=np.reshape, skip="noncontiguous")
copy("as_strided_copy", S(T(6), (2, 2), (3, 1)), ref=lambda x, *a: np.array([[x[0], x[1]], [x[3], x[4]]]),
     skip="noncontiguous")
copy("diagonal_copy", M, S(M, 1), ref=diagonal)
copy("expand_copy", S(T(3, 1), (2, 3, 4)), ref=np.broadcast_to)
copy("permute_copy", S(T(2, 3, 4), (2, 0, 1)), ref=np.transpose)
copy("select_copy", S(M, 1, 2), ref=lambda x, d, i: x.take(i, d))
copy("slice_copy", S(M, 1, 1, 4, 2), S(M), ref=lambda x, d=0, a=0, b=9, s=1: x[:, a:b:s] if d else x)
copy("squeeze_copy", T(1, 3, 1), S(T(1, 3, 1), 0), ref=lambda x, dim=None: x.squeeze(dim))
copy("unsqueeze_copy", S(M, 1), ref=np.expand_dims)
copy("t_copy", M, ref=np.transpose)
copy("transpose_copy", S(M, 0, 1), ref=np.swapaxes)
copy("unfold_copy", S(T(7), 0, 3, 2), ref=unfold, skip="empty")
copy("narrow_copy", S(M, 1, 1, 2), ref=lambda x, d, s, n: x.take(range(s, s + n), d))
op("view_as_real_copy", M, ref=lambda x: np.stack([x.real, x.imag], -1), dtypes="c")
op("view_as_complex_copy", T(3, 2), ref=lambda x: x[..., 0] + 1j * x[..., 1], skip="noncontiguous")

copy("flip", S(T(2, 3, 4), (0, 2)), ref=np.flip)
copy("fliplr", M, ref=np.fliplr)
copy("flipud", M, ref=np.flipud)
copy("roll", S(M, 2), S(M, (1, -1), (0, 1)), ref=np.roll)
copy("rot90", M, S(M, -1), ref=np.rot90)
copy("repeat", S(M, (2, 1, 3)), S(T(3), 2, 2), ref=lambda x, *n: np.tile(x, n[0] if len(n) == 1 else n))
copy("tile", S(M, (2,)), S(M, (2, 1, 3)), ref=np.tile)
copy("repeat_interleave", S(M, 2), S(M, 2, 1), S(M, np.array([1, 0, 2]), 0), ref=np.repeat, skip="meta")
copy("diag", T(3), S(M, 1), S(T(3), -1), ref=np.diag)
copy("diagflat", T(3), S(M, 1), ref=np.diagflat)
copy("diag_embed", T(2, 3), S(T(3), 1), ref=lambda x, k=0: np.stack([np.diag(r) for r in x]) if x.ndim > 1 else np.diag(x, k))
copy("trace", T(3, 3), M, ref=np.trace)

op("split", S(T(5, 3), 2), S(T(5, 3), (1, 4)), S(T(3, 5), 3, 1), ref=split, dtypes=ANY, skip="empty")
op("split_with_sizes", S(T(5, 3), (1, 4)), S(T(3, 5), (2, 3), 1), ref=split, dtypes=ANY, skip="empty")
for name, like in (("split_copy", S(T(5, 3), 2)), ("unsafe_split", S(T(5, 3), 2)),
                   ("split_with_sizes_copy", S(T(5, 3), (1, 4))), ("unsafe_split_with_sizes", S(T(5, 3), (1, 4)))):
    op(name, like, ref=split, skip="empty out")
op("chunk", S(T(5, 3), 2), S(T(3, 6), 3, 1), ref=lambda x, n, d=0: split(x, -(-x.shape[d] // n), d), dtypes=ANY,
   skip="empty")
op("unsafe_chunk", S(T(6, 3), 2), ref=np.split, skip="empty")
op("tensor_split", S(T(5, 3), 2), S(T(5, 3), (1, 3)), ref=lambda x, n, d=0: np.array_split(x, n, d), dtypes=ANY,
   skip="empty")
op("hsplit", S(T(2, 4), 2), S(T(2, 4), (1, 3)), ref=np.hsplit, skip="empty")
op("vsplit", S(T(4, 2), 2), ref=np.vsplit, skip="empty")
op("dsplit", S(T(2, 2, 4), 2), ref=np.dsplit, skip="empty")
op("unbind", M, S(M, 1), ref=lambda x, dim=0: [x.take(i, dim) for i in range(x.shape[dim])], dtypes=ANY)
op("unbind_copy", M, S(M, 1), ref=lambda x, dim=0: [x.take(i, dim) for i in range(x.shape[dim])], skip="out")

joined("cat", lambda x, dim=0: np.concatenate(x, dim), S(PAIR), S([T(3, 2), T(3, 1)], 1),
       errors=[(S([T(2, 3), T(2, 4)]), RuntimeError, "match"), (S([]), ValueError, "non-empty")])
alias("concat", "cat")
alias("concatenate", "cat")
joined("stack", lambda x, dim=0: np.stack(x, dim), S([M, M]), S([M, M], -1),
       errors=[(S([M, T(4, 3)]), RuntimeError, "equal size")])
joined("hstack", np.hstack, S([T(3, 2), T(3, 1)]), S([T(2), T(3)]))
joined("vstack", np.vstack, S(PAIR), S([T(3), T(3)]))
alias("row_stack", "vstack")
joined("dstack", np.dstack, S([M, M]))
joined("column_stack", np.column_stack, S([T(3), T(3, 2)]))
joined("block_diag", lambda *x: np.block([[x[0], np.zeros((2, 1))], [np.zeros((3, 2)), x[1]]]).astype(x[0].dtype),
       S(T(2, 2), T(3, 1)))
joined("broadcast_tensors", np.broadcast_arrays, S(T(3, 1), T(4)))
joined("atleast_1d", np.atleast_1d, T(), S(T(), T(2)))
joined("atleast_2d", np.atleast_2d, T(3))
joined("atleast_3d", np.atleast_3d, T(3), T(2, 3))
op("kron", S(T(2, 3), T(3, 2)), S(T(2), T(3)), ref=np.kron, dtypes="ifc", result="promote", skip="empty")
