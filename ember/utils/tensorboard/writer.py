"""SummaryWriter: scalars, histograms, images, texts, sounds, hyperparameters; graphs,
meshes, embeddings and videos are made in `tabs`."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import ember
from ember.utils.tensorboard import summary as _summary, tabs as _tabs
from ember.utils.tensorboard._png import png
from ember.utils.tensorboard.record import (
    block,
    double,
    doubles,
    integer,
    record,
)


class FileWriter:
    """Appends events to one file, which TensorBoard finds by its name."""

    _count = 0

    def __init__(self, log_dir: str, filename_suffix: str = "") -> None:
        os.makedirs(log_dir, exist_ok=True)
        FileWriter._count += 1
        place = f"{socket.gethostname()}.{os.getpid()}.{FileWriter._count}"
        name = f"events.out.tfevents.{int(time.time())}.{place}{filename_suffix}"
        self.path = Path(log_dir) / name
        self._lock = threading.Lock()
        self._file = open(self.path, "ab")  # noqa: SIM115 - closed by close()
        self._write(block(3, "brain.Event:2"), None, None)

    def _write(self, content: bytes, step: int | None, wall_time: float | None) -> None:
        event = double(1, time.time() if wall_time is None else wall_time)
        if step is not None:
            event += integer(2, step)
        with self._lock:
            self._file.write(record(event + content))

    def get_logdir(self) -> str:
        """Where the file is."""
        return str(self.path.parent)

    def add_summary(
        self,
        summary: Any,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Append a summary, of `ember.utils.tensorboard.summary` or TensorBoard's."""
        self._write(block(5, summary.SerializeToString()), global_step, walltime)

    def flush(self) -> None:
        """Hand what was written to the system."""
        with self._lock:
            self._file.flush()

    def close(self) -> None:
        """Flush, and end the file."""
        with self._lock:
            self._file.close()


def _host(x: Any) -> ember.Tensor:
    return ember.as_tensor(x, device="cpu").detach()


def _number_of_bins(data: ember.Tensor) -> int:
    """NumPy's rule "auto": the finer of Sturges' and Freedman and Diaconis' bins."""
    spread = float(data.max() - data.min())
    width = spread / (math.log2(len(data)) + 1)
    if len(data) <= 1_000_000:
        quarters = ember.tensor([0.25, 0.75], dtype=data.dtype, device="cpu")
        low, high = data.quantile(quarters).tolist()
        between = 2 * (high - low) / len(data) ** (1 / 3)
        width = min(width, between) if between else width
    return math.ceil(spread / width) if width else 1


