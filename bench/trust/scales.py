"""Scores of ordered classes: how far from the truth, and whether their intervals hold.

    python -m bench.trust.scales --data ../shared

Real ordered sets, whole and thinned to two, three, five and ten votes a task. The interval is for the mean that many more
annotators would give, so it is compared with the mean of the votes that were left out, on tasks with five of these or more.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from bench.machine import SHARED
from bench.real_data import RealSet, load
from finegold.results.scores import ERRORS_95, estimate

# sets by laboratory
FAMILIES = {
    "truth scales": ["abc_truth_s3", "covid_s6", "politifact_s6", "politifact_ecir_s6"],
    "valence": ["val5", "val7"],
    "adult": ["adult"],
    "relevance": ["llmjudge_trecdl"],
}
N_VOTES = (2, 3, 5, 10, None)
DRAWS = 5
FEWEST_OTHERS = 5
Codes = NDArray[np.int64]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=SHARED)
    data = parser.parse_args().data
    known = {each.name: each for each in load(data)}
    print(
        "set                 votes  error: score   mean  median  rank: score   mean  holds  width"
    )
    errors: dict[int | None, dict[str, list[NDArray[np.float64]]]] = {n: {} for n in N_VOTES}
    for family, names in FAMILIES.items():
        for name in names:
            for n in N_VOTES:
                figures = np.nanmean(
                    [list(one_draw(known[name], n, seed)) for seed in range(DRAWS)], axis=0
                )
                errors[n].setdefault(family, []).append(figures)
                show(name, n, figures)
    for n in N_VOTES:
        show(
            "mean of families",
            n,
            np.nanmean([np.nanmean(each, axis=0) for each in errors[n].values()], axis=0),
        )


def show(name: str, n: int | None, figures: NDArray[np.float64]) -> None:
    score, mean, median, rank, rank_of_mean, holds, width = figures
    print(
        f"{name:19} {n or 'all':>5} {score:13.3f} {mean:6.3f} {median:7.3f} {rank:12.3f} {rank_of_mean:6.3f}"
        f" {holds:6.3f} {width:6.2f}"
    )


def one_draw(each: RealSet, n: int | None, seed: int) -> Iterator[float]:
    """Yield the mean absolute errors of score, mean and median, the rank correlations of score and mean, the share of
    intervals that hold, and their median width as a share of the scale.
    """
    mine = draw(each.votes[:, 0], n, np.random.default_rng(seed))
    task, annotator, label = each.votes[mine].T
    n_tasks, n_annotators = len(each.truth), int(each.votes[:, 1].max()) + 1
    top = max(each.n_classes - 1, int(each.truth.max()))
    scores = estimate(task, annotator, label.astype(float), n_tasks, n_annotators)
    n_votes = np.bincount(task, minlength=n_tasks)
    mean = np.bincount(task, label, n_tasks) / n_votes
    median = np.array(
        [
            np.median(values)
            for values in np.split(label[np.argsort(task, kind="stable")], np.cumsum(n_votes)[:-1])
        ]
    )
    true = each.truth >= 0
    for value in (scores.value, mean, median):
        yield float(np.abs(value - each.truth)[true].mean())
    for value in (scores.value, mean):
        yield float(spearmanr(value[true], each.truth[true])[0])
    others = each.votes[~mine]
    n_others = np.bincount(others[:, 0], minlength=n_tasks)
    compared = n_others >= FEWEST_OTHERS
    if n is None or compared.sum() < 30:
        yield from (np.nan, np.nan)
        return
    their_mean = np.bincount(others[:, 0], others[:, 2], n_tasks) / np.maximum(n_others, 1)
    residual = others[:, 2] - their_mean[others[:, 0]]
    their_variance = (
        (residual**2).sum() / np.maximum(n_others - 1, 0).sum() / np.maximum(n_others, 1)
    )
    error = (scores.high - scores.value) / ERRORS_95
    # the mean of the others has an error of its own
    half = ERRORS_95 * np.sqrt(error**2 + their_variance)
    yield float((np.abs(scores.value - their_mean) <= half)[compared].mean())
    yield float(np.median((scores.high.clip(0, top) - scores.low.clip(0, top))[compared]) / top)


def draw(task: Codes, n: int | None, rng: np.random.Generator) -> NDArray[np.bool_]:
    """[L] Return whether a vote is among n that are drawn of its task; all are if n is None."""
    if n is None:
        return np.ones(len(task), bool)
    order = rng.permutation(len(task))
    order = order[np.argsort(task[order], kind="stable")]
    first = np.searchsorted(task[order], task[order])
    drawn = np.zeros(len(task), bool)
    drawn[order[np.arange(len(task)) - first < n]] = True
    return drawn


if __name__ == "__main__":
    main()
