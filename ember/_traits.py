"""What ops do, in words: Note [Traits] in core/ops/schema.h.

An op says so where it is registered (`ember._C._ops["sum"].traits`); a function written
in Python, where it is made overridable. Names that Python gives to operators stand for
the ops that they call.
"""

import operator
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from ember import _C

# What operators are called where it is not the op's own name.
_OPERATORS = {
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "invert": "bitwise_not",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
    "div": "div",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pos": "positive",
}

# What attributes and methods that are no ops (or only ask) tell, by kind.
_TOLD: dict[str, str] = {
    "size": "size shape numel nelement __len__",
    "form": """dim ndim ndimension dtype itemsize element_size nbytes stride layout
        storage_offset is_contiguous is_floating_point is_complex is_signed names
        has_names is_same_size dim_order""",
    "place": """device get_device is_cpu is_cuda is_meta is_mps is_xla is_ipu is_hpu
        is_xpu is_mtia is_vulkan is_maia is_ort __dlpack_device__""",
    "kind": """is_sparse is_sparse_csr is_quantized is_mkldnn is_nested is_conj is_neg
        is_inference is_distributed is_shared is_pinned""",
    "history": "requires_grad is_leaf grad_fn output_nr _version retains_grad",
    "gradient": """grad requires_grad_ retain_grad _base _is_view register_hook
        register_post_accumulate_grad_hook _backward_hooks""",
    "text": "__repr__ __format__",
    "object": "__hash__ __dir__ __reduce_ex__ as_subclass _make_subclass",
    "memory": "data_ptr untyped_storage storage",
    "values": """item tolist numpy __bool__ __int__ __float__ __index__ __complex__
        __array__ __contains__ __dlpack__""",
}


def telling(kinds: str) -> frozenset[str]:
    """The attributes and methods that tell something of these kinds.

    >>> from ember._traits import telling
    >>> sorted(telling("size"))
    ['__len__', 'nelement', 'numel', 'shape', 'size']
    """
    return frozenset(name for kind in kinds.split() for name in _TOLD[kind].split())


@cache
def op_named(name: str) -> Any:
    """The op that a function or method of this name calls, None if it is none.

    >>> from ember._traits import op_named
    >>> op_named("__radd__")
    <op add>
    """
    if name.startswith("__"):  # of an operator: __bool__ is no cast
        inner = name.strip("_")
        for known in (inner, inner[1:]):  # __pow__; __rpow__, __ipow__
            if known in _OPERATORS or hasattr(operator, f"__{known}__"):
                found = op_named(_OPERATORS.get(known, known))
                if found is not None:
                    return found
        return None
    found = _C._ops.get(name) or getattr(_C.Tensor, name, None)
    if isinstance(found, _C.Op):
        return found
    return op_named(name[:-1]) if name.endswith("_") else None


def traits_of(func: Callable) -> frozenset[str]:
    """The traits of what was called; none of what is no op.

    >>> import ember
    >>> from ember._traits import traits_of
    >>> sorted(traits_of(ember.dropout))
    ['pointwise', 'random']
    """
    if isinstance(func, (_C.Op, FunctionType)):
        return getattr(func, "traits", frozenset())
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        name = func.__self__.__name__  # type: ignore[attr-defined]
    op = op_named(name)
    return frozenset() if op is None else op.traits


# What calls of an operator with swapped operands are: __radd__ -> add.
SWAPPED = {
    f"__r{name}__": op_named(f"__{name}__").__name__
    for name in "add sub mul matmul truediv div floordiv mod pow lshift rshift".split()
}
