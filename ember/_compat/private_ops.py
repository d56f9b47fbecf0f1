"""Operators that PyTorch's own layers and tests call by private names, made of ours."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import ember
from ember import Tensor
from ember.nn import functional as F


def masked_softmax(
    self: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None
) -> Tensor:
    """Softmax of what `mask` leaves; 0: it is of queries and keys, 1: of batch and
    keys, 2: of the input's shape. A row of which nothing is left is all zeros."""
    if mask.dtype != ember.bool:
        raise RuntimeError("_masked_softmax(): Mask should be a boolean tensor")
    if mask.shape != self.shape:
        if mask_type == 0:
            mask = mask.expand(self.shape)
        elif mask_type == 1:
            batch, keys = mask.shape
            mask = mask.view(batch, *(1,) * (self.dim() - 2), keys).expand(self.shape)
        else:
            raise RuntimeError(
                f"_masked_softmax(): Mask shape {tuple(mask.shape)} should match input "
                f"shape {tuple(self.shape)}"
            )
    along = -1 if dim is None else dim
    made = ember.softmax(self.masked_fill(mask, float("-inf")), along)
    return made.masked_fill(mask, 0)


def _half_to_float(name: str, self: Tensor, wanted: bool) -> Any:
    if not wanted:
        return None
    half = self.dtype in (ember.float16, ember.bfloat16)
    if not half or self.device.type == "cpu":
        raise RuntimeError(
            f"{name}(): half_to_float is for half precision on other devices than the "
            f"CPU, got {self.dtype} on {self.device}"
        )
    return ember.float32


def softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """`softmax`, with a float32 result of half precision if wanted."""
    return self.softmax(dim, dtype=_half_to_float("_softmax", self, half_to_float))


def log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """`log_softmax`, with a float32 result of half precision if wanted."""
    dtype = _half_to_float("_log_softmax", self, half_to_float)
    return self.log_softmax(dim, dtype=dtype)


def add_relu(self: Tensor, other: Any, alpha: Any = 1) -> Tensor:
    """The sum, with zeros for what is below."""
    return ember.add(self, other, alpha=alpha).relu()


