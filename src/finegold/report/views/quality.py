"""The quality of the labels and its uncertainty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from finegold.insight.expected import Expected, caution, expected_of, in_words
from finegold.methods.measured import N_FAMILIES
from finegold.report.views.common import Floats, percent, share_interval, thousands
from finegold.results import metrics
from finegold.results.data import ResultData
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.key import Key

__all__ = ["BANDS", "Band", "Bin", "Judged", "Quality", "quality"]

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
    low: float
    high: float
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
    expected: float  # expected share of right labels among the others
    expected_low: float
    expected_high: float
    expected_by: str  # source of these three numbers
    errors: float
    bands: list[Band]
    histogram: list[Bin]
    judged: Judged | None
    headline: str
    sentences: list[str]


def quality(result: ResultData, key: Key | None = None) -> Quality:
    found = result.gold == MISSING
    confidence = result.confidence[found]
    measured = expected_of(result)
    low, expected, high = _expected(confidence) if measured is None else measured[:3]
    judged = None if key is None else _judged(result, key.without(result.gold))
    bands = _bands(confidence)
    errors = float((1 - confidence).sum())
    return Quality(
        n_tasks=len(result.label_codes),
        n_votes=int(result.votes_per_task.sum()),
        n_annotators=len(result.accuracy),
        n_classes=len(result.class_names),
        n_gold=int((~found).sum()),
        n_unlabelled=len(result.unlabelled),
        expected=expected,
        expected_low=low,
        expected_high=high,
        expected_by="the method’s own probabilities"
        if measured is None
        else "labels of similar confidence on real data",
        errors=errors,
        bands=bands,
        histogram=_histogram(confidence),
        judged=judged,
        headline=_headline(expected, measured, judged, found),
        sentences=_sentences(result, bands, _of_belief(errors, measured), judged, key),
    )


def _expected(confidence: Floats) -> tuple[float, float, float]:
    """Return the mean and the 95 % bounds of the share of right labels, if the probabilities are right."""
    if not confidence.size:
        return 1.0, 1.0, 1.0
    mean = float(confidence.mean())
    spread = 1.96 * float(np.sqrt((confidence * (1 - confidence)).sum())) / confidence.size
    return max(mean - spread, 0.0), mean, min(mean + spread, 1.0)


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
    low, high = share_interval(accuracy * n, n)
    return Judged(
        n=n,
        accuracy=accuracy,
        low=low,
        high=high,
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


def _headline(
    expected: float,
    measured: Expected | None,
    judged: Judged | None,
    found: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> str:
    if judged is not None:
        return f"{percent(judged.accuracy, 1)} of the labels are right, by {thousands(judged.n)} known truths"
    if not found.any():
        return "Every label was given as a gold truth"
    if measured is not None:
        return f"{100 * measured.low:.0f} to {100 * measured.high:.0f} of 100 labels are expected to be right"
    return f"About {_of_a_hundred(expected)} labels are expected to be right"


def _of_a_hundred(share: float) -> str:
    return f"{100 * share:.0f} of 100" if share < 0.985 else f"{min(1000 * share, 999):.0f} of 1,000"


def _sentences(result: ResultData, bands: list[Band], belief: str, judged: Judged | None, key: Key | None) -> list[str]:
    words = [_of_judgement(judged) if judged else belief, *_of_unused(result, key)]
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


def _of_judgement(judged: Judged) -> str:
    """Describe the measured accuracy, compared with what the method expected."""
    gap = judged.confidence - judged.accuracy
    believed = f"the method itself expected {percent(judged.confidence, 1)}"
    words = f"Between {percent(judged.low, 1)} and {percent(judged.high, 1)} with {percent(0.95)} certainty; {believed}"
    if judged.low <= judged.confidence <= judged.high:
        return f"{words}, which agrees."
    return f"{words}: it is {'over' if gap > 0 else 'under'}confident by {100 * abs(gap):.1f} points."


def _of_unused(result: ResultData, key: Key | None) -> list[str]:
    """List the truths that could not be used."""
    if key is None:
        return []
    taught = int(((key.codes != MISSING) & (result.gold != MISSING)).sum())
    words = [(key.n_unmatched, "belong to tasks without votes"), (taught, "were given to the method as gold")]
    return [f"{thousands(n)} of the truths {what} and are not counted." for n, what in words if n]


def _of_belief(errors: float, measured: Expected | None) -> str:
    if measured is not None:
        return (
            f"{in_words(measured)} The range leaves out the lowest and the highest tenth of {N_FAMILIES} families of "
            "data sets; yours may lie anywhere in it. To measure it, check a hundred tasks and give their truths."
        )
    return (
        f"By the method's own probabilities, {errors:,.0f} labels are expected to be wrong. No truths were "
        "given to test this, and methods tend to be overconfident. To measure it, check a hundred tasks and give their "
        "truths."
    )
