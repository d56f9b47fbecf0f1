"""Modules without parameters to learn: activations, arithmetic, shapes, tables.

Each is a function of its input; the arguments after the first become arguments of the
module's constructor and attributes of the module.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import ember
from ember import Tensor
from ember.legacy.nn.module import Module, Table, flat
from ember.nn import functional as F


def module(name: str, function: Callable[..., Table]) -> type[Module]:
    """A module class that computes `function(input, ...)`."""
    signature = inspect.signature(function)
    rest = list(signature.parameters.values())[1:]
    takes = signature.replace(parameters=rest)

    def __init__(self: Module, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        kwargs.pop("inplace", None)
        try:
            bound = takes.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"nn.{name}: {error}") from None
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            setattr(self, key, value)
        self._names = list(bound.arguments)

    def compute(self: Module, input: Table) -> Table:
        values = [getattr(self, key) for key in self._names]
        split = [
            value if rest[i].kind is inspect.Parameter.VAR_POSITIONAL else (value,)
            for i, value in enumerate(values)
        ]
        return function(input, *[v for group in split for v in group])

    body = {
        "__init__": __init__,
        "compute": compute,
        "takes": takes,
        "__doc__": (function.__doc__ or f"{name} of the input.").strip(),
        "__module__": __name__,
    }
    return type(name, (Module,), body)


# --- activations ---

Abs = module("Abs", lambda x: x.abs())
Clamp = module("Clamp", lambda x, min_value, max_value: x.clamp(min_value, max_value))
ELU = module("ELU", lambda x, alpha=1.0: F.elu(x, alpha))
Exp = module("Exp", lambda x: x.exp())
GradientReversal = module(
    "GradientReversal", lambda x, lambd=1.0: x.detach() * (1 + lambd) - x * lambd
)
HardShrink = module("HardShrink", lambda x, lambd=0.5: F.hardshrink(x, lambd))
HardTanh = module(
    "HardTanh", lambda x, min_value=-1.0, max_value=1.0: x.clamp(min_value, max_value)
)
Identity = module("Identity", lambda x: x)
LeakyReLU = module("LeakyReLU", lambda x, negval=0.01: F.leaky_relu(x, negval))
Log = module("Log", lambda x: x.log())
LogSigmoid = module("LogSigmoid", lambda x: F.logsigmoid(x))
LogSoftMax = module("LogSoftMax", lambda x: x.log_softmax(_class_dim(x)))
Power = module("Power", lambda x, p: x**p)
ReLU = module("ReLU", lambda x: x.relu())
ReLU6 = module("ReLU6", lambda x: x.clamp(0, 6))
Sigmoid = module("Sigmoid", lambda x: x.sigmoid())
SoftMax = module("SoftMax", lambda x: x.softmax(_class_dim(x)))
SoftMin = module("SoftMin", lambda x: (-x).softmax(_class_dim(x)))
SoftPlus = module(
    "SoftPlus", lambda x, beta=1.0, threshold=20.0: F.softplus(x, beta, threshold)
)
SoftShrink = module("SoftShrink", lambda x, lambd=0.5: F.softshrink(x, lambd))
SoftSign = module("SoftSign", lambda x: x / (1 + x.abs()))
SpatialSoftMax = module("SpatialSoftMax", lambda x: x.softmax(x.dim() - 3))
SpatialLogSoftMax = module("SpatialLogSoftMax", lambda x: x.log_softmax(x.dim() - 3))
Sqrt = module("Sqrt", lambda x: x.sqrt())
Square = module("Square", lambda x: x * x)
Tanh = module("Tanh", lambda x: x.tanh())
TanhShrink = module("TanhShrink", lambda x: x - x.tanh())
Threshold = module(
    "Threshold", lambda x, threshold=0.0, v=0.0: F.threshold(x, threshold, v)
)


def _class_dim(x: Tensor) -> int:
    """Where classes are: 0 of a single sample (1-d, 3-d), else 1."""
    return 0 if x.dim() in (1, 3) else 1


# --- arithmetic and reductions ---

AddConstant = module("AddConstant", lambda x, constant_scalar: x + constant_scalar)
MulConstant = module("MulConstant", lambda x, constant_scalar: x * constant_scalar)
Max = module("Max", lambda x, dimension=0: x.max(dimension).values)
Min = module("Min", lambda x, dimension=0: x.min(dimension).values)
Mean = module(
    "Mean", lambda x, dimension=0, squeeze=True: x.mean(dimension, not squeeze)
)
Normalize = module("Normalize", lambda x, p=2, eps=1e-10: F.normalize(x, p, -1, eps))


def _sum(
    x: Tensor, dimension: int = 0, sizeAverage: bool = False, squeeze: bool = True
):
    """The sum (or mean) along a dimension."""
    return (
        x.mean(dimension, not squeeze) if sizeAverage else x.sum(dimension, not squeeze)
    )


Sum = module("Sum", _sum)

# --- shapes ---

Contiguous = module("Contiguous", lambda x: x.contiguous())
Narrow = module(
    "Narrow", lambda x, dimension, offset, length=1: x.narrow(dimension, offset, length)
)
Replicate = module(
    "Replicate",
    lambda x, nfeatures, dim=0: x.unsqueeze(dim).expand(
        *x.shape[:dim], nfeatures, *x.shape[dim:]
    ),
)
Select = module("Select", lambda x, dimension, index: x.select(dimension, index))
Squeeze = module(
    "Squeeze",
    lambda x, dimension=None: (
        x.squeeze() if dimension is None else x.squeeze(dimension)
    ),
)
Unsqueeze = module("Unsqueeze", lambda x, pos: x.unsqueeze(pos))


def _sizes(sizes: tuple) -> list[int]:
    return (
        list(sizes[0])
        if len(sizes) == 1 and not isinstance(sizes[0], int)
        else list(sizes)
    )


def _reshape(x: Tensor, *args: Any) -> Tensor:
    """The input as `sizes`, after a batch dimension if there is one more element."""
    sizes = _sizes(args)
    count = ember.Size(sizes).numel()
    return x.reshape(sizes if x.numel() == count else [x.size(0), *sizes])


def _view(x: Tensor, *args: Any) -> Tensor:
    """The input as `sizes`, one of which may be -1."""
    return x.contiguous().view(_sizes(args))


def _transpose(x: Tensor, *permutations: tuple[int, int]) -> Tensor:
    """Swaps of pairs of dimensions, in order."""
    for a, b in permutations:
        x = x.transpose(a, b)
    return x.contiguous()


def _padding(
    x: Tensor, dim: int, pad: int, nInputDim: int | None = None, value: float = 0.0
):
    """`pad` elements more at the end of `dim`, or before its beginning if negative."""
    if nInputDim is not None and x.dim() != nInputDim:
        dim += 1
    shape = list(x.shape)
    shape[dim] = abs(pad)
    rim = x.new_full(shape, value)
    return ember.cat([rim, x] if pad < 0 else [x, rim], dim)


Reshape = module("Reshape", _reshape)
View = module("View", _view)
Transpose = module("Transpose", _transpose)
Padding = module("Padding", _padding)
SpatialZeroPadding = module(
    "SpatialZeroPadding",
    lambda x, pad_l, pad_r=None, pad_t=None, pad_b=None: F.pad(
        x,
        (
            pad_l,
            pad_l if pad_r is None else pad_r,
            pad_l if pad_t is None else pad_t,
            pad_l if pad_b is None else pad_b,
        ),
    ),
)
SpatialReflectionPadding = module(
    "SpatialReflectionPadding", lambda x, l, r, t, b: F.pad(x, (l, r, t, b), "reflect")
)
SpatialReplicationPadding = module(
    "SpatialReplicationPadding",
    lambda x, l, r, t, b: F.pad(x, (l, r, t, b), "replicate"),
)
SpatialUpSamplingNearest = module(
    "SpatialUpSamplingNearest", lambda x, scale: F.interpolate(x, scale_factor=scale)
)

# --- tables ---


def _product(tables: Table) -> Tensor:
    result = tables[0]
    for factor in tables[1:]:
        result = result * factor
    return result


CAddTable = module("CAddTable", lambda xs: sum(xs[1:], xs[0]))
CDivTable = module("CDivTable", lambda xs: xs[0] / xs[1])
CMaxTable = module("CMaxTable", lambda xs: ember.stack(list(xs)).amax(0))
CMinTable = module("CMinTable", lambda xs: ember.stack(list(xs)).amin(0))
CMulTable = module("CMulTable", _product)
CSubTable = module("CSubTable", lambda xs: xs[0] - xs[1])
CosineDistance = module(
    "CosineDistance", lambda xs: F.cosine_similarity(xs[0], xs[1], -1)
)
DotProduct = module("DotProduct", lambda xs: (xs[0] * xs[1]).sum(-1))
FlattenTable = module("FlattenTable", flat)
Index = module(
    "Index", lambda xs, dimension: xs[0].index_select(dimension, xs[1].long())
)
JoinTable = module(
    "JoinTable",
    lambda xs, dimension, nInputDims=None: ember.cat(
        list(xs), dimension + (nInputDims is not None and xs[0].dim() == nInputDims + 1)
    ),
)
MM = module(
    "MM",
    lambda xs, transA=False, transB=False: ember.matmul(
        xs[0].transpose(-1, -2) if transA else xs[0],
        xs[1].transpose(-1, -2) if transB else xs[1],
    ),
)
MaskedSelect = module("MaskedSelect", lambda xs: xs[0].masked_select(xs[1].bool()))
MixtureTable = module(
    "MixtureTable",
    lambda xs: sum(
        x * g.unsqueeze(-1) for x, g in zip(xs[1], xs[0].unbind(-1), strict=True)
    ),
)
NarrowTable = module(
    "NarrowTable", lambda xs, offset, length=1: list(xs[offset : offset + length])
)
PairwiseDistance = module(
    "PairwiseDistance", lambda xs, p=2: (xs[0] - xs[1]).norm(p, -1)
)
SelectTable = module("SelectTable", lambda xs, index: xs[index])
SplitTable = module(
    "SplitTable",
    lambda x, dimension, nInputDims=None: list(
        x.unbind(dimension + (nInputDims is not None and x.dim() == nInputDims + 1))
    ),
)
