"""Exports: the files that a user can download, each written when it is requested."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from fastapi import APIRouter
from fastapi.responses import FileResponse
from polars import selectors
from starlette.background import BackgroundTask

from finegold.io.columns import TASK, candidates
from finegold.io.source import reading
from finegold.io.tables import open_sources
from finegold.io.writeback import write_back
from finegold.io.writers import escape_formulas, write_frame, write_votes
from finegold.report import write_report
from finegold.results.tables import natural_order
from finegold.studio import judging, measuring
from finegold.studio.items import contents
from finegold.studio.problems import Problem
from finegold.studio.reading import find_sources, find_tool
from finegold.studio.security import REVIEWERS_WHO_SEE
from finegold.studio.services import Project, ProjectDep
from finegold.studio.store import Row
from finegold.studio.votes import is_ordered, vote_sources
from finegold.votes.encoding import MISSING, text_of, to_list
from finegold.votes.frames import to_polars

router = APIRouter(tags=["exports"], prefix="/projects/{project:id}")

MEDIA_TYPES = {".csv": "text/csv", ".json": "application/json", ".html": "text/html"}
TABLES = ("csv", "xlsx", "parquet")
EXPORTS = (
    *("sheet.xlsx", "sheet.csv"),
    *(f"labels.{kind}" for kind in (*TABLES, "jsonl")),
    *(f"with_labels.{kind}" for kind in TABLES),
    *(f"annotators.{kind}" for kind in TABLES),
    *("judgements.csv", "sent_back.csv", "checks.csv", "votes.csv"),
    *("certificate.html", "report.html"),
    *("predictions.json", "model.finegold"),
)
# no column of a file is called so
KEY = "\ntask"
REFUSED = "Labels cannot be added to this file"
DECIDED = ("label", "confidence", "accepted", "decision", "reviewer", "comment")


@router.get("/export/{name}", dependencies=REVIEWERS_WHO_SEE, response_class=FileResponse)
def export(project: ProjectDep, name: str) -> FileResponse:
    """A file with labels, truths, annotators, votes, the report or the whole model."""
    if name not in EXPORTS:
        raise Problem(404, "There is no such export", f"Choose one of {', '.join(EXPORTS)}.")
    path, stem = project.files.new_path(Path(name).suffix), Path(name).stem
    shown, measured = project.shown, measuring.measure(project)
    title = project.row["name"]
    match stem:
        case "sheet":
            write_frame(_sheet(project), path)
        case "labels":
            write_frame(_labels(project), path)
        case "with_labels":
            write_frame(_with_labels(project), path)
        case "annotators":
            write_frame(to_polars(shown.result.annotators()), path)
        case "judgements" | "sent_back" | "checks":
            write_frame(_log(project, stem), path)
        case "votes":
            write_votes(shown.votes, path)
        case "certificate":
            if measured is None:
                detail = "Draw a random sample under Measure, and check its tasks."
                raise Problem(409, "Nothing is measured yet", detail)
            path.write_text(measuring.certificate_html(title, measured), encoding="utf-8")
        # the export that the votes came from, with labels, for import into its tool
        case "predictions":
            row = vote_sources(project)[0]
            named = {each: row["reading"].get(each) for each in ("format", "question", "task")}
            write_back(shown.result, str(project.files.path_of(row)), path, **named)
        case "report":
            certificate = measuring.for_report(project)
            scores = is_ordered(project)
            write_report(shown.result, path, title=title, certificate=certificate, scores=scores)
        case _:
            shown.result.save(path)
    if path.suffix == ".csv":
        escape_formulas(path)
    media_type = MEDIA_TYPES.get(path.suffix, "application/octet-stream")
    # The report contains names from the data, so a sandbox keeps it from running scripts with the
    # studio's origin.
    headers = {"content-security-policy": "sandbox; default-src 'none'"}
    remove = BackgroundTask(path.unlink, missing_ok=True)
    more: Any = {"media_type": media_type, "headers": headers, "background": remove}
    return FileResponse(path, filename=name, **more)


def _labels(project: Project) -> pl.DataFrame:
    """Return the table of labels with the column of those that were accepted."""
    shown = project.shown
    table = to_polars(shown.result.labels(probabilities=True))
    if is_ordered(project):
        scores = to_polars(shown.result.scores())
        table = table.hstack(scores.drop(scores.columns[0]))
    accepted = measuring.accepted_mask(project)
    codes = shown.codes_of(table[table.columns[0]].to_list())
    column = np.where(codes == MISSING, False, accepted[codes])
    place = 1 + table.columns.index("confidence") if "confidence" in table.columns else 2
    return table.insert_column(place, pl.Series("accepted", column))


def _with_labels(project: Project) -> pl.DataFrame:
    """Return all rows and columns of the user's own table, and the label of each row's task."""
    rows = vote_sources(project)
    if not rows:
        raise Problem(409, REFUSED, "There is no file with votes.")
    options = rows[0]["reading"]
    sources = find_sources(project.files.path_of(rows[0]), options)
    if find_tool(sources, options) is not None or options.get("shape") == "transposed":
        detail = "It is not a table with a column of tasks; use the table of labels."
        raise Problem(409, REFUSED, detail)
    opened = open_sources(sources)
    columns = [str(column) for column in opened.columns]
    by_task = options.get("task") or next(iter(candidates(columns, TASK)), None)
    if by_task is None:
        raise Problem(409, REFUSED, "It has no column of tasks; use the table of labels.")
    with reading(opened.sources[0]):
        table = opened.scans[0].collect()
    decided = _decide(project)
    added = {"finegold_label": decided["label"], "finegold_confidence": decided["confidence"]}
    named = {f"{name}_new" if name in columns else name: values for name, values in added.items()}
    names = [text_of(name) for name in to_list(project.shown.labelled.task_names)]
    key = selectors.by_name(by_task).as_expr().cast(pl.String).alias(KEY)
    labels = pl.DataFrame({KEY: names, **named})
    joined = table.with_columns(key).join(labels, on=KEY, how="left", maintain_order="left")
    return joined.drop(KEY).select(map(_plain_numbers, joined.drop(KEY)))


def _plain_numbers(column: pl.Series) -> pl.Series:
    """Return numbers that were read as text as numbers."""
    if column.dtype == pl.String and column.null_count() < len(column):
        for kind in (pl.Int64, pl.Float64):
            cast = column.cast(kind, strict=False)
            if cast.cast(pl.String).equals(column):
                return cast
    return column


def _log(project: Project, name: str) -> pl.DataFrame:
    by_task = project.shown.votes.columns[0]
    rows: list[Row] = list(judging.truth_rows(project).values())
    columns = ["task", "truth", "label_then", "reviewer", "at"]
    if name == "checks":
        columns = ["task", "truth", "sample", "kind", "reviewer", "at"]
        rows = project.rows(
            "SELECT * FROM judgement WHERE project = ? AND sample NOT NULL AND NOT undone"
            " ORDER BY id"
        )
    elif name == "sent_back":
        columns = ["task", "reviewer", "at", "comment"]
        notes = judging.notes_of(project)
        rows = [
            {**row, "comment": _together(notes.get(key, []))}
            for key, row in judging.set_aside(project, "send_back").items()
        ]
    rows = [{**row, "truth": row["value"]} for row in rows]
    texts = {column: [_text(row[column]) for row in rows] for column in columns}
    table = pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String))
    return table.rename({"task": by_task}) if by_task not in columns else table


def _text(value: Any) -> str | None:
    if isinstance(value, list):
        return ";".join(map(text_of, value))
    return None if value is None else text_of(value)


def _together(notes: list[Row]) -> str:
    return "; ".join(note["value"] for note in notes)


def _decide(project: Project) -> dict[str, Any]:
    """Return what was decided for each task, and by whom: people come before votes."""
    shown, labelled = project.shown, project.shown.labelled
    n = len(labelled.label_codes)
    accepted = measuring.accepted_mask(project)
    decision = np.full(n, "from the votes", dtype=object)
    decision[shown.marks["predicted"]] = "from predictions"
    decision[accepted] = "accepted"
    decision[labelled.gold != MISSING] = "known truth"
    reviewer, comment = np.full(n, None, dtype=object), np.full(n, None, dtype=object)
    label = np.array(shown.label_texts(np.arange(n)), dtype=object)
    confidence = np.round(np.asarray(shown.confidence, np.float64), 6)
    # task, decision, reviewer, truth; the last one counts
    people = [
        (row["task"], "sent back", row["reviewer"], None)
        for row in judging.set_aside(project, "send_back").values()
    ]
    checked = measuring.checked_truths(project).values()
    people += [(each.task, "checked", each.by, each.label) for each in checked]
    for row in judging.truth_rows(project).values():
        word = "known truth" if row["source"] else "judged"
        people.append((row["task"], word, row["reviewer"], row["value"]))
    codes = shown.codes_of([task for task, *_ in people]).tolist()
    for code, (_, word, who, truth) in zip(codes, people, strict=True):
        if code != MISSING:
            decision[code], reviewer[code] = word, who or None
            if truth is not None:
                label[code], confidence[code] = _text(truth), 1.0
    notes = list(judging.notes_of(project).values())
    codes = shown.codes_of([each[0]["task"] for each in notes]).tolist()
    for code, rows in zip(codes, notes, strict=True):
        if code != MISSING:
            comment[code] = _together(rows)
    found = (label, confidence, accepted, decision, reviewer, comment)
    return {name: column.tolist() for name, column in zip(DECIDED, found, strict=True)}


def _sheet(project: Project) -> pl.DataFrame:
    """Return one row per task: its item, its label, and who decided what."""
    labelled, by_task = project.shown.labelled, project.shown.votes.columns[0]
    order = natural_order(labelled.task_names)
    codes = np.arange(len(labelled.label_codes)) if order is None else order
    tasks = to_list(labelled.task_names[codes])
    found = contents(project)
    parts = [pl.DataFrame({by_task: tasks}, strict=False)]
    fields = [name for name in found.names if name not in (by_task, *DECIDED)]
    if fields:
        rows = found.table([text_of(task) for task in tasks])
        parts.append(pl.DataFrame(rows, schema=dict.fromkeys(fields, pl.String)))
    schema = dict.fromkeys(DECIDED, pl.String) | {"confidence": pl.Float64, "accepted": pl.Boolean}
    decided = pl.DataFrame(_decide(project), schema=schema)
    sheet: pl.DataFrame = pl.concat([*parts, decided[codes.tolist()]], how="horizontal")
    return sheet
