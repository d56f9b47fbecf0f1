"""Order, ranks, distinct values, counts: core/ops/sort.cpp, unique.cpp, histogram.cpp."""

# fmt: off
import numpy as np

from tests.ops.entry import S, T, op

BAD_DIM = [(S(T(2, 3), 2), IndexError, "out of range")]


def D(*shape, **options):
    return T(*shape, distinct=True, **options)


def argsort(x, dim=-1, descending=False, stable=None):
    if not x.ndim:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    flipped = np.argsort(np.flip(x, dim), axis=dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(flipped, dim)


def taken(x, order, dim):
    return (np.take_along_axis(x, order, dim) if x.ndim else x), order


def sort(x, dim=-1, descending=False, stable=None):
    return taken(x, argsort(x, dim, descending), dim)


LINES = [D(6), S(D(3, 4), 0), S(D(3, 4, 2), 1, True), S(D(3, 4), stable=True, descending=True), D()]
op("sort", *LINES, D(400), S(T(3, 5), -1, stable=True), ref=sort, dtypes="bifh",
   errors=BAD_DIM + [(S(T(2, dtype="complex64")), RuntimeError, "complex")])
op("argsort", *LINES, ref=argsort, dtypes="bifh", errors=BAD_DIM)
op("msort", D(6), D(4, 3), ref=lambda x: np.sort(x, 0), dtypes="bifh")


def topk(x, k, dim=-1, largest=True, sorted=True):
    order = argsort(x, dim, largest)
    return taken(x, np.take(order, range(k), dim) if x.ndim else order, dim)


op("topk", S(D(6), 2), S(D(3, 4), 3, 0), S(D(3, 4), 2, largest=False), S(D(3), 0), S(D(), 1),
   S(D(700), 5), ref=topk, dtypes="fh",
   errors=BAD_DIM[:0] + [(S(T(2), 3), RuntimeError, "out of range")])


def ranked(rank):
    def reference(x, *args, **options):
        k, dim, keepdim = rank(x, *args, **options)
        if not x.ndim:
            return x, np.zeros((), np.int64)
        order = np.take(argsort(x, dim), [k], dim)
        values = np.take_along_axis(x, order, dim)
        return (values, order) if keepdim else (values.squeeze(dim), order.squeeze(dim))

    return reference


op("kthvalue", S(D(6), 2), S(D(3, 4), 3, 0), S(D(3, 4), 1, -1, True), S(D(), 1), dtypes="fih",
   ref=ranked(lambda x, k, dim=-1, keepdim=False: (k - 1, dim, keepdim)),
   errors=[(S(T(2), 3), RuntimeError, "out of range")])


def middle(x, dim=None, keepdim=False):
    if dim is None:
        return np.sort(x.reshape(-1))[(x.size - 1) // 2]
    n = x.shape[dim] if x.ndim else 1
    return ranked(lambda x: ((n - 1) // 2, dim, keepdim))(x)


for name in ("median", "nanmedian"):
    op(name, D(6), S(D(3, 4), 0), S(D(3, 4), 1, True), S(D(), 0), ref=middle, dtypes="fh",
       errors=BAD_DIM)


def mode(x, dim=-1, keepdim=False):
    def of_line(line):
        values, counts = np.unique(line, return_counts=True)
        return values[counts.argmax()]

    out = np.apply_along_axis(of_line, dim, x)
    return np.expand_dims(out, dim) if keepdim else out


def most_frequent(x, dim=-1, keepdim=False):
    values = mode(x, dim, True)
    last = x.shape[dim] - 1 - np.flip(x == values, dim).argmax(dim)
    return (values, np.expand_dims(last, dim)) if keepdim else (values.squeeze(dim), last)


op("mode", T(7, low=0, high=4, make=np.round), S(T(4, 5, low=0, high=3, make=np.round), 0),
   S(T(4, 5, low=0, high=3, make=np.round), 1, True), dtypes="if", grad=False,
   ref=most_frequent, errors=BAD_DIM)

SHARES = [S(D(7), 0.3, interpolation=how) for how in ("lower", "higher", "midpoint", "nearest")]


def quantile(x, q, dim=None, keepdim=False, interpolation="linear"):
    return np.quantile(x, q, axis=dim, keepdims=keepdim, method=interpolation)


for name in ("quantile", "nanquantile"):
    op(name, S(D(7), 0.3), S(D(3, 4), 0.5, 0), S(D(3, 4), 0.25, 1, True), *SHARES, ref=quantile,
       tol=10, errors=[(S(T(3), 1.5), RuntimeError, "range")])


def increasing(x):
    return np.sort(x, -1)


op("searchsorted", S(T(6, make=increasing), T(2, 3)), S(T(2, 6, make=increasing), T(2, 3), right=True),
   S(T(6, make=increasing), 0.5), S(T(6, make=increasing), T(3), side="right"), dtypes="fih",
   grad=False, errors=[(S(T(2, 3), T(4)), RuntimeError, "dimension")])
op("bucketize", S(T(2, 3), T(6, make=increasing)), S(T(3), T(6, make=increasing), right=True),
   dtypes="fih", grad=False, result="int64",
   ref=lambda x, edges, right=False: np.searchsorted(edges, x, "right" if right else "left"))


def distinct(x, sorted=True, return_inverse=False, return_counts=False, dim=None):
    out = np.unique(x, return_inverse=return_inverse, return_counts=return_counts, axis=dim)
    if return_inverse and dim is None:
        out = (out[0], out[1].reshape(x.shape), *out[2:])
    return out


WHOLE = {"low": 0, "high": 4, "make": np.round}
op("unique", T(3, 4, **WHOLE), S(T(9, **WHOLE), return_counts=True),
   S(T(3, 4, **WHOLE), return_inverse=True, return_counts=True),
   S(T(4, 2, **WHOLE), dim=0), ref=distinct, dtypes="ifh", grad=False, skip="meta")


def runs(x, return_inverse=False, return_counts=False, dim=None):
    x = x.reshape(-1)
    starts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]])) if x.size else np.zeros(0, int)
    group = np.cumsum(np.isin(np.arange(x.size), starts)) - 1
    out = [x[starts], group, np.diff(np.append(starts, x.size))]
    kept = [True, return_inverse, return_counts]
    return [part for part, k in zip(out, kept, strict=True) if k] if sum(kept) > 1 else out[0]


