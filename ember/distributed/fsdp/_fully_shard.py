"""`fully_shard`: modules whose parameters, gradients and optimizer states lie on the
ranks in parts. What happens to the parameters is in `_param_group.py`; this is when.

Before a module's forward pass its parameters are gathered, after it they are freed; the
same before and after its backward pass, at the end of which gradients are reduced. The
gradient of a module's output tells that its backward pass begins, those of its inputs
that it ends; a callback at the end of the whole pass does what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Any

import ember
from ember import _C, Tensor, nn
from ember.autograd import Function
from ember.distributed import distributed_c10d as c10d
from ember.distributed.device_mesh import DeviceMesh, init_device_mesh
from ember.distributed.fsdp._param_group import ParamGroup
from ember.distributed.fsdp.api import MixedPrecisionPolicy, OffloadPolicy
from ember.utils._pytree import tree_flatten, tree_map, tree_unflatten


class State:
    """What `fully_shard` knows of one module."""

    def __init__(
        self, module: nn.Module, params: ParamGroup, reshard: bool | int | None
    ) -> None:
        self.module, self.params = module, params
        self.reshard_after_forward = reshard
        self.reshard_after_backward = True
        self.root: State | None = None
        self.states: list[State] = []  # of a root: all, in the order of the model
        self.order: list[State] = []  # of a root: as their forward passes were
        self.in_backward = False  # of a root: a backward pass goes on
        self.next_forward: list[State] = []
        self.next_backward: list[State] | None = None

    # --- forward ---

    def _become_root(self) -> None:
        """The first module that is called is the root of those within it."""
        self.states = list(states_of(self.module))
        for state in self.states:
            state.root = self
        if self.reshard_after_forward is None:
            self.reshard_after_forward = False  # its backward pass is next

    def enter(self, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        """Before the forward pass."""
        if self.root is None:
            self._become_root()
        self.params.unshard()
        for state in self.next_forward:
            state.params.begin_unshard()
        policy = self.params.policy
        if policy.cast_forward_inputs and policy.param_dtype is not None:
            args, kwargs = _cast((args, kwargs), policy.param_dtype)
        if not ember.is_grad_enabled():
            return args, kwargs
        leaves, tree = tree_flatten((args, kwargs))
        at = [i for i, t in enumerate(leaves) if _wants_grad(t)]
        if at:
            for i, t in zip(at, _Ends.apply(self, *[leaves[i] for i in at])):
                leaves[i] = t
        return tree_unflatten(leaves, tree)

    def leave(self, out: Any) -> Any:
        """After the forward pass."""
        assert self.root is not None
        if self.root.in_backward:  # recomputed for a checkpoint: it is needed at once
            return out
        if self.reshard_after_forward is not False:
            self.params.reshard()
        wanted = [t for t in tree_flatten(out)[0] if _wants_grad(t)]
        for t in wanted:
            t.register_hook(self._begins)
        if wanted:
            self.root.order.append(self)
        policy = self.params.policy
        return out if policy.output_dtype is None else _cast(out, policy.output_dtype)

    # --- backward ---

    def _begins(self, grad: Tensor) -> None:
        """The backward pass of this module begins."""
        root = self.root
        assert root is not None
        if not root.in_backward:
            root.in_backward = True
            _C._queue_callback(root._all_done)
        self.params.unshard()
        for state in self._to_prefetch(root):
            state.params.begin_unshard()

    def _to_prefetch(self, root: State) -> list[State]:
        if self.next_backward is not None:
            return self.next_backward
        before = root.order[: root.order.index(self)] if self in root.order else []
        return before[-1:]

    def ends(self) -> None:
        """The gradients of the inputs are there."""
        if self.reshard_after_backward:
            self.params.reshard()

    def _all_done(self) -> None:
        """The backward pass is through."""
        for state in self.states:
            state.params.begin_reduce()  # if some parameters got no gradient
            if state.reshard_after_backward:
                state.params.gathering = None
                state.params.reshard()
        for state in self.states:
            state.params.finish_reduce()
        self.in_backward = False
        self.order.clear()


class _Ends(Function):
    """The inputs of a module; their gradients say that its backward pass is through."""

    @staticmethod
    def forward(ctx: Any, state: State, *inputs: Tensor) -> Any:
        ctx.state = state
        ctx.set_materialize_grads(False)
        return tuple(t.view_as(t) for t in inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        ctx.state.ends()
        return None, *grads


def _wants_grad(t: Any) -> bool:
    return isinstance(t, Tensor) and t.requires_grad


def _cast(values: Any, dtype: Any) -> Any:
    def one(v: Any) -> Any:
        floats = isinstance(v, Tensor) and v.is_floating_point()
        return v.to(dtype) if floats else v

    return tree_map(one, values)


def state_of(module: nn.Module) -> State | None:
    """What `fully_shard` knows of a module, if it was called for it."""
    return module.__dict__.get("_fsdp_state")


def states_of(module: nn.Module) -> Iterator[State]:
    """Those of a module and all within it."""
    for part in module.modules():
        state = state_of(part)
        if state is not None:
            yield state


class UnshardHandle:
    """A gathering that was begun."""

    def __init__(self, state: State) -> None:
        self._state: State | None = state

    def wait(self) -> None:
        """Until the whole parameters are in place."""
        if self._state is not None:
            self._state.params.unshard()
            self._state = None


class FSDPModule:
    """What modules have in addition after `fully_shard`."""

    def _states(self, recurse: bool) -> list[State]:
        module: Any = self
        own = state_of(module)
        assert own is not None
        return list(states_of(module)) if recurse else [own]

    def reshard(self) -> None:
        """Free the whole parameters."""
        self._states(False)[0].params.reshard()

    def unshard(self, async_op: bool = False) -> UnshardHandle | None:
        """Gather the whole parameters."""
        (state,) = self._states(False)
        with ember.no_grad():
            state.params.begin_unshard()
        handle = UnshardHandle(state)
        if async_op:
            return handle
        handle.wait()
        return None

    def set_requires_gradient_sync(
        self, requires_gradient_sync: bool, *, recurse: bool = True
    ) -> None:
        """Whether backward passes reduce gradients; without, they add up here."""
        for state in self._states(recurse):
            state.params.sync = requires_gradient_sync

    def set_is_last_backward(self, is_last_backward: bool) -> None:
        """Nothing to do: gradients are there when a backward pass ends."""

    def set_requires_all_reduce(
        self, requires_all_reduce: bool, *, recurse: bool = True
    ) -> None:
        """Whether gradients are averaged over the copies of a two-dimensional mesh."""
        for state in self._states(recurse):
            state.params.all_reduce = requires_all_reduce

    def set_reshard_after_forward(
        self, reshard_after_forward: bool, recurse: bool = True
    ) -> None:
        """Whether parameters are freed between the forward and the backward pass."""
        for state in self._states(recurse):
            state.reshard_after_forward = reshard_after_forward

    def set_reshard_after_backward(
        self, reshard_after_backward: bool, *, recurse: bool = True
    ) -> None:
        """Whether parameters are freed after the backward pass."""
        for state in self._states(recurse):
            state.reshard_after_backward = reshard_after_backward

    def set_modules_to_forward_prefetch(self, modules: Sequence[Any]) -> None:
        """Modules that begin to be gathered when this one is in place."""
        self._states(False)[0].next_forward = _all_states(modules)

    def set_modules_to_backward_prefetch(self, modules: Sequence[Any]) -> None:
        """The same for the backward pass; the one that ran before, unless told."""
        self._states(False)[0].next_backward = _all_states(modules)

    def set_gradient_divide_factor(self, factor: float) -> None:
        """What gradients are divided by, if not the number of ranks."""
        self._states(False)[0].params.factor = factor  # type: ignore[assignment]

    set_reduce_scatter_divide_factor = set_gradient_divide_factor

    def _set_unshard_async_op(self, async_op: bool) -> None:
        """Nothing to do: gathering ahead always goes on in the background."""


def _all_states(modules: Sequence[Any]) -> list[State]:
    found = [state_of(module) for module in modules]
    if None in found:
        raise ValueError("a module to prefetch must have been given to fully_shard")
    return [state for state in found if state is not None]


_kinds: dict[type, type] = {}


def _kind(cls: type) -> type:
    """The class of a module after `fully_shard`."""

    def __deepcopy__(self: Any, memo: dict) -> Any:
        raise AssertionError(
            "FSDP does not support deepcopy. Please use state dict for serialization."
        )

    if cls not in _kinds:
        space = {"__deepcopy__": __deepcopy__}
        _kinds[cls] = type(f"FSDP{cls.__name__}", (FSDPModule, cls), space)
    return _kinds[cls]


def fully_shard(
    module: Any,
    *,
    mesh: DeviceMesh | None = None,
    reshard_after_forward: bool | int | None = None,
    shard_placement_fn: Callable[[nn.Parameter], Any] | None = None,
    mp_policy: MixedPrecisionPolicy | None = None,
    offload_policy: OffloadPolicy | None = None,
    ignored_params: set[nn.Parameter] | None = None,
) -> Any:
    """Let the ranks have parts of a module's parameters; the module, changed in place.

    Apply it to the layers first and to the whole model last: each call takes the
    parameters that no call took before, and gathers them together. The optimizer is
    made afterwards, of parameters that are DTensors. `mesh` has one dimension, or two:
    copies, and parts; with tensor parallelism it is the other dimension of the mesh
    that the parameters lie on, `mesh["dp"]`. `reshard_after_forward=False` keeps
    parameters between the passes of each step, which is what the outermost module does
    anyway.

    >>> import ember, ember.distributed as dist
    >>> from ember.distributed.fsdp import fully_shard
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> net = ember.nn.Sequential(ember.nn.Linear(2, 4), ember.nn.Linear(4, 1))
    >>> for layer in net:
    ...     _ = fully_shard(layer)
    >>> net = fully_shard(net)
    >>> net(ember.ones(3, 2)).sum().backward()
    >>> net[1].bias.grad.full_tensor()
    tensor([3.])
    >>> dist.destroy_process_group()
    """
    modules = list(module) if isinstance(module, (list, tuple)) else [module]
    for part in modules:
        if isinstance(part, (nn.ModuleList, nn.ModuleDict)):
            raise ValueError(
                f"fully_shard does not support containers that do not implement "
                f"forward: {part}"
            )
        if state_of(part) is not None:
            raise AssertionError(
                "fully_shard has already been applied to the module: "
                f"{type(part).__name__}"
            )
    if len(modules) > 1:
        raise NotImplementedError(
            "fully_shard(): several modules as one group are not supported; give each, "
            "or a module around them"
        )
    if mesh is None:
        if not c10d.is_initialized():
            c10d.init_process_group()
        mesh = init_device_mesh("cpu", (c10d.get_world_size(),))
    if mesh.ndim not in (1, 2):
        raise ValueError(f"fully_shard expects a 1D or 2D DeviceMesh but got {mesh}")
    policy = mp_policy or MixedPrecisionPolicy()
    for part in modules:
        chosen = _own_params(part, ignored_params or set())
        params = ParamGroup(chosen, mesh, policy, shard_placement_fn)
        _attach(part, State(part, params, reshard_after_forward))
    return module


def _own_params(
    module: nn.Module, ignored: set
) -> list[tuple[nn.Parameter, list[tuple[nn.Module, str]]]]:
    """Parameters that no module within took, and who has them."""
    taken = {id(p.sharded) for state in states_of(module) for p in state.params.params}
    taken |= {id(p) for p in ignored}
    found: dict[int, tuple[nn.Parameter, list[tuple[nn.Module, str]]]] = {}
    for part in module.modules():
        for name, param in part._parameters.items():
            if param is not None and id(param) not in taken:
                found.setdefault(id(param), (param, []))[1].append((part, name))
    return list(found.values())


def _attach(module: nn.Module, state: State) -> None:
    """Let a module's calls go by the state."""
    object.__setattr__(module, "_fsdp_state", state)
    module.__class__ = _kind(type(module))
    module.register_forward_pre_hook(
        lambda m, args, kwargs: state.enter(args, kwargs),
        prepend=True,
        with_kwargs=True,
    )
    module.register_forward_hook(lambda m, args, out: state.leave(out))
    # Saved and loaded are the parts.
    module.register_state_dict_pre_hook(lambda m, prefix, keep: state.params.reshard())
    module.register_load_state_dict_pre_hook(lambda m, *rest: state.params.reshard())


def register_fsdp_forward_method(module: nn.Module, method_name: str) -> None:
    """Let a method count as a forward pass: parameters are there while it runs."""
    state = state_of(module)
    if state is None:
        return
    if not hasattr(module, method_name):
        raise ValueError(f"{type(module)} does not have a method {method_name}")
    method = getattr(module, method_name)

    @wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = state.enter(args, kwargs)
        return state.leave(method(*args, **kwargs))

    object.__setattr__(module, method_name, wrapped)


def share_comm_ctx(modules: Sequence[FSDPModule]) -> None:
    """Nothing to share: collectives of all groups run in one queue."""
