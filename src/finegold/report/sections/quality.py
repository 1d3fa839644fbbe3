"""How good the labels are: what was measured, or, where nothing was, what was voted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finegold.insight.expected import caution
from finegold.insight.majority import Voted, voted_in_words, what_was_voted
from finegold.report.sections.common import as_sentence, percent
from finegold.report.sections.subject import Measurement, Subject
from finegold.report.sections.tasks import doubts
from finegold.results import metrics
from finegold.results.data import ResultData, votes_of
from finegold.votes.encoding import MISSING, Codes

BINS = 20


@dataclass(frozen=True)
class Bin:
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Comparison:
    """The labels compared with known truths that the method did not see."""

    n: int
    accuracy: float
    # mean of the method's probabilities of these labels
    confidence: float
    # accuracy of the majority vote
    majority: float


@dataclass(frozen=True)
class Quality:
    n_tasks: int
    n_votes: int
    # number of labels that were given as gold
    n_gold: int
    n_unlabelled: int
    # contested, tied, or against the majority of the votes
    n_doubtful: int
    # tasks without gold, by what their votes say
    voted: Voted
    measurement: Measurement | None
    comparison: Comparison | None
    headline: str
    sentences: list[str]
    warnings: list[str]
    # of the probabilities of labels
    histogram: list[Bin]


def quality(subject: Subject) -> Quality:
    result, key, measured = subject.result, subject.key, subject.measurement
    unknown = result.gold == MISSING
    counts, edges = np.histogram(np.clip(result.confidence[unknown], 0, 1), bins=BINS, range=(0, 1))
    compared = None if key is None else _compare(result, key.without(result.gold))
    voted = what_was_voted(votes_of(result), unknown)
    words = []
    if not unknown.all() and unknown.any():
        words.append(f"The labels of {int((~unknown).sum()):,} further tasks were given as gold.")
    if key is not None:
        taught = int(((key.codes != MISSING) & ~unknown).sum())
        unused = [
            (key.n_unmatched, "belong to tasks without votes"),
            (taught, "were given to the method as gold"),
        ]
        words += [f"{n:,} of the truths {what} and are not counted." for n, what in unused if n]
    if warned := caution(result):
        words.append(warned)
    if not result.converged:
        words.append(
            "The method stopped before it converged: increase max_iterations before you trust the"
            " labels."
        )
    headline, explained = _headline(result, measured, compared, voted)
    warnings, panel = subject.trust.warnings, subject.trust.correlated.warnings
    if subject.judges is not None:
        # the section on judges has figures of its own on judges that err alike
        warnings = [each for each in warnings if each not in panel]
    return Quality(
        n_tasks=len(result.label_codes),
        n_votes=int(result.votes_per_task.sum()),
        n_gold=int((~unknown).sum()),
        n_unlabelled=len(result.unlabelled),
        n_doubtful=int(doubts(result).any.sum()),
        voted=voted,
        measurement=measured,
        comparison=compared,
        headline=headline,
        sentences=[*explained, *words],
        warnings=[as_sentence(each) for each in warnings],
        histogram=[
            Bin(round(a, 2), round(b, 2), int(n))
            for a, b, n in zip(edges, edges[1:], counts, strict=False)
        ],
    )


def _headline(
    result: ResultData,
    measured: Measurement | None,
    compared: Comparison | None,
    voted: Voted,
) -> tuple[str, list[str]]:
    """Return the first sentence, and what explains it. What was measured comes first."""
    if measured is not None:
        headline = (
            f"{percent(measured.estimate, 1)} of the labels are right: between"
            f" {percent(measured.low, 1)} and {percent(measured.high, 1)}, with 95 % certainty"
        )
        words = [
            f"Measured with {measured.checked:,} checks of a random sample, certified on"
            f" {measured.date}."
        ]
        if (measured.method, measured.n_tasks) != (result.method, len(result.label_codes)):
            words.append(
                f"The sample was drawn from {measured.n_tasks:,} labels of {measured.method}; these"
                " labels may differ."
            )
        return headline, words
    if compared is not None:
        truths = f"{compared.n:,} known truth{'' if compared.n == 1 else 's'}"
        words = [f"The method itself expected {percent(compared.confidence, 1)} of these."]
        if compared.n < len(result.label_codes):
            words[0] += (
                " What that says about the other labels depends on how the tasks were chosen: an"
                " interval for all labels needs tasks that were drawn at random (finegold sample)."
            )
        return (
            f"{percent(compared.accuracy, 1)} of the checked labels are right, by {truths}",
            words,
        )
    if not sum(voted):
        return "Every label was given as a gold truth", []
    return voted_in_words(voted), [
        "Votes alone do not show how many labels are right. Check 50 tasks drawn at random to know"
        " (finegold sample)."
    ]


def _compare(result: ResultData, truth: Codes) -> Comparison | None:
    """Compare the labels, and the majority vote, with truths; ties earn their share, as everywhere."""
    n, votes = int((truth >= 0).sum()), votes_of(result)
    if not n:
        return None
    shares = np.zeros((votes.n_tasks, votes.n_classes))
    task = np.repeat(np.arange(votes.n_tasks), np.diff(votes.task_ptr))
    shares[task, votes.cell_class] = np.diff(votes.cell_ptr)
    return Comparison(
        n=n,
        confidence=float(result.confidence[truth >= 0].mean()),
        majority=metrics.accuracy(shares, truth),
        accuracy=metrics.accuracy(result.posterior, truth),
    )
