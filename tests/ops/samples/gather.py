"""One index for every element: core/ops/gather.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

ANY = "bifhc"
I = np.array([[0, 1, 1], [2, 0, 2]])
D = {"distinct": True}


def each(function):
    """Walks the index and lets `function` combine what is there with src."""

    def reference(x, dim, index, src, reduce=None, include_self=True):
        out, met = np.array(x), {}
        src = np.broadcast_to(src, index.shape) if np.ndim(src) == 0 else src
        for place in np.ndindex(index.shape):
            to = list(place)
            to[dim] = index[place]
            met.setdefault(tuple(to), []).append(src[place])
        for to, values in met.items():
            values = ([out[to]] if include_self else []) + values
            out[to] = function(values, reduce)
        return out

    return reference


METHODS = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min,
           "add": np.sum, "multiply": np.prod}


def combined(values, reduce):
    return values[-1] if reduce is None else METHODS[reduce](values)


WRONG = [(S(T(3, 4), 0, np.array([[3]]), T(1, 1)), RuntimeError, "out of bounds"),
         (S(T(3, 4), 0, np.array([[-1]]), T(1, 1)), RuntimeError, "out of bounds"),
         (S(T(3, 4), 0, np.array([0]), T(1)), RuntimeError, "same number of dim"),
         (S(T(3, 4), 0, np.zeros((1, 5), int), T(1, 5)), RuntimeError, "no larger"),
         (S(T(3, 4), 0, I, T(2, 3, dtype="int32")), RuntimeError, "dtype"),
         (S(T(3, 4), 0, np.array([[0.0]]), T(1, 1)), RuntimeError, "dtype"),
         (S(T(3, 4), 2, I, T(2, 3)), IndexError, "out of range")]
op("gather", S(T(3, 4), 0, I), S(T(3, 4), 1, I), S(T(2, 3, 3), -1, np.array([[[2]], [[0]]])),
   S(T(), 0, np.array(0)), result="same", dtypes=ANY,
   ref=lambda x, dim, index: np.take_along_axis(
       x[tuple(slice(n) if d != dim % max(x.ndim, 1) else slice(None)
               for d, n in enumerate(index.shape))], index, dim) if x.ndim else x,
   errors=[(S(*call.args[:3]), kind, text) for call, kind, text in WRONG
           if "no larger" in text or "out of" in text or "float" in str(call.args[2].dtype)])
ONCE = np.array([[0, 1, 1], [2, 0, 2]])
op("scatter", S(T(3, 4), 0, ONCE, T(2, 3)), S(T(3, 4), 1, ONCE[:, :2], T(2, 3)),
   S(T(3, 4), 0, I, 2), S(T(3, 4), 0, I, T(2, 3), reduce="add"),
   S(T(3, 4, away=(0,)), 0, I, T(2, 3, away=(0,)), reduce="multiply"),
   S(T(3, 4), 0, I, 2, reduce="add"),
   ref=each(combined), result="same", dtypes="ifhc", tol=4,
   errors=[*WRONG, (S(T(3, 4), 0, I, T(2, 3), reduce="mean"), RuntimeError, "add or multiply")])
op("scatter_add", S(T(3, 4), 0, I, T(2, 3)), S(T(3, 4), 1, I, T(2, 3)),
   S(T(5), 0, np.array([1, 1, 1, 4]), T(4)), result="same", dtypes="ifhc", tol=4,
   ref=lambda x, dim, index, src: each(combined)(x, dim, index, src, "sum"), errors=WRONG)
REDUCED = [S(T(3, 4, away=(0,), **D), 0, I, T(2, 3, low=2.5, high=4.0, **D), reduce)
           for reduce in ("sum", "prod", "mean", "amax", "amin")]
WITHOUT = [S(*call.args, include_self=False) for call in REDUCED]
op("scatter_reduce", *REDUCED, *WITHOUT, ref=each(combined), result="same", dtypes="fh",
   tol=8, errors=[(S(T(3, 4), 0, I, T(2, 3), "max"), RuntimeError, "reduce argument")])
LINE = np.array([2, 0, 2])


def by_rows(x, dim, index, src, reduce, include_self=True):
    shape = [1] * src.ndim
    shape[dim] = -1
    wide = np.broadcast_to(index.reshape(shape), src.shape)
    return each(combined)(x, dim, wide, src, reduce, include_self)


ROWS = [S(T(3, 4, away=(0,), **D), 0, LINE, T(3, 4, low=2.5, high=4.0, **D), reduce)
        for reduce in ("prod", "mean", "amax", "amin")]
op("index_reduce", *ROWS, *[S(*call.args, include_self=False) for call in ROWS],
   ref=by_rows, result="same", dtypes="fh", tol=8,
   errors=[(S(T(3), 0, LINE, T(3), "sum"), RuntimeError, "prod, mean"),
           (S(T(3), 0, LINE, T(2), "prod"), IndexError, "Number of indices")])


def take_along_dim(x, index, dim=None):
    if dim is None:
        return x.reshape(-1)[index]
    shape = [max(a, b) for a, b in zip(x.shape, index.shape, strict=True)]
    shape[dim] = index.shape[dim]
    return np.take_along_axis(x, np.broadcast_to(index, shape), dim)


op("take_along_dim", S(T(3, 4), np.array([[1, -1, 0]]), 1), S(T(3, 4), np.array([0, 11])),
   S(T(3, 4), np.array([[2], [0]]), 0), result="same", dtypes=ANY,
   ref=take_along_dim,
   errors=[(S(T(3), np.array([0.0]), 0), RuntimeError, "Long")])
