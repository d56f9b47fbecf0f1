"""The compiled module among the other libraries of a process."""

import struct
from pathlib import Path

from ember import _C

_TLS = 7  # the kind of segment that has thread-local variables


def _thread_local_bytes(path: Path) -> int:
    """What the program headers of an ELF file (64 bits) ask for."""
    with open(path, "rb") as file:
        head = file.read(64)
        assert head[:5] == b"\x7fELF\x02"
        (start,) = struct.unpack_from("<Q", head, 32)
        size, count = struct.unpack_from("<HH", head, 54)
        file.seek(start)
        table = file.read(size * count)
    headers = [struct.unpack_from("<I4xQQQQQ", table, i * size) for i in range(count)]
    return sum(header[5] for header in headers if header[0] == _TLS)


def test_little_of_the_shared_thread_local_memory_is_taken():
    """glibc keeps some 1600 bytes for all libraries that are loaded later and use the
    fast kind, as every OpenMP does: what we take makes others fail to load."""
    assert 0 < _thread_local_bytes(Path(_C.__file__)) <= 1024
