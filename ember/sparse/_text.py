"""The text of a sparse tensor, as PyTorch prints it."""

import ember
from ember._tensor_str import _contents, _join, _node_name
from ember.sparse._parts import _nnz
from ember.sparse._tensor import ROWS, SparseTensor


def text(t: SparseTensor) -> str:
    """indices, values, size, number of elements and layout."""
    if t._layout is ember.sparse_coo:
        names = ["indices"]
    elif t._layout in ROWS:
        names = ["crow_indices", "col_indices"]
    else:
        names = ["ccol_indices", "row_indices"]
    prefix = "tensor("
    parts = [_part(n, i, prefix) for n, i in zip(names, t._index)]
    parts.append(_part("values", t._val.detach(), prefix))
    body = (",\n" + " " * len(prefix)).join(parts)
    suffixes = [f"size={tuple(t._size)}", f"nnz={_nnz(t)}"]
    if t.device.type != "cpu":
        suffixes.insert(0, f"device='{t.device}'")
    default = ember.get_default_dtype()
    if t.dtype not in (default, ember.int64, ember.bool):
        wide = ember.complex128 if default == ember.float64 else ember.complex64
        if t.dtype != wide:
            suffixes.append(f"dtype={t.dtype}")
    suffixes.append(f"layout={t._layout}")
    if t.grad_fn is not None:
        suffixes.append(f"grad_fn=<{_node_name(t.grad_fn)}>")
    elif t.requires_grad:
        suffixes.append("requires_grad=True")
    if t._layout is ember.sparse_coo:  # there the size begins a line of its own
        indent = " " * len(prefix)
        return _join(prefix + body + ",\n" + indent + suffixes[0], suffixes[1:], 7)
    return _join(prefix + body, suffixes, len(prefix))


def _part(name: str, t, prefix: str) -> str:
    head = f"{name}=tensor("
    if t.is_meta:
        body = f"..., size={tuple(t.shape)}"
    elif t.numel():
        body = _contents(t, len(prefix) + len(head))
    else:
        body = f"[], size={tuple(t.shape)}"
    return head + body + ")"
