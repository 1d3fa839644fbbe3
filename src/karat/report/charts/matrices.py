"""Confusion matrices as heat maps: the stronger the colour, the more votes."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt

from karat.report.charts.style import BLUE, INK, Spec, data, spec_of
from karat.report.views.common import Matrix

__all__ = ["MANY", "cells", "heat_map", "matrix_spec"]

MOST_NUMBERED = 12  # classes; beyond, numbers do not fit into the cells
MANY = 25  # classes; beyond, a heat map has the page to itself, and small letters
PALE = 0.8  # up to here ink is read better than white


def cells(matrix: Matrix, classes: list[str]) -> list[dict[str, Any]]:
    return [
        {"truth": truth, "vote": vote, "share": round(share, 3)}
        for truth, row in zip(classes, matrix, strict=True)
        for vote, share in zip(classes, row, strict=True)
    ]


def matrix_spec(matrix: Matrix, classes: list[str], title: str | None = None) -> Spec:
    return spec_of(heat_map(classes, title), cells=cells(matrix, classes))


def heat_map(classes: list[str], title: str | None = None, *, name: str = "cells") -> Any:
    """Truth in rows, vote in columns. The data are called `name`, so that a page can put others in their place."""
    n = len(classes)
    base = alt.Chart(data(name)).encode(
        x=alt.X("vote:N", sort=None, title="vote", axis=_axis(n, orient="top", labelAngle=_angle(classes))),
        y=alt.Y("truth:N", sort=None, title="truth", axis=_axis(n)),
        tooltip=_tooltip(),
    )
    cell = base.mark_rect(color=BLUE, stroke=INK, strokeOpacity=0.12 if n <= MANY else 0.05).encode(
        fillOpacity=alt.FillOpacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.02, 1]), legend=None)
    )
    layers = [cell, *_numbers(base)] if n <= MOST_NUMBERED else [cell]
    chart = alt.layer(*layers).properties(width="container", height=_height(n))
    return chart if title is None else chart.properties(title=title)


def _axis(n: int, **more: Any) -> alt.Axis:
    """Where names would lie on each other, some are left out: the tooltip has them."""
    size = 9 if n > MANY else 11 if n > MOST_NUMBERED else 12
    overlap: Literal["greedy", False] = "greedy" if n > MOST_NUMBERED else False
    return alt.Axis(labelFontSize=size, labelOverlap=overlap, ticks=False, domain=False, labelPadding=5, **more)


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
    return 0 if len(classes) * max(map(len, classes), default=0) <= 40 else -90 if len(classes) > MOST_NUMBERED else -45


def _height(n: int) -> int:
    return max(n * (44 if n <= 6 else 30 if n <= MOST_NUMBERED else 13), 90)
