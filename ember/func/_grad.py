"""Derivatives as functions of functions: grad, vjp, jvp, linearize.

Note [Derivatives of functions]
They run on the ordinary tape. The tensors differentiated by are fresh (views, or
detached leaves), so that levels do not mix; the gradient is recorded only if it depends
on something outside, which a walk over the graph finds out. A forward derivative is
the derivative of the backward pass, which is linear in its incoming gradient.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import ember
from ember import Tensor
from ember.func._batched import level_of, lifted
from ember.func._batched_grad import run_grad
from ember.utils._pytree import TreeSpec, tree_flatten, tree_map, tree_unflatten


class recording(ember.inference_mode):
    """The tape is on, also inside of no_grad and inference_mode."""

    def __init__(self) -> None:
        super().__init__(False)


def fresh(x: Tensor) -> Tensor:
    """`x` to differentiate by: a tensor that nothing else depends on."""
    x = lifted(x)
    if _base(x).is_inference():
        x = x.clone()  # which the tape may hold
    return x.view_as(x) if x.requires_grad else x.detach().requires_grad_()


def _base(x: Tensor) -> Tensor:
    while level_of(x):
        x = x.value  # type: ignore[attr-defined]
    return x


class Trace:
    """A function called on fresh tensors, and what its outputs depend on."""

    def __init__(self, func: Callable, args: tuple, kwargs: dict, argnums: tuple):
        self.outside = ember.is_grad_enabled()
        self.given = [args[i] for i in argnums]
        leaves, self.inputs_spec = tree_flatten(self.given)
        for x in leaves:
            if not isinstance(x, Tensor):
                raise ValueError(
                    "expected tensors to differentiate by, got an input of type "
                    f"{type(x)}"
                )
        with recording():
            self.inputs = [fresh(x) for x in leaves]
            self.own = {id(_base(x)) for x in self.inputs}
            self._needs: dict[int, bool] = {}
            new = list(args)
            changed = tree_unflatten(self.inputs, self.inputs_spec)
            for i, value in zip(argnums, changed):
                new[i] = value
            self.result = func(*new, **kwargs)

    def pull(self, outputs: list, grads: list, keep: bool) -> list:
        """Gradients by the inputs, recorded only if something else needs them."""
        pairs = [(o, g) for o, g in zip(outputs, grads) if o.requires_grad]
        record = self.outside and (
            any(self._outside_of(o) for o, _ in pairs)
            or any(
                depends_on_others(_base(g), self.own) for g in grads if g is not None
            )
        )
        found: Any = (None,) * len(self.inputs)
        if pairs:
            kept, given = [o for o, _ in pairs], [g for _, g in pairs]
            with ember.inference_mode(False):
                found = run_grad(kept, self.inputs, given, record, keep or record)
        made = []
        for g, x in zip(found, self.inputs):
            if g is None:
                g = ember.zeros_like(x)
            made.append(self.outward(g) if g.requires_grad else g)
        return made

    def outward(self, x: Tensor) -> Tensor:
        """`x` as the caller may see it: without history that is only our own."""
        if not x.requires_grad:
            return x
        if self.outside and depends_on_others(_base(x), self.own):
            return x
        return x.detach()

    def _outside_of(self, output: Tensor) -> bool:
        """Whether an output depends on something else, looked up once."""
        key = id(output)
        if key not in self._needs:
            self._needs[key] = depends_on_others(_base(output), self.own)
        return self._needs[key]


def depends_on_others(x: Tensor, own: set[int]) -> bool:
    """Whether the history of `x` reaches a leaf, or a node, that is not of `own`."""
    if not x.requires_grad:
        return False
    if x.grad_fn is None:
        return id(x) not in own
    todo, seen = [x.grad_fn], set()
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            if id(leaf) not in own:
                return True
            continue
        todo += [n for n, _ in node.next_functions if n is not None]
    return False


def _argnums(argnums, count: int) -> tuple[int, ...]:
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(
            f"argnums must be int or Tuple[int, ...], got: {type(argnums)}"
        )
    chosen = (argnums,) if isinstance(argnums, int) else argnums
    if not chosen:
        raise RuntimeError("argnums must be non-empty")
    for i in chosen:
        if not isinstance(i, int):
            raise RuntimeError(f"argnum must be int, got: {type(i)}")
        if not -count <= i < count:
            raise RuntimeError(f"Got argnum={i}, but only {count} positional inputs")
    chosen = tuple(i % count for i in chosen)
    if len(set(chosen)) < len(chosen):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return chosen


def _split_aux(result, has_aux: bool, name: str):
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(
            f"{name}: output of function f should be a tuple: (output, aux) if has_aux "
            "is True"
        )
    for x in tree_flatten(result[1])[0]:
        if not isinstance(x, Tensor):
            raise RuntimeError(
                f"{name}: Expected tensors, got unsupported type {type(x)}"
            )
    return result


def _for_caller(trace: Trace, tree):
    return tree_map(lambda x: trace.outward(x) if isinstance(x, Tensor) else x, tree)


def grad_and_value(
    func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable:
    """A function that gives the gradient of `func` and its value.

    >>> import ember
    >>> ember.func.grad_and_value(lambda x: x**2)(ember.tensor(3.0))
    (tensor(6.), tensor(9.))
    """

    @wraps(func)
    def wrapped(*args, **kwargs):
        chosen = _argnums(argnums, len(args))
        trace = Trace(func, args, kwargs, chosen)
        output, aux = _split_aux(trace.result, has_aux, "grad_and_value(f)(*args)")
        if not isinstance(output, Tensor):
            raise RuntimeError(
                "grad_and_value(f)(*args): Expected f(*args) to return a tensor, got "
                f"type {type(output)}"
            )
        if output.dim() != 0:
            raise RuntimeError(
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar "
                f"tensor, got tensor with {output.dim()} dims. Maybe you wanted to use "
                "the vjp or jacrev APIs instead?"
            )
        # Without an own gradient to start from: ones, which nothing depends on.
        grads = trace.pull([output], [None], keep=False)
        made = tree_unflatten(grads, trace.inputs_spec)
        made = made[0] if isinstance(argnums, int) else tuple(made)
        value = _for_caller(trace, output)
        if has_aux:
            return made, (value, _for_caller(trace, aux))
        return made, value

    return wrapped


def grad(
    func: Callable, argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable:
    """A function that gives the gradient of `func`, a function with a scalar result.

    `argnums` says by which arguments; with `has_aux`, func returns (result, something
    else), and the gradient comes with that something.

    >>> import ember
    >>> ember.func.grad(ember.sin)(ember.tensor(0.0))
    tensor(1.)
    >>> ember.func.grad(ember.func.grad(lambda x: x**3))(ember.tensor(2.0))
    tensor(12.)
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def wrapped(*args, **kwargs):
        made, value = both(*args, **kwargs)
        return (made, value[1]) if has_aux else made

    return wrapped


