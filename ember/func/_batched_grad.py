"""Gradients of batched tensors: those of the values behind them."""

import ember
from ember import _C
from ember.func._batched import highest, level_of, size_at, wrap


def run_grad(outputs, inputs, grads, create_graph: bool, retain_graph=None) -> tuple:
    """`autograd.grad` of tensors that may be batched; None where independent.

    Inputs have to be batched wherever outputs are: `lifted` makes them so.
    """
    level = highest([*outputs, *inputs, *(g for g in grads if g is not None)])
    retain = create_graph if retain_graph is None else retain_graph
    if level == 0:
        given = (tuple(outputs), tuple(grads), retain, create_graph, tuple(inputs))
        return _C._run_backward(*given, True, False)
    size = size_at(level)
    if highest(outputs) < level:
        rows = []
        for i in range(size):
            row = [g.value[i] if level_of(g) == level else g for g in grads]
            rows.append(run_grad(outputs, inputs, row, create_graph, True))
        return tuple(
            None if column[0] is None else wrap(ember.stack(column), level)
            for column in zip(*rows)
        )
    for x in inputs:
        if level_of(x) != level:
            raise RuntimeError(
                "gradient inside vmap with respect to a tensor from outside of it: use "
                "ember.func.grad, or make it an argument of the mapped function"
            )
    pairs = [
        (o.value, _gradient_at(o, g, level, size))
        for o, g in zip(outputs, grads)
        if level_of(o) == level
    ]
    made = run_grad(
        [o for o, _ in pairs],
        [x.value for x in inputs],
        [g for _, g in pairs],
        create_graph,
        retain,
    )
    return tuple(None if g is None else wrap(g, level) for g in made)


def _gradient_at(out, g, level: int, size: int):
    if g is None:
        return ember.ones_like(out.value)
    return g.value if level_of(g) == level else g.expand(size, *g.shape)
