"""Plots: a valid PNG with the curve in it."""

import struct
import zlib

import numpy as np

from ember.utils._strokes import GLYPHS, strokes
from ember.utils.plot import COLORS, Canvas, Line, _ticks, png, save_plot


def decode(data: bytes) -> np.ndarray:
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        (check,) = struct.unpack(">I", data[at + 8 + size : at + 12 + size])
        assert check == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8)
    return rows.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3)


def test_png_round_trip():
    pixels = np.random.default_rng(0).random((5, 7, 3))
    assert np.abs(decode(png(pixels)) / 255 - pixels).max() < 0.003


def test_a_plot_shows_its_curve(tmp_path):
    path = tmp_path / "a.png"
    values = [3.0, 1.0, float("nan"), 0.5, 0.4]
    save_plot(path, [Line(values, label="loss")], "Title", "x", "y", size=(320, 240))
    image = decode(path.read_bytes())
    assert image.shape == (240, 320, 3)
    blue = np.abs(image / 255 - np.array(COLORS[0])).max(-1) < 0.02
    assert blue.sum() > 100


def test_single_values_and_log_scale(tmp_path):
    save_plot(tmp_path / "a.png", [Line([1.0])])
    save_plot(tmp_path / "b.png", [Line([1e-3, 1.0, 0.0])], log_y=True)
    save_plot(tmp_path / "c.png", [])


def test_ticks_are_round_numbers():
    assert _ticks(0, 1, 5) == [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]
    assert _ticks(0, 990, 8) == [0, 200, 400, 600, 800]


def test_font():
    for char in GLYPHS:
        assert all(
            0 <= x <= 4 and 0 <= y <= 8 for line in strokes(char) for x, y in line
        )
    assert strokes(" ") == []
    canvas = Canvas(60, 30)
    canvas.text("a", 5, 20)
    assert canvas.pixels.min() < 0.6
