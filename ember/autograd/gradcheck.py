"""Numerical checks of gradients: `gradcheck` and `gradgradcheck`.

Complex tensors are looked at as pairs of reals: a gradient in PyTorch's convention is
then the transposed real Jacobian applied to the cotangent, and one comparison serves
real and complex, inputs and outputs alike.
"""

from collections.abc import Callable, Sequence
from itertools import product

import ember


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` when a check fails."""


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
    inputs = _tuple(inputs)
    if any(_is_sparse(x) for x in inputs):
        func, inputs = _densified(func, inputs, bool(masked))
    _check_inputs(inputs)
    try:
        check = _Check(func, inputs, eps, atol, rtol, nondet_tol)
        if not check.outputs:
            check.expect_no_gradient()
        elif check_backward_ad:
            for index in range(len(check.outputs)):
                check.fast(index) if fast_mode else check.full(index)
                if check_grad_dtypes:
                    check.dtypes(index)
                if check_batched_grad:
                    check.batched(index)
            if check_undefined_grad:
                check.undefined()
        if check.outputs and check_forward_ad:
            check.forward_fast() if fast_mode else check.forward()
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
    inputs = _tuple(inputs)
    if grad_outputs is None:
        outputs = _differentiable(func(*inputs))
        cotangents = tuple(
            _random_like(o, gen_non_contig_grad_outputs).requires_grad_()
            for o in outputs
        )
    else:
        cotangents = _tuple(grad_outputs)
    count = len(inputs)

    def first_gradients(*args):
        values = args[:count]
        wanted = tuple(x for x in values if _requires_grad(x))
        outputs = _differentiable(func(*values))
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


_FORWARD = "computed with forward mode "


class _Check:
    """One function at one point: its numerical and analytical derivatives."""

    def __init__(self, func, inputs, eps, atol, rtol, nondet_tol):
        self.func, self.args, self.eps = func, inputs, eps
        self.atol, self.rtol, self.nondet_tol = atol, rtol, nondet_tol
        self.where = [i for i, x in enumerate(inputs) if _requires_grad(x)]
        self.inputs = [inputs[i] for i in self.where]
        made = _tuple(func(*inputs))
        self.kept = [i for i, o in enumerate(made) if _requires_grad(o)]
        self.outputs = [made[i] for i in self.kept]

    def values(self, kept: bool = True) -> list:
        """The outputs at the present inputs, without history, as flat reals."""
        made = _tuple(self.func(*self.args))
        if not kept:
            return [_flat(o) for o in made if _wants_grad(o)]
        return [_flat(made[i]) for i in self.kept]

    def difference(self, data, shifts, kept: bool = True) -> list:
        """(f(x + eps s) - f(x - eps s)) / 2 eps for changes `(index, s)` of `data`."""
        before = [(i, data[i].item()) for i, _ in shifts]
        try:
            for (i, old), (_, s) in zip(before, shifts):
                data[i] = old + self.eps * s
            up = self.values(kept)
            for (i, old), (_, s) in zip(before, shifts):
                data[i] = old - self.eps * s
            down = self.values(kept)
        finally:
            for i, old in before:
                data[i] = old
        return [(u - d) / (2 * self.eps) for u, d in zip(up, down)]

    def vjp(self, index: int, cotangent) -> list:
        """Gradients of one output, flat; zeros where there is none."""
        grads = ember.autograd.grad(
            self.outputs[index],
            self.inputs,
            cotangent,
            retain_graph=True,
            allow_unused=True,
        )
        for x, g in zip(self.inputs, grads):
            if g is not None and g.shape != x.shape:
                raise GradcheckError("Analytical gradient has incorrect size")
        return [
            _flat(ember.zeros_like(x) if g is None else g)
            for x, g in zip(self.inputs, grads)
        ]

    def analytical(self, index: int) -> list:
        """The Jacobians [input, output] of one output, by one backward a column."""
        out = self.outputs[index]
        columns: list[list] = [[] for _ in self.inputs]
        for k in range(_flat(out).numel()):
            v = ember.zeros_like(out.detach())
            flat = _flat_view(v := v.contiguous())
            flat[k] = 1
            for column, g in zip(columns, self.vjp(index, v)):
                column.append(g)
        return [
            ember.stack(c, 1) if c else _flat(x).new_zeros((_flat(x).numel(), 0))
            for c, x in zip(columns, self.inputs)
        ]

    def numerical(self, kept: bool = True) -> list:
        """For each input, the Jacobians [input, output] of all outputs."""
        result = []
        for x in self.inputs:
            data = _real_view(x)
            rows = [
                self.difference(data, [(i, 1.0)], kept)
                for i in product(*map(range, data.shape))
            ]
            empty = [o.new_zeros((0, o.numel())) for o in self.values(kept)]
            result.append([ember.stack(r) for r in zip(*rows)] if rows else empty)
        return result

    def full(self, index: int) -> None:
        """Compare every element of the Jacobians of one output."""
        if not hasattr(self, "measured"):
            self.measured = self.numerical()
        exact = self.analytical(index)
        again = self.analytical(index)
        for j, (a, b) in enumerate(zip(exact, again)):
            self.compare(index, j, a, self.measured[j][index])
            if not ember.allclose(a, b, rtol=0.0, atol=self.nondet_tol):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same "
                    "input and grad_output multiple times gives different values, "
                    "although analytical gradient matches numerical gradient."
                    f"The tolerance for nondeterminism was {self.nondet_tol}."
                )

    def fast(self, index: int) -> None:
        """Compare u' J v for one random pair of vectors for each input."""
        v = _random_like(self.outputs[index])
        exact = self.vjp(index, v)
        weights = _flat(v)
        for j, x in enumerate(self.inputs):
            data = _real_view(x)
            places = list(product(*map(range, data.shape)))
            u = ember.rand(len(places), dtype=exact[j].dtype)
            moved = self.difference(data, list(zip(places, u.tolist())))[index]
            self.compare(index, j, exact[j] @ u, moved.to(weights.dtype) @ weights)

    def moved(self, j: int, tangent) -> list:
        """The directions of the outputs as the j-th input moves by `tangent`, flat."""
        from ember.autograd import forward_ad

        with forward_ad.dual_level():
            args = list(self.args)
            dual = forward_ad.make_dual(self.inputs[j].detach(), tangent)
            args[self.where[j]] = dual
            made = _tuple(self.func(*args))
            found = [forward_ad.unpack_dual(made[i]).tangent for i in self.kept]
        return [
            _flat(ember.zeros_like(out.detach()) if t is None else t)
            for out, t in zip(self.outputs, found)
        ]

    def forward(self) -> None:
        """Compare the Jacobians with those of forward mode, a row at a time."""
        if not hasattr(self, "measured"):
            self.measured = self.numerical()
        for j, x in enumerate(self.inputs):
            rows = []
            for k in range(_real_view(x).numel()):
                tangent = ember.zeros_like(x.detach()).contiguous()
                _flat_view(tangent)[k] = 1
                rows.append(self.moved(j, tangent))
            for index in range(len(self.outputs)):
                if rows:
                    exact = ember.stack([row[index] for row in rows])
                    self.compare(index, j, exact, self.measured[j][index], _FORWARD)

    def forward_fast(self) -> None:
        """The same for one random direction of each input."""
        for j, x in enumerate(self.inputs):
            data = _real_view(x)
            tangent = _random_like(x.detach())
            places = list(product(*map(range, data.shape)))
            shifts = zip(places, _flat_view(tangent.contiguous()).tolist())
            measured = self.difference(data, list(shifts))
            for index, exact in enumerate(self.moved(j, tangent)):
                self.compare(index, j, exact, measured[index], _FORWARD)

    def compare(self, index: int, j: int, exact, measured, by: str = "") -> None:
        close = ember.allclose(
            exact, measured.to(exact.dtype), rtol=self.rtol, atol=self.atol
        )
        if not close:
            raise GradcheckError(
                f"Jacobian {by}mismatch for output {self.kept[index]} with respect to "
                f"input {self.where[j]},\n"
                f"numerical:{measured}\nanalytical:{exact}\n"
            )

    def dtypes(self, index: int) -> None:
        out = self.outputs[index]
        grads = ember.autograd.grad(
            out,
            self.inputs,
            ember.ones_like(out),
            retain_graph=True,
            allow_unused=True,
        )
        for x, g in zip(self.inputs, grads):
            if g is not None and g.dtype != x.dtype:
                raise GradcheckError(
                    f"Gradient has dtype mismatch: {g.dtype} for input {x.dtype}"
                )

    def batched(self, index: int) -> None:
        out = self.outputs[index]
        rows = [_random_like(out) for _ in range(2)]
        batch = ember.autograd.grad(
            out,
            self.inputs,
            ember.stack(rows),
            retain_graph=True,
            is_grads_batched=True,
            materialize_grads=True,
        )
        for row, v in enumerate(rows):
            for got, want in zip(batch, self.vjp(index, v)):
                if not ember.allclose(_flat(got[row]), want):
                    raise GradcheckError("Batched gradients differ from single ones")

    def undefined(self) -> None:
        """An undefined incoming gradient must act as zero."""
        for skipped in range(len(self.outputs)):
            grads = [None] * len(self.outputs)
            outputs = tuple(o for i, o in enumerate(self.outputs) if i != skipped)
            if outputs:
                given = tuple(ember.zeros_like(o) for o in outputs)
                grads = ember.autograd.grad(
                    outputs, self.inputs, given, retain_graph=True, allow_unused=True
                )
            if any(g is not None and bool((g != 0).any()) for g in grads):
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output "
                    "grads are undefined or zero. Please check if you support undefined"
                    " output grads, or disable check_undefined_grad."
                )

    def expect_no_gradient(self) -> None:
        for per_output in self.numerical(kept=False):
            if any(bool((j != 0).any()) for j in per_output):
                raise GradcheckError(
                    "Numerical gradient for function expected to be zero"
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
        dense = tuple(o.to_dense() if _is_sparse(o) else o for o in _tuple(made))
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
    parts = [getattr(sparse, name)() for name in names]
    return ember.sparse_compressed_tensor(
        *parts, values, sparse.shape, layout=sparse.layout
    )


def _check_inputs(inputs: tuple) -> None:
    found = False
    for i, x in enumerate(inputs):
        if not _requires_grad(x):
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


def _tuple(value) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _wants_grad(x) -> bool:
    is_tensor = isinstance(x, ember.Tensor)
    return is_tensor and (x.is_floating_point() or x.is_complex())


def _requires_grad(x) -> bool:
    return isinstance(x, ember.Tensor) and x.requires_grad


def _differentiable(outputs) -> tuple:
    return tuple(o for o in _tuple(outputs) if _requires_grad(o))


def _real_view(x):
    """The values of `x` as reals, sharing its memory but not its version."""
    x = x.data
    return ember.view_as_real(x) if x.is_complex() else x


def _flat_view(x):
    return _real_view(x).view(-1)


def _flat(x):
    return _real_view(x.detach().clone().resolve_conj()).reshape(-1)


def _random_like(x, strided: bool = False):
    """Random values of the shape of `x`; on request with gaps between them."""
    shape = (*x.shape, 2) if strided else tuple(x.shape)
    values = ember.randn(shape, dtype=x.dtype, device=x.device)
    return values[..., 0] if strided else values


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
