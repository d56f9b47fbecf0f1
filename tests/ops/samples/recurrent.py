"""core/ops/recurrent.cpp."""

import numpy as np

from ..entry import S, T, op


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(kind, x, h, c, w_ih, w_hh, b_ih=0.0, b_hh=0.0, w_hr=None):
    """The next (h, c) of rows of x."""
    given, recurrent = x @ w_ih.T + b_ih, h @ w_hh.T + b_hh
    if kind == "gru":
        (r, z, n), (p, q, m) = np.split(given, 3, -1), np.split(recurrent, 3, -1)
        fresh, z = np.tanh(n + sigmoid(r + p) * m), sigmoid(z + q)
        return (1 - z) * fresh + z * h, c
    if kind != "lstm":
        function = np.tanh if kind == "rnn_tanh" else lambda v: np.maximum(v, 0)
        return function(given + recurrent), c
    i, f, g, o = np.split(given + recurrent, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return (h if w_hr is None else h @ w_hr.T), c


def layers(kind, steps, h, c, params, count, bidirectional):
    """All layers over a list of steps, whose rows may become fewer."""
    directions = 2 if bidirectional else 1
    each = len(params) // (count * directions)
    h, c = h.copy(), c.copy()
    for layer in range(count):
        outputs = []
        for direction in range(directions):
            at = layer * directions + direction
            own = params[at * each : (at + 1) * each]
            if each in (3, 5):  # a projection, without or with biases
                own = own[:2] + (own[2:4] if each == 5 else [0.0, 0.0]) + own[-1:]
            out = {}
            for t in range(len(steps))[:: -1 if direction else 1]:
                n = len(steps[t])
                h[at, :n], c[at, :n] = step(kind, steps[t], h[at, :n], c[at, :n], *own)
                out[t] = h[at, :n].copy()
            outputs.append([out[t] for t in range(len(steps))])
        steps = [np.concatenate(both, -1) for both in zip(*outputs, strict=True)]
    return steps, h, c


def states(kind, hx):
    return hx if kind == "lstm" else (hx, np.zeros(hx.shape))


def sequence(kind):
    def ref(*args):
        packed = args[1].ndim == 1 if isinstance(args[1], np.ndarray) else False
        input, hx, params, _, count, _, _, bidirectional = args[packed : packed + 8]
        if packed:
            input = args[0]
            steps = np.split(input, np.cumsum(args[1])[:-1])
        else:
            steps = list(input.swapaxes(0, 1) if args[8] else input)
        h, c = states(kind, hx)
        steps, h, c = layers(kind, steps, h, c, list(params), count, bidirectional)
        out = np.concatenate(steps) if packed else np.stack(steps, int(args[8]))
        return (out, h, c) if kind == "lstm" else (out, h)

    return ref


def cell(kind):
    def ref(x, hx, *weights):
        h, c = states(kind, hx)
        h, c = step(kind, x, h, c, *weights)
        return (h, c) if kind == "lstm" else h

    return ref


def small(*shape):
    return T(*shape, low=-0.8, high=0.8)


def weights(gates, inputs, units, outputs=None, biases=True):
    outputs = outputs or units
    made = [small(gates * units, inputs), small(gates * units, outputs)]
    if biases:
        made += [small(gates * units), small(gates * units)]
    return made + ([small(outputs, units)] if outputs != units else [])


# Numbers of rows of the steps of packed sequences.
SIZES = np.array([3, 2, 2, 1])

for name, gates in (("lstm", 4), ("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
    one = weights(gates, 2, 3)
    two = one + weights(gates, 3, 3)
    both = [*one, *weights(gates, 2, 3), *weights(gates, 6, 3), *weights(gates, 6, 3)]
    bare = weights(gates, 2, 3, biases=False)

    def hx(count, batch=2, lstm=name == "lstm"):
        given = small(count, batch, 3)
        return [given, small(count, batch, 3)] if lstm else given

    samples = [
        S(small(4, 2, 2), hx(2), two, True, 2, 0.0, True, False, False),
        S(small(2, 3, 2), hx(4), both, True, 2, 0.0, False, True, True),
        S(small(3, 2, 2), hx(1), bare, False, 1, 0.0, False, False, False),
        S(small(8, 2), SIZES, hx(4, 3), both, True, 2, 0.0, False, True),
        S(small(8, 2), SIZES, hx(1, 3), one, True, 1, 0.0, False, False),
        S(small(5, 4, 2), hx(1, 4), one, True, 1, 0.0, False, False, False),
    ]
    if name == "lstm":
        projected = weights(gates, 2, 3, 2)
        start = [small(1, 2, 2), small(1, 2, 3)]
        samples += [
            S(small(3, 2, 2), start, projected, True, 1, 0.0, False, False, False)
        ]
    options = (True, 1, 0.0, False, False)
    errors = [
        (S(small(4, 2, 2), hx(1), one[:3], *options, False), RuntimeError, "parameters"),
        (S(small(4, 2, 3), hx(1), one, *options, False), RuntimeError, "input weight"),
        (S(small(4, 2, 2), hx(1, 3), one, *options, False), RuntimeError, "hidden state"),
        (S(small(4, 2, 2), hx(2), one, *options, False), RuntimeError, "hidden states"),
        (S(small(2, 2), hx(1), one, *options, False), RuntimeError, "3 dimensions"),
        (S(small(0, 2, 2), hx(1), one, *options, False), RuntimeError, "larger than 0"),
        (S(small(8, 2), np.array([2, 3, 3]), hx(1), one, *options), RuntimeError, "grow"),
        (S(small(8, 2), np.array([3, 3]), hx(1, 3), one, *options), RuntimeError, "add up"),
    ]  # fmt: skip
    # The sizes of a packed sequence have to be known, which they are not on meta.
    op(name, *samples, ref=sequence(name), skip="meta empty", errors=errors, tol=4)

    start = [small(2, 3), small(2, 3)] if name == "lstm" else small(2, 3)
    single = [small(3), small(3)] if name == "lstm" else small(3)
    op(f"{name}_cell", S(small(2, 2), start, *one), S(small(2, 2), start, *bare),
       S(small(2), single, *one), ref=cell(name), tol=4,
       errors=[(S(small(3, 2), start, *one), RuntimeError, "batch size"),
               (S(small(2, 4), start, *one), RuntimeError, "input weight")])  # fmt: skip
