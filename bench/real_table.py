"""The benchmark on real data as lines of a terminal."""

from __future__ import annotations

from typing import Any

from real_data import KINDS, PAPER
from real_score import MARGINS

__all__ = ["header", "line"]

WIDTH = 38


def header() -> str:
    groups = ("open", *KINDS, PAPER)
    return f"{'':{WIDTH}}{''.join(f'{group:>9}' for group in groups)}   log loss    ECE  under 1/3/5   seconds  failed"


def line(name: str, summary: dict[str, Any]) -> str:
    accuracies = "".join(_figure(summary[group], "accuracy", 9, 4) for group in ("open", *KINDS, PAPER))
    calibration = _figure(summary["open"], "log_loss", 11, 3) + _figure(summary["open"], "ece", 7, 3)
    under = "/".join(str(len(summary["under"][margin])) for margin in MARGINS)
    return f"{name:{WIDTH}}{accuracies}{calibration}{under:>13}{summary['seconds']:10.1f}{len(summary['failed']):8}"


def _figure(means: dict[str, float] | None, what: str, width: int, digits: int) -> str:
    return f"{'-':>{width}}" if means is None else f"{means[what]:{width}.{digits}f}"
