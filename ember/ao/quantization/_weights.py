"""Weights of 8 or 4 bits: `quantize_` puts them in the place of a model's matrices.

A weight is ``scale * q + offset`` with small integers q, and a scale (and offset) for
each row or group of columns. Such a matrix is a tensor subclass, so that layers stay
what they are: `nn.Linear` multiplies by it without making it wide, and everything else
sees the wide matrix.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import ember
from ember import _C, Tensor
from ember.nn import Linear, Module, Parameter, functional as F
from ember.utils._pytree import tree_map

UNIT = 32  # columns whose 4 bits are packed together


class QuantizedTensor(Tensor):
    """A matrix of which 8 or 4 bits a weight are kept; `quantize_` makes them.

    It has the shape and dtype of the matrix that it was made of, saves, loads and moves
    like one, and takes no gradient. `dequantize()` gives the wide matrix.

    >>> import ember
    >>> from ember.ao.quantization import int8_weight_only
    >>> w = int8_weight_only()(ember.tensor([[1.0, -2.0], [0.5, 0.25]]))
    >>> w.shape, w.dtype, w.q
    (torch.Size([2, 2]), torch.float32, tensor([[  64, -127],
            [ 127,   64]], dtype=torch.int8))
    """

    q: Tensor  # int8, or uint8 with two weights of 4 bits each
    scales: Tensor  # float32, (rows, groups)
    offsets: Tensor | None
    dynamic: bool  # whether what meets the weights is rounded to 8 bits, too

    @staticmethod
    def __new__(
        cls,
        q: Tensor,
        scales: Tensor,
        offsets: Tensor | None = None,
        dtype: ember.dtype = ember.float32,
        dynamic: bool = False,
    ) -> QuantizedTensor:
        columns = q.shape[1] * (2 if q.dtype == ember.uint8 else 1)
        made = Tensor._make_wrapper_subclass(
            cls, (q.shape[0], columns), dtype=dtype, device=q.device
        )
        made.q, made.scales, made.offsets, made.dynamic = q, scales, offsets, dynamic
        return made

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass  # __new__ has done it

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        bits = 4 if self.q.dtype == ember.uint8 else 8
        return (
            f"{type(self).__name__}(shape={tuple(self.shape)}, dtype={self.dtype}, "
            f"bits={bits}, groups={self.scales.shape[1]}, device='{self.q.device}')"
        )

    def dequantize(self) -> Tensor:  # type: ignore[override]
        """The wide matrix, in the dtype of the one that was quantized."""
        return _C._widened_weights(self.q, self.scales, self.offsets).to(self.dtype)

    def __tensor_flatten__(self) -> tuple[list[str], Any]:
        names = ["q", "scales"] + (["offsets"] if self.offsets is not None else [])
        return names, (self.dtype, self.dynamic)

    @classmethod
    def __tensor_unflatten__(cls, parts, context, size=None, stride=None):
        dtype, dynamic = context
        return cls(parts["q"], parts["scales"], parts.get("offsets"), dtype, dynamic)

    def _with(self, change: Callable[[Tensor], Tensor], dtype=None) -> QuantizedTensor:
        offsets = None if self.offsets is None else change(self.offsets)
        return type(self)(
            change(self.q),
            change(self.scales),
            offsets,
            dtype or self.dtype,
            self.dynamic,
        )

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is F.linear:
            return _linear(*args, **(kwargs or {}))
        return _C._disabled_torch_function_impl(func, types, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = func.__name__.split(".")[0]
        self = args[0] if args else None
        if isinstance(self, cls):
            if name in ("detach", "alias", "clone", "contiguous", "lift_fresh"):
                return self._with(
                    getattr(Tensor, "clone" if name == "clone" else "detach")
                )
            if name in ("to", "_to_copy"):
                return _moved(self, *args[1:], **kwargs)
            if name == "copy_" and isinstance(args[1], cls):
                for part in self.__tensor_flatten__()[0]:
                    getattr(self, part).copy_(getattr(args[1], part))
                return self
            if name.endswith("_") and not name.endswith("__"):
                raise RuntimeError(
                    f"{name}(): quantized weights cannot be changed in place; change "
                    "dequantize() and quantize again"
                )
        wide = tree_map(
            lambda x: x.dequantize() if isinstance(x, cls) else x, (args, kwargs)
        )
        return func(*wide[0], **wide[1])


def _moved(self: QuantizedTensor, *args: Any, **kwargs: Any) -> QuantizedTensor:
    """`to()`: the device moves what is kept, the dtype is that of the wide weights."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    for given in args:
        if isinstance(given, ember.dtype):
            dtype = given
        elif isinstance(given, Tensor):
            device, dtype = given.device, given.dtype
        elif isinstance(given, (str, ember.device)):
            device = given
    if dtype is not None and not dtype.is_floating_point:
        raise RuntimeError(f"to(): quantized weights cannot be made {dtype}")
    if device is None:
        return self._with(Tensor.clone, dtype)
    return self._with(lambda t: t.to(device, copy=True), dtype)


