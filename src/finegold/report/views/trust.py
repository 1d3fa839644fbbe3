"""Agreement of the annotators and calibration of the probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass

from finegold import insight as source
from finegold.report.views.common import percent, plain
from finegold.results.data import ResultData
from finegold.votes.encoding import MISSING
from finegold.votes.frames import to_polars
from finegold.votes.key import Key

WITHOUT_TRUTH = (
    "no truths were given. With --truth FILE, this shows whether labels with a probability of 90 % are right in 90 %."
)
WITHOUT_VOTES = "this model was saved by an older version of Finegold, without its votes. Fit again to include them."
MEASURES = {
    "alpha": ("Krippendorff’s alpha", "recommended: any number of annotators, missing votes"),
    "fleiss": ("Fleiss’ kappa", "for many annotators"),
    "cohen": ("Cohen’s kappa", "mean over pairs of annotators"),
    "ac1": ("Gwet’s AC1", "robust against very unequal class frequencies"),
    "observed": ("Observed agreement", "share of pairs of votes that agree, including agreement by chance"),
    "self_agreement": ("Agreement with oneself", "of annotators who voted on a task more than once"),
}
# Krippendorff's recommended limits for alpha.
MIN_RELIABLE_ALPHA, MIN_TENTATIVE_ALPHA = 0.8, 0.667


@dataclass(frozen=True)
class Figure:
    """One measure of agreement."""

    name: str
    value: float | None  # None if the votes do not determine it
    low: float | None
    high: float | None
    words: str


@dataclass(frozen=True)
class CalibrationBin:
    """Tasks whose labels have similar probabilities."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float


@dataclass(frozen=True)
class Calibration:
    n: int
    error: float  # expected calibration error
    temperature: float  # that would calibrate the probabilities
    bins: list[CalibrationBin]
    words: str


@dataclass(frozen=True)
class Trust:
    warnings: list[str]
    figures: list[Figure]
    agreement_words: str
    agreement_absent: str | None
    calibration: Calibration | None
    calibration_absent: str | None


def judge(result: ResultData, key: Key | None = None) -> source.Trust | None:
    """Compute agreement and calibration; None without the votes."""
    if result.annotations is None:
        return None
    judges = key is not None and (key.without(result.gold) != MISSING).any()
    return source.trust(result, key if judges else None)


def trust(result: ResultData, key: Key | None = None) -> Trust:
    return trust_of(judge(result, key))


def trust_of(found: source.Trust | None) -> Trust:
    if found is None:
        return Trust([], [], "", WITHOUT_VOTES, None, WITHOUT_VOTES)
    calibration = None if found.calibration is None else _calibration(found.calibration)
    return Trust(
        warnings=[_sentence(words) for words in found.warnings],
        figures=_figures(found.agreement),
        agreement_words=_agreement_words(found.agreement),
        agreement_absent=None if found.agreement.n_tasks else "no task has votes of two annotators.",
        calibration=calibration,
        calibration_absent=None if calibration else WITHOUT_TRUTH,
    )


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."


def _figures(found: source.Agreement) -> list[Figure]:
    values = found.figures()
    figures = []
    for name, (title, words) in MEASURES.items():
        low, high = found.interval(name) if name in found.errors else (math.nan, math.nan)
        if name != "self_agreement" or not math.isnan(values[name]):
            figures.append(Figure(title, _known(values[name]), _known(low), _known(high), words))
    return figures


def _known(value: float) -> float | None:
    return plain(value) if math.isfinite(value) else None


def _agreement_words(found: source.Agreement) -> str:
    """Describe the agreement by Krippendorff's limits."""
    said = (
        f"On {found.n_tasks:,} tasks with several votes, two annotators agree in {percent(found.observed)} of the cases"
    )
    if not math.isfinite(found.alpha):
        return f"{said}; the votes do not show whether that is more than chance."
    if found.alpha >= MIN_RELIABLE_ALPHA:
        verdict = "high enough to take any single vote seriously"
    elif found.alpha >= MIN_TENTATIVE_ALPHA:
        verdict = "enough for tentative conclusions from single votes"
    else:
        verdict = "too low to rely on single votes, which is why they are aggregated"
    return f"{said}. Beyond chance, that is an alpha of {found.alpha:.2f}: {verdict}."


def _calibration(found: source.Calibration) -> Calibration:
    bins = [
        CalibrationBin(n=row["n"], **{name: plain(row[name]) for name in row if name != "n"})
        for row in to_polars(found.curve()).to_dicts()
    ]
    return Calibration(found.n, plain(found.ece), plain(found.temperature), bins, _calibration_words(found))


def _calibration_words(found: source.Calibration) -> str:
    said = (
        f"Labels have a mean confidence of {percent(found.confidence, 1)}; {percent(found.accuracy, 1)} of them are "
        f"right. The calibration error is {found.ece:.3f}"
    )
    if found.ece_after < found.ece:
        return f"{said}; a temperature of {found.temperature:.2f} would reduce it to {found.ece_after:.3f}."
    return f"{said}, and no temperature would reduce it."
