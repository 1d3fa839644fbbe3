"""Exports: the files that a user can download, each written when it is requested, and tables of databases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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

__all__ = ["EXPORTS", "add_labels", "router"]

router = APIRouter(tags=["exports"], prefix="/projects/{project}")

MEDIA_TYPES = {".csv": "text/csv", ".jsonl": "application/jsonl", ".json": "application/json", ".html": "text/html"}
TABLES = ("csv", "xlsx", "parquet")
EXPORTS = (
    *(f"labels.{kind}" for kind in (*TABLES, "jsonl")),
    *(f"with_labels.{kind}" for kind in TABLES),
    *(f"annotators.{kind}" for kind in TABLES),
    *(f"judgements.{kind}" for kind in (*TABLES, "jsonl")),
    *("gold.csv", "sent_back.csv", "votes.csv", "predictions.json", "report.html", "model.finegold"),
)
KEY = "\ntask"  # no column of a file is called so
REFUSED = "Labels cannot be added to this file"


class Target(BaseModel, extra="forbid"):
    address: str = Field(max_length=1000, description="postgresql://..., sqlite:///FILE or duckdb:///FILE.")
    table: str = Field(min_length=1, max_length=200)
    probabilities: bool = Field(default=False, description="Add a column per class with its probability.")


class Written(BaseModel):
    table: str
    rows: int


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
    path = services.files.temporary(Path(name).suffix)
    _write(services, project, shown, Path(name).stem, path)
    media_type = MEDIA_TYPES.get(path.suffix, "application/octet-stream")
    # The report contains names from the data, so a sandbox keeps it from running scripts with the studio's origin.
    headers = {"content-security-policy": "sandbox; default-src 'none'"}
    remove = BackgroundTask(path.unlink, missing_ok=True)
    return FileResponse(path, filename=name, media_type=media_type, headers=headers, background=remove)


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
    """Return the address of a database. Files must be in the folder of the studio and not be one of its projects."""
    database = parse(address)
    if not database.is_file:
        return address
    folder = services.files.folder
    path = (folder / database.target).resolve()
    if not path.is_relative_to(folder) or path == services.store.path or path.suffix in READABLE:
        detail = f"Name a database file in {folder}, such as {database.kind}:///labels.db."
        raise Problem(409, "The table was not written", detail)
    return f"{database.kind}:///{path}"


def _write(services: Services, project: int, shown: Browser, content: str, path: Path) -> None:
    """Write the content of an export, such as labels, into a file."""
    result, row = shown.result, services.projects.get(project)
    options = Reading.model_validate_json(row["reading"] or "{}")
    match content:
        case "labels":
            write_labels(result, path, probabilities=True)
        case "with_labels":  # the user's own table
            with services.files.of(row) as file:
                write_frame(add_labels(file, options, result), path)
        case "annotators":
            write_frame(result.annotators(), path)
        case "judgements":
            columns = {
                "task": "task",
                "truth": "label",
                **{name: name for name in ("label_then", "reviewer", "at", "note")},
            }
            judgements = services.gold.judgements(project)
            _write_texts({name: [each[column] for each in judgements] for name, column in columns.items()}, path)
        case "gold":  # as a file of truths
            given = services.gold.all(project)
            _write_texts({"task": list(given), "truth": list(given.values())}, path)
        case "sent_back":  # for more votes, and nobody judged them
            judged = services.gold.all(project)
            sent_back = services.gold.aside(project, SEND_BACK)
            _write_texts({"task": [task for task in sent_back if task not in judged]}, path)
        case "votes":
            write_votes(shown.votes, path)
        case "predictions":  # the export that the votes came from, with labels, for import into its tool
            with services.files.of(row) as export:
                write_back(result, str(export), path, **options.model_dump(include={"format", "question", "task"}))
        case "report":
            write_report(result, path, title=row["name"])
        case _:
            result.save(path)


def _write_texts(columns: dict[str, list[Any]], path: Path) -> None:
    texts = {name: [None if value is None else str(value) for value in values] for name, values in columns.items()}
    write_frame(pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String)), path)


def add_labels(path: Path, options: Reading, result: Result) -> pl.DataFrame:
    """Return all rows and columns of the file in their order, and the label of each row's task."""
    sources = find_sources(path, options)
    if find_tool(look(sources), options) is not None or options.shape == "transposed":
        raise Problem(409, REFUSED, "It is not a table with a column of tasks; use the table of labels.")
    opened = open_sources(sources)
    columns = [str(column) for column in opened.columns]
    by_task = options.task or next(iter(candidates(columns, TASK)), None)
    if by_task is None:
        raise Problem(409, REFUSED, "It has no column of tasks; use the table of labels.")
    with reading(opened.sources[0]):
        rows = opened.scans[0].collect()
    classes = [text_of(name) for name in to_list(result.class_names)]
    added = {
        "finegold_label": [classes[code] for code in result.label_codes],
        "finegold_confidence": result.confidence,
        "finegold_is_gold": result.gold != MISSING,
    }
    named = {f"{name}_new" if name in columns else name: values for name, values in added.items()}
    labels = pl.DataFrame({KEY: [text_of(name) for name in to_list(result.task_names)], **named})
    key = selectors.by_name(by_task).as_expr().cast(pl.String).alias(KEY)
    return rows.with_columns(key).join(labels, on=KEY, how="left", maintain_order="left").drop(KEY)
