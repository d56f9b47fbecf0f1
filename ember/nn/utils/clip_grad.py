"""Limits on gradients."""

from collections.abc import Generator, Iterable

import ember
from ember import Tensor, _lazy


def _listed(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [p.grad for p in _listed(parameters) if p.grad is not None]


def _everywhere(norm: Tensor) -> Tensor:
    """A norm as a plain tensor, also that of a DTensor."""
    full = getattr(norm, "full_tensor", None)
    return norm if full is None else full()


@ember.no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors as if they were one vector.

    >>> import ember
    >>> tensors = [ember.tensor([3.0]), ember.tensor([4.0])]
    >>> ember.nn.utils.get_total_norm(tensors)
    tensor(5.)
    """
    tensors = _listed(tensors)
    if not tensors:
        return ember.tensor(0.0)
    device = tensors[0].device
    norms = [t.norm(float(norm_type)).to(device) for t in tensors]
    if len({getattr(norm, "device_mesh", None) for norm in norms}) > 1:
        norms = [_everywhere(norm) for norm in norms]
    total = ember.stack(norms).norm(float(norm_type))
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from "
            "`parameters` is non-finite, so it cannot be clipped. To disable this "
            "error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


@ember.no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scale gradients, whose norm is `total_norm`, down to `max_norm`.

    `clip_grad_norm_` in two steps, for a norm that is known already.

    Args:
        parameters: tensors whose `.grad` is scaled
        max_norm: the largest norm
        total_norm: what `get_total_norm` gave

    >>> w = nn.Parameter(ember.ones(2))
    >>> (w * ember.tensor([3.0, 4.0])).sum().backward()
    >>> nn.utils.clip_grads_with_norm_(w, 1.0, ember.tensor(5.0))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    # Never above 1; multiplying by 1 is cheaper than asking the device.
    factor = (float(max_norm) / (_everywhere(total_norm) + 1e-6)).clamp(max=1.0)
    for grad in _gradients(parameters):
        grad.mul_(factor.to(grad.device))


@ember.no_grad()
def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale gradients in place so that their norm is at most `max_norm`.

    Returns the norm before.

    >>> import ember
    >>> w = ember.ones(2, requires_grad=True)
    >>> (w * ember.tensor([3.0, 4.0])).sum().backward()
    >>> ember.nn.utils.clip_grad_norm_([w], 1.0)
    tensor(5.)
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    is_generator = isinstance(parameters, Generator)
    parameters = _listed(parameters)
    if is_generator and not parameters:
        import warnings

        warnings.warn(
            "`parameters` is an empty generator, no gradient clipping will occur.",
            stacklevel=3,
        )
    grads = _gradients(parameters)
    total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Old name of `clip_grad_norm_`."""
    import warnings

    warnings.warn(
        "torch.nn.utils.clip_grad_norm is now deprecated in favor of "
        "torch.nn.utils.clip_grad_norm_.",
        FutureWarning,
        stacklevel=2,
    )
    given = (norm_type, error_if_nonfinite, foreach)
    return clip_grad_norm_(parameters, max_norm, *given)


@ember.no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor],
    clip_value: float,
    foreach: bool | None = None,
) -> None:
    """Limit every element of the gradients to ±clip_value, in place.

    Args:
        parameters: tensors whose `.grad` is limited
        clip_value: by how much

    >>> w = nn.Parameter(ember.ones(2))
    >>> (w * ember.tensor([0.5, -9.0])).sum().backward()
    >>> nn.utils.clip_grad_value_(w, 1.0)
    >>> w.grad
    tensor([ 0.5000, -1.0000])
    """
    limit = float(clip_value)
    for grad in _gradients(parameters):
        grad.clamp_(min=-limit, max=limit)


__getattr__ = _lazy.missing(__name__)
