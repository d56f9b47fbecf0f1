"""Recurrent networks over whole sequences: RNN, LSTM, GRU. Cells are in `rnn_cell.py`.

Checks and parameters are here; what is computed is in the ops (core/ops/recurrent.cpp).
"""

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import ember
from ember import _C, Tensor, _lazy
from ember._types import DeviceLike, Dtype
from ember.nn import init
from ember.nn.modules.module import Module
from ember.nn.parameter import Parameter
from ember.nn.utils.rnn import PackedSequence


class RNNBase(Module):
    """Base: the parameters of all layers and directions, and the checks.

    Args:
        mode: `"LSTM"`, `"GRU"`, `"RNN_TANH"` or `"RNN_RELU"`
        input_size: features of each step
        hidden_size: features of the state
        num_layers: how many layers lie above each other
        bias: learn summands
        batch_first: [batch, steps, features] instead of [steps, batch, features]
        dropout: probability of dropout between layers
        bidirectional: a second state runs from the end to the beginning
        proj_size: size that an LSTM's output is projected to; 0: none

    >>> [name for name, _ in nn.RNNBase("GRU", 2, 3).named_parameters()]
    ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
    """

    _kinds = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
    _ops: ClassVar[dict[str, Callable]] = {
        "LSTM": _C.lstm,
        "GRU": _C.gru,
        "RNN_TANH": _C.rnn_tanh,
        "RNN_RELU": _C.rnn_relu,
    }

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("bias", bias), ("batch_first", batch_first)):
            _check_type(name, value, bool)
        _check_type("input_size", input_size, int)
        if input_size <= 0:
            raise ValueError("input_size must be greater than zero")
        _check_options(hidden_size, num_layers, dropout, proj_size, mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        directions = ("", "_reverse") if bidirectional else ("",)
        gates = self._kinds[mode] * hidden_size
        hidden = proj_size or hidden_size
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden * len(directions)
            for suffix in directions:
                shapes: dict = {
                    "weight_ih": (gates, width),
                    "weight_hh": (gates, hidden),
                }
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    setattr(self, name, Parameter(ember.empty(shape, **kind)))
                self._flat_weights_names += names
                self._all_weights.append(names)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values, uniform in ±1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Does nothing: only CUDA wants its weights in one piece."""

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Tensor]:
        given = self.__dict__.get("_given_weights")
        return (
            [getattr(self, n) for n in self._flat_weights_names]
            if given is None
            else given
        )

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Tensor]) -> None:
        """Let forward use other tensors than the parameters (weight dropout does)."""
        own = self.__dict__
        own.pop("_given_weights", None)
        params = [getattr(self, name, None) for name in self._flat_weights_names]
        if any(a is not b for a, b in zip(weights, params)):
            own["_given_weights"] = list(weights)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        given = self.__dict__.get("_given_weights")
        if given is not None and name in self._flat_weights_names:
            given[self._flat_weights_names.index(name)] = value

    def _apply(self, fn, recurse: bool = True):
        self.__dict__.pop("_given_weights", None)
        return super()._apply(fn, recurse)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    def forward(self, input: Tensor, hx: Any = None) -> Any:
        """Outputs of the last layer for all steps, and the final states."""
        if isinstance(input, PackedSequence):
            data, sizes, sorted_indices, unsorted = input
            states = self._states(hx, data, int(sizes[0]), sorted_indices, True)
            output, *final = self._run((data, sizes), states)
            packed = PackedSequence(output, sizes, sorted_indices, unsorted)
            return packed, self._result(_permuted(final, unsorted), True)
        dims = input.dim()
        if dims not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {dims}D "
                "instead"
            )
        batched, first = dims == 3, self.batch_first
        if not batched:
            input = input.unsqueeze(0 if first else 1)
        states = self._states(hx, input, input.shape[0 if first else 1], None, batched)
        output, *final = self._run((input,), states, first)
        if not batched:
            output = output.squeeze(0 if first else 1)
        return output, self._result(final, batched)

    def _run(self, input: tuple, states: list[Tensor], *layout: bool):
        """The op over padded (with a layout) or packed sequences."""
        hx = states if self.mode == "LSTM" else states[0]
        return self._ops[self.mode](
            *input,
            hx,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            *layout,
        )

    def _states(self, hx, input: Tensor, batch: int, order, batched: bool):
        """The initial states, each [layers * directions, N, size]."""
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.shape[-1]}"
            )
        weight = self._parameters.get("weight_ih_l0")
        if weight is not None and weight.dtype != input.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype "
                f"({weight.dtype}). Convert input: input.to({weight.dtype}), or "
                f"convert model: model.to({input.dtype})"
            )
        count = self.num_layers * (2 if self.bidirectional else 1)
        sizes = [self.proj_size or self.hidden_size]
        if self.mode == "LSTM":
            sizes.append(self.hidden_size)
        if hx is None:
            return [input.new_zeros((count, batch, size)) for size in sizes]
        given = list(hx) if self.mode == "LSTM" else [hx]
        dims = 3 if batched else 2
        kind = type(self).__name__
        for state in given:
            if state.dim() != dims:
                what = "batched 3-D" if batched else "unbatched 2-D"
                raise RuntimeError(
                    f"For {what} input, hx should also be {dims}-D but got "
                    f"{state.dim()}-D tensor ({kind})"
                )
        if not batched:
            given = [state.unsqueeze(1) for state in given]
        for i, (state, size) in enumerate(zip(given, sizes)):
            expected = (count, batch, size)
            if tuple(state.shape) != expected:
                which = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(
                    f"Expected {which} size {expected}, got {list(state.shape)}"
                )
        return _permuted(given, order)

    def _result(self, final: list[Tensor], batched: bool):
        if not batched:
            final = [state.squeeze(1) for state in final]
        return tuple(final) if self.mode == "LSTM" else final[0]


def _permuted(states, order):
    if order is None:
        return list(states)
    return [state.index_select(1, order) for state in states]


def _check_type(name: str, value, kind: type) -> None:
    if not isinstance(value, kind):
        raise TypeError(
            f"{name} should be of type {kind.__name__}, got: {type(value).__name__}"
        )


def _check_options(hidden_size, num_layers, dropout, proj_size, mode) -> None:
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability "
            "of an element being zeroed"
        )
    if not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability "
            "of an element being zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so "
            f"non-zero dropout expects num_layers greater than 1, but got dropout="
            f"{dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    _check_type("hidden_size", hidden_size, int)
    if hidden_size <= 0:
        raise ValueError("hidden_size must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError(
            "proj_size should be a positive integer or zero to disable projections"
        )
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if proj_size and mode != "LSTM":
        raise ValueError(
            "proj_size argument is only supported for LSTM, not RNN or GRU"
        )


class RNN(RNNBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu, step after step.

    >>> import ember
    >>> output, h = ember.nn.RNN(4, 6, num_layers=2)(ember.ones(5, 3, 4))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 6]), torch.Size([2, 3, 6]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        if kwargs.pop("proj_size", 0):
            raise ValueError(
                "proj_size argument is only supported for LSTM, not RNN or GRU"
            )
        self.nonlinearity = nonlinearity
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory; the state is (h, c).

    >>> import ember
    >>> output, (h, c) = ember.nn.LSTM(4, 6, bidirectional=True)(ember.ones(5, 3, 4))
    >>> output.shape, h.shape, c.shape
    (torch.Size([5, 3, 12]), torch.Size([2, 3, 6]), torch.Size([2, 3, 6]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units.

    >>> import ember
    >>> output, h = ember.nn.GRU(4, 6, batch_first=True)(ember.ones(3, 5, 4))
    >>> output.shape, h.shape
    (torch.Size([3, 5, 6]), torch.Size([1, 3, 6]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError(
                "proj_size argument is only supported for LSTM, not RNN or GRU"
            )
        super().__init__("GRU", *args, **kwargs)


__getattr__ = _lazy.missing(__name__)
