"""What further tabs of TensorBoard show: graphs, meshes, layouts of charts, embeddings,
moving pictures; each as bytes of its messages, or as the files it reads.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ember
from ember import Tensor
from ember.utils.tensorboard._png import png
from ember.utils.tensorboard.record import block, integer
from ember.utils.tensorboard.summary import Summary, plugin, value

_FLOAT, _UINT8, _INT32, _STRING = 1, 4, 3, 7  # kinds of tensors


def _tensor(data: Tensor, dtype: ember.dtype, kind: int) -> bytes:
    data = ember.as_tensor(data, device="cpu").detach().to(dtype).contiguous()
    shape = b"".join(block(2, integer(1, size)) for size in data.shape)
    content = bytes(memoryview(data.reshape(-1).view(ember.uint8)))  # type: ignore
    return block(8, integer(1, kind) + block(2, shape) + block(4, content))


# --- meshes ---------------------------------------------------------------------------

_VERTEX, _FACE, _COLOR = 1, 2, 3


def mesh(
    tag: str,
    vertices: Any,
    colors: Any = None,
    faces: Any = None,
    config: Mapping[str, Any] | None = None,
) -> Summary:
    """Points [B, N, 3], with colours in 0..255, and triangles between them."""
    vertices = ember.as_tensor(vertices)
    if vertices.ndim != 3 or vertices.shape[-1] != 3:
        raise ValueError(f"add_mesh(): vertices of shape {list(vertices.shape)}")
    parts = [(_VERTEX, "VERTEX", vertices, ember.float32, _FLOAT)]
    if faces is not None:
        parts.append((_FACE, "FACE", ember.as_tensor(faces), ember.int32, _INT32))
    if colors is not None:
        colors = ember.as_tensor(colors)
        parts.append((_COLOR, "COLOR", colors, ember.uint8, _UINT8))
    components = sum(1 << number for number, *_ in parts)
    settings = json.dumps(dict(config or {}), sort_keys=True)
    values = []
    for number, name, data, dtype, kind in parts:
        sizes = b"".join(integer(6, size) for size in data.shape)
        about = block(2, tag) + integer(3, number) + block(5, settings) + sizes
        about += integer(7, components)
        head = block(1, f"{tag}_{name}") + plugin("mesh", about)
        values.append(head + _tensor(data, dtype, kind))
    return Summary(*values)


# --- charts of several curves ---------------------------------------------------------


def custom_scalars(layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> Summary:
    """Which curves share a chart: {category: {chart: ["Multiline", [tags]]}}."""
    categories = b""
    for category, charts in layout.items():
        body = block(1, category)
        for title, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise ValueError("add_custom_scalars(): Margin takes three tags")
                series = b"".join(block(i, t) for i, t in enumerate(tags, 1))
                content = block(3, block(1, series))
            elif kind == "Multiline":
                content = block(2, b"".join(block(1, tag) for tag in tags))
            else:
                raise ValueError(f"add_custom_scalars(): no chart is a {kind!r}")
            body += block(2, block(1, title) + content)
        categories += block(2, body)
    data = integer(1, _STRING) + block(2, b"") + block(8, categories)
    return value("custom_scalars__config__", plugin("custom_scalars") + block(8, data))


# --- moving pictures ------------------------------------------------------------------


def video(tag: str, frames: Any, fps: float = 4) -> Summary:
    """[N, T, C, H, W] in 0..1, or bytes: the N side by side, as an animated PNG."""
    pixels = ember.as_tensor(frames, device="cpu").detach()
    if pixels.ndim != 5:
        raise ValueError(f"add_video(): 5 dimensions, not {list(pixels.shape)}")
    scale = 255 if pixels.dtype == ember.uint8 else 1
    pixels = (pixels / scale).clamp(0, 1).permute(1, 3, 0, 4, 2)  # T H N W C
    times, height, count, width, channels = pixels.shape
    pixels = pixels.reshape(times, height, count * width, channels)
    pixels = pixels.expand(-1, -1, -1, 3) if channels == 1 else pixels[..., :3]
    picture = integer(1, height) + integer(2, count * width) + integer(3, 3)
    return value(tag, block(4, picture + block(4, animated_png(pixels, fps))))


def animated_png(frames: Tensor, fps: float) -> bytes:
    """Frames [T, H, W, 3] in 0..1 as one file, which browsers play again and again."""
    parts = [_chunks(png(frame)) for frame in frames]
    height, width = frames.shape[1:3]
    out = [_chunk(b"IHDR", parts[0][b"IHDR"])]
    out.append(_chunk(b"acTL", struct.pack(">II", len(parts), 0)))
    number = 0
    delay = max(1, round(1000 / fps))
    for i, part in enumerate(parts):
        control = struct.pack(
            ">IIIIIHHBB", number, width, height, 0, 0, delay, 1000, 0, 0
        )
        out.append(_chunk(b"fcTL", control))
        number += 1
        if i == 0:
            out.append(_chunk(b"IDAT", part[b"IDAT"]))
        else:
            data = struct.pack(">I", number) + part[b"IDAT"]
            out.append(_chunk(b"fdAT", data))
            number += 1
    return b"\x89PNG\r\n\x1a\n" + b"".join(out) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + data))
    return struct.pack(">I", len(data)) + kind + data + check


def _chunks(file: bytes) -> dict[bytes, bytes]:
    found, at = {}, 8
    while at < len(file):
        (size,) = struct.unpack_from(">I", file, at)
        found[file[at + 4 : at + 8]] = file[at + 8 : at + 8 + size]
        at += size + 12
    return found


# --- embeddings -----------------------------------------------------------------------


def embedding(
    folder: Path, name: str, points: Tensor, labels: Any, images: Any, header: Any
) -> str:
    """Write the files of an embedding; returns its entry of the configuration."""
    place = folder / name
    place.mkdir(parents=True, exist_ok=True)
    rows = ("\t".join(map(repr, row)) for row in points.double().tolist())
    (place / "tensors.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    lines = ["embeddings {", f'tensor_name: "{name}"']
    lines.append(f'tensor_path: "{name}/tensors.tsv"')
    if labels is not None:
        if len(labels) != len(points):
            raise ValueError(
                f"add_embedding(): {len(labels)} labels of {len(points)} points"
            )
        texts = ["\t".join(map(str, r)) if header else str(r) for r in labels]
        first = ["\t".join(header)] if header else []
        text = "\n".join(first + texts) + "\n"
        (place / "metadata.tsv").write_text(text, encoding="utf-8")
        lines.append(f'metadata_path: "{name}/metadata.tsv"')
    if images is not None:
        lines += ["sprite {", f'image_path: "{name}/sprite.png"']
        height, width = images.shape[2:]
        lines += [f"single_image_dim: {width}", f"single_image_dim: {height}", "}"]
        (place / "sprite.png").write_bytes(png(_sprite(images)))
    return "\n".join([*lines, "}"]) + "\n"


def _sprite(images: Tensor) -> Tensor:
    """Pictures [N, C, H, W] as tiles of one square, row by row."""
    count, _, height, width = images.shape
    side = next(n for n in range(1, count + 1) if n * n >= count)
    scale = 255 if images.dtype == ember.uint8 else 1
    tiles = ember.zeros(side * side, 3, height, width)
    tiles[:count] = (images / scale).expand(-1, 3, -1, -1)
    tiles = tiles.view(side, side, 3, height, width).permute(0, 3, 1, 4, 2)
    return tiles.reshape(side * height, side * width, 3)


# --- graphs ---------------------------------------------------------------------------


def graph(model: Any, inputs: Any) -> bytes:
    """The steps of a model, as `ember.fx` finds them, in the message of a graph."""
    from ember import fx
    from ember.fx.passes.shape_prop import ShapeProp

    inputs = inputs if isinstance(inputs, tuple | list) else (inputs,)
    traced = fx.symbolic_trace(model)
    training = model.training
    traced.eval()
    with ember.no_grad():
        ShapeProp(traced).propagate(*inputs)
    model.train(training)
    top = type(model).__name__
    names: dict[Any, str] = {}
    nodes = b""
    for node in traced.graph.nodes:
        path = str(node.target).replace(".", "/") if node.op == "call_module" else ""
        name = f"{top}/{path}/{node.name}" if path else f"{top}/{node.name}"
        names[node] = name = name if node.op != "output" else "output"
        kind = _kind(node, traced)
        body = block(1, name) + block(2, kind)
        body += b"".join(block(3, names[source]) for source in node.all_input_nodes)
        meta = node.meta.get("tensor_meta")
        if hasattr(meta, "shape"):
            sizes = b"".join(block(2, integer(1, size)) for size in meta.shape)
            shapes = block(1, block(7, sizes))  # a list of one shape
            body += block(5, block(1, "_output_shapes") + block(2, shapes))
        nodes += block(1, body)
    return nodes + block(4, integer(1, 22))


def _kind(node: Any, traced: Any) -> str:
    if node.op == "call_module":
        return type(traced.get_submodule(str(node.target))).__name__
    if node.op in ("placeholder", "output", "get_attr"):
        return {"get_attr": "Parameter"}.get(node.op, "IO Node")
    return getattr(node.target, "__name__", str(node.target))