def _outputs(output, name: str) -> tuple[list, TreeSpec]:
    leaves, spec = tree_flatten(output)
    if output is None:
        leaves = []
    for x in leaves:
        if not isinstance(x, Tensor):
            raise RuntimeError(
                f"{name}: expected f(*primals) to return only tensors, got unsupported "
                f"type {type(x)}"
            )
    if not leaves:
        raise RuntimeError(
            f"{name}: Expected f to be a function that has non-empty output (got "
            f"output = {output})"
        )
    return leaves, spec


def check_real(tensors: list, which: str, name: str) -> None:
    """Raise for complex tensors, of which a Jacobian is not defined."""
    for i, x in enumerate(tensors):
        if x.is_complex():
            raise RuntimeError(
                f"{name}: Expected all {which} to be real but received complex tensor "
                f"at flattened input idx: {i}"
            )


def _check_shapes(given: list, wanted: list, what: str) -> None:
    for g, w in zip(given, wanted):
        if not isinstance(g, Tensor) or g.shape != w.shape:
            shape = tuple(g.shape) if isinstance(g, Tensor) else type(g)
            raise RuntimeError(
                f"{what} should have the shapes of what it goes with: got {shape}, "
                f"expected {tuple(w.shape)}"
            )


def vjp(func: Callable, *primals, has_aux: bool = False):
    """The value of `func`, and a function that multiplies vectors by its Jacobian.

    >>> import ember
    >>> out, pull = ember.func.vjp(lambda x: x * x, ember.tensor([1.0, 2.0]))
    >>> pull(ember.ones(2))
    (tensor([2., 4.]),)
    """
    trace = Trace(func, primals, {}, tuple(range(len(primals))))
    output, aux = _split_aux(trace.result, has_aux, "vjp(f, *primals)")
    leaves, spec = _outputs(output, "vjp(f, *primals)")

    def pull(*cotangents, retain_graph: bool = True, create_graph: bool | None = None):
        given = cotangents[0] if len(cotangents) == 1 else tuple(cotangents)
        grads, grads_spec = tree_flatten(given)
        if grads_spec != spec:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree "
                "structure of outputs to the function. "
                f"cotangents: {grads_spec}, primal output: {spec}"
            )
        _check_shapes(grads, leaves, "the argument of vjp's function")
        trace.outside = ember.is_grad_enabled()
        with recording():
            made = trace.pull(leaves, grads, keep=True)
        result = tuple(tree_unflatten(made, trace.inputs_spec))
        return result

    value = _for_caller(trace, output)
    return (value, pull, _for_caller(trace, aux)) if has_aux else (value, pull)


