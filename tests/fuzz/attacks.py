"""Files made to do harm: each claims or nests something that no honest file does.

`attacks()` gives them by name, with the function that loads them. Loading one must end
soon, within little memory, in an exception that is not of running out of either; a few
are harmless and may load.
"""

import io
import itertools
import json
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterator

import ember
from ember.legacy import t7
from ember.utils import safetensors

HUGE = (1 << 31, (1 << 40) + 1, 1 << 62, (1 << 63) - 1, 1 << 63, 1 << 200)

# --- pickles, in terms of their opcodes -----------------------------------------------


def text(value: str) -> bytes:
    data = value.encode()
    return pickle.BINUNICODE + struct.pack("<I", len(data)) + data


def number(value: int) -> bytes:
    data = pickle.encode_long(value)
    return pickle.LONG4 + struct.pack("<i", len(data)) + data


def name(module: str, attribute: str) -> bytes:
    return pickle.GLOBAL + f"{module}\n{attribute}\n".encode()


def values(*items: bytes) -> bytes:
    return pickle.MARK + b"".join(items) + pickle.TUPLE


def listed(*items: bytes) -> bytes:
    return pickle.EMPTY_LIST + pickle.MARK + b"".join(items) + pickle.APPENDS


def call(function: bytes, *args: bytes) -> bytes:
    return function + values(*args) + pickle.REDUCE


def put(i: int) -> bytes:
    return pickle.LONG_BINPUT + struct.pack("<I", i)


def get(i: int) -> bytes:
    return pickle.LONG_BINGET + struct.pack("<I", i)


def numbers(*items: int) -> bytes:
    return values(*map(number, items))


def storage(key=None, location=None, count=None, kind: bytes | None = None) -> bytes:
    """A persistent id; the archives below have one record, "0", of 16 bytes."""
    parts = (
        text("storage"),
        name("torch", "FloatStorage") if kind is None else kind,
        text("0") if key is None else key,
        text("cpu") if location is None else location,
        number(4) if count is None else count,
    )
    return values(*parts) + pickle.BINPERSID


def tensor(size: bytes, stride: bytes, offset: bytes | None = None) -> bytes:
    rebuild = name("torch._utils", "_rebuild_tensor_v2")
    hooks = call(name("collections", "OrderedDict"))
    start = number(0) if offset is None else offset
    return call(rebuild, storage(), start, size, stride, pickle.NEWFALSE, hooks)


ENDLESS = tensor(numbers(1 << 58), numbers(0))  # one element, as often as one likes
DOUBLING = number(1) + put(0)  # a value of 2**60 parts, in a few hundred bytes
for _i in range(60):
    DOUBLING += pickle.POP + listed(get(_i), get(_i)) + put(_i + 1)
DOUBLING_TUPLE = DOUBLING.replace(b"](", b"(").replace(
    b"e" + put(1)[:1], b"t" + put(1)[:1]
)


def doubling_sets(start: int) -> bytes:
    """Frozensets in pairs in frozensets; two of them take forever to compare."""
    frozen = name("builtins", "frozenset")
    made = call(frozen, listed(number(1))) + put(start)
    for i in range(start, start + 50):
        pairs = (values(get(i), number(j)) for j in (1, 2))
        made += pickle.POP + call(frozen, listed(*pairs)) + put(i + 1)
    return made


