"""Masks: core/ops/mask.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

ANY = "bifhc"
M = np.array([[True, False, True], [False, False, True]])


def masked_fill(x, mask, value):
    return np.where(mask, np.asarray(value).astype(x.dtype), x)


def masked_scatter(x, mask, source):
    out = np.array(np.broadcast_to(x, np.broadcast_shapes(x.shape, mask.shape)))
    mask = np.broadcast_to(mask, out.shape)
    out[mask] = source.reshape(-1)[: mask.sum()]
    return out


WRONG = (S(T(3), np.array([1, 0, 1]), T()), RuntimeError, "[bB]ool")
op("masked_fill", S(T(2, 3), M, 1), S(T(2, 3), M[0], T()), S(T(3), M, 0), S(T(), M[0], 1),
   ref=masked_fill, result="same", dtypes=ANY,
   errors=[WRONG, (S(T(2, 3), M, T(2)), RuntimeError, "0-dimensional")])
op("masked_select", S(T(2, 3), M), S(T(3), M), S(T(2, 1), M[0]), result="same",
   ref=lambda x, mask: np.broadcast_arrays(x, mask)[0][np.broadcast_arrays(x, mask)[1]],
   dtypes=ANY, skip="meta", errors=[(S(*WRONG[0].args[:2]), *WRONG[1:])])
op("masked_scatter", S(T(2, 3), M, T(3)), S(T(2, 3), M[0], T(2, 3)), S(T(3), M, T(4)),
   ref=masked_scatter, result="same", dtypes=ANY,
   errors=[WRONG, (S(T(2, 3), M, T(2)), RuntimeError, "Number of elements")])
