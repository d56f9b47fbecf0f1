"""Checkpoints as PyTorch wrote them before version 1.6: a row of pickles and the bytes
of the storages; and before 0.2: a tar archive, which is only read.

Sizes in a file are believed only as far as the file goes: `Bounded` never reads, nor
makes room for, more than there is.
"""

import io
import pickle
import struct
import sys

import ember
from ember.serialization import _storage_io
from ember.serialization._options import skip_data
from ember.serialization._pickle import Pickler
from ember.serialization._storage_io import brief
from ember.serialization._zip_directory import fill

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
_DAMAGED = "load(): the file is damaged, or not a checkpoint"


class Bounded(io.RawIOBase):
    """A part of a seekable file, from where it stands, as a file that knows its end."""

    def __init__(self, file, size: int | None = None) -> None:
        self.file, self.start = file, file.tell()
        if size is None:
            size = file.seek(0, io.SEEK_END) - self.start
            file.seek(self.start)
        self.size, self.at = size, 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = (0, self.at, self.size)[whence]
        self.at = min(max(base + offset, 0), self.size)
        return self.at

    def read(self, count: int | None = -1) -> bytes:
        rest = self.size - self.at
        count = rest if count is None or count < 0 else min(count, rest)
        self.file.seek(self.start + self.at)
        data = self.file.read(count)
        self.at += len(data)
        return data

    def readinto(self, buffer) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readline(self, limit: int | None = -1) -> bytes:
        line, begin = b"", self.at
        while self.at < self.size:
            part = self.read(256)
            line += part
            if b"\n" in part:
                line = line[: line.index(b"\n") + 1]
                break
        self.at = begin + len(line)
        return line

    def exactly(self, count: int) -> bytes:
        """That many bytes, or RuntimeError."""
        if not 0 <= count <= self.size - self.at:
            raise RuntimeError(f"{_DAMAGED} (it ends early)")
        return self.read(count)

    def fill(self, made) -> None:
        """Fill a writable buffer, or RuntimeError."""
        if len(made) > self.size - self.at:
            raise RuntimeError(f"{_DAMAGED} (it ends early)")
        self.file.seek(self.start + self.at)
        fill(self.file, made)
        self.at += len(made)

    def integer(self, code: str = "<q") -> int:
        """A number in the given format of `struct`."""
        return struct.unpack(code, self.exactly(struct.calcsize(code)))[0]


class OldPickler(Pickler):
    """Notes storages as those versions did: with a place for what they view."""

    def __init__(self, file, protocol: int = 2) -> None:
        super().__init__(file, protocol)
        self.sizes: dict[str, int] = {}  # of an element

    def persistent_id(self, obj):
        found = super().persistent_id(obj)
        if found is None:
            return None
        _, _, key, _, count = found
        size = self.storages[key].nbytes()
        self.sizes[key] = size // count if count else 1
        return (*found, None)


