"""The figures of scale.py as one picture: log-log, with the slope of every line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

PHASES = ("read", "sort", "sweeps", "write")


def draw(figures: dict[str, list[dict[str, Any]]], path: Path) -> Path:
    """Time by phase above, memory below; a column a thing that grows. Also as SVG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [name for name in figures if not name.startswith("crowd-kit")]
    picture, axes = pyplot.subplots(2, len(names), figsize=(4 * len(names), 7), squeeze=False)
    for column, name in enumerate(names):
        points = [point for point in figures[name] if "failed" not in point]
        for phase in PHASES:
            _line(axes[0][column], points, [point["phases"][phase] for point in points], phase)
        _line(axes[1][column], points, [point["peak_gib"] for point in points], "finegold")
        if name == "votes":
            _rivals(axes[:, column], figures)
        for row, what in enumerate(("seconds", "peak GiB")):
            axes[row][column].set(xscale="log", yscale="log", xlabel=name, ylabel=what)
            axes[row][column].legend(fontsize=7)
    picture.tight_layout()
    for kind in (".png", ".svg"):
        picture.savefig(path.with_suffix(kind), dpi=120)
    return path


def _rivals(axes: Any, figures: dict[str, list[dict[str, Any]]]) -> None:
    for name, all_points in figures.items():
        points = [point for point in all_points if "failed" not in point]
        if name.startswith("crowd-kit") and points:
            _line(axes[0], points, [point["seconds"] for point in points], name, style="--")
            _line(axes[1], points, [point["peak_gib"] for point in points], name, style="--")
            for point in all_points:
                if "failed" in point:
                    axes[0].axvline(point["size"], linestyle=":", color="grey", linewidth=1)
                    axes[0].annotate(f"{name}: {point['failed']}", (point["size"], 1), fontsize=5, rotation=90)


def _line(axes: Any, points: list[dict[str, Any]], values: list[float], name: str, style: str = "-") -> None:
    sizes = [point["size"] for point in points]
    positive = np.maximum(values, 1e-4)
    slope = np.polyfit(np.log(sizes), np.log(positive), 1)[0] if len(sizes) > 1 else float("nan")
    axes.plot(sizes, positive, style, marker="o", markersize=3, label=f"{name} (slope {slope:.2f})")