def _linear(input: Tensor, weight: Any, bias: Tensor | None = None) -> Tensor:
    x = input.dequantize() if isinstance(input, QuantizedTensor) else input
    if not isinstance(weight, QuantizedTensor):
        return F.linear(x, weight, bias)
    if x.dtype not in (ember.float32, ember.float16, ember.bfloat16) or not x.dim():
        return F.linear(x, weight.dequantize().to(x.dtype), bias)
    flat = x.reshape(-1, x.shape[-1])
    if weight.dynamic and not (x.requires_grad and ember.is_grad_enabled()):
        y = _by_integers(flat, weight)
    else:
        y = _C._weights_mm(flat, weight.q, weight.scales, weight.offsets)
    y = y.reshape(*x.shape[:-1], weight.shape[0])
    return y if bias is None else y + bias.to(y.dtype)


def _by_integers(x: Tensor, weight: QuantizedTensor) -> Tensor:
    q, scales = _rounded(x.float(), 127)
    product = _C._int_mm(q, weight.q.t())
    return (product * scales * weight.scales.t()).to(x.dtype)


def _rounded(rows: Tensor, most: int) -> tuple[Tensor, Tensor]:
    """Integers of up to `most`, either sign, and a scale for each row."""
    if not rows.numel():
        return rows.to(ember.int8), rows.new_zeros(rows.shape[0], 1)
    scales = rows.abs().amax(1, keepdim=True) / most
    return (rows / scales.clamp(min=1e-30)).round().to(ember.int8), scales