def write_pickled(file, text, storages: dict, sizes: dict[str, int]) -> None:
    """Write the format of versions 0.2 to 1.5 around a pickle and its storages."""
    system = {
        "protocol_version": PROTOCOL,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    for part in (MAGIC, PROTOCOL, system):
        pickle.dump(part, file, 2)
    file.write(text)
    keys = sorted(storages)
    pickle.dump(keys, file, 2)
    for key in keys:
        data = _storage_io.storage_view(storages[key])
        file.write(struct.pack("=q", storages[key].nbytes() // sizes[key]))
        file.write(data)


def load_pickled(file: Bounded, reader):
    """The format of versions 0.2 to 1.5: pickles, then for each storage its number of
    elements and its bytes. `reader` is the Reader of `serialization`.
    """
    magic = reader.unpickle(file, _no_storage)
    if type(magic) is not int or magic != MAGIC:
        raise RuntimeError(f"{_DAMAGED} (its magic number is wrong)")
    version = reader.unpickle(file, _no_storage)
    if type(version) is not int or version != PROTOCOL:
        raise RuntimeError(f"load(): unknown version {brief(version)} of the format")
    system = reader.unpickle(file, _no_storage)
    little = not isinstance(system, dict) or bool(system.get("little_endian", True))
    storages = _Storages(file.size, reader)
    result = reader.unpickle(file, storages.get)
    keys = reader.unpickle(file, _no_storage)
    if type(keys) is not list or {_key(k) for k in keys} != set(storages.made):
        raise RuntimeError(f"{_DAMAGED} (its storages are not those of its tensors)")
    if len(keys) != len(storages.made):
        raise RuntimeError(f"{_DAMAGED} (a storage occurs twice)")
    for key in keys:
        storages.fill(_key(key), file, "<q" if little else ">q")
    return result


def load_tar(file, reader):
    """The format of versions up to 0.1: a tar archive of three files."""
    members = _members(Bounded(file))
    missing = [n for n in ("storages", "tensors", "pickle") if n not in members]
    if missing:
        raise RuntimeError(f"{_DAMAGED} (it has no {', '.join(missing)})")
    parts = [members[name] for name in ("storages", "tensors", "pickle")]
    data, tensors, text = parts
    storages = _Storages(data.size, reader)
    for _ in range(_count(reader.unpickle(data, _no_storage), data)):
        key, location, dtype = reader.unpickle(data, _no_storage)
        count = data.integer()
        data.seek(-8, io.SEEK_CUR)
        if not isinstance(dtype, ember.dtype):
            raise RuntimeError(f"{_DAMAGED} (a storage of no dtype)")
        storages.get(_key(key), _key(location), dtype, count)
        storages.fill(_key(key), data, "<q")
    for new, root, offset, count in reader.unpickle(data, _no_storage):
        storages.add_view(_key(new), _key(root), offset, count)
    made: dict = {}
    for _ in range(_count(reader.unpickle(tensors, _no_storage), tensors)):
        key, root, _kind = reader.unpickle(tensors, _no_storage)
        dims = tensors.integer("<i")
        tensors.exactly(4)
        if not 0 <= dims <= 64:
            raise RuntimeError(f"{_DAMAGED} (a tensor has {dims} dimensions)")
        numbers = [tensors.integer() for _ in range(2 * dims + 1)]
        size, stride, offset = numbers[:dims], numbers[dims:-1], numbers[-1]
        made[_key(key)] = storages.tensor(_key(root), offset, size, stride)
    made |= {key: storages.typed(key) for key in storages.made}
    return reader.unpickle(text, None, made)


def _members(file: Bounded) -> dict[str, Bounded]:
    """The files in a tar archive, each a part of it; the last of a name counts.

    Nothing else is ever in a checkpoint: no links, no long names, and above all no
    sparse files, whose size is what they say.
    """
    members: dict[str, Bounded] = {}
    while file.at < file.size:
        head = file.exactly(512)
        if not head.strip(b"\0"):
            break
        spaces = head[:148] + b" " * 8 + head[156:]
        if sum(spaces) != _tar_number(head[148:156]):
            raise RuntimeError(f"{_DAMAGED} (a checksum is wrong)")
        kind, size = head[156:157], _tar_number(head[124:136])
        if kind not in (b"0", b"\0", b"5"):
            raise RuntimeError(f"{_DAMAGED} (a tar entry of type {kind!r})")
        name = head[:100].partition(b"\0")[0].decode("latin1")
        members[name.removeprefix("./")] = Bounded(io.BytesIO(file.exactly(size)))
        file.seek(-size % 512, io.SEEK_CUR)
    return members


def _tar_number(field: bytes) -> int:
    """A number of a header: octal digits, or binary after a first byte of 128."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    digits = field.strip(b" \0")
    if not digits.isdigit():
        raise RuntimeError(f"{_DAMAGED} (a number is {field!r})")
    return int(digits, 8)


def _count(value, file: Bounded) -> int:
    if type(value) is not int or not 0 <= value <= file.size:
        raise RuntimeError(f"{_DAMAGED} (it claims {brief(value)} entries)")
    return value


def _key(value) -> str:
    """A key, which files have as text or as a number; in Python 2, text was bytes."""
    if type(value) is bytes and len(value) <= 64:
        return value.decode("latin1")
    if type(value) is str or (type(value) is int and value.bit_length() <= 128):
        return str(value)
    raise RuntimeError(f"{_DAMAGED} (a key is {brief(value)})")


def _no_storage(*args):
    raise pickle.UnpicklingError(f"{_DAMAGED} (a storage where none is expected)")


class _Storages:
    """Storages by key; together they are never larger than the file."""

    def __init__(self, most: int, reader) -> None:
        self.left, self.reader = most, reader
        self.made: dict[str, tuple] = {}  # in host memory, where wanted, dtype
        self.offsets: dict[str, int] = {}  # of those that are parts of others

    def get(self, key: str, location: str, dtype, count: int):
        """The storage where it is wanted; its bytes come later."""
        if key not in self.made:
            size = count * (1 if dtype is None else dtype.itemsize)
            if not 0 <= size <= self.left:
                raise RuntimeError(f"{_DAMAGED} (a storage of {size} bytes)")
            self.left -= size
            host = ember.UntypedStorage(size)
            self.made[key] = (host, self.reader.restore(host, location), dtype)
        return self.made[key][1]

    def fill(self, key: str, file: Bounded, code: str) -> None:
        """Read the number of elements and the bytes of one."""
        host, wanted, dtype = self.made[key]
        width = 1 if dtype is None else dtype.itemsize
        if file.integer(code) * width != host.nbytes():
            raise RuntimeError(f"{_DAMAGED} (storage {key!r:.40} has another size)")
        if skip_data.active:
            file.seek(host.nbytes(), io.SEEK_CUR)
            return
        order = "little" if code[0] == "<" else "big"
        _storage_io.fill(host, file.fill, order, dtype)
        if wanted is not host:
            wanted.copy_(host)

    def add_view(self, key: str, root: str, offset: int, count: int) -> None:
        """A storage that is a part of another."""
        self.made[key] = self.made[root]
        if type(offset) is not int:
            raise RuntimeError(f"{_DAMAGED} (an offset is {brief(offset)})")
        self.offsets[key] = self.offsets.get(root, 0) + offset

    def typed(self, key: str):
        """The storage as what a pickle refers to."""
        _, wanted, dtype = self.made[key]
        return _storage_io.typed(wanted, dtype)

    def tensor(self, key: str, offset: int, size: list, stride: list):
        """A tensor over one."""
        _, wanted, dtype = self.made[key]
        offset += self.offsets.get(key, 0)
        return _storage_io.tensor_over(wanted, dtype, offset, size, stride)
