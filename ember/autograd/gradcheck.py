"""Numerical checks of gradients: `gradcheck` and `gradgradcheck`.

What is compared with what is in `_jacobians.py`; here are the two functions, and how
sparse inputs become dense ones.
"""

from collections.abc import Callable, Sequence

import ember
from ember import _lazy
from ember.autograd._jacobians import (
    Derivatives,
    GradcheckError,
    as_tuple,
    differentiable,
    random_like,
    wants_gradient,
)


def gradcheck(
    func: Callable,
    inputs: "ember.Tensor | Sequence[ember.Tensor]",
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` with central differences.

    Returns True, or raises `GradcheckError` (returns False with
    `raise_exception=False`). `fast_mode` compares one random projection of each
    Jacobian instead of all of it.

    >>> import ember
    >>> x = ember.tensor([1.0, 2.0], dtype=ember.float64, requires_grad=True)
    >>> ember.autograd.gradcheck(ember.exp, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError(
            "Expected at least one of check_forward_ad or check_backward_ad to be True"
        )
    if check_batched_grad and not check_backward_ad:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_backward_ad to be True"
        )
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError(
            "Setting check_batched_forward_grad=True requires check_forward_ad to be "
            "True"
        )
    inputs = as_tuple(inputs)
    if any(_is_sparse(x) for x in inputs):
        func, inputs = _densified(func, inputs, bool(masked))
    _check_inputs(inputs)
    try:
        check = Derivatives(func, inputs, eps, atol, rtol, nondet_tol)
        if not check.outputs:
            check.expect_no_gradient()
        elif check_backward_ad:
            for index in range(len(check.outputs)):
                check.fast(index) if fast_mode else check.full(index)
                if check_grad_dtypes:
                    check.dtypes(index)
                if check_batched_grad:
                    check.batched(index)
            check.linear_in_cotangents()
            if check_undefined_grad:
                check.undefined_cotangents()
        if check.outputs and check_forward_ad:
            check.forward_fast() if fast_mode else check.forward()
            if check_undefined_grad:
                check.undefined_tangents()
            if check_batched_forward_grad:
                check.batched_forward()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable,
    inputs: "ember.Tensor | Sequence[ember.Tensor]",
    grad_outputs: "ember.Tensor | Sequence[ember.Tensor] | None" = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare second gradients of `func`: those of its gradients, with respect to the
    inputs and to the incoming gradients.

    >>> import ember
    >>> x = ember.tensor([1.0, 2.0], dtype=ember.float64, requires_grad=True)
    >>> ember.autograd.gradgradcheck(ember.exp, (x,))
    True
    """
    inputs = as_tuple(inputs)
    if grad_outputs is None:
        outputs = differentiable(func(*inputs))
        cotangents = tuple(
            random_like(o, gen_non_contig_grad_outputs).requires_grad_()
            for o in outputs
        )
    else:
        cotangents = as_tuple(grad_outputs)
    count = len(inputs)

    def first_gradients(*args):
        values = args[:count]
        # In forward mode only those that move come in with a history.
        wanted = tuple(
            x.requires_grad_()
            for x, given in zip(values, inputs)
            if wants_gradient(given)
        )
        outputs = differentiable(func(*values))
        return ember.autograd.grad(
            outputs, wanted, args[count:], create_graph=True, allow_unused=True
        )

    return gradcheck(
        first_gradients,
        (*inputs, *cotangents),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )


def _is_sparse(x) -> bool:
    return isinstance(x, ember.Tensor) and x.layout is not ember.strided


def _densified(func: Callable, inputs: tuple, masked: bool) -> tuple[Callable, tuple]:
    """A function of dense tensors instead of sparse ones: of the values that these
    hold if `masked`, else of all elements.
    """
    leaves = []
    rebuilt: list[Callable] = []
    for x in inputs:
        if not _is_sparse(x):
            leaves.append(x)
            rebuilt.append(lambda t: t)
            continue
        coo = x.layout is ember.sparse_coo
        held = x.detach()
        if masked:
            held = held.coalesce() if coo else held
            values = held.values().clone()
            rebuilt.append(lambda v, held=held: _with_values(held, v))
        else:
            values = held.to_dense()
            kind = {} if coo else _form(held)
            full = ember.ones_like(values).to_sparse(**kind)
            rebuilt.append(lambda d, full=full: _with_values(full, _picked(d, full)))
        leaves.append(values.requires_grad_(x.requires_grad))

    def of_leaves(*args):
        made = func(*(build(a) for build, a in zip(rebuilt, args)))
        dense = tuple(o.to_dense() if _is_sparse(o) else o for o in as_tuple(made))
        return dense if isinstance(made, (tuple, list)) else dense[0]

    return of_leaves, tuple(leaves)


def _picked(dense, full):
    """The elements of a dense tensor in the order in which `full` holds all of them."""
    if full.layout is ember.sparse_coo:
        return dense[tuple(full.coalesce().indices())]
    places = ember.arange(1, dense.numel() + 1).view(dense.shape)  # a 0 is not held
    return dense.reshape(-1)[places.to_sparse(**_form(full)).values() - 1]


def _form(sparse) -> dict:
    """The arguments of `to_sparse` that give a compressed tensor like this one."""
    form = {"layout": sparse.layout, "dense_dim": sparse.dense_dim()}
    if sparse.layout in (ember.sparse_bsr, ember.sparse_bsc):
        batch = sparse.dim() - sparse.sparse_dim() - sparse.dense_dim()
        form["blocksize"] = tuple(sparse.values().shape[batch + 1 : batch + 3])
    return form


def _with_values(sparse, values):
    """A sparse tensor with the pattern of `sparse`."""
    if sparse.layout is ember.sparse_coo:
        held = sparse.coalesce()
        return ember.sparse_coo_tensor(
            held.indices(), values, held.shape, is_coalesced=True
        )
    by_rows = sparse.layout in (ember.sparse_csr, ember.sparse_bsr)
    names = (
        ("crow_indices", "col_indices") if by_rows else ("ccol_indices", "row_indices")
    )
    compressed, plain = (getattr(sparse, name)() for name in names)
    return ember.sparse_compressed_tensor(
        compressed, plain, values, sparse.shape, layout=sparse.layout
    )


def _check_inputs(inputs: tuple) -> None:
    found = False
    for i, x in enumerate(inputs):
        if not wants_gradient(x):
            continue
        found = True
        if x.dtype not in (ember.float64, ember.complex128):
            import warnings

            warnings.warn(
                f"Input #{i} requires gradient and is not a double precision floating "
                "point or complex. This check will likely fail if all the inputs are "
                "not of double precision floating point or complex. ",
                stacklevel=3,
            )
        if any(st == 0 and sz > 1 for st, sz in zip(x.stride(), x.shape)):
            raise RuntimeError(
                f"The {i}th input has a dimension with stride 0. gradcheck only "
                "supports inputs that are non-overlapping to be able to compute the "
                "numerical gradients correctly. You should call .contiguous on the "
                "input before passing it to gradcheck."
            )
    if not found:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but "
            "none of them have requires_grad=True."
        )


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


__getattr__ = _lazy.missing(__name__)
