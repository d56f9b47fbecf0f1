"""The part of Module that moves it to other devices and dtypes."""

from typing import Any, Self

import ember
from ember._C import Tensor
from ember._types import DeviceLike, Dtype


class ConversionMethods:
    """`to` and its special cases, mixed into Module; all change the module itself."""

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device, to a floating dtype, or both; changes the module itself.

        >>> import ember
        >>> ember.nn.Linear(1, 1).to(ember.float64).weight.dtype == ember.float64
        True
        """
        device, dtype, full = _parse_to(*args, **kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                "nn.Module.to only accepts floating point or complex dtypes, but got "
                f"desired dtype={dtype}"
            )

        if dtype is not None and dtype.is_complex:
            import warnings

            warnings.warn(
                "Complex modules are a new feature under active development whose "
                "design may change, and some modules might not work as expected when "
                "using complex tensors as parameters or buffers.",
                stacklevel=2,
            )
        plain = {**full}
        of_images = plain.pop("memory_format", None) is not None

        def convert(t):
            options = full if of_images and t.dim() in (4, 5) else plain
            wanted = dtype if t.is_floating_point() or t.is_complex() else None
            return t.to(device or t.device, wanted or t.dtype, **options)

        return self._apply(convert)

    def type(self, dst_type: Dtype | str) -> Self:
        """Cast all parameters and buffers."""
        return self._apply(lambda t: t.to(dst_type))

    def _to_float(self, dtype) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self) -> Self:
        """Cast floating parameters and buffers to float32."""
        return self._to_float(ember.float32)

    def double(self) -> Self:
        """Cast floating parameters and buffers to float64."""
        return self._to_float(ember.float64)

    def half(self) -> Self:
        """Cast floating parameters and buffers to float16."""
        return self._to_float(ember.float16)

    def bfloat16(self) -> Self:
        """Cast floating parameters and buffers to bfloat16."""
        return self._to_float(ember.bfloat16)

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: DeviceLike | None = None) -> Self:
        """Move to a CUDA device."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device: DeviceLike | None = None) -> Self:
        """Move to an XPU: there is none."""
        return self._apply(lambda t: t.xpu(device))

    def ipu(self, device: DeviceLike | None = None) -> Self:
        """Move to an IPU: there is none."""
        return self._apply(lambda t: t.ipu(device))

    def mtia(self, device: DeviceLike | None = None) -> Self:
        """Move to an MTIA device: there is none."""
        return self._apply(lambda t: t.mtia(device))

    def to_empty(self, *, device: DeviceLike, recurse: bool = True) -> Self:
        """Move to a device without copying values."""
        return self._apply(
            lambda t: ember.empty_like(t, device=device), recurse=recurse
        )

    def share_memory(self) -> Self:
        """Move parameters and buffers to memory shared between processes."""
        return self._apply(lambda t: t.share_memory_())


def _parse_to(*args, device=None, dtype=None, non_blocking=False, **options):
    """The arguments of `to`: a device, a dtype, or a tensor to be like."""
    if options.get("copy"):
        raise RuntimeError(".to() does not accept copy argument")
    for i, arg in enumerate(args):
        if isinstance(arg, Tensor) and i == 0:
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, ember.dtype):
            dtype = arg
        elif isinstance(arg, bool) and i > 0:
            non_blocking = arg
            # After a device comes a dtype, which may be None.
            if i == 1 and not isinstance(args[0], (Tensor, ember.dtype)):
                raise TypeError(
                    "to() received an invalid combination of arguments: after a device "
                    f"comes a dtype, got {arg}"
                )
        elif i == 0 and isinstance(arg, (str, int, ember.device)):
            device = ember.device(arg)
        elif arg is not None:
            raise TypeError(
                "to() received an invalid combination of arguments - got "
                f"{type(arg).__name__} at position {i + 1}"
            )
    options["non_blocking"] = non_blocking
    return device, dtype, options
