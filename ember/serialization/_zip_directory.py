"""The directory of a zip file, read as PyTorch reads it.

Python's `zipfile` takes other bytes than PyTorch for the same file where a file is
ambiguous: two records of one name, something in front of the archive, names that
differ in case. Whoever checks a file with one library and loads it with another must
see the same, so the rules here are those of the reader in PyTorch.
"""

import io
import struct
from typing import Any, NamedTuple

_END, _END64, _END64_PLACE = b"PK\5\6", b"PK\6\6", b"PK\6\7"
_ENTRY, _LOCAL = b"PK\1\2", b"PK\3\4"
_END_SIZE, _END64_SIZE, _PLACE_SIZE, _ENTRY_SIZE, _LOCAL_SIZE = 22, 56, 20, 46, 30
_MOST_COMMENT = 0xFFFF
STORED, DEFLATED = 0, 8
_ENCRYPTED = 0x1 | 0x20 | 0x40


class Damaged(Exception):
    """It is not a zip file, or a part of it is missing."""


class Entry(NamedTuple):
    """What the directory says of one record."""

    name: bytes
    method: int
    checksum: int
    packed: int  # bytes in the file
    size: int  # bytes of the record
    at: int  # where its own header is


class Directory:
    """The records of the zip file that starts where `file` stands."""

    def __init__(self, file) -> None:
        self.file, self.start = file, file.tell()
        self.size = file.seek(0, io.SEEK_END) - self.start
        self.entries = self._entries()
        self._check_sizes()
        self._places: dict[bytes, int] = {}
        for i, entry in enumerate(self.entries):
            self._places[entry.name.lower()] = i
        self._order: list[int] | None = None
        if len(self._places) < len(self.entries):
            self._order = _sorted([entry.name.lower() for entry in self.entries])

    def read_at(self, at: int, count: int) -> bytes:
        """That many bytes of the file."""
        if at < 0 or count < 0 or at + count > self.size:
            raise Damaged(f"bytes {at} to {at + count} of {self.size} are asked for")
        self.file.seek(self.start + at)
        data = self.file.read(count)
        if len(data) != count:
            raise Damaged("the file ends early")
        return data

    def read_into(self, at: int, made) -> None:
        """Fill a writable buffer of bytes from there."""
        if at < 0 or at + len(made) > self.size:
            raise Damaged(f"byte {at + len(made)} of {self.size} is asked for")
        self.file.seek(self.start + at)
        fill(self.file, made)

    def _entries(self) -> list[Entry]:
        count, size, at = self._end()
        if count * _ENTRY_SIZE > size:
            raise Damaged(f"a directory of {count} entries in {size} bytes")
        data = self.read_at(at, size)
        entries, at = [], 0
        for _ in range(count):
            if data[at : at + 4] != _ENTRY or at + _ENTRY_SIZE > size:
                raise Damaged("the directory is damaged")
            entry, at = _entry(data, at)
            entries.append(entry)
        return entries

    def _end(self) -> tuple[int, int, int]:
        """The number of entries, the size and the place of the directory."""
        tail = self.read_at(0, 0)
        if self.size >= _END_SIZE:
            length = min(self.size, _END_SIZE + _MOST_COMMENT)
            tail = self.read_at(self.size - length, length)
        found = tail.rfind(_END, 0, max(len(tail) - _END_SIZE + 4, 0))
        if found < 0:
            raise Damaged("it has no directory")
        numbers = struct.unpack_from("<HHHHII", tail, found + 4)
        at = self.size - len(tail) + found
        if at >= _PLACE_SIZE + _END64_SIZE:
            place = self.read_at(at - _PLACE_SIZE, _PLACE_SIZE)
            where = struct.unpack_from("<Q", place, 8)[0]
            if place[:4] == _END64_PLACE and where + _END64_SIZE <= self.size:
                end = self.read_at(where, _END64_SIZE)
                if end[:4] == _END64:
                    numbers = struct.unpack_from("<IIQQQQ", end, 16)
        disk, first, here, count, size, place_at = numbers
        if here != count or disk != first:
            raise Damaged("it is one of several disks")
        return count, size, place_at

    def _check_sizes(self) -> None:
        """No more may come out of a file than was put in: records that overlap, or
        compressed nothing, could fill the memory.
        """
        packed = unpacked = 0
        for entry in self.entries:
            packed += entry.packed
            if entry.method != STORED:
                unpacked += entry.size
            elif entry.size != entry.packed:
                raise Damaged("a record has two sizes")
        if packed > self.size or unpacked > max(100 * self.size, 1 << 24):
            raise Damaged("the records of the file are larger than it is")

    def find(self, name: bytes) -> int | None:
        """The number of the record of that name, in any case of letters."""
        name = name.lower()
        if self._order is None:
            return self._places.get(name)
        low, high = 0, len(self._order) - 1
        while low <= high:
            middle = (low + high) // 2
            found = self.entries[self._order[middle]].name.lower()
            if found == name:
                return self._order[middle]
            if found < name:
                low = middle + 1
            else:
                high = middle - 1
        return None

    def place(self, entry: Entry) -> int:
        """Where the bytes of a record begin."""
        head = self.read_at(entry.at, _LOCAL_SIZE)
        if head[:4] != _LOCAL:
            raise Damaged("a record has no header")
        name, extra = struct.unpack_from("<HH", head, 26)
        if self.read_at(entry.at + _LOCAL_SIZE, name) != entry.name:
            raise Damaged("it is the record of another name")
        at = entry.at + _LOCAL_SIZE + name + extra
        if at + entry.packed > self.size:
            raise Damaged("it ends after the file")
        return at


