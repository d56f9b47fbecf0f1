"""Signatures for the stub of what is no op: methods of the core's classes, functions.

Also those of ops whose result depends on a flag, which a schema cannot say.
`tools/make_stubs.py` writes them; a name here that the core does not have is an error.
"""

from __future__ import annotations

# name -> parameters and result, after "def name". A tuple: overloads.
TENSOR = {
    "__complex__": "(self) -> _complex",
    "__contains__": "(self, element: Any, /) -> _bool",
    "__dlpack__": "(self, *, stream: Any = ..., max_version: Any = ...,"
    " dl_device: tuple[_int, _int] | None = ..., copy: _bool | None = ...) -> Any",
    "__dlpack_device__": "(self) -> tuple[_int, _int]",
    "__array__": "(self, dtype: Any = ...) -> _ndarray",
    "__array_namespace__": "(self, *, api_version: _str | None = ...) -> Any",
    "to_device": "(self, device: _DeviceLike, /, *, stream: Any = ...) -> Tensor",
    "__reversed__": "(self) -> Tensor",
    "_coalesced_": "(self, coalesced: _bool) -> Self",
    "_indices": "(self) -> Tensor",
    "_is_view": "(self) -> _bool",
    "_nnz": "(self) -> _int",
    "_repr_html_": "(self) -> _str",
    "_values": "(self) -> Tensor",
    "apply_": "(self, callable: _Callable[[Any], Any]) -> Self",
    "as_subclass": "(self, cls: _builtin_type[_S]) -> _S",
    "backward": "(self, gradient: Tensor | None = ...,"
    " retain_graph: _bool | None = ..., create_graph: _bool = ...,"
    " inputs: Tensor | _Sequence[Tensor] | None = ...) -> None",
    "ccol_indices": "(self) -> Tensor",
    "coalesce": "(self) -> Tensor",
    "col_indices": "(self) -> Tensor",
    "const_data_ptr": "(self) -> _int",
    "crow_indices": "(self) -> Tensor",
    "cuda": "(self, device: _DeviceLike | None = ..., non_blocking: _bool = ...,"
    " memory_format: memory_format = ...) -> Tensor",
    "data_ptr": "(self) -> _int",
    "dense_dim": "(self) -> _int",
    "dequantize": "(self) -> Tensor",
    "detach_": "(self) -> Self",
    "dim": "(self) -> _int",
    "dim_order": "(self, ambiguity_check: Any = ...) -> tuple[_int, ...]",
    "element_size": "(self) -> _int",
    "get_device": "(self) -> _int",
    "has_names": "(self) -> _bool",
    "indices": "(self) -> Tensor",
    "is_coalesced": "(self) -> _bool",
    "is_distributed": "(self) -> _bool",
    "is_inference": "(self) -> _bool",
    "is_pinned": "(self, device: Any = ...) -> _bool",
    "is_set_to": "(self, tensor: Tensor) -> _bool",
    "is_shared": "(self) -> _bool",
    "lu": "(self, pivot: _bool = ..., get_infos: _bool = ...) -> tuple[Tensor, ...]",
    "map_": "(self, tensor: Tensor, callable: _Callable[[Any, Any], Any]) -> Self",
    "map2_": "(self, x: Tensor, y: Tensor, callable: _Callable[[Any, Any, Any], Any])"
    " -> Self",
    "ndimension": "(self) -> _int",
    "nelement": "(self) -> _int",
    "new": "(self, *args: Any, **kwargs: Any) -> Tensor",
    "numel": "(self) -> _int",
    "numpy": "(self, *, force: _bool = ...) -> _ndarray",
    "record_stream": "(self, stream: Any) -> None",
    "register_hook": "(self, hook: _Callable[[Tensor], Tensor | None])"
    " -> _RemovableHandle",
    "register_post_accumulate_grad_hook": "(self, hook: _Callable[[Tensor], None])"
    " -> _RemovableHandle",
    "requires_grad_": "(self, requires_grad: _bool = ...) -> Self",
    "resize": "(self, *sizes: Any) -> Tensor",
    "resize_as": "(self, tensor: Tensor) -> Tensor",
    "resize_as_sparse_": "(self, other: Tensor) -> Self",
    "retain_grad": "(self) -> None",
    "row_indices": "(self) -> Tensor",
    "share_memory_": "(self) -> Self",
    "size": ("(self) -> Size", "(self, dim: _int) -> _int"),
    "smm": "(self, mat: Tensor) -> Tensor",
    "sparse_dim": "(self) -> _int",
    "sparse_mask": "(self, mask: Tensor) -> Tensor",
    "sparse_resize_": "(self, size: _Size, sparse_dim: _int, dense_dim: _int) -> Self",
    "sparse_resize_and_clear_": "(self, size: _Size, sparse_dim: _int,"
    " dense_dim: _int) -> Self",
    "sspaddmm": "(self, *args: Any, **kwargs: Any) -> Tensor",
    "storage": "(self) -> Any",
    "storage_offset": "(self) -> _int",
    "storage_type": "(self) -> Any",
    "stride": ("(self) -> tuple[_int, ...]", "(self, dim: _int) -> _int"),
    "to_sparse": (
        "(self, sparse_dim: _int) -> Tensor",
        "(self, *, layout: _layout | None = ..., blocksize: Any = ...,"
        " dense_dim: _int | None = ...) -> Tensor",
    ),
    "to_sparse_bsc": "(self, blocksize: Any, dense_dim: _int | None = ...) -> Tensor",
    "to_sparse_bsr": "(self, blocksize: Any, dense_dim: _int | None = ...) -> Tensor",
    "to_sparse_coo": "(self) -> Tensor",
    "to_sparse_csc": "(self, dense_dim: _int | None = ...) -> Tensor",
    "to_sparse_csr": "(self, dense_dim: _int | None = ...) -> Tensor",
    "tolist": "(self) -> Any",
    "type": (
        "(self) -> _str",
        "(self, dtype: _dtype | _str | _builtin_type[Any], non_blocking: _bool = ...)"
        " -> Tensor",
    ),
    "untyped_storage": "(self) -> UntypedStorage",
    "values": "(self) -> Tensor",
}

