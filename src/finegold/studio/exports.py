"""Exports: the files that a user can download, each written when it is requested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import fastapi
import numpy as np
import polars as pl
from fastapi import APIRouter, Query
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
from finegold.studio.loaded import LoadedResult
from finegold.studio.problems import Problem
from finegold.studio.reading import Reading, find_sources, find_tool
from finegold.studio.rights import REVIEWERS_WHO_SEE
from finegold.studio.services import ProjectId, Services, ServicesDep, Shown
from finegold.studio.store import Row
from finegold.studio.votes import vote_sources
from finegold.votes.encoding import MISSING, text_of, to_list
from finegold.votes.frames import to_polars

router = APIRouter(tags=["exports"], prefix="/projects/{project:id}")

MEDIA_TYPES = {
    ".csv": "text/csv",
    ".jsonl": "application/jsonl",
    ".json": "application/json",
    ".html": "text/html",
}
TABLES = ("csv", "xlsx", "parquet")
EXPORTS = (
    *("sheet.xlsx", "sheet.csv"),
    *(f"labels.{kind}" for kind in (*TABLES, "jsonl")),
    *(f"with_labels.{kind}" for kind in TABLES),
    *(f"annotators.{kind}" for kind in TABLES),
    *("judgements.csv", "gold.csv", "sent_back.csv", "checks.csv", "votes.csv"),
    *("certificate.html", "certificate.json", "report.html"),
    *("predictions.json", "model.finegold"),
)
# no column of a file is called so
KEY = "\ntask"
# that become columns of a sheet
MOST_ANNOTATORS = 1000
VOTE_OF = "vote of "
REFUSED = "Labels cannot be added to this file"
DECIDED = ("label", "confidence", "accepted", "decision", "reviewer", "comment")


@router.get("/export/{name}", dependencies=REVIEWERS_WHO_SEE, response_class=FileResponse)
def export(
    project: ProjectId,
    name: Annotated[
        str,
        fastapi.Path(
            description=f"One of {', '.join(EXPORTS)}.", json_schema_extra={"enum": list(EXPORTS)}
        ),
    ],
    shown: Shown,
    services: ServicesDep,
    votes: Annotated[bool, Query(description="Add a column per annotator to the sheet.")] = False,
) -> FileResponse:
    """A file with labels, truths, annotators, votes, the report or the whole model."""
    if name not in EXPORTS:
        raise Problem(404, "There is no such export", f"Choose one of {', '.join(EXPORTS)}.")
    path = services.files.new_path(Path(name).suffix)
    match Path(name).stem:
        case "sheet":
            write_frame(make_sheet(services, project, shown, with_votes=votes), path)
        case "labels":
            write_frame(_labels(services, project, shown), path)
        case "with_labels":
            write_frame(_with_labels(services, project, shown), path)
        case "annotators":
            write_frame(to_polars(shown.result.annotators()), path)
        case "judgements" | "gold" | "sent_back" | "checks":
            write_frame(_log(services, project, shown, Path(name).stem), path)
        case "votes":
            write_votes(shown.votes, path)
        case "certificate":
            _certificate(services, project, shown, path)
        # the export that the votes came from, with labels, for import into its tool
        case "predictions":
            row = vote_sources(services, project)[0]
            options = Reading(**row["reading"])
            named = options.model_dump(include={"format", "question", "task"})
            write_back(shown.result, str(services.files.path_of(row)), path, **named)
        case "report":
            _report(services, project, shown, path)
        case _:
            shown.result.save(path)
    if path.suffix == ".csv":
        escape_formulas(path)
    media_type = MEDIA_TYPES.get(path.suffix, "application/octet-stream")
    # The report contains names from the data, so a sandbox keeps it from running scripts with the
    # studio's origin.
    headers = {"content-security-policy": "sandbox; default-src 'none'"}
    remove = BackgroundTask(path.unlink, missing_ok=True)
    return FileResponse(
        path, filename=name, media_type=media_type, headers=headers, background=remove
    )


def _report(services: Services, project: int, shown: LoadedResult, path: Path) -> None:
    measured = measuring.measure(services, project, shown.fit, shown)
    certificate = None if measured is None else measuring.for_report(measured, shown)
    title = services.store.project(project)["name"]
    write_report(shown.result, path, title=title, certificate=certificate)


def _certificate(services: Services, project: int, shown: LoadedResult, path: Path) -> None:
    measured = measuring.measure(services, project, shown.fit, shown)
    if measured is None:
        detail = "Draw a random sample under Measure, and check its tasks."
        raise Problem(409, "Nothing is measured yet", detail)
    if path.suffix == ".json":
        path.write_text(json.dumps(measured.model_dump(), indent=1), encoding="utf-8")
        return
    facts = {
        "labels of": f"fit {measured.shown}, drawn from fit {measured.fit}",
        "tasks": f"{measured.n_tasks:,}",
        "random tasks checked": f"{measured.n_checks:,}",
        "checked by": ", ".join(measured.by) or "the owner",
        "last check": measured.at[:10],
    }
    title = services.store.project(project)["name"]
    path.write_text(measuring.certificate_html(title, measured, facts), encoding="utf-8")


def _labels(services: Services, project: int, shown: LoadedResult) -> pl.DataFrame:
    """Return the table of labels with the column of those that were accepted."""
    reading_of = (vote_sources(services, project) or [{"reading": {}}])[0]["reading"]
    table = to_polars(shown.result.labels(probabilities=True))
    if reading_of.get("ordered"):
        scores = to_polars(shown.result.scores())
        table = table.hstack(scores.drop(scores.columns[0]))
    accepted = measuring.accepted_mask(services, project, shown)
    codes = shown.codes_of(table[table.columns[0]].to_list())
    column = np.where(codes == MISSING, False, accepted[codes])
    place = 1 + table.columns.index("confidence") if "confidence" in table.columns else 2
    return table.insert_column(place, pl.Series("accepted", column))


def _with_labels(services: Services, project: int, shown: LoadedResult) -> pl.DataFrame:
    """Return all rows and columns of the user's own table, and the label of each row's task."""
    row = next((each for each in vote_sources(services, project)), None)
    if row is None:
        raise Problem(409, REFUSED, "There is no file with votes.")
    options = Reading(**row["reading"])
    sources = find_sources(services.files.path_of(row), options)
    if find_tool(sources, options) is not None or options.shape == "transposed":
        detail = "It is not a table with a column of tasks; use the table of labels."
        raise Problem(409, REFUSED, detail)
    opened = open_sources(sources)
    columns = [str(column) for column in opened.columns]
    by_task = options.task or next(iter(candidates(columns, TASK)), None)
    if by_task is None:
        raise Problem(409, REFUSED, "It has no column of tasks; use the table of labels.")
    with reading(opened.sources[0]):
        rows = opened.scans[0].collect()
    codes = list(range(len(shown.labelled.label_codes)))
    decided = _decide(services, project, shown)
    added = {"finegold_label": decided["label"], "finegold_confidence": decided["confidence"]}
    named = {f"{name}_new" if name in columns else name: values for name, values in added.items()}
    labels = pl.DataFrame({KEY: shown.task_texts(codes), **named})
    key = selectors.by_name(by_task).as_expr().cast(pl.String).alias(KEY)
    joined = rows.with_columns(key).join(labels, on=KEY, how="left", maintain_order="left")
    return _plain_numbers(joined.drop(KEY))


def _plain_numbers(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table in which columns of numbers that were read as text are numbers."""
    columns = []
    for column in table:
        if column.dtype == pl.String and column.null_count() < len(column):
            for kind in (pl.Int64, pl.Float64):
                cast = column.cast(kind, strict=False)
                if cast.cast(pl.String).equals(column):
                    column = cast
                    break
        columns.append(column)
    return pl.DataFrame(columns)


