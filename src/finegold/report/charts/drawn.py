"""A chart, ready for a page."""

from __future__ import annotations

from dataclasses import dataclass

from finegold.report.charts.style import Spec

__all__ = ["Drawn"]


@dataclass(frozen=True)
class Drawn:
    """A chart, ready for a page."""

    title: str
    alt: str  # alternative text, which says what the chart shows
    spec: Spec | None  # a Vega-Lite specification, or None if the chart is absent
    absent: str | None = None
    note: str = ""  # how to read the chart