CLASSES: dict[str, dict[str, str | tuple[str, ...]]] = {
    "Tensor": TENSOR,
    "Generator": {
        "__init__": "(self, device: _DeviceLike | None = ...) -> None",
        "clone_state": "(self) -> Generator",
        "get_offset": "(self) -> _int",
        "get_state": "(self) -> Tensor",
        "initial_seed": "(self) -> _int",
        "manual_seed": "(self, seed: _int) -> Generator",
        "seed": "(self) -> _int",
        "set_offset": "(self, offset: _int) -> Generator",
        "set_state": "(self, new_state: Tensor) -> Generator",
    },
    "Node": {
        "_sequence_nr": "(self) -> _int",
        "name": "(self) -> _str",
        "register_hook": "(self, fn: _Callable[..., Any]) -> _RemovableHandle",
        "register_prehook": "(self, fn: _Callable[..., Any]) -> _RemovableHandle",
    },
    "UntypedStorage": {
        "__buffer__": "(self, flags: _int, /) -> memoryview",
        "__len__": "(self) -> _int",
        "__getitem__": "(self, index: Any) -> Any",
        "__setitem__": "(self, index: Any, value: Any) -> None",
        "clone": "(self) -> UntypedStorage",
        "copy_": "(self, source: Any, non_blocking: _bool | None = ...) -> Self",
        "cpu": "(self) -> UntypedStorage",
        "data_ptr": "(self) -> _int",
        "element_size": "(self) -> _int",
        "fill_": "(self, value: Any) -> Self",
        "get_device": "(self) -> _int",
        "is_pinned": "(self, device: Any = ...) -> _bool",
        "is_shared": "(self) -> _bool",
        "nbytes": "(self) -> _int",
        "resizable": "(self) -> _bool",
        "resize_": "(self, size: _int) -> Self",
        "share_memory_": "(self) -> Self",
        "size": "(self) -> _int",
        "tolist": "(self) -> list[_int]",
        "untyped": "(self) -> Self",
    },
    "device": {
        "__init__": "(self, type: Any, index: _int | None = None) -> None",
        "__enter__": "(self) -> Self",
        "__exit__": "(self, *exc: object) -> None",
    },
    "dtype": {
        "to_complex": "(self) -> _dtype",
        "to_real": "(self) -> _dtype",
    },
    "DisableTorchFunction": {
        "__enter__": "(self) -> Self",
        "__exit__": "(self, *exc: object) -> None",
    },
    "DisableTorchFunctionSubclass": {
        "__enter__": "(self) -> Self",
        "__exit__": "(self, *exc: object) -> None",
    },
}
FUNCTIONS: dict[str, str] = {
    "can_cast": "(from_: _dtype, to: _dtype) -> _bool",
    "from_numpy": "(ndarray: _ndarray) -> Tensor",
    "get_default_device": "() -> _device",
    "get_default_dtype": "() -> _dtype",
    "get_num_threads": "() -> _int",
    "is_anomaly_check_nan_enabled": "() -> _bool",
    "is_anomaly_enabled": "() -> _bool",
    "is_grad_enabled": "() -> _bool",
    "is_inference_mode_enabled": "() -> _bool",
    "promote_types": "(type1: _dtype, type2: _dtype) -> _dtype",
    "result_type": "(tensor1: _Operand, tensor2: _Operand) -> _dtype",
    "set_default_dtype": "(d: _dtype) -> None",
    "set_num_threads": "(num: _int) -> None",
}

