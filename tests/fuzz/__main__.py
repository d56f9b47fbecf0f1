"""Compares ember with torch on random programs: `python -m tests.fuzz --minutes 10`.

Needs torch. Each difference is shrunk to a small one and printed; the exit code is 1
if there was any. `--only views` runs one property, `--seed 7` repeats a run.
"""

from __future__ import annotations

import argparse
import sys
import time

import hypothesis
import torch

import ember
from tests.fuzz.properties import NAMES, properties


def message(error: BaseException) -> str:
    """The first difference, without Hypothesis' explanations."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    lines = [line for line in str(error).strip().splitlines() if line.strip()]
    return f"{type(error).__name__}: " + " ".join(lines)[:600]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", choices=NAMES, action="append")
    options = parser.parse_args()
    torch.set_num_threads(1)
    end = time.monotonic() + 60 * options.minutes
    differences: dict[str, set[str]] = {}
    examples, seed = 0, options.seed
    names = options.only or NAMES
    while time.monotonic() < end:
        for name in names:
            settings = hypothesis.settings(
                max_examples=200,
                deadline=None,
                database=None,
                derandomize=False,
                suppress_health_check=list(hypothesis.HealthCheck),
                report_multiple_bugs=True,
                print_blob=False,
            )
            test = hypothesis.seed(seed)(settings(properties(ember, torch)[name]))
            try:
                test()
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                text = message(error)
                if text not in differences.setdefault(name, set()):
                    differences[name].add(text)
                    print(f"\n{name} (seed {seed}): {text}", flush=True)
            examples += 200
            if time.monotonic() > end:
                break
        seed += 1
    count = sum(map(len, differences.values()))
    print(f"\nfuzz: about {examples} examples, {count} differences")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
