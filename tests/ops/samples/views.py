"""Views of every element: core/ops/views.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op, view_forms

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


def atleast(function):
    def reference(*tensors):
        tensors = tensors[0] if isinstance(tensors[0], list) else tensors
        made = [function(t) for t in tensors]
        return made[0] if len(made) == 1 else made

    return reference


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
op("view_as", S(T(2, 6), T(3, 4)), view=True, ref=lambda x, y: x.reshape(y.shape),
   result="same", dtypes=ANY, skip="noncontiguous")
op("reshape_as", S(T(2, 6), T(3, 4)), view=True, ref=lambda x, y: x.reshape(y.shape),
   result="same", dtypes=ANY)
op("flatten", T(2, 3, 4), S(T(2, 3, 4), 1), S(T(2, 3, 4), 0, 1), T(), result="same",
   ref=lambda x, a=0, b=-1: x.reshape(
       x.shape[:a] + (-1,) + x.shape[b % max(x.ndim, 1) + 1:]), dtypes=ANY,
   errors=[(S(T(2, 3), 1, 0), RuntimeError, "start_dim"), (S(T(2), 3), IndexError, "")])
op("ravel", T(2, 3), T(), ref=np.ravel, result="same", dtypes=ANY)
op("unflatten", S(T(2, 6), 1, (2, 3)), S(T(6, 2), 0, (-1, 3)), view=True, dtypes=ANY,
   ref=lambda x, d, s: x.reshape(x.shape[:d] + s + x.shape[d + 1:]), result="same",
   errors=[(S(T(6), 0, (4, 2)), RuntimeError, "multiply up")])
op("expand_as", S(T(2, 1), T(3, 2, 4)), view=True, result="same", dtypes=ANY,
   ref=lambda x, y: np.broadcast_to(x, y.shape))
op("broadcast_to", S(T(2, 1), (3, 2, 4)), view=True, result="same", dtypes=ANY,
   ref=np.broadcast_to)
op("broadcast_tensors", S(T(2, 1), T(3)), S(T(), T(2, 2), T(2)), result="promote",
   ref=lambda *t: np.broadcast_arrays(*t), dtypes=ANY,
   errors=[(S(T(2), T(3)), RuntimeError, "must match")])
for name in ("movedim", "moveaxis"):
    op(name, S(T(2, 3, 4), 0, 2), S(T(2, 3, 4), (0, 1), (-1, 0)), view=True, dtypes=ANY,
       ref=np.moveaxis, result="same",
       errors=[(S(T(2, 3), (0, 0), (0, 1)), RuntimeError, "repeated dim"),
               (S(T(2, 3), (0,), (0, 1)), RuntimeError, "same number"),
               (S(T(2, 3), 0, 4), IndexError, "out of range")])
for name in ("swapaxes", "swapdims"):
    op(name, S(T(2, 3, 4), 0, 2), S(T(2, 3), -1, 0), view=True, ref=np.swapaxes,
       result="same", dtypes=ANY,
       errors=[(S(T(2, 3), 0, 5), IndexError, "out of range")])
op("t", T(2, 3), T(3), T(), view=True, ref=np.transpose, result="same", dtypes=ANY,
   errors=[(S(T(2, 3, 4)), RuntimeError, "<= 2 dimensions")])
op("adjoint", T(2, 3), T(2, 3, 4), dtypes=ANY, result="same",
   ref=lambda x: np.conj(x.swapaxes(-1, -2)),
   errors=[(S(T(2)), RuntimeError, "matrices")])
op("atleast_1d", T(), T(2, 3), S([T(), T(3)]), S(T(), T(3)), result="promote", dtypes=ANY,
   ref=atleast(np.atleast_1d))
op("atleast_2d", T(), T(3), T(2, 3, 4), S([T(), T(3)]), result="promote", dtypes=ANY,
   ref=atleast(np.atleast_2d))
op("atleast_3d", T(), T(3), T(2, 3), T(2, 3, 4), S(T(), T(3)), result="promote",
   ref=atleast(np.atleast_3d), dtypes=ANY)
op("alias_copy", T(2, 3), ref=np.copy, result="same", dtypes=ANY)
view_forms("view", "copy")
view_forms("expand", "copy")
view_forms("permute", "copy")
for name in ("transpose", "t", "squeeze", "unsqueeze"):
    view_forms(name, "copy", "")
for name in ("swapaxes", "swapdims"):
    view_forms(name, "")
