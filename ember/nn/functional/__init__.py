"""Functions of neural networks, as `torch.nn.functional` has them.

Those that are ops of the core (activations, losses, convolutions, pools, norms) come
from there by their names; the others are written in terms of ordinary tensor
operations, one file for each family.
"""

from importlib import import_module
from typing import Any

from ember import _C, _lazy
from ember.nn.functional.activation import (
    glu,
    gumbel_softmax,
    log_softmax,
    rrelu,
    rrelu_,
    sigmoid,
    softmax,
    softmin,
    tanh,
)
from ember.nn.functional.adaptive_pooling import (
    adaptive_avg_pool1d,
    adaptive_avg_pool2d,
    adaptive_avg_pool3d,
    adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices,
    fractional_max_pool2d,
    fractional_max_pool2d_with_indices,
    fractional_max_pool3d,
    fractional_max_pool3d_with_indices,
)
from ember.nn.functional.attention import multi_head_attention_forward
from ember.nn.functional.class_loss import (
    ctc_loss,
    linear_cross_entropy,
    multi_margin_loss,
    multilabel_margin_loss,
    multilabel_soft_margin_loss,
    triplet_margin_with_distance_loss,
)
from ember.nn.functional.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from ember.nn.functional.embedding import embedding, embedding_bag
from ember.nn.functional.grouped import grouped_mm
from ember.nn.functional.layers import (
    bilinear,
    cosine_similarity,
    normalize,
    one_hot,
    pairwise_distance,
)
from ember.nn.functional.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    poisson_nll_loss,
    smooth_l1_loss,
)
from ember.nn.functional.normalization import local_response_norm
from ember.nn.functional.padding import pad
from ember.nn.functional.pooling import (
    lp_pool1d,
    lp_pool2d,
    lp_pool3d,
    max_unpool1d,
    max_unpool2d,
    max_unpool3d,
)
from ember.nn.functional.ranking_loss import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    soft_margin_loss,
    triplet_margin_loss,
)
from ember.nn.functional.resample import (
    interpolate,
    upsample,
    upsample_bilinear,
    upsample_nearest,
)
from ember.nn.functional.scaled import ScalingType, SwizzleType, scaled_mm
from ember.nn.functional.vision import (
    affine_grid,
    channel_shuffle,
    grid_sample,
    native_channel_shuffle,
    pdist,
    pixel_shuffle,
    pixel_unshuffle,
)

_prefix = "nn.functional."
globals().update(
    {
        name[len(_prefix) :]: op
        for name, op in _C._ops.items()
        if name.startswith(_prefix)
    }
)


def __getattr__(name: str) -> Any:
    if name == "conv_tbc":  # made of functions of this module
        return import_module("ember._functions.aten").conv_tbc
    return _lazy.missing(__name__)(name)
