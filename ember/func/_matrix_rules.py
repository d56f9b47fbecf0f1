"""Batch rules of products of matrices and of linear algebra.

See Note [Batched tensors] in `_batched.py`.
"""

from functools import reduce
from math import prod

import ember
from ember import Tensor
from ember.func._batched import Call, Loop, rule
from ember.func._rules import along, leading, shifted


@rule("matmul", "linalg.matmul", "mm", "bmm", "mv", "dot", "__matmul__", "__rmatmul__")
def matmul(call: Call):
    a, b = call.bind("self", "other") if not call.kwargs else call.args
    if call.name == "__rmatmul__":
        a, b = b, a
    ranks = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1)}
    wanted = ranks.get(call.name)
    if (wanted and wanted != (a.dim(), b.dim())) or 0 in (a.dim(), b.dim()):
        raise Loop  # for the error of the op itself
    if call.batched(a) and not call.batched(b) and b.dim() <= 2:
        return ember.matmul(a.value, b)
    rank = max(a.dim(), b.dim(), 2)
    left, right = call.value(a), call.value(b)
    if a.dim() == 1:
        left = left.unsqueeze(-2)
    if b.dim() == 1:
        right = right.unsqueeze(-1)
    left, right = (
        v.reshape(call.size, *[1] * (rank - max(t.dim(), 2)), *v.shape[1:])
        if call.batched(t)
        else v
        for t, v in ((a, left), (b, right))
    )
    made = ember.matmul(left, right)
    if a.dim() == 1:
        made = made.squeeze(-2)
    return made.squeeze(-1) if b.dim() == 1 else made


