"""Reading what `_pickle` or PyTorch wrote: everything, or only what cannot do harm."""

import _compat_pickle
import io
import itertools
import pickle
import pickletools
import struct
import sys
import types
from collections import Counter, OrderedDict

import ember
from ember.serialization import _storage_io
from ember.serialization._names import known_names, only_a_name, set_state
from ember.serialization._storage_io import brief

_LARGEST_KEY = 10_000  # parts of a key, counted as often as they are in it
_DEEPEST_KEY = 100
_MOST_HASHED = 20_000_000  # parts of all keys
# What is made of a container's elements, and the containers that it may be made of.
_METHODS = (types.BuiltinMethodType, types.MethodType)
_COLLECTIONS = (set, frozenset, OrderedDict, Counter, ember.Size)
_PLAIN = (list, tuple, set, frozenset, dict, str, OrderedDict, ember.Size)


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
        if self.made is not None and type(pid) in (str, int):
            return self.made[str(pid)]
        kind = pid[0] if type(pid) is tuple and pid else None
        kind = kind if type(kind) in (str, bytes) else None
        if kind in ("module", b"module") and len(pid) == 4:  # a class, with its source
            return pid[1]
        if kind not in ("storage", b"storage") or len(pid) not in (5, 6):
            raise pickle.UnpicklingError(
                "Weights only load failed: Only persistent_load of storage is allowed, "
                f"but got {type(pid[0]) if type(pid) is tuple and pid else type(pid)}"
            )
        _, dtype, key, location, count, *view = pid
        if (
            not (dtype is None or isinstance(dtype, ember.dtype))
            or type(count) is not int
        ):
            raise pickle.UnpicklingError("load(): a storage of an unknown kind")
        storage = self.storage(_text(key), _text(location), dtype, count)
        if view and view[0] is not None:
            storage = _part(storage, view[0], 1 if dtype is None else dtype.itemsize)
        return _storage_io.typed(storage, dtype)


def _text(value) -> str:
    if type(value) is bytes:
        return value.decode("ascii")
    if type(value) not in (str, int):
        raise pickle.UnpicklingError(f"load(): a storage whose key is {brief(value)}")
    return str(value)


def _part(storage, view, width: int):
    """The part of a storage that the oldest files call a view."""
    if type(view) is not tuple or len(view) != 3:
        raise pickle.UnpicklingError(f"load(): a part that is {brief(view)}")
    _, start, length = view
    if type(start) is not int or type(length) is not int:
        raise pickle.UnpicklingError("load(): a part without numbers")
    return _storage_io.part_of(storage, start * width, length * width)


class _Importing(_Names):
    """Imports whatever the pickle names, from ember where that is torch."""

    def find_class(self, module: str, name: str):
        if module == "torch" or module.startswith("torch."):
            found = self.known.get((module, name), only_a_name)
            if found is not only_a_name:
                return found
            module = "ember" + module.removeprefix("torch")
        return super().find_class(module, name)  # type: ignore[misc]


class Unpickler(_Importing, pickle.Unpickler):
    """Python's own, which finds ember's classes."""


def unpickler_of(module) -> type:
    """The same over the unpickler of another module than `pickle`: dill, say."""
    if module is None or module.Unpickler is pickle.Unpickler:
        return Unpickler
    return type("Unpickler", (_Importing, module.Unpickler), {})


def _opcodes(names: str) -> dict:
    return {getattr(pickle, n)[0]: getattr(pickle, n) for n in names.split()}


