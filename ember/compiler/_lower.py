"""Graphs as LLVM's text: every value is a vector of `width` elements.

One `Lowering` is the body of one function; it collects the lines, and the declarations
of the intrinsics that they call. `count` names the number of elements that matter,
which is less than the width in the last turn of a loop.
"""

from __future__ import annotations

import struct
from typing import Any

from ember.compiler._graph import Graph, V, bits_of, is_float, is_signed

_SCALAR = {"f32": "float", "f64": "double", "b1": "i1"}
_PLAIN = {
    "fadd": "fadd",
    "fsub": "fsub",
    "fmul": "fmul",
    "fdiv": "fdiv",
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "and": "and",
    "or": "or",
    "xor": "xor",
    "shl": "shl",
    "lshr": "lshr",
    "ashr": "ashr",
}
_INTRINSICS = {
    "fabs": "fabs",
    "sqrt": "sqrt",
    "copysign": "copysign",
    "floor": "floor",
    "ceil": "ceil",
    "ftrunc": "trunc",
    "rint": "rint",
}


def llvm_type(type: str) -> str:
    """Of one element, in a register."""
    return _SCALAR.get(type) or f"i{bits_of(type)}"


def memory_type(type: str) -> str:
    return "i8" if type == "b1" else llvm_type(type)


def size_of(type: str) -> int:
    return 1 if type == "b1" else bits_of(type) // 8


def literal(value: float, type: str) -> str:
    """A number as LLVM writes it: floats by the bits of the double they equal."""
    if is_float(type):
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if type == "b1":
        return "true" if value else "false"
    bits = bits_of(type)
    value = int(value) & ((1 << bits) - 1)
    return str(value - (1 << bits) if value >> (bits - 1) else value)


