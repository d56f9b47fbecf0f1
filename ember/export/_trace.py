"""`export`: the program recorded as a graph of flat inputs."""

from __future__ import annotations

import inspect
from typing import Any

import ember
from ember import fx
from ember.export._record import Recorder
from ember.export._sizes import Dim, SizeError, _Hint
from ember.export.exported_program import ExportedProgram
from ember.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from ember.fx._symbolic_trace import _Patcher
from ember.utils import _pytree

# Functions written in Python that stay one op.
_WHOLE = """
    adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d embedding_bag
    interpolate pad pixel_shuffle pixel_unshuffle grid_sample
    """.split()
# The value of an automatic size in the second run is this much larger.
_STEP = 3


def record(
    mod: Any, args: tuple, kwargs: dict[str, Any], dynamic_shapes: Any
) -> ExportedProgram:
    """See `ember.export.export`."""
    hints = _sizes_of(mod, args, kwargs, dynamic_shapes)
    automatic = [key for key, hint in hints.items() if hint is Dim.AUTO]
    try:
        return _record(mod, args, kwargs, hints)
    except SizeError:
        if not automatic:
            raise
        return _record(
            mod, args, kwargs, {k: h for k, h in hints.items() if h is not Dim.AUTO}
        )


def _sizes_of(mod: Any, args: tuple, kwargs: dict, shapes: Any) -> dict:
    """(number of the leaf, dim) -> Dim or hint, for the sizes that may vary."""
    if shapes is None:
        return {}
    if isinstance(shapes, dict):
        names = _names_of(mod, args, kwargs)
        unknown = [n for n in shapes if n not in names]
        if unknown:
            raise ValueError(
                f"export(): dynamic_shapes names {unknown}, the arguments are {names}"
            )
        shapes = [shapes.get(n) for n in names]
    tree = list(args) + list(kwargs.values())
    shapes = list(shapes)
    if len(shapes) != len(tree):
        raise ValueError(
            f"export(): dynamic_shapes has {len(shapes)} entries for {len(tree)} "
            "arguments"
        )
    found: dict[tuple[int, int], Any] = {}
    count = 0

    def walk(value: Any, spec: Any) -> None:
        nonlocal count
        if isinstance(value, ember.Tensor):
            pairs = spec.items() if isinstance(spec, dict) else enumerate(spec or ())
            for dim, size in pairs:
                if size is not None and size is not Dim.STATIC and not _is_int(size):
                    found[count, dim % value.dim()] = size
            count += 1
        elif isinstance(value, dict):
            for key, item in value.items():
                walk(item, spec.get(key) if isinstance(spec, dict) else None)
        elif isinstance(value, tuple | list):
            for i, item in enumerate(value):
                walk(item, spec[i] if spec is not None else None)
        else:
            count += len(_pytree.tree_leaves(value))

    for value, spec in zip(tree, shapes, strict=True):
        walk(value, spec)
    return found


def _is_int(a: Any) -> bool:
    return isinstance(a, int) and not isinstance(a, bool)


def _names_of(mod: Any, args: tuple, kwargs: dict) -> list[str]:
    parameters = inspect.signature(mod.forward).parameters.values()
    names: list[str] = []
    for p in parameters:
        if p.kind is p.VAR_POSITIONAL:
            names += [f"{p.name}_{i}" for i in range(len(args) - len(names))]
        elif len(names) < len(args):
            names.append(p.name)
    names += [f"args_{i}" for i in range(len(names), len(args))]
    return names + list(kwargs)


def _shadow(
    tensor: ember.Tensor, leaf: int, hints: dict, names: dict[str, Any]
) -> tuple[ember.Tensor, list[Any]]:
    """The input of the second run, and its sizes with names for those that vary."""
    sizes, shape = list(tensor.shape), list[Any](tensor.shape)
    for dim in range(tensor.dim()):
        hint = hints.get((leaf, dim))
        if hint is None:
            continue
        name = hint if isinstance(hint, str) else hint.__name__
        if isinstance(hint, _Hint):
            name = f"s{len(names)}"
        low, high = (hint.min, hint.max) if isinstance(hint, Dim) else (0, float("inf"))
        if name not in names:
            other = _another(tensor.shape[dim], len(names), low, high)
            names[name] = (tensor.shape[dim], other, low, high)
        value, other, _, _ = names[name]
        if value != tensor.shape[dim]:
            raise ValueError(
                f"export(): {name} is {value} and {tensor.shape[dim]} in the example "
                "inputs"
            )
        sizes[dim], shape[dim] = other, name
    if sizes == list(tensor.shape):
        return tensor, shape
    return ember.zeros(sizes, dtype=tensor.dtype, device=tensor.device), shape