@rule("inner")
def inner(call: Call):
    a, b = call.values()
    if 0 in (a.dim(), b.dim()):
        return a * b
    call.of_sample()  # for its errors
    rows, columns = (t.reshape(t.numel() // t.shape[-1], t.shape[-1]) for t in (a, b))
    return (rows @ columns.t()).reshape(*a.shape[:-1], *b.shape[:-1])


@rule("vdot", "outer", "ger")
def vector_product(call: Call):
    a, b = call.args
    if a.dim() != 1 or b.dim() != 1:
        raise Loop
    if call.name == "vdot":
        return a.conj() @ b
    return a.unsqueeze(-1) * b


@rule("addmm", "baddbmm", "addmv", "addbmm", "addr")
def add_product(call: Call):
    x, a, b, beta, alpha = call.bind("self", "a", "b", beta=1, alpha=1)
    if call.name == "addr":
        product = a.unsqueeze(-1) * b
    else:
        product = a @ b
    if call.name == "addbmm":
        product = product.sum(0)
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (x if beta == 1 else x * beta)


@rule("linear")
def linear(call: Call):
    x, weight, bias = call.bind("self", "weight", bias=None)
    if not call.batched(weight) and not call.batched(bias):
        return call.func(x.value, weight, bias)
    made = x @ weight.t() if weight.dim() == 2 else x @ weight
    return made if bias is None else made + bias


@rule("linalg.vecdot")
def vecdot(call: Call):
    a, b, dim = call.values()
    return (a.conj() * b).sum(dim)


@rule("kron")
def kron(call: Call):
    a, b = call.values()
    rank = max(a.dim(), b.dim())
    sizes = [[1] * (rank - t.dim()) + list(t.shape) for t in (a, b)]
    left = a.reshape([n for m in sizes[0] for n in (m, 1)])
    right = b.reshape([n for m in sizes[1] for n in (1, m)])
    return (left * right).reshape([m * n for m, n in zip(*sizes)])


@rule("chain_matmul", "linalg.multi_dot")
def chain(call: Call):
    call.of_sample()  # for its errors
    return reduce(ember.matmul, call.values()[0])


@rule("_int_mm")
def int_mm(call: Call):
    a, b = call.values()
    return a.to(ember.int32) @ b.to(ember.int32)


@rule("_weight_int8pack_mm")
def int8_weight(call: Call):
    x, *weights = call.args
    if call.batched(x) and not any(map(call.batched, weights)):
        rows = x.value.flatten(0, 1)
        made = ember._C._weight_int8pack_mm(rows, *weights)
        return made.unflatten(0, x.value.shape[:2])
    x, weight, scales = call.values()
    wide = x.to(ember.float32) @ weight.to(ember.float32).t()
    return (wide * scales.to(ember.float32)).to(x.dtype)


@rule("_weights_mm", "_widened_weights")
def small_weights(call: Call):
    *x, weight, scales, offsets = call.values()
    wide = weight.to(ember.float32)
    if weight.dtype == ember.uint8:
        pairs = weight.unflatten(-1, (-1, 1, 16))
        wide = ember.cat([pairs & 15, pairs >> 4], -2).flatten(-3).to(ember.float32)
    grouped = wide.unflatten(-1, (scales.shape[-1], -1)) * scales.unsqueeze(-1)
    if offsets is not None:
        grouped = grouped + offsets.unsqueeze(-1)
    wide = grouped.flatten(-2)
    return (x[0].to(ember.float32) @ wide.mT).to(x[0].dtype) if x else wide


@rule("_scaled_mm")
def scaled_mm(call: Call):
    a, b, scale_a, scale_b, bias, scale_result, *_ = call.values()
    wanted = call.of_sample().dtype
    made = (a.to(ember.float32) * scale_a) @ (b.to(ember.float32) * scale_b)
    made = made if bias is None else made + bias.to(ember.float32)
    made = made if scale_result is None else made * scale_result
    return made.to(wanted)


# --- systems of equations -------------------------------------------------------------


@rule("linalg.solve", "linalg.solve_ex", "linalg.lstsq")
def solve(call: Call):
    """A right side of one dimension less than the matrices is vectors."""
    given = call.bound()
    names = given.tensors()[:2]
    a, b = (given.given[name] for name in names)
    fewer = b.dim() == a.dim() - 1
    vector = b.dim() == 1 or (fewer and b.shape == a.shape[:-1])
    if not vector:
        return leading(call)
    call.of_sample()  # for its errors
    given.given[names[1]] = b.unsqueeze(-1)
    made = given.call(call.func)
    if isinstance(made, Tensor):
        return made.squeeze(-1)
    return (made[0].squeeze(-1), *made[1:])


@rule("linalg.tensorinv")
def tensorinv(call: Call):
    x, ind = call.values()
    call.of_sample()  # for its errors
    rows = x.reshape(prod(x.shape[:ind]), -1)
    return ember.linalg.inv(rows).reshape(*x.shape[ind:], *x.shape[:ind])


@rule("linalg.tensorsolve")
def tensorsolve(call: Call):
    a, b, dims = call.values()
    call.of_sample()  # for its errors
    if dims:
        a = a.movedim(tuple(dims), tuple(range(-len(dims), 0)))
    shape = a.shape[b.dim() :]
    made = ember.linalg.solve(a.reshape(b.numel(), prod(shape)), b.reshape(-1))
    return made.reshape(shape)


# --- norms, statistics ----------------------------------------------------------------


@rule("linalg.norm", "norm")
def norm(call: Call):
    """Of a vector or a matrix, or of all elements where no kind is named."""
    given = call.bound()
    x = given.given["self"]
    order, dim, keepdim, dtype = [given.value(p) for p in given.schema.params[1:]]
    if dim is not None or x.dim() == 0:
        return along(call)
    flat = x.reshape(-1)
    if order is None or (call.name == "norm" and order in ("fro", 2)):
        made = ember.linalg.vector_norm(flat, 2, dtype=dtype)
    elif call.name == "norm" and not isinstance(order, str):
        made = ember.linalg.vector_norm(flat, order, dtype=dtype)
    else:
        dims = tuple(range(x.dim()))
        return call.func(x, order, dims[0] if len(dims) == 1 else dims, keepdim,
                         dtype=dtype)  # fmt: skip
    return made.reshape([1] * x.dim()) if keepdim else made


@rule("renorm")
def renorm(call: Call):
    x, p, dim, most = call.values()
    call.of_sample()  # for its errors
    dim = dim % max(x.dim(), 1)
    others = [d for d in range(x.dim()) if d != dim]
    norms = ember.linalg.vector_norm(x, p, others, keepdim=True)
    return x * ember.where(norms > most, most / (norms + 1e-7), 1.0).to(x.dtype)


@rule("dist")
def dist(call: Call):
    a, b, p = call.values()
    return ember.linalg.vector_norm(a - b, p)


@rule("pdist")
def pdist(call: Call):
    x, p = call.values()
    i, j = ember.triu_indices(x.shape[0], x.shape[0], 1).unbind()
    return ember.linalg.vector_norm(x[i] - x[j], p, -1)


@rule("trace")
def trace(call: Call):
    call.of_sample()  # for its errors
    return call.args[0].diagonal().sum()


@rule("cov")
def cov(call: Call):
    x, correction, counts, weights = call.values()
    x = x.reshape(1, -1) if x.dim() < 2 else x
    n = x.shape[1]
    w = counts if weights is None else weights
    if counts is not None and weights is not None:
        w = counts * weights
    total = n if w is None else w.sum()
    x = x - ((x if w is None else x * w).sum(1, keepdim=True) / total)
    if weights is not None and correction:
        squares = weights * weights if counts is None else w * weights
        freedom = total - correction * squares.sum() / total
    else:
        freedom = total - correction
    freedom = freedom.clamp(min=0) if isinstance(freedom, Tensor) else max(freedom, 0)
    made = (x if w is None else x * w) @ x.conj().t() / freedom
    return made.reshape(()) if made.numel() == 1 else made


@rule("corrcoef")
def corrcoef(call: Call):
    c = ember.cov(call.args[0])
    if c.dim() == 0:
        return c / c
    d = c.diagonal().real.sqrt() if c.is_complex() else c.diagonal().sqrt()
    c = c / d.unsqueeze(-1) / d
    if not c.is_complex():
        return c.clamp(-1, 1)
    return ember.complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1))


