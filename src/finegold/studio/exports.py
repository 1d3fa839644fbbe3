"""Exports: the files that a user can download, each written when it is requested, and tables of databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import fastapi
import numpy as np
import polars as pl
from fastapi import APIRouter, Query
from fastapi.responses import FileResponse
from polars import selectors
from pydantic import BaseModel, Field
from starlette.background import BackgroundTask

from finegold.api.result import Result
from finegold.errors import OutputError
from finegold.io.columns import TASK, candidates
from finegold.io.databases import parse, write_labels_to_table
from finegold.io.source import READABLE, reading
from finegold.io.tables import open_sources
from finegold.io.writeback import write_back
from finegold.io.writers import escape_formulas, write_frame, write_labels, write_votes
from finegold.report import write_report
from finegold.results.data import SEPARATOR
from finegold.results.tables import annotators_for_users, natural_order, scores_table
from finegold.studio.gold import judgements_of, rows_with_names, sent_back_tasks
from finegold.studio.problems import Problem, words_of
from finegold.studio.rights import ONLY_OWNER, REVIEWERS_WHO_SEE
from finegold.studio.reading import Reading, find_sources, find_tool
from finegold.studio.services import ProjectId, Services, ServicesDep, Shown
from finegold.studio.store import Row
from finegold.studio.workspace import Browser, Questions
from finegold.votes.encoding import MISSING, Names, text_of, to_list
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
    *(f"judgements.{kind}" for kind in (*TABLES, "jsonl")),
    *(
        "gold.csv",
        "sent_back.csv",
        "votes.csv",
        "predictions.json",
        "report.html",
        "model.finegold",
    ),
)
KEY = "\ntask"  # no column of a file is called so
MOST_ANNOTATORS = 1000  # that become columns of a sheet
VOTE_OF = "vote of "  # begins the names of columns of a sheet
REFUSED = "Labels cannot be added to this file"
DECIDED = dict.fromkeys(("label", "confidence", "decision", "reviewer", "note"), pl.String) | {
    "confidence": pl.Float64
}


class Target(BaseModel, extra="forbid"):
    address: str = Field(
        max_length=1000, description="postgresql://..., sqlite:///FILE or duckdb:///FILE."
    )
    table: str = Field(min_length=1, max_length=200)
    probabilities: bool = Field(
        default=False, description="Add a column per class with its probability."
    )


class Written(BaseModel):
    table: str
    rows: int


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
    """A file with labels, gold, annotators, votes, the report or the whole model."""
    if name not in EXPORTS:
        raise Problem(404, "There is no such export", f"Choose one of {', '.join(EXPORTS)}.")
    store, row, path = (
        services.store,
        services.store.project(project),
        services.files.new_path(Path(name).suffix),
    )
    result = _result_for_users(services, project, shown)
    options = Reading.model_validate(row["reading"] or {})

    def write_texts(rows: Sequence[Row], *keys: str) -> None:
        names = {
            "task": shown.votes.columns[0],
            "label": "truth",
        }  # tasks as in the table of labels
        texts = {
            names.get(key, key): [None if each[key] is None else str(each[key]) for each in rows]
            for key in keys
        }
        write_frame(pl.DataFrame(texts, schema=dict.fromkeys(texts, pl.String)), path)

    match Path(name).stem:
        case "sheet":
            write_frame(_make_sheet(services, project, shown, with_votes=votes), path)
        case "labels":
            write_labels(result, path, probabilities=True, scores=bool(options.ordered))
        case (
            "with_labels"
        ):  # all rows and columns of the user's own table, and the label of each row's task
            with services.files.of(row) as file:
                sources = find_sources(file, options)
                if find_tool(sources, options) is not None or options.shape == "transposed":
                    raise Problem(
                        409,
                        REFUSED,
                        "It is not a table with a column of tasks; use the table of labels.",
                    )
                opened = open_sources(sources)
                columns = [str(column) for column in opened.columns]
                by_task = options.task or next(iter(candidates(columns, TASK)), None)
                if by_task is None:
                    raise Problem(
                        409, REFUSED, "It has no column of tasks; use the table of labels."
                    )
                with reading(opened.sources[0]):
                    rows = opened.scans[0].collect()
            label, is_gold = (
                [text_of(each) for each in to_list(result.label)],
                result.gold != MISSING,
            )
            added = {
                "finegold_label": label,
                "finegold_confidence": result.confidence,
                "finegold_is_gold": is_gold,
            }
            named = {
                f"{name}_new" if name in columns else name: values for name, values in added.items()
            }
            labels = pl.DataFrame(
                {KEY: [text_of(each) for each in to_list(result.task_names)], **named}
            )
            key = selectors.by_name(by_task).as_expr().cast(pl.String).alias(KEY)
            write_frame(
                rows.with_columns(key)
                .join(labels, on=KEY, how="left", maintain_order="left")
                .drop(KEY),
                path,
            )
        case "annotators":
            write_frame(annotators_for_users(shown.result), path)
        case "judgements":
            write_texts(
                judgements_of(store, project),
                "task",
                "label",
                "label_then",
                "reviewer",
                "at",
                "note",
            )
        case "gold":  # as a file of truths
            write_texts(judgements_of(store, project), "task", "label")
        case "sent_back":  # for more votes, and nobody judged them
            write_texts(sent_back_tasks(store, project), "task", "reviewer", "at", "note")
        case "votes":
            write_votes(shown.votes, path)
        case (
            "predictions"
        ):  # the export that the votes came from, with labels, for import into its tool
            with services.files.of(row) as file:
                write_back(
                    result,
                    str(file),
                    path,
                    **options.model_dump(include={"format", "question", "task"}),
                )
        case "report":
            write_report(shown.result, path, title=row["name"])
        case _:
            shown.result.save(path)
    if path.suffix == ".csv":
        escape_formulas(path)
    media_type = MEDIA_TYPES.get(path.suffix, "application/octet-stream")
    # The report contains names from the data, so a sandbox keeps it from running scripts with the studio's origin.
    headers = {"content-security-policy": "sandbox; default-src 'none'"}
    remove = BackgroundTask(path.unlink, missing_ok=True)
    return FileResponse(
        path, filename=name, media_type=media_type, headers=headers, background=remove
    )


@router.post("/database", dependencies=ONLY_OWNER)
def to_database(project: ProjectId, target: Target, shown: Shown, services: ServicesDep) -> Written:
    """Write the labels into a table of a database; the rows of an existing table of labels are replaced."""
    address, folder, database = target.address, services.files.folder, parse(target.address)
    if database.is_file:  # in the folder of the studio, and not one of its projects
        path = (folder / database.target).resolve()
        if (
            not path.is_relative_to(folder)
            or path == services.store.path
            or path.suffix in READABLE
        ):
            detail = f"Name a database file in {folder}, such as {database.kind}:///labels.db."
            raise Problem(409, "The table was not written", detail)
        address = f"{database.kind}:///{path}"
    result = _result_for_users(services, project, shown)
    try:
        write_labels_to_table(result, address, target.table, probabilities=target.probabilities)
    except OutputError as error:
        raise Problem(409, "The table was not written", words_of(error)) from None
    return Written(table=target.table, rows=len(result.label_codes) + len(result.unlabelled))


def _result_for_users(services: Services, project: int, shown: Browser) -> Result:
    """Return the result; if votes are sets of labels, with the tasks of the file, whose labels are sets again."""
    questions, result = Questions(services.store.project(project)["options"]), shown.result
    if not questions.options:
        return result
    asked = [questions.split(text_of(name)) for name in to_list(result.task_names)]
    places = {
        task: place
        for place, task in enumerate(dict.fromkeys(task for task, option in asked if option >= 0))
    }
    posterior = np.zeros((len(places), len(questions.options)))
    n_votes = np.zeros(len(places), np.int64)
    is_known = np.zeros(posterior.shape, np.bool_)
    yes = shown.class_texts.index("yes")
    for code, (task, option) in enumerate(asked):
        if option >= 0:
            posterior[places[task], option] = result.posterior[code, yes]
            is_known[places[task], option] = result.gold[code] != MISSING
            n_votes[places[task]] = max(n_votes[places[task]], result.votes_per_task[code])
    sets, codes = np.unique(posterior > 0.5, axis=0, return_inverse=True)
    return replace(
        result,
        task_names=Names([*places]),
        class_names=Names(questions.options),
        unlabelled=result.unlabelled[:0],
        posterior=posterior,
        label_codes=codes.ravel().astype(np.int32),
        label_sets=tuple(tuple(np.flatnonzero(row).tolist()) for row in sets),
        tied=(posterior == 0.5).any(axis=1),
        votes_per_task=n_votes,
        gold=np.where(is_known.all(axis=1), codes.ravel(), MISSING).astype(np.int32),
        combined=None,
    )


def _make_sheet(
    services: Services, project: int, shown: Browser, *, with_votes: bool
) -> pl.DataFrame:
    """Return one row per task: its item, its votes if wanted, its label, and who decided what."""
    labelled, by_task, store = shown.labelled, shown.votes.columns[0], services.store
    row = store.project(project)
    questions = Questions(row["options"])
    order = natural_order(labelled.task_names)
    codes = np.arange(len(labelled.label_codes)) if order is None else order
    tasks = labelled.task_names.take(codes.astype(np.int32)).to_list()
    contents = services.workspace.contents_for_tables(project)
    given = {text_of(each["task"]): each for each in judgements_of(store, project)}
    back = {text_of(each["task"]): each for each in sent_back_tasks(store, project)}
    written = rows_with_names(store, "SELECT task, text FROM note WHERE project = ?", project)
    notes = {text_of(each["task"]): each["text"] for each in written}
    decided: list[tuple[Any, ...]] = []
    for code, name in zip(codes.tolist(), map(text_of, tasks), strict=True):
        has_votes = code < len(shown.result.gold)
        is_known = has_votes and shown.result.gold[code] != MISSING
        decision = (
            "known truth" if is_known else "from the votes" if has_votes else "from predictions"
        )
        text, sure, who = (
            shown.class_texts[labelled.label_codes[code]],
            round(float(shown.confidence[code]), 6),
            None,
        )
        if name in given:
            text, sure, decision, who = (
                text_of(given[name]["label"]),
                1.0,
                "judged",
                given[name]["reviewer"],
            )
        elif name in back:
            decision, who = "sent back", back[name]["reviewer"]
        decided.append((text, sure, decision, who, notes.get(name)))
    parts = [pl.DataFrame({by_task: tasks}, strict=False)]
    fields = [name for name in contents.names if name not in (by_task, *DECIDED)]
    if fields:
        parts.append(pl.DataFrame(contents.table(tasks), schema=dict.fromkeys(fields, pl.String)))
    if with_votes:  # a column per annotator, with several votes joined by a comma
        votes = shown.votes
        if votes.n_annotators > MOST_ANNOTATORS:
            most = f"at most {MOST_ANNOTATORS} become columns. Export the votes instead."
            raise Problem(
                409,
                "There are too many annotators for a sheet",
                f"There are {votes.n_annotators:,}; {most}",
            )
        task, annotator, label = votes.votes()
        long = pl.DataFrame(
            {KEY: task, "who": annotator, "vote": np.array(shown.class_texts, dtype=object)[label]}
        )
        joined = long.group_by(KEY, "who", maintain_order=True).agg(
            pl.col("vote").cast(pl.String).str.join(", ")
        )
        people = [text_of(name) for name in to_list(votes.annotator_names)]
        wide = joined.pivot(on="who", on_columns=list(range(len(people))), index=KEY, values="vote")
        wide = wide.rename({str(code): f"{VOTE_OF}{name}" for code, name in enumerate(people)})
        wanted = pl.DataFrame({KEY: codes}, schema={KEY: wide.schema[KEY]})
        parts.append(wanted.join(wide, on=KEY, how="left", maintain_order="left").drop(KEY))
    if (row["reading"] or {}).get("ordered"):
        scores = to_polars(scores_table(labelled)).select(pl.col("score").round(4))
        parts.append(scores[codes.tolist()])
    sheet = pl.concat(
        [*parts, pl.DataFrame(decided, schema=DECIDED, orient="row")], how="horizontal"
    )
    if not questions.options:
        return sheet
    # One row per task of the file: sets of labels instead of the answers about each of them.
    by_task, *others = sheet.columns
    asked = [questions.split(text_of(name)) for name in tasks]
    asked_about = [questions.options[option] if option >= 0 else None for _, option in asked]
    answers = [name for name in others if name.startswith(VOTE_OF) or name == "label"]
    combined = {
        name: pl.col(name).drop_nulls().unique(maintain_order=True).str.join(", ")
        for name in others[-3:]
    }
    combined |= {
        name: pl.col(KEY).filter(pl.col(name) == "yes").str.join(SEPARATOR) for name in answers
    }
    combined["confidence"] = pl.col("confidence").product()
    columns = [combined.get(name, pl.col(name).first()).alias(name) for name in others]
    of_file = pl.Series(by_task, [name for name, _ in asked], dtype=pl.String)
    return (
        sheet.with_columns(of_file, pl.Series(KEY, asked_about))
        .group_by(by_task, maintain_order=True)
        .agg(columns)
    )