# Members that are not the core's to find: Python's protocols, known by what calls them.
PROTOCOLS = frozenset(
    "__complex__ __contains__ __dlpack__ __dlpack_device__ __array__"
    " __array_namespace__ __reversed__"
    " __buffer__ __len__ __getitem__ __setitem__"
    " __init__ __enter__ __exit__".split()
)


# --- ops whose result depends on a flag -----------------------------------------------

_DIM = "dim: _int | None = ..."


def _unique(*before: str) -> list[str]:
    """Each flag that is set adds a tensor; flags by position are not told apart."""
    forms = []
    for inverse, counts in ((0, 0), (1, 0), (0, 1), (1, 1)):
        parts = [*before, "*"]
        for name, on in (("return_inverse", inverse), ("return_counts", counts)):
            kind = "Literal[True]" if on else "Literal[False] = ..."
            parts.append(f"{name}: {kind}")
        found = ["Tensor"] * (1 + inverse + counts)
        result = f"tuple[{', '.join(found)}]" if len(found) > 1 else "Tensor"
        forms.append(f"({', '.join([*parts, _DIM])}) -> {result}")
    flags = ["return_inverse: _bool = ...", "return_counts: _bool = ..."]
    return [*forms, f"({', '.join([*before, *flags, _DIM])}) -> Any"]


def by_flags(name: str, first: str) -> list[str]:
    """The forms of such an op, if it is one; `first` is "self" or "input: Tensor"."""
    if name == "unique":
        return _unique(first, "sorted: _bool = ...")
    if name == "unique_consecutive":
        return _unique(first)
    if name == "item":
        return [f"({first}) -> _int | _float | _bool"]
    if name in ("max_pool1d", "max_pool2d", "max_pool3d"):
        window = ["kernel_size: _Dims", "stride: _Dims = ...", "padding: _Dims = ..."]
        before = [first, *window, "dilation: _Dims = ...", "ceil_mode: _bool = ..."]
        return [
            f"({', '.join(before)}, return_indices: Literal[False] = ...) -> Tensor",
            f"({', '.join(before)}, *, return_indices: Literal[True])"
            " -> tuple[Tensor, Tensor]",
            f"({', '.join(before)}, return_indices: _bool = ...) -> Any",
        ]
    if name == "nonzero":
        out = "out: Tensor | None = ..."
        return [
            f"({first}, *, as_tuple: Literal[False] = ..., {out}) -> Tensor",
            f"({first}, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]",
            f"({first}, *, as_tuple: _bool) -> Any",
        ]
    return []
