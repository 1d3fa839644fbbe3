"""Charts as images, and Vega's script. V8 ends a process that has too little memory, so it runs in
a child.
"""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.metadata import version
from typing import IO, Any

from finegold.errors import InputError, Remedy
from finegold.system.child import ExhaustedError, FailedError, run_in_child
from finegold.system.memory import cached_text

# pixels, of charts that fill their page
WIDTH = 640
# of PNG files, for high-resolution screens
SCALE = 2.0
MAX_SECONDS = 300.0


@cache
def bundle() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that can be embedded in a page."""
    return cached_text(
        f"vega-{version('vl-convert-python')}.js", lambda: _in_child("write_bundle", b"").decode()
    )


def image(spec: dict[str, Any], format: str) -> bytes:
    """Render the chart on a white background."""
    paper = {**spec, "background": "white", "padding": 12}
    if paper.get("width") == "container":
        paper["width"] = WIDTH
    return _in_child("write_image", json.dumps(paper).encode(), format)


def _in_child(job: str, data: bytes, *arguments: Any) -> bytes:
    # V8 reserves more than 40 GB of addresses and uses few of them, so only the time is bounded
    try:
        job = f"finegold.report.images:{job}"
        return run_in_child(
            job, data, *arguments, max_bytes=math.inf, max_seconds=MAX_SECONDS
        ).content
    except (ExhaustedError, FailedError) as error:
        remedy = Remedy(
            text=(
                "free some memory, and allow 150 GB of address space (ulimit -v), which V8 reserves"
            )
        )
        raise InputError(f"the chart cannot be drawn ({error})", remedies=[remedy]) from None


# What follows runs in the child.


def write_bundle(_: bytes, output: IO[bytes]) -> None:
    import vl_convert

    code: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]  # the argument is optional; the stub is wrong
    output.write(code.replace("</script", "<\\/script").encode())


def write_image(data: bytes, output: IO[bytes], format: str) -> None:
    import vl_convert

    spec = json.loads(data)
    if format == "svg":
        output.write(str(vl_convert.vegalite_to_svg(spec)).encode())
    elif format == "pdf":
        output.write(bytes(vl_convert.vegalite_to_pdf(spec)))
    else:
        output.write(bytes(vl_convert.vegalite_to_png(spec, scale=SCALE)))
