"""An exported program as an ONNX model."""

from __future__ import annotations

import operator
from typing import Any

import ember
from ember.export.exported_program import ExportedProgram
from ember.export.graph_signature import InputKind
from ember.fx import Node
from ember.onnx import OnnxExporterError, TensorProtoDataType
from ember.version import pip_install

OPSET = 18
_CODES = {
    ember.float32: "FLOAT",
    ember.float64: "DOUBLE",
    ember.float16: "FLOAT16",
    ember.bfloat16: "BFLOAT16",
    ember.int64: "INT64",
    ember.int32: "INT32",
    ember.int16: "INT16",
    ember.int8: "INT8",
    ember.uint8: "UINT8",
    ember.bool: "BOOL",
}


class Value(str):
    """The name of a value of the model, and the node that it stands for."""

    node: Any = None

    def __new__(cls, name: str, node: Any = None) -> Value:
        made = str.__new__(cls, name)
        made.node = node
        return made


class Writer:
    """Collects the nodes and constants of a model."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.count = 0
        self.kept: dict[Any, Value] = {}

    def op(self, kind: str, *inputs: Any, outputs: int = 1, **options: Any) -> Any:
        """A node; the name of its result, or a list of them."""
        names = []
        for _ in range(outputs):
            self.count += 1
            names.append(Value(f"{kind.lower()}_{self.count}"))
        node = self.onnx.helper.make_node(kind, list(inputs), names, **options)
        self.nodes.append(node)
        return names[0] if outputs == 1 else names

    def tensor(self, value: ember.Tensor, name: str = "") -> Any:
        """A tensor as ONNX writes it."""
        value = value.detach().cpu().contiguous()
        data = value.clone().numpy().tobytes()
        return self.onnx.helper.make_tensor(
            name, self.code(value.dtype), list(value.shape), data, raw=True
        )

    def code(self, dtype: Any) -> int:
        """ONNX's number of a dtype."""
        if dtype not in _CODES:
            raise OnnxExporterError(f"onnx.export(): ONNX has no dtype {dtype}")
        return int(TensorProtoDataType[_CODES[dtype]])

    def constant(self, value: ember.Tensor, name: str | None = None) -> Value:
        """A tensor that is part of the model."""
        if name is None:
            self.count += 1
            name = f"constant_{self.count}"
        self.initializers.append(self.tensor(value, name))
        return Value(name)

    def ints(self, values: Any) -> Value:
        """A list of ints."""
        return self._kept(tuple(values), ember.int64)

    def number(self, value: Any, dtype: Any) -> Value:
        """A number of a dtype."""
        return self._kept(value, dtype)

    def _kept(self, value: Any, dtype: Any) -> Value:
        key = (type(value), repr(value), str(dtype))
        if key not in self.kept:
            self.kept[key] = self.constant(ember.tensor(value, dtype=dtype))
        return self.kept[key]

    def scalar(self, value: Any) -> Value:
        """An int, known or computed, without dimensions."""
        return value if isinstance(value, Value) else self.number(value, ember.int64)

    def sizes(self, values: list[Any]) -> Value:
        """A list of ints, of which some may be computed."""
        if not any(isinstance(v, Value) for v in values):
            return self.ints(values)
        parts = [
            self.op("Unsqueeze", v, self.ints([0]))
            if isinstance(v, Value)
            else self.ints([v])
            for v in values
        ]
        return self.op("Concat", *parts, axis=0)

    def like(self, n: Node) -> Value:
        """The shape of a result of which at most one size varies."""
        shape = list(n.meta["val"].shape)
        other = n.meta.get("other", shape)
        vary = [i for i, (a, b) in enumerate(zip(shape, other, strict=True)) if a != b]
        if len(vary) > 1:
            raise self.error(n, "several sizes that vary")
        return self.ints([-1 if i in vary else s for i, s in enumerate(shape)])

    def meta(self, node: Any) -> Any:
        """Shape and dtype of a node's value."""
        node = getattr(node, "node", node)
        return node.meta["val"]

    def shape(self, node: Any) -> tuple[int, ...]:
        """The sizes of a node's value in the example."""
        return tuple(self.meta(node).shape)

    def rank(self, node: Any) -> int:
        """How many dimensions a node's value has."""
        return len(self.meta(node).shape)

    def dtype(self, node: Any) -> Any:
        """The dtype of a node's value."""
        return self.meta(node).dtype

    def cast(self, value: Any, dtype: Any) -> Any:
        """A value in a dtype."""
        node = getattr(value, "node", None)
        known = node.meta.get("val") if node is not None else None
        if isinstance(known, ember.Tensor) and known.dtype == dtype:
            return value
        return self.op("Cast", value, to=self.code(dtype))

    def promoted(self, n: Node, a: Any, b: Any) -> tuple[Any, Any]:
        """Two operands in the dtype that they are computed in."""
        types = [
            self.meta(v).dtype
            if isinstance(self.meta(v), ember.Tensor)
            else ember.int64
            for v in (a, b)
            if isinstance(v, Value) and v.node is not None
        ]
        result = n.meta["val"].dtype if n.meta.get("val") is not None else ember.int64
        dtype = result
        if result == ember.bool and types:
            dtype = types[0] if len(types) == 1 else ember.promote_types(*types)
            if (
                any(isinstance(v, float) for v in (a, b))
                and not dtype.is_floating_point
            ):
                dtype = ember.float32
        return tuple(
            self.cast(v, dtype) if isinstance(v, Value) else self.number(v, dtype)
            for v in (a, b)
        )  # type: ignore[return-value]

    def gates(self, value: Any, order: list[int]) -> Value:
        """A weight of a recurrent layer with its gates in another order."""
        parts = self.op(
            "Split", value, outputs=len(order), axis=0, num_outputs=len(order)
        )
        return self.op("Concat", *(parts[i] for i in order), axis=0)

    def error(self, n: Node, what: str) -> OnnxExporterError:
        """An error about a node."""
        return OnnxExporterError(f"onnx.export(): {n.target.__name__}: no {what}")


