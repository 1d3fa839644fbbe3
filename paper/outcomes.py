"""What the fits add up to: accuracies, means over data sets, and the test against majority vote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, wilcoxon

from paper.data import Votes
from paper.fits import EBCC_RESTARTS, METHOD_SEEDS, Fit, Outcome, fits_of_ablation, fits_of_method
from paper.printed import SENTI, TABLE_5

# Accuracies are fractions of small numbers: smaller differences are rounding errors that would
# break ties.
DIGITS = 9


@dataclass(frozen=True)
class Comparison:
    """The one-sided Wilcoxon signed-rank test of a method against majority vote."""

    # sum of the ranks of the differences where the method is worse
    S: float
    # probability of such a small rank sum if the method is not better
    p: float
    # number of data sets, and of those with a difference
    data_sets: int
    n: int

    @property
    def stars(self) -> str:
        return "**" if self.p < 0.01 else "*" if self.p < 0.1 else ""


def compare(method: Sequence[float], baseline: Sequence[float]) -> Comparison:
    """Run the test; data sets without a difference are ignored."""
    difference = np.round(np.subtract(method, baseline), DIGITS)
    difference = difference[difference != 0]
    if not difference.size:
        return Comparison(0.0, 1.0, len(method), 0)
    ranks = rankdata(np.abs(difference))
    p = wilcoxon(difference, alternative="greater").pvalue
    return Comparison(float(ranks[difference < 0].sum()), float(p), len(method), len(difference))


@dataclass(frozen=True)
class Score:
    """A method on a data set; means over several seeds."""

    accuracy: float
    # standard deviation over the seeds
    spread: float
    runs: int
    # for one fit
    seconds: float
    iterations: float
    note: str


@dataclass(frozen=True)
class Mean:
    """The mean accuracy of a method over the data sets that are present.

    `eleven` has Senti filled in if only Senti is absent.
    """

    present: float
    eleven: float | None
    # measured, published, implied, or empty
    senti: str
    test: Comparison | None


@dataclass(frozen=True)
class Ablated:
    """PTBCC with one setting changed: means over the data sets that are present."""

    mean: float
    # standard deviation over seeds
    spread: float
    seeds: int
    # with PTBCC's published accuracy on Senti, for any setting
    eleven: float | None


class Case(NamedTuple):
    """The prototypes and the annotators' weights that PTBCC finds in a data set."""

    prototypes: NDArray[np.float64]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class Results:
    """All that the page shows."""

    # the data sets that are present, in the paper's order, and the names of the others
    data: dict[str, Votes]
    absent: list[str]
    scores: dict[str, dict[str, Score]] = field(default_factory=dict)
    means: dict[str, Mean] = field(default_factory=dict)
    ablation: dict[str, dict[str, Ablated]] = field(default_factory=dict)
    cases: dict[str, Case] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def fills_senti(self) -> bool:
        """Whether Senti is the only absent data set and published values replace it."""
        return self.absent == ["senti"]

    @property
    def by_size(self) -> list[str]:
        return sorted(self.data, key=lambda name: self.data[name].annotations.n_votes)

    def to_dict(self) -> dict[str, Any]:
        """Return the contents of results.json."""
        plain = {
            name: {key: asdict(value) for key, value in row.items()}
            for name, row in (self.scores | self.ablation).items()
        }
        tests = {method: mean.test for method, mean in self.means.items() if mean.test}
        return {
            "data_sets": {
                name: {"counts": votes.counts, "paper_counts": votes.info.counts}
                for name, votes in self.data.items()
            },
            "absent": self.absent,
            "accuracy": {
                method: {name: score.accuracy for name, score in row.items()}
                for method, row in self.scores.items()
            },
            "runs": {method: plain[method] for method in self.scores},
            "means": {
                method: {"present": mean.present, "eleven": mean.eleven, "senti": mean.senti}
                for method, mean in self.means.items()
            },
            "wilcoxon": {m: {**asdict(test), "stars": test.stars} for m, test in tests.items()},
            "ablation": {what: plain[what] for what in self.ablation},
            "prototypes": {
                name: {"confusion": case.prototypes.tolist(), "annotators": case.weights.tolist()}
                for name, case in self.cases.items()
            },
            "machine": self.machine,
        }


def collect(results: Results, done: Mapping[Fit, Outcome], methods: Sequence[str]) -> None:
    """Add to the results what these fits say."""
    names = list(results.data)
    for method in methods:
        results.scores[method] = {name: _score(method, name, done) for name in names}
    for method in methods:
        results.means[method] = _mean(results, method)
    for what, values in TABLE_5.items():
        results.ablation[what] = {}
        for value in values:
            cells = fits_of_ablation(what, value, names)
            means = [float(np.mean([done[fit].accuracy for fit in fits])) for fits in cells]
            mean, eleven = float(np.mean(means)), None
            if results.fills_senti:
                eleven = (10 * mean + SENTI["ptbcc"].accuracy) / 11
            elif not results.absent:
                eleven = mean
            results.ablation[what][value] = Ablated(mean, _spread(means), len(means), eleven)
    for name in names:
        found = done[Fit("ptbcc", name)]
        if found.prototypes is not None and found.weights is not None:
            results.cases[name] = Case(found.prototypes, found.weights)


def _score(method: str, name: str, done: Mapping[Fit, Outcome]) -> Score:
    runs = [done[fit] for fit in fits_of_method(method, name)]
    accuracies, note = [run.accuracy for run in runs], ""
    if method in METHOD_SEEDS:
        note = f"mean of {len(runs)} seeds" if len(runs) > 1 else "one seed"
    if method == "ebcc" and name in EBCC_RESTARTS:
        note += f", {EBCC_RESTARTS[name]} restarts instead of 40"
    return Score(
        float(np.mean(accuracies)),
        _spread(accuracies),
        len(runs),
        float(np.median([run.seconds for run in runs])),
        float(np.mean([run.iterations for run in runs])),
        note,
    )


def _mean(results: Results, method: str) -> Mean:
    ours, theirs = (
        [score.accuracy for score in results.scores[name].values()] for name in (method, "mv")
    )
    present, senti = float(np.mean(ours)), "measured" if "senti" in results.data else ""
    if results.fills_senti and method in SENTI:
        ours, theirs = [*ours, SENTI[method].accuracy], [*theirs, SENTI["mv"].accuracy]
        senti = SENTI[method].kind
    test = compare(ours, theirs) if method != "mv" else None
    return Mean(present, float(np.mean(ours)) if len(ours) == 11 else None, senti, test)


def _spread(values: Sequence[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
