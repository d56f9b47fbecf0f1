"""The backward pass of one stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import ember
from ember import Tensor
from ember.utils._pytree import tree_flatten


def _wanted(outputs: Any, grads: Any) -> tuple[list[Tensor], list[Tensor | None]]:
    """Outputs that have a history, with their gradients; no gradient: of a loss."""
    values = tree_flatten(outputs)[0]
    given = [None] * len(values) if grads is None else _leaves(grads)
    if len(given) != len(values):
        raise ValueError(f"{len(given)} gradients were given for {len(values)} outputs")
    pairs = [
        (v, g)
        for v, g in zip(values, given)
        if isinstance(v, Tensor)
        and v.requires_grad
        and (g is not None or grads is None)
    ]
    return [v for v, _ in pairs], [g for _, g in pairs]


def _leaves(value: Any) -> list[Any]:
    """Tensors and absent ones of nested tuples and lists."""
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def _grad_of(value: Any) -> Tensor | None:
    return value.grad if isinstance(value, Tensor) else None


def stage_backward(
    stage_output: Any,
    output_grads: Sequence[Tensor | None] | None,
    input_values: Sequence[Any],
    outputs_with_grads_idxs: Sequence[int] | None = None,
) -> tuple[Tensor | None, ...]:
    """Adds the gradients of the parameters up; returns those of the inputs."""
    outputs, grads = _wanted(stage_output, output_grads)
    if outputs:
        ember.autograd.backward(outputs, grads)
    return tuple(_grad_of(value) for value in input_values)


def stage_backward_input(
    stage_outputs_or_loss: Sequence[Tensor],
    output_grads: Sequence[Tensor | None] | None,
    input_values: Sequence[Any],
    weights: Iterable[Tensor],
) -> tuple[tuple[Tensor | None, ...], list[dict[str, Any]]]:
    """Only the gradients of the inputs, which the stage before waits for, and what
    `stage_backward_weight` needs for the others."""
    outputs, grads = _wanted(stage_outputs_or_loss, output_grads)
    inputs = [v for v in input_values if isinstance(v, Tensor) and v.requires_grad]
    found = (
        ember.autograd.grad(
            outputs, inputs, grads, retain_graph=True, allow_unused=True
        )
        if outputs and inputs
        else (None,) * len(inputs)
    )
    for value, grad in zip(inputs, found):
        if grad is not None:
            value.grad = grad if value.grad is None else value.grad + grad
    kept = [{"params": list(weights), "outputs": outputs, "grads": grads}]
    return tuple(_grad_of(value) for value in input_values), kept


def stage_backward_weight(
    weights: Iterable[Tensor],
    param_groups: list[dict[str, Any]],
    retain_graph: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the parameters, after `stage_backward_input`. The pass goes
    through the stage once more."""
    chosen = [w for w in weights if w.requires_grad]
    for group in param_groups:
        if not group["outputs"] or not chosen:
            continue
        found = ember.autograd.grad(
            group["outputs"],
            chosen,
            group["grads"],
            retain_graph=retain_graph,
            allow_unused=True,
        )
        for weight, grad in zip(chosen, found):
            if grad is not None:
                weight.grad = grad if weight.grad is None else weight.grad + grad
    return tuple(weight.grad for weight in chosen)
