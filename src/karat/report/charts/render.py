"""Charts as files, and the scripts that draw them in a page: by vl-convert, which needs no browser and no network."""

from __future__ import annotations

from functools import cache
from typing import Any

from karat.report.charts.style import Spec

__all__ = ["bundle", "image"]

WIDTH = 640  # of charts that fill their page
SCALE = 2.0  # of PNG: sharp on today's screens


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, which can stand inside a page."""
    import vl_convert

    code: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # its stub forgets that nothing need be added
    return code.replace("</script", "<\\/script")


def image(spec: Spec, format: str) -> bytes:
    """The chart on white paper."""
    import vl_convert

    paper: dict[str, Any] = {**spec, "background": "white", "padding": 12}
    if paper.get("width") == "container":
        paper["width"] = WIDTH
    if format == "svg":
        return str(vl_convert.vegalite_to_svg(paper)).encode()
    if format == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(paper))
    return bytes(vl_convert.vegalite_to_png(paper, scale=SCALE))
