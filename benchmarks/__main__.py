"""`python -m benchmarks [group ...]`: compares ember with torch; `make bench` does all.

`--help` lists the groups; those that take minutes run only when they are named.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from rich.console import Console
from rich.progress import track

from benchmarks import (
    compiled,
    data,
    decode,
    distributed,
    generation,
    models,
    opencl,
    processes,
    report,
)
from benchmarks.cases import GROUPS, SLOW, TITLES
from benchmarks.timing import Result, measure

OWN_PROCESS = {
    "data": (data.loading, 0.8),
    "decode": (decode.tokens, 0.83),
    "distributed": (distributed.among_ranks, 1.0),
    "opencl": (opencl.against_hand, 1.4),
    "import": (processes.import_time, 0.1),
    "size": (processes.size, 0.25),
    "memory": (processes.memory, 1.0),
    "train_memory": (lambda: processes.training_memory(models.TRAIN), 1.0),
    "models_memory": (lambda: processes.training_memory(models.MODELS), 1.0),
    "transformers": (generation.times, 0.77),
    "transformers_memory": (generation.memory, 0.75),
}
report.BUDGETS = {name: (budget, each) for name, (_, budget, each) in GROUPS.items()}
report.BUDGETS |= {name: (budget, None) for name, (_, budget) in OWN_PROCESS.items()}
report.BUDGETS["compile"] = (0.8, 1.0)


def libraries(threads: int) -> dict[str, Any]:
    """Both, with the same number of threads; torch first, so that it sets itself up."""
    import torch

    import ember

    torch.set_num_threads(threads)
    if hasattr(ember, "set_num_threads"):
        ember.set_num_threads(threads)
    return {"torch": torch, "ember": ember}


def run_cases(
    group: str, options: argparse.Namespace, console: Console
) -> list[Result]:
    libs = libraries(options.threads)
    cases = [c for c in GROUPS[group][0] if options.only in c.name]
    slow = group in ("kernels", "gemm", "half", "quantized", "layers", "conv", "linalg")
    results = []
    for case in track(cases, group, console=console, transient=True):
        case.group = group
        results.append(
            measure(case, libs, options.rounds, seconds=0.03 if slow else 0.01)
        )
        for lib in libs.values():
            lib.set_grad_enabled(True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="group", help=", ".join(TITLES))
    parser.add_argument("--rounds", type=int, default=7, help="times each library gets")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=compiled.WAYS,
        help="a way that the group compile leaves out",
    )
    parser.add_argument("--no-write", action="store_true", help="leave the files alone")
    options = parser.parse_args()
    unknown = set(options.groups) - set(TITLES)
    if unknown:
        parser.error(
            f"no group {', '.join(sorted(unknown))}; there are {', '.join(TITLES)}"
        )
    console = Console()
    before = json.loads(report.RESULTS.read_text()) if report.RESULTS.exists() else None
    found: dict[str, list[Result]] = {}
    for group in options.groups or [g for g in TITLES if g not in SLOW]:
        if group == "compile":
            found[group] = compiled.compare(options)
        elif group in OWN_PROCESS:
            found[group] = OWN_PROCESS[group][0]()
        else:
            found[group] = run_cases(group, options, console)
        report.show(console, group, found[group])
    if before:
        changes(before, found, console)
    if not options.no_write and not options.only:
        import torch

        about = report.machine() | {
            "torch": torch.__version__,
            "threads": options.threads,
        }
        report.write_json(found, about)
        report.write_pages(about)
        console.print(
            "docs/benchmarks.md and benchmarks/results/latest.json are written"
        )


def changes(before: dict, found: dict[str, list[Result]], console: Console) -> None:
    """Cases whose ratio moved by more than a fifth since the stored run."""
    for group, results in found.items():
        old = {row["name"]: row["ratio"] for row in before["groups"].get(group, [])}
        for r in results:
            was = old.get(r.case.name)
            if was and r.ratio and not 0.8 < r.ratio / was < 1.25:
                console.print(
                    f"{group}: {r.case.name}: was {was:.2f}, is {r.ratio:.2f}"
                )


if __name__ == "__main__":
    main()