def _another(size: int, order: int, low: float, high: float) -> int:
    """Another size within the bounds."""
    if not low <= size <= high:
        raise ValueError(
            f"export(): the example has size {size}, outside of the bounds [{low}, "
            f"{high}]"
        )
    for other in (size + _STEP + order, size + 1, size - 1):
        if low <= other <= high and other > 0:
            return int(other)
    raise ValueError(f"export(): there is no size but {size} in [{low}, {high}]")


def _record(mod: Any, args: tuple, kwargs: dict, hints: dict) -> ExportedProgram:
    graph = fx.Graph()
    recorder = Recorder(graph)
    signature = ExportGraphSignature()
    state = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}
    parameters = dict(mod.named_parameters())
    for name, tensor in state.items():
        kind = InputKind.PARAMETER if name in parameters else InputKind.BUFFER
        letter = "p" if name in parameters else "b"
        node = graph.placeholder(f"{letter}_{name.replace('.', '_')}")
        recorder.know(tensor, node)
        signature.input_specs.append(InputSpec(kind, TensorArgument(node.name), name))
    inputs, names = _inputs(recorder, mod, args, kwargs, hints)
    recorder.shadowed = bool(names)
    saved = {n: b.detach().clone() for n, b in mod.named_buffers()}
    with _Patcher() as patcher, ember.no_grad():
        _keep_whole(patcher, recorder)
        try:
            with recorder:
                out = mod(*inputs[0], **inputs[1])
        finally:
            for name, buffer in mod.named_buffers():
                if name in saved:
                    buffer.copy_(saved[name])
    leaves, out_spec = _pytree.tree_flatten(out)
    outputs = [recorder.node_of(leaf) for leaf in leaves]
    graph.output(tuple(outputs))
    recorder.settle_constants()
    graph.eliminate_dead_code()
    for node in graph.nodes:
        if node.op == "placeholder" and node.target.startswith("c_lifted_tensor"):
            name = node.target[2:]
            signature.input_specs.append(
                InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(node.name), name)
            )
    for node in graph.nodes:
        if node.meta.get("user"):
            signature.input_specs.append(
                InputSpec(InputKind.USER_INPUT, TensorArgument(node.name), None)
            )
    for made in outputs:
        argument: Any = (
            TensorArgument(made.name)
            if isinstance(made, fx.Node)
            else ConstantArgument("", made)
        )
        signature.output_specs.append(OutputSpec(OutputKind.USER_OUTPUT, argument))
    arg_names = _names_of(mod, args, kwargs)
    in_spec = _pytree.tree_flatten([*args, *kwargs.values()])[1]
    module = fx.GraphModule({}, graph, type(mod).__name__)
    return ExportedProgram(
        module,
        signature,
        mod.state_dict(keep_vars=True) | parameters,
        {
            **recorder.constants,
            **{n: b for n, b in mod.named_buffers() if n not in mod.state_dict()},
        },
        {name: (low, high) for name, (_, _, low, high) in names.items()},
        in_spec,
        out_spec,
        arg_names,
        (args, kwargs),
    )


def _inputs(
    recorder: Recorder, mod: Any, args: tuple, kwargs: dict, hints: dict
) -> tuple[Any, dict[str, Any]]:
    """Placeholders of the arguments; the tensors that the program gets."""
    names: dict[str, Any] = {}
    leaf = 0
    arg_names = _names_of(mod, args, kwargs)

    def place(name: str, value: Any) -> Any:
        nonlocal leaf
        leaves, spec = _pytree.tree_flatten(value)
        made = []
        for i, item in enumerate(leaves):
            own = name if len(leaves) == 1 else f"{name}_{i}"
            node = recorder.graph.placeholder(own)
            node.meta["user"] = True
            if isinstance(item, ember.Tensor):
                item = item.detach()  # another object, in case of one given twice
                shadow, shape = _shadow(item, leaf, hints, names)
                recorder.know(item, node, shadow)
                node.meta["shape"] = shape
            leaf += 1
            made.append(item)
        return _pytree.tree_unflatten(made, spec)

    values = [
        place(n, v) for n, v in zip(arg_names, [*args, *kwargs.values()], strict=True)
    ]
    positional = tuple(values[: len(args)])
    return (positional, dict(zip(kwargs, values[len(args) :], strict=True))), names


def _keep_whole(patcher: _Patcher, recorder: Recorder) -> None:
    """Some functions written in Python as one op each."""
    import sys

    from ember.nn import functional

    for name in _WHOLE:
        original = getattr(functional, name)

        def call(*args: Any, _name: str = name, _f: Any = original, **kwargs: Any):
            from ember import _C

            before = _C._switch_overrides(True, True)
            try:
                return recorder.call(_name, _f, args, kwargs)
            finally:
                _C._switch_overrides(*before)

        for module in list(sys.modules.values()):
            space = getattr(module, "__dict__", {})
            if getattr(module, "__name__", "").startswith("ember.nn"):
                for key, value in list(space.items()):
                    if value is original:
                        patcher.patch(space, key, call)
