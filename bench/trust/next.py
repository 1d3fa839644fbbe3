"""Votes revealed in the order that `finegold next-votes` would ask for them, against random order.

python -m bench.trust.next --data ../shared/datasets           ten seeds on ten data sets; some minutes
python -m bench.trust.next --only ms,dog --seeds 2 --no-page    to try something

Every task gets one vote first. Then, batch by batch, PTBCC is fitted to what is revealed, and the next votes go to the
tasks with the highest expected gain: each reveals a random one of its votes that are not yet revealed, if it has any.
Random order reveals all votes in random order. Accuracy is that of PTBCC, over all tasks with a known truth; a task
without a vote is a guess. Writes bench/results/next.json and docs/guides/next_votes.md.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

for variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "FINEGOLD_THREADS",
):  # processes share the cores
    os.environ[variable] = "1"

import argparse
import csv
import json
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from bench.machine import BENCH, RESULTS, SHARED, keep
from finegold.api.fit import fit
from finegold.api.result import Result
from finegold.insight.next_votes import expected_gains
from finegold.methods.ptbcc import PTBCC
from finegold.votes.annotations import Annotations

DATA_SETS = ("adult", "aircr", "cf", "dog", "face", "fact", "ms", "val5", "val7", "web")
STEPS = 50  # batches
LOOK_AT = 0.75  # of the votes: what is still wrong then, and why
KINDS = ("random", "next")

Integers = NDArray[np.int64]


class Votes(NamedTuple):
    task: Integers
    annotator: Integers
    label: Integers
    truth: Integers  # [n, 2] task and class
    n_tasks: int
    n_classes: int

    def fit(self, revealed: Integers) -> Result:
        columns = (column[revealed] for column in (self.task, self.annotator, self.label))
        return fit(
            PTBCC(),
            Annotations.from_arrays(*columns, classes=list(range(self.n_classes))),
            threads=1,
        )

    def accuracy(self, result: Result) -> float:
        """Ties and tasks without a vote earn the share that guessing would."""
        posterior = np.full((self.n_tasks, self.n_classes), 1 / self.n_classes)
        posterior[np.asarray(result.task_names)] = result.posterior
        best = posterior == posterior.max(axis=1, keepdims=True)
        return float(
            (best / best.sum(axis=1, keepdims=True))[self.truth[:, 0], self.truth[:, 1]].mean()
        )


class Replay:
    """Which votes are revealed: those of a task in an order that chance decided."""

    def __init__(self, votes: Votes, seed: int) -> None:
        self.votes, self.rng = votes, np.random.default_rng(seed)
        order = self.rng.permutation(len(votes.task))
        self.queue = order[np.argsort(votes.task[order], kind="stable")]  # task by task
        self.size = np.bincount(votes.task, minlength=votes.n_tasks)
        self.first = np.cumsum(self.size) - self.size
        self.shown = np.zeros(votes.n_tasks, np.int64)
        self.revealed: list[Integers] = []

    @property
    def count(self) -> int:
        return int(self.shown.sum())

    def reveal(self, tasks: Integers) -> None:
        self.revealed.append(self.queue[self.first[tasks] + self.shown[tasks]])
        self.shown[tasks] += 1

    def fit(self) -> Result:
        return self.votes.fit(np.concatenate(self.revealed))

    def choose(self, result: Result, budget: int) -> Integers:
        """The tasks with the highest gain that have votes left; chance decides between equals."""
        gain = np.full(self.votes.n_tasks, -1.0)
        gain[np.asarray(result.task_names)], _ = expected_gains(result)
        open_tasks = self.rng.permutation(np.flatnonzero(self.shown < self.size))
        return open_tasks[np.argsort(-gain[open_tasks], kind="stable")][:budget]


def main() -> None:
    options = _options()
    jobs = [
        (options.data / name, seed, kind)
        for name in options.only
        for seed in range(options.seeds)
        for kind in KINDS
    ]
    with ProcessPoolExecutor(options.processes) as pool:
        curves = list(pool.map(of_job, jobs))
    figures = {
        "steps": STEPS,
        "look_at": LOOK_AT,
        "full": {name: _full(options.data / name) for name in options.only},
        "truths": {name: len(_read(options.data / name).truth) for name in options.only},
        "curves": curves,
    }
    if options.page:
        print(f"kept in {keep('next', figures)}")
        write_page(json.loads((RESULTS / "next.json").read_text()), options.page)
    for row in curves if not options.page else []:
        print(row["data"], row["kind"], row["seed"], np.round(row["accuracy"][::5], 3))


def of_job(job: tuple[Path, int, str]) -> dict[str, Any]:
    folder, seed, kind = job
    votes = _read(folder)
    marks = np.unique(np.linspace(0, len(votes.task), STEPS + 1).astype(int))[1:]
    found = (
        in_random_order(votes, marks, seed) if kind == "random" else as_planned(votes, marks, seed)
    )
    return {"data": folder.name, "seed": seed, "kind": kind, "votes": marks.tolist(), **found}


def in_random_order(votes: Votes, marks: Integers, seed: int) -> dict[str, Any]:
    order = np.random.default_rng(seed).permutation(len(votes.task))
    return {"accuracy": [votes.accuracy(votes.fit(order[:mark])) for mark in marks]}


def as_planned(votes: Votes, marks: Integers, seed: int) -> dict[str, Any]:
    replay, found, missed = Replay(votes, seed), [], {}
    waiting = replay.rng.permutation(np.flatnonzero(replay.size > 0))  # tasks without any vote
    result: Result | None = None  # of all that is revealed
    for mark in marks:
        first, waiting = np.split(waiting, [mark - replay.count])
        if first.size:
            replay.reveal(first)
            result = None
        while (
            replay.count < mark
        ):  # once, but near the end, where a task may have several votes left and others none
            replay.reveal(replay.choose(result or replay.fit(), mark - replay.count))
            result = None
        result = replay.fit()
        found.append(votes.accuracy(result))
        if not missed and mark >= LOOK_AT * len(votes.task):
            missed = _missed(votes, replay, result)
    return {"accuracy": found, **missed}


def _missed(votes: Votes, replay: Replay, result: Result) -> dict[str, int]:
    """Tasks that all votes get right and these do not, and those of them that have no vote left to reveal."""
    now, full = (np.full(votes.n_tasks, -1) for _ in range(2))
    now[np.asarray(result.task_names)] = result.label_codes
    everything = votes.fit(np.arange(len(votes.task)))
    full[np.asarray(everything.task_names)] = everything.label_codes
    task, truth = votes.truth.T
    lost = task[(now[task] != truth) & (full[task] == truth)]
    return {"lost": len(lost), "spent": int((replay.shown[lost] == replay.size[lost]).sum())}


def _full(folder: Path) -> float:
    votes = _read(folder)
    return votes.accuracy(votes.fit(np.arange(len(votes.task))))


def _read(folder: Path) -> Votes:
    labels, truth = _integers(folder / "label.csv"), _integers(folder / "truth.csv")
    n_classes = int(max(labels[:, 2].max(), truth[:, 1].max())) + 1
    return Votes(*labels.T, truth, int(max(labels[:, 0].max(), truth[:, 0].max())) + 1, n_classes)


def _integers(path: Path) -> Integers:
    with path.open(newline="") as handle:
        return np.array(list(csv.reader(handle))[1:], dtype=np.int64)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Accuracy against votes spent: finegold next-votes, and random order."
    )
    parser.add_argument("--data", type=Path, default=SHARED / "datasets")
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(DATA_SETS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--page", type=Path, default=BENCH.parent / "docs" / "guides")
    parser.add_argument("--no-page", dest="page", action="store_const", const=None)
    return parser.parse_args()


Floats = NDArray[np.float64]

NEAR = 0.005  # half a point of accuracy

BEGIN, END = "<!-- made by bench/trust/next.py -->\n", "<!-- end -->"


def write_page(kept: dict[str, Any], folder: Path) -> None:
    figures = kept["figures"]
    found = {name: _figures(figures, name) for name in figures["full"]}
    page = folder / "next_votes.md"
    before, _, rest = page.read_text().partition(BEGIN)
    page.write_text(before + BEGIN + _table(found) + "\n" + END + rest.partition(END)[2])


def _curves(figures: dict[str, Any], name: str, kind: str) -> tuple[Floats, Floats]:
    """Shares of the votes, and the accuracies of every seed."""
    rows = [row for row in figures["curves"] if row["data"] == name and row["kind"] == kind]
    votes = np.array(rows[0]["votes"])
    return votes / votes[-1], np.array([row["accuracy"] for row in rows])


def _figures(figures: dict[str, Any], name: str) -> dict[str, float]:
    full = figures["full"][name]
    found: dict[str, float] = {"full": full}
    for kind in ("random", "next"):
        share, accuracy = _curves(figures, name, kind)
        found[kind] = float(np.mean([share[np.argmax(row >= full - 1e-9)] for row in accuracy]))
        stays = np.flatnonzero(accuracy.mean(axis=0) < full - NEAR)
        found[f"{kind} near"] = float(share[stays[-1] + 1]) if stays.size else float(share[0])
    rows = [row for row in figures["curves"] if row["data"] == name and row["kind"] == "next"]
    found["votes"] = rows[0]["votes"][-1]
    return found


def _table(found: dict[str, dict[str, float]]) -> str:
    head = (
        "| data | votes | all votes | random | next | fewer | half a point: random | next | fewer |"
    )
    lines = [head, "|---" * 9 + "|"]
    for name, of in found.items():
        reach = [
            _percent(of["random"]),
            _percent(of["next"]),
            _percent(1 - of["next"] / of["random"]),
        ]
        near = [
            _percent(of["random near"]),
            _percent(of["next near"]),
            _percent(1 - of["next near"] / of["random near"]),
        ]
        cells = [name, format(of["votes"], ",.0f"), format(of["full"], ".4f"), *reach, *near]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


if __name__ == "__main__":
    main()
