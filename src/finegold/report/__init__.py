"""Write a result as one HTML file, or its figures as SVG files."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finegold.errors import InputError
from finegold.system.files import make_folder, write_bytes
from finegold.system.memory import count

if TYPE_CHECKING:
    from finegold.results.data import ResultData

__all__ = ["require_libraries", "write_page", "write_report"]


def write_report(
    result: ResultData,
    path: str | Path,
    truth: Any = None,
    *,
    title: str | None = None,
    command: str | None = None,
    certificate: Any = None,
    judges: dict[str, Any] | None = None,
    svg: str | Path | None = None,
    scores: bool = False,
) -> None:
    """Write a self-contained HTML file; `finegold.Result.report` documents it."""
    require_libraries()
    from finegold.io.truth import match_sets, match_truth
    from finegold.report.html import render_figures
    from finegold.report.sections import SECTIONS, sections_of
    from finegold.report.sections.common import Subject, measurement_of

    measured = None if certificate is None else measurement_of(certificate)
    subject = Subject(result, measurement=measured, judges=judges, command=command, scores=scores)
    has_sets = result.label_sets is not None
    if truth is not None and has_sets:
        subject = replace(subject, true_sets=match_sets(result.annotations, truth))
    elif truth is not None:
        subject = replace(subject, key=match_truth(result, truth))
    kind = "Sets of labels" if has_sets else "Labels"
    about = (
        f"{result.method} on {result.votes_per_task.sum():,} votes by"
        f" {count(len(result.annotator_accuracy), 'annotator')} on"
        f" {count(len(result.votes_per_task), 'task')},"
        f" {count(len(result.class_names), 'class', 'es')}"
    )
    shown = [(name, SECTIONS[name]) for name in sections_of(subject)]
    sections = {name: (section.title, section.make(subject)) for name, section in shown}
    page = write_page(path, title or f"{kind} by {result.method}", about, sections)
    if svg is not None:
        make_folder(Path(svg))
        for name, figure in render_figures(page).items():
            write_bytes(Path(svg) / f"{name}.svg", figure.encode("utf-8"))


def write_page(
    path: str | Path, title: str, about: str, sections: dict[str, tuple[str, dict[str, Any]]]
) -> str:
    """Write sections, by the names of their templates, as one HTML file; return the page."""
    require_libraries()
    from finegold.report.html import render_page

    page = render_page(title, about, sections)
    write_bytes(path, page.encode("utf-8"))
    return page


def require_libraries() -> None:
    if find_spec("jinja2") is None:
        raise InputError("reports need jinja2: pip install 'finegold[report]'")
