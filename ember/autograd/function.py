"""Operations written in Python: `Function`, its context and `once_differentiable`.

Note [Contract of Function with the core]
`Function.apply(*args)` calls `_C._function_apply(cls, args)`, which

1. makes `ctx = cls._backward_cls()`. That class derives from `_C._FunctionBase`, the
   node type of the core, which owns `needs_input_grad`, `saved_tensors` (unpacks with
   the version check), `next_functions`, `name()`, `metadata` and the hook methods.
   `Function` derives from it, too, so that what a context has can be found there;
2. sets `ctx.needs_input_grad`, a tuple of bools, one for each argument;
3. with recording off, calls `cls.forward(ctx, *args)`; or, if `cls.setup_context` is
   not `Function.setup_context`, `output = cls.forward(*args)` and then
   `cls.setup_context(ctx, args, output)`;
4. reads from ctx what the methods of `FunctionCtx` stored, absent meaning none:
   `to_save` (tuple of tensors or None), `dirty_tensors`, `non_differentiable` (tuples)
   and `materialize_grads` (bool, default True); and from cls `boxed_grads_call` and
   `clear_saved_tensors_on_access`;
5. turns an output that is an input but not dirty into a view of it, marks dirty inputs
   changed, and links the outputs to ctx where an input requires a gradient.

In backward the engine calls `ctx.apply(*grads)`, with zeros for undefined gradients
unless `materialize_grads` is False, and expects one gradient or None per argument.
With `boxed_grads_call` backward gets them as one list.
"""

from functools import wraps
from typing import Any

import ember
from ember import _C, Tensor, _lazy
from ember.autograd.grad_mode import dual_levels

vmaps: list = []  # those that are running, innermost last: see ember/func/_batched.py


class FunctionCtx:
    """What `forward` and `backward` use to talk to each other and to the core."""

    saved_for_forward: tuple | None = None

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for backward, where `ctx.saved_tensors` gives them back."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Declare inputs that forward changes in place (and returns)."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Old: the tape finds shared memory by itself."""
        import warnings

        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are "
            "automatically tracked. Note that calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *args: Any) -> None:
        """Declare outputs that never require a gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether undefined gradients reach backward as zeros (default) or None."""
        if not isinstance(value, bool):
            raise TypeError(
                f"set_materialize_grads(): expected a bool, got {type(value).__name__}"
            )
        self.materialize_grads = value


class BackwardFunction(FunctionCtx, _C._FunctionBase):
    """The node of a `Function` in the graph; its instance is `ctx`."""

    _forward_cls: Any

    def apply(self, *grads: Any) -> Any:
        """Run the user's backward. Called by the engine."""
        cls = self._forward_cls
        if cls.vjp is not Function.vjp:
            if cls.backward is not Function.backward:
                raise RuntimeError(
                    "Implementing both 'backward' and 'vjp' for a custom Function is "
                    "not allowed. You should only implement one of them."
                )
            run = cls.vjp
        else:
            run = cls.backward
        return run(self, list(grads)) if cls.boxed_grads_call else run(self, *grads)