def pickles() -> Iterator[tuple[str, bytes]]:
    """Bodies of pickles by name, without the frame that all have."""
    for key in ("key", "location"):
        yield f"an endless {key} of a storage", storage(**{key: DOUBLING})
        yield f"a tensor as {key} of a storage", storage(**{key: ENDLESS})
    for n in (*HUGE, -1):
        yield f"a tensor of size {n}", tensor(numbers(n), numbers(1))
        yield f"a tensor of stride {n}", tensor(numbers(2, 2), numbers(n, 1))
        yield f"a tensor at {n}", tensor(numbers(2), numbers(1), number(n))
        yield f"sizes whose product is over, {n}", tensor(numbers(n, n), numbers(0, 0))
        yield (
            f"a device of number {n}",
            call(name("torch", "device"), text("cpu"), number(n)),
        )
        part = values(text("x"), number(n), number(n))
        whole = storage()[:-2] + part + pickle.TUPLE + pickle.BINPERSID
        yield f"a part of a storage at {n}", whole
    yield "65 dimensions", tensor(numbers(*[1] * 65), numbers(*[1] * 65))
    yield "strides for other sizes", tensor(numbers(2, 2), numbers(1))
    for what, given in (("tensor", ENDLESS), ("list", DOUBLING), ("text", text("12"))):
        yield f"a size that is a {what}", tensor(given, numbers(1))
        yield f"a stride that is a {what}", tensor(numbers(1), given)
        yield f"an offset that is a {what}", tensor(numbers(1), numbers(1), given)
        yield f"arguments that are a {what}", name("builtins", "set") + given + b"R"
        yield (
            f"new arguments that are a {what}",
            name("builtins", "set") + given + b"\x81",
        )
        yield (
            f"a layout that is a {what}",
            call(name("torch.serialization", "_get_layout"), given),
        )
        yield f"bytes of a {what}", call(name("_codecs", "encode"), text("a"), given)
        yield f"an id that is a {what}", given + pickle.BINPERSID
        yield f"an id with a {what}", values(given) + pickle.BINPERSID
        yield f"state that is a {what}", tensor(numbers(1), numbers(1)) + given + b"b"
        for kind in ("Parameter", "parameter_with_state", "tensor_v3", "sparse_tensor"):
            args = (given, pickle.NEWTRUE, given, given, given, given, given)
            short = {"Parameter": 3, "parameter_with_state": 4, "sparse_tensor": 2}
            rebuild = name("torch._utils", f"_rebuild_{kind.lower()}")
            yield f"{kind} of a {what}", call(rebuild, *args[: short.get(kind, 7)])
        for module, kind in (
            ("builtins", "set"),
            ("builtins", "frozenset"),
            ("builtins", "bytearray"),
            ("builtins", "complex"),
            ("collections", "OrderedDict"),
            ("collections", "Counter"),
            ("torch", "Size"),
            ("torch", "device"),
        ):
            if (what, kind) in (
                ("text", "set"),
                ("text", "frozenset"),
                ("text", "Counter"),
            ):
                continue  # sound: of the letters
            if (what, kind) == ("list", "OrderedDict") or (what, kind) == (
                "text",
                "complex",
            ):
                continue
            yield f"a {kind} of a {what}", call(name(module, kind), given)
            yield (
                f"a new {kind} of a {what}",
                name(module, kind) + values(given) + b"\x81..",
            )
    for kind in ("dtype", "Size", "storage", "device", "list", "set"):
        made = {
            "dtype": name("torch", "float32"),
            "Size": call(name("torch", "Size"), numbers(1, 2)),
            "storage": storage(),
            "device": call(name("torch", "device"), text("cpu")),
            "list": pickle.EMPTY_LIST,
            "set": pickle.EMPTY_SET,
        }[kind]
        state = pickle.EMPTY_DICT + text("a") + number(1) + pickle.SETITEM
        yield f"state of a {kind}", made + state + pickle.BUILD
        yield f"an item of a {kind}", made + number(0) + number(0) + pickle.SETITEM
        yield f"items of a {kind}", made + b"(" + number(0) + number(0) + b"u"
        if kind != "list":
            yield f"a {kind} appended to", made + number(1) + pickle.APPEND
            yield f"a {kind} extended", made + b"(" + number(1) + b"e"
        if kind != "set":
            yield f"a {kind} added to", made + b"(" + number(1) + pickle.ADDITEMS
        yield f"a {kind} called", made + values() + pickle.REDUCE
        yield f"a {kind} made anew", made + values() + pickle.NEWOBJ
    made = tensor(numbers(1), numbers(1))
    yield "an item of a tensor", made + number(0) + number(0) + pickle.SETITEM
    yield "a number as an attribute", made + b"}" + number(0) + number(0) + b"sb"
    # keys
    flat = pickle.EMPTY_DICT
    yield "a key without end", flat + DOUBLING_TUPLE + number(1) + b"s"
    yield "keys without end", pickle.EMPTY_SET + b"(" + DOUBLING_TUPLE + pickle.ADDITEMS
    yield "a frozenset without end", b"(" + DOUBLING_TUPLE + pickle.FROZENSET
    yield "a dictionary without end", b"(" + DOUBLING_TUPLE + number(1) + pickle.DICT
    sets = doubling_sets(0) + b"0" + doubling_sets(100) + b"0"
    both = get(50) + number(1) + get(150) + number(1)
    yield "nested frozensets as keys", sets + flat + b"(" + both + pickle.SETITEMS
    pair = listed(get(50), get(150))
    yield "nested frozensets in a set", sets + call(name("builtins", "set"), pair)
    yield "nested frozensets counted", sets + call(name("collections", "Counter"), pair)
    deep = pickle.EMPTY_TUPLE + pickle.TUPLE1 * 200_000
    yield "a deep key", flat + deep + number(1) + b"s"
    yield "a deep element", call(name("builtins", "frozenset"), listed(deep))
    long = number(1 << 8_000_000) + put(0) + b"0"
    yield "a long number as many keys", long + b"(" + (get(0) + b"N") * 30_000 + b"d"
    # lengths
    for code, form in (
        ("LONG4", "<i"),
        ("BINUNICODE", "<I"),
        ("BINSTRING", "<i"),
        ("BINBYTES", "<I"),
        ("BINUNICODE8", "<Q"),
        ("BINBYTES8", "<Q"),
        ("BYTEARRAY8", "<Q"),
        ("FRAME", "<Q"),
    ):
        for n in (1 << 30, (1 << 31) - 1, (1 << 32) - 1, 1 << 62, (1 << 64) - 1, -1):
            try:
                length = struct.pack(form, n)
            except struct.error:
                continue
            yield f"{code} of {n}", getattr(pickle, code) + length + b"abc"
    yield "a memo index of 19 digits", b"Np" + b"9" * 19 + b"\ng" + b"8" * 19 + b"\n"
    yield "a memo index of 9,000 digits", b"Np" + b"9" * 9000 + b"\n"
    yield "a number of a million digits", b"I" + b"9" * 1_000_000 + b"\n"
    yield "a memo that is not there", pickle.LONG_BINGET + b"\xff" * 4
    # calls by other ways
    yield "INST", b"(ios\nsystem\n"
    yield "OBJ", b"(" + name("builtins", "set") + b"o"
    yield "NEWOBJ_EX", name("builtins", "set") + b")}\x92"
    yield "EXT1", b"\x82\x01"
    yield "EXT4", b"\x84\xff\xff\xff\x7f"
    yield "PERSID", b"P0\n"
    yield "NEXT_BUFFER", b"\x97\x98"
    yield "a name of names", text("os") + text("system") + b"\x93"
    yield "a dotted name", name("collections", "OrderedDict.fromkeys")
    yield "a name after POP", text("os") + text("system") + text("x") + b"0\x93"
    yield (
        "a name from the memo",
        text("system") + put(3) + b"0" + text("os") + get(3) + b"\x93",
    )
    yield "a name that is no text", number(1) + number(2) + b"\x93"


