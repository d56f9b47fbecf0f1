"""Reading what `_pickle` or PyTorch wrote: everything, or only what cannot do harm."""

import pickle
import pickletools
import struct
import sys
from collections import OrderedDict
from typing import Any

import ember
from ember import _storage_io as io
from ember._pickle_names import known_names, only_a_name

_MOST_IN_TUPLES = 1_000_000  # elements of a tuple and of all tuples in it
_DEEPEST_TUPLE = 200


class _Names:
    """What the names and persistent ids in a checkpoint stand for."""

    known: dict = {}

    def __init__(self, file, storage, safe: dict | None, made=None, **options) -> None:
        super().__init__(file, **options)
        self.storage, self.safe, self.made = storage, safe or {}, made
        if not _Names.known:
            _Names.known = known_names()

    def persistent_load(self, pid):
        """The storage, or class, or (in the oldest files) tensor with this id."""
        if self.made is not None and not isinstance(pid, tuple):
            return self.made[str(pid)]
        kind = pid[0] if isinstance(pid, tuple) and pid else None
        if kind == "module" and len(pid) == 4:  # a class, with its source code
            return pid[1]
        if kind != "storage" or len(pid) not in (5, 6):
            raise pickle.UnpicklingError(f"load(): unknown persistent id {pid!r:.80}")
        _, dtype, key, location, count, *view = pid
        if (
            not (dtype is None or isinstance(dtype, ember.dtype))
            or type(count) is not int
        ):
            raise pickle.UnpicklingError("load(): a storage of an unknown kind")
        storage = self.storage(str(key), str(location), dtype, count)
        if view and view[0] is not None:
            _, start, length = view[0]
            width = 1 if dtype is None else dtype.itemsize
            storage = io.part_of(storage, start * width, length * width)
        return io.typed(storage, dtype)


class Unpickler(_Names, pickle.Unpickler):
    """Imports whatever the pickle names, from ember where that is torch."""

    def find_class(self, module: str, name: str):
        if module == "torch" or module.startswith("torch."):
            found = self.known.get((module, name), only_a_name)
            if found is not only_a_name:
                return found
            module = "ember" + module.removeprefix("torch")
        return super().find_class(module, name)


def _then_checked(load):
    def load_and_check(self) -> None:
        load(self)
        self._check_tuple()

    return load_and_check


class SafeUnpickler(_Names, pickle._Unpickler):
    """Knows `_pickle_names` and `safe` (objects by dotted name), refuses all others.

    It is the unpickler written in Python because that can refuse opcodes too, and
    because a hostile memo index makes the one in C allocate without bound.
    """

    dispatch = pickle._Unpickler.dispatch.copy()

    def find_class(self, module: str, name: str):
        if (module, name) in self.known:
            return self.known[module, name]
        for dotted in _dotted(module, name):
            if dotted in self.safe:
                return self.safe[dotted]
        raise pickle.UnpicklingError(
            f"Weights only load failed: {module}.{name} is not an allowed global. "
            "If the file comes from a source you trust, allow it with "
            "`ember.serialization.add_safe_globals([...])`, or load everything, "
            "running any code in the file, with `weights_only=False`."
        )

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        self._weights: dict[int, tuple[int, int]] = {}
        self._tuples: list[tuple] = []

    def load_build(self) -> None:
        """Set an object's state: only of kinds that have one by right."""
        state, target = self.stack[-1], self.stack[-2]
        if isinstance(target, tuple(filter(_is_type, self.safe.values()))):
            return super().load_build()
        if not isinstance(target, (OrderedDict, ember.Tensor)):
            raise pickle.UnpicklingError(
                f"Weights only load failed: state given to a {type(target).__name__}"
            )
        if not isinstance(state, dict):
            raise pickle.UnpicklingError(
                "Weights only load failed: a state that is not a dictionary"
            )
        self.stack.pop()
        target.__dict__.update(state)

    def load_bytearray8(self) -> None:
        """A bytearray; its size is believed only if the bytes are there."""
        (size,) = struct.unpack("<Q", self.read(8))
        data = self.read(min(size, sys.maxsize))
        if len(data) != size:
            raise pickle.UnpicklingError("pickle data was truncated")
        self.append(bytearray(data))

    def _check_tuple(self) -> None:
        # To hash a tuple is to hash all that is in it, however often and deep it is
        # in there; Python does so without looking at the time or at its stack.
        made = self.stack[-1]
        inner = [self._weights.get(id(v), (1, 0)) for v in made if type(v) is tuple]
        weight = len(made) + sum(w for w, _ in inner)
        depth = 1 + max((d for _, d in inner), default=0)
        if weight > _MOST_IN_TUPLES or depth > _DEEPEST_TUPLE:
            raise pickle.UnpicklingError("Weights only load failed: tuples in tuples")
        self._weights[id(made)] = (weight, depth)
        self._tuples.append(made)  # so that its id stays its own

    dispatch[pickle.BUILD[0]] = load_build
    dispatch[pickle.BYTEARRAY8[0]] = load_bytearray8
    for _code in (pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3):
        dispatch[_code[0]] = _then_checked(dispatch[_code[0]])


def _is_type(obj) -> bool:
    return isinstance(obj, type)


def names_in(data: bytes) -> set[tuple[str, str]]:
    """Modules and names that a pickle refers to, found without running it."""
    found: set[tuple[str, str]] = set()
    texts: list = []  # that were pushed, most recent last
    memo: dict[int, object] = {}
    arg: Any
    for code, arg, _ in pickletools.genops(data):
        if code.name == "GLOBAL":
            module, _, name = arg.partition(" ")
            found.add((module, name))
        elif code.name == "STACK_GLOBAL":
            if len(texts) >= 2:
                found.add((str(texts[-2]), str(texts[-1])))
        elif code.name == "MEMOIZE" or code.name.endswith("PUT"):
            memo[len(memo) if arg is None else int(arg)] = texts[-1] if texts else None
        elif code.name.endswith("GET"):
            texts.append(memo.get(int(arg)))
        elif isinstance(arg, str):
            texts.append(arg)
    return found


def is_allowed(module: str, name: str, safe: dict) -> bool:
    """Whether restricted loading knows a name."""
    known = _Names.known or known_names()
    return (module, name) in known or any(d in safe for d in _dotted(module, name))


def _dotted(module: str, name: str) -> tuple[str, str]:
    """A name as the file has it, and as it is called here."""
    here = module.replace("torch", "ember", 1)
    return f"{module}.{name}", f"{here}.{name}"
