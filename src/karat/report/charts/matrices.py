"""Confusion matrices as heat maps: the stronger the colour, the more votes."""

from __future__ import annotations

from typing import Any

import altair as alt

from karat.report.charts.style import BLUE, INK
from karat.report.views.common import Matrix

__all__ = ["cells", "heat_map"]

MOST_NUMBERED = 12  # classes; beyond, numbers do not fit into the cells
PALE = 0.8  # up to here ink is read better than white


def cells(matrix: Matrix, classes: list[str]) -> list[dict[str, object]]:
    return [
        {"truth": truth, "vote": vote, "share": round(share, 3)}
        for truth, row in zip(classes, matrix, strict=True)
        for vote, share in zip(classes, row, strict=True)
    ]


def heat_map(matrix: Matrix, classes: list[str], title: str | None = None, *, name: str = "cells") -> Any:
    """Truth in rows, vote in columns. The data are called `name`, so that a page can put others in their place."""
    n = len(classes)
    data = alt.InlineData(values=cells(matrix, classes), name=name)
    small = n > MOST_NUMBERED
    size = 9 if n > 30 else 11 if small else 12
    axis: dict[str, Any] = {"labelFontSize": size, "labelOverlap": False, "ticks": False, "domain": False}
    base = alt.Chart(data).encode(
        x=alt.X("vote:N", sort=classes, title="vote", axis=alt.Axis(orient="top", labelAngle=_angle(classes), **axis)),
        y=alt.Y("truth:N", sort=classes, title="truth", axis=alt.Axis(**axis)),
        tooltip=_tooltip(),
    )
    cell = base.mark_rect(color=BLUE, stroke=INK, strokeOpacity=0.12).encode(
        fillOpacity=alt.FillOpacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.02, 1]), legend=None)
    )
    layers = [cell] if small else [cell, *_numbers(base)]
    chart = alt.layer(*layers).properties(width="container", height=_height(n))
    return chart if title is None else chart.properties(title=title)


def _numbers(base: alt.Chart) -> list[alt.Chart]:
    number = alt.Text("share:Q", format=".2f")
    light = base.transform_filter(alt.datum.share <= PALE).mark_text(color=INK).encode(text=number)
    dark = base.transform_filter(alt.datum.share > PALE).mark_text(color="white", fontWeight=600).encode(text=number)
    return [light, dark]


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("truth:N", title="truth"),
        alt.Tooltip("vote:N", title="vote"),
        alt.Tooltip("share:Q", title="share", format=".1%"),
    ]


def _angle(classes: list[str]) -> int:
    """Names lie flat where there is room for them."""
    return 0 if len(classes) * max(map(len, classes), default=0) <= 40 else -60


def _height(n: int) -> int:
    return max(n * (44 if n <= 6 else 30 if n <= MOST_NUMBERED else 13), 90)
