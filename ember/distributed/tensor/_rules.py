"""The labels of ops on distributed tensors. See `_dispatch.py`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ember
from ember import _C, Tensor
from ember._traits import traits_of
from ember.distributed.tensor import _losses, _random
from ember.distributed.tensor._api import DTensor, wrap
from ember.distributed.tensor._dispatch import (
    BY_TRAIT,
    RULES,
    WHOLE,
    Call,
    Names,
    Rule,
)
from ember.distributed.tensor._views import reshaped, viewed
from ember.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
    local_offset,
    local_shape,
)
from ember.func._bound import DIMS
from ember.utils._pytree import tree_flatten

Run = Callable[[Call, tuple, dict, list], Any]


def rule(names: str, run: Run | None = None) -> Callable:
    """Register the labels of ops, and what runs on the parts if not the op itself."""

    def register(func: Callable[[Call], Names | None]) -> Callable:
        for name in names.split():
            RULES[name] = Rule(func, run)
        return func

    return register


# --- elementwise ---

_LINEAR = set("neg clone detach contiguous alias positive float double".split())
_SCALED = set("mul div true_divide __mul__ __truediv__ multiply divide".split())
_SUMS = set("add sub subtract".split())
_MOVES = set(
    "to cpu cuda type".split()
)  # to other devices, where meta tensors cannot go


def _is_linear(call: Call) -> bool:
    """Whether terms of a sum may go through it one by one."""
    name = call.name[:-1] if call.in_place else call.name
    if name in _LINEAR or name == "to":
        kept = all(t.is_floating_point() for t in call.tensors)
        return kept and len(call.tensors) == 1
    if name in _SCALED:
        return len(call.tensors) == 1 and isinstance(call.args[0], DTensor)
    return name in _SUMS and len(call.tensors) == 2


@rule("prelu")
def _pointwise(call: Call) -> Names | None:
    if call.name in ("prelu", "type_as") and len(call.tensors) != 1:
        return None  # their second argument is not broadcast
    if call.name in _MOVES:
        call._whole = call.tensors[0]
        if len(call.tensors) != 1:
            return None
    if call.in_place:
        shape: Any = call.tensors[0].shape
    elif isinstance(call.whole, Tensor):
        shape = call.whole.shape
    else:
        return None
    inputs = []
    for t in call.tensors:
        first = len(shape) - t.dim()
        inputs.append([first + d if t.size(d) == shape[first + d] else None
                       for d in range(t.dim())])  # fmt: skip
    return Names(inputs, list(range(len(shape))), linear=_is_linear(call))


# --- reductions ---


def _dims(call: Call, dim: Any) -> set[int]:
    ndim = call.tensors[0].dim()
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return set(range(ndim))
    many = dim if isinstance(dim, (tuple, list)) else [dim]
    return {d % ndim for d in many} if ndim else set()


def _reduced(call: Call, dims: set[int], keepdim: bool, sums: bool) -> Names:
    own = [d if sums or d not in dims else None for d in range(call.tensors[0].dim())]
    if keepdim:
        out: list[Any] = [None if d in dims else d for d in range(len(own))]
    else:
        out = [d for d in range(len(own)) if d not in dims]
    return Names([own], out, linear=sums)


def _mean_of_parts(call: Call, args: tuple, kwargs: dict, out: list) -> Any:
    """Sums of the parts, divided by how many there are in the whole."""
    dim = call.arg(1, "dim")
    count = math.prod(call.tensors[0].size(d) for d in _dims(call, dim))
    keepdim, dtype = call.arg(2, "keepdim", False), call.kwargs.get("dtype")
    dims = sorted(_dims(call, dim))
    x = args[0] if args else kwargs["input"]
    if not dims:
        return call.func(*args, **kwargs)
    return x.sum(dims, keepdim=keepdim, dtype=dtype) / count


@rule("sum")
@rule("mean", _mean_of_parts)
def _sum(call: Call) -> Names | None:
    if call.tensors[0].dtype == ember.bool or len(call.tensors) != 1:
        return None
    dims = _dims(call, call.arg(1, "dim"))
    return _reduced(call, dims, call.arg(2, "keepdim", False), True)


@rule("flip roll softmax log_softmax softmin")
def _along(call: Call) -> Names | None:
    """Ops along dimensions that arguments name, or all of them: these must be whole."""
    bound = call.bound("softmax" if call.name == "softmin" else call.name)
    if bound is None or len(call.tensors) != 1:
        return _pointwise(call) if "pointwise" in traits_of(call.func) else None
    x, dims = call.tensors[0], set[int]()
    named = [p for p in bound.schema.params if p.name in DIMS]
    for param in named:
        dims |= _dims(call, bound.value(param))
    if not named:
        dims = _dims(call, None)
    own = [None if d in dims else d for d in range(x.dim())]
    ranks = {out.dim() for out in tree_flatten(call.whole)[0]}
    if ranks == {x.dim()}:
        return Names([own], own)
    if ranks == {x.dim() - len(dims)}:
        return Names([own], [d for d in own if d is not None])
    return None


def _unless_moved(call: Call) -> Names | None:
    """Of ops that move the other dimensions too nothing is known."""
    return None if "rearranges" in traits_of(call.func) else _along(call)


BY_TRAIT["along"] = Rule(_unless_moved)
BY_TRAIT["pointwise"] = Rule(_pointwise)


def _norm(func: Callable, x: Any, *args: Any, **kwargs: Any) -> Any:
    """The norm of all elements: powers of the parts' norms add up."""
    order = args[0] if args else kwargs.get("p", kwargs.get("ord", 2))
    order = {None: 2, "fro": 2}.get(order, order)
    over = args[1] if len(args) > 1 else kwargs.get("dim")
    keep = args[2] if len(args) > 2 else kwargs.get("keepdim", False)
    if over is not None or keep or isinstance(order, str) or order in (0, -math.inf):
        whole = x.redistribute(placements=[Replicate()] * x._mesh.ndim)
        made = func(whole._local_tensor, *args, **kwargs)
        return wrap(made, x._mesh, whole._placements, made.shape)
    if any(p.is_partial() for p in x._placements):
        x = x.redistribute(placements=[Replicate()] * x._mesh.ndim)
    local, dtype = x._local_tensor, kwargs.get("dtype")
    kind = Partial("max") if order == math.inf else Partial()
    placed: list[Placement] = [
        kind if isinstance(p, Shard) else Replicate() for p in x._placements
    ]
    if not any(p.is_partial() for p in placed):
        made = ember.linalg.vector_norm(local, order, dtype=dtype)
        return wrap(made, x._mesh, placed, ())
    if order == math.inf:
        flat = ember.cat([local.flatten(), local.new_zeros(1)])  # a part may be empty
        made = ember.linalg.vector_norm(flat, order, dtype=dtype)
        parts = wrap(made, x._mesh, placed, ())
        return parts.redistribute(placements=[Replicate()] * x._mesh.ndim)
    made = local.abs().to(dtype or local.dtype).pow(order).sum()
    parts = wrap(made, x._mesh, placed, ())
    return parts.redistribute(placements=[Replicate()] * x._mesh.ndim) ** (1 / order)


