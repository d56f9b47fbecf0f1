"""The zip container of checkpoints: named records, stored without compression, each
aligned to 64 bytes so that a file can be mapped into memory.
"""

import io
import struct
import zipfile
import zlib
from typing import Any

_ALIGN = 64
_LOCAL_HEADER = 30  # bytes of a local file header before the name
_ZIP64_FIELD = 20  # bytes that zipfile adds to the header of a record over 2 GiB
_PAD_ID = 0x4246
# What zipfile raises on damaged files, by accident or by design.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
    NotImplementedError,
)


class ArchiveWriter:
    """Writes records `<root>/<name>` to a binary file."""

    def __init__(self, file, root: str) -> None:
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
        with self.zip.open(info, "w") as record:
            record.write(data)
        self.digest = zlib.crc32(f"{name}{info.CRC}".encode(), self.digest)

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

    def __init__(self, file, mapped: bool = False) -> None:
        self.file = file
        try:
            self.zip = zipfile.ZipFile(file)
            names = self.zip.namelist()
        except _DAMAGE as error:
            raise RuntimeError(
                f"load(): the file is truncated or not a checkpoint ({error})"
            ) from None
        roots = [n.removesuffix("data.pkl") for n in names if n.endswith("/data.pkl")]
        if len(roots) != 1:
            raise RuntimeError(
                "load(): the zip file has no data.pkl, so it is not a checkpoint"
            )
        self.root = roots[0]
        self.names = {n.removeprefix(self.root) for n in names}
        self._check_sizes()
        self.map: Any = self._map() if mapped else None

    def _check_sizes(self) -> None:
        """No more may come out of a file than was put in: records that overlap, or
        compressed nothing, could fill the memory.
        """
        size = self.file.seek(0, io.SEEK_END)
        packed = unpacked = 0
        for info in self.zip.infolist():
            packed += info.compress_size
            if info.compress_type != zipfile.ZIP_STORED:
                unpacked += info.file_size
            elif info.file_size != info.compress_size:
                packed = size + 1
        if packed > size or unpacked > max(100 * size, 1 << 24):
            raise RuntimeError("load(): the records of the file are larger than it is")

    def __contains__(self, name: str) -> bool:
        return name in self.names

    def size(self, name: str) -> int:
        """The number of bytes of a record."""
        if name not in self.names:
            raise RuntimeError(f"load(): the checkpoint has no record {name!r}")
        return self.zip.getinfo(self.root + name).file_size

    def read(self, name: str):
        """The bytes of a record; a view into the mapped file if it is mapped."""
        self.size(name)  # that it is there
        try:
            if self.map is not None:
                return self._view(self.zip.getinfo(self.root + name))
            info = self.zip.getinfo(self.root + name)
            if info.CRC == 0:  # written without checksums
                info.CRC = None  # type: ignore[assignment]
            return self.zip.read(info)
        except _DAMAGE as error:
            raise RuntimeError(
                f"load(): record {name!r} of the checkpoint is damaged ({error})"
            ) from None

    def _map(self):
        import mmap

        from ember._checkpoint_options import get_default_mmap_options

        shared = get_default_mmap_options() == mmap.MAP_SHARED
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        return mmap.mmap(self.file.fileno(), 0, access=access)

    def _view(self, info) -> memoryview:
        if info.compress_type != zipfile.ZIP_STORED:
            return memoryview(self.zip.read(info))
        at = info.header_offset
        name, extra = struct.unpack_from("<HH", self.map, at + 26)
        start = at + _LOCAL_HEADER + name + extra
        if start + info.file_size > len(self.map):
            raise RuntimeError("it ends after the file")
        return memoryview(self.map)[start : start + info.file_size]


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