# All that restricted loading follows. Not among them: INST, OBJ and NEWOBJ_EX, which
# call; the extension registry; buffers, and persistent ids as text.
_FOLLOWED = _opcodes(
    "PROTO FRAME STOP MARK POP POP_MARK DUP GET BINGET LONG_BINGET PUT BINPUT "
    "LONG_BINPUT MEMOIZE NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 "
    "LONG4 FLOAT BINFLOAT STRING BINSTRING SHORT_BINSTRING BINBYTES SHORT_BINBYTES "
    "BINBYTES8 UNICODE SHORT_BINUNICODE BINUNICODE BINUNICODE8 BYTEARRAY8 EMPTY_LIST "
    "APPEND APPENDS LIST EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_DICT DICT "
    "SETITEM SETITEMS EMPTY_SET ADDITEMS FROZENSET GLOBAL STACK_GLOBAL BINPERSID "
    "REDUCE NEWOBJ BUILD"
)
_NAMES_OF = {code.code: code.name for code in pickletools.opcodes}


# Modules that reach the system: nothing of them can be allowed by name.
_BLOCKED = ("sys", "os", "posix", "nt")


def _refuse(code: int):
    name = _NAMES_OF.get(chr(code), code)

    def refuse(self) -> None:
        raise pickle.UnpicklingError(f"Weights only load failed: opcode {name}")

    return refuse


