"""Write a result as one HTML file or as one chart. Views (plain values) are made first, then
charts, then the page.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finegold.errors import InputError
from finegold.system.files import write_bytes

if TYPE_CHECKING:
    from finegold.results.data import ResultData

__all__ = ["require_libraries", "write_plot", "write_report"]


KINDS = {
    "confidence": "number of tasks by the probability of their label",
    "ranking": "accuracy of each annotator, with its interval",
    "annotators": "accuracy against the number of votes",
    "annotator": "confusion matrix of one annotator (--who NAME)",
    "prototypes": "confusion matrices of the prototypes",
    "mixtures": "how much each annotator follows each prototype",
    "balance": "the share of each class",
    "confusion": "confusion matrix of all annotators together",
    "calibration": "calibration of the probabilities (--truth FILE)",
    "change": "largest change in each iteration",
    "bound": "the bound that the method maximises, by iteration",
}
FORMATS = ("svg", "png", "pdf")


def write_report(
    result: ResultData,
    path: str | Path,
    truth: Any = None,
    *,
    title: str | None = None,
    command: str | None = None,
    judges: dict[str, Any] | None = None,
) -> None:
    """Write a self-contained HTML file. `truth` is a path, a data frame or a mapping; `judges` adds
    a section.
    """
    require_libraries()
    from finegold.report.html import html, sets_html
    from finegold.report.views import view
    from finegold.report.views.sets import view_sets

    if result.label_sets is not None:
        title = title or f"Sets of labels by {result.method}"
        page = sets_html(view_sets(result, truth, title=title, command=command))
    else:
        page = html(
            view(
                result,
                truth,
                title=title or f"Labels by {result.method}",
                command=command,
                judges=judges,
            )
        )
    write_bytes(path, page.encode("utf-8"))


def write_plot(
    result: ResultData, kind: str, path: str | Path, truth: Any = None, *, who: Any = None
) -> None:
    """Write one chart as SVG, PNG or PDF, by the extension of the path.

    `kind` is a key of KINDS; `who` names the annotator of the chart "annotator".
    """
    require_libraries()
    from finegold.report.charts import DRAWN, draw_annotator
    from finegold.report.images import image
    from finegold.report.views import view
    from finegold.results.sets import refuse_sets

    refuse_sets(result, "charts")
    drawn = draw_annotator(result, who) if kind == "annotator" else DRAWN[kind](view(result, truth))
    if drawn.spec is None:
        raise InputError(f"there is no chart {kind}: {drawn.absent}")
    write_bytes(path, image(drawn.spec, Path(path).suffix.lower().removeprefix(".")))


def require_libraries() -> None:
    missing = [name for name in ("jinja2", "vl_convert") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"reports and plots need {', '.join(missing)}: pip install 'finegold[report]'"
        )