def _log(services: Services, project: int, shown: LoadedResult, name: str) -> pl.DataFrame:
    """Return what people said, as texts."""
    store, by_task = services.store, shown.votes.columns[0]
    rows: list[Row]
    if name == "checks":
        rows = [
            {"task": row["task"], "truth": row["value"], **row}
            for row in store.rows(
                "SELECT * FROM judgement WHERE project = ? AND sample NOT NULL AND NOT undone"
                " ORDER BY id",
                project,
            )
        ]
        columns = ["task", "truth", "sample", "kind", "reviewer", "at"]
    elif name == "sent_back":
        notes = judging.notes_of(store, project)
        rows = [
            {**row, "comment": "; ".join(note["value"] for note in notes.get(key, []))}
            for key, row in judging.set_aside(store, project, "send_back").items()
        ]
        columns = ["task", "reviewer", "at", "comment"]
    else:
        rows = [
            {**row, "truth": row["value"]} for row in judging.truth_rows(store, project).values()
        ]
        columns = (
            ["task", "truth"]
            if name == "gold"
            else ["task", "truth", "label_then", "reviewer", "at"]
        )
    texts = {column: [_text(row[column]) for row in rows] for column in columns}
    table = pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String))
    return table.rename({"task": by_task}) if by_task not in columns else table


