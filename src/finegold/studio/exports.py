"""The files that a user can download. Each is written when it is requested."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import fastapi
import polars as pl
from fastapi import APIRouter
from fastapi.responses import FileResponse
from polars import selectors
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask

from finegold.api.result import Result
from finegold.errors import OutputError
from finegold.io.columns import TASK, candidates
from finegold.io.database_tables import write_labels_to_table
from finegold.io.databases import parse
from finegold.io.diagnosis import reading
from finegold.io.exports import look
from finegold.io.source import READABLE
from finegold.io.tables import open_sources
from finegold.io.writeback import write_back
from finegold.io.writers import write_frame, write_labels, write_votes
from finegold.report import write_report
from finegold.studio.browser import Browser
from finegold.studio.gold import SEND_BACK
from finegold.studio.problems import Problem, words_of
from finegold.studio.reading import Reading, find_sources, find_tool
from finegold.studio.requests import ProjectId, Services, ServicesDep, Shown
from finegold.votes.encoding import MISSING
from finegold.votes.frames import to_list
from finegold.votes.names import text_of

__all__ = ["EXPORTS", "add_labels", "router", "write_export"]


KEY = "\ntask"  # no column of a file is called so
WITHOUT_TASKS = "It is no table with a column of tasks; take the table of labels."
ADDED = ("finegold_label", "finegold_confidence", "finegold_is_gold")


def add_labels(path: Path, options: Reading, result: Result) -> pl.DataFrame:
    """Return all rows and columns of the file in their order, and the label of each row's task."""
    sources = find_sources(path, options)
    if find_tool(look(sources), options) is not None or options.shape == "transposed":
        raise Problem(409, "Labels cannot be added to this file", WITHOUT_TASKS)
    opened = open_sources(sources)
    columns = [str(column) for column in opened.columns]
    by_task = options.task or next(iter(candidates(columns, TASK)), None)
    if by_task is None:
        raise Problem(
            409, "Labels cannot be added to this file", "It has no column of tasks; take the table of labels."
        )
    with reading(opened.sources[0]):
        rows = opened.scans[0].collect()
    key = selectors.by_name(by_task).as_expr().cast(pl.String).alias(KEY)
    named = {name: f"{name}_new" if name in columns else name for name in ADDED}
    found = rows.with_columns(key).join(_label_columns(result).rename(named), on=KEY, how="left", maintain_order="left")
    return found.drop(KEY)


def _label_columns(result: Result) -> pl.DataFrame:
    classes = [text_of(name) for name in to_list(result.class_names)]
    return pl.DataFrame(
        {
            KEY: [text_of(name) for name in to_list(result.task_names)],
            "finegold_label": [classes[code] for code in result.label_codes],
            "finegold_confidence": result.confidence,
            "finegold_is_gold": result.gold != MISSING,
        }
    )


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


router = APIRouter(tags=["exports"], prefix="/projects/{project}")


class Target(BaseModel, extra="forbid"):
    address: str = Field(max_length=1000, description="postgresql://..., sqlite:///FILE or duckdb:///FILE.")
    table: str = Field(min_length=1, max_length=200)
    probabilities: bool = Field(default=False, description="Add a column per class with its probability.")


class Written(BaseModel):
    table: str
    rows: int


KINDS = {".csv": "text/csv", ".jsonl": "application/jsonl", ".json": "application/json", ".html": "text/html"}


@router.get("/export/{name}", response_class=FileResponse)
def export(
    project: ProjectId,
    name: Annotated[
        str, fastapi.Path(description=f"One of {', '.join(EXPORTS)}.", json_schema_extra={"enum": list(EXPORTS)})
    ],
    shown: Shown,
    services: ServicesDep,
) -> FileResponse:
    """A file with labels, gold, annotators, votes, the report or the whole model."""
    if name not in EXPORTS:
        raise Problem(404, "There is no such export", f"Choose one of {', '.join(EXPORTS)}.")
    path = write_export(services, project, shown, name)
    kind = KINDS.get(path.suffix, "application/octet-stream")
    # The report contains names from the data, so a sandbox keeps it from running scripts with the studio's origin.
    headers = {"content-security-policy": "sandbox; default-src 'none'"}
    remove = BackgroundTask(path.unlink, missing_ok=True)
    return FileResponse(path, filename=name, media_type=kind, headers=headers, background=remove)


@router.post("/database")
def to_database(project: ProjectId, target: Target, shown: Shown, services: ServicesDep) -> Written:
    """Write the labels into a table of a database; the rows of an existing table of labels are replaced."""
    address = _inside(services, target.address)
    try:
        write_labels_to_table(shown.result, address, target.table, probabilities=target.probabilities)
    except OutputError as error:
        raise Problem(409, "The table was not written", words_of(error)) from None
    return Written(table=target.table, rows=len(shown.result.label_codes) + len(shown.result.unlabelled))


def _inside(services: Services, address: str) -> str:
    """Return the address of a database. Files must lie in the folder of the studio, and be no project of it."""
    database = parse(address)
    if not database.is_file:
        return address
    folder = services.files.folder
    path = (folder / database.place).resolve()
    if not path.is_relative_to(folder) or path == services.store.path or path.suffix in READABLE:
        detail = f"Name a database file in {folder}, such as {database.kind}:///labels.db."
        raise Problem(409, "The table was not written", detail)
    return f"{database.kind}:///{path}"