class Linearized:
    """The derivative of a function at a point, as a linear function of directions."""

    def __init__(self, func: Callable, primals: tuple, has_aux: bool, name: str):
        self.trace = trace = Trace(func, primals, {}, tuple(range(len(primals))))
        self.output, self.aux = _split_aux(trace.result, has_aux, name)
        self.outputs, self.spec = _outputs(self.output, name)
        with recording():
            live = [o for o in self.outputs if o.requires_grad]
            # The backward pass is linear in these; its derivative is what we want.
            self.probes = [fresh(ember.zeros_like(o)) for o in live]
            self.pulled: list = []
            if live:
                found = run_grad(live, trace.inputs, self.probes, True, True)
                self.pulled = list(found)

    def push(self, tangents: list) -> list:
        """The directions in which the outputs move."""
        pairs = [
            (p, t)
            for p, t in zip(self.pulled, tangents)
            if p is not None and p.requires_grad
        ]
        found: Any = [None] * len(self.probes)
        if pairs:
            record = self.trace.outside and self._outside_needs(tangents)
            found = run_grad(
                [p for p, _ in pairs],
                self.probes,
                [t.to(p.dtype) for p, t in pairs],
                record,
                True,
            )
        rest = iter(found)
        made = []
        for o in self.outputs:
            t = next(rest) if o.requires_grad else None
            made.append(ember.zeros_like(o.detach()) if t is None else self._seen(t))
        return made

    def _own(self) -> set[int]:
        return {id(_base(x)) for x in [*self.trace.inputs, *self.probes]}

    def _outside_needs(self, tangents: list) -> bool:
        own = self._own()
        used = [p for p in self.pulled if p is not None]
        return any(depends_on_others(_base(t), own) for t in [*used, *tangents])

    def _seen(self, t: Tensor) -> Tensor:
        keep = self.trace.outside and depends_on_others(_base(t), self._own())
        return t if keep or not t.requires_grad else t.detach()


def jvp(func: Callable, primals, tangents, *, strict: bool = False, has_aux=False):
    """The value of `func`, and its Jacobian times `tangents`.

    >>> import ember
    >>> x = ember.tensor([1.0, 2.0])
    >>> ember.func.jvp(lambda x: x * x, (x,), (ember.ones(2),))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{name}: Expected primals to be a tuple. E.g. it should be valid to call "
            "f(*primals)."
        )
    flat, spec = tree_flatten(tangents)
    wanted, wanted_spec = tree_flatten(primals)
    if spec != wanted_spec:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. "
            "For example, if primals is a tuple of 3 tensors, tangents also must be. "
            f"Got primals with structure {wanted_spec} and tangents with structure "
            f"{spec}"
        )
    for which, tensors in (("primals", wanted), ("tangents", flat)):
        if not tensors:
            raise RuntimeError(
                f"{name}: Expected {which} to contain at least one Tensor."
            )
        for x in tensors:
            if not isinstance(x, Tensor):
                raise RuntimeError(
                    f"{name}: Expected {which} to only contain Tensors, got {type(x)}"
                )
    _check_shapes(flat, wanted, f"{name}: tangents")
    line = Linearized(func, primals, has_aux, name)
    if strict and not all(o.requires_grad for o in line.outputs):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of "
            "the inputs. This is not allowed with strict=True."
        )
    with recording():
        moved = tree_unflatten(line.push(flat), line.spec)
    value = _for_caller(line.trace, line.output)
    if has_aux:
        return value, moved, _for_caller(line.trace, line.aux)
    return value, moved


def linearize(func: Callable, *primals) -> tuple[Any, Callable]:
    """The value of `func`, and its derivative there as a function of directions.

    >>> import ember
    >>> out, push = ember.func.linearize(lambda x: x * x, ember.tensor([1.0, 2.0]))
    >>> push(ember.ones(2))
    tensor([2., 4.])
    """
    line = Linearized(func, primals, False, "linearize(f, *primals)")
    wanted, wanted_spec = tree_flatten(primals)

    def push(*tangents):
        flat, spec = tree_flatten(tangents)
        if spec != wanted_spec:
            raise RuntimeError(
                f"Expected the tangents {spec} to have the same argspec as the primals "
                f"{wanted_spec}"
            )
        _check_shapes(flat, wanted, "the argument of linearize's function")
        with recording():
            return tree_unflatten(line.push(flat), line.spec)

    return _for_caller(line.trace, line.output), push