WHOLE["norm"] = WHOLE["vector_norm"] = _norm


# --- products ---


def _product_labels(a: int, b: int) -> tuple[list, list, list]:
    """Labels of two factors of `matmul` with so many dimensions, and of the result."""
    batch = max(a, b, 2) - 2
    ones = [("batch", batch - (a - 2) + i) for i in range(max(a - 2, 0))]
    twos = [("batch", batch - (b - 2) + i) for i in range(max(b - 2, 0))]
    left: list[Any] = [*ones, "m", "k"] if a > 1 else ["k"]
    right: list[Any] = [*twos, "k", "n"] if b > 1 else ["k"]
    out: list[Any] = [("batch", i) for i in range(batch)]
    return left, right, out + ["m"] * (a > 1) + ["n"] * (b > 1)


def _broadcast_apart(labels: list, t: Tensor, out: list, whole: Tensor) -> list:
    """Labels of dimensions that are repeated must not be cut."""
    return [
        None if label in out and t.size(d) != whole.size(out.index(label)) else label
        for d, label in enumerate(labels)
    ]


@rule("matmul mm bmm mv dot __matmul__")
def _matmul(call: Call) -> Names | None:
    a, b = call.tensors
    left, right, out = _product_labels(a.dim(), b.dim())
    left = _broadcast_apart(left, a, out, call.whole)
    right = _broadcast_apart(right, b, out, call.whole)
    return Names([left, right], out)


