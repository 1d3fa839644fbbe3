"""The files that a user can download. Each is written when it is requested."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

from finegold.io.writeback import write_back
from finegold.io.writers import write_frame, write_labels, write_votes
from finegold.report import write_report
from finegold.studio.browse import Browser
from finegold.studio.gold import SEND_BACK
from finegold.studio.labelled_file import add_labels
from finegold.studio.reading import Reading
from finegold.studio.services import Services

__all__ = ["EXPORTS", "write_export"]

TABLES = ("csv", "xlsx", "parquet")
Write = Callable[[Services, int, Browser, Path], None]


def write_export(services: Services, project: int, shown: Browser, name: str) -> Path:
    """Write the file into the scratch folder and return its path; the caller removes it."""
    path = services.files.temporary(Path(name).suffix)
    EXPORTS[name](services, project, shown, path)
    return path


def _labels(services: Services, project: int, shown: Browser, path: Path) -> None:
    write_labels(shown.result, path, probabilities=True)


def _annotators(services: Services, project: int, shown: Browser, path: Path) -> None:
    write_frame(shown.result.annotators(), path)


def _gold(services: Services, project: int, shown: Browser, path: Path) -> None:
    """Write the truths that people gave, in the format that `--gold` reads."""
    given = services.gold.all(project)
    frame = {"task": [str(task) for task in given], "truth": [str(label) for label in given.values()]}
    write_frame(pl.DataFrame(frame, schema={"task": pl.String, "truth": pl.String}), path)


def _judgements(services: Services, project: int, shown: Browser, path: Path) -> None:
    """Write the truths that people gave, with who gave them, when, and what the label was then."""
    rows = services.gold.judgements(project)
    names = {"truth": "label"}
    columns = ("task", "truth", "label_then", "reviewer", "at", "note")
    values = {column: [_text(row[names.get(column, column)]) for row in rows] for column in columns}
    write_frame(pl.DataFrame(values, schema=dict.fromkeys(columns, pl.String)), path)


def _sent_back(services: Services, project: int, shown: Browser, path: Path) -> None:
    """Write the tasks that reviewers sent back for more votes and nobody judged."""
    judged = services.gold.all(project)
    tasks = [str(task) for task in services.gold.aside(project, SEND_BACK) if task not in judged]
    write_frame(pl.DataFrame({"task": tasks}, schema={"task": pl.String}), path)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _votes(services: Services, project: int, shown: Browser, path: Path) -> None:
    """Write the votes as a table with one row per vote."""
    write_votes(shown.votes, path)


def _predictions(services: Services, project: int, shown: Browser, path: Path) -> None:
    """Write the export that the votes came from with the labels added, for import into Label Studio or Argilla."""
    row = services.projects.get(project)
    options = json.loads(row["reading"] or "{}")
    with services.files.of(row) as export:
        chosen = {name: options.get(name) for name in ("format", "question", "task")}
        write_back(shown.result, str(export), path, **chosen)


def _report(services: Services, project: int, shown: Browser, path: Path) -> None:
    write_report(shown.result, path, title=services.projects.get(project)["name"])


def _model(services: Services, project: int, shown: Browser, path: Path) -> None:
    shown.result.save(path)


def _with_labels(services: Services, project: int, shown: Browser, path: Path) -> None:
    """Write the user's own table with the label of each row's task added."""
    row = services.projects.get(project)
    options = Reading(**json.loads(row["reading"] or "{}"))
    with services.files.of(row) as file:
        write_frame(add_labels(file, options, shown.result), path)


EXPORTS: dict[str, Write] = {
    **{f"labels.{kind}": _labels for kind in ("csv", "xlsx", "parquet", "jsonl")},
    **{f"with_labels.{kind}": _with_labels for kind in TABLES},
    **{f"annotators.{kind}": _annotators for kind in TABLES},
    **{f"judgements.{kind}": _judgements for kind in (*TABLES, "jsonl")},
    "gold.csv": _gold,
    "sent_back.csv": _sent_back,
    "votes.csv": _votes,
    "predictions.json": _predictions,
    "report.html": _report,
    "model.finegold": _model,
}