class SafeUnpickler(_Names, pickle._Unpickler):
    """Knows `_names` and `safe` (objects by dotted name), refuses all others.

    It is the unpickler written in Python because that can refuse opcodes too, and
    because a hostile memo index makes the one in C allocate without bound.
    """

    dispatch = {
        code: pickle._Unpickler.dispatch[code] if code in _FOLLOWED else _refuse(code)
        for code in range(256)
    }

    def __init__(self, *args, **options) -> None:
        super().__init__(*args, **options)
        self._hashed = 0
        allowed = [*self.known.values(), *self.safe.values()]
        self._callable = {id(obj): obj for obj in allowed if callable(obj)}
        self._types = tuple(obj for obj in self.safe.values() if isinstance(obj, type))

    def find_class(self, module: str, name: str):
        if (module, name) in self.known:
            return self.known[module, name]
        if module in _BLOCKED or _now(module, name)[0] in _BLOCKED:
            self._fail(
                f"Trying to load unsupported GLOBAL {module}.{name:.200} whose module "
                f"{module} is blocked."
            )
        for dotted in _dotted(module, name):
            if dotted in self.safe:
                return self.safe[dotted]
        full = name if module in ("__builtin__", "builtins") else f"{module}.{name}"
        raise pickle.UnpicklingError(
            f"Weights only load failed: Unsupported global: GLOBAL {full:.400} was not "
            "an allowed global by default. Please use "
            f"`torch.serialization.add_safe_globals([{full:.400}])` or the "
            f"`torch.serialization.safe_globals([{full:.400}])` context manager to "
            "allowlist this global if you trust this class/function. Or load "
            "everything, running any code in the file, with `weights_only=False`."
        )

    # --- what a pickle may do to an object ---

    def _fail(self, what: str):
        raise pickle.UnpicklingError(f"Weights only load failed: {what}")

    def load_reduce(self) -> None:
        """Call a function that the file may call, with a tuple of arguments."""
        args, function = self.stack.pop(), self.stack[-1]
        if id(function) not in self._callable and not self._is_allowed(function):
            self._fail(f"a call of {_called(function)}")
        self._check_arguments(function, args)
        self.stack[-1] = function(*args)

    def _is_allowed(self, function) -> bool:
        """Whether it is an allowed method of a class, a new object each time."""
        if type(function) not in _METHODS or type(function.__self__) is not type:
            return False
        methods = [obj for obj in self.safe.values() if type(obj) is type(function)]
        return function in methods

    def load_newobj(self) -> None:
        """Make an object of a class that the file may call."""
        args, kind = self.stack.pop(), self.stack[-1]
        if id(kind) not in self._callable or not isinstance(kind, type):
            self._fail(f"an object of a {type(kind).__name__}")
        self._check_arguments(kind, args)
        self.stack[-1] = kind.__new__(kind, *args)

    def _check_arguments(self, function, args) -> None:
        if type(args) is not tuple:  # walking through a tensor may take forever
            self._fail(f"arguments that are a {type(args).__name__}")
        if function in _COLLECTIONS:
            for arg in args:
                if type(arg) not in _PLAIN:
                    self._fail(f"a {function.__name__} of a {type(arg).__name__}")
                self._check_keys(arg)

    def load_build(self) -> None:
        """Set an object's state: only of kinds that have one by right."""
        target = self.stack[-2]
        if self._types and isinstance(target, self._types):
            return super().load_build()
        if not isinstance(target, (OrderedDict, ember.Tensor)):
            self._fail(f"state given to a {type(target).__name__}")
        set_state(target, self.stack.pop())

    def _is_a(self, target, kind: type) -> bool:
        return type(target) is kind or (
            isinstance(target, kind)
            and isinstance(target, (*_COLLECTIONS, *self._types))
        )

    def load_append(self) -> None:
        """Append one value to a list."""
        value = self.stack.pop()
        if not self._is_a(self.stack[-1], list):
            self._fail(f"a value appended to a {type(self.stack[-1]).__name__}")
        self.stack[-1].append(value)

    def load_appends(self) -> None:
        """Append several."""
        values = self.pop_mark()
        if not self._is_a(self.stack[-1], list):
            self._fail(f"values appended to a {type(self.stack[-1]).__name__}")
        self.stack[-1].extend(values)

    def load_setitem(self) -> None:
        """Set one item of a dictionary."""
        value, key = self.stack.pop(), self.stack.pop()
        self._set_items([key, value], "SETITEM")

    def load_setitems(self) -> None:
        """Set several."""
        self._set_items(self.pop_mark(), "SETITEMS")

    def _set_items(self, items: list, opcode: str = "DICT") -> None:
        target = self.stack[-1]
        if not self._is_a(target, dict):
            self._fail(
                f"Can only {opcode} for dict, collections.OrderedDict, "
                f"collections.Counter, but got {type(target)}"
            )
        keys, values = items[::2], items[1::2]
        self._check_keys(keys)
        for key, value in zip(keys, values, strict=True):
            target[key] = value

    def load_dict(self) -> None:
        """A dictionary of what is on the stack."""
        items = self.pop_mark()
        self.append({})
        self._set_items(items)

    def load_additems(self) -> None:
        """Add to a set."""
        items = self.pop_mark()
        if not self._is_a(self.stack[-1], set):
            self._fail(f"items added to a {type(self.stack[-1]).__name__}")
        self._check_keys(items)
        self.stack[-1].update(items)

    def load_frozenset(self) -> None:
        """A frozenset of what is on the stack."""
        items = self.pop_mark()
        self._check_keys(items)
        self.append(frozenset(items))

    def load_bytearray8(self) -> None:
        """A bytearray; its size is believed only if the bytes are there."""
        (size,) = struct.unpack("<Q", self.read(8))
        data = self.read(min(size, sys.maxsize))
        if len(data) != size:
            raise pickle.UnpicklingError("pickle data was truncated")
        self.append(bytearray(data))

    def _check_keys(self, keys) -> None:
        """Limit the work of hashing and comparing keys.

        To hash a tuple, or to compare two sets, is to do so with all that is in it,
        however often and deep it is in there: a few hundred bytes can make work
        without end, and Python looks neither at the time nor at its stack.
        """
        for key in keys:
            if type(key) is str or (type(key) is int and key.bit_length() < 1024):
                continue
            parts, count = [key], 0
            for _ in range(_DEEPEST_KEY):
                inner: list = []
                for part in parts:
                    if isinstance(part, (tuple, frozenset, list)):
                        inner += itertools.islice(part, _LARGEST_KEY + 1 - len(inner))
                    elif isinstance(part, int):
                        count += part.bit_length() >> 10
                count += len(parts)
                if not inner or count > _LARGEST_KEY:
                    break
                parts = inner
            self._hashed += count
            if inner or count > _LARGEST_KEY or self._hashed > _MOST_HASHED:
                self._fail("keys that are too large, or nested too deep")

    for _name in (
        "reduce newobj build append appends setitem setitems dict additems frozenset "
        "bytearray8"
    ).split():
        dispatch[getattr(pickle, _name.upper())[0]] = locals()[f"load_{_name}"]


