"""The figures of bench/accuracy.py as a page for users, docs/choosing.md, with a picture of who wins where."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["write_page"]

Figures = dict[str, Any]
COLOURS = {
    "mv": "#9e9e9e", "bwa": "#bcaaa4", "ds": "#ffb74d", "ibcc": "#fff176", "ptbcc": "#64b5f6",
    "hds": "#81c784", "hpt": "#4db6ac", "auto": "#ba68c8",
}  # fmt: skip
CONSTANTS = Path(__file__).with_name("choosing_constants.md")


def write_page(figures: Figures, path: Path) -> None:
    grid = mean_over_seeds(figures["grid"])
    draws = len(figures["grid"]) // len(grid)
    sections = [
        f"# Which method to choose\n\nMade by `python bench/accuracy.py --seeds {draws}`; do not edit by hand.",
        "`auto` is the default: it hides some votes, sees which methods predict them best, and blends those. "
        "`notes` of the result says what it found. The figures below are why.",
        "## The ten public data sets\n\nAccuracy; ties share the credit.\n\n" + _ten(figures, "accuracy"),
        "Mean log loss and calibration error (ECE, 15 bins) over the ten. `auto, not tempered` is `auto` without the "
        "temperature that it chooses on hidden votes.\n\n" + _calibration(figures),
        "## What auto chose\n\n`chosen` are the shares of the blend; the score is the mean log-probability of hidden "
        "votes, with its standard error (`choice` of the result).\n\n" + _choices(figures),
        f"## Simulated crowds\n\n{len(grid)} crowds (`bench/worlds.py`), {draws} draws of each, none from one method's "
        "own model. Mean accuracy by kind of crowd, by votes per task d, votes per annotator m and classes K.\n\n"
        + _by(grid, lambda row: row["kind"], "kind")
        + "\n\n"
        + _by(grid, lambda row: f"d = {row['votes_per_task']}", "votes per task")
        + "\n\n"
        + _by(grid, lambda row: f"m = {row['votes_per_annotator']:,}", "votes per annotator")
        + "\n\n"
        + _by(grid, lambda row: f"K = {row['n_classes']}", "classes"),
        _regret(grid),
        _luck(figures["grid"]),
        "Who wins where (the most accurate method of each crowd but `auto`; a dot where `auto` is within .005 of it "
        "or better):\n\n![who wins where](choosing.svg)",
        CONSTANTS.read_text().strip(),
    ]
    path.write_text("\n\n".join(sections) + "\n")
    path.with_suffix(".svg").write_text(_picture(grid))


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _ten(figures: Figures, what: str) -> str:
    sets = figures["data_sets"]
    names = [name for name in sets[0]["methods"] if name != "auto, not tempered"]
    values = {name: [one["methods"][name][what] for one in sets] for name in names}
    order = sorted(names, key=lambda name: -float(np.mean(values[name])))
    rows = ([name, *(f"{x:.4f}" for x in values[name]), f"**{np.mean(values[name]):.4f}**"] for name in order)
    return _table(["method", *(one["data"] for one in sets), "mean"], rows)


def _calibration(figures: Figures) -> str:
    sets = figures["data_sets"]

    def mean(name: str, what: str) -> float:
        return float(np.mean([one["methods"][name][what] for one in sets]))

    order = sorted(sets[0]["methods"], key=lambda name: mean(name, "log_loss"))
    rows = ([name, f"{mean(name, 'log_loss'):.3f}", f"{mean(name, 'calibration_error'):.3f}"] for name in order)
    return _table(["method", "log loss", "ECE"], rows)


def _choices(figures: Figures) -> str:
    rows = []
    for one in figures["data_sets"]:
        auto = one["methods"]["auto"]
        shares = ", ".join(f"{name} {share:.0%}" for name, share in sorted(auto["chosen"].items(), key=lambda x: -x[1]))
        scores = ", ".join("{name} {score:.4f} (± {error:.4f})".format(**each) for each in auto["choice"]["candidates"])
        groups = "yes" if any("group" in note and "agree" in note for note in auto["notes"]) else "no"
        rows.append([one["data"], shares, scores, groups, f"{auto['temperature']:g}"])
    return _table(["data", "chosen", "score of each candidate", "groups found", "temperature"], rows)


def _by(grid: list[Figures], key: Callable[[Figures], str], title: str) -> str:
    names = list(grid[0]["methods"])
    rows = []
    for value in [*dict.fromkeys(map(key, grid)), "all"]:
        some = [row for row in grid if value in (key(row), "all")]
        means = [float(np.mean([row["methods"][name]["accuracy"] for row in some])) for name in names]
        best = max(means)
        rows.append([value, *(f"**{x:.4f}**" if x == best else f"{x:.4f}" for x in means)])
    return _table([title, *names], rows)


def _regret(grid: list[Figures]) -> str:
    """How far each method is below the best other one, crowd by crowd."""
    names = list(grid[0]["methods"])
    values = np.array([[row["methods"][name]["accuracy"] for name in names] for row in grid])
    copies = np.array([_copies(row) for row in grid])
    vote = values[:, names.index("mv")]
    rows = []
    for at, name in enumerate(names):
        below, under = np.delete(values, at, axis=1).max(axis=1) - values[:, at], vote - values[:, at]
        far = int((under[copies] > 0.02).sum())
        figures = (below.mean(), np.quantile(below, 0.95), under.max(), under[copies].max())
        rows.append([name, *(f"{x:.4f}" for x in figures), f"{far} of {copies.sum()}"])
    head = ["method", "mean distance below the best other", "95 % within", "most under the vote"]
    head += ["the same where some copy", "more than .02 under the vote where some copy"]
    said = "How far below the best other method of each crowd (less than nothing where it is above), and under the "
    return said + "majority vote at worst; accuracies of a crowd are means over its draws:\n\n" + _table(head, rows)


def _copies(row: Figures) -> bool:
    return "copies" in row["kind"] or "famil" in row["kind"]


def _luck(grid: list[Figures]) -> str:
    """The best of several is partly the luckiest: a method that was best on other draws of a crowd is not so lucky."""
    draws = [row for row in _by_world(grid).values() if len(row) > 1]
    if not draws:
        return "A single draw of each crowd: much of the distance from the best is the luck of the best."
    fixed, auto = [], []
    for rows in draws:
        names = [name for name in rows[0]["methods"] if name != "auto"]
        values = np.array([[row["methods"][name]["accuracy"] for name in names] for row in rows])
        others = (values.sum(axis=0) - values) / (len(values) - 1)
        fixed.append(values[np.arange(len(values)), others.argmax(axis=1)].mean())
        auto.append(np.mean([row["methods"]["auto"]["accuracy"] for row in rows]))
    return (
        "Part of the distance is luck: on a few hundred tasks the best of eight methods is also the luckiest. Someone "
        "who knew, for each crowd, which single method is best on other draws of it, and took that one, would reach "
        f"{np.mean(fixed):.4f}; `auto`, which knows the votes only, reaches {np.mean(auto):.4f} "
        f"({np.mean(auto) - np.mean(fixed):+.4f}; per crowd more than .02 below it in "
        f"{int((np.array(fixed) - np.array(auto) > 0.02).sum())} of {len(auto)}, above it in "
        f"{int((np.array(auto) - np.array(fixed) > 0.02).sum())})."
    )


def _by_world(grid: list[Figures]) -> dict[Any, list[Figures]]:
    found: dict[Any, list[Figures]] = {}
    for row in grid:
        key = row["kind"], row["votes_per_task"], row["votes_per_annotator"], row["n_classes"]
        found.setdefault(key, []).append(row)
    return found


def mean_over_seeds(grid: list[Figures]) -> list[Figures]:
    """A row for each crowd instead of one for each draw of it."""
    return [{**rows[0], "methods": _mean_methods(rows)} for rows in _by_world(grid).values()]


def _mean_methods(rows: list[Figures]) -> Figures:
    names, measures = list(rows[0]["methods"]), ("accuracy", "log_loss", "calibration_error", "seconds")
    return {
        name: {what: float(np.mean([row["methods"][name][what] for row in rows])) for what in measures}
        for name in names
    }


def _picture(grid: list[Figures]) -> str:
    """A square for each crowd: rows are kinds and classes, columns votes per task and per annotator."""
    rows = list(dict.fromkeys((row["kind"], row["n_classes"]) for row in grid))
    columns = list(dict.fromkeys((row["votes_per_task"], row["votes_per_annotator"]) for row in grid))
    size, left, top = 26, 190, 60
    parts = [_squares(grid, rows, columns, size, left, top)]
    for at, (kind, K) in enumerate(rows):
        parts.append(f'<text x="{left - 8}" y="{top + at * size + 17}" text-anchor="end">{kind}, K={K}</text>')
    for at, (d, m) in enumerate(columns):
        x = left + at * size + 13
        parts.append(f'<text x="{x}" y="{top - 24}" text-anchor="middle">d={d}</text>')
        parts.append(f'<text x="{x}" y="{top - 8}" text-anchor="middle">m={m}</text>')
    for at, (name, colour) in enumerate(COLOURS.items()):
        y = top + len(rows) * size + 14
        parts.append(f'<rect x="{left + at * 60}" y="{y}" width="14" height="14" fill="{colour}"/>')
        parts.append(f'<text x="{left + at * 60 + 18}" y="{y + 12}">{name}</text>')
    width, height = left + max(len(columns) * size, 500) + 20, top + len(rows) * size + 50
    style = "<style>text{font:9px sans-serif}</style>"
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">{style}\n{body}\n</svg>\n'


def _squares(grid: list[Figures], rows: list[Any], columns: list[Any], size: int, left: int, top: int) -> str:
    squares = []
    for row in grid:
        x = left + columns.index((row["votes_per_task"], row["votes_per_annotator"])) * size
        y = top + rows.index((row["kind"], row["n_classes"])) * size
        scores = {name: one["accuracy"] for name, one in row["methods"].items()}
        best = max((name for name in scores if name != "auto"), key=lambda name: scores[name])
        squares.append(
            f'<rect x="{x}" y="{y}" width="{size - 2}" height="{size - 2}" fill="{COLOURS.get(best, "#eeeeee")}"/>'
        )
        if scores["auto"] >= scores[best] - 0.005:
            squares.append(f'<circle cx="{x + size / 2 - 1}" cy="{y + size / 2 - 1}" r="4" fill="#4a148c"/>')
    return "\n".join(squares)
