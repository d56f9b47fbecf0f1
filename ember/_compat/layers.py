"""Helpers of PyTorch's layers that libraries with layers of their own import."""

from __future__ import annotations

import collections.abc
import warnings
from itertools import repeat
from typing import Any

from ember.nn import functional as F
from ember.nn.modules import _hooks

_global_parameter_registration_hooks = _hooks.REGISTRATION["parameter"]
_global_buffer_registration_hooks = _hooks.REGISTRATION["buffer"]
_global_module_registration_hooks = _hooks.REGISTRATION["module"]


def _ntuple(n: int, name: str = "parse") -> Any:
    def parse(x: Any) -> tuple:
        if isinstance(x, collections.abc.Iterable):
            return tuple(x)
        return tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single, _pair = _ntuple(1, "_single"), _ntuple(2, "_pair")
_triple, _quadruple = _ntuple(3, "_triple"), _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple, n: int) -> tuple:
    """The items in the opposite order, each `n` times: `F.pad`'s from sizes."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: list, defaults: list) -> list:
    """Sizes, with those of the input where one is None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [
        v if v is not None else d for v, d in zip(out_size, defaults[-len(out_size) :])
    ]


def consume_prefix_in_state_dict_if_present(state_dict: dict, prefix: str) -> None:
    """Take a prefix such as "module." off the keys, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    for key in list(metadata or ()):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            assert metadata is not None
            metadata[key[len(prefix) :]] = metadata.pop(key)


def _get_activation_fn(activation: str) -> Any:
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


_REDUCTIONS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction: str) -> int:
    """PyTorch's number of a reduction."""
    if reduction not in _REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _REDUCTIONS[reduction]


def legacy_get_string(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> str:
    """The reduction that two older arguments mean."""
    kind = "none" if reduce is False else "sum" if size_average is False else "mean"
    if emit_warning:
        warnings.warn(
            "size_average and reduce args will be deprecated, please use "
            f"reduction='{kind}' instead.",
            stacklevel=3,
        )
    return kind


def legacy_get_enum(
    size_average: bool | None, reduce: bool | None, emit_warning: bool = True
) -> int:
    """The number of the reduction that two older arguments mean."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


def _addindent(s_: str, numSpaces: int) -> str:
    """A text whose lines but the first are moved to the right."""
    return s_.replace("\n", "\n" + numSpaces * " ")


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """What `forward` of a module without one is."""
    kind = type(self).__name__
    raise NotImplementedError(
        f'Module [{kind}] is missing the required "forward" function'
    )


def apply_permutation(tensor: Any, permutation: Any, dim: int = 1) -> Any:
    """A batch in another order."""
    return tensor.index_select(dim, permutation)


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension of a softmax that was called without one."""
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to "
        "include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def _verify_batch_size(size: Any) -> None:
    """That a batch norm in training has more than one value of each channel."""
    values = size[0]
    for length in size[2:]:
        values *= length
    if values == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{size}"
        )


# The modes of grid_sample by the numbers that its operator takes.
GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}