def fill(file, made) -> None:
    """Read as many bytes as a writable buffer has, without a copy if the file can."""
    done = 0
    while done < len(made):
        if hasattr(file, "readinto"):
            count = file.readinto(made[done:])
        else:
            data = file.read(len(made) - done)
            count = len(data)
            made[done : done + count] = data
        if not count:
            raise Damaged("the file ends early")
        done += count


def _entry(data: bytes, at: int) -> tuple[Entry, int]:
    """An entry of the directory, and where the next one is."""
    flags, method = struct.unpack_from("<HH", data, at + 8)
    numbers: tuple[Any, ...] = struct.unpack_from("<IIIHHH", data, at + 16)
    checksum, packed, size, name, extra, comment = numbers
    (header,) = struct.unpack_from("<I", data, at + 42)
    begin = at + _ENTRY_SIZE
    end = begin + name + extra + comment
    if end > len(data):
        raise Damaged("the directory is damaged")
    if flags & _ENCRYPTED:
        raise Damaged("it is encrypted")
    if method not in (STORED, DEFLATED):
        raise Damaged(f"a record is packed by method {method}")
    wide = 0xFFFFFFFF
    if wide in (packed, size, header):
        fields = _wide(data[begin + name : begin + name + extra])
        size = fields.pop(0) if size == wide and fields else size
        packed = fields.pop(0) if packed == wide and fields else packed
        header = fields.pop(0) if header == wide and fields else header
    name_of = data[begin : begin + name]
    return Entry(name_of, method, checksum, packed, size, header), end


def _wide(extra: bytes) -> list[int]:
    """The 64-bit numbers among the extra fields of an entry."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, at)
        if kind == 1:
            count = min(length, len(extra) - at - 4) // 8
            return list(struct.unpack_from(f"<{count}Q", extra, at + 4))
        at += 4 + length
    return []


def _sorted(names: list[bytes]) -> list[int]:
    """Places of names in the order of names.

    It is a heap sort, step by step as in PyTorch's reader: which of several equal
    names a binary search meets first depends on it.
    """
    order = list(range(len(names)))

    def sink(root: int, end: int) -> None:
        while (child := 2 * root + 1) < end:
            if child + 1 < end and names[order[child]] < names[order[child + 1]]:
                child += 1
            if not names[order[root]] < names[order[child]]:
                break
            order[root], order[child] = order[child], order[root]
            root = child

    for start in range((len(order) - 2) // 2, -1, -1):
        sink(start, len(order))
    for end in range(len(order) - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        sink(0, end)
    return order