@rule("addmm baddbmm addmv")
def _addmm(call: Call) -> Names | None:
    added, a, b = call.tensors
    left, right, out = _product_labels(a.dim(), b.dim())
    own = out[len(out) - added.dim() :]
    own = _broadcast_apart(own, added, out, call.whole)
    return Names([own, left, right], out, added={0})


@rule("linear")
def _linear(call: Call) -> Names | None:
    x, weight = call.tensors[:2]
    rows: list[Any] = [("batch", d) for d in range(x.dim() - 1)]
    columns = ["n"] * (weight.dim() == 2)
    inputs = [[*rows, "k"], [*columns, "k"], columns]
    return Names(inputs[: len(call.tensors)], rows + columns, added={2})


@rule("scaled_dot_product_attention")
def _attention(call: Call) -> Names | None:
    if call.arg(4, "dropout_p", 0.0):
        return None
    whole = call.whole
    inputs = []
    for t in call.tensors:
        first = whole.dim() - t.dim()
        same = [t.size(d) == whole.size(first + d) for d in range(t.dim() - 2)]
        labels = [first + d if same[d] else None for d in range(t.dim() - 2)]
        inputs.append([*labels, None, None])
    if call.arg(7, "enable_gqa", False):
        inputs = [[None if d == whole.dim() - 3 else d for d in i] for i in inputs]
    return Names(inputs, [*range(whole.dim() - 2), None, None])


# --- ops that need some dimensions whole ---


@rule("layer_norm rms_norm")
def _layer_norm(call: Call) -> Names | None:
    x = call.tensors[0]
    inner = call.args[1] if len(call.args) > 1 else call.kwargs["normalized_shape"]
    count = x.dim() - (1 if isinstance(inner, int) else len(inner))
    own = [d if d < count else None for d in range(x.dim())]
    rest = [[None] * t.dim() for t in call.tensors[1:]]
    return Names([own, *rest], own)


@rule("""conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d
    group_norm""")
def _batched(call: Call) -> Names | None:
    x = call.tensors[0]
    if x.dim() != call.whole.dim() or x.size(0) != call.whole.size(0):
        return None
    rest = [[None] * t.dim() for t in call.tensors[1:]]
    batched = x.dim() == call.tensors[1].dim() if len(call.tensors) > 1 else True
    if call.name.startswith("conv") and not batched:
        return None
    own = [0, *[None] * (x.dim() - 1)]
    return Names([own, *rest], list(own))


@rule("""max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d pad
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d""")
def _pooled(call: Call) -> Names | None:
    if not isinstance(call.whole, Tensor) or call.tensors[0].dim() != call.whole.dim():
        return None
    sizes = zip(call.tensors[0].shape, call.whole.shape)
    kept = [d if d < 2 and a == b else None for d, (a, b) in enumerate(sizes)]
    if call.tensors[0].dim() < 3:
        return None
    return Names([kept], kept)


# --- joining and looking up ---


@rule("cat concat concatenate")
def _cat(call: Call) -> Names | None:
    dim, ndim = call.arg(1, "dim", 0), call.whole.dim()
    own = [None if d == dim % ndim else d for d in range(ndim)]
    if any(t.dim() != ndim for t in call.tensors):
        return None
    return Names([list(own) for _ in call.tensors], own)


@rule("stack")
def _stack(call: Call) -> Names | None:
    ndim = call.whole.dim()
    dim = call.arg(1, "dim", 0) % ndim
    own: list[Any] = list(range(ndim - 1))
    return Names(
        [list(own) for _ in call.tensors],
        [*own[:dim], None, *own[dim:]],
        linear=True,
    )