class _Unknown:
    """What a pickle would make, where nothing is made."""


class _Follower(SafeUnpickler):
    """Follows a pickle without making anything but text, numbers and containers.

    The stack and the memo are as they would be, so it sees each name that is looked
    up, however it got there; what it can't follow is an error.
    """

    dispatch = SafeUnpickler.dispatch.copy()

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data), None, {}, encoding="utf-8")
        self.found: set[tuple[str, str]] = set()

    def find_class(self, module: str, name: str):
        self.found.add((module, name))
        return _Unknown()

    def persistent_load(self, pid):
        return _Unknown()

    def load_call(self) -> None:
        """A call, or state for an object."""
        self.stack.pop()
        self.stack[-1] = _Unknown()

    def load_state(self) -> None:
        """State for an object."""
        self.stack.pop()
        self.stack[-1]

    def _is_a(self, target, kind: type) -> bool:
        return type(target) in (kind, _Unknown)

    def load_append(self) -> None:
        """Append one value."""
        if type(self.stack[-2]) is _Unknown:
            return self.load_state()
        return super().load_append()

    def load_appends(self) -> None:
        """Append several."""
        self._onto(super().load_appends)

    def load_additems(self) -> None:
        """Add to a set."""
        self._onto(super().load_additems)

    def _onto(self, load) -> None:
        if self.metastack and type(self.metastack[-1][-1]) is _Unknown:
            self.pop_mark()
        else:
            load()

    def _set_items(self, items: list, opcode: str = "DICT") -> None:
        if type(self.stack[-1]) is not _Unknown:
            super()._set_items(items, opcode)
        elif len(items) % 2:
            self._fail("a key without a value")

    dispatch[pickle.REDUCE[0]] = dispatch[pickle.NEWOBJ[0]] = load_call
    dispatch[pickle.BUILD[0]] = load_state
    dispatch[pickle.APPEND[0]] = load_append
    dispatch[pickle.APPENDS[0]] = load_appends
    dispatch[pickle.ADDITEMS[0]] = load_additems


def _called(function) -> str:
    """What a file would call, for a message."""
    if type(function) not in (types.BuiltinFunctionType, types.FunctionType, type):
        return f"a {type(function).__name__}"
    owner = getattr(function, "__self__", None)
    if type(owner) is type:
        return f"{function.__name__} of {owner.__module__}.{owner.__qualname__}"
    return f"{function.__module__}.{function.__qualname__}"


def names_in(data: bytes) -> set[tuple[str, str]]:
    """Modules and names that a pickle refers to, found without running it."""
    follower = _Follower(data)
    follower.load()
    return follower.found


def _get_allowed_globals() -> dict:
    """What restricted loading knows, by the names in files; programs replace this."""
    known = _Names.known or known_names()
    return {f"{module}.{name}": obj for (module, name), obj in known.items()}


def is_allowed(module: str, name: str, safe: dict) -> bool:
    """Whether restricted loading knows a name."""
    known = _get_allowed_globals()
    return f"{module}.{name}" in known or any(d in safe for d in _dotted(module, name))


def _now(module: str, name: str) -> tuple[str, str]:
    """Files have Python 2's names up to protocol 2: `__builtin__.print`."""
    renamed = _compat_pickle.NAME_MAPPING.get((module, name))
    return renamed or (_compat_pickle.IMPORT_MAPPING.get(module, module), name)


def _dotted(module: str, name: str) -> tuple[str, ...]:
    """A name as the file has it, and as it is called here."""
    here = module.replace("torch", "ember", 1)
    return f"{module}.{name}", f"{here}.{name}", ".".join(_now(module, name))
