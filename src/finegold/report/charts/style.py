"""The style of the charts, which are Vega-Lite. Text is drawn in `currentColor`, so one chart fits any page and print.

Field names never come from the data, because Vega evaluates field names and expressions. Names from data are values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Spec = dict[str, Any]

# These colours have a contrast of at least 3 to 1 against both white and black.
BLUE, ORANGE, GREY = "#3f74d1", "#d07a1f", "#868c95"
PROTOTYPE_COLOURS = [BLUE, ORANGE, "#2a9a80", "#a866c4", "#c2557a", "#7d8a2e", "#4a9bc4", "#9a6b4b"]
INK = "currentColor"
SHARE = ".0%"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', Arial, sans-serif"
TEXT = {"labelColor": INK, "titleColor": INK}
SIZES = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500}
LINES = {"tickColor": INK, "domainColor": INK, "gridColor": INK}
FAINT = {"domainOpacity": 0.35, "tickOpacity": 0.35, "gridOpacity": 0.12, "labelOpacity": 0.85}

CONFIG: Spec = {
    "background": None,
    "aria": False,  # the page describes each chart as a whole
    "font": FONT,
    "view": {"stroke": None},
    "axis": {**TEXT, **LINES, **FAINT, **SIZES, "titlePadding": 10, "labelLimit": 130, "labelFlush": False},
    "legend": {**TEXT, **SIZES, "labelLimit": 160, "orient": "top"},
    "header": TEXT,
    "title": {"color": INK, "fontSize": 13, "fontWeight": 600, "anchor": "start", "offset": 12},
    "text": {"color": INK, "fontSize": 12},
}

ZERO_TO_ONE: Spec = {"domain": [0, 1], "nice": False}
SHARES: Spec = {"tickCount": 5, "format": SHARE}  # an axis
ROW_NAMES: Spec = {"ticks": False, "domain": False}


@dataclass(frozen=True)
class Drawn:
    """A chart, ready for a page."""

    title: str
    alt: str  # alternative text, which says what the chart shows
    spec: Spec | None  # a Vega-Lite specification, or None if the chart is absent
    absent: str | None = None
    note: str = ""  # how to read the chart


def number(field: str, **more: Any) -> Spec:
    """Return a channel that shows a number."""
    return {"field": field, "type": "quantitative", **more}


def name(field: str, **more: Any) -> Spec:
    """Return a channel that shows a name, in the order of the data."""
    return {"field": field, "type": "nominal", **more}


def marks(kind: str, style: Spec, *, data: str = "rows", transform: str = "", **channels: Any) -> Spec:
    """Return marks of one kind, one for each row of a data set; `transform` is a filter."""
    filters = {"transform": [{"filter": transform}]} if transform else {}
    return {"data": {"name": data}, **filters, "mark": {"type": kind, **style}, "encoding": channels}


def spec_of(chart: Spec, **datasets: list[dict[str, Any]]) -> Spec:
    """Return a complete specification, without network addresses."""
    fit = {"autosize": {"type": "fit-x", "contains": "padding"}} if chart.get("width") == "container" else {}
    return {**chart, **fit, "datasets": datasets, "config": CONFIG}


def wide(height: int, *layers: Spec) -> Spec:
    """Return marks, or layers of them, as a chart that fills its page."""
    chart = layers[0] if len(layers) == 1 else {"layer": list(layers)}
    return {**chart, "width": "container", "height": height}
