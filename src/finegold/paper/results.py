"""Compute the numbers of the paper from the fits: accuracies, means, tests, ablation, times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import rankdata, wilcoxon

from finegold.paper.datasets import Votes
from finegold.paper.fits import Fit, FitOutcome, Floats, describe_seeds, fits_of_ablation, fits_of_method
from finegold.paper.published import ABLATION, SENTI

DIGITS = 9  # accuracies are fractions of small numbers; smaller differences are rounding errors that would break ties


class Comparison(NamedTuple):
    S: float  # sum of the ranks of the differences where the method is worse
    p: float  # one-sided: probability of such a small rank sum if the method is not better
    n: int  # number of data sets with a difference

    @property
    def stars(self) -> str:
        return "**" if self.p < 0.01 else "*" if self.p < 0.1 else ""


def compare(method: Sequence[float], baseline: Sequence[float]) -> Comparison:
    """Run the one-sided Wilcoxon signed-rank test; data sets without a difference are ignored."""
    difference = np.round(np.subtract(method, baseline), DIGITS)
    difference = difference[difference != 0]
    if not difference.size:
        return Comparison(0.0, 1.0, 0)
    ranks = rankdata(np.abs(difference))
    p = wilcoxon(difference, alternative="greater").pvalue
    return Comparison(float(ranks[difference < 0].sum()), float(p), len(difference))


class Score(NamedTuple):
    """A method on a data set; means over several seeds."""

    accuracy: float
    spread: float  # standard deviation over the seeds
    runs: int
    seconds: float  # for one fit
    iterations: float
    note: str


class Mean(NamedTuple):
    """Mean accuracy of a method over the present data sets, and with Senti filled in if only Senti is absent."""

    present: float
    eleven: float | None
    senti: str  # measured, published, implied, or empty
    test: Comparison | None  # against MV, over the data sets of `eleven` if it is known
    tested: int  # number of data sets in the test


class Ablated(NamedTuple):
    """PTBCC with one setting changed: means over the data sets that are present."""

    mean: float
    spread: float  # standard deviation over seeds
    seeds: int
    eleven: float | None  # with PTBCC's published accuracy on Senti, for any setting


class Case(NamedTuple):
    prototypes: Floats
    weights: Floats


@dataclass(frozen=True)
class Results:
    data: dict[str, Votes]  # the data sets that are present, in the paper's order
    absent: list[str]  # data sets of the paper that are not present
    parts: list[str]
    methods: list[str]
    lacking: list[str]  # methods of the paper that this version of Finegold does not have
    scores: dict[str, dict[str, Score]] = field(default_factory=dict)
    means: dict[str, Mean] = field(default_factory=dict)
    ablation: dict[str, dict[str, Ablated]] = field(default_factory=dict)
    cases: dict[str, Case] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def unverified(self) -> list[str]:
        return [name for name, votes in self.data.items() if not votes.verified]

    @property
    def fills_senti(self) -> bool:
        """Whether Senti is the only absent data set and published values replace it."""
        return self.absent == ["senti"]

    @property
    def remarks(self) -> list[str]:
        """Remarks that a reader must know before the numbers."""
        remarks = []
        if self.absent:
            remarks.append(f"absent data sets: {', '.join(self.absent)}")
        if self.unverified:
            remarks.append(
                f"NOT VERIFIED, files that differ from the paper's: {', '.join(self.unverified)}; "
                "no number that includes them can be compared with the paper"
            )
        if self.lacking:
            remarks.append(f"methods that this version of Finegold does not have: {', '.join(self.lacking)}")
        return remarks


def collect(results: Results, done: Mapping[Fit, FitOutcome]) -> Results:
    """Return the results with the outcomes of these fits added."""
    names = list(results.data)
    for method in results.methods:
        row = {name: _score(method, name, done) for name in names}
        results.scores[method] = {name: score for name, score in row.items() if score is not None}
    complete = [method for method, row in results.scores.items() if len(row) == len(names) and row]
    if "mv" in complete and {"table4", "figure2", "figure5"} & set(results.parts):
        results.means.update({method: _mean(results, method) for method in complete})
    if "table5" in results.parts:
        results.ablation.update(_ablation(results, done))
    for name in names:
        if (found := _case(name, done)) is not None:
            results.cases[name] = found
    return results


def _score(method: str, name: str, done: Mapping[Fit, FitOutcome]) -> Score | None:
    runs = [done[fit] for fit in fits_of_method(method, name) if fit in done]
    if not runs:
        return None
    accuracies = [run.accuracy for run in runs]
    return Score(
        float(np.mean(accuracies)),
        float(np.std(accuracies, ddof=1)) if len(runs) > 1 else 0.0,
        len(runs),
        float(np.median([run.seconds for run in runs])),
        float(np.mean([run.iterations for run in runs])),
        describe_seeds(method, name),
    )


def _mean(results: Results, method: str) -> Mean:
    ours, theirs = (_accuracies(results, name) for name in (method, "mv"))
    senti = "measured" if "senti" in results.data else ""
    if results.fills_senti and method in SENTI:
        ours, theirs = [*ours, SENTI[method].accuracy], [*theirs, SENTI["mv"].accuracy]
        senti = SENTI[method].kind
    test = compare(ours, theirs) if method != "mv" else None
    eleven = float(np.mean(ours)) if senti and len(ours) == 11 else None
    return Mean(float(np.mean(_accuracies(results, method))), eleven, senti, test, len(ours))


def _accuracies(results: Results, method: str) -> list[float]:
    return [score.accuracy for score in results.scores[method].values()]


def _ablation(results: Results, done: Mapping[Fit, FitOutcome]) -> dict[str, dict[str, Ablated]]:
    return {what: {value: _ablated(results, what, value, done) for value in row} for what, row in ABLATION.items()}


def _ablated(results: Results, what: str, value: str, done: Mapping[Fit, FitOutcome]) -> Ablated:
    seeds = fits_of_ablation(what, value, list(results.data))
    means = [float(np.mean([done[fit].accuracy for fit in fits])) for fits in seeds]
    mean = float(np.mean(means))
    spread = float(np.std(means, ddof=1)) if len(means) > 1 else 0.0
    if results.fills_senti:
        return Ablated(mean, spread, len(means), (10 * mean + SENTI["ptbcc"].accuracy) / 11)
    return Ablated(mean, spread, len(means), mean if not results.absent else None)


def _case(name: str, done: Mapping[Fit, FitOutcome]) -> Case | None:
    outcome = done.get(Fit("ptbcc", (), name))
    if outcome is None or outcome.prototypes is None or outcome.weights is None:
        return None
    return Case(outcome.prototypes, outcome.weights)