def _text(value: Any) -> str | None:
    if isinstance(value, list):
        return ";".join(map(text_of, value))
    return None if value is None else text_of(value)


def _decide(services: Services, project: int, shown: LoadedResult) -> dict[str, list[Any]]:
    """Return what was decided for each task, and by whom: people come before votes."""
    store, labelled, n = services.store, shown.labelled, len(shown.labelled.label_codes)
    accepted = measuring.accepted_mask(services, project, shown)
    decision = np.full(n, "from the votes", dtype=object)
    decision[shown.marks["predicted"]] = "from predictions"
    decision[accepted] = "accepted"
    decision[labelled.gold != MISSING] = "known truth"
    columns: dict[str, Any] = {
        "label": np.array(shown.label_texts(np.arange(n)), dtype=object),
        "confidence": np.round(np.asarray(shown.confidence, np.float64), 6),
        "accepted": accepted.copy(),
        "decision": decision,
        "reviewer": np.full(n, None, dtype=object),
        "comment": np.full(n, None, dtype=object),
    }

    def decide(task: Any, word: str, who: str, label: Any = None) -> None:
        code = int(shown.codes_of([task])[0])
        if code != MISSING:
            columns["decision"][code], columns["reviewer"][code] = word, who or None
            if label is not None:
                columns["label"][code], columns["confidence"][code] = _text(label), 1.0

    for row in judging.set_aside(store, project, "send_back").values():
        decide(row["task"], "sent back", row["reviewer"])
    for each in measuring.checked_truths(services, project).values():
        decide(each.task, "checked", each.by, each.label)
    for row in judging.truth_rows(store, project).values():
        word = "known truth" if row["source"] else "judged"
        decide(row["task"], word, row["reviewer"], row["value"])
    for rows in judging.notes_of(store, project).values():
        code = int(shown.codes_of([rows[0]["task"]])[0])
        if code != MISSING:
            columns["comment"][code] = "; ".join(row["value"] for row in rows)
    return {name: list(values) for name, values in columns.items()}


def make_sheet(
    services: Services, project: int, shown: LoadedResult, *, with_votes: bool
) -> pl.DataFrame:
    """Return one row per task: its item, its votes if wanted, its label, and who decided what."""
    labelled, by_task = shown.labelled, shown.votes.columns[0]
    order = natural_order(labelled.task_names)
    codes = np.arange(len(labelled.label_codes)) if order is None else order
    tasks = to_list(labelled.task_names[codes])
    found = contents(services, project)
    parts = [pl.DataFrame({by_task: tasks}, strict=False)]
    fields = [name for name in found.names if name not in (by_task, *DECIDED)]
    if fields:
        rows = found.table([text_of(task) for task in tasks])
        parts.append(pl.DataFrame(rows, schema=dict.fromkeys(fields, pl.String)))
    if with_votes:
        parts.append(_vote_columns(shown, codes))
    schema = dict.fromkeys(DECIDED, pl.String) | {"confidence": pl.Float64, "accepted": pl.Boolean}
    decided = pl.DataFrame(_decide(services, project, shown), schema=schema)
    sheet: pl.DataFrame = pl.concat([*parts, decided[codes.tolist()]], how="horizontal")
    return sheet


def _vote_columns(shown: LoadedResult, codes: Any) -> pl.DataFrame:
    """Return a column per annotator, with several votes joined by a comma."""
    votes = shown.votes
    if votes.n_annotators > MOST_ANNOTATORS:
        most = f"at most {MOST_ANNOTATORS} become columns. Export the votes instead."
        raise Problem(
            409,
            "There are too many annotators for a sheet",
            f"There are {votes.n_annotators:,}; {most}",
        )
    task, annotator, label = votes.votes()
    names = np.array([text_of(name) for name in to_list(votes.class_names)], dtype=object)
    long = pl.DataFrame({KEY: task, "who": annotator, "vote": names[label]})
    joined = long.group_by(KEY, "who", maintain_order=True).agg(
        pl.col("vote").cast(pl.String).str.join(", ")
    )
    people = [text_of(name) for name in to_list(votes.annotator_names)]
    wide = joined.pivot(on="who", on_columns=list(range(len(people))), index=KEY, values="vote")
    wide = wide.rename({str(code): f"{VOTE_OF}{name}" for code, name in enumerate(people)})
    wanted = pl.DataFrame({KEY: codes}, schema={KEY: wide.schema[KEY]})
    return wanted.join(wide, on=KEY, how="left", maintain_order="left").drop(KEY)
