"""The containers of checkpoints by themselves: named records, written and read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ember.serialization._archive import (
    ArchiveReader,
    ArchiveWriter,
    is_archive,
    seekable,
)


@contextmanager
def open_file(name_or_buffer: Any, mode: str) -> Iterator[Any]:
    """A binary file, opened if only its name is given."""
    if hasattr(name_or_buffer, "read") or hasattr(name_or_buffer, "write"):
        yield name_or_buffer
    else:
        with open(name_or_buffer, mode) as file:
            yield file


class RecordReader:
    """Reads records by name."""

    def __init__(self, file: Any) -> None:
        self._archive = ArchiveReader(file, checkpoint=False)

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        return bytes(self._archive.read(name))

    def has_record(self, name: str) -> bool:
        """Whether there is a record of that name."""
        return name in self._archive

    def get_record_offset(self, name: str) -> int:
        """Where its bytes begin in the file."""
        return self._archive.place(name)

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return self._archive.names()


class RecordWriter:
    """Writes records by name."""

    def __init__(self, archive: ArchiveWriter) -> None:
        self._archive = archive
        self._written: set[str] = set()

    def write_record(self, name: str, data: Any, size: int) -> None:
        """Add a record of the first `size` bytes of `data`."""
        plain = data.encode() if isinstance(data, str) else data
        self._written.add(name)
        self._archive.write(name, memoryview(plain).cast("B")[:size])

    def write_record_metadata(self, name: str, size: int) -> None:
        """Leave room for a record."""
        self._written.add(name)
        self._archive.reserve(name, size)

    def write_end_of_file(self) -> None:
        """Add what the container says of itself."""
        if "version" not in self._written:
            self.write_record("version", b"3\n", 2)


@contextmanager
def open_reader(name_or_buffer: Any) -> Iterator[RecordReader]:
    """Read a container."""
    with open_file(name_or_buffer, "rb") as file:
        yield RecordReader(seekable(file))


@contextmanager
def open_writer(name_or_buffer: Any) -> Iterator[RecordWriter]:
    """Write a container."""
    with open_file(name_or_buffer, "wb") as file:
        with ArchiveWriter(file, "archive") as archive:
            writer = RecordWriter(archive)
            yield writer
            writer.write_end_of_file()
        file.flush()


def is_zipfile(file: Any) -> bool:
    """Whether a file starts as a container does."""
    return is_archive(file)