class Function(FunctionCtx, _C._FunctionBase):
    """Base of operations whose forward and backward are written in Python.

    Two attributes of a class spare memory in its backward. With `boxed_grads_call`,
    backward takes a list of gradients and may drop each once it is done with it. With
    `clear_saved_tensors_on_access`, `ctx.saved_tensors` can be read once, after which
    the tape has let go of them.

    >>> import ember
    >>> class Exp(ember.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         (y,) = ctx.saved_tensors
    ...         return grad * y
    >>> x = ember.zeros(2, requires_grad=True)
    >>> Exp.apply(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """

    generate_vmap_rule = False
    boxed_grads_call = False
    clear_saved_tensors_on_access = False
    _backward_cls: type

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        name = cls.__name__ + "Backward"
        cls._backward_cls = type(name, (BackwardFunction,), {"_forward_cls": cls})

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        import warnings

        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions "
            "are all static, so you should invoke them on the class itself. "
            "Instantiating an autograd function will raise an error in a future "
            "version.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. "
            "Please use new-style autograd function with static forward method."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward on `args` and record the operation."""
        if vmaps and kwargs:
            _refuse_keyword_tensors(cls, kwargs)
        if kwargs or (
            cls.setup_context is not Function.setup_context and _has_defaults(cls)
        ):
            cls, args = _bind(cls, args, kwargs)
        if dual_levels and dual_levels[-1] and cls.jvp is not Function.jvp:
            from ember.autograd.forward_ad import apply_dual

            found = apply_dual(cls, args)
            if found is not None:
                return found
        if vmaps:
            from ember.func._functions import apply

            return apply(cls, args)
        return _C._function_apply(cls, args)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The operation: `forward(ctx, *args)`, or `forward(*args)` beside
        `setup_context`."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        """Store what backward needs, when `forward` does not take a context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any, **kwargs: Any) -> Any:
        """Gradients of the arguments of forward, given those of its outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any, **kwargs: Any) -> Any:
        """Forward-mode derivative."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use "
            "it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
        """Batching rule."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap "
            "staticmethod or set generate_vmap_rule=True."
        )


# For apply() of the base itself, which says what is missing.
Function._backward_cls = type(
    "FunctionBackward", (BackwardFunction,), {"_forward_cls": Function}
)


def _refuse_keyword_tensors(cls: Any, kwargs: dict[str, Any]) -> None:
    """Batch rules are told about positional arguments only."""
    import inspect

    parameters = inspect.signature(cls.forward).parameters.values()
    names = {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
    if any(isinstance(kwargs.get(name), ember.Tensor) for name in names):
        raise NotImplementedError(
            f"{cls.__name__}: kwarg-only Tensor args are not supported inside of vmap"
        )


def _has_defaults(cls) -> bool:
    """Whether arguments of forward may be left out, found out once for each class."""
    known = cls.__dict__.get("_forward_has_defaults")
    if known is None:
        import inspect

        parameters = inspect.signature(cls.forward).parameters.values()
        known = any(p.default is not p.empty for p in parameters)
        cls._forward_has_defaults = known
    return known


def _bind(cls, args, kwargs) -> tuple:
    """The function and its arguments with keyword arguments in their places, so that
    tensors among them take part; with `setup_context`, which sees all, also defaults.
    """
    import inspect

    whole = cls.setup_context is not Function.setup_context
    first = () if whole else (None,)
    signature = inspect.signature(cls.forward)
    names = list(signature.parameters)
    taken = names[: len(first) + len(args)]
    if not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
        for key in kwargs:
            if key not in names:
                raise TypeError(
                    f"{cls.__name__}.forward() got an unexpected keyword argument "
                    f"'{key}'"
                )
            if key in taken:
                raise TypeError(
                    f"{cls.__name__}.forward() got multiple values for argument '{key}'"
                )
    bound = signature.bind(*first, *args, **kwargs)
    if whole:
        bound.apply_defaults()
    args, rest = bound.args[len(first) :], bound.kwargs
    if not rest:
        return cls, args
    forward = cls.forward

    def with_rest(*args):
        return forward(*args, **rest)

    return type(cls.__name__, (cls,), {"forward": staticmethod(with_rest)}), args


class _Undifferentiable(Function):
    """Identity whose gradient refuses to be taken."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        return tuple(t.clone() for t in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with "
            "@once_differentiable"
        )


def once_differentiable(fn: Any) -> Any:
    """Decorator for a `backward` that cannot itself be differentiated."""

    @wraps(fn)
    def wrapper(ctx, *grads):
        with ember.no_grad():
            outputs = fn(ctx, *grads)
        tensors = [g for g in grads if isinstance(g, ember.Tensor)]
        if not (_C.is_grad_enabled() and any(g.requires_grad for g in tensors)):
            return outputs
        results = list(outputs) if isinstance(outputs, tuple) else [outputs]
        where = [i for i, r in enumerate(results) if r is not None]
        leaves = [results[i].detach().requires_grad_() for i in where]
        for i, guarded in zip(where, _Undifferentiable.apply(*leaves), strict=True):
            results[i] = guarded
        return tuple(results) if isinstance(outputs, tuple) else results[0]

    return wrapper


__all__ = ["Function", "FunctionCtx", "once_differentiable"]


__getattr__ = _lazy.missing(__name__)
