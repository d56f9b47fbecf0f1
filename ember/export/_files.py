"""Exported programs as files: a zip of the graph as JSON and of tensors.

Only names of operators and plain values are read back, never code.
"""

from __future__ import annotations

import io
import json
import operator
import os
import zipfile
from typing import Any

import ember
from ember import fx
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
from ember.fx._names import op_name
from ember.ops import OpOverloads
from ember.utils import _pytree

FORMAT = "ember exported program 1"
_OPERATORS = "add sub mul floordiv mod truediv pow getitem".split()


def save(ep: ExportedProgram, f: Any, extra_files: dict[str, Any] | None) -> None:
    """See `ember.export.save`."""
    payload = {
        "format": FORMAT,
        "nodes": [_node(n) for n in ep.graph.nodes],
        "inputs": [
            [s.kind.name, s.arg.name, s.target] for s in ep.graph_signature.input_specs
        ],
        "outputs": [_output(s) for s in ep.graph_signature.output_specs],
        "ranges": {
            k: [low, None if high == float("inf") else high]
            for k, (low, high) in ep.range_constraints.items()
        },
        "in_spec": _pytree.treespec_dumps(ep._in_spec),
        "out_spec": _pytree.treespec_dumps(ep._out_spec),
        "arguments": ep._arg_names,
    }
    tensors = io.BytesIO()
    plain = {
        "state": {k: v.detach() for k, v in ep.state_dict.items()},
        "constants": {k: v.detach() for k, v in ep.constants.items()},
    }
    ember.save(plain, tensors)
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("program.json", json.dumps(payload))
        archive.writestr("tensors.pt", tensors.getvalue())
        for name, content in (extra_files or {}).items():
            archive.writestr(f"extra/{name}", content)
    if hasattr(f, "write"):
        f.write(data.getvalue())
        return
    path = os.fspath(f)
    beside = f"{path}.{os.getpid()}.part"
    try:
        with open(beside, "wb") as file:
            file.write(data.getvalue())
        os.replace(beside, path)
    finally:
        if os.path.exists(beside):
            os.unlink(beside)


def load(f: Any, extra_files: dict[str, Any] | None) -> ExportedProgram:
    """See `ember.export.load`."""
    try:
        archive = zipfile.ZipFile(f)
        payload = json.loads(archive.read("program.json"))
    except (zipfile.BadZipFile, KeyError) as error:
        raise RuntimeError(
            "export.load(): the file is no exported program of ember; programs that "
            "PyTorch exported cannot be read"
        ) from error
    if payload.get("format") != FORMAT:
        raise RuntimeError(f"export.load(): unknown format {payload.get('format')!r}")
    plain = ember.load(io.BytesIO(archive.read("tensors.pt")), weights_only=True)
    for name in extra_files or {}:
        extra_files[name] = archive.read(f"extra/{name}").decode()  # type: ignore[index]
    graph = fx.Graph()
    made: dict[str, fx.Node] = {}
    for row in payload["nodes"]:
        target = _target(row["op"], row["target"])
        node = graph.create_node(
            row["op"], target, tuple(_back(row["args"], made)),
            _back(row["kwargs"], made), row["name"],
        )  # fmt: skip
        if row["user"]:
            node.meta["user"], node.meta["shape"] = True, row["shape"]
        if row["val"] is not None:
            dtype = getattr(ember, row["val"][0])
            node.meta["val"] = ember.empty(row["val"][1], dtype=dtype, device="meta")
        made[row["name"]] = node
    signature = ExportGraphSignature(
        [
            InputSpec(InputKind[k], TensorArgument(n), t)
            for k, n, t in payload["inputs"]
        ],
        [
            OutputSpec(
                OutputKind.USER_OUTPUT,
                TensorArgument(name) if name else ConstantArgument("", value),
            )
            for name, value in payload["outputs"]
        ],
    )
    ranges = {
        k: (low, float("inf") if high is None else high)
        for k, (low, high) in payload["ranges"].items()
    }
    state = {
        k: ember.nn.Parameter(v, requires_grad=v.is_floating_point())
        if k in signature.parameters
        else v
        for k, v in plain["state"].items()
    }
    return ExportedProgram(
        fx.GraphModule({}, graph),
        signature,
        state,
        plain["constants"],
        ranges,
        _pytree.treespec_loads(payload["in_spec"]),
        _pytree.treespec_loads(payload["out_spec"]),
        payload["arguments"],
    )


def _output(spec: OutputSpec) -> list[Any]:
    if isinstance(spec.arg, ConstantArgument):
        return ["", spec.arg.value]
    return [spec.arg.name, None]


def _node(node: fx.Node) -> dict[str, Any]:
    target = node.target
    if callable(target):
        target = _name_of(target)
    value = node.meta.get("val")
    return {
        "op": node.op,
        "name": node.name,
        "target": target,
        "args": _plain(list(node.args)),
        "kwargs": {k: _plain(v) for k, v in node.kwargs.items()},
        "user": bool(node.meta.get("user")),
        "shape": node.meta.get("shape"),
        "val": [repr(value.dtype).rpartition(".")[2], list(value.shape)]
        if isinstance(value, ember.Tensor)
        else None,
    }


def _target(op: str, target: str) -> Any:
    if op != "call_function":
        return target
    home, _, name = target.partition(".")
    if home == "operator" and name in _OPERATORS:
        return getattr(operator, name)
    if home == "aten" and name.isidentifier() and not name.startswith("__"):
        return getattr(ember.ops.aten, name)
    if home == "nn":
        found = getattr(ember.nn.functional, name.removeprefix("functional."), None)
        if callable(found) and not isinstance(found, type):
            return found
    if home == "op" and name in ember._C._ops:
        return ember._C._ops[name]
    raise RuntimeError(f"export.load(): {target!r} is no operator")


def _name_of(target: Any) -> str:
    name = target.__name__
    if isinstance(target, OpOverloads):
        return f"aten.{name}"
    if getattr(operator, name, None) is target:
        return f"operator.{name}"
    if getattr(ember.nn.functional, name, None) is target:
        return f"nn.functional.{name}"
    if isinstance(target, ember._C.Op):
        return f"op.{op_name(target)}"
    raise RuntimeError(f"export.save(): the function {name} has no name in files")


def _plain(a: Any) -> Any:
    if isinstance(a, fx.Node):
        return {"node": a.name}
    if isinstance(a, tuple):
        return {"tuple": [_plain(i) for i in a]}
    if isinstance(a, list):
        return [_plain(i) for i in a]
    if isinstance(a, ember.dtype | ember.memory_format | ember.layout):
        return {"name": repr(a).rpartition(".")[2]}
    if isinstance(a, ember.device):
        return {"device": str(a)}
    if isinstance(a, float):
        return {"float": repr(a)}
    if a is None or isinstance(a, bool | int | str):
        return a
    raise RuntimeError(f"export.save(): an argument of type {type(a).__name__}")


def _back(a: Any, made: dict[str, fx.Node]) -> Any:
    if isinstance(a, list):
        return [_back(i, made) for i in a]
    if not isinstance(a, dict):
        return a
    value: Any
    kind, value = next(iter(a.items())) if len(a) == 1 else ("", None)
    if kind == "node" and value in made:
        return made[value]
    if kind == "tuple":
        return tuple(_back(i, made) for i in value)
    if kind == "name":
        return getattr(ember, value)
    if kind == "device":
        return ember.device(value)
    if kind == "float":
        return float(value)
    return {k: _back(v, made) for k, v in a.items()}
