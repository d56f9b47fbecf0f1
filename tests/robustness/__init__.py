"""Processes killed at random moments, and what they leave behind.

A scenario is a module with a function `one_round(draw, folder) -> str`: it starts a
program in an empty folder, kills it or a part of it, checks that nothing is lost or
left, and says what was killed. What is wrong is an AssertionError. A module may have
`ROUNDS`, how many a full run does, and `missing() -> str`, why it can't run here.
"""

import importlib
import random
import tempfile
from collections import Counter
from collections.abc import Callable

SCENARIOS = ("workers", "save", "opencl", "compile", "ranks")


def run(
    name: str, rounds: int, seed: int, report: Callable[[str], None] = lambda text: None
) -> Counter[str]:
    """That many rounds of a scenario; how often what was killed."""
    one_round = importlib.import_module(f"tests.robustness.{name}").one_round
    found: Counter[str] = Counter()
    for i in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            try:
                found[one_round(random.Random(f"{seed}/{i}"), folder)] += 1
            except AssertionError as error:
                where = f"{name}, round {i} of seed {seed}"
                raise AssertionError(f"{where}: {error}") from error
        if i % 20 == 19:
            report(f"{name}: {i + 1} rounds")
    return found


def missing(name: str) -> str:
    """Why a scenario can't run here; empty if it can."""
    module = importlib.import_module(f"tests.robustness.{name}")
    return getattr(module, "missing", str)()
