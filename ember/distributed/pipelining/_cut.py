"""A model cut into stages: its graph, parted at marks.

Whatever a stage needs of earlier ones comes to it from the one before: a value that is
used far behind goes through all stages between, and a parameter of several stages lives
in the first of them and is handed on like a value, so that its gradient is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

import ember
from ember import Tensor, fx, nn
from ember.fx.node import Node, map_arg

__all__ = ["Pipe", "PipeInfo", "SplitPoint", "pipe_split", "pipeline"]

_tracers: list[_Tracer] = []


class SplitPoint(Enum):
    """Where a submodule is cut off: before it or behind it."""

    BEGINNING = 1
    END = 2


def pipe_split() -> None:
    """In a `forward`, marks the end of a stage; does nothing outside of `pipeline`."""
    if _tracers:
        _tracers[-1].create_node("call_function", pipe_split, (), {})


class _Example(fx.Proxy):
    """A proxy that knows the value of its example: sizes and the like are constants."""

    tracer: _Tracer

    def __getattr__(self, k: str) -> Any:
        value = self.tracer.values[self.node]
        if isinstance(value, Tensor):
            found = getattr(value, k)
            if not callable(found) and not isinstance(found, Tensor):
                return found
        return super().__getattr__(k)

    def __len__(self) -> int:
        return len(self.tracer.values[self.node])


class _Tracer(fx.Tracer):
    """Follows a model along an example. Values that hold no tensor are those of the
    example, as `ember.export` has it, so that programs may loop over shapes."""

    def __init__(
        self, spec: dict[str, SplitPoint], opened: set[str], args: tuple, kwargs: dict
    ) -> None:
        super().__init__()
        self._spec, self._opened = spec, opened
        self._given, self._named = list(args), kwargs
        self.values: dict[Node, Any] = {}
        self._computing = False

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        if module_qualified_name in self._opened:
            return False
        inside = module_qualified_name + "."
        if any(name.startswith(inside) for name in self._spec):
            return False
        return super().is_leaf_module(m, module_qualified_name)

    def call_module(self, m: Any, forward: Any, args: Any, kwargs: Any) -> Any:
        if self._computing:
            return forward(*args, **kwargs)
        where = self._spec.get(self.path_of_module(m))
        if where is SplitPoint.BEGINNING:
            pipe_split()
        result = super().call_module(m, forward, args, kwargs)
        if where is SplitPoint.END:
            pipe_split()
        return result

    def _parameter_proxy(self, parameter: Any) -> Any:
        return None if self._computing else super()._parameter_proxy(parameter)

    def proxy(self, node: Node) -> fx.Proxy:
        return _Example(node, self)

    def iter(self, obj: Any) -> Any:
        return iter([obj[i] for i in range(len(obj))])

    def create_proxy(
        self,
        kind: str,
        target: Any,
        args: tuple,
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
        proxy_factory_fn: Any = None,
    ) -> Any:
        proxy = super().create_proxy(
            kind, target, args, kwargs, name, type_expr, proxy_factory_fn
        )
        node = proxy.node
        value = self.values[node] = self._compute(node)
        if _has_tensor(value):
            return proxy
        if kind != "placeholder":
            self.graph.erase_node(node)
        return value

    def create_arg(self, a: Any) -> Any:
        made = super().create_arg(a)
        if isinstance(made, Node) and made.op == "get_attr":
            self.values[made] = _attribute(self.root, made.target)
        return made

    def _compute(self, node: Node) -> Any:
        if node.op == "placeholder":
            if self._given:
                return self._given.pop(0)
            if node.target in self._named:
                return self._named[node.target]
            if node.args:
                return node.args[0]
            raise ValueError(f"pipeline(): mb_args lack the argument {node.target}")
        args = map_arg(node.args, self.values.__getitem__)
        kwargs = map_arg(node.kwargs, self.values.__getitem__)
        self._computing = True
        try:
            if node.op == "get_attr":
                return _attribute(self.root, node.target)
            if node.op == "call_module":
                return _attribute(self.root, node.target)(*args, **kwargs)
            if node.op == "call_method":
                return getattr(args[0], node.target)(*args[1:], **kwargs)
            return node.target(*args, **kwargs)
        finally:
            self._computing = False


def _has_tensor(value: Any) -> bool:
    from ember.utils._pytree import tree_flatten

    return any(isinstance(leaf, Tensor) for leaf in tree_flatten(value)[0])


@dataclass
class PipeInfo:
    """What `build_stage` has to know."""

    graph: Any
    num_stages: int
    has_loss_and_backward: bool = False


class Pipe(nn.Module):
    """A model in stages; called, it computes them one after the other."""

    def __init__(self, stages: list[fx.GraphModule]) -> None:
        super().__init__()
        self.split_gm = nn.Module()
        for i, stage in enumerate(stages):
            self.split_gm.add_module(f"submod_{i}", stage)
        self.num_stages = len(stages)

    def forward(self, *args: Any, **kwargs: Any) -> tuple:
        values: Any = self.get_stage_module(0)(*args, **kwargs)
        for i in range(1, self.num_stages):
            values = values if isinstance(values, tuple) else (values,)
            values = self.get_stage_module(i)(*values)
        return values if isinstance(values, tuple) else (values,)

    def get_stage_module(self, stage_idx: int) -> fx.GraphModule:
        """The module of one stage."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return getattr(self.split_gm, f"submod_{stage_idx}")

    def info(self) -> PipeInfo:
        """What `build_stage` has to know."""
        return PipeInfo(self.get_stage_module(0).graph, self.num_stages)

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> Any:
        """The `PipelineStage` of one stage, on this process."""
        from ember.distributed.pipelining.stage import build_stage

        module = self.get_stage_module(stage_index)
        return build_stage(module, stage_index, self.info(), device, group)

    def __str__(self) -> str:
        codes = (self.get_stage_module(i).code for i in range(self.num_stages))
        return "\n".join(f"stage {i}:{code}" for i, code in enumerate(codes))