def addmm_activation(
    self: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *,
    beta: Any = 1,
    alpha: Any = 1,
    use_gelu: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """`relu`, or `gelu`, of `addmm`."""
    made = ember.addmm(self, mat1, mat2, beta=beta, alpha=alpha)
    made = F.gelu(made) if use_gelu else made.relu()
    return made if out is None else out.resize_(made.shape).copy_(made)


def compute_linear_combination(
    input: Tensor, coefficients: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Sums of the elements of `input`, each row of `coefficients` times; `out` gets
    them added."""
    if input.dim() == 0 or coefficients.dim() != 2:
        raise RuntimeError(
            "_compute_linear_combination(): expected an input of one dimension or more "
            f"and a matrix, got {tuple(input.shape)} and {tuple(coefficients.shape)}"
        )
    made = ember.tensordot(coefficients.to(input.dtype), input, 1)
    return made if out is None else out.add_(made)


def powsum(
    x: Tensor,
    ord: Any = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    """The sum of powers of absolute values."""
    wide = x if dtype is None else x.to(dtype)
    return wide.abs().pow(ord).sum(dim, keepdim)


def nested_tensor_from_mask(t: Tensor, mask: Tensor, mask_check: bool = True) -> Tensor:
    """The rows of each element of a batch that `mask` (batch, rows) marks, which are
    its first ones."""
    name = "_nested_tensor_from_mask()"
    if mask.dtype != ember.bool:
        raise RuntimeError(f"{name}: Expected mask to be of ScalarType Bool")
    if mask.dim() != 2 or t.dim() != 3 or mask.shape != t.shape[:2]:
        raise RuntimeError(
            f"{name}: expected a mask of (N, L) and an input of (N, L, D), got "
            f"{tuple(mask.shape)} and {tuple(t.shape)}"
        )
    lengths = mask.sum(1)
    if mask_check and not ember.equal(
        mask, ember.arange(t.shape[1]) < lengths.unsqueeze(1)
    ):
        raise RuntimeError(f"{name}: Expected mask to be left aligned (left padded)")
    return ember.nested.as_nested_tensor(
        [row[:length] for row, length in zip(t, lengths.tolist())]
    )


def from_blob(
    data: int,
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    *,
    dtype: Any = None,
    device: Any = None,
) -> Tensor:
    """A tensor over memory at an address, which the caller keeps alive."""
    import ctypes

    if device is not None and ember.device(device).type != "cpu":
        raise RuntimeError(f"_from_blob(): memory is the host's, not {device}'s")
    dtype = dtype or ember.get_default_dtype()
    if strides is None:
        strides = ember.empty(size, device="meta").stride()
    if any(s < 0 for s in (*size, *strides)):
        raise RuntimeError("_from_blob(): sizes and strides are not negative")
    last = sum((n - 1) * step for n, step in zip(size, strides, strict=True))
    count = 0 if 0 in size else last + 1
    bytes_there = (ctypes.c_char * (count * dtype.itemsize)).from_address(data)
    storage = ember._C._storage_from_buffer(memoryview(bytes_there).cast("B"))
    return ember._C._tensor_from_storage(storage, dtype, 0, tuple(size), tuple(strides))


def grid_sampler_2d_cpu_fallback(
    input: Tensor, grid: Tensor, interpolation: int, padding: int, align_corners: bool
) -> Tensor:
    """`grid_sample` of images, by the numbers of its modes."""
    modes, paddings = F.GRID_SAMPLE_INTERPOLATION_MODES, F.GRID_SAMPLE_PADDING_MODES
    return F.grid_sample(
        input,
        grid,
        next(name for name, number in modes.items() if number == interpolation),
        next(name for name, number in paddings.items() if number == padding),
        align_corners,
    )


def _sized(name: str, what: str, given: Any, count: int, text: str) -> None:
    if len(given) != count:
        raise RuntimeError(
            text.format(name=name, what=what, count=count, got=len(given))
        )


def slow_conv3d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Any,
    bias: Tensor | None = None,
    stride: Any = (1, 1, 1),
    padding: Any = (0, 0, 0),
) -> Tensor:
    """`conv3d`, which checks the size of the kernel."""
    for what in ("kernel_size", "stride", "padding"):
        text = "{name}(): It is expected {what} equals to {count}, but got size {got}"
        given = _three(locals()[what])
        _sized("slow_conv3d", what, given, 3, text)
    _check_kernel("slow_conv3d", weight, _three(kernel_size))
    return F.conv3d(self, weight, bias, stride, padding)


def _three(given: Any) -> Any:
    return (given,) * 3 if isinstance(given, int) else given


def _check_kernel(name: str, weight: Tensor, size: Any) -> None:
    if tuple(weight.shape[2:]) != tuple(size):
        raise RuntimeError(
            f"{name}(): a kernel of size {tuple(size)} with a weight of shape "
            f"{tuple(weight.shape)}"
        )


def thnn_conv2d(
    self: Tensor,
    weight: Tensor,
    kernel_size: Any,
    bias: Tensor | None = None,
    stride: Any = (1, 1),
    padding: Any = (0, 0),
) -> Tensor:
    """`conv2d`, which checks the size of the kernel."""
    for what in ("kernel_size", "stride", "padding"):
        text = "{name}(): {count}D {what} expected, got {got} numbers"
        _sized("thnn_conv2d", what, locals()[what], 2, text)
    _check_kernel("thnn_conv2d", weight, kernel_size)
    return F.conv2d(self, weight, bias, stride, padding)


def _padding(name: str, mode: str, dims: int) -> Callable[..., Tensor]:
    def pad(self: Tensor, padding: Any) -> Tensor:
        text = "{name}(): {what} size is expected to be {count}, but got: {got}"
        _sized(name, "padding", padding, 2 * dims, text)
        if self.dim() not in (dims + 1, dims + 2):
            raise RuntimeError(
                f"{name}(): Expected {dims + 1}D or {dims + 2}D (batch mode) tensor "
                f"for input, but got a tensor of shape {tuple(self.shape)}"
            )
        return F.pad(self, padding, mode)

    pad.__name__ = pad.__qualname__ = name
    return pad


# The functions of `_C._nn` and of `ops.aten` that pad by borders.
PADDINGS = {
    f"{start}_pad{dims}d": _padding(f"{start}_pad{dims}d", mode, dims)
    for start, mode in (("reflection", "reflect"), ("replication", "replicate"))
    for dims in (1, 2, 3)
}


def debug_has_internal_overlap(self: Tensor) -> int:
    """Whether elements share memory: 0 no, 1 yes, 2 hard to say."""
    if self.is_contiguous() or not self.numel():
        return 0
    sizes = zip(self.shape, self.stride())
    if any(size > 1 and stride == 0 for size, stride in sizes):
        return 1
    # Dense in some order of its dimensions?
    expected = 1
    for stride, size in sorted(zip(self.stride(), self.shape)):
        if size > 1:
            if stride != expected:
                return 2
            expected *= size
    return 0


def warn() -> None:
    """A warning, for tests of warnings."""
    warnings.warn("Test message for TORCH_WARN", UserWarning, stacklevel=2)


def warn_deprecation() -> None:
    """A warning of another kind, for tests of warnings."""
    text = "Test message for TORCH_WARN_DEPRECATION"
    warnings.warn(text, DeprecationWarning, stacklevel=2)