op("unique_consecutive", T(9, **WHOLE), S(T(9, **WHOLE), True, True), ref=runs, dtypes="ifh",
   grad=False, skip="meta")
op("isin", S(T(3, 4, **WHOLE), T(2, **WHOLE)), S(T(3, 4, **WHOLE), T(7, **WHOLE), invert=True),
   S(T(5, **WHOLE), 2), ref=lambda x, y, invert=False: np.isin(x, y, invert=invert), dtypes="if",
   grad=False, result="bool", skip="broadcast promotion")

COUNTS = {"low": 0, "high": 6, "dtype": "int64"}
op("bincount", T(9, **COUNTS), S(T(9, **COUNTS), T(9)), S(T(4, **COUNTS), minlength=10),
   ref=lambda x, weights=None, minlength=0: np.bincount(x, weights, minlength), dtypes="f",
   grad=False, skip="meta", errors=[(S(T(2, 2, dtype="int64")), RuntimeError, "1-d")])


def histogram(x, bins=100, min=0, max=0):
    return np.histogram(x, bins, None if min == max else (min, max))[0]


op("histc", S(T(20), 5), S(T(20), 4, -1, 1), ref=histogram, dtypes="fh", grad=False, skip="meta",
   errors=[(S(T(3), 0), RuntimeError, "bins")])


def with_edges(x, bins=100, range=None, weight=None, density=False):
    return np.histogram(x, bins, range, density, weight)


op("histogram", S(T(20), 5), S(T(20), 4, range=(-1.0, 1.0)), S(T(20), 4, weight=T(20), density=True),
   S(T(20), T(5, make=np.sort)), ref=with_edges, grad=False, skip="meta", tol=10)