# Harmless, though odd: they take what they say they do.
HARMLESS = {
    "Parameter of a tensor",
    "a bytearray of a text",
    "a new OrderedDict of a text",
}


def archive(body: bytes, *records: tuple[str, bytes]) -> bytes:
    """A zip checkpoint with that pickle and one storage."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr("archive/data.pkl", pickle.PROTO + b"\2" + body + pickle.STOP)
        z.writestr("archive/version", b"3\n")
        for record, data in records or [("0", b"\0" * 16)]:
            z.writestr(f"archive/data/{record}", data)
    return out.getvalue()


# --- containers -----------------------------------------------------------------------


def archives() -> Iterator[tuple[str, bytes]]:
    sound = archive(tensor(numbers(4), numbers(1)))
    entry = sound.index(b"PK\1\2")
    end = sound.index(b"PK\5\6")
    last = sound.rindex(b"PK\1\2")
    for n in (0, 1, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF):
        word = struct.pack("<I", n)
        for what, at in (("packed", 20), ("size", 24), ("place", 42)):
            for which, start in (("first", entry), ("last", last)):
                changed = sound[: start + at] + word + sound[start + at + 4 :]
                yield f"{what} {n} of the {which} record", changed
        both = sound[: last + 20] + word * 2 + sound[last + 28 :]
        yield f"both sizes {n}", both
        for what, at in (("size", 12), ("place", 16)):
            changed = sound[: end + at] + word + sound[end + at + 4 :]
            yield f"{what} {n} of the directory", changed
    for n in (0, 1, 0xFFFF):
        count = struct.pack("<H", n) * 2
        yield f"{n} entries", sound[: end + 8] + count + sound[end + 12 :]
    for n in (0, 1, 1 << 40, (1 << 64) - 1):
        numbers64 = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, n, n, n, n)
        place = struct.pack("<4sIQI", b"PK\6\7", 0, end, 1)
        yield f"64-bit numbers {n}", sound[:end] + numbers64 + place + sound[end:]
        place = struct.pack("<4sIQI", b"PK\6\7", 0, n, 1)
        yield f"64-bit place {n}", sound[:end] + numbers64 + place + sound[end:]
    for packed in (b"\0" * (1 << 28), b"\0" * (1 << 24)):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr("archive/data.pkl", b"\x80\2" + storage() + b".")
            z.writestr("archive/data/0", packed)
        bomb = out.getvalue()
        yield f"a bomb of {len(packed)}", bomb
        at = bomb.rindex(b"PK\1\2") + 24
        bomb = bomb[:at] + struct.pack("<I", 16) + bomb[at + 4 :]
        yield f"a hidden bomb of {len(packed)}", bomb
    cases = ["".join(c) for c in itertools.product(*[("a", "A")] * 14)]
    ids = (storage(text(key), count=number(250_000)) for key in cases)
    yield (
        "many names of one record",
        archive(listed(*ids), ("a" * 14, b"\0" * 1_000_000)),
    )


MAYBE = (
    "of the first",
    "of the directory",
    "entries",
    "64-bit",
    "many names",
    "packed 0",
)


def tar(*members: tuple[str, bytes, bytes, int]) -> bytes:
    """An archive of (name, type, content, claimed size)."""
    out = b""
    for title, kind, content, size in members:
        field = b"%011o\0" % size if 0 <= size < 8**11 else b""
        if not field:
            field = b"\x80" + (size & ((1 << 88) - 1)).to_bytes(11, "big")
        head = title.encode().ljust(100, b"\0") + b"0000644\0" + b"0000000\0" * 2
        head += field + b"00000000000\0" + b" " * 8 + kind + b"x".ljust(100, b"\0")
        head = (head + b"ustar\x0000").ljust(512, b"\0")
        if kind == b"S":  # one piece, at the end of the claimed size
            piece = b"%011o\0" % 0 * 2 + b"\0" * 73 + field
            head = head[:386] + piece.ljust(126, b"\0")[:126]
        total = b"%06o\0 " % sum(head)
        out += head[:148] + total + head[156:] + content + b"\0" * (-len(content) % 512)
    return out + b"\0" * 1024


def tars() -> Iterator[tuple[str, bytes]]:
    names = ("storages", "tensors", "pickle")
    for n in (1 << 30, 1 << 33, 1 << 40, 1 << 70, -1):
        for kind in (b"0", b"S", b"x", b"L", b"1"):
            members = [(each, kind, b"\x80\2K\0.", n) for each in names]
            yield f"a tar of size {n}, type {kind!r}", tar(*members)
    for kind in (b"1", b"2", b"3", b"6", b"g", b"K"):
        yield f"a tar of type {kind!r}", tar(*[(n, kind, b"", 0) for n in names])
    yield "a chain of headers", tar(*[("x", b"x", b"", 0)] * 20_000)
    zero, body = pickle.dumps(0, 2), b"\x80\2" + number(1 << 40) + b"."
    listing = [("tensors", b"0", zero, len(zero)), ("pickle", b"0", zero, len(zero))]
    yield "a tar of many storages", tar(("storages", b"0", body, len(body)), *listing)
    for count in (1 << 40, (1 << 63) - 1, -1):
        body = b"\x80\2K\1.\x80\2" + values(
            text("k"), text("cpu"), name("torch", "FloatStorage")
        )
        body += b"." + struct.pack("<q", count) + b"\0" * 16 + b"\x80\2]."
        member = ("storages", b"0", body, len(body))
        yield f"a tar with a storage of {count}", tar(member, *listing)


def rows() -> Iterator[tuple[str, bytes]]:
    """The format of versions 0.2 to 1.5."""
    head = b"".join(pickle.dumps(p, 2) for p in (0x1950A86A20F9469CFC6C, 1001, {}))
    for n in (*HUGE, -1):
        body = b"\x80\2" + storage(count=number(n)) + b"."
        rest = (
            pickle.dumps(["0"], 2) + struct.pack("<q", n & ((1 << 63) - 1)) + b"\0" * 16
        )
        yield f"a row with {n} elements", head + body + rest
    frame = b"\x80\2" + DOUBLING + b"."
    yield "a row with an endless magic number", frame
    yield "a row with an endless version", head[:15] + frame
    yield "a row with endless keys", head + pickle.dumps(0, 2) + frame
    yield "a row with an endless key", head + b"\x80\2" + storage(DOUBLING) + b"."
    twice = pickle.dumps(["0"] * 3, 2) + struct.pack("<q", 4) + b"\0" * 16
    yield "a row with a key thrice", head + b"\x80\2" + storage() + b"." + twice


def torch7() -> Iterator[tuple[str, bytes]]:
    def tensor7(dims: int, *longs: int, count: int = 1) -> bytes:
        made = struct.pack("<iii", 4, 1, 3) + b"V 1" + struct.pack("<i", 17)
        made += b"torch.FloatTensor" + struct.pack("<i", dims)
        made += struct.pack(f"<{len(longs)}q", *longs)
        made += struct.pack("<iii", 4, 2, 3) + b"V 1" + struct.pack("<i", 18)
        return made + b"torch.FloatStorage" + struct.pack("<q", count) + b"\0" * 4

    for n in ((1 << 31), 1 << 40, 1 << 62, (1 << 63) - 1, -1):
        yield f"t7: size {n}", tensor7(1, n, 1, 1)
        yield f"t7: sizes {n}", tensor7(2, n, n, 0, 0, 1)
        yield f"t7: stride {n}", tensor7(1, 2, n, 1)
        yield f"t7: offset {n}", tensor7(1, 1, 1, n)
        yield f"t7: storage {n}", tensor7(1, 1, 1, 1, count=n)
    for dims in (65, (1 << 31) - 1, -1):
        yield f"t7: {dims} dimensions", tensor7(dims, *[1] * 40)
    for n in ((1 << 31) - 1, -1):
        yield f"t7: text of {n}", struct.pack("<ii", 2, n) + b"abc"
        yield f"t7: table of {n}", struct.pack("<iii", 3, 1, n if n > 0 else 1)
    deep = b"".join(struct.pack("<iii", 3, i, 1) for i in range(1, 50_000))
    yield "t7: a deep table", deep


def safe() -> Iterator[tuple[str, bytes]]:
    def header(entries: object, data: bytes = b"\0" * 16) -> bytes:
        line = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
        return struct.pack("<Q", len(line)) + line + data

    def one(shape: object, offsets: object) -> dict:
        return {"a": {"dtype": "F32", "shape": shape, "data_offsets": offsets}}

    for n in (17, 1 << 31, 1 << 40, (1 << 64) - 1):
        yield f"safetensors: header of {n}", struct.pack("<Q", n) + b"{}"
    for n in (5, *HUGE, -1, -4, 1e300, "4", None, [4]):
        yield f"safetensors: size {n}", header(one([n], [0, 16]))
        yield f"safetensors: sizes {n}", header(one([n, n, n, 0], [0, 0]), b"x")
        yield f"safetensors: begin {n}", header(one([4], [n, 16]))
        yield f"safetensors: end {n}", header(one([4], [0, n]))
        yield f"safetensors: both {n}", header(one([0], [n, n]))
    twin = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
    yield "safetensors: overlap", header({"a": twin, "b": twin})
    line = json.dumps(twin).encode()
    yield "safetensors: twins", header(b'{"a":' + line + b',"a":' + line + b"}")
    yield "safetensors: deep", header(b'{"a":' * 100_000)
    yield "safetensors: deeper", header(b'{"a":' + b"[" * 100_000)
    yield "safetensors: long number", header(b'{"a":' + b"9" * 100_000 + b"}")


def load(data: bytes) -> object:
    return ember.load(io.BytesIO(data))


def attacks() -> Iterator[tuple[str, bytes, Callable, bool]]:
    """Name, file, how it is loaded, and whether it has to be refused."""
    for title, body in pickles():
        yield title, archive(body), load, title not in HARMLESS
    for title, data in archives():
        yield title, data, load, not any(part in title for part in MAYBE)
    for title, data in itertools.chain(tars(), rows()):
        yield title, data, load, True
    for title, data in torch7():
        yield title, data, lambda d: t7.load(io.BytesIO(d)), True
    for title, data in safe():
        yield title, data, safetensors.load, True
