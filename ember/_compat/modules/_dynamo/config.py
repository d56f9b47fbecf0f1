"""Options of `compile`. `disable`, `suppress_errors` and `recompile_limit` do what they
say; the others are kept."""

import sys
from typing import Any

from ember._compat.small_modules import ConfigModule
from ember.compiler._face import state

trace_autograd_ops = False
suppress_errors = False
verbose = False
cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = accumulated_recompile_limit = 256
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
optimize_ddp = True
assume_static_by_default = True
automatic_dynamic_shapes = True
dynamic_shapes = True
inline_inbuilt_nn_modules = True
skip_fwd_side_effects_in_bwd_under_checkpoint = False
guard_nn_modules = True
disable = False
force_parameter_static_shapes = True
error_on_recompile = False
allow_unspec_int_on_nn_module = False
compiled_autograd = False
log_level = None


class _Config(ConfigModule):
    def __setattr__(self, name: str, value: Any) -> None:
        if name == "disable":
            state.reason("config", bool(value) - bool(self.disable))
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Config
