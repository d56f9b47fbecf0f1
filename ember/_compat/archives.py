"""Archives of `save` as files in a zip: lightning looks into checkpoints with it."""

from __future__ import annotations

import zipfile
from typing import Any


class PyTorchFileReader:
    """Records of an archive by their names."""

    def __init__(self, file: Any) -> None:
        self._zip = zipfile.ZipFile(file)
        self._root = self._zip.namelist()[0].split("/")[0]

    def get_record(self, name: str) -> bytes:
        """The bytes of a record."""
        return self._zip.read(f"{self._root}/{name}")

    def has_record(self, name: str) -> bool:
        """Whether there is such a record."""
        return f"{self._root}/{name}" in self._zip.namelist()

    def get_all_records(self) -> list[str]:
        """The names of all records."""
        return [name.partition("/")[2] for name in self._zip.namelist()]

    def get_record_offset(self, name: str) -> int:
        """Where the bytes of a record begin in the file."""
        info = self._zip.getinfo(f"{self._root}/{name}")
        file: Any = self._zip.fp
        file.seek(info.header_offset + 26)
        lengths = file.read(4)
        name_size = int.from_bytes(lengths[:2], "little")
        extra_size = int.from_bytes(lengths[2:], "little")
        return info.header_offset + 30 + name_size + extra_size

    def archive_name(self) -> str:
        """The folder in which all records are."""
        return self._root
