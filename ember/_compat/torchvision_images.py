"""torchvision's reading and writing of images, by Pillow."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import ember
from ember import Tensor
from ember.library import _custom_op

# torchvision's ImageReadMode, by number, in Pillow's words
_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def _pillow() -> Any:
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise RuntimeError(
            "reading and writing images needs Pillow: pip install pillow"
        ) from error
    return Image, ImageOps


def _bytes(data: Tensor) -> bytes:
    if data.dtype != ember.uint8 or data.dim() != 1:
        raise RuntimeError(
            f"Expected a 1-dimensional uint8 tensor, got {data.dtype} of {data.shape}"
        )
    return data.contiguous().cpu().numpy().tobytes()


def _tensor(data: bytes) -> Tensor:
    return ember.frombuffer(bytearray(data), dtype=ember.uint8)


def read_file(filename: str) -> Tensor:
    """The bytes of a file."""
    return _tensor(Path(filename).read_bytes())


def write_file(filename: str, data: Tensor) -> None:
    """Write bytes to a file."""
    Path(filename).write_bytes(_bytes(data))


def decode_image(
    data: Tensor, mode: int = 0, apply_exif_orientation: bool = False
) -> Tensor:
    """Pixels of an image as (channels, height, width)."""
    import numpy as np

    image_module, ops = _pillow()
    try:
        image = image_module.open(io.BytesIO(_bytes(data)))
        image.load()
    except Exception as error:
        raise RuntimeError(f"decode_image(): {error}") from error
    if apply_exif_orientation:
        image = ops.exif_transpose(image)
    if mode in _MODES:
        image = image.convert(_MODES[mode])
    elif image.mode in ("P", "1"):
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    pixels = np.array(image)
    if pixels.ndim == 2:
        pixels = pixels[:, :, None]
    if pixels.dtype.kind == "i":
        pixels = pixels.astype(np.uint16)
    return ember.from_numpy(pixels.transpose(2, 0, 1).copy())


def decode_gif(data: Tensor) -> Tensor:
    """Frames of an animation as (frames, 3, height, width); one without the first."""
    import numpy as np

    image_module, _ = _pillow()
    from PIL import ImageSequence

    image = image_module.open(io.BytesIO(_bytes(data)))
    frames = [np.array(f.convert("RGB")) for f in ImageSequence.Iterator(image)]
    made = ember.from_numpy(np.stack(frames).transpose(0, 3, 1, 2).copy())
    return made[0] if len(frames) == 1 else made


def _encode(data: Tensor, kind: str, **options: Any) -> Tensor:
    if data.dtype != ember.uint8:
        raise RuntimeError(f"Input tensor dtype should be uint8, got {data.dtype}")
    if data.dim() != 3 or data.shape[0] not in (1, 3):
        raise RuntimeError(
            "Input data should be a 3-dimensional tensor of 1 or 3 channels, got "
            f"{tuple(data.shape)}"
        )
    image_module, _ = _pillow()
    pixels = data.cpu().permute(1, 2, 0).contiguous().numpy()
    image = image_module.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    out = io.BytesIO()
    image.save(out, kind, **options)
    return _tensor(out.getvalue())


def encode_png(data: Tensor, compression_level: int = 6) -> Tensor:
    """An image as a PNG file."""
    return _encode(data, "PNG", compress_level=compression_level)


def encode_jpeg(data: Tensor, quality: int = 75) -> Tensor:
    """An image as a JPEG file."""
    return _encode(data, "JPEG", quality=quality)


_READ = "(Tensor data, int mode=0, bool apply_exif_orientation=False) -> Tensor"
_TABLE = [
    ("read_file", "(str filename) -> Tensor", read_file),
    ("write_file", "(str filename, Tensor data) -> ()", write_file),
    ("decode_image", _READ, decode_image),
    ("decode_png", _READ, decode_image),
    ("decode_jpeg", _READ, decode_image),
    ("decode_webp", _READ, decode_image),
    ("decode_gif", "(Tensor data) -> Tensor", decode_gif),
    ("encode_png", "(Tensor data, int compression_level) -> Tensor", encode_png),
    ("encode_jpeg", "(Tensor data, int quality) -> Tensor", encode_jpeg),
]


def register() -> None:
    """Enter the operators as `ember.ops.image`."""
    for name, schema, function in _TABLE:
        op = _custom_op.CustomOpDef(f"image::{name}", schema)
        op._composite = function
        _custom_op.register(op, replace=True)
