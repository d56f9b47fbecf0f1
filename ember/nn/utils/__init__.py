"""Helpers around modules: limits on gradients, parameters as a vector, sequences,
parametrized and pruned weights, fusion of layers, calls with other parameters.
"""

from typing import TYPE_CHECKING

from ember import _lazy
from ember.nn.utils import (
    parametrizations as parametrizations,
    parametrize as parametrize,
    rnn as rnn,
    stateless as stateless,
)
from ember.nn.utils.clip_grad import (
    clip_grad_norm as clip_grad_norm,
    clip_grad_norm_ as clip_grad_norm_,
    clip_grad_value_ as clip_grad_value_,
    clip_grads_with_norm_ as clip_grads_with_norm_,
    get_total_norm as get_total_norm,
)
from ember.nn.utils.convert_parameters import (
    parameters_to_vector as parameters_to_vector,
    vector_to_parameters as vector_to_parameters,
)
from ember.nn.utils.fusion import (
    fuse_conv_bn_eval as fuse_conv_bn_eval,
    fuse_conv_bn_weights as fuse_conv_bn_weights,
    fuse_linear_bn_eval as fuse_linear_bn_eval,
    fuse_linear_bn_weights as fuse_linear_bn_weights,
)
from ember.nn.utils.init import skip_init as skip_init
from ember.nn.utils.memory_format import (
    convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format,
    convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format,
)
from ember.nn.utils.spectral_norm import (
    remove_spectral_norm as remove_spectral_norm,
    spectral_norm as spectral_norm,
)
from ember.nn.utils.weight_norm import (
    remove_weight_norm as remove_weight_norm,
    weight_norm as weight_norm,
)

if not TYPE_CHECKING:  # a checker reports what is not here
    __getattr__ = _lazy.missing(__name__)
