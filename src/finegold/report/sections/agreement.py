"""Whether annotators agree, and whether the probabilities of labels are right."""

from __future__ import annotations

import math

from finegold.insight.agreement import Agreement
from finegold.insight.calibration import Calibration
from finegold.report.sections.common import Subject, View, percent
from finegold.votes.frames import to_polars

# Krippendorff's recommended limits for alpha
MIN_RELIABLE_ALPHA, MIN_TENTATIVE_ALPHA = 0.8, 0.667


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
