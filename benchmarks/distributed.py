"""Collectives from 1 KB to 100 MB and data parallel training steps, for 2 and 4 ranks.

Every rank has both libraries, each with a group of its own: torch's is gloo. They take
turns in the same processes. The slowest rank counts, and of several rounds the best.
"""

from __future__ import annotations

import functools
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from typing import Any

from benchmarks import models
from benchmarks.timing import Case, Result

RANKS = (2, 4)
SIZES = {
    "1 KB": 1 << 10,
    "64 KB": 1 << 16,
    "1 MB": 1 << 20,
    "16 MB": 1 << 24,
    "100 MB": 100 << 20,
}
COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast")
STEPS = {
    "gpt": ("GPT, 6 layers of 384, batch 2 x 256 a rank", 2),
    "resnet50": ("ResNet-50, batch 2 x 224 x 224 a rank", 2),
}
ROUNDS, SECONDS = 5, 0.3  # of a case, each library; and of a round
Call = Callable[[], Any]


def collective(t: Any, name: str, size: int, ranks: int) -> Call:
    """A call on a tensor of `size` bytes. It holds zeros: sums of sums stay finite."""
    dist, count = t.distributed, size // 4 // ranks * ranks
    whole, part = t.zeros(count), t.zeros(count // ranks)
    if name == "all_reduce":
        return lambda: dist.all_reduce(whole)
    if name == "all_gather":
        return lambda: dist.all_gather_single(whole, part)
    if name == "reduce_scatter":
        return lambda: dist.reduce_scatter_single(part, whole)
    return lambda: dist.broadcast(whole, 0)


def training_step(t: Any, name: str, batch: int) -> Call:
    """A step of a model in `DistributedDataParallel`."""
    wrap = t.nn.parallel.DistributedDataParallel
    return models.make(t, name, batch=batch, wrap=wrap)


def cases(ranks: int, only: str = "") -> dict[str, Callable[[Any], Call]]:
    """By name, what makes the call for a library."""
    found: dict[str, Callable[[Any], Call]] = {}
    for name in COLLECTIVES:
        for label, size in SIZES.items():
            make = functools.partial(collective, name=name, size=size, ranks=ranks)
            found[f"{name}, {label}, {ranks} ranks"] = make
    for name, (label, batch) in STEPS.items():
        make = functools.partial(training_step, name=name, batch=batch)
        found[f"{label}, {ranks} ranks"] = make
    return {name: make for name, make in found.items() if only in name}


def libraries(rank: int, ranks: int, folder: str) -> dict[str, Any]:
    """Both, with one thread, in a group of gloo and one of MPI."""
    import torch
    import torch.distributed

    import ember
    import ember.distributed

    found = {"torch": torch, "ember": ember}
    for name, library in found.items():
        library.set_num_threads(1)
        library.distributed.init_process_group(
            "gloo", init_method=f"file://{folder}/{name}", rank=rank, world_size=ranks
        )
    return found


def repeats(library: Any, call: Call, seconds: float) -> int:
    """How often all ranks call it in a round."""
    call()
    start = time.perf_counter()
    call()
    wanted = seconds / max(time.perf_counter() - start, 1e-7)
    number = library.tensor([min(max(int(wanted), 1), 2000)])
    library.distributed.broadcast(number, 0)
    return int(number)


def measure(
    libs: dict[str, Any], make: Callable[[Any], Call], rounds: int, seconds: float
) -> dict[str, list[float]]:
    """Seconds of a call on this rank, by library and round."""
    calls = {name: make(library) for name, library in libs.items()}
    numbers = {name: repeats(libs[name], call, seconds) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in libs}
    for _ in range(rounds):
        for name, call in calls.items():
            libs[name].distributed.barrier()
            start = time.perf_counter()
            for _ in range(numbers[name]):
                call()
            times[name].append((time.perf_counter() - start) / numbers[name])
    return times


def _rank(
    rank: int,
    ranks: int,
    only: str,
    folder: str,
    rounds: int,
    seconds: float,
    answers: Any,
) -> None:
    libs = libraries(rank, ranks, folder)
    for name, make in cases(ranks, only).items():
        try:
            answers.put((rank, name, measure(libs, make, rounds, seconds), ""))
        except Exception as error:  # the same on all ranks
            answers.put((rank, name, {}, f"{type(error).__name__}: {error}"))
    for library in libs.values():
        library.distributed.destroy_process_group()


def _run(ranks: int, rounds: int, seconds: float, only: str) -> list[Result]:
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        given = (ranks, only, folder, rounds, seconds, answers)
        processes = [
            context.Process(target=_rank, args=(rank, *given)) for rank in range(ranks)
        ]
        for process in processes:
            process.start()
        try:
            results = []
            for name in cases(ranks, only):
                result = Result(Case(name, "", group="distributed"))
                found = [answers.get(timeout=600) for _ in range(ranks)]
                result.missing = next((why for *_, why in found if why), "")
                if not result.missing:
                    result.seconds = _slowest([times for _, _, times, _ in found])
                results.append(result)
            return results
        finally:
            for process in processes:
                process.join(20)
                process.kill()


def _slowest(times: list[dict[str, list[float]]]) -> dict[str, float]:
    """By library, the best round of the slowest rank."""
    return {
        name: min(max(rounds) for rounds in zip(*(each[name] for each in times)))
        for name in times[0]
    }


def among_ranks(
    rounds: int = ROUNDS, seconds: float = SECONDS, only: str = ""
) -> list[Result]:
    """All cases, or those whose name contains `only`."""
    return [result for ranks in RANKS for result in _run(ranks, rounds, seconds, only)]