@rule("linalg.vander", "vander")
def vander(call: Call):
    x, n, *increasing = call.values()
    n = (x.shape[-1] if x.dim() else 1) if n is None else n
    if call.name == "linalg.vander":
        value = x.value if x.dim() else x.value.unsqueeze(1)
        return call.func(value, N=n)
    powers = ember.arange(n, dtype=ember.int64)
    made = x.unsqueeze(-1) ** powers
    return made if increasing[0] else made.flip(-1)


@rule("cross")
def cross(call: Call):
    a, b, dim = call.values()
    if dim is None:
        sizes = ember.broadcast_shapes(a.shape, b.shape)
        dim = sizes.index(3) if 3 in sizes else -1
    return ember.linalg.cross(a, b, dim=dim)


@rule("linalg.cross")
def cross_along(call: Call):
    a, b, dim = call.values()
    if a.dim() != b.dim():
        raise Loop
    return call.func(call.full(a), call.full(b), dim=shifted(dim, a.dim()))


# --- integrals ------------------------------------------------------------------------


@rule("trapezoid", "trapz", "cumulative_trapezoid")
def trapezoid(call: Call):
    """Sums of areas between neighbours along a dimension."""
    given = call.bound()
    x, dim = given.get("x"), given.value(given.schema.params[-1])
    y = given.given["y"] if "y" in given.given else given.given["self"]
    if not isinstance(x, Tensor) or not call.batched(x) or x.dim() == y.dim():
        return along(call)
    steps = x.diff()
    n, dim = y.shape[dim], dim % y.dim()
    steps = steps.reshape(-1, *[1] * (y.dim() - 1 - dim))
    areas = (y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1)) * steps / 2
    return areas.cumsum(dim) if call.name[0] == "c" else areas.sum(dim)


@rule("gradient")
def gradient(call: Call):
    given = call.bound()
    x, dim = given.given["self"], given.value(given.schema.params[2])
    spacing = given.get("spacing")
    if not call.batched(x) or any(
        call.batched(s) for s in (spacing if isinstance(spacing, (list, tuple)) else ())
    ):
        raise Loop
    given.given["self"] = x.value
    dims = tuple(range(x.dim())) if dim is None else dim
    given.given["dim"] = shifted(dims, x.dim())
    return given.call(call.func)
