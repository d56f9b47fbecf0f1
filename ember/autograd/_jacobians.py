"""A function at one point: its derivatives by differences, backward and forward mode.

What `gradcheck` compares. Values are flat lists of reals here, a complex number two of
them, so that one comparison serves all.
"""

import warnings
from itertools import product

import ember
from ember.autograd.function import Function


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` when a check fails."""


_FORWARD = "computed with forward mode "
_UNDEFINED_WARNING = (
    "Backwards compatibility: New undefined gradient support checking feature is "
    "enabled by default, but it may break existing callers of this function. If this "
    'is true for you, you can call this function with "check_undefined_grad=False" to '
    "disable the feature"
)


class _Unarrived(Function):
    """The same tensor, to which no gradient arrives."""

    @staticmethod
    def forward(ctx, x):
        return x.detach().clone()

    @staticmethod
    def backward(ctx, grad):
        return None


class Derivatives:
    """One function at one point: its numerical and analytical derivatives."""

    def __init__(self, func, inputs, eps, atol, rtol, nondet_tol):
        self.func, self.args, self.eps = func, inputs, eps
        self.atol, self.rtol, self.nondet_tol = atol, rtol, nondet_tol
        self.where = [i for i, x in enumerate(inputs) if wants_gradient(x)]
        self.inputs = [inputs[i] for i in self.where]
        made = as_tuple(func(*inputs))
        self.kept = [i for i, o in enumerate(made) if wants_gradient(o)]
        self.outputs = [made[i] for i in self.kept]

    def values(self, kept: bool = True) -> list:
        """The outputs at the present inputs, without history, as flat reals."""
        made = as_tuple(self.func(*self.args))
        if not kept:
            return [_flat(o) for o in made if _wants_grad(o)]
        for i, out in zip(self.kept, self.outputs):
            for what in ("shape", "dtype"):
                if getattr(made[i], what) != getattr(out, what):
                    raise AssertionError(
                        f"Expected `func` to return outputs with the same {what} when "
                        f"inputs are perturbed, but output {i} has {what} "
                        f"{getattr(made[i], what)} instead of {getattr(out, what)}"
                    )
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
            self.expect_same(a, b)

    def fast(self, index: int) -> None:
        """Compare u' J v for one random pair of vectors for each input."""
        v = random_like(self.outputs[index])
        v /= v.norm().clamp_min(1e-12)
        exact = self.vjp(index, v)
        again = self.vjp(index, v)
        weights = _flat(v)
        for j, x in enumerate(self.inputs):
            data = _real_view(x)
            places = list(product(*map(range, data.shape)))
            u = ember.rand(len(places), dtype=exact[j].dtype)
            u /= u.norm().clamp_min(1e-12)  # a step as long as those of the full check
            moved = self.difference(data, list(zip(places, u.tolist())))[index]
            # What the tolerance of each element of J amounts to for the sum of all.
            scale = float(u.abs().sum() * weights.abs().sum())
            measured = moved.to(weights.dtype) @ weights
            self.compare(index, j, exact[j] @ u, measured, scale=scale)
            self.expect_same(exact[j], again[j])

    def expect_same(self, a, b) -> None:
        if not ember.allclose(a, b, rtol=0.0, atol=self.nondet_tol):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same "
                "input and grad_output multiple times gives different values, "
                "although analytical gradient matches numerical gradient."
                f"The tolerance for nondeterminism was {self.nondet_tol}."
            )

    def moved(self, j: int, tangent) -> list:
        """The directions of the outputs as the j-th input moves by `tangent`, flat."""
        return [_flat(t) for t in self.defined_tangents(j, tangent)]

    def defined_tangents(self, j: int, tangent) -> tuple:
        """The same, not flat; zeros where an output does not depend on the input."""
        still = {i: ember.zeros_like(x.detach()) for i, x in enumerate(self.inputs)}
        found = self.tangents({**still, j: tangent})
        return tuple(
            ember.zeros_like(out.detach()) if t is None else t
            for out, t in zip(self.outputs, found)
        )

    def tangents(self, given: dict) -> list:
        """The directions of the outputs for those of some of the inputs."""
        from ember.autograd import forward_ad

        with forward_ad.dual_level():
            args = list(self.args)
            for j, x in enumerate(self.inputs):
                args[self.where[j]] = x.detach()
            for j, tangent in given.items():
                dual = forward_ad.make_dual(self.inputs[j].detach(), tangent)
                args[self.where[j]] = dual
            made = as_tuple(self.func(*args))
            return [forward_ad.unpack_dual(made[i]).tangent for i in self.kept]

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
            tangent = random_like(x.detach())
            places = list(product(*map(range, data.shape)))
            shifts = zip(places, _flat_view(tangent.contiguous()).tolist())
            measured = self.difference(data, list(shifts))
            for index, exact in enumerate(self.moved(j, tangent)):
                self.compare(index, j, exact, measured[index], _FORWARD)

    def compare(self, index: int, j: int, exact, measured, by="", scale=1.0) -> None:
        measured = measured.to(exact.dtype)
        limits = {"rtol": self.rtol, "atol": self.atol * scale}
        if ember.allclose(exact, measured, **limits):
            return
        part = ""
        if not by and exact.dim() == 2 and self.outputs[index].is_complex():
            imaginary = not ember.allclose(exact[:, 1::2], measured[:, 1::2], **limits)
            part = (
                f"While considering the {'imaginary' if imaginary else 'real'} part of "
                "complex outputs only, "
            )
        raise GradcheckError(
            f"{part}Jacobian {by}mismatch for output {self.kept[index]} with respect "
            f"to input {self.where[j]},\nnumerical:{measured}\nanalytical:{exact}\n"
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
        rows = [random_like(out) for _ in range(2)]
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

    def linear_in_cotangents(self) -> None:
        """Gradients of zeros must be zeros, like the inputs."""
        zeros = tuple(ember.zeros_like(o) for o in self.outputs)
        for g, x in zip(self.gradients(self.outputs, zeros), self.inputs):
            if g is None:
                continue
            if g.layout != x.layout:
                raise GradcheckError(
                    f"grad is incorrect layout ({g.layout} is not {x.layout})"
                )
            if bool((g != 0).any()):
                raise GradcheckError("backward not multiplied by grad_output")

    def gradients(self, outputs, cotangents) -> tuple:
        return ember.autograd.grad(
            outputs, self.inputs, cotangents, retain_graph=True, allow_unused=True
        )

    def undefined_cotangents(self) -> None:
        """Gradients that do not arrive must act as zeros: all of them, each of them."""
        count = len(self.outputs)
        for absent in [set(range(count)), *({i} for i in range(count) if count > 1)]:
            outputs = tuple(
                _Unarrived.apply(o) if i in absent else o
                for i, o in enumerate(self.outputs)
            )
            zeros = tuple(ember.zeros_like(o) for o in outputs)
            try:
                grads = self.gradients(outputs, zeros)
            except RuntimeError as error:
                warnings.warn(_UNDEFINED_WARNING, stacklevel=4)
                raise GradcheckError(
                    "Expected backward function to handle undefined output grads: a "
                    "gradient that is None, or zeros, where an output was not used. "
                    "check_undefined_grad=False leaves this out."
                ) from error
            if any(g is not None and bool((g != 0).any()) for g in grads):
                warnings.warn(_UNDEFINED_WARNING, stacklevel=4)
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output "
                    "grads are undefined or zero. Please check if you support undefined"
                    " output grads, or disable check_undefined_grad."
                )

    def undefined_tangents(self) -> None:
        """An input without a direction must act as one whose direction is zero."""
        some = {j: random_like(x.detach()) for j, x in enumerate(self.inputs)}
        for j, x in enumerate(self.inputs):
            others = {i: t for i, t in some.items() if i != j}
            zero = ember.zeros_like(x.detach())
            pairs = zip(self.tangents({**others, j: zero}), self.tangents(others))
            for index, (with_zeros, without) in enumerate(pairs):
                if with_zeros is None and without is None:
                    continue
                a, b = (
                    ember.zeros_like(self.outputs[index].detach()) if t is None else t
                    for t in (with_zeros, without)
                )
                if not ember.allclose(a, b):
                    raise GradcheckError(
                        f"Mismatch in tangents for output {self.kept[index]}: {a} when "
                        f"the tangent of input {self.where[j]} is zeros, but {b} when "
                        "it is undefined"
                    )

    def batched_forward(self) -> None:
        """Directions of a batch must be those of its rows."""
        for j, x in enumerate(self.inputs):
            rows = [random_like(x.detach()) for _ in range(2)]
            alone = [self.moved(j, row) for row in rows]
            batch = ember.vmap(lambda t, j=j: tuple(self.moved(j, t)))(
                ember.stack(rows)
            )
            for row, wanted in enumerate(alone):
                for got, want in zip(batch, wanted):
                    if not ember.allclose(got[row], want):
                        raise GradcheckError(
                            "Batched forward-mode gradients differ from single ones"
                        )

    def expect_no_gradient(self) -> None:
        for per_output in self.numerical(kept=False):
            if any(bool((j != 0).any()) for j in per_output):
                raise GradcheckError(
                    "Numerical gradient for function expected to be zero"
                )


def as_tuple(value) -> tuple:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _wants_grad(x) -> bool:
    is_tensor = isinstance(x, ember.Tensor)
    return is_tensor and (x.is_floating_point() or x.is_complex())


def wants_gradient(x) -> bool:
    return isinstance(x, ember.Tensor) and x.requires_grad


def differentiable(outputs) -> tuple:
    return tuple(o for o in as_tuple(outputs) if wants_gradient(o))


def _real_view(x):
    """The values of `x` as reals, sharing its memory but not its version."""
    x = x.data
    return ember.view_as_real(x) if x.is_complex() else x


def _flat_view(x):
    return _real_view(x).view(-1)


def _flat(x):
    return _real_view(x.detach().clone().resolve_conj()).reshape(-1)


def random_like(x, strided: bool = False):
    """Random values of the shape of `x`; on request with gaps between them."""
    shape = (*x.shape, 2) if strided else tuple(x.shape)
    values = ember.randn(shape, dtype=x.dtype, device=x.device)
    return values[..., 0] if strided else values
