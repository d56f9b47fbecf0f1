"""The strides of results: on operands of any layout they are those of torch.

Programs see them: `view` works or not, a random mask drawn over the result comes out in
another order, a saved tensor has another layout.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ember
from tests.ops.entry import S, load
from tools.schemas import registered

torch = pytest.importorskip("torch")

OPS, ENTRIES = registered(), load()
NAMES = sorted(name for name in OPS if name in ENTRIES)

# Where torch's layout is that of a workspace, or of the library it calls.
LAYOUTS_OF_A_LIBRARY: dict[str, str] = {
    "_log_softmax_backward_data": "a gradient follows the incoming one",
    "_softmax_backward_data": "a gradient follows the incoming one",
    "conj_physical": "torch returns a real tensor itself",
    "fft.ihfft2": "torch conjugates a lazy view",
    "fft.ihfftn": "torch conjugates a lazy view",
    "gru_cell": "torch's steps follow the state",
    "linalg.lstsq": "LAPACK's workspace, with the rows of the residuals",
    "linalg.solve": "of a batch of vectors: LAPACK's workspace",
    "nn.functional.avg_pool1d": "torch's rows are images of height 1",
    "nn.functional.conv1d": "torch's rows are images of height 1",
    "nn.functional.conv3d": "a batch of one is in both formats",
    "nn.functional.conv_transpose1d": "torch's rows are images of height 1",
    "nn.functional.max_pool1d_with_indices": "torch's rows are images of height 1",
    "svd": "of what is not computed",
    "unravel_index": "columns of one tensor",
}


def reversed_dims(t: Any) -> Any:
    order = list(range(t.ndim))[::-1]
    return t.permute(order).contiguous().permute(order)


def last_two_swapped(t: Any) -> Any:
    return t.transpose(-1, -2).contiguous().transpose(-1, -2)


def rotated(t: Any) -> Any:
    return t.movedim(0, -1).contiguous().movedim(-1, 0)


def channels_last(t: Any) -> Any:
    return t.movedim(1, -1).contiguous().movedim(-1, 1)


def every_second(t: Any) -> Any:
    wide = t.new_zeros((*t.shape[:-1], 2 * t.shape[-1]))
    wide[..., ::2] = t
    return wide[..., ::2]


def rows_apart(t: Any) -> Any:
    tall = t.new_zeros((2 * t.shape[0], *t.shape[1:]))
    tall[::2] = t
    return tall[::2]


def swapped_apart(t: Any) -> Any:
    return every_second(t.transpose(0, -1)).transpose(0, -1)


LAYOUTS: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "plain": (0, lambda t: t),
    "reversed": (2, reversed_dims),
    "swapped": (3, last_two_swapped),
    "rotated": (3, rotated),
    "channels_last": (3, channels_last),
    "every second": (1, every_second),
    "rows apart": (2, rows_apart),
    "swapped and apart": (2, swapped_apart),
}
WHICH: dict[str, Callable[[int], bool]] = {
    "all": lambda i: True,
    "first": lambda i: i == 0,
    "others": lambda i: i > 0,
}


def function_of(m: Any, name: str) -> Any:
    for part in name.split("."):
        m = getattr(m, part, None)
    return m if m is not None else None


def call_for(m: Any, arrays: S, layout: str, which: str) -> S | None:
    """The call with tensors of `m`, or None where the layout changes no operand."""
    rank, lay = LAYOUTS[layout]
    count, changed = 0, False

    def build(value: Any) -> Any:
        nonlocal count, changed
        if isinstance(value, np.ndarray):
            t = m.from_numpy(np.array(value))
            position, count = count, count + 1
            if t.ndim >= rank and t.numel() > 1 and WHICH[which](position):
                changed = True
                t = lay(t)
            return t
        if isinstance(value, ember.dtype):
            return getattr(m, str(value).rpartition(".")[2])
        if isinstance(value, (list, tuple)):
            return type(value)(build(v) for v in value)
        return value

    call = S(
        *(build(a) for a in arrays.args),
        **{name: build(a) for name, a in arrays.kwargs.items()},
    )
    return call if changed and (which == "all" or count > 1) else None


def strides(m: Any, result: Any) -> Iterator[Any]:
    """Strides along axes of more than one element, tensor by tensor."""
    if isinstance(result, m.Tensor):
        if result.layout != m.strided or result.numel() < 2:
            yield None
        else:
            yield tuple(
                (n, s)
                for n, s in zip(result.shape, result.stride(), strict=True)
                if n > 1
            )
    elif isinstance(result, (tuple, list)):
        for part in result:
            yield from strides(m, part)


def found(m: Any, function: Any, call: S) -> Any:
    try:
        m.manual_seed(0)
        return list(strides(m, function(*call.args, **call.kwargs)))
    except Exception as error:
        return error


def differences(name: str, theirs: Any, ours: Any) -> list[str]:
    entry, wrong = ENTRIES[name], []
    for sample in entry.samples:
        arrays = sample.arrays(entry.names[0])
        for layout in LAYOUTS:
            for which in WHICH:
                calls = [call_for(m, arrays, layout, which) for m in (torch, ember)]
                if calls[0] is None or calls[1] is None:
                    continue
                want = found(torch, theirs, calls[0])
                if isinstance(want, Exception):
                    continue
                got = found(ember, ours, calls[1])
                if got != want:
                    wrong.append(f"{sample} {layout}, {which}: {got}, torch: {want}")
    return wrong


@pytest.mark.parametrize("name", NAMES)
def test_strides(name: str) -> None:
    theirs, ours = function_of(torch, name), function_of(ember, name)
    if theirs is None:
        theirs, ours = (getattr(m.Tensor, name, None) for m in (torch, ember))
    if theirs is None or ours is None:
        pytest.skip("torch has none")
    if name in LAYOUTS_OF_A_LIBRARY:
        pytest.skip(LAYOUTS_OF_A_LIBRARY[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrong = differences(name, theirs, ours)
    assert not wrong, "\n".join([name, *wrong[: int(os.environ.get("SHOW", "5"))]])
