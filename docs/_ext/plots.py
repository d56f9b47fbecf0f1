"""Draws the benchmarks for the site from the newest results, for light and dark pages.

Written before Sphinx reads the pages: docs/images/speed-light.svg, speed-dark.svg.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DOCS.parent))

from benchmarks import report  # noqa: E402
from benchmarks.cases import TITLES  # noqa: E402

INK = {"light": "#1c1917", "dark": "#e7e5e4"}
FAINT = {"light": "#d6d3d1", "dark": "#44403c"}
BAR = "#ea580c"


def ratios() -> list[tuple[str, float]]:
    """Title and mean ratio of each group that is compared with PyTorch."""
    groups = report.read_json()
    found = [
        (TITLES[group], report.mean_of(results))
        for group, results in groups.items()
        if group not in report.OPPONENTS
    ]
    return [(title, mean) for title, mean in found if mean is not None]


def draw(path: Path, ink: str, faint: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = ratios()[::-1]
    style = {
        "svg.fonttype": "none",
        "svg.hashsalt": "ember",
        "font.family": "sans-serif",
        "font.size": 11,
        "text.color": ink,
        "axes.labelcolor": ink,
        "xtick.color": ink,
        "ytick.color": ink,
    }
    with pyplot.rc_context(style):
        figure, axes = pyplot.subplots(figsize=(9, 0.34 * len(rows) + 0.9))
        places = range(len(rows))
        axes.barh(places, [1.0] * len(rows), color=faint, height=0.72)
        axes.barh(places, [mean for _, mean in rows], color=BAR, height=0.72)
        for place, (_, mean) in enumerate(rows):
            axes.text(mean + 0.012, place, f"{mean:.2f}", va="center", color=ink)
        axes.set_yticks(places, [title for title, _ in rows])
        axes.set_xlim(0, max(1.08, *(mean + 0.08 for _, mean in rows)))
        axes.set_xlabel("time or memory of ember, where PyTorch takes 1")
        for side in ("top", "right", "left", "bottom"):
            axes.spines[side].set_visible(False)
        axes.tick_params(length=0)
        figure.savefig(
            path, transparent=True, bbox_inches="tight", metadata={"Date": None}
        )
        pyplot.close(figure)


def write(app: Any) -> None:
    images = DOCS / "images"
    images.mkdir(exist_ok=True)
    for scheme in INK:
        path = images / f"speed-{scheme}.svg"
        newest = max(report.RESULTS.stat().st_mtime, Path(__file__).stat().st_mtime)
        if not path.exists() or path.stat().st_mtime < newest:
            draw(path, INK[scheme], FAINT[scheme])


def setup(app: Any) -> dict[str, Any]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
