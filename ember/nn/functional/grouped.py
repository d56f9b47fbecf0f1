"""Products of many matrices at once, of which one side is cut into groups."""

import ember
from ember import Tensor


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: "ember.dtype | None" = None,
) -> Tensor:
    """One product for every group, as layers with several experts need it.

    Of two 3-D tensors each pair of matrices is a group. A 2-D one is cut at `offs`,
    where groups end: `mat_a` along its rows, `mat_b` along its columns, and two of them
    along the dimension they share. What no group covers is 0.

    >>> import ember
    >>> import ember.nn.functional as F
    >>> tokens, experts = ember.ones(3, 2), ember.tensor([1.0, 10.0]).view(2, 1, 1)
    >>> ends = ember.tensor([1, 3], dtype=ember.int32)
    >>> F.grouped_mm(tokens, experts.expand(2, 2, 1), offs=ends)
    tensor([[ 2.],
            [20.],
            [20.]])
    """
    _check(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return mat_a @ mat_b
    rows, columns = mat_a.dim() == 2, mat_b.dim() == 2
    if rows:
        size = mat_a.shape[1 if columns else 0]
    else:
        size = mat_b.shape[1]
    ends = offs.tolist()
    cuts = [0, *ends]
    if any(a > b for a, b in zip(cuts, ends)) or cuts[-1] > size:
        raise RuntimeError(
            "grouped_mm(): offs must not decrease or pass the size that is cut, "
            f"{size}, got {ends}"
        )
    sizes = [b - a for a, b in zip(cuts, ends)] + [size - cuts[-1]]
    if rows and columns:
        pairs = zip(mat_a.split(sizes, 1), mat_b.split(sizes, 0))
        return ember.stack([a @ b for a, b in pairs][:-1])
    if rows:
        *parts, rest = mat_a.split(sizes, 0)
        made = [a @ b for a, b in zip(parts, mat_b.unbind(0))]
        return ember.cat([*made, rest.new_zeros(len(rest), mat_b.shape[2])], 0)
    *parts, rest = mat_b.split(sizes, 1)
    made = [a @ b for a, b in zip(mat_a.unbind(0), parts)]
    return ember.cat([*made, rest.new_zeros(mat_a.shape[1], rest.shape[1])], 1)


def _check(mat_a, mat_b, offs, bias, out_dtype) -> None:
    """Raise unless the arguments go together."""
    kinds = (ember.float32, ember.bfloat16, ember.float16)
    for name, mat in (("mat_a", mat_a), ("mat_b", mat_b)):
        if mat.dim() not in (2, 3):
            raise RuntimeError(f"grouped_mm(): {name} has to be 2 or 3d")
        if mat.dtype not in kinds:
            raise RuntimeError(
                f"grouped_mm(): Expected {name} to be Float32, BFloat16 or Float16 "
                f"matrix, got {mat.dtype}"
            )
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError(
            "grouped_mm(): contraction dimension of mat_a and mat_b must match, got "
            f"{mat_a.shape[-1]} and {mat_b.shape[-2]}"
        )
    if mat_a.dtype != mat_b.dtype:
        raise RuntimeError(
            f"grouped_mm(): dtypes differ, {mat_a.dtype} and {mat_b.dtype}"
        )
    both = mat_a.dim() == mat_b.dim() == 3
    if both == (offs is not None):
        raise RuntimeError(
            "grouped_mm(): Have to provide offsets if there is a 2d matrix, or no "
            "offset if both matrices are 3d"
        )
    groups = {len(m) for m in (mat_a, mat_b) if m.dim() == 3}
    if offs is not None:
        if offs.dtype != ember.int32 or offs.dim() != 1:
            raise RuntimeError("grouped_mm(): Offsets have to be int32, in a 1d tensor")
        groups.add(len(offs))
    if len(groups) > 1:
        raise RuntimeError(
            f"grouped_mm(): matrix batch sizes have to match, got {sorted(groups)}"
        )
    if bias is not None:
        raise RuntimeError("grouped_mm(): Bias not supported yet")
    if out_dtype not in (None, mat_a.dtype):
        raise RuntimeError(
            "grouped_mm(): Grouped gemm output dtype must match `mat_a` dtype"
        )
