"""TensorBoard's event files: protocol buffers in checked records.

Only what events need of both formats. A record is its length, a checksum of that, the
data and a checksum of that; checksums are CRC-32C, turned and shifted.
"""

from __future__ import annotations

import struct

_POLYNOMIAL = 0x82F63B78


def _table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


def crc32c(data: bytes) -> int:
    """The Castagnoli checksum.

    >>> from ember.utils.tensorboard.record import crc32c
    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ (value >> 8)
    return value ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    value = crc32c(data)
    turned = (value >> 15 | value << 17) & 0xFFFFFFFF
    return struct.pack("<I", (turned + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    """One record of an event file."""
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def varint(value: int) -> bytes:
    """An integer in groups of seven bits."""
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def integer(field: int, value: int) -> bytes:
    """An integer field of a message."""
    return varint(field << 3) + varint(value)


def single(field: int, value: float) -> bytes:
    """A float field."""
    return varint(field << 3 | 5) + struct.pack("<f", value)


def double(field: int, value: float) -> bytes:
    """A double field."""
    return varint(field << 3 | 1) + struct.pack("<d", value)


def block(field: int, data: bytes | str) -> bytes:
    """A field of bytes, text or another message."""
    raw = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(raw)) + raw


def doubles(field: int, values: list[float]) -> bytes:
    """A packed field of doubles."""
    return block(field, struct.pack(f"<{len(values)}d", *values))
