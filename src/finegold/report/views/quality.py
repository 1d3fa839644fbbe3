"""The quality of the labels and its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finegold.insight.expected import caution, expected_accuracy, in_words
from finegold.report.views.common import Floats, percent, thousands
from finegold.results import metrics
from finegold.results.data import ResultData
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.key import Key

# The calibrated language of the IPCC's reports: each term stands for a range of probabilities.
BANDS = (
    (0.99, "virtually certain", "99 % or more"),
    (0.90, "very likely", "90 to 99 %"),
    (0.66, "likely", "66 to 90 %"),
    (0.00, "unsure", "under 66 %"),
)
BINS = 20


@dataclass(frozen=True)
class Band:
    """Tasks whose labels have a similar confidence."""

    word: str
    range: str
    n: int
    share: float
    errors: float  # expected number of wrong labels among them


@dataclass(frozen=True)
class Bin:
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class Judged:
    """The labels compared with known truths that the method did not see."""

    n: int
    accuracy: float
    confidence: float  # expected accuracy of these labels by the method's probabilities
    macro_f1: float
    log_loss: float
    calibration_error: float
    majority: float | None  # accuracy of the majority vote; None without the votes


@dataclass(frozen=True)
class Quality:
    n_tasks: int
    n_votes: int
    n_annotators: int
    n_classes: int
    n_gold: int  # number of labels that were given as gold
    n_unlabelled: int
    expected: float  # share of right labels among the others, by the method's own confidences
    errors: float
    bands: list[Band]
    histogram: list[Bin]
    judged: Judged | None
    headline: str
    sentences: list[str]


def quality(result: ResultData, key: Key | None = None) -> Quality:
    found = result.gold == MISSING
    confidence = result.confidence[found]
    judged = None if key is None else _judged(result, key.without(result.gold))
    bands = _bands(confidence)
    errors = float((1 - confidence).sum())
    expected = expected_accuracy(result)
    return Quality(
        n_tasks=len(result.label_codes),
        n_votes=int(result.votes_per_task.sum()),
        n_annotators=len(result.accuracy),
        n_classes=len(result.class_names),
        n_gold=int((~found).sum()),
        n_unlabelled=len(result.unlabelled),
        expected=1.0 if expected is None else expected,
        errors=errors,
        bands=bands,
        histogram=_histogram(confidence),
        judged=judged,
        headline=_headline(expected, judged),
        sentences=_sentences(result, bands, judged, key),
    )


def _bands(confidence: Floats) -> list[Band]:
    bands, above = [], np.inf
    for least, word, range_ in BANDS:
        inside = confidence[(confidence >= least) & (confidence < above)]
        share = inside.size / max(confidence.size, 1)
        bands.append(Band(word, range_, int(inside.size), share, float((1 - inside).sum())))
        above = least
    return bands


def _histogram(confidence: Floats) -> list[Bin]:
    counts, edges = np.histogram(np.clip(confidence, 0, 1), bins=BINS, range=(0, 1))
    return [Bin(round(a, 2), round(b, 2), int(n)) for a, b, n in zip(edges, edges[1:], counts, strict=False)]


def _judged(result: ResultData, truth: Codes) -> Judged | None:
    n = int((truth >= 0).sum())
    if not n:
        return None
    accuracy = metrics.accuracy(result.posterior, truth)
    return Judged(
        n=n,
        accuracy=accuracy,
        confidence=float(result.confidence[truth >= 0].mean()),
        macro_f1=metrics.macro_f1(result.posterior, truth),
        log_loss=metrics.log_loss(result.posterior, truth),
        calibration_error=metrics.calibration_error(result.posterior, truth),
        majority=_majority(result, truth),
    )


def _majority(result: ResultData, truth: Codes) -> float | None:
    """Ties earn their share, as everywhere."""
    votes = result.annotations
    if votes is None:
        return None
    shares = np.zeros((votes.n_tasks, votes.n_classes))
    task = np.repeat(np.arange(votes.n_tasks), np.diff(votes.task_ptr))
    shares[task, votes.cell_class] = np.diff(votes.cell_ptr)
    return metrics.accuracy(shares, truth)


def _headline(expected: float | None, judged: Judged | None) -> str:
    if judged is not None:
        truths = f"{thousands(judged.n)} known truth{'' if judged.n == 1 else 's'}"
        return f"{percent(judged.accuracy, 1)} of the checked labels are right, by {truths}"
    return "Every label was given as a gold truth" if expected is None else in_words(expected).removesuffix(".")


def _sentences(result: ResultData, bands: list[Band], judged: Judged | None, key: Key | None) -> list[str]:
    words = [*([_of_judgement(judged, len(result.label_codes))] if judged else []), *_of_unused(result, key)]
    if warned := caution(result):
        words.append(warned)
    sure, unsure = bands[0], bands[-1]
    if sure.n + unsure.n:
        words.append(
            f"{thousands(sure.n)} labels ({percent(sure.share)}) are virtually certain; "
            f"{thousands(unsure.n)} ({percent(unsure.share)}) are unsure."
        )
    if not result.converged:
        words.append("The method stopped before it converged: increase max_iterations before you trust the labels.")
    return words


def _of_judgement(judged: Judged, n_tasks: int) -> str:
    """Compare the accuracy on known truths with what the method expected, and say what it means for the others."""
    words = f"The method itself expected {percent(judged.confidence, 1)} of these."
    if judged.n >= n_tasks:
        return words
    return (
        f"{words} What that says about the other labels depends on how the tasks were chosen: an interval for all "
        "labels needs tasks that were drawn at random (finegold sample)."
    )


def _of_unused(result: ResultData, key: Key | None) -> list[str]:
    """List the truths that could not be used."""
    if key is None:
        return []
    taught = int(((key.codes != MISSING) & (result.gold != MISSING)).sum())
    words = [(key.n_unmatched, "belong to tasks without votes"), (taught, "were given to the method as gold")]
    return [f"{thousands(n)} of the truths {what} and are not counted." for n, what in words if n]
