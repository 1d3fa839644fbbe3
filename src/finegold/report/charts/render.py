"""Render charts as files and bundle their scripts with vl-convert, which needs neither a browser nor a network."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

from finegold.report.charts.style import Spec
from finegold.system.cache import cached_text

__all__ = ["bundle", "image"]

WIDTH = 640  # pixels, of charts that fill their page
SCALE = 2.0  # of PNG files, for high-resolution screens


@cache
def bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that can be embedded in a page."""
    return cached_text(f"vega-{version('vl-convert-python')}.js", _bundle)


def _bundle() -> str:
    import vl_convert

    code: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the argument is optional; the stub is wrong
    return code.replace("</script", "<\\/script")


def image(spec: Spec, format: str) -> bytes:
    """Render the chart on a white background."""
    import vl_convert

    paper: dict[str, Any] = {**spec, "background": "white", "padding": 12}
    if paper.get("width") == "container":
        paper["width"] = WIDTH
    if format == "svg":
        return str(vl_convert.vegalite_to_svg(paper)).encode()
    if format == "pdf":
        return bytes(vl_convert.vegalite_to_pdf(paper))
    return bytes(vl_convert.vegalite_to_png(paper, scale=SCALE))
