"""The zip container of checkpoints: named records, stored without compression, each
aligned to 64 bytes so that a file can be mapped into memory.
"""

import io
import struct
import zipfile
import zlib
from typing import Any

from ember.serialization._options import get_crc32_options
from ember.serialization._zip_directory import (
    DEFLATED,
    STORED,
    Damaged,
    Directory,
    Entry,
)

_ALIGN = 64
_LOCAL_HEADER = 30  # bytes of a local file header before the name
_ZIP64_FIELD = 20  # bytes that zipfile adds to the header of a record over 2 GiB
_PAD_ID = 0x4246


class _FromHere:
    """A file as it is from its present position on: places in an archive count so."""

    def __init__(self, file) -> None:
        self.file, self.start = file, file.tell()

    def __getattr__(self, name: str):
        return getattr(self.file, name)

    def tell(self) -> int:
        """The position, from where it began."""
        return self.file.tell() - self.start

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a position from where it began."""
        if whence == io.SEEK_SET:
            offset += self.start
        return self.file.seek(offset, whence) - self.start


class ArchiveWriter:
    """Writes records `<root>/<name>` to a binary file."""

    def __init__(self, file, root: str) -> None:
        if file.tell():
            file = _FromHere(file)
        self.zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self.root = root
        self.digest = 0

    def write(self, name: str, data) -> None:
        """Add a record. `data` is bytes or a memoryview of bytes."""
        info = zipfile.ZipInfo(f"{self.root}/{name}", (1980, 1, 1, 0, 0, 0))
        big = len(data) * 1.05 > zipfile.ZIP64_LIMIT
        assert self.zip.fp is not None  # open until `close`
        start = self.zip.fp.tell() + _LOCAL_HEADER + len(info.filename.encode())
        start += 4 + big * _ZIP64_FIELD
        padding = -start % _ALIGN
        info.extra = struct.pack("<HH", _PAD_ID, padding) + b"\0" * padding
        info.file_size = len(data)
        if get_crc32_options():
            with self.zip.open(info, "w") as record:
                record.write(data)
        else:
            self._write_unchecked(info, data)
        self.digest = zlib.crc32(f"{name}{info.CRC}".encode(), self.digest)

    def _write_unchecked(self, info: zipfile.ZipInfo, data) -> None:
        """As `ZipFile.open` writes it, with no checksum."""
        file = self.zip.fp
        assert file is not None
        info.compress_size, info.header_offset = info.file_size, file.tell()
        info.CRC = 0
        file.write(info.FileHeader())
        file.write(data)
        self.zip.filelist.append(info)
        self.zip.NameToInfo[info.filename] = info
        self.zip.start_dir = file.tell()

    def reserve(self, name: str, size: int) -> None:
        """Add a record of zeros, to be filled in the file later: it has no checksum."""
        self.write(name, memoryview(bytes(size)))
        self.zip.infolist()[-1].CRC = 0  # in the directory, which is what readers use

    def close(self) -> None:
        """Add the identity of the contents and the directory."""
        self.write(".data/serialization_id", f"{self.digest:040d}".encode())
        self.zip.close()

    def __enter__(self) -> "ArchiveWriter":
        return self

    def __exit__(self, exc_type, *rest) -> None:
        try:
            if exc_type is None:
                self.close()
        finally:
            self.zip.fp = None  # else it would write its directory once it is deleted


class ArchiveReader:
    """Reads records of an archive; damage is reported as RuntimeError."""

    def __init__(self, file, mapped: bool = False, checkpoint: bool = True) -> None:
        self.file = file
        try:
            self.directory = Directory(file)
        except (Damaged, OSError, struct.error) as error:
            raise RuntimeError(
                f"load(): the file is truncated or not a checkpoint ({error})"
            ) from None
        entries = self.directory.entries
        self.root = entries[0].name.partition(b"/")[0] + b"/" if entries else b""
        astray = [e.name for e in entries if not e.name.startswith(self.root)]
        if astray or (checkpoint and "data.pkl" not in self):
            raise RuntimeError(
                "load(): the zip file is not a checkpoint: "
                + (f"{astray[0]!r:.80} is astray" if astray else "it has no data.pkl")
            )
        self.map: Any = self._map() if mapped else None

    def find(self, name: str) -> int | None:
        """The number of a record, by which two names of one can be told."""
        return self.directory.find(self.root + name.encode("utf-8", "surrogateescape"))

    def __contains__(self, name: str) -> bool:
        return self.find(name) is not None

    def _entry(self, name: str) -> Entry:
        found = self.find(name)
        if found is None:
            raise RuntimeError(f"load(): the checkpoint has no record {name!r:.200}")
        return self.directory.entries[found]

    def names(self) -> list[str]:
        """Of all records."""
        entries = self.directory.entries
        return [e.name.removeprefix(self.root).decode() for e in entries]

    def place(self, name: str) -> int:
        """Where the bytes of a record begin in the file."""
        return self.directory.start + self.directory.place(self._entry(name))

    def size(self, name: str) -> int:
        """The number of bytes of a record."""
        return self._entry(name).size

    def read(self, name: str):
        """The bytes of a record; a view into the mapped file if it is mapped."""
        entry = self._entry(name)
        try:
            at = self.directory.place(entry)
            if self.map is not None and entry.method == STORED:
                return memoryview(self.map)[at : at + entry.size]
            data = self.directory.read_at(at, entry.packed)
            if entry.method == DEFLATED:
                data = _inflated(data, entry.size)
            _check_sum(entry, data)
            return data
        except (Damaged, zlib.error, OSError) as error:
            raise RuntimeError(
                f"load(): record {name!r:.200} of the checkpoint is damaged ({error})"
            ) from None

    def is_plain(self, name: str) -> bool:
        """Whether the bytes of a record are in the file as they are."""
        return self._entry(name).method == STORED

    def fill(self, name: str, made) -> None:
        """Read a plain record into a writable buffer of its size."""
        entry = self._entry(name)
        try:
            self.directory.read_into(self.directory.place(entry), made)
            _check_sum(entry, made)
        except (Damaged, OSError) as error:
            raise RuntimeError(
                f"load(): record {name!r:.200} of the checkpoint is damaged ({error})"
            ) from None

    def _map(self):
        import mmap

        from ember.serialization._options import get_default_mmap_options

        shared = get_default_mmap_options() == mmap.MAP_SHARED
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        # Of the size that was checked, so that records are in it if they can be.
        return mmap.mmap(self.file.fileno(), self.directory.size, access=access)


def _check_sum(entry: Entry, data) -> None:
    # Without a checksum it is one that was written in parts, later.
    if entry.checksum and zlib.crc32(data) != entry.checksum:
        raise Damaged("its checksum is wrong")


def _inflated(data: bytes, size: int) -> bytes:
    """Unpacked bytes, never more than that many."""
    unpack = zlib.decompressobj(-zlib.MAX_WBITS)
    made = unpack.decompress(data, size) if size else b""
    if len(made) != size or (size and unpack.decompress(unpack.unconsumed_tail, 1)):
        raise Damaged("it does not have the size it claims")
    return made


def is_archive(file) -> bool:
    """Whether a seekable file starts as a zip archive does; its position is kept."""
    start = file.tell()
    head = file.read(4)
    file.seek(start)
    return head == b"PK\x03\x04"


def seekable(file):
    """`file` itself, or its rest in memory when it cannot seek."""
    try:
        file.seek(file.tell())
        return file
    except (AttributeError, OSError, io.UnsupportedOperation):
        return io.BytesIO(file.read())
