"""The quality of the labels and its uncertainty; agreement of the annotators and calibration of the
probabilities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from finegold.insight import overview as insight
from finegold.insight.expected import caution, expected_accuracy
from finegold.report.views.common import Floats, as_sentence, finite, percent, plain
from finegold.results import metrics
from finegold.results.data import ResultData
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.frames import to_polars
from finegold.votes.key import Key

# The calibrated language of the IPCC's reports: each term stands for a range of probabilities.
BANDS = (
    (0.99, "virtually certain", "99 % or more"),
    (0.90, "very likely", "90 to 99 %"),
    (0.66, "likely", "66 to 90 %"),
    (0.00, "unsure", "under 66 %"),
)
BINS = 20
MEASURED = ("accuracy", "macro_f1", "log_loss", "calibration_error")


@dataclass(frozen=True)
class Band:
    """Tasks whose labels have a similar confidence."""

    word: str
    range: str
    n: int
    share: float
    # expected number of wrong labels among them
    errors: float


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
    # expected accuracy of these labels by the method's probabilities
    confidence: float
    macro_f1: float
    log_loss: float
    calibration_error: float
    # accuracy of the majority vote; None without the votes
    majority: float | None


@dataclass(frozen=True)
class Quality:
    n_tasks: int
    n_votes: int
    n_annotators: int
    n_classes: int
    # number of labels that were given as gold
    n_gold: int
    n_unlabelled: int
    # share of right labels among the others, by the method's own confidences
    expected: float
    errors: float
    bands: list[Band]
    histogram: list[Bin]
    judged: Judged | None
    headline: str
    sentences: list[str]


def quality(result: ResultData, key: Key | None = None) -> Quality:
    unknown = result.gold == MISSING
    confidence = result.confidence[unknown]
    judged = None if key is None else _measure(result, key.without(result.gold))
    bands, share = _bands(confidence), expected_accuracy(result)
    counts, edges = np.histogram(np.clip(confidence, 0, 1), bins=BINS, range=(0, 1))
    bins = [
        Bin(round(a, 2), round(b, 2), int(n))
        for a, b, n in zip(edges, edges[1:], counts, strict=False)
    ]
    headline = (
        "Every label was given as a gold truth"
        if share is None
        else f"About {percent(share)} of the labels are right by the method's own confidences"
    )
    words = []
    if judged is not None:
        truths = f"{judged.n:,} known truth{'' if judged.n == 1 else 's'}"
        headline = f"{percent(judged.accuracy, 1)} of the checked labels are right, by {truths}"
        words.append(f"The method itself expected {percent(judged.confidence, 1)} of these.")
        if judged.n < len(result.label_codes):
            words[0] += (
                " What that says about the other labels depends on how the tasks were chosen: an"
                " interval for all labels needs tasks that were drawn at random (finegold sample)."
            )
    if key is not None:
        taught = int(((key.codes != MISSING) & ~unknown).sum())
        unused = [
            (key.n_unmatched, "belong to tasks without votes"),
            (taught, "were given to the method as gold"),
        ]
        words += [f"{n:,} of the truths {what} and are not counted." for n, what in unused if n]
    if warned := caution(result):
        words.append(warned)
    sure, unsure = ((band.n, percent(band.share)) for band in (bands[0], bands[-1]))
    if sure[0] + unsure[0]:
        words.append(
            f"{sure[0]:,} labels ({sure[1]}) are virtually certain; {unsure[0]:,} ({unsure[1]}) are"
            " unsure."
        )
    if not result.converged:
        words.append(
            "The method stopped before it converged: increase max_iterations before you trust the"
            " labels."
        )
    return Quality(
        n_tasks=len(result.label_codes),
        n_votes=int(result.votes_per_task.sum()),
        n_annotators=len(result.accuracy),
        n_classes=len(result.class_names),
        n_gold=int((~unknown).sum()),
        n_unlabelled=len(result.unlabelled),
        expected=1.0 if share is None else share,
        errors=float((1 - confidence).sum()),
        bands=bands,
        histogram=bins,
        judged=judged,
        headline=headline,
        sentences=words,
    )


def _bands(confidence: Floats) -> list[Band]:
    bands, above = [], np.inf
    for least, word, range_ in BANDS:
        inside = confidence[(confidence >= least) & (confidence < above)]
        share = inside.size / max(confidence.size, 1)
        bands.append(Band(word, range_, int(inside.size), share, float((1 - inside).sum())))
        above = least
    return bands


def _measure(result: ResultData, truth: Codes) -> Judged | None:
    """Compare the labels, and the majority vote, with truths; ties earn their share, as everywhere."""
    n, votes, majority = int((truth >= 0).sum()), result.annotations, None
    if not n:
        return None
    if votes is not None:
        shares = np.zeros((votes.n_tasks, votes.n_classes))
        task = np.repeat(np.arange(votes.n_tasks), np.diff(votes.task_ptr))
        shares[task, votes.cell_class] = np.diff(votes.cell_ptr)
        majority = metrics.accuracy(shares, truth)
    return Judged(
        n=n,
        confidence=float(result.confidence[truth >= 0].mean()),
        majority=majority,
        **{name: getattr(metrics, name)(result.posterior, truth) for name in MEASURED},
    )


WITHOUT_TRUTH = (
    "no truths were given. With --truth FILE, this shows whether labels with a probability of 90 %"
    " are right in 90 %."
)
WITHOUT_VOTES = (
    "this model was saved by an older version of Finegold, without its votes. Fit again to include"
    " them."
)
MEASURES = {
    "alpha": ("Krippendorff’s alpha", "recommended: any number of annotators, missing votes"),
    "fleiss": ("Fleiss’ kappa", "for many annotators"),
    "cohen": ("Cohen’s kappa", "mean over pairs of annotators"),
    "ac1": ("Gwet’s AC1", "robust against very unequal class frequencies"),
    "observed": (
        "Observed agreement",
        "share of pairs of votes that agree, including agreement by chance",
    ),
    "self_agreement": (
        "Agreement with oneself",
        "of annotators who voted on a task more than once",
    ),
}
# Krippendorff's recommended limits for alpha.
MIN_RELIABLE_ALPHA, MIN_TENTATIVE_ALPHA = 0.8, 0.667


@dataclass(frozen=True)
class Figure:
    """One measure of agreement."""

    name: str
    # None if the votes do not determine it
    value: float | None
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
    # expected calibration error
    error: float
    # that would calibrate the probabilities
    temperature: float
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


def judge(result: ResultData, key: Key | None = None) -> insight.Trust | None:
    """Compute agreement and calibration; None without the votes."""
    if result.annotations is None:
        return None
    judges = key is not None and (key.without(result.gold) != MISSING).any()
    return insight.trust(result, key if judges else None)


def trust(result: ResultData) -> Trust:
    return trust_of(judge(result))


def trust_of(measured: insight.Trust | None) -> Trust:
    """Return the view of what `judge` computed. Krippendorff's limits describe the agreement."""
    if measured is None:
        return Trust([], [], "", WITHOUT_VOTES, None, WITHOUT_VOTES)
    agreed, figures = measured.agreement, []
    for name, (title, words) in MEASURES.items():
        low, high = agreed.interval(name) if name in agreed.errors else (math.nan, math.nan)
        value = getattr(agreed, name)
        if name != "self_agreement" or math.isfinite(value):
            figures.append(
                Figure(title, finite(plain(value)), finite(plain(low)), finite(plain(high)), words)
            )
    words = (
        f"On {agreed.n_tasks:,} tasks with several votes, two annotators agree in"
        f" {percent(agreed.observed)} of the cases"
    )
    if not math.isfinite(agreed.alpha):
        words = f"{words}; the votes do not show whether that is more than chance."
    else:
        verdict = "too low to rely on single votes, which is why they are aggregated"
        if agreed.alpha >= MIN_RELIABLE_ALPHA:
            verdict = "high enough to take any single vote seriously"
        elif agreed.alpha >= MIN_TENTATIVE_ALPHA:
            verdict = "enough for tentative conclusions from single votes"
        words = f"{words}. Beyond chance, that is an alpha of {agreed.alpha:.2f}: {verdict}."
    tested, calibration = measured.calibration, None
    if tested is not None:
        bins = [
            CalibrationBin(n=row["n"], **{name: plain(row[name]) for name in row if name != "n"})
            for row in to_polars(tested.curve()).to_dicts()
        ]
        after = ", and no temperature would reduce it"
        if tested.ece_after < tested.ece:
            after = (
                f"; a temperature of {tested.temperature:.2f} would reduce it to"
                f" {tested.ece_after:.3f}"
            )
        measures = (
            f"Labels have a mean confidence of {percent(tested.confidence, 1)};"
            f" {percent(tested.accuracy, 1)} of them are right. The calibration error is"
            f" {tested.ece:.3f}{after}."
        )
        calibration = Calibration(
            tested.n, plain(tested.ece), plain(tested.temperature), bins, measures
        )
    return Trust(
        warnings=[as_sentence(each) for each in measured.warnings],
        figures=figures,
        agreement_words=words,
        agreement_absent=None if agreed.n_tasks else "no task has votes of two annotators.",
        calibration=calibration,
        calibration_absent=None if calibration else WITHOUT_TRUTH,
    )