class _Recipe:
    """What makes quantized weights of a matrix."""

    def __init__(self, bits: int, group_size: int | None, dynamic: bool) -> None:
        self.bits, self.group_size, self.dynamic = bits, group_size, dynamic

    def refuses(self, weight: Tensor) -> str | None:
        """Why a weight cannot be quantized in this way, if so."""
        if weight.dim() != 2 or not weight.dtype.is_floating_point:
            return "it is no matrix of floating point"
        if self.group_size and weight.shape[1] % self.group_size:
            return f"its {weight.shape[1]} columns are no groups of {self.group_size}"
        return None

    def __call__(self, weight: Tensor) -> QuantizedTensor:
        reason = self.refuses(weight)
        if reason:
            raise ValueError(
                f"quantize_(): a weight of {tuple(weight.shape)}: {reason}"
            )
        wide = weight.detach().to(ember.float32)
        if self.group_size is None:
            q, scales = _rounded(wide, 127)
            return QuantizedTensor(q, scales, None, weight.dtype, self.dynamic)
        rows, columns = wide.shape
        groups = wide.reshape(rows, -1, self.group_size)
        low, high = groups.amin(2), groups.amax(2)
        scales = ((high - low) / 15).clamp(min=1e-30)
        q = ((groups - low.unsqueeze(2)) / scales.unsqueeze(2)).round().clamp(0, 15)
        halves = q.to(ember.uint8).reshape(rows, -1, 2, UNIT // 2)
        packed = (halves[:, :, 0] | halves[:, :, 1] << 4).reshape(rows, columns // 2)
        return QuantizedTensor(packed, scales, low, weight.dtype)


def int8_weight_only() -> _Recipe:
    """Weights of 8 bits with one scale a row, for `quantize_`.

    A quarter of the memory of float32; the results differ by about half a percent.

    >>> import ember
    >>> from ember.ao.quantization import int8_weight_only, quantize_
    >>> model = quantize_(ember.nn.Linear(64, 8), int8_weight_only())
    >>> model.weight.q.dtype
    torch.int8
    """
    return _Recipe(8, None, dynamic=False)


def int4_weight_only(group_size: int = 128) -> _Recipe:
    """Weights of 4 bits with a scale and an offset for `group_size` columns of a row.

    Args:
        group_size: a multiple of 32, of which the columns must be a multiple; smaller
            groups are more exact and need more memory.

    >>> import ember
    >>> from ember.ao.quantization import int4_weight_only, quantize_
    >>> model = quantize_(ember.nn.Linear(64, 8), int4_weight_only(group_size=32))
    >>> model.weight.q.shape, model.weight.scales.shape
    (torch.Size([8, 32]), torch.Size([8, 2]))
    """
    if group_size <= 0 or group_size % UNIT:
        raise ValueError(
            f"int4_weight_only(): group_size must be a multiple of {UNIT}, got "
            f"{group_size}"
        )
    return _Recipe(4, group_size, dynamic=False)


def int8_dynamic() -> _Recipe:
    """Weights of 8 bits; what they are multiplied by is rounded to 8 bits row by row.

    The products are of integers and exact, as on devices that have nothing else.

    >>> import ember
    >>> from ember.ao.quantization import int8_dynamic, quantize_
    >>> model = quantize_(ember.nn.Linear(64, 8), int8_dynamic())
    >>> model(ember.ones(2, 64)).shape
    torch.Size([2, 8])
    """
    return _Recipe(8, None, dynamic=True)


def quantize_(
    model: Module,
    config: Callable[[Tensor], Tensor],
    filter_fn: Callable[[Module, str], bool] | None = None,
    device: Any = None,
) -> Module:
    """Quantize the weights of a model's linear layers, in place; returns the model.

    Args:
        model: its layers stay what they are, their weights become `QuantizedTensor`s
            that take no gradient.
        config: `int8_weight_only()`, `int4_weight_only(group_size)` or
            `int8_dynamic()`, or any function that makes a weight of a weight.
        filter_fn: told a module and its name, says whether its `weight` is quantized;
            without it those of all `nn.Linear`, but those that `config` does not take.
        device: where each module is moved before.

    >>> import ember
    >>> from ember.ao.quantization import int4_weight_only, quantize_
    >>> model = ember.nn.Sequential(ember.nn.Linear(128, 16), ember.nn.Linear(16, 4))
    >>> quantize_(model, int4_weight_only()) is model
    True
    >>> [type(layer.weight).__name__ for layer in model]  # 16 columns are no group
    ['QuantizedTensor', 'Parameter']
    """
    for name, module in list(model.named_modules()):
        if filter_fn is not None:
            if not filter_fn(module, name):
                continue
        elif not isinstance(module, Linear):
            continue
        if device is not None:
            module.to(device)
        weight = module.weight
        if isinstance(weight, QuantizedTensor):
            continue
        refuses = getattr(config, "refuses", lambda weight: None)
        if filter_fn is None and refuses(weight):
            continue
        module.weight = Parameter(config(weight), requires_grad=False)  # type: ignore
    return model


def quantize_dynamic(
    model: Module,
    qconfig_spec: Iterable[Any] | dict | None = None,
    dtype: Any = None,
    mapping: Any = None,
    inplace: bool = False,
) -> Module:
    """A copy of the model whose linear layers multiply integers of 8 bits.

    Args:
        model: the model, which stays as it is unless `inplace`.
        qconfig_spec: types or names of the layers; `nn.Linear` if not given.
        dtype: `qint8`, which is the default.

    The layers keep their type, and their weights are `QuantizedTensor`s; see
    `int8_dynamic`. Recurrent layers cannot be quantized.

    >>> import ember
    >>> model = ember.nn.Sequential(ember.nn.Linear(4, 4), ember.nn.ReLU())
    >>> small = ember.ao.quantization.quantize_dynamic(model, {ember.nn.Linear})
    >>> small[0].weight.q.dtype, model[0].weight.dtype
    (torch.int8, torch.float32)
    """
    if dtype is not None and str(dtype).rpartition(".")[2] not in ("qint8", "int8"):
        raise ValueError(
            f"quantize_dynamic(): layers of {dtype} are not supported, only of qint8"
        )
    if mapping is not None:
        raise ValueError("quantize_dynamic(): there are no modules to map layers to")
    wanted = {Linear} if qconfig_spec is None else set(qconfig_spec)
    for given in wanted:
        if isinstance(given, type) and not issubclass(given, Linear):
            raise NotImplementedError(
                f"quantize_dynamic(): layers of type {given.__name__} cannot be "
                "quantized, only nn.Linear"
            )
    kinds = tuple(k for k in wanted if isinstance(k, type))

    def chosen(module: Module, name: str) -> bool:
        by_name = any(
            name == w or name.startswith(f"{w}.") for w in wanted if isinstance(w, str)
        )
        return isinstance(module, Linear) and (by_name or isinstance(module, kinds))

    return quantize_(
        model if inplace else copy.deepcopy(model), int8_dynamic(), filter_fn=chosen
    )
