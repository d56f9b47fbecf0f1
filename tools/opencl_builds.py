"""Which kernels the driver's compiler takes longest to build.

    python tools/opencl_builds.py [--top N] [--limit SECONDS] [arguments for pytest]

Runs the tests of OpenCL (or what the arguments say) with empty caches, and prints the
slowest kernels and the total, in seconds of CPU. It fails if the tests fail, or if a
kernel takes longer than the limit.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Build(NamedTuple):
    """One line of the file that EMBER_OPENCL_BUILD_LOG names."""

    how: str
    cpu: float
    wall: float
    kernel: str
    device: str
    driver: str


def read_log(text: str) -> list[Build]:
    """The builds of a log; lines that are cut off are left out."""
    builds = []
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) == len(Build._fields):
            how, cpu, wall, *names = fields
            builds.append(Build(how, float(cpu), float(wall), *names))
    return builds


def table(builds: list[Build], top: int) -> str:
    """The slowest builds, and those of each kernel together."""
    made = sorted((b for b in builds if b.how != "cached"), key=lambda b: -b.cpu)
    if not made:
        return "no kernel was built"
    lines = [f"{'CPU s':>8} {'s':>8}  kernel"]
    for b in made[:top]:
        failed = "" if b.how == "built" else f" ({b.how})"
        lines.append(f"{b.cpu:8.2f} {b.wall:8.2f}  {b.kernel}{failed}")
    sums: dict[str, list[float]] = defaultdict(list)
    for b in made:
        sums[b.kernel].append(b.cpu)
    lines += ["", f"{'CPU s':>8} {'builds':>8}  of one name, together"]
    by_sum = sorted(sums.items(), key=lambda item: -sum(item[1]))
    lines += [f"{sum(v):8.2f} {len(v):8}  {name}" for name, v in by_sum[:top]]
    total = sum(b.cpu for b in made)
    drivers = ", ".join(sorted({f"{b.driver} on {b.device}" for b in made}))
    lines += ["", f"{total:8.2f} {len(made):8}  all; {drivers}"]
    return "\n".join(lines)


def main() -> int:
    """Run the tests, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--top", type=int, default=20, help="lines of each table")
    parser.add_argument("--limit", type=float, default=5, help="seconds of CPU")
    options, arguments = parser.parse_known_args()
    tests = arguments or ["-q", "tests/opencl"]
    with tempfile.TemporaryDirectory(prefix="ember-builds-") as scratch:
        log = Path(scratch) / "log"
        caches = {
            "EMBER_TEST_CACHE": f"{scratch}/cache",
            "EMBER_OPENCL_BUILD_LOG": str(log),
        }
        code = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *tests],
            env={**os.environ, **caches},
            cwd=ROOT,
            check=False,
        ).returncode
        builds = read_log(log.read_text()) if log.exists() else []
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(table(builds, options.top))
    print(f"{used.ru_utime + used.ru_stime:8.2f} {'':8}  the whole run")
    slow = {b.kernel for b in builds if b.cpu > options.limit}
    if slow:
        print(f"over {options.limit} s: {', '.join(sorted(slow))}")
    return code or bool(slow)


if __name__ == "__main__":
    sys.exit(main())
