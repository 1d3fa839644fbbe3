"""How far an update is from a fit from scratch, and what it costs.

python -m bench.speed.update --data ../shared/datasets      two minutes on a quiet machine

Of every data set, 90 % of the votes are fitted and the rest is folded in: the last rows of the file, or random ones.
Both times begin with the votes as arrays. Writes bench/results/update.json and the table in docs/guides/arrival.md.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.machine import BENCH, RESULTS, SHARED, keep
from finegold.api.job import fit
from finegold.methods.anchored import AnchoredVote
from finegold.methods.ds import DS
from finegold.methods.hds import HDS
from finegold.methods.ibcc import IBCC
from finegold.methods.lookup import Method
from finegold.methods.mv import MajorityVote
from finegold.methods.ptbcc import PTBCC
from finegold.votes.annotations import Annotations

DATA_SETS = ("adult", "aircr", "cf", "dog", "face", "fact", "ms", "val5", "val7", "web")
OTHERS: tuple[Method, ...] = (
    MajorityVote(),
    DS(max_iterations=500, tolerance=1e-3),
    IBCC(inference="vb"),
    HDS(),
)
NEW = 0.1  # of the votes
REPEATS = 15  # of which the fastest counts
SHOWN = ("adult", "web")  # on the page
BEGIN, END = "<!-- made by bench/speed/update.py -->\n", "<!-- end -->"

Integers = NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(description="Updates against fits from scratch.")
    parser.add_argument("--data", type=Path, default=SHARED / "datasets")
    parser.add_argument(
        "--page", type=Path, default=BENCH.parent / "docs" / "guides" / "arrival.md"
    )
    options = parser.parse_args()
    figures = []
    for name in DATA_SETS:
        rows = _integers(options.data / name / "label.csv")
        mixed = rows[np.random.default_rng(0).permutation(len(rows))]
        for method in (
            (PTBCC(), AnchoredVote(), *OTHERS) if name == "adult" else (PTBCC(), AnchoredVote())
        ):
            for which, votes in (("last", rows), ("random", mixed)):
                figures.append(
                    {"data": name, "method": method.name, "which": which, **compare(method, votes)}
                )
                print(figures[-1], flush=True)
    print(f"kept in {keep('update', figures)}")
    _write_table(json.loads((RESULTS / "update.json").read_text())["figures"], options.page)


def compare(method: Method, votes: Integers) -> dict[str, Any]:
    cut = round(len(votes) * (1 - NEW))
    classes = sorted(set(votes[:, 2].tolist()))
    old = fit(method, Annotations.from_arrays(*votes[:cut].T, classes=classes))
    scratch, from_scratch = _fastest(lambda: fit(method, Annotations.from_arrays(*votes.T)))
    updated, by_update = _fastest(lambda: old.update(Annotations.from_arrays(*votes[cut:].T)))
    again = old.update(Annotations.from_arrays(*votes[cut:].T), refit=True)
    return {
        "tasks": len(scratch.label_codes),
        "new_votes": len(votes) - cut,
        "touched": len(np.unique(votes[cut:, 0])),
        "differ": int((updated.label_codes != scratch.label_codes).sum()),
        "differ_after_refit": int((again.label_codes != scratch.label_codes).sum()),
        "scratch_ms": 1000 * from_scratch,
        "update_ms": 1000 * by_update,
    }


def _fastest(work: Callable[[], Any]) -> tuple[Any, float]:
    """What it gives, and the seconds of the fastest of a few runs; the first one may compile."""
    result, seconds = work(), []
    for _ in range(REPEATS):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return result, min(seconds)


def _write_table(figures: list[dict[str, Any]], page: Path) -> None:
    lines = [
        "| data | method | new votes | tasks that have them | labels that differ | after --refit | time |",
        "|---" * 7 + "|",
    ]
    for row in figures:
        if row["data"] not in SHOWN:
            continue
        differ = f"{row['differ']} of {row['tasks']:,} ({row['differ'] / row['tasks']:.2%})"
        spent = f"{row['update_ms']:.1f} of {row['scratch_ms']:.1f} ms ({row['update_ms'] / row['scratch_ms']:.0%})"
        new = f"{row['which']} {row['new_votes']:,} | {row['touched']:,}"
        lines.append(
            f"| {row['data']} | {row['method']} | {new} | {differ} | {row['differ_after_refit']} | {spent} |"
        )
    before, _, rest = page.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + after)


def _integers(path: Path) -> Integers:
    with path.open(newline="") as handle:
        return np.array(list(csv.reader(handle))[1:], dtype=np.int64)


if __name__ == "__main__":
    main()
