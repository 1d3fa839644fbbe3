"""Alternative texts of the charts."""

from __future__ import annotations

from finegold.report.views import View
from finegold.report.views.annotators import Ranked
from finegold.report.views.common import percent
from finegold.report.views.prototypes import Prototype

__all__ = [
    "annotators",
    "balance",
    "bound",
    "calibration",
    "change",
    "confidence",
    "confusion",
    "mixtures",
    "prototype",
    "ranking",
]


def confidence(view: View) -> str:
    bands = ", ".join(f"{band.n:,} {band.word} ({band.range})" for band in view.quality.bands)
    return f"Bar chart of the number of tasks by the probability of their label: {bands}."


def ranking(view: View) -> str:
    shown = view.annotators.ranking
    if len(shown) == 1:
        return f"One annotator: {_described(shown[0])}."
    return f"Annotators by expected accuracy, from {_described(shown[0])} down to {_described(shown[-1])}."


def annotators(view: View) -> str:
    votes = [one.n_votes for one in view.annotators.dots]
    return f"{len(votes):,} dots, one per annotator: {min(votes):,} to {max(votes):,} votes, by expected accuracy."


def prototype(one: Prototype) -> str:
    found = ", ".join(f"{m.truth} confused with {m.vote} in {percent(m.share)}" for m in one.mistakes)
    mistakes = f"; its most frequent mistakes: {found}" if found else ""
    return f"Heat map of prototype {one.number}, right in {percent(one.accuracy)}{mistakes}."


def mixtures(view: View) -> str:
    assert view.prototypes is not None
    shares = ", ".join(f"prototype {one.number} has {percent(one.share)}" for one in view.prototypes.prototypes)
    return f"One bar per annotator, divided by how much they follow each prototype. Of all votes, {shares}."


def balance(view: View) -> str:
    shown = view.classes.rows[:5]
    listed = ", ".join(f"{one.label} {percent(one.share)}" for one in shown)
    return f"Bar chart of the share of each class among labels and votes. Most frequent: {listed}."


def confusion(view: View) -> str:
    found = ", ".join(f"{m.truth} for {m.vote} ({percent(m.share)})" for m in view.classes.mistakes[:5])
    return f"Heat map of the votes of all annotators by the truth. Most often confused: {found or 'nothing'}."


def calibration(view: View) -> str:
    assert view.trust.calibration is not None
    found = "; ".join(
        f"probability {percent(one.confidence)}: {percent(one.accuracy)} of {one.n:,} right"
        for one in view.trust.calibration.bins
    )
    return f"Dots: share of right labels by their probability. {found}."


def change(view: View) -> str:
    values = [one.change for one in view.record.steps if one.change]
    return f"Line: the largest change of a probability falls from {values[0]:.2g} to {values[-1]:.2g}."


def bound(view: View) -> str:
    values = [one.bound for one in view.record.steps if one.bound is not None]
    return f"Line: the bound rises from {values[0]:,.4g} to {values[-1]:,.4g}."


def _described(one: Ranked) -> str:
    return f"{one.annotator} ({percent(one.accuracy)}, between {percent(one.low)} and {percent(one.high)})"
