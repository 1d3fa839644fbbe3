"""How good the labels are: what was measured, or, where nothing was, what was voted; whether
annotators agree, and whether the probabilities of labels are right.
"""

from __future__ import annotations

import math

import numpy as np

from finegold.insight.agreement import Agreement
from finegold.insight.calibration import Calibration
from finegold.insight.majority import Voted, voted_in_words, what_was_voted
from finegold.insight.overview import caution
from finegold.kernels.cells import vote_shares
from finegold.report.sections.common import Subject, View, as_sentence, percent
from finegold.report.sections.tasks import doubts
from finegold.results import metrics
from finegold.results.data import ResultData
from finegold.votes.annotations import kernel_votes
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.frames import to_polars

BINS = 20
# Krippendorff's recommended limits for alpha
MIN_RELIABLE_ALPHA, MIN_TENTATIVE_ALPHA = 0.8, 0.667


def quality(subject: Subject) -> View:
    result, key, measured = subject.result, subject.key, subject.measurement
    unknown = result.gold == MISSING
    n_gold = int((~unknown).sum())
    counts, edges = np.histogram(np.clip(result.confidence[unknown], 0, 1), bins=BINS, range=(0, 1))
    compared = None if key is None else _compare(result, key.without(result.gold))
    voted = what_was_voted(result.annotations, unknown)
    headline, words = _headline(result, measured, compared, voted)
    if n_gold and unknown.any():
        words.append(f"The labels of {n_gold:,} further tasks were given as gold.")
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
    warnings = subject.trust.warnings
    if subject.judges is not None:
        # the section on judges has figures of its own on judges that err alike
        panel = subject.trust.correlated.warnings
        warnings = [each for each in warnings if each not in panel]
    bins = zip(edges.round(2).tolist(), edges[1:].round(2).tolist(), counts.tolist(), strict=False)
    return {
        "n_tasks": len(result.label_codes),
        "n_votes": int(result.votes_per_task.sum()),
        "n_gold": n_gold,
        "n_unlabelled": len(result.unlabelled),
        # contested, tied, or against the majority of the votes
        "n_doubtful": int(np.any([*doubts(result).values()], axis=0).sum()),
        # tasks without gold, by what their votes say
        "voted": voted,
        "measurement": measured,
        "comparison": compared,
        "headline": headline,
        "sentences": words,
        "warnings": [as_sentence(each) for each in warnings],
        "histogram": [{"low": low, "high": high, "n": n} for low, high, n in bins],
    }


def _headline(
    result: ResultData, measured: View | None, compared: View | None, voted: Voted
) -> tuple[str, list[str]]:
    """Return the first sentence, and what explains it. What was measured comes first."""
    if measured is not None:
        low, high = percent(measured["low"], 1), percent(measured["high"], 1)
        words = [
            f"Measured with {measured['checked']:,} checks of a random sample, certified on"
            f" {measured['date']}."
        ]
        if (measured["method"], measured["n_tasks"]) != (result.method, len(result.label_codes)):
            words.append(
                f"The sample was drawn from {measured['n_tasks']:,} labels of"
                f" {measured['method']}; these labels may differ."
            )
        share = f"{percent(measured['estimate'], 1)} of the labels are right"
        return f"{share}: between {low} and {high}, with 95 % certainty", words
    if compared is not None:
        n = compared["n"]
        words = [f"The method itself expected {percent(compared['confidence'], 1)} of these."]
        if n < len(result.label_codes):
            words.append(
                "What that says about the other labels depends on how the tasks were chosen: an"
                " interval for all labels needs tasks that were drawn at random (finegold sample)."
            )
        truths = f"{n:,} known truth{'' if n == 1 else 's'}"
        share = percent(compared["accuracy"], 1)
        return f"{share} of the checked labels are right, by {truths}", words
    if not sum(voted):
        return "Every label was given as a gold truth", []
    return voted_in_words(voted), [
        "Votes alone do not show how many labels are right. Check 50 tasks drawn at random to know"
        " (finegold sample)."
    ]


def _compare(result: ResultData, truth: Codes) -> View | None:
    """Compare the labels, and the majority vote, with truths that the method did not see."""
    known, votes = truth >= 0, result.annotations
    if not known.any():
        return None
    shares = np.zeros((votes.n_tasks, votes.n_classes))
    vote_shares(kernel_votes(votes), np.full(votes.n_tasks, MISSING, np.int32), shares)
    return {
        "n": int(known.sum()),
        "accuracy": metrics.accuracy(result.posterior, truth),
        "majority": metrics.accuracy(shares, truth),
        "confidence": float(result.confidence[known].mean()),
    }


def agreement(subject: Subject) -> View:
    agreed, tested = subject.trust.agreement, subject.trust.calibration
    return {
        "agreement": agreed,
        "agreement_words": _in_words(agreed),
        "calibration_words": "" if tested is None else _calibration_words(tested),
        # bins of confidence, with the accuracy of their labels and its interval
        "curve": [] if tested is None else to_polars(tested.curve()).to_dicts(),
    }


def _in_words(agreed: Agreement) -> str:
    """Describe agreement by Krippendorff's limits."""
    words = (
        f"On {agreed.n_tasks:,} tasks with several votes, two annotators agree in"
        f" {percent(agreed.observed)} of the cases"
    )
    if not math.isfinite(agreed.alpha):
        return f"{words}; the votes do not show whether that is more than chance."
    verdict = "too low to rely on single votes, which is why they are aggregated"
    if agreed.alpha >= MIN_RELIABLE_ALPHA:
        verdict = "high enough to take any single vote seriously"
    elif agreed.alpha >= MIN_TENTATIVE_ALPHA:
        verdict = "enough for tentative conclusions from single votes"
    return f"{words}. Beyond chance, that is an alpha of {agreed.alpha:.2f}: {verdict}."


def _calibration_words(tested: Calibration) -> str:
    after = ", and no temperature would reduce it"
    if tested.ece_after < tested.ece:
        reduced = f"would reduce it to {tested.ece_after:.3f}"
        after = f"; a temperature of {tested.temperature:.2f} {reduced}"
    return (
        f"Labels have a mean confidence of {percent(tested.confidence, 1)};"
        f" {percent(tested.accuracy, 1)} of them are right. The calibration error is"
        f" {tested.ece:.3f}{after}."
    )
