"""Nodes of a program as graphs: rows of the pointwise table by their formulas, and
conversions between dtypes as the eager kernels do them (core/cpu/kernels/).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import ember
from ember import _C
from ember.compiler import _formula, _math
from ember.compiler._graph import Graph, V, bits_of, is_float, is_signed
from ember.compiler._program import Node

# What holds a value of a dtype in registers, and in memory. The narrow floats are
# computed with as float32, and rounded after each row.
VALUE = {
    "bool": "b1",
    "uint8": "u8",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "float16": "f32",
    "bfloat16": "f32",
    "float32": "f32",
    "float64": "f64",
}
MEMORY = {**VALUE, "float16": "u16", "bfloat16": "u16"}
NARROW = ("float16", "bfloat16")


class Row(NamedTuple):
    place: int
    keep: str
    texts: tuple[str, ...]
    turns: bool


@functools.cache
def rows() -> dict[tuple[str, str], Row]:
    """By kind and name."""
    found: dict[tuple[str, str], Row] = {}
    counts: dict[str, int] = {}
    for kind, name, keep, texts, turns in _C._rows():
        index = counts[kind] = counts.get(kind, -1) + 1
        found[kind, name] = Row(index, keep, texts, turns)
    return found


def name_of(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


@functools.cache
def kernel(kind: str, name: str, compute: str) -> tuple[int, str] | None:
    """Address of the eager kernel, and the dtype that it computes in."""
    row = rows().get(("unary" if kind == "unary_grad" else kind, name))
    if row is None or compute not in VALUE:
        return None
    found = _C._row_kernel(kind, row.place, getattr(ember, compute))
    return found and (found[0], name_of(found[1]))


def formula(kind: str, name: str, native: str) -> Any:
    """The tree to evaluate for a row in a dtype, if generated code does it itself."""
    row = rows()["unary" if kind == "unary_grad" else kind, name]
    functions = _math.FUNCTIONS[_kind_of(native)]
    trees = [_formula.parse(row.texts[0])]
    if kind == "unary_grad":
        # Where the row itself is the C library's, so is its derivative.
        trees.append(_formula.parse(row.texts[1]))
    known = all(call in functions for tree in trees for call in _formula.calls(tree))
    return trees[-1] if known and (kind, name, native) not in _CALLED else None


def is_cheap(node: Node) -> bool:
    """Whether a row is a step or two: no division, no function of many steps."""
    return _is_cheap(node.op, node.name)


@functools.cache
def _is_cheap(op: str, name: str) -> bool:
    row = rows().get(("unary" if op == "unary_grad" else op, name))
    if row is None or op == "reduce":
        return False
    tree = _formula.parse(row.texts[op == "unary_grad"])
    return _formula.calls(tree) <= _math.LIGHT and _formula.steps(tree) <= 2


def _kind_of(dtype: str) -> str:
    type = VALUE[dtype]
    return type if is_float(type) else "int"


# Rows that are left to their eager kernels though every function of theirs is known:
# they round on the way, or trap.
_CALLED: set[tuple[str, str, str]] = set()


def supported(node: Node) -> str:
    """Why generated code can't do a node; empty if it can."""
    dtypes = [node.dtype, node.compute] if node.compute else [node.dtype]
    for dtype in dtypes:
        if dtype not in VALUE:
            return f"{node.name or node.op} of {dtype}"
    if node.compute and not kernel(node.op, node.name, node.compute):
        return f"{node.name}() has no kernel for {node.compute}"
    return ""


# --- conversions --------------------------------------------------------------


def narrowed(v: V, dtype: str) -> V:
    """float32 as the bits of a narrow float."""
    if dtype == "bfloat16":
        b = _math.bits(v)
        half = (b + (((b >> 16) & 1) + 0x7FFF)) >> 16
        half = half.make("trunc", half, type="u16")
        return _math.where(v.ne(v), half.const(0x7FC0), half)
    if v.graph.fma:  # the levels that have it also have F16C
        return v.make("to_half", v, type="u16")
    b = _math.bits(v)
    sign, size = (b >> 16) & 0x8000, b & 0x7FFFFFFF
    normal = (size - 0x38000000 + 0xFFF + ((size >> 13) & 1)) >> 13
    subnormal = _math.bits(_math.from_bits(size) + 0.5) - 0x3F000000
    half = _math.where(size < 0x38800000, subnormal, normal)
    half = _math.where(size >= 0x477FF000, 0x7C00, half)
    half = _math.where(size > 0x7F800000, 0x7E00, half)
    half = sign | half
    return half.make("trunc", half, type="u16")


def widened(v: V, dtype: str) -> V:
    """The bits of a narrow float as float32."""
    if dtype == "float16" and v.graph.fma:
        return v.make("from_half", v, type="f32")
    b = v.make("zext", v, type="u32")
    if dtype == "bfloat16":
        return _math.from_bits(b << 16)
    sign, size = (b & 0x8000) << 16, b & 0x7FFF
    normal, special = (size + 0x1C000) << 13, (size << 13) | 0x7F800000
    whole = size.make("uitofp", size, type="f32")
    subnormal = _math.bits(whole * 5.9604644775390625e-8)
    bits = _math.where(size >= 0x0400, normal, subnormal)
    return _math.from_bits(sign | _math.where(size >= 0x7C00, special, bits))


def cast(v: V, source: str, to: str) -> V:
    """A value in another dtype, as convert() of kernels/pointwise_cast.cpp has it."""
    if source == to:
        return v
    target = VALUE[to]
    if to in NARROW:
        wide = v if v.type == "f32" else _to_float(v, "f32")
        return widened(narrowed(wide, to), to)
    if v.type == target:
        return v
    if v.type == "b1":
        one = v.graph.const(1, target)
        return _math.where(v, one, v.graph.const(0, target))
    if target == "b1":
        return v.ne(0)
    if is_float(target):
        return _to_float(v, target)
    if is_float(v.type):
        return _to_int(v, target)
    return _resized(v, target)


