"""Functions of neural networks, as `torch.nn.functional` has them.

Those that are ops of the core (activations, losses, convolutions, pools, norms) come
from there by their names; the others are written in terms of ordinary tensor
operations, one file for each family.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ember import _C, _lazy
from ember.nn.functional.activation import (
    glu as glu,
    gumbel_softmax as gumbel_softmax,
    log_softmax as log_softmax,
    rrelu as rrelu,
    rrelu_ as rrelu_,
    sigmoid as sigmoid,
    softmax as softmax,
    softmin as softmin,
    tanh as tanh,
)
from ember.nn.functional.adaptive_pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d,
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d as adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d as adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices,
    fractional_max_pool2d as fractional_max_pool2d,
    fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices,
    fractional_max_pool3d as fractional_max_pool3d,
    fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices,
)
from ember.nn.functional.attention import (
    multi_head_attention_forward as multi_head_attention_forward,
)
from ember.nn.functional.class_loss import (
    ctc_loss as ctc_loss,
    linear_cross_entropy as linear_cross_entropy,
    multi_margin_loss as multi_margin_loss,
    multilabel_margin_loss as multilabel_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from ember.nn.functional.dropout import (
    alpha_dropout as alpha_dropout,
    dropout as dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
    feature_alpha_dropout as feature_alpha_dropout,
)
from ember.nn.functional.embedding import (
    embedding as embedding,
    embedding_bag as embedding_bag,
)
from ember.nn.functional.grouped import grouped_mm as grouped_mm
from ember.nn.functional.layers import (
    bilinear as bilinear,
    cosine_similarity as cosine_similarity,
    normalize as normalize,
    one_hot as one_hot,
    pairwise_distance as pairwise_distance,
)
from ember.nn.functional.loss import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    gaussian_nll_loss as gaussian_nll_loss,
    huber_loss as huber_loss,
    kl_div as kl_div,
    l1_loss as l1_loss,
    mse_loss as mse_loss,
    poisson_nll_loss as poisson_nll_loss,
    smooth_l1_loss as smooth_l1_loss,
)
from ember.nn.functional.normalization import local_response_norm as local_response_norm
from ember.nn.functional.padding import pad as pad
from ember.nn.functional.pooling import (
    lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d,
    lp_pool3d as lp_pool3d,
    max_unpool1d as max_unpool1d,
    max_unpool2d as max_unpool2d,
    max_unpool3d as max_unpool3d,
)
from ember.nn.functional.ranking_loss import (
    cosine_embedding_loss as cosine_embedding_loss,
    hinge_embedding_loss as hinge_embedding_loss,
    margin_ranking_loss as margin_ranking_loss,
    soft_margin_loss as soft_margin_loss,
    triplet_margin_loss as triplet_margin_loss,
)
from ember.nn.functional.resample import (
    interpolate as interpolate,
    upsample as upsample,
    upsample_bilinear as upsample_bilinear,
    upsample_nearest as upsample_nearest,
)
from ember.nn.functional.scaled import (
    ScalingType as ScalingType,
    SwizzleType as SwizzleType,
    scaled_mm as scaled_mm,
)
from ember.nn.functional.vision import (
    affine_grid as affine_grid,
    channel_shuffle as channel_shuffle,
    grid_sample as grid_sample,
    native_channel_shuffle as native_channel_shuffle,
    pdist as pdist,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
)

if TYPE_CHECKING:  # the ops
    from ember._names.functional import *

_prefix = "nn.functional."
globals().update(
    {
        name[len(_prefix) :]: op
        for name, op in _C._ops.items()
        if name.startswith(_prefix)
    }
)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name == "conv_tbc":  # made of functions of this module
            return import_module("ember._functions.aten").conv_tbc
        return _lazy.missing(__name__)(name)
