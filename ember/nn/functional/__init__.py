"""Functions of neural networks, as `torch.nn.functional` has them.

They are written in terms of ordinary tensor operations, one file for each family. Where
the core has a fused version under `_C._nn`, that one takes the composite's place.
"""

from ember import _C
from ember.nn.functional.activation import (
    celu,
    celu_,
    elu,
    elu_,
    gelu,
    glu,
    gumbel_softmax,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    hardtanh_,
    leaky_relu,
    leaky_relu_,
    log_softmax,
    logsigmoid,
    mish,
    prelu,
    relu,
    relu6,
    relu_,
    rrelu,
    rrelu_,
    selu,
    selu_,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    softshrink,
    softsign,
    tanh,
    tanhshrink,
    threshold,
    threshold_,
)
from ember.nn.functional.attention import (
    multi_head_attention_forward,
    scaled_dot_product_attention,
)
from ember.nn.functional.conv import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
)
from ember.nn.functional.dropout import (
    alpha_dropout,
    dropout,
    dropout1d,
    dropout2d,
    dropout3d,
    feature_alpha_dropout,
)
from ember.nn.functional.layers import (
    bilinear,
    cosine_similarity,
    embedding,
    layer_norm,
    linear,
    normalize,
    one_hot,
    pairwise_distance,
)
from ember.nn.functional.loss import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    cross_entropy,
    gaussian_nll_loss,
    huber_loss,
    kl_div,
    l1_loss,
    mse_loss,
    nll_loss,
    poisson_nll_loss,
    smooth_l1_loss,
)
from ember.nn.functional.normalization import (
    batch_norm,
    group_norm,
    instance_norm,
    local_response_norm,
    rms_norm,
)
from ember.nn.functional.padding import pad
from ember.nn.functional.ranking_loss import (
    cosine_embedding_loss,
    hinge_embedding_loss,
    margin_ranking_loss,
    soft_margin_loss,
    triplet_margin_loss,
)

_core = getattr(_C, "_nn", None)
globals().update(
    {name: getattr(_core, name) for name in dir(_core) if not name.startswith("_")}
)
