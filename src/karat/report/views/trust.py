"""How far annotators agree, and whether a probability of 90 % is right nine times of ten."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from karat.encoding import MISSING, Codes
from karat.report.views.common import Floats, plain, share_interval
from karat.report.views.key import Key
from karat.result import Result

__all__ = ["Calibration", "CalibrationBin", "Figure", "Trust", "trust"]

BINS = 10
WITHOUT_TRUTH = (
    "No truths were given: add --truth FILE, and this shows whether a probability of 90 % is right nine times of ten."
)


@dataclass(frozen=True)
class Figure:
    """One measure of agreement."""

    name: str
    value: float | None  # None: the votes cannot tell
    low: float | None
    high: float | None
    words: str


@dataclass(frozen=True)
class CalibrationBin:
    """Tasks whose labels are about as probable."""

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
    error: float
    bins: list[CalibrationBin]
    words: str


@dataclass(frozen=True)
class Trust:
    figures: list[Figure]
    agreement_words: str
    agreement_absent: str | None
    calibration: Calibration | None
    calibration_absent: str | None


def trust(result: Result, key: Key | None = None) -> Trust:
    found = None if key is None else calibration(result, key.judges(result))
    return Trust(
        figures=[],
        agreement_words="",
        agreement_absent="not yet",
        calibration=found,
        calibration_absent=None if found else WITHOUT_TRUTH,
    )


def calibration(result: Result, truth: Codes) -> Calibration | None:
    known = np.flatnonzero(truth != MISSING)
    if not known.size:
        return None
    right = (result.label_codes[known] == truth[known]).astype(float)
    confidence = result.confidence[known]
    bins = _bins(confidence, right)
    return Calibration(len(known), 0.0, bins, "")


def _bins(confidence: Floats, right: Floats) -> list[CalibrationBin]:
    of_bin = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    found = []
    for b in np.unique(of_bin).tolist():
        inside = of_bin == b
        n = int(inside.sum())
        low, high = share_interval(float(right[inside].sum()), n)
        found.append(
            CalibrationBin(
                b / BINS, (b + 1) / BINS, n, plain(confidence[inside].mean()), plain(right[inside].mean()), low, high
            )
        )
    return found
