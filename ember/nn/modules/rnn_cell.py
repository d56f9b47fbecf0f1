"""Recurrent cells: one step at a time."""

import math
from typing import Any

import ember
from ember import _C, Tensor
from ember._types import DeviceLike, Dtype
from ember.nn import init
from ember.nn.modules.module import Module
from ember.nn.parameter import Parameter


class RNNCellBase(Module):
    """Base: weights of `num_chunks` gates.

    Args:
        input_size: features of the input
        hidden_size: features of the state
        bias: learn summands
        num_chunks: 1 for a plain cell, 3 for GRU, 4 for LSTM

    >>> nn.RNNCellBase(2, 3, True, 4).weight_ih.shape
    torch.Size([12, 2])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        kind: dict[str, Any] = {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(ember.empty((gates, input_size), **kind))
        self.weight_hh = Parameter(ember.empty((gates, hidden_size), **kind))
        for name in ("bias_ih", "bias_hh"):
            values = Parameter(ember.empty(gates, **kind)) if bias else None
            self.register_parameter(name, values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values, uniform in ±1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _check(self, input: Tensor, states) -> None:
        """Shapes as PyTorch wants them; 1-D tensors are a batch of one."""
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(
                f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead"
            )
        for state in states:
            if state.dim() not in (1, 2):
                raise ValueError(
                    f"{name}: Expected hidden to be 1D or 2D, got {state.dim()}D "
                    "instead"
                )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[-1]} expected "
                f"{self.input_size}"
            )
        batch = input.shape[:-1]
        for state in states:
            if state.shape[:-1] != batch:
                raise RuntimeError(
                    f"Input batch size {list(batch)} doesn't match hidden batch size "
                    f"{list(state.shape[:-1])}"
                )
            if state.shape[-1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden has inconsistent hidden_size: got {state.shape[-1]}, "
                    f"expected {self.hidden_size}"
                )

    @property
    def _weights(self) -> tuple:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _zeros(self, input: Tensor) -> Tensor:
        return input.new_zeros((*input.shape[:-1], self.hidden_size))


class RNNCell(RNNCellBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu.

    >>> import ember
    >>> ember.nn.RNNCell(4, 6)(ember.ones(3, 4)).shape
    torch.Size([3, 6])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        hx = self._zeros(input) if hx is None else hx
        self._check(input, [hx])
        cell = _C.rnn_tanh_cell if self.nonlinearity == "tanh" else _C.rnn_relu_cell
        return cell(input, hx, *self._weights)


class LSTMCell(RNNCellBase):
    """One step of long short-term memory; the state is (h, c).

    >>> import ember
    >>> h, c = ember.nn.LSTMCell(4, 6)(ember.ones(3, 4))
    >>> h.shape, c.shape
    (torch.Size([3, 6]), torch.Size([3, 6]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: Any = None) -> tuple[Tensor, Tensor]:
        hx = (self._zeros(input),) * 2 if hx is None else hx
        self._check(input, hx)
        return _C.lstm_cell(input, hx, *self._weights)


class GRUCell(RNNCellBase):
    """One step of gated recurrent units.

    >>> import ember
    >>> ember.nn.GRUCell(4, 6)(ember.ones(3, 4)).shape
    torch.Size([3, 6])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        hx = self._zeros(input) if hx is None else hx
        self._check(input, [hx])
        return _C.gru_cell(input, hx, *self._weights)
