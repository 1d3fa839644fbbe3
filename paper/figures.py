"""The figures of the paper. A method looks alike in all of them, and also differs in grey."""

from __future__ import annotations

import io
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from paper.outcomes import Case, Results
from paper.printed import CASES, LOOKS, METHODS

STYLE: dict[str, Any] = {
    # without a window
    "backend": "agg",
    "font.size": 9,
    "font.family": "DejaVu Sans",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "hatch.linewidth": 0.4,
    "svg.hashsalt": "finegold",
    "svg.fonttype": "path",
}
PNG_DPI = 130


def draw(results: Results) -> dict[str, dict[str, bytes]]:
    """Draw the figures: name -> extension -> content."""
    with matplotlib.rc_context(STYLE):
        drawn = {"figure2": _files(_accuracies(results)), "figure5": _files(_times(results))}
        for part, name in CASES.items():
            if name in results.cases:
                title = results.data[name].info.title
                drawn[part] = _files(_prototypes(results.cases[name], title))
    return drawn


def _files(figure: Figure) -> dict[str, bytes]:
    files = {}
    for extension, metadata in {"png": {"Software": None}, "svg": {"Date": None}}.items():
        buffer = io.BytesIO()
        figure.savefig(buffer, format=extension, dpi=PNG_DPI, metadata=metadata)
        files[extension] = buffer.getvalue()
    return files


def _accuracies(results: Results) -> Figure:
    """Figure 2: one panel per data set, one bar per method, and the mean of the bars as a line."""
    rows = -(-len(results.data) // 3)
    figure = Figure(figsize=(11, 2.45 * rows + 0.3), layout="constrained")
    panels = figure.subplots(rows, 3, squeeze=False).ravel()
    for panel, name in zip(panels, results.data, strict=False):
        values = {method: row[name].accuracy for method, row in results.scores.items()}
        positions, last = np.arange(len(values)), len(values) - 0.5
        mean, low, high = np.mean([*values.values()]), min(values.values()), max(values.values())
        margin = max(high - low, 0.02)
        panel.hlines(mean, -0.5, last, color="black", linestyle="--", linewidth=0.9)
        panel.text(last + 0.1, mean, f"mean\n{mean:.3f}", fontsize=7.5, va="center", ha="left")
        for position, (method, value) in zip(positions, values.items(), strict=True):
            look = LOOKS[method]
            edge: dict[str, Any] = {"edgecolor": "#333333", "linewidth": 0.5}
            panel.bar(position, value, 0.8, color=look.colour, hatch=look.hatch, **edge)
            place, words = (position, value + 0.01 * margin), f"{value:.3f}"[1:]
            number = panel.text(*place, words, ha="center", va="bottom", fontsize=7)
            # readable on top of the line
            number.set_path_effects([withStroke(linewidth=2, foreground="white")])
        panel.set_ylim(max(low - 0.6 * margin, 0), high + 0.25 * margin)
        panel.set_xlim(-0.6, last + 1.4)
        names = [METHODS[method] for method in values]
        panel.set_xticks(
            positions, names, rotation=45, ha="right", rotation_mode="anchor", fontsize=7.5
        )
        panel.tick_params(axis="x", length=0, pad=2)
        panel.set_title(results.data[name].info.title, fontsize=10, fontweight="bold", loc="left")
    for panel in panels[len(results.data) :]:
        panel.set_axis_off()
    figure.supylabel("accuracy")
    return figure


def _prototypes(case: Case, title: str) -> Figure:
    """Figures 3 and 4: confusion matrices of the prototypes, and each annotator's shares of them."""
    few = case.prototypes.shape[1] <= 6
    side, size, ticks = 3.3 if few else 4.4, 9 if few else 7, range(case.prototypes.shape[1])
    figure = Figure(figsize=(2 * side + 4.2, side), layout="constrained")
    *panels, last = figure.subplots(1, 3, width_ratios=[side, side, 3.6])
    for s, (panel, matrix) in enumerate(zip(panels, case.prototypes, strict=False)):
        panel.imshow(matrix, cmap="Blues", vmin=0, vmax=1)
        for (row, column), p in np.ndenumerate(matrix):
            colour, number = "white" if p > 0.5 else "black", f"{p:.2f}".replace("0.", ".")
            panel.text(column, row, number, ha="center", va="center", fontsize=size, color=colour)
        panel.set_xticks(ticks, [str(k + 1) for k in ticks])
        panel.set_yticks(ticks, [str(k + 1) for k in ticks])
        panel.set_xlabel("label (class)")
        panel.set_ylabel("truth (class)")
        panel.set_title(f"{title}, prototype {s + 1}", fontsize=10, fontweight="bold")
    # one bar per annotator, sorted by their shares
    first = np.sort(case.weights[:, 0])[::-1]
    positions = np.arange(len(first)) + 1
    second: dict[str, Any] = {"color": "#e3d5d9", "hatch": "///", "edgecolor": "#8a6f77"}
    last.bar(positions, first, 1.0, color=LOOKS["ptbcc"].colour, label="prototype 1")
    last.bar(positions, 1 - first, 1.0, bottom=first, linewidth=0.0, **second)
    last.bar(1, 0, label="prototype 2", **second)
    last.axhline(first.mean(), color="black", linestyle="--", linewidth=0.9)
    last.annotate(
        f"mean {first.mean():.2f}", (1, first.mean()), fontsize=8, va="bottom", color="white"
    )
    last.set_xlim(0.5, len(first) + 0.5)
    last.set_ylim(0, 1)
    last.set_xlabel(f"{len(first)} annotators, by share")
    last.set_ylabel("share of prototypes")
    last.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=2, frameon=False, fontsize=8)
    return figure


def _times(results: Results) -> Figure:
    """Figure 5: seconds of a fit; data sets are sorted by their number of labels."""
    names = results.by_size
    figure = Figure(figsize=(9, 5.2), layout="constrained")
    panel = figure.subplots()
    for method, row in results.scores.items():
        look = LOOKS[method]
        panel.plot(
            [row[name].seconds for name in names],
            look.dashes,
            marker=look.marker,
            color=look.colour,
            lw=2.6 if method == "ptbcc" else 1.4,
            label=METHODS[method],
            markeredgecolor="#333333",
            markeredgewidth=0.6,
        )
    sets = [results.data[name] for name in names]
    labels = [f"{votes.info.title}\n{votes.annotations.n_votes:,}" for votes in sets]
    panel.set_yscale("log")
    panel.set_xticks(range(len(names)), labels, fontsize=8)
    panel.set_ylabel("seconds of one fit (one thread, log scale)")
    panel.set_xlabel("data set and its number of labels")
    panel.grid(axis="y", color="#dddddd", linewidth=0.6)
    panel.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    return figure
