"""Results as a table on the terminal, as docs/benchmarks.md and as JSON."""

from __future__ import annotations

import json
import platform
from datetime import date
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.cases import TITLES
from benchmarks.timing import Result, geometric_mean

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "benchmarks.md"
README = ROOT / "README.md"
RESULTS = ROOT / "benchmarks" / "results" / "latest.json"

# Of groups that are not compared with torch.
OPPONENTS = {"opencl": "by hand", "compile": "the better of torch.compile, jax.jit"}
BUDGETS: dict[str, tuple[float, float | None]] = {}  # filled by __main__


def amount(value: float | None, group: str) -> str:
    """A time, or a size in MB."""
    if value is None:
        return ""
    if group == "size" or group.endswith("memory"):
        return f"{value:.0f} MB"
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value / 1e-9:.3g} ns"


def mean_of(results: list[Result]) -> float | None:
    ratios = [r.ratio for r in results if r.ratio is not None]
    return geometric_mean(ratios) if ratios else None


def show(console: Console, group: str, results: list[Result]) -> None:
    budget, each = BUDGETS[group]
    limit = f"budget {budget:g}" + (f", none above {each:g}" if each else "")
    table = Table(title=f"{TITLES[group]} ({limit})", title_justify="left")
    table.add_column("what")
    for column in (OPPONENTS.get(group, "torch"), "ember", "ratio"):
        table.add_column(column, justify="right")
    for r in results:
        ratio = r.ratio
        if ratio is None:
            theirs = amount(r.seconds.get("torch"), group)
            why = f"[dim]{escape(r.missing[:40])}[/dim]"
            table.add_row(escape(r.case.name), theirs, "-", why)
            continue
        colour = (
            "green" if ratio <= budget else "red" if ratio > (each or 1) else "yellow"
        )
        table.add_row(
            escape(r.case.name),
            amount(r.seconds["torch"], group),
            amount(r.seconds["ember"], group),
            f"[{colour}]{ratio:.2f}[/{colour}]",
        )
    mean = mean_of(results)
    if mean is not None and len(results) > 1:
        colour = "green" if mean <= budget else "red"
        table.add_section()
        table.add_row("geometric mean", "", "", f"[bold {colour}]{mean:.2f}[/]")
    console.print(table)


def machine() -> dict[str, Any]:
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(x.split(": ")[1] for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "cpu": model,
        "python": platform.python_version(),
        "date": str(date.today()),
    }


def summary(groups: dict[str, list[Result]]) -> list[str]:
    lines = ["| what | ember / PyTorch | budget |", "| --- | --- | --- |"]
    for group, results in groups.items():
        mean = mean_of(results)
        if mean is not None and group not in OPPONENTS:
            lines.append(f"| {TITLES[group]} | {mean:.2f} | {BUDGETS[group][0]:g} |")
    return lines


def write_json(groups: dict[str, list[Result]], about: dict[str, Any]) -> None:
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"groups": {}}
    for group, results in groups.items():
        known["groups"][group] = [
            {
                "name": r.case.name,
                "torch": r.seconds.get("torch"),
                "ember": r.seconds.get("ember"),
                "ratio": r.ratio,
                "missing": r.missing or None,
            }
            for r in results
        ]
    known["machine"] = about
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(known, indent=1) + "\n")


def read_json() -> dict[str, list[Result]]:
    """All groups of the stored results, newest run of each."""
    from benchmarks.timing import Case

    groups: dict[str, list[Result]] = {}
    for group, rows in json.loads(RESULTS.read_text())["groups"].items():
        for row in rows:
            result = Result(
                Case(row["name"], "", group=group), missing=row["missing"] or ""
            )
            result.seconds = {
                n: row[n] for n in ("torch", "ember") if row[n] is not None
            }
            groups.setdefault(group, []).append(result)
    return {group: groups[group] for group in TITLES if group in groups}


def write_pages(about: dict[str, Any]) -> None:
    groups = read_json()
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench` (`python -m benchmarks`): torch and ember take turns",
        "in one process, with two threads each, and the best of several rounds counts.",
        "A ratio below 1 means that ember takes less. Budgets are limits for the",
        "geometric mean of a group.",
        "",
        ", ".join(
            [about["cpu"], f"Python {about['python']}", f"torch {about['torch']}"]
        )
        + f", {about['date']}.",
        "",
        *summary(groups),
    ]
    for group, results in groups.items():
        budget, each = BUDGETS[group]
        limit = f"budget {budget:g}" + (f", none above {each:g}" if each else "")
        lines += [
            "",
            f"## {TITLES[group]}",
            "",
            f"`python -m benchmarks {group}`; {limit}.",
            "",
        ]
        theirs = OPPONENTS.get(group, "torch")
        lines += [f"| what | {theirs} | ember | ratio |", "| --- | --- | --- | --- |"]
        for r in results:
            name = r.case.name.replace("|", "\\|")
            cells = [amount(r.seconds.get(n), group) for n in ("torch", "ember")]
            ratio = "-" if r.ratio is None else f"{r.ratio:.2f}"
            lines.append(f"| {name} | {cells[0]} | {cells[1]} | {ratio} |")
    PAGE.write_text("\n".join(lines) + "\n")
    begin, end = "<!-- benchmarks: begin -->\n", "<!-- benchmarks: end -->"
    text = README.read_text()
    if begin in text and end in text:
        head, rest = text.split(begin)
        tail = rest.split(end)[1]
        table = "\n".join(summary(groups)) + "\n"
        README.write_text(head + begin + table + end + tail)
