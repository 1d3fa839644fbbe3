"""Nanoseconds of processor time per vote and sweep, of the default beside DS and PTBCC, on one thread.

    python -m bench.speed.sweeps [--votes 600000] [--repeats 12] [--methods anchored ds ptbcc]

Methods take turns, and the least time of each counts, so that ratios hold on a busy machine too. The second number is
what computing parameters from the sums adds, which depends on the annotators and classes and not on the votes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from bench.machine import keep
from finegold.engines.local import LocalEngine
from finegold.methods.lookup import make_method
from finegold.votes.annotations import Annotations


def main() -> None:
    options = _options()
    rows = []
    print(
        f"| votes per task | classes | annotators | {' | '.join(options.methods)} | {options.methods[0]} / ds |"
    )
    print("|---:|---:|---:|" + "---:|" * (len(options.methods) + 1))
    for shape in product((3, 10, 20), (2, 5, 10), (20, 20_000)):
        found = measured(options.methods, draw(options.votes, *shape), options.repeats)
        rows.append({"shape": shape, **found})
        cells = [f"{sweep:.1f} + {parameters:.1f}" for sweep, parameters in found.values()]
        ratio = found[options.methods[0]][0] / found["ds"][0] if "ds" in found else 0.0
        print(
            f"| {' | '.join(f'{n:,}' for n in shape)} | {' | '.join(cells)} | {ratio:.2f} |",
            flush=True,
        )
    print(f"kept in {keep('sweeps', rows)}")


def draw(n_votes: int, per_task: int, n_classes: int, n_annotators: int) -> Annotations:
    """Seven of ten votes are right."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(n_votes // per_task), per_task)
    truth = rng.integers(0, n_classes, n_votes // per_task)[task]
    label = np.where(rng.random(len(task)) < 0.7, truth, rng.integers(0, n_classes, len(task)))
    first = rng.integers(0, n_annotators, n_votes // per_task)[task]
    step = np.arange(len(task)) % per_task
    return Annotations.from_arrays(
        task, (first + step * (n_annotators // per_task)) % n_annotators, label
    )


def measured(names: list[str], votes: Annotations, repeats: int) -> dict[str, tuple[float, float]]:
    fits = {name: Fit(name, votes) for name in names}
    best = dict.fromkeys(names, (np.inf, np.inf))
    for _ in range(repeats):
        for name, fit in fits.items():
            best[name] = tuple(map(min, best[name], fit.times()))
    return {
        name: tuple(1e9 * seconds / votes.n_votes for seconds in both)
        for name, both in best.items()
    }


class Fit:
    """A fit after its second sweep, when all that is compiled has been compiled."""

    def __init__(self, name: str, votes: Annotations) -> None:
        self.method: Any = make_method(name, {})
        self.engine = LocalEngine(1)
        self.engine.scatter(votes)
        self.parameters = self.method.begin(self.engine.sum(self.method.start, 0))
        for _ in range(2):
            self.times()

    def times(self) -> tuple[float, float]:
        sweep, sums = timed(lambda: self.engine.sum(self.method.sweep, self.parameters))
        expect, _ = timed(lambda: self.method.expect(sums, self.parameters))
        return sweep, expect


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    began = time.thread_time()
    found = run()
    return time.thread_time() - began, found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--votes", type=int, default=600_000)
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--methods", nargs="+", default=["anchored", "ds", "ptbcc"])
    return parser.parse_args()


if __name__ == "__main__":
    main()