def build(
    program: ExportedProgram,
    input_names: list[str] | None,
    output_names: list[str] | None,
    opset: int,
    table: dict[str, Any],
) -> Any:
    """The model (`onnx.ModelProto`) of a program."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            f"onnx.export(): the package onnx is needed: {pip_install('onnx')}"
        ) from error
    writer, values = Writer(onnx), {}
    inputs: list[Any] = []
    tensors: dict[Any, Any] = {**program.constants, **program.state_dict}
    names = iter(input_names or ())
    nodes = list(program.graph.nodes)
    placeholders = [n for n in nodes if n.op == "placeholder"]
    for node, spec in zip(
        placeholders, program.graph_signature.input_specs, strict=True
    ):
        if spec.kind is not InputKind.USER_INPUT:
            if node.users:
                values[node] = Value(
                    writer.constant(tensors[spec.target], spec.target), node
                )
            continue
        name = next(names, node.name)
        values[node] = Value(name, node)
        shape = node.meta.get("shape") or []
        inputs.append(
            onnx.helper.make_tensor_value_info(
                name, writer.code(node.meta["val"].dtype), shape
            )
        )
    for node in nodes:
        if node.op == "call_function":
            values[node] = _translate(writer, node, values, table)
    return _finish(onnx, writer, nodes[-1], values, inputs, output_names, opset)


_ARITHMETIC = {
    "add": "Add",
    "sub": "Sub",
    "mul": "Mul",
    "floordiv": "Div",
    "mod": "Mod",
}


def _translate(writer: Writer, node: Node, values: dict, table: dict) -> Any:
    def back(a: Any) -> Any:
        if isinstance(a, Node):
            return values[a]
        if isinstance(a, tuple | list):
            return [back(i) for i in a]
        return a

    args = [back(a) for a in node.args]
    name = node.target.__name__
    if node.target is operator.getitem:
        return Value(args[0][node.args[1]], node)
    if getattr(operator, name, None) is node.target:
        if name not in _ARITHMETIC:
            raise OnnxExporterError(f"onnx.export(): arithmetic {name} of sizes")
        return Value(writer.op(_ARITHMETIC[name], *map(writer.scalar, args)), node)
    if node.meta.get("changes") == "shared":
        raise OnnxExporterError(
            f"onnx.export(): aten.{name} changes memory that other tensors of the "
            "program see, too, which ONNX has no way to say; clone() before, or make a "
            "new tensor with cat, where and the like"
        )
    in_place = name.endswith("_") and not name.endswith("__")
    rule = table.get(name) or (table.get(name[:-1]) if in_place else None)
    if rule is None:
        raise OnnxExporterError(
            f"onnx.export(): there is no translation of aten.{name} to ONNX; give one "
            "with custom_translation_table"
        )
    made = rule(writer, node, *args, **{k: back(v) for k, v in node.kwargs.items()})
    return Value(made, node) if isinstance(made, str) else made


def _finish(
    onnx: Any,
    writer: Writer,
    last: Node,
    values: dict,
    inputs: list[Any],
    output_names: list[str] | None,
    opset: int,
) -> Any:
    outputs = []
    results = [v for v in last.args[0] if isinstance(v, Node)]
    for i, node in enumerate(results):
        name = (output_names or [])[i : i + 1] or [f"output_{i}"]
        writer.nodes.append(
            onnx.helper.make_node("Identity", [values[node]], [name[0]])
        )
        code = writer.code(node.meta["val"].dtype)
        outputs.append(onnx.helper.make_tensor_value_info(name[0], code, None))
    graph = onnx.helper.make_graph(
        writer.nodes, "main_graph", inputs, outputs, writer.initializers
    )
    model = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", opset)],
        producer_name="ember",
        producer_version=ember.__version__,
    )
    model.ir_version = 8
    return model