def pipeline(
    module: nn.Module,
    mb_args: tuple[Any, ...],
    mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[[fx.GraphModule], fx.GraphModule] | None = None,
) -> Pipe:
    """Cut a model into stages: at the calls of `pipe_split` in it, or at the submodules
    of `split_spec`. `mb_args` are arguments of one microbatch; the model is followed by
    `ember.fx` along them. Sizes, and arguments that are no tensors, become constants.

    >>> import ember
    >>> from ember import nn
    >>> from ember.distributed.pipelining import SplitPoint, pipeline
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    >>> spec = {"2": SplitPoint.BEGINNING}
    >>> pipe = pipeline(model, (ember.ones(4, 2),), split_spec=spec)
    >>> pipe.num_stages, list(pipe.get_stage_module(1).state_dict())
    (2, ['2.weight', '2.bias'])
    """
    if split_spec is not None and split_policy is not None:
        raise ValueError(
            "Cannot specify both `split_spec` and `split_policy`. Please use only one."
        )
    spec = dict(split_spec or {})
    for name in spec:
        module.get_submodule(name)  # AttributeError if there is none
    opened: set[str] = set()
    while True:
        tracer = _Tracer(spec, opened, mb_args, mb_kwargs or {})
        with _undisturbed(module):
            _tracers.append(tracer)
            try:
                graph = tracer.trace(module)
            finally:
                _tracers.pop()
        traced = fx.GraphModule(tracer.root, graph)
        if split_policy is not None:
            traced = split_policy(traced)
        home = _homes(traced.graph)
        shared = _shared_modules(traced, home) - opened
        if not shared:
            return Pipe(_stages(traced, home))
        opened |= shared


@contextmanager
def _undisturbed(module: nn.Module) -> Iterator[None]:
    """What computing the example changes is put back: buffers and random numbers."""
    buffers = [(b, b.detach().clone()) for b in module.buffers()]
    state = ember.get_rng_state()
    try:
        with ember.no_grad():
            yield
            for buffer, before in buffers:
                buffer.copy_(before)
    finally:
        ember.set_rng_state(state)


def _homes(graph: fx.Graph) -> dict[Node, int]:
    """The stage of each node: how many marks are before it."""
    home: dict[Node, int] = {}
    stage = 0
    for node in graph.nodes:
        home[node] = stage
        stage += node.target is pipe_split
    return home


def _shared_modules(traced: fx.GraphModule, home: dict[Node, int]) -> set[str]:
    """Modules, followed as a whole, whose parameters other stages use, too."""
    users: dict[int, dict[int, set[str]]] = {}
    for node in traced.graph.nodes:
        tensors: list[Any] = []
        if node.op == "call_module":
            called = traced.get_submodule(node.target)
            tensors = [*called.parameters(), *called.buffers()]
        elif node.op == "get_attr":
            tensors = [_attribute(traced, node.target)]
        for t in tensors:
            names = users.setdefault(id(t), {}).setdefault(home[node], set())
            names.add(node.target if node.op == "call_module" else "")
    several = [stages for stages in users.values() if len(stages) > 1]
    return {n for stages in several for names in stages.values() for n in names if n}


def _attribute(module: Any, target: str) -> Any:
    for part in target.split("."):
        module = getattr(module, part)
    return module


def _stages(traced: fx.GraphModule, home: dict[Node, int]) -> list[fx.GraphModule]:
    nodes = [n for n in traced.graph.nodes if n.target is not pipe_split]
    attributes: dict[int, Node] = {}  # one node for each parameter, whatever its names
    same: dict[Node, Node] = {}
    for node in nodes:
        if node.op == "get_attr":
            value = _attribute(traced, node.target)
            same[node] = attributes.setdefault(id(value), node)
    last_use: dict[Node, int] = {}
    for node in nodes:
        for used in node.all_input_nodes:
            first = same.get(used, used)
            last_use[first] = max(last_use.get(first, 0), home[node])
    for node in list(last_use):
        if node.op == "get_attr":  # it is made where it is first used
            users = [u for n, f in same.items() if f is node for u in n.users]
            home[node] = min(home[user] for user in users)
    count = 1 + max(home.values())
    made = []
    for stage in range(count):
        graph = fx.Graph()
        values: dict[Node, Any] = {}
        crossing = [n for n in nodes if n in last_use]
        for n in nodes if stage == 0 else []:
            if n.op == "placeholder":
                default = n.args[0] if n.args else ...
                values[n] = graph.placeholder(n.target, n.type, default)
        for n in crossing:
            if home[n] < stage <= last_use[n]:
                values[n] = graph.placeholder(n.name, n.type)

        def value(
            n: Node, stage: int = stage, values: dict = values, graph: Any = graph
        ) -> Any:
            n = same.get(n, n)
            if n not in values and n.op == "get_attr":
                values[n] = graph.get_attr(n.target)
            return values[n]

        result = None
        for n in nodes:
            if home[n] != stage or n.op in ("placeholder", "get_attr"):
                continue
            if n.op == "output":
                result = map_arg(n.args[0], value)
                continue
            args, kwargs = map_arg(n.args, value), map_arg(n.kwargs, value)
            values[n] = graph.create_node(n.op, n.target, args, kwargs, n.name, n.type)
        if stage < count - 1:
            onward = [n for n in crossing if home[n] <= stage < last_use[n]]
            passed = tuple(value(n) for n in onward)
            result = passed[0] if len(passed) == 1 else passed
        graph.output(result)
        made.append(fx.GraphModule(traced, graph))
    return made
