"""Derivatives of functions: vjp, jvp, jacobian, hessian, vhp and hvp.

Everything is reverse mode. A Jacobian-vector product is two passes: the gradient is
linear in its incoming vector, so its own derivative by that vector gives J v.
"""

from collections.abc import Callable
from typing import Any

import ember
from ember import Tensor, _lazy


def vjp(
    func: Callable,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple:
    """The outputs of `func`, and `v` times its Jacobian.

    >>> import ember
    >>> x = ember.tensor([1.0, 2.0])
    >>> ember.autograd.functional.vjp(lambda x: x * x, x, ember.ones(2))[1]
    tensor([2., 4.])
    """
    with ember.enable_grad():
        call = _Call("vjp", func, inputs, create_graph, strict)
        v = call.vector_for_outputs(v, create_graph)
    with ember.set_grad_enabled(_grad_mode(create_graph)):
        grads = call.gradients(call.outputs, v, create_graph)
    call.check_recorded(grads)
    return call.result(call.outputs_form), call.like_inputs(grads)


def jvp(
    func: Callable,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple:
    """The outputs of `func`, and its Jacobian times `v`.

    >>> import ember
    >>> x = ember.tensor([1.0, 2.0])
    >>> ember.autograd.functional.jvp(lambda x: x.sum(), x, ember.ones(2))[1]
    tensor(2.)
    """
    with ember.enable_grad():
        call = _Call("jvp", func, inputs, create_graph, strict)
        v = call.vector_for_inputs(v, create_graph)
        probes = tuple(ember.zeros_like(o, requires_grad=True) for o in call.outputs)
        grads = call.gradients(call.outputs, probes, True)
        call.check_linear(grads)
    with ember.set_grad_enabled(_grad_mode(create_graph)):
        products = _grad_or_zero(grads, probes, v, create_graph)
    call.check_recorded(products)
    return call.result(call.outputs_form), call.outputs_form(products)


def jacobian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian, of shape `output.shape + input.shape` for each output and input.

    `vectorize` and `strategy` are accepted; rows are computed one by one.

    >>> import ember
    >>> ember.autograd.functional.jacobian(ember.exp, ember.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If '
            'your function has more outputs than inputs, "forward-mode" tends to be '
            'more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` "
            "are not supported together. Please either set `strict=False` or "
            "`vectorize=False`."
        )
    with ember.enable_grad():
        call = _Call("jacobian", func, inputs, create_graph, strict)
        blocks = []
        for i, out in enumerate(call.outputs):
            for x in call.inputs:  # if there is no room for the result, it fails now
                out.new_empty((*out.shape, *x.shape))
            rows = [call.row(i, out, k, create_graph) for k in range(out.numel())]
            block = tuple(
                ember.stack(column).view((*out.shape, *x.shape))
                if column
                else out.new_zeros((*out.shape, *x.shape))
                for column, x in zip(zip(*rows) if rows else _none(call), call.inputs)
            )
            blocks.append(call.like_inputs(block if create_graph else _detach(block)))
    return call.outputs_form(tuple(blocks))


def hessian(
    func: Callable,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The matrix of second derivatives of a scalar function.

    >>> import ember
    >>> ember.autograd.functional.hessian(lambda x: (x * x).sum(), ember.ones(2))
    tensor([[2., 0.],
            [0., 2.]])
    """
    is_tuple, inputs = _as_tuple(inputs, "inputs", "hessian")
    if strict and vectorize:
        raise RuntimeError(
            "torch.autograd.functional.hessian: `strict=True` and `vectorized=True` "
            "are not supported together. Please either set `strict=False` or "
            "`vectorize=False`."
        )

    def single(*args):
        out = func(*args)
        _is_tuple, outputs = _as_tuple(out, _OUTPUTS, "hessian")
        _check_scalar(_is_tuple, outputs, "hessian")
        return outputs[0]

    def gradient(*args):
        grads = jacobian(single, args, create_graph=True, strict=strict)
        if strict:
            for i, g in enumerate(grads):
                if not g.requires_grad:
                    raise _second_order_error(i)
        return tuple(g.reshape(x.shape) for g, x in zip(grads, args))

    result = jacobian(gradient, inputs, create_graph=create_graph, strict=strict)
    return result if is_tuple else result[0][0]


def vhp(
    func: Callable,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple:
    """The value of a scalar function, and `v` times its Hessian.

    >>> import ember
    >>> f = lambda x: (x**3).sum()
    >>> ember.autograd.functional.vhp(f, ember.ones(2), ember.ones(2))[1]
    tensor([6., 6.])
    """
    with ember.enable_grad():
        call = _Call("vhp", func, inputs, create_graph, strict)
        v = call.vector_for_inputs(v, create_graph)
        _check_scalar(call.outputs_are_tuple, call.outputs, "vhp")
        grads = call.gradients(call.outputs, None, True)
        call.check_linear(grads)
    with ember.set_grad_enabled(_grad_mode(create_graph)):
        products = _grad_or_zero(grads, call.inputs, v, create_graph)
    return call.result(call.outputs_form), call.like_inputs(products)


def hvp(
    func: Callable,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple:
    """The value of a scalar function, and its Hessian times `v`; `vhp` is cheaper.

    >>> import ember
    >>> f = lambda x: (x**3).sum()
    >>> ember.autograd.functional.hvp(f, ember.ones(2), ember.ones(2))[1]
    tensor([6., 6.])
    """
    with ember.enable_grad():
        call = _Call("hvp", func, inputs, create_graph, strict)
        v = call.vector_for_inputs(v, create_graph)
        _check_scalar(call.outputs_are_tuple, call.outputs, "hvp")
        grads = call.gradients(call.outputs, None, True)
        call.check_linear(grads)
        probes = tuple(ember.zeros_like(x, requires_grad=True) for x in call.inputs)
        second = _grad_or_zero(grads, call.inputs, probes, True)
    with ember.set_grad_enabled(_grad_mode(create_graph)):
        products = _grad_or_zero(second, probes, v, create_graph)
    return call.result(call.outputs_form), call.like_inputs(products)


_OUTPUTS = "outputs of the user-provided function"


class _Call:
    """One evaluation of a function on inputs that the derivatives are taken by."""

    def __init__(
        self, name: Any, func: Any, inputs: Any, create_graph: bool, strict: bool
    ) -> None:
        self.name, self.create_graph, self.strict = name, create_graph, strict
        self.inputs_are_tuple, inputs = _as_tuple(inputs, "inputs", name)
        # With create_graph the result must stay linked to the caller's tensors.
        self.inputs = tuple(
            x.view_as(x)
            if create_graph and x.requires_grad
            else x.detach().requires_grad_()
            for x in inputs
        )
        made = func(*self.inputs)
        self.outputs_are_tuple, self.outputs = _as_tuple(made, _OUTPUTS, name)
        if strict:
            for i, out in enumerate(self.outputs):
                if not out.requires_grad:
                    raise RuntimeError(
                        f"Output {i} of the user-provided function does not require "
                        "gradients. The outputs must be computed in a differentiable "
                        "manner from the input when running in strict mode."
                    )

    def result(self, form: Any) -> Any:
        """The outputs as the function gave them, without history unless asked for."""
        return form(self.outputs if self.create_graph else _detach(self.outputs))

    def outputs_form(self, values: tuple) -> Any:
        return values if self.outputs_are_tuple else values[0]

    def like_inputs(self, values: tuple) -> Any:
        return values if self.inputs_are_tuple else values[0]

    def gradients(self, outputs: Any, vectors: Any, create_graph: bool) -> tuple:
        """Gradients by the inputs; zeros, or an error if strict, where independent."""
        if self.strict:
            grads = _grad(outputs, self.inputs, vectors, create_graph)
            for i, g in enumerate(grads):
                if g is None:
                    raise RuntimeError(
                        "The output of the user-provided function is independent of "
                        f"input {i}. This is not allowed in strict mode."
                    )
            return grads
        return _grad_or_zero(outputs, self.inputs, vectors, create_graph)

    def row(self, i: int, out: Tensor, k: int, create_graph: bool) -> tuple:
        """Row `k` of the Jacobian of output `i`."""
        grads = _grad((out.reshape(-1)[k],), self.inputs, None, create_graph)
        if self.strict:
            for j, g in enumerate(grads):
                if g is None:
                    raise RuntimeError(
                        f"Output {i} of the user-provided function is independent of "
                        f"input {j}. This is not allowed in strict mode."
                    )
                if create_graph and not g.requires_grad:
                    raise RuntimeError(
                        "The jacobian of the user-provided function is independent "
                        f"of input {j}. This is not allowed in strict mode when "
                        "create_graph=True."
                    )
        return tuple(
            ember.zeros_like(x) if g is None else g for g, x in zip(grads, self.inputs)
        )

    def check_recorded(self, products: Any) -> None:
        """In strict mode, a result that is to be differentiated has to depend on the
        inputs."""
        if self.strict and self.create_graph:
            for i, product in enumerate(products):
                if not product.requires_grad:
                    raise RuntimeError(
                        "The jacobian of the user-provided function is independent of "
                        f"input {i}. This is not allowed in strict mode when "
                        "create_graph=True."
                    )

    def check_linear(self, grads: Any) -> None:
        if self.strict:
            for i, g in enumerate(grads):
                if not g.requires_grad:
                    raise _second_order_error(i)

    def vector_for_outputs(self, v: Any, create_graph: bool) -> tuple | None:
        if v is not None:
            form = (self.outputs, self.outputs_are_tuple)
            return _vector(v, *form, create_graph, self.name)
        if len(self.outputs) != 1 or self.outputs[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a "
                "single Tensor with a single element."
            )
        return None

    def vector_for_inputs(self, v: Any, create_graph: bool) -> tuple:
        if v is not None:
            form = (self.inputs, self.inputs_are_tuple)
            return _vector(v, *form, create_graph, self.name)
        if len(self.inputs) != 1 or self.inputs[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the input to the user-provided "
                "function is a single Tensor with a single element."
            )
        return (ember.ones_like(self.inputs[0]),)


def _as_tuple(value, what: str, name: str) -> tuple[bool, tuple]:
    is_tuple = isinstance(value, (tuple, list))
    values = tuple(value) if is_tuple else (value,)
    for i, item in enumerate(values):
        if isinstance(item, ember.Tensor):
            continue
        if is_tuple:
            raise TypeError(
                f"The {what} given to {name} must be either a Tensor or a tuple of "
                f"Tensors but the value at index {i} has type {type(item)}."
            )
        raise TypeError(
            f"The {what} given to {name} must be either a Tensor or a tuple of "
            f"Tensors but the given {what} has type {type(item)}."
        )
    return is_tuple, values


def _vector(v, like: tuple, is_tuple: bool, create_graph: bool, name: str) -> tuple:
    """The given vector as a tuple, checked against the tensors it goes with."""
    _, v = _as_tuple(v, "v", name)
    if len(v) != len(like):
        if not is_tuple:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(
            f"v is a tuple of invalid length: should be {len(like)} but got {len(v)}."
        )
    for i, (given, x) in enumerate(zip(v, like)):
        if given.shape != x.shape:
            entry = f"Entry {i} in v" if is_tuple else "v"
            raise RuntimeError(
                f"{entry} has invalid size: should be {x.shape} but got {given.shape}."
            )
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x for x in v)
    return _detach(v)


def _check_scalar(is_tuple: bool, outputs: tuple, name: str) -> None:
    if is_tuple or not isinstance(outputs[0], ember.Tensor):
        raise RuntimeError(
            f"The function given to {name} should return a single Tensor"
        )
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a "
            "single element"
        )


def _second_order_error(i: int) -> RuntimeError:
    return RuntimeError(
        "While computing the hessian, found that the jacobian of the user-provided "
        f"function with respect to input {i} is independent of the input. This is not "
        "allowed in strict mode. You should ensure that your function is twice "
        "differentiable and that the jacobian depends on the inputs (this would be "
        "violated by a linear function for example)."
    )


def _grad(outputs, inputs, vectors, create_graph) -> tuple:
    """`autograd.grad` that takes outputs without history, and gives None for them."""
    vectors = (None,) * len(outputs) if vectors is None else vectors
    pairs = [(o, v) for o, v in zip(outputs, vectors) if o.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    kept, given = zip(*pairs)
    return ember.autograd.grad(
        kept,
        inputs,
        given,
        retain_graph=True,
        create_graph=create_graph,
        allow_unused=True,
    )


def _grad_or_zero(outputs, inputs, vectors, create_graph) -> tuple:
    grads = _grad(outputs, inputs, vectors, create_graph)
    return tuple(
        ember.zeros_like(x, requires_grad=create_graph and x.requires_grad)
        if g is None
        else g
        for g, x in zip(grads, inputs)
    )


def _grad_mode(create_graph: bool) -> bool:
    return create_graph or ember.is_grad_enabled()


def _detach(values: tuple) -> tuple:
    return tuple(v.detach() for v in values)


def _none(call: _Call) -> list:
    return [()] * len(call.inputs)


__getattr__ = _lazy.missing(__name__)
