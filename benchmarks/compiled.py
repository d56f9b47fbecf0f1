"""`python -m benchmarks compile`, or `python -m benchmarks.compiled` for one number of
threads: the programs of compile_programs.py and compile_more.py by torch,
torch.compile, jax.jit (where it is installed), ember and ember.compile, in turn;
microseconds, the best of many.

`first` is the CPU time of the first call in milliseconds, with empty caches of ember's
machine code. torch.compile takes minutes for some programs: `--without torch.compile`.
On a machine that has other work to do, `--cpu` counts the CPU time of the process.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from typing import Any

import benchmarks.compile_more  # noqa: F401 - it adds programs
from benchmarks.compile_programs import PROGRAMS, Way, jax_names
from benchmarks.timing import Case, Result

WAYS = ("torch", "torch.compile", "jax.jit", "ember", "ember.compile")
OTHERS = ("torch.compile", "jax.jit")  # that ember.compile is compared with


def as_it_is(function: Any) -> Any:
    return function


def ways(without: list[str], threads: int) -> dict[str, Way]:
    """Those that are here, by name."""
    found: dict[str, Way] = {}
    wanted = [name for name in WAYS if name not in without]
    if {"torch", "torch.compile"} & set(wanted):
        import torch

        torch.set_num_threads(threads)
        found["torch"] = Way(torch, as_it_is)
        found["torch.compile"] = Way(torch, torch.compile)
    if "jax.jit" in wanted and importlib.util.find_spec("jax"):
        flags = f"--xla_cpu_multi_thread_eigen={threads > 1}".lower()
        os.environ.setdefault("XLA_FLAGS", flags)
        import jax  # type: ignore[import-not-found]

        def compile(function: Any) -> Any:
            jitted = jax.jit(function)
            return lambda *args: jax.block_until_ready(jitted(*args))

        found["jax.jit"] = Way(jax_names(jax), compile)
    import ember

    ember.set_num_threads(threads)
    found["ember"] = Way(ember, as_it_is)
    found["ember.compile"] = Way(ember, ember.compile(mode="max-autotune"))
    return {name: found[name] for name in wanted if name in found}


def measure(
    name: str, found: dict[str, Way], seconds: float, clock: Any = time.perf_counter
) -> dict[str, Any]:
    """Times, first calls, and why a way has none."""
    runs, first, sums, missing = {}, {}, {}, {}
    for way, T in found.items():
        T.seed()
        try:
            runs[way] = PROGRAMS[name](T)
            start = time.process_time()
            sums[way] = float(runs[way]())
            first[way] = (time.process_time() - start) * 1e3
            for _ in range(3):
                runs[way]()
        except Exception as error:
            runs.pop(way, None)
            missing[way] = f"{type(error).__name__}: {error}".splitlines()[0]
    best = dict.fromkeys(runs, math.inf)
    end = time.perf_counter() + seconds * len(runs)
    turns = 0
    while turns < 5 or time.perf_counter() < end:
        turns += 1
        for way, run in runs.items():
            time.sleep(0.001)  # the other library's threads stop spinning meanwhile
            start = clock()
            run()
            best[way] = min(best[way], clock() - start)
    times = {way: spent * 1e6 for way, spent in best.items()}
    return {"times": times, "first": first, "sums": sums, "missing": missing}


def agree(sums: dict[str, float]) -> bool:
    """Whether all ways computed the same, but for rounding."""
    values = list(sums.values())
    return all(math.isclose(v, values[-1], rel_tol=1e-3) for v in values)


def show(name: str, found: dict[str, Any]) -> None:
    cells = []
    for way in WAYS:
        if way in found["times"]:
            spent, first = found["times"][way], found["first"][way]
            cells.append(f"{spent:9.0f} ({first:6.0f})")
        else:
            cells.append(" " * 17 + "-")
    print(f"{name:14s}", *cells, "" if agree(found["sums"]) else "  DISAGREE")
    for way, why in found["missing"].items():
        print(f"{'':14s} {way}: {why[:90]}")


def compare(options: argparse.Namespace) -> list[Result]:
    """Both numbers of threads, each in a process of its own."""
    results = []
    for threads in sorted({1, options.threads}):
        with tempfile.NamedTemporaryFile("r", suffix=".json") as file:
            command = [sys.executable, "-m", "benchmarks.compiled"]
            command += ["--threads", str(threads), "--json", file.name]
            command += ["--only", options.only]
            for way in options.without:
                command += ["--without", way]
            subprocess.run(command, check=True)
            for name, found in json.load(file).items():
                results.append(_result(f"{name}, {threads} threads", found))
    return results


def _result(name: str, found: dict[str, Any]) -> Result:
    """ember.compile beside the better one of the other compilers."""
    result = Result(Case(name, "", group="compile"))
    others = [found["times"][way] for way in OTHERS if way in found["times"]]
    if others:
        result.seconds["torch"] = min(others) / 1e6
    if "ember.compile" in found["times"]:
        result.seconds["ember"] = found["times"]["ember.compile"] / 1e6
    result.missing = found["missing"].get("ember.compile", "")
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each way")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--without", action="append", default=[], choices=WAYS)
    parser.add_argument("--cpu", action="store_true", help="CPU time, for one thread")
    parser.add_argument("--json", help="a file to write what was found to")
    options = parser.parse_args()
    os.environ.setdefault("EMBER_JIT_CACHE", "")
    found_ways = ways(options.without, options.threads)
    clock = time.process_time if options.cpu else time.perf_counter
    print(f"{options.threads} threads; us (ms of CPU of the first call)")
    print(f"{'':14s}", *(f"{way:>18s}" for way in WAYS))
    found = {}
    for name in PROGRAMS:
        if options.only in name:
            found[name] = measure(name, found_ways, options.seconds, clock)
            show(name, found[name])
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file)


if __name__ == "__main__":
    main()
