"""How processor time and memory of a fit in memory grow with votes, classes and annotators, on one thread.

    python -m bench.speed.growth [--axes classes] [--methods anchored ptbcc] [--most 1e8] [--picture growth.svg]

Each point is a process of its own, and its memory is the most that it held, votes included. A slope is that of the
logarithms of two neighbouring points: 1 is proportional growth. The picture has a column per axis, with time above and
memory below; its slopes are over the last three points. What a run does not measure stays from the last one, so that
axes and methods can be measured one after another: all of them take ten minutes of a processor.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import BENCH, RESULTS, keep, peak_memory
from finegold.fitting.solve import fit
from finegold.methods.lookup import make_method
from finegold.votes.annotations import Annotations

VOTES, CLASSES, ANNOTATORS, VOTES_PER_TASK = 300_000, 5, 1000, 5
AXES = {
    "votes": [10**n for n in range(3, 9)],
    "classes": [2, 10, 30, 100, 300, 1000],
    "annotators": [10, 100, 1000, 10**4, 10**5, 10**6],
}
ANNOTATORS_OF_CLASSES = 20  # a matrix per annotator takes 8 MB with 1,000 classes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--axes", nargs="+", default=list(AXES), choices=list(AXES))
    parser.add_argument("--methods", nargs="+", default=["anchored", "ptbcc", "ds"])
    parser.add_argument("--most", type=float, default=1e7, help="votes")
    parser.add_argument(
        "--picture", type=Path, default=BENCH.parent / "docs" / "evidence" / "growth.svg"
    )
    options = parser.parse_args()
    path = RESULTS / "growth.json"
    last = json.loads(path.read_text())["figures"] if path.exists() else []
    figures = {(row["axis"], row["method"]): row for row in last}
    for axis in options.axes:
        for method in options.methods:
            points = [
                point(method, axis, value)
                for value in AXES[axis]
                if axis != "votes" or value <= options.most
            ]
            figures[axis, method] = {"axis": axis, "method": method, "points": points}
            print(f"\n{method}: {axis}, seconds and slope, MiB and slope")
            for before, now in pairwise([None, *points]):
                slopes = [slope(axis, what, before, now) for what in ("seconds", "mebibytes")]
                seconds, memory = (
                    f"{now['seconds']:.3f} | {slopes[0]}",
                    f"{now['mebibytes']:.0f} | {slopes[1]}",
                )
                print(f"| {now[axis]:,} | {seconds} | {memory} |", flush=True)
            keep("growth", list(figures.values()))
    draw_growth(list(figures.values()), options.picture)
    print(f"kept in {path}, drawn in {options.picture}")


def point(method: str, axis: str, value: int) -> dict[str, float]:
    """Measure in a fork of this process, which has loaded Finegold."""
    sizes = {"votes": VOTES, "classes": CLASSES, "annotators": ANNOTATORS, axis: value}
    if axis == "classes":
        sizes["annotators"] = ANNOTATORS_OF_CLASSES
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(measured, (method,), sizes)


def slope(axis: str, what: str, before: dict[str, float] | None, now: dict[str, float]) -> str:
    if before is None:
        return ""
    return f"{math.log(now[what] / before[what]) / math.log(now[axis] / before[axis]):.2f}"


def measured(method: str, votes: int, classes: int, annotators: int) -> dict[str, float]:
    annotations = draw(votes, classes, annotators)
    few = draw(
        min(votes, VOTES), min(classes, 300), annotators
    )  # more than 256 classes have kernels of their own
    fit(make_method(method, {}), few, threads=1)  # compiles
    began = time.process_time()
    fit(make_method(method, {}), annotations, threads=1)
    seconds = time.process_time() - began
    sizes = {"votes": votes, "classes": classes, "annotators": annotators}
    return {**sizes, "seconds": seconds, "mebibytes": peak_memory()}


def draw_growth(figures: list[dict[str, Any]], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "growth"
    from matplotlib import pyplot

    axes = list(dict.fromkeys(row["axis"] for row in figures))
    picture, panels = pyplot.subplots(2, len(axes), figsize=(4 * len(axes), 6.5), squeeze=False)
    for row in figures:
        sizes = [point[row["axis"]] for point in row["points"]]
        for number, (what, words) in enumerate({"seconds": "seconds", "mebibytes": "MiB"}.items()):
            values = [max(point[what], 1e-3) for point in row["points"]]
            steepness = np.polyfit(np.log(sizes[-3:]), np.log(values[-3:]), 1)[0]
            panel = panels[number][axes.index(row["axis"])]
            panel.plot(
                sizes, values, marker="o", markersize=3, label=f"{row['method']} ({steepness:.2f})"
            )
            panel.set(xscale="log", yscale="log", xlabel=row["axis"], ylabel=words)
            panel.legend(fontsize=8)
    picture.tight_layout()
    picture.savefig(path, metadata={"Date": None})


def draw(n_votes: int, n_classes: int, n_annotators: int) -> Annotations:
    """Seven of ten votes are right, and votes of a task are by different annotators."""
    rng, n_tasks = np.random.default_rng(0), n_votes // VOTES_PER_TASK
    truth = rng.integers(0, n_classes, n_tasks, dtype=np.int32)
    who = rng.integers(0, n_annotators, n_tasks, dtype=np.int32)
    label = np.repeat(truth, VOTES_PER_TASK)
    wrong = rng.random(len(label), dtype=np.float32) > 0.7
    label[wrong] = rng.integers(0, n_classes, int(wrong.sum()), dtype=np.int32)
    annotator = (
        np.repeat(who, VOTES_PER_TASK) + np.tile(np.arange(VOTES_PER_TASK, dtype=np.int32), n_tasks)
    ) % n_annotators
    names = (np.arange(n) for n in (n_tasks, n_annotators, n_classes))
    task = np.repeat(np.arange(n_tasks, dtype=np.int32), VOTES_PER_TASK)
    return Annotations.from_codes(task, annotator, label, *names)


if __name__ == "__main__":
    main()
