"""The style of the charts. Text is drawn in `currentColor`, so that one chart fits light pages, dark pages and print.

Field names never come from the data, because Vega evaluates field names and expressions. Names from data are values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt

from finegold.report.views import View
from finegold.report.views.annotators import Ranked
from finegold.report.views.classes import Prototype
from finegold.report.views.common import percent

Spec = dict[str, Any]

ROWS = "rows"

# These colours have a contrast of at least 3 to 1 against both white and black.
BLUE, ORANGE, GREY = "#3f74d1", "#d07a1f", "#868c95"
PROTOTYPE_COLOURS = [BLUE, ORANGE, "#2a9a80", "#a866c4", "#c2557a", "#7d8a2e", "#4a9bc4", "#9a6b4b"]
INK = "currentColor"
SHARE = ".0%"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"

CONFIG: Spec = {
    "background": None,
    "aria": False,  # the page describes each chart as a whole
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "tickColor": INK,
        "domainColor": INK,
        "gridColor": INK,
        "domainOpacity": 0.35,
        "tickOpacity": 0.35,
        "gridOpacity": 0.12,
        "labelOpacity": 0.85,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": 500,
        "titlePadding": 10,
        "labelLimit": 130,
        "labelFlush": False,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": 500,
        "labelLimit": 160,
        "orient": "top",
    },
    "header": {"labelColor": INK, "titleColor": INK},
    "title": {"color": INK, "fontSize": 13, "fontWeight": 600, "anchor": "start", "offset": 12},
    "text": {"color": INK, "fontSize": 12},
}


def data(name: str = ROWS) -> alt.NamedData:
    """Refer to the rows that `spec_of` receives under this name."""
    return alt.NamedData(name=name)


def spec_of(chart: alt.TopLevelMixin, **datasets: list[dict[str, Any]]) -> Spec:
    """Return plain Vega-Lite without network addresses, checked against its schema.

    The data are inserted after the check, because checking thousands of rows takes seconds and finds nothing.
    """
    spec: Spec = chart.to_dict()
    spec.pop("$schema", None)
    fit = {"autosize": {"type": "fit-x", "contains": "padding"}} if spec.get("width") == "container" else {}
    return {**spec, **fit, "datasets": datasets, "config": CONFIG}


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
    known = "" if one.low is None or one.high is None else f", between {percent(one.low)} and {percent(one.high)}"
    return f"{one.annotator} ({percent(one.accuracy)}{known})"


@dataclass(frozen=True)
class Drawn:
    """A chart, ready for a page."""

    title: str
    alt: str  # alternative text, which says what the chart shows
    spec: Spec | None  # a Vega-Lite specification, or None if the chart is absent
    absent: str | None = None
    note: str = ""  # how to read the chart
