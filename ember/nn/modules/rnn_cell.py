"""Recurrent cells: one step at a time."""

import math

import ember
from ember import Tensor
from ember.nn import functional as F
from ember.nn import init
from ember.nn.functional import recurrent
from ember.nn.modules.module import Module
from ember.nn.parameter import Parameter


class RNNCellBase(Module):
    """Base: weights of `num_chunks` gates."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device=None,
        dtype=None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        kind = {"device": device, "dtype": dtype}
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

    def _prepared(self, input: Tensor, states) -> tuple[Tensor, list[Tensor], bool]:
        """Gates of the input, states as [N, H], and whether there was a batch."""
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
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            states = [state.unsqueeze(0) for state in states]
        if input.shape[1] != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.shape[1]} expected "
                f"{self.input_size}"
            )
        for state in states:
            if input.shape[0] != state.shape[0]:
                raise RuntimeError(
                    f"Input batch size {input.shape[0]} doesn't match hidden batch "
                    f"size {state.shape[0]}"
                )
            if state.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden has inconsistent hidden_size: got {state.shape[1]}, "
                    f"expected {self.hidden_size}"
                )
        projected = F.linear(input, self.weight_ih, self.bias_ih)
        return projected, list(states), batched

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
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        hx = self._zeros(input) if hx is None else hx
        projected, (h,), batched = self._prepared(input, [hx])
        function = getattr(ember, self.nonlinearity)
        own = (self.weight_hh, self.bias_hh)
        h = recurrent.rnn_step(function, projected, h, *own)
        return h if batched else h.squeeze(0)


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
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx=None) -> tuple[Tensor, Tensor]:
        hx = (self._zeros(input),) * 2 if hx is None else hx
        projected, (h, c), batched = self._prepared(input, hx)
        own = (self.weight_hh, self.bias_hh)
        h, c = recurrent.lstm_step(projected, h, c, *own)
        return (h, c) if batched else (h.squeeze(0), c.squeeze(0))


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
        device=None,
        dtype=None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        hx = self._zeros(input) if hx is None else hx
        projected, (h,), batched = self._prepared(input, [hx])
        h = recurrent.gru_step(projected, h, self.weight_hh, self.bias_hh)
        return h if batched else h.squeeze(0)