class Lowering:
    def __init__(self, width: int, level: str) -> None:
        self.width, self.level = width, level
        self.lines: list[str] = []  # of the body
        self.head: list[str] = []  # of the entry block: buffers, and what is invariant
        self.declarations: dict[str, str] = {}
        self.functions: list[str] = []  # beside this one
        self.constants: dict[str, str] = {}
        self.count = ""
        self.label = ""  # of the block that lines are written to
        self._temporaries = 0
        self._buffers: dict[tuple[Any, ...], str] = {}

    # --- lines ---

    def name(self, prefix: str = "v") -> str:
        self._temporaries += 1
        return f"%{prefix}{self._temporaries}"

    def new(self, text: str) -> str:
        name = self.name()
        self.lines.append(f"  {name} = {text}")
        return name

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def block(self, label: str) -> None:
        self.lines.append(label + ":")
        self.label = label

    def new_label(self, prefix: str) -> str:
        self._temporaries += 1
        return f"{prefix}{self._temporaries}"

    def vector(self, type: str) -> str:
        return f"<{self.width} x {llvm_type(type)}>"

    def buffer(self, type: str, key: Any = None) -> str:
        """Room for one vector on the stack; one for each key, if it is given."""
        known = self._buffers.get((key, type)) if key is not None else None
        if known:
            return known
        name = self.name("room")
        size = f"[{self.width} x {memory_type(type)}]"
        self.head.append(f"  {name} = alloca {size}, align 64")
        if key is not None:
            self._buffers[(key, type)] = name
        return name

    def intrinsic(self, name: str, result: str, *args: tuple[str, str]) -> str:
        """A call, given (type, operand) pairs."""
        types = ", ".join(type for type, _ in args)
        self.declarations[name] = f"declare {result} @{name}({types})"
        given = ", ".join(f"{type} {operand}" for type, operand in args)
        return f"call {result} @{name}({given})"

    # --- memory ---

    def load(self, type: str, pointer: str) -> str:
        """One vector from memory, of which nothing is known but that it is there."""
        align = size_of(type)
        memory = f"<{self.width} x {memory_type(type)}>"
        value = self.new(f"load {memory}, ptr {pointer}, align {align}")
        if type == "b1":
            return self.new(f"icmp ne {memory} {value}, zeroinitializer")
        return value

    def store(self, type: str, value: str, pointer: str) -> None:
        memory = f"<{self.width} x {memory_type(type)}>"
        if type == "b1":
            value = self.new(f"zext {self.vector('b1')} {value} to {memory}")
        self.line(f"store {memory} {value}, ptr {pointer}, align {size_of(type)}")

    def gather(self, size: int, source: str, room: str) -> None:
        """The elements that matter, of so many bytes each, into a room for all."""
        vector, given = f"<{self.width} x i{8 * size}>", self._masked(size, source)
        name = f"llvm.masked.load.v{self.width}i{8 * size}.p0"
        value = self.new(self.intrinsic(name, vector, *given, (vector, "poison")))
        self.line(f"store {vector} {value}, ptr {room}, align {size}")

    def scatter(self, size: int, room: str, target: str) -> None:
        """The elements that matter out of a room."""
        vector, given = f"<{self.width} x i{8 * size}>", self._masked(size, target)
        value = self.new(f"load {vector}, ptr {room}, align {size}")
        name = f"llvm.masked.store.v{self.width}i{8 * size}.p0"
        self.line(self.intrinsic(name, "void", (vector, value), *given))

    def _masked(self, size: int, pointer: str) -> list[tuple[str, str]]:
        mask = (self.vector("b1"), self.valid())
        return [("ptr", pointer), ("i32", str(size)), mask]

    def splat(self, type: str, scalar: str) -> str:
        one = self.new(
            f"insertelement {self.vector(type)} poison, "
            f"{llvm_type(type)} {scalar}, i32 0"
        )
        mask = f"<{self.width} x i32> zeroinitializer"
        return self.new(
            f"shufflevector {self.vector(type)} {one}, "
            f"{self.vector(type)} poison, {mask}"
        )

    # --- graphs ---

    def lower(
        self, graph: Graph, outputs: list[V], inputs: dict[str, str]
    ) -> list[str]:
        """The operands that hold the outputs. `inputs` names those of the graph."""
        wanted = [v.index for v in outputs]
        nodes = graph.contracted(wanted)
        live = [False] * len(nodes)
        for index in wanted:
            live[index] = True
        for index in reversed(range(len(nodes))):
            if live[index]:
                for a in nodes[index][2]:
                    if isinstance(a, int) and not isinstance(a, bool):
                        live[a] = True
        values = [""] * len(nodes)
        types = [node[1] for node in nodes]
        for index, (op, type, args) in enumerate(nodes):
            if not live[index]:
                continue
            if op == "input":
                values[index] = inputs[args[0][1]]
            else:
                values[index] = self._node(op, type, args, values, types)
        return [values[index] for index in wanted]

    def _node(
        self, op: str, type: str, args: Any, values: list[str], types: list[str]
    ) -> str:
        vector = self.vector(type)
        if op == "const":
            value = args[0][1]
            if is_float(type):
                value = struct.unpack("<d", value)[0]
            return f"splat ({llvm_type(type)} {literal(value, type)})"
        operands = [
            (self.vector(types[a]), values[a])
            for a in args
            if isinstance(a, int) and not isinstance(a, bool)
        ]
        if op in _PLAIN:
            return self.new(f"{op} {vector} {operands[0][1]}, {operands[1][1]}")
        if op == "keep":
            return operands[0][1]
        if op == "fneg":
            return self.new(f"fneg {vector} {operands[0][1]}")
        if op.startswith(("fcmp", "icmp")):
            kind, predicate = op.split()
            compared, a = operands[0]
            return self.new(f"{kind} {predicate} {compared} {a}, {operands[1][1]}")
        if op == "select":
            (tc, c), (_, a), (_, b) = operands
            return self.new(f"select {tc} {c}, {vector} {a}, {vector} {b}")
        if op == "fma":
            return self._fma(type, [value for _, value in operands], args[3], args[4])
        if op in _INTRINSICS:
            suffix = f".v{self.width}f{bits_of(type)}"
            name = f"llvm.{_INTRINSICS[op]}{suffix}"
            return self.new(self.intrinsic(name, vector, *operands))
        if op == "call":
            return self._call(type, args, operands, types)
        if op == "rare":
            return self._rare(type, args, operands, types)
        if op == "log512":
            return self._log512(operands[0][1])
        return self._convert(op, type, operands, types[args[0]])

    def _fma(self, type: str, abc: list[str], negate: bool, minus: bool) -> str:
        vector = self.vector(type)
        a, b, c = abc
        if negate:
            a = self.new(f"fneg {vector} {a}")
        if minus:
            c = self.new(f"fneg {vector} {c}")
        name = f"llvm.fma.v{self.width}f{bits_of(type)}"
        return self.new(
            self.intrinsic(name, vector, (vector, a), (vector, b), (vector, c))
        )

    def _convert(self, op: str, type: str, operands: Any, source: str) -> str:
        (source_vector, x), vector = operands[0], self.vector(type)
        if op == "to_half":
            halves = f"<{self.width} x half>"
            x = self.new(f"fptrunc {source_vector} {x} to {halves}")
            return self.new(f"bitcast {halves} {x} to {vector}")
        if op == "from_half":
            halves = f"<{self.width} x half>"
            x = self.new(f"bitcast {source_vector} {x} to {halves}")
            return self.new(f"fpext {halves} {x} to {vector}")
        if op == "bitcast" and source_vector == vector:
            return x
        if op == "saturate":  # a number to an integer, as C++ would with limits
            suffix = f".v{self.width}i{bits_of(type)}.v{self.width}f64"
            kind = "si" if is_signed(type) else "ui"
            name = f"llvm.fpto{kind}.sat{suffix}"
            return self.new(self.intrinsic(name, vector, (source_vector, x)))
        return self.new(f"{op} {source_vector} {x} to {vector}")

    # --- eager kernels ---

    def _call(self, type: str, args: Any, operands: Any, types: list[str]) -> str:
        """An eager kernel computes the vector, by way of memory."""
        function, params = args[-2][1], args[-1][1]
        rooms = []
        inner = [a for a in args if isinstance(a, int)]
        for place, (a, (_, value)) in enumerate(zip(inner, operands, strict=True)):
            room = self.buffer(types[a], ("argument", place))
            self.store(types[a], value, room)
            rooms.append(room)
        out = self.buffer(type, "result")
        given = ", ".join(f"ptr {room}" for room in [*rooms, out])
        self.line(f"call void {function}({given}, i64 {self.count}, ptr {params})")
        return self.load(type, out)

    def _rare(self, type: str, args: Any, operands: Any, types: list[str]) -> str:
        """(value, condition, arguments of a call ...): the call's result for the whole
        vector where the condition holds for one of its elements that matter."""
        (_, value), (_, condition) = operands[:2]
        valid = self.valid()
        mask = self.vector("b1")
        condition = self.new(f"and {mask} {condition}, {valid}")
        name = f"llvm.vector.reduce.or.v{self.width}i1"
        any_ = self.new(self.intrinsic(name, "i1", (mask, condition)))
        rare, done = self.new_label("rare"), self.new_label("common")
        before = self.label
        self.line(f"br i1 {any_}, label %{rare}, label %{done}, !prof !0")
        self.block(rare)
        slow = self._call(type, args[2:], operands[2:], types)
        self.line(f"br label %{done}")
        after = self.label
        self.block(done)
        vector = self.vector(type)
        return self.new(f"phi {vector} [ {value}, %{before} ], [ {slow}, %{after} ]")

    def valid(self) -> str:
        """Which elements of a vector matter, as a mask."""
        steps = ", ".join(f"i32 {i}" for i in range(self.width))
        vector = f"<{self.width} x i32>"
        count = self.new(f"trunc i64 {self.count} to i32")
        one = self.new(f"insertelement {vector} poison, i32 {count}, i32 0")
        counts = self.new(
            f"shufflevector {vector} {one}, {vector} poison, {vector} zeroinitializer"
        )
        return self.new(f"icmp slt {vector} <{steps}>, {counts}")

    # --- the logarithm of floats at level avx512 (core/cpu/kernels/log.h) ---

    def _log512(self, x: str) -> str:
        pieces = []
        for at in range(0, self.width, 16):
            lanes = ", ".join(f"i32 {at + i}" for i in range(16))
            pieces.append(self._log16(self._shuffle(self.width, x, x, lanes, 16)))
        size = 16
        while len(pieces) > 1:
            lanes = ", ".join(f"i32 {i}" for i in range(2 * size))
            pieces = [
                self._shuffle(size, a, b, lanes, 2 * size)
                for a, b in zip(pieces[::2], pieces[1::2], strict=True)
            ]
            size *= 2
        return pieces[0]

    def _shuffle(self, size: int, a: str, b: str, lanes: str, result: int) -> str:
        return self.new(
            f"shufflevector <{size} x float> {a}, <{size} x float> {b}, "
            f"<{result} x i32> <{lanes}>"
        )

    def _log16(self, x: str) -> str:
        f, i = "<16 x float>", "<16 x i32>"
        names = [f"llvm.x86.avx512.mask.{op}.ps.512" for op in ("getmant", "getexp")]

        def mantissa(x: str) -> str:
            given = ((f, x), ("i32", "3"), (f, x), ("i16", "-1"), ("i32", "4"))
            # _MM_MANT_NORM_p75_1p5, _MM_MANT_SIGN_src
            return self.new(self.intrinsic(names[0], f, *given))

        def exponent(x: str) -> str:
            given = ((f, x), (f, x), ("i16", "-1"), ("i32", "4"))
            return self.new(self.intrinsic(names[1], f, *given))

        def fma(a: str, b: str, c: str) -> str:
            return self.new(
                self.intrinsic("llvm.fma.v16f32", f, (f, a), (f, b), (f, c))
            )

        def number(value: float) -> str:
            value = struct.unpack("<f", struct.pack("<f", value))[0]
            return f"splat (float {literal(value, 'f32')})"

        def chosen(table: tuple[str, ...], at: str) -> str:
            values = ", ".join(
                f"float {literal(float.fromhex(v), 'f32')}" for v in table
            )
            name = "llvm.x86.avx512.permvar.sf.512"
            return self.new(self.intrinsic(name, f, (f, f"<{values}>"), (i, at)))

        m = mantissa(x)
        k = self.new(f"fsub {f} {exponent(x)}, {exponent(m)}")
        bits = self.new(f"bitcast {f} {m} to {i}")
        at = self.new(f"lshr {i} {bits}, splat (i32 19)")
        r = fma(m, chosen(_INVERSE, at), number(-1.0))
        p = fma(number(0.18837492), r, number(-0.25005612))
        p = fma(p, r, number(0.33334461))
        p = fma(p, r, number(-0.5))
        square = self.new(f"fmul {f} {r}, {r}")
        p = fma(p, square, r)
        high = fma(k, number(0.693147181), chosen(_MINUS_LOG_INVERSE, at))
        y = self.new(f"fadd {f} {high}, {p}")
        given = [(f, y), (f, x), (i, f"splat (i32 {0x03530422})")]
        given += [("i32", "0"), ("i16", "-1"), ("i32", "4")]
        return self.new(
            self.intrinsic("llvm.x86.avx512.mask.fixupimm.ps.512", f, *given)
        )


# kInverse and kMinusLogInverse of core/cpu/kernels/log.h.
_INVERSE = tuple(
    "1 0x1.d43636p-1 0x1.badefep-1 0x1.a42db0p-1 0x1.8f9708p-1 0x1.7cf1b6p-1 "
    "0x1.6c1380p-1 0x1.5caeb8p-1 0x1.4e77aep+0 0x1.41525ap+0 0x1.352496p+0 "
    "0x1.29e368p+0 0x1.1f81eep+0 0x1.1599e2p+0 0x1.0cadccp+0 1".split()
)
_MINUS_LOG_INVERSE = tuple(
    "0 0x1.6e32d6p-4 0x1.290ddap-3 0x1.94c6f2p-3 0x1.fbab7ep-3 0x1.2ec494p-2 "
    "0x1.5d2504p-2 0x1.8961fep-2 -0x1.11c76ap-2 -0x1.d1707ap-3 -0x1.824e78p-3 "
    "-0x1.365b36p-3 -0x1.db6deep-4 -0x1.4bceccp-4 -0x1.8bff52p-5 0".split()
)
