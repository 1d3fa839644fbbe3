"""The style of the charts. Text is drawn in `currentColor`, so that one chart fits light pages, dark pages and print.

Field names never come from the data, because Vega evaluates field names and expressions. Names from data are values.
"""

from __future__ import annotations

from typing import Any

import altair as alt

__all__ = ["BLUE", "GREY", "INK", "ORANGE", "PROTOTYPE_COLOURS", "SHARE", "Spec", "data", "spec_of"]

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
