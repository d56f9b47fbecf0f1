"""Steps of recurrent networks, and layers of them over sequences."""

import ember
from ember import _C, Tensor
from ember.nn.functional.dropout import dropout

linear = _C._ops["nn.functional.linear"]


def rnn_step(nonlinearity, projected: Tensor, h: Tensor, weight_hh, bias_hh) -> Tensor:
    """nonlinearity(projected + W_hh h + b_hh); `projected` is W_ih x + b_ih."""
    return nonlinearity(projected + linear(h, weight_hh, bias_hh))


def lstm_step(
    projected: Tensor, h: Tensor, c: Tensor, weight_hh, bias_hh, weight_hr=None
) -> tuple[Tensor, Tensor]:
    """The next (h, c); the gates are input, forget, cell and output."""
    gates = projected + linear(h, weight_hh, bias_hh)
    enter, forget, cell, leave = gates.chunk(4, -1)
    c = ember.sigmoid(forget) * c + ember.sigmoid(enter) * ember.tanh(cell)
    h = ember.sigmoid(leave) * ember.tanh(c)
    return (h if weight_hr is None else linear(h, weight_hr)), c


def gru_step(projected: Tensor, h: Tensor, weight_hh, bias_hh) -> Tensor:
    """The next h; the gates are reset, update and new."""
    reset_x, update_x, new_x = projected.chunk(3, -1)
    reset_h, update_h, new_h = linear(h, weight_hh, bias_hh).chunk(3, -1)
    reset = ember.sigmoid(reset_x + reset_h)
    update = ember.sigmoid(update_x + update_h)
    new = ember.tanh(new_x + reset * new_h)
    return new + update * (h - new)


def _step(mode: str, projected: Tensor, states, weights):
    """The states after one step, as a list (of two for LSTM)."""
    w, b = weights["weight_hh"], weights.get("bias_hh")
    if mode == "LSTM":
        return list(lstm_step(projected, *states, w, b, weights.get("weight_hr")))
    if mode == "GRU":
        return [gru_step(projected, states[0], w, b)]
    nonlinearity = ember.tanh if mode == "RNN_TANH" else ember.relu
    return [rnn_step(nonlinearity, projected, states[0], w, b)]


def run_layers(mode, steps, states, weights, p: float, bidirectional: bool):
    """All layers over a list of steps [N_t, input], N_t never growing.

    `states` are [layers * directions, N, size]; `weights` has the parameters of each
    layer and direction. Returns the steps of the last layer and the final states.
    """
    directions = 2 if bidirectional else 1
    layers = len(weights) // directions
    sizes = [step.shape[0] for step in steps]
    finals = []
    for layer in range(layers):
        data = ember.cat(list(steps))
        outputs = []
        for direction in range(directions):
            at = layer * directions + direction
            mine = weights[at]
            projected = linear(data, mine["weight_ih"], mine.get("bias_ih"))
            pieces = projected.split(sizes)
            start = [state[at] for state in states]
            run = _backwards if direction else _forwards
            out, final = run(mode, pieces, sizes, start, mine)
            outputs.append(out)
            finals.append(final)
        steps = outputs[0]
        if bidirectional:
            steps = [ember.cat(pair, -1) for pair in zip(*outputs)]
        if p > 0 and layer < layers - 1:
            steps = dropout(ember.cat(steps), p, True).split(sizes)
    return steps, [ember.stack(list(kind)) for kind in zip(*finals)]


def _forwards(mode, pieces, sizes, states, weights):
    """Sequences that end drop off the end of the batch; their states are kept."""
    outputs, ended = [], []
    for piece, size in zip(pieces, sizes):
        if size < states[0].shape[0]:
            ended.append([state[size:] for state in states])
            states = [state[:size] for state in states]
        states = _step(mode, piece, states, weights)
        outputs.append(states[0])
    ended.append(states)
    if len(ended) == 1:
        return outputs, states
    return outputs, [ember.cat(list(kind)[::-1]) for kind in zip(*ended)]


def _backwards(mode, pieces, sizes, start, weights):
    """From the last step to the first; shorter sequences join in with their start."""
    outputs = []
    states = [state[: sizes[-1]] for state in start]
    for piece, size in zip(reversed(pieces), reversed(sizes)):
        now = states[0].shape[0]
        if size > now:
            joined = [[old, new[now:size]] for old, new in zip(states, start)]
            states = [ember.cat(both) for both in joined]
        states = _step(mode, piece, states, weights)
        outputs.append(states[0])
    return outputs[::-1], states