class SummaryWriter:
    """Writes what TensorBoard shows, into `log_dir`.

    >>> import tempfile, ember
    >>> from ember.utils.tensorboard import SummaryWriter
    >>> writer = SummaryWriter(tempfile.mkdtemp())
    >>> writer.add_histogram("weights", ember.randn(100), 0)
    >>> writer.close()
    """

    def __init__(
        self,
        log_dir: str | os.PathLike | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if log_dir is None:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = str(log_dir)
        self.filename_suffix = filename_suffix
        self._flush_seconds = flush_secs
        self._flushed = time.monotonic()
        self._writers: dict[str, FileWriter] = {}
        self._writer(self.log_dir)

    def get_logdir(self) -> str:
        """Where the files are."""
        return self.log_dir

    def _writer(self, folder: str) -> FileWriter:
        if folder not in self._writers:
            self._writers[folder] = FileWriter(folder, self.filename_suffix)
        return self._writers[folder]

    def _get_file_writer(self) -> FileWriter:
        """The writer of `log_dir`, made anew if it was closed."""
        return self._writer(self.log_dir)

    @property
    def file_writer(self) -> FileWriter:
        """The writer of `log_dir`."""
        return self._get_file_writer()

    def _add(
        self,
        summary: _summary.Summary,
        step: int | None,
        wall_time: float | None,
        folder: str | None = None,
    ) -> None:
        writer = self._writer(folder or self.log_dir)
        writer.add_summary(summary, step, wall_time)
        if time.monotonic() - self._flushed > self._flush_seconds:
            self.flush()

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """A point of a curve."""
        self._add(_summary.scalar(tag, scalar_value), global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Points of several curves in one plot; each gets a folder of its own."""
        for tag, value in tag_scalar_dict.items():
            folder = os.path.join(self.log_dir, main_tag.replace("/", "_") + "_" + tag)
            point = _summary.scalar(main_tag, value)
            self._add(point, global_step, walltime, folder)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: int | str | Sequence[float] = "auto",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """How values are distributed.

        `bins` are a number, their edges, "tensorflow" (200) or one of NumPy's rules.
        """
        data = _host(values).double().flatten()
        data = data[data.isfinite()]
        if len(data) == 0:
            raise ValueError(f"add_histogram(): '{tag}' has no finite value")
        if bins == "tensorflow":
            bins = 200
        elif bins == "auto":
            bins = _number_of_bins(data)
        elif isinstance(bins, str):
            from numpy import histogram_bin_edges

            bins = histogram_bin_edges(data.numpy(), bins).tolist()
        cuts: Any = bins if isinstance(bins, int) else _host(bins).double()
        counts, edges = data.histogram(cuts)
        if max_bins is not None and len(counts) > max_bins:
            counts, edges = data.histogram(max_bins)
        histogram = (
            double(1, data.min().item())
            + double(2, data.max().item())
            + double(3, len(data))
            + double(4, data.sum().item())
            + double(5, data.square().sum().item())
            + doubles(6, edges[1:].tolist())
            + doubles(7, counts.tolist())
        )
        self._add(_summary.value(tag, block(5, histogram)), global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """A picture: values in 0..1, or bytes."""
        pixels = _host(img_tensor)
        if len(dataformats) != pixels.ndim or set(dataformats) - set("CHW"):
            raise ValueError(
                f"add_image(): dataformats '{dataformats}' does not fit an image of "
                f"shape {tuple(pixels.shape)}"
            )
        order = [dataformats.index(axis) for axis in "HWC" if axis in dataformats]
        pixels = pixels.permute(order)
        if pixels.ndim == 2:
            pixels = pixels.unsqueeze(2)
        scale = 255 if pixels.dtype == ember.uint8 else 1
        pixels = (pixels / scale).clamp(0, 1)
        if pixels.shape[2] == 1:
            pixels = pixels.expand(-1, -1, 3)
        height, width = pixels.shape[:2]
        picture = (
            integer(1, height)
            + integer(2, width)
            + integer(3, 3)
            + block(4, png(pixels[..., :3]))
        )
        self._add(_summary.value(tag, block(4, picture)), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """A batch of pictures, side by side."""
        pixels = _host(img_tensor)
        order = [dataformats.index(axis) for axis in "NHWC"]
        row = ember.cat(pixels.permute(order).unbind(), 1)
        self.add_image(tag, row, global_step, walltime, dataformats="HWC")

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """A text, in Markdown."""
        self._add(_summary.text(tag, text_string), global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """A figure of matplotlib, or several, side by side."""
        from matplotlib import pyplot
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        figures = figure if isinstance(figure, list) else [figure]
        pictures = []
        for one in figures:
            canvas = FigureCanvasAgg(one)
            canvas.draw()
            wide, high = canvas.get_width_height()
            pixels = ember.frombuffer(
                bytearray(canvas.buffer_rgba()), dtype=ember.uint8
            )
            pictures.append(pixels.reshape(high, wide, 4)[..., :3])
            if close:
                pyplot.close(one)
        row = ember.cat(pictures, 1)
        self.add_image(tag, row, global_step, walltime, dataformats="HWC")

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """A sound: values in -1..1, `sample_rate` a second."""
        sound = _summary.audio(tag, snd_tensor, sample_rate)
        self._add(sound, global_step, walltime)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Precision and recall of predictions in 0..1 of labels that are 0 or 1."""
        curve = _summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(curve, global_step, walltime)

    def add_graph(self, model: Any, input_to_model: Any, verbose: bool = False) -> None:
        """The steps of a model, which must be one that `ember.fx` can trace."""
        graph = _tabs.graph(model, input_to_model)
        self.file_writer._write(block(4, graph), None, None)
        if verbose:
            print(model)

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Points [N, D] for the projector, with labels and pictures [N, C, H, W]."""
        points = _host(mat)
        if points.ndim != 2:
            raise ValueError(f"add_embedding(): points of shape {list(points.shape)}")
        images = None if label_img is None else _host(label_img)
        if images is not None and len(images) != len(points):
            raise ValueError(
                f"add_embedding(): {len(images)} pictures of {len(points)} points"
            )
        name = f"{global_step or 0:05d}/{tag}"
        folder = Path(self.log_dir)
        entry = _tabs.embedding(folder, name, points, metadata, images, metadata_header)
        with open(folder / "projector_config.pbtxt", "a", encoding="utf-8") as file:
            file.write(entry)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: int | None = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Moving pictures [N, T, C, H, W]: values in 0..1, or bytes."""
        self._add(_tabs.video(tag, vid_tensor, fps), global_step, walltime)

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: dict[str, Any] | None = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Points [B, N, 3] in space, with colours [B, N, 3] and triangles [B, M, 3]."""
        parts = _tabs.mesh(tag, vertices, colors, faces, config_dict)
        self._add(parts, global_step, walltime)

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Charts of several curves: {category: {chart: ["Multiline", [tags]]}}, or of a
        curve with its margins: ["Margin", [middle, lower, upper]]."""
        self._add(_tabs.custom_scalars(layout), None, None)

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Hyperparameters and what came of them, as a run of its own."""
        parts = _summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        with SummaryWriter(folder) as run:
            for part in parts:
                run.file_writer.add_summary(part, global_step)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    def flush(self) -> None:
        """Hand what was written to the system."""
        self._flushed = time.monotonic()
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Flush and end the files."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
