"""In-place and out= calls whose operands share memory, as plain data for two libraries.

A program makes one block of numbers, views of it, and one call. Both libraries must
give the same numbers, or both refuse. Where torch refuses, ember may go on, but then
what it writes must be what operands of their own memory would have given.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

# Calls by name; a digit at the end is the dimension.
BINARY = """add sub mul div maximum minimum fmod remainder pow atan2 hypot copysign
    logaddexp fmax fmin eq ne lt le gt ge logical_and logical_or""".split()
UNARY = """exp neg abs sin tanh sigmoid sqrt square sign floor reciprocal logical_not
    cumsum0 cumprod0 cumsum1 sort0 softmax log_softmax tril triu sum0 amax0 mean1
    logsumexp0 var0 diag""".split()
IN_PLACE = """add_ sub_ mul_ div_ copy_ lerp_ addcmul_ addcdiv_ masked_fill_ where_
    pow_ fmod_ remainder_ atan2_ hypot_ copysign_ eq_ lt_ masked_scatter_ scatter_
    scatter_add_ index_add_ index_copy_ index_fill_ gather_ put_ take_ addmm_ addmv_
    addr_ cumsum_ cumprod_ tril_ clamp_ clamp_min_ set_item set_rows fill_
    logical_and_ sigmoid_ exp_ neg_""".split()
OUT_CALLS = (
    BINARY
    + UNARY
    + """mm addmm mv addmv dot bmm outer matmul cat stack where lerp
    addcmul addcdiv clamp gather index_select take scatter masked_select norm
    kron cross0 tensordot""".split()
)


def _one(t: Any, name: str, x: Any, **to: Any) -> Any:
    """The unary call `name`; a digit at its end is the dimension."""
    if name == "sort0":
        return t.sort(x, 0, **({"out": (to["out"], to["index"])} if to else {}))
    if name.endswith("softmax"):
        return getattr(t, name)(x, 1, **to)
    if name[-1] in "01":
        return getattr(t, name[:-1])(x, dim=int(name[-1]), **to)
    return getattr(t, name)(x, **to)


def out_call(t: Any, name: str, out: Any, a: Any, b: Any, c: Any, i: Any) -> Any:
    """The call with `out=`, or without if it is None."""
    to = {} if out is None else {"out": out}
    if name in BINARY:
        return getattr(t, name)(a, b, **to)
    if name in UNARY:
        if name == "sort0" and to:
            to["index"] = i
        return _one(t, name, a, **to)
    if name in ("mm", "outer", "matmul", "kron"):
        two = (a[0], b[0]) if name == "outer" else (a, b)
        return getattr(t, name)(*two, **to)
    if name == "addmm":
        return t.addmm(c, a, b, beta=0.5, alpha=2, **to)
    if name in ("mv", "dot"):
        return getattr(t, name)(a if name == "mv" else a[0], b[0], **to)
    if name == "addmv":
        return t.addmv(c[0], a, b[0], **to)
    if name == "bmm":
        return t.bmm(a.unsqueeze(0), b.unsqueeze(0), **to)
    if name in ("cat", "stack"):
        return getattr(t, name)([a, b], 0, **to)
    if name == "where":
        return t.where(a > 0, b, c, **to)
    if name == "lerp":
        return t.lerp(a, b, c, **to)
    if name in ("addcmul", "addcdiv"):
        return getattr(t, name)(a, b, c, value=2, **to)
    if name == "clamp":
        return t.clamp(a, b, c, **to)
    if name == "gather":
        return t.gather(a, 0, i, **to)
    if name == "index_select":
        return t.index_select(a, 0, i[0], **to)
    if name == "take":
        return t.take(a, i, **to)
    if name == "scatter":
        return t.scatter(a, 0, i, b, **to)
    if name == "masked_select":
        return t.masked_select(a, b > 0, **to)
    if name == "norm":
        return t.linalg.vector_norm(a, 2, 0, **to)
    if name == "cross0":
        return t.linalg.cross(a[:3], b[:3], dim=0, **to)
    return t.tensordot(a, b, 1, **to)


def in_place(t: Any, name: str, x: Any, a: Any, b: Any, i: Any) -> Any:
    """The call that changes `x`."""
    if name in ("copy_", "masked_scatter_", "masked_fill_", "where_"):
        if name == "copy_":
            return x.copy_(a)
        if name == "masked_scatter_":
            return x.masked_scatter_(b > 0, a)
        if name == "masked_fill_":
            return x.masked_fill_(a > 0, 7)
        return x.copy_(t.where(a > 0, x, b))
    if name == "lerp_":
        return x.lerp_(a, b)
    if name in ("addcmul_", "addcdiv_"):
        return getattr(x, name)(a, b, value=2)
    if name in ("scatter_", "scatter_add_"):
        return getattr(x, name)(0, i, a)
    if name in ("index_add_", "index_copy_"):
        return getattr(x, name)(0, t.arange(x.shape[0]), a)
    if name == "index_fill_":
        return x.index_fill_(0, i[0], 3)
    if name == "gather_":
        return x.copy_(x.gather(0, i))
    if name == "put_":
        return x.put_(i * 3 + t.arange(3), a)  # each place once
    if name == "take_":
        return x.copy_(a.take(i * 3))
    if name == "addmm_":
        return x.addmm_(a, b)
    if name == "addmv_":
        return x[0].addmv_(a, b[0])
    if name == "addr_":
        return x.addr_(a[0], b[0])
    if name in ("cumsum_", "cumprod_"):
        return getattr(x, name)(0)
    if name == "clamp_":
        return x.clamp_(a, b)
    if name == "clamp_min_":
        return x.clamp_min_(a)
    if name == "set_item":
        x[1:] = a[:-1]
        return x
    if name == "set_rows":
        x[t.arange(x.shape[0]).flip(0)] = a
        return x
    if name == "fill_":
        return x.fill_(a[0, 0])
    if name in ("tril_", "sigmoid_", "exp_", "neg_"):
        return getattr(x, name)()
    return getattr(x, name)(a)


SIZE = 24  # elements of the block
VIEWS = "whole moved transposed rows columns row_twice column_twice apart late".split()


def view(block: Any, name: str) -> Any:
    """A 3 by 3 view of the block; some meet in memory, some are apart."""
    if name == "whole":
        return block[:9].view(3, 3)
    if name == "moved":
        return block[1:10].view(3, 3)
    if name == "transposed":
        return block[:9].view(3, 3).t()
    if name == "rows":
        return block[:18].view(6, 3)[::2]
    if name == "columns":
        return block[:18].view(3, 6)[:, 1::2]
    if name == "row_twice":
        return block[:3].view(1, 3).expand(3, 3)
    if name == "column_twice":
        return block[:3].view(3, 1).expand(3, 3)
    if name == "apart":
        return block[9:18].view(3, 3)
    return block[15:24].view(3, 3)


@st.composite
def program(draw: Any) -> dict[str, Any]:
    """One call: its name and the view each operand is."""
    out = draw(st.booleans())
    name = draw(st.sampled_from(OUT_CALLS if out else IN_PLACE))
    views = [draw(st.sampled_from(VIEWS)) for _ in range(4)]
    if draw(st.integers(0, 2)):
        views[0] = draw(st.sampled_from(VIEWS[:5]))
    dtype = draw(st.sampled_from(["float64", "float64", "float32", "int64", "bool"]))
    if name in ("sum0", "cumsum0", "cumsum1", "cumprod0"):
        dtype = "float64"  # torch takes the dtype of out= as that of the sum
    return {
        "out": out,
        "name": name,
        "views": views,
        "dtype": dtype,
        "seed": draw(st.integers(0, 99)),
        "result": draw(st.sampled_from(["same", "same", "same", "first", "grown"])),
    }


def run(t: Any, p: dict[str, Any], shared: bool = True) -> Any:
    """The operand that is written, after the call. `shared=False` gives those that are
    read memory of their own.
    """
    rng = np.random.default_rng(p["seed"])
    numbers = rng.integers(-3, 4, SIZE)
    if p["dtype"] == "bool":
        numbers = numbers > 0
    block = t.from_numpy(numbers.astype(p["dtype"]))
    # No place twice in a column: which value stays would be open.
    i = t.from_numpy(np.argsort(rng.random((3, 3)), 0))
    first, *others = (view(block, name) for name in p["views"])
    if p["result"] == "first":
        first = first[0]
    elif p["result"] == "grown":
        first = block[:6]
    if not shared:
        others = [other.clone() for other in others]
    if p["out"]:
        out_call(t, p["name"], first, *others, i)
    else:
        in_place(t, p["name"], first, *others[:2], i)
    return first


def writes_twice(p: dict[str, Any]) -> bool:
    """Whether elements of the written operand share memory: what they hold is open."""
    first = _places(p["views"][0])[: 3 if p["result"] == "first" else 9]
    return len(set(first)) < len(first) and p["result"] != "grown"


def meets(p: dict[str, Any]) -> bool:
    """Whether an operand that is read shares some memory with the one that is written,
    and is not the same view of it. To refuse that is always right.
    """
    first, *others = map(_places, p["views"])
    if p["result"] != "same" or p["name"] == "masked_select":  # out= gets another shape
        return True
    return any(set(first) & set(other) and first != other for other in others)


def dense(name: str) -> str:
    """A view without gaps for one that has some."""
    return "whole" if name in ("rows", "columns") else name


def _places(name: str) -> tuple[int, ...]:
    """Which elements of the block a view shows."""
    block = range(SIZE)
    if name in ("row_twice", "column_twice"):
        return (0, 1, 2) * 3 if name == "row_twice" else (0, 0, 0, 1, 1, 1, 2, 2, 2)
    if name == "transposed":
        return (0, 3, 6, 1, 4, 7, 2, 5, 8)
    if name == "rows":
        return (0, 1, 2, 6, 7, 8, 12, 13, 14)
    if name == "columns":
        return (1, 3, 5, 7, 9, 11, 13, 15, 17)
    start = {"whole": 0, "moved": 1, "apart": 9, "late": 15}[name]
    return tuple(block[start : start + 9])
