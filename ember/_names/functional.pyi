# Written by `make stubs` from the schemas of the compiled module. Do not edit.
# mypy: disable-error-code="overload-overlap,overload-cannot-match"
from builtins import (
    bool as _bool,
    complex as _complex,
    float as _float,
    int as _int,
    str as _str,
)
from collections.abc import Sequence as _Sequence
from typing import Any, Literal, NamedTuple, overload

from ember._C import (
    Generator,
    Size,
    Tensor,
    _DeviceLike,
    _Dims,
    _DtypeLike,
    _Number,
    _Operand,
    _Size,
    memory_format,
)


def avg_pool1d(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., *, out: Tensor | None = ...) -> Tensor:
    """The mean of windows of (N, C, L)."""

def avg_pool2d(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The mean of windows of (N, C, H, W)."""

def avg_pool3d(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ..., divisor_override: _int | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """The mean of windows of (N, C, D, H, W)."""

def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = ..., bias: Tensor | None = ..., training: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """Mean 0 and variance 1 for each channel (axis 1) over the batch. In training the
    running statistics are updated, otherwise they are used.
    """

def celu(input: Tensor, alpha: _float = ..., inplace: _bool = ...) -> Tensor:
    """x where it is positive, alpha * (exp(x / alpha) - 1) elsewhere."""

def celu_(input: Tensor, alpha: _float = ...) -> Tensor:
    """celu() in place."""

@overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., groups: _int = ...) -> Tensor:
    """Convolution of (N, C, L) with kernels (out, C / groups, K)."""
@overload
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Dims = ..., padding: _str = ..., dilation: _Dims = ..., groups: _int = ...) -> Tensor: ...

@overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., groups: _int = ...) -> Tensor:
    """Convolution of (N, C, H, W) with kernels (out, C / groups, KH, KW)."""
@overload
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Dims = ..., padding: _str = ..., dilation: _Dims = ..., groups: _int = ...) -> Tensor: ...

@overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., groups: _int = ...) -> Tensor:
    """Convolution of (N, C, D, H, W) with kernels (out, C / groups, KD, KH, KW)."""
@overload
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Dims = ..., padding: _str = ..., dilation: _Dims = ..., groups: _int = ...) -> Tensor: ...

def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Dims = ..., padding: _Dims = ..., output_padding: _Dims = ..., groups: _int = ..., dilation: _Dims = ...) -> Tensor:
    """The gradient of `conv1d` as a layer; the kernels' first axis is the input's
    channels.
    """

def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Dims = ..., padding: _Dims = ..., output_padding: _Dims = ..., groups: _int = ..., dilation: _Dims = ...) -> Tensor:
    """The gradient of `conv2d` as a layer; the kernels' first axis is the input's
    channels.
    """

def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: _Dims = ..., padding: _Dims = ..., output_padding: _Dims = ..., groups: _int = ..., dilation: _Dims = ...) -> Tensor:
    """The gradient of `conv3d` as a layer; the kernels' first axis is the input's
    channels.
    """

def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., ignore_index: _int = ..., reduce: _bool | None = ..., reduction: _str = ..., label_smoothing: _float = ...) -> Tensor:
    """Cross entropy of logits with class indices or with class probabilities; classes
    are axis 1 (0 if 1-D).
    """

def elu(input: Tensor, alpha: _float = ..., inplace: _bool = ...) -> Tensor:
    """x where it is positive, alpha * (exp(x) - 1) elsewhere."""

def elu_(input: Tensor, alpha: _float = ...) -> Tensor:
    """elu() in place."""

def fold(input: Tensor, output_size: _Dims, kernel_size: _Dims, dilation: _Dims = ..., padding: _Dims = ..., stride: _Dims = ...) -> Tensor:
    """Columns (N, C * elements of a window, windows) added up to (N, C, H, W)."""

def gelu(input: Tensor, *, approximate: _str = ..., out: Tensor | None = ...) -> Tensor:
    """x times the normal distribution function of x, or its approximation with tanh."""

def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """Mean 0 and variance 1 over groups of channels of each sample."""

def hardshrink(input: Tensor, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """x outside [-lambd, lambd], 0 inside."""

def hardsigmoid(input: Tensor, inplace: _bool = ...) -> Tensor:
    """relu6(x + 3) / 6."""

def hardswish(input: Tensor, inplace: _bool = ...) -> Tensor:
    """x * relu6(x + 3) / 6."""

def hardtanh(input: Tensor, min_val: _Number = ..., max_val: _Number = ..., inplace: _bool = ...) -> Tensor:
    """x limited to the range from min_val to max_val."""

def hardtanh_(input: Tensor, min_val: _Number = ..., max_val: _Number = ...) -> Tensor:
    """hardtanh() in place."""

def instance_norm(input: Tensor, running_mean: Tensor | None = ..., running_var: Tensor | None = ..., weight: Tensor | None = ..., bias: Tensor | None = ..., use_input_stats: _bool = ..., momentum: _float = ..., eps: _float = ...) -> Tensor:
    """batch_norm of every sample by itself."""

def layer_norm(input: Tensor, normalized_shape: _Size, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ...) -> Tensor:
    """Mean 0 and variance 1 over the last axes, then scale and shift."""

def leaky_relu(input: Tensor, negative_slope: _float = ..., inplace: _bool = ...) -> Tensor:
    """x where it is positive, negative_slope * x elsewhere."""

def leaky_relu_(input: Tensor, negative_slope: _float = ...) -> Tensor:
    """leaky_relu() in place."""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = ..., *, out: Tensor | None = ...) -> Tensor:
    """input @ weight.T + bias."""

def logsigmoid(input: Tensor, *, out: Tensor | None = ...) -> Tensor:
    """log(sigmoid(x))."""

@overload
def max_pool1d(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., ceil_mode: _bool = ..., return_indices: Literal[False] = ...) -> Tensor:
    """The maximum of windows of (N, C, L); the stride is the window's size if None."""
@overload
def max_pool1d(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., ceil_mode: _bool = ..., *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any: ...

def max_pool1d_with_indices(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> tuple[Tensor, Tensor]:
    """`max_pool1d` with `return_indices=True`."""

@overload
def max_pool2d(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., ceil_mode: _bool = ..., return_indices: Literal[False] = ...) -> Tensor:
    """The maximum of windows of (N, C, H, W); the stride is the window's size if None.
    """
@overload
def max_pool2d(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., ceil_mode: _bool = ..., *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any: ...

def max_pool2d_with_indices(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> tuple[Tensor, Tensor]:
    """`max_pool2d` with `return_indices=True`."""

@overload
def max_pool3d(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., ceil_mode: _bool = ..., return_indices: Literal[False] = ...) -> Tensor:
    """The maximum of windows of (N, C, D, H, W); the stride is the window's size if
    None.
    """
@overload
def max_pool3d(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., ceil_mode: _bool = ..., *, return_indices: Literal[True]) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any: ...

def max_pool3d_with_indices(input: Tensor, kernel_size: _Dims, stride: _Dims = ..., padding: _Dims = ..., dilation: _Dims = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> tuple[Tensor, Tensor]:
    """`max_pool3d` with `return_indices=True`."""

def mish(input: Tensor, inplace: _bool = ...) -> Tensor:
    """x * tanh(softplus(x))."""

def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = ..., size_average: _bool | None = ..., ignore_index: _int = ..., reduce: _bool | None = ..., reduction: _str = ...) -> Tensor:
    """Minus the log-probability of the target class; classes are axis 1 (0 if 1-D)."""

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where it is positive, weight * x elsewhere; one weight, or one for each
    channel (dimension 1).
    """

def relu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """max(x, 0) for each element."""

def relu6(input: Tensor, inplace: _bool = ...) -> Tensor:
    """x limited to the range from 0 to 6."""

def relu_(input: Tensor) -> Tensor:
    """relu() in place."""

def rms_norm(input: Tensor, normalized_shape: _Size, weight: Tensor | None = ..., eps: _float | None = ...) -> Tensor:
    """`input` divided by its root mean square over the last axes (arXiv:1910.07467)."""

def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = ..., dropout_p: _float = ..., is_causal: _bool = ..., scale: _float | None = ..., enable_gqa: _bool = ...) -> Tensor:
    """softmax(query @ key' * scale + mask) @ value, for [..., L, E] and [..., S, E]. A
    boolean mask is true where a query may look, another is added; a query that may
    look nowhere gets zeros. `scale` is 1 / sqrt(E) unless given. With `enable_gqa`,
    keys and values may have fewer heads (axis -3), each used by several queries.
    """

def selu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """elu() with the constants of self-normalizing networks."""

def selu_(input: Tensor) -> Tensor:
    """selu() in place."""

def silu(input: Tensor, inplace: _bool = ...) -> Tensor:
    """x * sigmoid(x)."""

def softplus(input: Tensor, beta: _float = ..., threshold: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """log(1 + exp(beta * x)) / beta, and x itself where beta * x is above the
    threshold.
    """

def softshrink(input: Tensor, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor:
    """x moved towards 0 by lambd, 0 within it."""

def softsign(input: Tensor) -> Tensor:
    """x / (1 + abs(x))."""

def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x)."""

def threshold(input: Tensor, threshold: _Number, value: _Number, inplace: _bool = ...) -> Tensor:
    """x above a threshold, a given value elsewhere."""

def threshold_(input: Tensor, threshold: _Number, value: _Number) -> Tensor:
    """threshold() in place."""

def unfold(input: Tensor, kernel_size: _Dims, dilation: _Dims = ..., padding: _Dims = ..., stride: _Dims = ...) -> Tensor:
    """Windows of (N, C, H, W) as columns, (N, C * elements of a window, windows)."""
