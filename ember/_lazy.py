"""What `import ember` leaves for later: subpackages, and names in modules that few
programs need. `find` is called once per name; the package keeps the result. What is
there for the sake of libraries only is in `ember._compat`, which is asked last.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

_SUBPACKAGES = """
    accelerator amp ao array_api autograd backends compiler cpu cuda distributed
    distributions export fft func functional futures fx hub jit legacy library
    linalg masked mps mtia multiprocessing nested nn onnx opencl ops optim overrides
    package profiler quantization quasirandom random return_types serialization
    signal sparse special storage testing types utils version xpu
    """
SUBMODULES = frozenset(_SUBPACKAGES.split())

# module -> the names of the top level that it defines
_DEFINES = {
    "_functions.typed_tensors": """
        BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor
        HalfTensor IntTensor LongTensor ShortTensor set_default_tensor_type
        """,
    "_runtime": """
        are_deterministic_algorithms_enabled get_deterministic_debug_mode
        get_float32_matmul_precision get_num_interop_threads has_lapack has_mkl
        has_openmp
        is_deterministic_algorithms_warn_only_enabled is_warn_always_enabled
        set_deterministic_debug_mode set_float32_matmul_precision set_flush_denormal
        set_num_interop_threads set_warn_always use_deterministic_algorithms
        """,
    "_functions.windows": """
        bartlett_window blackman_window hamming_window hann_window kaiser_window
        """,
    "sparse._create": """
        sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor sparse_coo_tensor
        sparse_csc_tensor sparse_csr_tensor
        """,
    "sparse._matmul": "dsmm hsmm hspmm saddmm smm spmm sspaddmm",
    "sparse._parts": """
        ccol_indices_copy col_indices_copy crow_indices_copy indices_copy
        row_indices_copy values_copy
        """,
    "sparse._copies": "resize_as_sparse_",
    "_errors": "AcceleratorError OutOfMemoryError",
    "_tensor_str": "get_printoptions set_printoptions",
    "_type_info": "finfo iinfo",
    "_tensor": "DisableTorchFunction DisableTorchFunctionSubclass",
    "autograd.anomaly_mode": "set_anomaly_enabled",
    "autograd.grad_mode": "enable_grad inference_mode no_grad set_grad_enabled",
    "nn.functional": """
        avg_pool1d adaptive_avg_pool1d bilinear celu celu_ channel_shuffle conv1d conv2d
        conv3d conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity
        hardshrink max_pool1d max_pool1d_with_indices max_pool2d
        max_pool3d native_channel_shuffle pairwise_distance pdist pixel_shuffle
        pixel_unshuffle selu selu_ threshold threshold_
        """,
    "amp.autocast_mode": """
        autocast autocast_decrement_nesting autocast_increment_nesting
        clear_autocast_cache get_autocast_dtype is_autocast_cache_enabled
        is_autocast_enabled set_autocast_cache_enabled set_autocast_dtype
        set_autocast_enabled
        """,
    "amp._by_device": """
        get_autocast_cpu_dtype get_autocast_gpu_dtype is_autocast_cpu_enabled
        set_autocast_cpu_dtype set_autocast_cpu_enabled set_autocast_gpu_dtype
        """,
    "amp.grad_scaler": "GradScaler",
    "func": "vmap",
    "_odds": """
        Event Future Stream compiled_with_cxx11_abi dequantize fork from_file
        get_device_module has_lapack has_mkl has_openmp has_spectral init_num_threads
        is_distributed is_vulkan_available legacy_contiguous_format set_anomaly_enabled
        wait
        """,
    "_functions.symbolic": """
        cond sym_constrain_range sym_constrain_range_for_size sym_float sym_fresh_size
        sym_int sym_ite sym_max sym_min sym_not sym_sqrt sym_sum while_loop
        """,
    "random": """
        fork_rng get_rng_state initial_seed manual_seed seed set_rng_state
        thread_safe_generator
        """,
    "serialization": "load save",
    "storage": """
        BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage
        ComplexFloatStorage DoubleStorage FloatStorage HalfStorage IntStorage
        LongStorage ShortStorage Storage TypedStorage
        """,
    "utils.dlpack": "to_dlpack",
    "compiler": "compile",
    "_functions.einsum": "einsum tensordot",
    "_functions.histogramdd": "histogramdd",
    "_functions.lowrank": "lobpcg lu pca_lowrank svd_lowrank",
    "_functions.grids": """
        broadcast_shapes cartesian_prod combinations frobenius_norm meshgrid
        nuclear_norm
        """,
    "_functions.aten": """
        adaptive_max_pool1d affine_grid_generator as_strided_ batch_norm
        batch_norm_update_stats
        binary_cross_entropy_with_logits constant_pad_nd conv_tbc convolution
        cosine_embedding_loss ctc_loss detach_ embedding embedding_renorm_ grid_sampler
        grid_sampler_2d grid_sampler_3d
        hinge_embedding_loss instance_norm kl_div margin_ranking_loss norm_except_dim
        poisson_nll_loss triplet_margin_loss
        """,
}
NAMES = {name: module for module, names in _DEFINES.items() for name in names.split()}


def find(name: str) -> object:
    """The attribute `name` of the package, imported now."""
    if name in NAMES:
        module = _import(NAMES[name])
        if module is not None and hasattr(module, name):
            return getattr(module, name)
    elif name in SUBMODULES:
        module = _import(name)
        if module is not None:
            return module
    elif name.startswith("_"):  # ops such as _standard_gamma, not in `import *`
        from ember._C import _ops

        if name in _ops:
            return _ops[name]
        if name.startswith("_foreach_"):
            from ember._functions import foreach

            if hasattr(foreach, name):
                return getattr(foreach, name)
    return missing("ember")(name)


class _Finder:
    """Asks `ember._compat` for modules of ember that no file is found for."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> Any:
        if not name.startswith("ember.") or name.startswith("ember._compat"):
            return None
        return import_module("ember._compat").spec(name)


sys.meta_path.append(_Finder)  # type: ignore[arg-type]


def missing(module: str) -> Callable[[str], Any]:
    """A module's `__getattr__`: submodules, and what libraries ask of the module.

    >>> from ember import nn
    >>> nn.modules.pixelshuffle.PixelShuffle is nn.PixelShuffle
    True
    """

    def __getattr__(name: str) -> Any:
        if name[:2] == "__" and name not in ("__config__", "__future__"):
            # `from module import x` asks every module for __path__
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        value = import_module("ember._compat").find(module, name)
        setattr(sys.modules[module], name, value)
        return value

    return __getattr__


def _import(name: str):
    """A submodule, or None if there is no such file."""
    full = f"ember.{name}"
    try:
        return import_module(full)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if full != missing and not full.startswith(missing + "."):
            raise
        return None


def fill(namespace: dict, prefix: str) -> None:
    """Put the core's functions called `prefix.name` into a module's globals.

    They are the core's ops with a dot in their name: "linalg.norm" is `norm` there.
    """
    from ember._C import _ops

    names = namespace.setdefault("__all__", [])
    for full, op in _ops.items():
        head, _, name = full.rpartition(".")
        if head == prefix:
            namespace.setdefault(name, op)
            names.append(name)
