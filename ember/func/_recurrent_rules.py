"""Batch rules of recurrent cells and layers.

With the same weights for all samples, a batch of batches is a larger one. Weights that
differ take products of their own at every step, but still one for all samples.
"""

import ember
from ember import Tensor
from ember.func._batched import Call, Loop, rule


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Rows [B, N, I] of all samples by the weights [B, O, I] of each."""
    made = x @ weight.mT
    return made if bias is None else made + bias.unsqueeze(-2)


def _step(kind: str, gates: Tensor, h: Tensor, c: Tensor | None, w_hh, b_hh) -> tuple:
    """The next states, from what the input gives to the gates."""
    own = linear(h, w_hh, b_hh)
    if kind == "lstm":
        i, f, new, o = (gates + own).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * new.tanh()
        return o.sigmoid() * c.tanh(), c
    if kind == "gru":
        (r, z, new), (own_r, own_z, own_new) = gates.chunk(3, -1), own.chunk(3, -1)
        z = (z + own_z).sigmoid()
        new = (new + (r + own_r).sigmoid() * own_new).tanh()
        return new + z * (h - new), None
    total = gates + own
    return (total.tanh() if kind == "rnn_tanh" else total.relu()), None


@rule("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
def cell(call: Call):
    x, state, *weights = call.values()
    h, c = state if isinstance(state, (list, tuple)) else (state, None)
    alone, kind = x.dim() == 1, call.name[: -len("_cell")]
    full: list = [None if w is None else call.full(w) for w in weights]
    w_ih, w_hh, b_ih, b_hh = full
    states: list = [None if t is None else call.full(t) for t in (x, h, c)]
    if alone:
        states = [None if t is None else t.unsqueeze(1) for t in states]
    gates = linear(states[0], w_ih, b_ih)
    made = _step(kind, gates, states[1], states[2], w_hh, b_hh)
    parts = [t.squeeze(1) if alone else t for t in made if t is not None]
    return parts[0] if c is None else tuple(parts)


def _direction(kind: str, rows: list, h, c, weights: list, biased: bool, back: bool):
    """The outputs of one layer in one direction, for rows of each step; last states."""
    w_ih, w_hh = weights[:2]
    b_ih, b_hh = weights[2:4] if biased else (None, None)
    projection = weights[-1] if len(weights) % 2 else None
    counts = [r.shape[1] for r in rows]
    gates = linear(ember.cat(rows, 1), w_ih, b_ih).split(counts, 1)
    made: list = [None] * len(rows)
    for t in range(len(rows))[:: -1 if back else 1]:
        n, all_rows = counts[t], counts[t] == h.shape[1]
        before = c if c is None or all_rows else c[:, :n]
        own = h if all_rows else h[:, :n]
        y, after = _step(kind, gates[t], own, before, w_hh, b_hh)
        y = y if projection is None else linear(y, projection, None)
        h = y if all_rows else ember.cat([y, h[:, n:]], 1)
        made[t] = y
        if c is not None and after is not None:
            c = after if all_rows else ember.cat([after, c[:, n:]], 1)
    return made, h, c


@rule("lstm", "gru", "rnn_tanh", "rnn_relu")
def layers(call: Call):
    given = call.bound().given
    state, params = given["hx"], given["params"]
    h, c = state if isinstance(state, (list, tuple)) else (state, None)
    packed = "data" in given
    if packed and call.batched(given["batch_sizes"]):
        raise Loop
    if not packed and not any(map(call.batched, params)):
        return _larger(call, given, h, c)
    first = given.get("batch_first", False)
    params = [call.full(p) for p in params]
    h, c = call.full(h), None if c is None else call.full(c)
    if packed:
        rows = list(call.full(given["data"]).split(given["batch_sizes"].tolist(), 1))
    else:
        rows = list(call.full(given["input"]).unbind(2 if first else 1))
    directions = 2 if given["bidirectional"] else 1
    each = len(params) // (directions * given["num_layers"])
    last: tuple[list, list] = ([], [])
    for layer in range(given["num_layers"]):
        sides = []
        for back in range(directions):
            at = layer * directions + back
            own = params[at * each : (at + 1) * each]
            start = (h[:, at], None if c is None else c[:, at])
            made, *ends = _direction(
                call.name, rows, *start, own, given["has_biases"], bool(back)
            )
            sides.append(made)
            for states, end in zip(last, ends):
                states.append(end)
        rows = sides[0]
        if directions == 2:
            rows = [ember.cat(pair, 2) for pair in zip(*sides)]
        if given["dropout"] and given["train"] and layer + 1 < given["num_layers"]:
            rows = [ember.dropout(r, given["dropout"], True) for r in rows]
    y = ember.cat(rows, 1) if packed else ember.stack(rows, 2 if first else 1)
    made_h = ember.stack(last[0], 1)
    return (y, made_h) if c is None else (y, made_h, ember.stack(last[1], 1))


def _larger(call: Call, given: dict, h: Tensor, c: Tensor | None):
    """With the weights of all samples: a batch of batches."""
    at = 0 if given["batch_first"] else 1

    def folded(x: Tensor, at: int) -> Tensor:
        return call.full(x).movedim(0, at).flatten(at, at + 1)

    states = [folded(s, 1) for s in (h, c) if s is not None]
    rest = list(given.values())[2:]
    x = folded(given["input"], at)
    made = call.func(x, states[0] if c is None else states, *rest)

    def apart(x: Tensor, at: int) -> Tensor:
        return x.unflatten(at, (call.size, h.shape[1])).movedim(at, 0)

    return (apart(made[0], at), *(apart(s, 1) for s in made[1:]))
