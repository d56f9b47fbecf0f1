"""Options of PyTorch's compiler of kernels, which is not here; they are kept.
diffusers, hqq, torchao, heavyball and GPT programs set them."""

import sys
from types import SimpleNamespace

from ember._compat.small_modules import ConfigModule

compile_threads = 1
conv_1x1_as_mm = False
coordinate_descent_check_all_directions = False
coordinate_descent_tuning = False
cpp = SimpleNamespace(threads=-1, weight_prepack=False)
cpp_wrapper = False
eager_numerics = SimpleNamespace(division_rounding=False, disable_ftz=False)
epilogue_fusion = True
force_fuse_int_mm_with_mul = False
freezing = False
fx_graph_cache = True
graph_partition = True
joint_custom_post_pass = None
joint_custom_pre_pass = None
max_autotune = False
max_autotune_gemm_search_space = "DEFAULT"
post_grad_custom_post_pass = None
post_grad_custom_pre_pass = None
pre_grad_custom_pass = None
triton = SimpleNamespace(cudagraphs=False, unique_kernel_names=True)
use_mixed_mm = False

sys.modules[__name__].__class__ = ConfigModule