def _rows_of_part(call: Call, args: tuple, kwargs: dict, out: list) -> Any:
    """Rows that this process has; zeros for the others, which have theirs."""
    weight, index = args[:2]
    table = call.tensors[0]
    cut = [q if p.is_partial() else Replicate()
           for p, q in zip(out[0], table._placements)]  # fmt: skip
    if not any(isinstance(p, Shard) for p in cut):
        return call.func(*args, **kwargs)
    if call.arg(3, "scale_grad_by_freq", False):
        raise NotImplementedError(
            "embedding(): scale_grad_by_freq needs all rows; do not cut the table there"
        )
    begin = local_offset(table.shape, call.mesh, cut)[0]
    inside = (index >= begin) & (index < begin + weight.size(0))
    at = ember.where(inside, index - begin, 0)
    found = _lookup(weight, at)
    padding = call.arg(2, "padding_idx", -1)
    if padding is not None and padding >= 0:  # its row gets no gradient
        found = ember.where((index == padding).unsqueeze(-1), found.detach(), found)
    return found * inside.unsqueeze(-1).to(found.dtype)


def _lookup(weight: Tensor, index: Tensor) -> Tensor:
    if not weight.size(0):  # a process that has no rows
        return weight.sum() + weight.new_zeros((*index.shape, weight.size(1)))
    return ember.nn.functional.embedding(index, weight)


@rule("embedding", _rows_of_part)
def _embedding(call: Call) -> Names | None:
    places = [("at", d) for d in range(call.tensors[1].dim())]
    return Names([["row", "column"], places], [*places, "column"])


# --- lists of parameters ---


def _fused_on_parts(func: Callable, *args: Any, **kwargs: Any) -> Any:
    """Updates of parameters are elementwise: they go on the parts as they are."""
    tensors = [t for a in args if isinstance(a, (list, tuple)) for t in a]
    if any(p.is_partial() for t in tensors if isinstance(t, DTensor)
           for p in t._placements):  # fmt: skip
        raise RuntimeError(f"{func.__name__}(): a tensor of terms cannot be updated")
    return func(*_local_lists(args), **kwargs)


def _foreach(func: Callable, *args: Any, **kwargs: Any) -> Any:
    """One loop over the parts if they lie alike; [] means: one by one, please."""
    lists = [a for a in args if isinstance(a, (list, tuple)) and a]
    lists = [a for a in lists if isinstance(a[0], Tensor)]
    in_place = args[5] if len(args) > 5 else kwargs.get("in_place", False)
    alike = all(
        len({(t._placements if isinstance(t, DTensor) else None) for t in row}) == 1
        and not any(p.is_partial() for p in getattr(row[0], "_placements", ()))
        and len({tuple(t.shape) for t in row}) == 1
        for row in zip(*lists)
    )
    return func(*_local_lists(args), **kwargs) if in_place and alike else []


def _local_lists(args: tuple) -> list:
    def local(value: Any) -> Any:
        return value._local_tensor if isinstance(value, DTensor) else value

    return [
        [local(v) for v in a] if isinstance(a, (list, tuple)) else local(a)
        for a in args
    ]


for _name in dir(_C):
    if _name.startswith("_fused_"):  # the steps of optimizers
        WHOLE[_name] = _fused_on_parts
WHOLE["_foreach_fused"] = _foreach
WHOLE.update(_losses.TABLE)
WHOLE.update(_random.TABLE)
rule("view reshape flatten unflatten ravel view_as reshape_as squeeze unsqueeze",
     reshaped)(viewed)  # fmt: skip
rule("""transpose permute movedim moveaxis swapaxes swapdims t select narrow split chunk
    unbind tensor_split __getitem__ adjoint diagonal unfold""")(viewed)


def _to_local_size(call: Call, args: tuple, kwargs: dict, out: list) -> Any:
    return args[0].expand(local_shape(call.whole.shape, call.mesh, out[0]))


rule("expand expand_as broadcast_to", _to_local_size)(viewed)
