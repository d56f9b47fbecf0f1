"""An object file of LLVM's as one piece of memory that runs wherever it lies.

Kernels call nothing by name: what they need comes with their words. So all that has to
be resolved are distances between the parts of the file, here, when it is made; loading
it later takes neither LLVM nor a linker.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_RELA, _SYMBOLS, _ALLOCATED = 4, 2, 2
_DISTANCES = (2, 4)  # R_X86_64_PC32, R_X86_64_PLT32


class _Section(NamedTuple):
    name: str
    kind: int
    flags: int
    data: bytes
    link: int
    info: int
    align: int


def _sections(file: bytes) -> list[_Section]:
    if file[:6] != b"\x7fELF\x02\x01":
        raise RuntimeError("compile(): LLVM made no ELF file of 64 bits")
    start = struct.unpack_from("<Q", file, 0x28)[0]
    size, count, names_at = struct.unpack_from("<HHH", file, 0x3A)
    rows = [
        struct.unpack_from("<IIQQQQIIQQ", file, start + i * size) for i in range(count)
    ]
    names = file[rows[names_at][4] :]
    found = []
    for name, kind, flags, _, offset, length, link, info, align, _ in rows:
        text = names[name : names.index(b"\0", name)].decode()
        data = file[offset : offset + length] if kind != 8 else bytes(length)
        found.append(_Section(text, kind, flags, data, link, info, align))
    return found


def image(file: bytes, function: str) -> tuple[bytes, int]:
    """The memory to load, and where in it a function begins."""
    sections = _sections(file)
    places: dict[int, int] = {}
    memory = bytearray()
    for i, section in enumerate(sections):
        if section.flags & _ALLOCATED and section.name != ".eh_frame":
            memory += bytes(-len(memory) % max(section.align, 1))
            places[i] = len(memory)
            memory += section.data
    entry = -1
    symbols: list[tuple[str, int | None]] = []
    for section in sections:
        if section.kind == _SYMBOLS:
            names = sections[section.link].data
            for name, _, _, where, value, _ in struct.iter_unpack(
                "<IBBHQQ", section.data
            ):
                text = names[name : names.index(b"\0", name)].decode()
                at = places[where] + value if where in places else None
                symbols.append((text, at))
                if text == function and at is not None:
                    entry = at
    for section in sections:
        if section.kind == _RELA and section.info in places:
            _resolve(memory, places[section.info], section.data, symbols)
    if entry < 0:
        raise RuntimeError(f"compile(): the machine code has no function {function}")
    return bytes(memory), entry


def _resolve(
    memory: bytearray, base: int, rows: bytes, symbols: list[tuple[str, int | None]]
) -> None:
    for offset, what, addend in struct.iter_unpack("<QQq", rows):
        name, target = symbols[what >> 32]
        if target is None or what & 0xFFFFFFFF not in _DISTANCES:
            raise RuntimeError(f"compile(): the machine code refers to {name or what}")
        at = base + offset
        struct.pack_into("<i", memory, at, target + addend - at)
