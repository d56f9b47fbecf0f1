"""DataLoaders with two workers: a pass over a dataset, both libraries in turns."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.timing import Case, Result


class Images:
    """Float images made by a little NumPy work, as decoding and cropping would."""

    def __init__(self, count: int = 2048) -> None:
        self.count = count
        self.source = np.random.default_rng(0).integers(0, 255, (3, 256, 256), np.uint8)

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, i: int):
        y, x = i % 32, i // 32 % 32
        crop = self.source[:, y : y + 224, x : x + 224]
        return crop.astype(np.float32) / np.float32(255), i % 10


class Rows:
    """Samples of a few numbers."""

    def __init__(self, count: int = 100_000) -> None:
        self.values = np.random.default_rng(0).random((count, 4), dtype=np.float32)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, i: int):
        return self.values[i], i % 2


class Tensors(Rows):
    """The same, as tensors of the library."""

    def __init__(self, library: Any, count: int = 100_000) -> None:
        super().__init__(count)
        self.values = library.from_numpy(self.values)


def one_pass(library: Any, dataset: Any, batch_size: int) -> float:
    loader = library.utils.data.DataLoader(
        dataset, batch_size, shuffle=True, num_workers=2
    )
    start = time.perf_counter()
    for x, _ in loader:
        x.sum()  # the batch is read, as training would read it
    return time.perf_counter() - start


def loading(rounds: int = 3) -> list[Result]:
    import torch

    import ember

    results = []
    for label, make, batch_size in (
        ("2048 images of 3x224x224, batches of 32", lambda lib: Images(), 32),
        ("100,000 rows of 4 floats, batches of 64", lambda lib: Rows(), 64),
        ("100,000 rows as tensors, batches of 64", Tensors, 64),
    ):
        result = Result(Case(label, "", group="data"))
        data = {"torch": make(torch), "ember": make(ember)}
        for _ in range(rounds):
            for name, library in (("torch", torch), ("ember", ember)):
                took = one_pass(library, data[name], batch_size)
                result.seconds[name] = min(took, result.seconds.get(name, took))
        results.append(result)
    return results