def _to_float(v: V, target: str) -> V:
    if v.type == target:
        return v
    if v.type == "b1":
        one = v.graph.const(1, target)
        return _math.where(v, one, v.graph.const(0, target))
    if is_float(v.type):
        op = "fpext" if target == "f64" else "fptrunc"
    else:
        op = "sitofp" if is_signed(v.type) else "uitofp"
    return v.make(op, v, type=target)


def _resized(v: V, target: str) -> V:
    size, wanted = bits_of(v.type), bits_of(target)
    if size == wanted:
        return v.make("bitcast", v, type=target)
    if size > wanted:
        return v.make("trunc", v, type=target)
    return v.make("sext" if is_signed(v.type) else "zext", v, type=target)


def _to_int(v: V, target: str) -> V:
    """Out of range, the bits are those that x86 gives."""
    small = v.type == "f32" and bits_of(target) < 32
    if target == "i32" or small:
        return _resized(v.make("fptosi", v, type="i32"), target)
    whole = v.make("fptosi", v, type="i64")
    if target != "u64":
        return _resized(whole, target)
    large = v.make("fptoui", v, type="u64")
    wrapped = whole.make("bitcast", whole, type="u64")
    return _math.where(v >= 9223372036854775808.0, large, wrapped)


# --- rows ---------------------------------------------------------------------


class Call(NamedTuple):
    """An eager kernel that generated code needs: its row, and the params' names."""

    kind: str
    name: str
    compute: str


def native_of(node: Node, dtypes: list[str]) -> str:
    """The dtype that a row computes in, as core/cpu/pointwise.cpp decides it."""
    compute = node.compute
    if node.op == "ternary" and node.name == "where" and dtypes[1] == dtypes[2]:
        compute = dtypes[1]
    if node.op == "binary" and compute in NARROW:
        own = node.name in ("nextafter", "xlogy", "xlog1py")
        if not own and not (node.dtype == compute and dtypes[1] == compute):
            compute = "float32"
    found = kernel(node.op, node.name, compute)
    assert found is not None, node
    return found[1]


def operand_dtypes(node: Node, native: str) -> list[str]:
    """What the operands of a row are converted to."""
    if node.op == "ternary" and node.name == "where":
        return ["bool", native, native]
    return [native] * len(node.args)


# Rows whose derivative is a sum that GCC does not fuse.
_UNFUSED = ("silu", "gelu_tanh")


def apply(
    graph: Graph,
    node: Node,
    native: str,
    operands: list[V],
    params: list[V | None],
    call: Any,
) -> V:
    """The result of a row in `native`, from operands in it. `call(type, operands)` is a
    node of the graph that calls the eager kernel."""
    result = "bool" if node.op in ("predicate", "compare") else native
    rounds = native in NARROW
    if rounds and node.name in ("add", "sub", "mul", "div"):
        wide = apply(graph, node, "float32", operands, params, call)
        return cast(wide, "float32", native)
    if node.op == "ternary" and node.name == "where":
        return _math.where(*operands)
    tree = None if rounds else formula(node.op, node.name, native)
    if tree is None:
        given = [narrowed(v, native) for v in operands] if rounds else operands
        out = call(MEMORY[result], given)
        return widened(out, native) if rounds and result == native else out
    value = _formula_value(graph, node, native, operands, params, tree)
    unary = rows().get(("unary", node.name))
    if unary is not None and unary.turns and is_float(operands[0].type):
        limit = 1e5 if graph.fma else 4096.0
        far = _math.abs(operands[-1]) > limit
        value = call(value.type, operands, rare=(value, far))
    return value


def _formula_value(
    graph: Graph, node: Node, native: str, operands: list[V], params: Any, tree: Any
) -> V:
    type = VALUE[native]
    if native == "bool" and node.op in ("predicate", "compare"):
        type = "u8"  # 0 and 1
        operands = [cast(v, "bool", "uint8") for v in operands]
    if native == "bool" and node.op == "unary":
        return ~operands[0]  # bitwise_not, the only one
    if native == "bool" and node.op == "binary":
        return _bool_row(node.name, *operands)
    names: dict[str, V] = {f"p{i}": p for i, p in enumerate(params) if p is not None}
    functions = _math.FUNCTIONS[_kind_of(native) if type != "u8" else "int"]

    def cast_literal(value: Any) -> V:
        return graph.coerce(value, type)

    if node.op == "unary_grad":
        g, kept = operands
        if node.name == "pow_scalar" and node.params[0] == 3.0:
            return g * (3 * kept * kept)
        names["x"] = names["y"] = kept
        unfused = _math.unfused if node.name in _UNFUSED else None
        d = _formula.evaluate(tree, names, functions, cast_literal, unfused)
        product = g * cast_literal(d)
        if rows()["unary", node.name].texts[1].startswith("cut("):
            return _math.where(cast_literal(d).eq(0), product.const(0), product)
        return product
    if node.op == "unary":
        x = operands[0]
        if node.name == "log" and type == "f32" and graph.level == "avx512":
            return x.make("log512", x)
        if node.name == "pow_scalar" and node.params[0] == 3.0:
            return x * x * x
    names.update(zip("x" if len(operands) == 1 else "abc", operands, strict=False))
    return cast_literal(_formula.evaluate(tree, names, functions, cast_literal))


def _bool_row(name: str, a: V, b: V) -> V:
    if name in ("bitwise_and", "mul", "minimum", "fmin", "clamp_max"):
        return a & b
    return a ^ b if name == "bitwise_xor" else a | b
