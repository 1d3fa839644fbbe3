"""Confusion matrices as heat maps. A stronger colour means more votes."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt

from finegold.report.charts.style import BLUE, INK, Spec, data, spec_of
from finegold.report.views.common import Matrix

__all__ = ["MANY_CLASSES", "cells", "heat_map", "matrix_spec"]

MAX_CLASSES_WITH_NUMBERS = 12  # with more, numbers do not fit into the cells
MANY_CLASSES = 25  # with more, a heat map takes the full width and small letters
MAX_SHARE_WITH_DARK_TEXT = 0.8  # above, white text is easier to read


def cells(matrix: Matrix, classes: list[str]) -> list[dict[str, Any]]:
    return [
        {"truth": truth, "vote": vote, "share": round(share, 3)}
        for truth, row in zip(classes, matrix, strict=True)
        for vote, share in zip(classes, row, strict=True)
    ]


def matrix_spec(matrix: Matrix, classes: list[str], title: str | None = None) -> Spec:
    return spec_of(heat_map(classes, title), cells=cells(matrix, classes))


def heat_map(classes: list[str], title: str | None = None, *, name: str = "cells") -> Any:
    """Return a heat map: truth in rows, vote in columns. A page can replace the data set called `name`."""
    n = len(classes)
    base = alt.Chart(data(name)).encode(
        x=alt.X("vote:N", sort=None, title="vote", axis=_axis(n, orient="top", labelAngle=_angle(classes))),
        y=alt.Y("truth:N", sort=None, title="truth", axis=_axis(n)),
        tooltip=_tooltip(),
    )
    cell = base.mark_rect(color=BLUE, stroke=INK, strokeOpacity=0.12 if n <= MANY_CLASSES else 0.05).encode(
        fillOpacity=alt.FillOpacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.02, 1]), legend=None)
    )
    layers = [cell, *_numbers(base)] if n <= MAX_CLASSES_WITH_NUMBERS else [cell]
    chart = alt.layer(*layers).properties(width="container", height=_height(n))
    return chart if title is None else chart.properties(title=title)


def _axis(n: int, **more: Any) -> alt.Axis:
    """Return an axis that leaves out names which would overlap; the tooltip shows them."""
    size = 9 if n > MANY_CLASSES else 11 if n > MAX_CLASSES_WITH_NUMBERS else 12
    overlap: Literal["greedy", False] = "greedy" if n > MAX_CLASSES_WITH_NUMBERS else False
    return alt.Axis(labelFontSize=size, labelOverlap=overlap, ticks=False, domain=False, labelPadding=5, **more)


def _numbers(base: alt.Chart) -> list[alt.Chart]:
    number = alt.Text("share:Q", format=".2f")
    light = base.transform_filter(alt.datum.share <= MAX_SHARE_WITH_DARK_TEXT).mark_text(color=INK).encode(text=number)
    dark = (
        base.transform_filter(alt.datum.share > MAX_SHARE_WITH_DARK_TEXT)
        .mark_text(color="white", fontWeight=600)
        .encode(text=number)
    )
    return [light, dark]


def _tooltip() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("truth:N", title="truth"),
        alt.Tooltip("vote:N", title="vote"),
        alt.Tooltip("share:Q", title="share", format=".1%"),
    ]


def _angle(classes: list[str]) -> int:
    """Return the angle of the names: horizontal if they fit."""
    return (
        0
        if len(classes) * max(map(len, classes), default=0) <= 40
        else -90
        if len(classes) > MAX_CLASSES_WITH_NUMBERS
        else -45
    )


def _height(n: int) -> int:
    return max(n * (44 if n <= 6 else 30 if n <= MAX_CLASSES_WITH_NUMBERS else 13), 90)
