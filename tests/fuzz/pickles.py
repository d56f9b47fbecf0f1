"""Random pickles of allowed and other names, called and changed in any way.

Unlike damaged ones they mostly run to their end, so what is behind the names is
reached with arguments that no honest file has. `check_names` compares what
`get_unsafe_globals_in_checkpoint` finds in one with what Python's unpickler asks for.
"""

import io
import pickle
import random

import ember
from ember.serialization._archive import ArchiveReader
from ember.serialization._names import known_names
from tests.fuzz import attacks
from tests.fuzz.attacks import call, get, listed, name, number, numbers, put, text

KNOWN = sorted(known_names())
OTHERS = [("os", "system"), ("builtins", "eval"), ("torch.nn.modules.linear", "Linear")]
TEXTS = ["cpu", "0", "1", "meta", "storage", "torch", "os", "system", "float32", "a"]
INTEGERS = [0, 1, 2, 3, 4, -1, 64, 255, 1 << 31, 1 << 40, (1 << 63) - 1, 1 << 64]


def value(draw: random.Random, depth: int = 0) -> bytes:
    """Opcodes that push one value."""
    kind = draw.randrange(14 if depth < 4 else 6)
    if kind == 0:
        return draw.choice([b"N", b"\x88", b"\x89", b"]", b"}", b")", b"\x8f"])
    if kind in (1, 2):
        return number(draw.choice(INTEGERS))
    if kind == 3:
        return text(draw.choice(TEXTS))
    if kind == 4:
        return name(*draw.choice(KNOWN if draw.random() < 0.97 else OTHERS))
    if kind == 5:
        return get(draw.randrange(6))

    def some(most: int = 4) -> list[bytes]:
        return [value(draw, depth + 1) for _ in range(draw.randrange(most + 1))]

    if kind == 6:
        return attacks.values(*some())
    if kind == 7:
        return listed(*some())
    if kind == 8:
        size = [draw.choice([0, 1, 2, 3, 4, 1 << 40]) for _ in range(draw.randrange(3))]
        stride = [draw.choice([0, 0, 1, 2]) for _ in size]
        return attacks.tensor(numbers(*size), numbers(*stride))
    if kind == 9:
        return attacks.storage()
    if kind == 10:
        return value(draw, depth + 1) + put(draw.randrange(6))
    if kind == 11:
        parts = [value(draw, depth + 1) for _ in range(2 * draw.randrange(3))]
        return b"}(" + b"".join(parts) + pickle.SETITEMS
    return call(name(*draw.choice(KNOWN)), *some(7))


def change(draw: random.Random) -> bytes:
    """Opcodes that change what is on the stack, or take names from it."""
    kind = draw.randrange(9)
    if kind == 0:
        return value(draw) + pickle.BUILD
    if kind == 1:
        return value(draw) + pickle.APPEND
    if kind == 2:
        return value(draw) + value(draw) + pickle.SETITEM
    if kind == 3:
        return b"(" + value(draw) + value(draw) + draw.choice([b"e", b"u", b"\x90"])
    if kind == 4:
        return value(draw) + draw.choice([pickle.REDUCE, pickle.NEWOBJ])
    if kind == 5:
        pair = text(draw.choice(TEXTS)) + text(draw.choice(TEXTS))
        between = draw.choice([b"", b"N0", b"\x94", b"20", text("x") + b"0"])
        return b"0" + pair + between + pickle.STACK_GLOBAL
    if kind == 6:
        return draw.choice([b"2", b"0N", b"\x85", b"2\x86", b"\x94", pickle.BINPERSID])
    if kind == 7:
        return draw.choice([b"(ios\nsystem\n", b"\x82\1", b")}\x92", b"(]o", b"P0\n"])
    return value(draw)


def body(draw: random.Random) -> bytes:
    """A whole pickle without its frame."""
    memo = b"".join(value(draw, 4) + put(i) + b"0" for i in range(6))
    made = memo + value(draw)
    for _ in range(draw.randrange(5)):
        made += value(draw) if draw.random() < 0.3 else change(draw)
    return made


class _Stub:
    """What any name stands for while names are noted."""

    def __new__(cls, *args, **options):
        return super().__new__(cls)

    def __init__(self, *args, **options) -> None: ...

    def __call__(self, *args):
        return _Stub()

    def __setstate__(self, state) -> None: ...

    def __setitem__(self, key, value) -> None: ...

    def append(self, value) -> None: ...

    def extend(self, values) -> None: ...

    def add(self, value) -> None: ...


class _Noting(pickle._Unpickler):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))
        self.names: set[str] = set()

    def find_class(self, module, attribute):
        self.names.add(f"{module}.{attribute}")
        return _Stub

    def persistent_load(self, pid):
        return _Stub()


def check_names(data: bytes) -> str:
    """Whether nothing that the pickle would look up stays unmentioned."""
    inner = ArchiveReader(io.BytesIO(data)).read("data.pkl")
    noting = _Noting(inner)
    try:
        noting.load()
    except Exception:
        pass  # up to there it has looked up what it has
    try:
        unsafe = ember.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
    except (pickle.UnpicklingError, RuntimeError):
        return "not followed"
    known = {f"{module}.{attribute}" for module, attribute in KNOWN}
    missed = noting.names - known - set(unsafe)
    assert not missed, f"not mentioned: {missed}"
    return "unsafe" if unsafe else "safe"
