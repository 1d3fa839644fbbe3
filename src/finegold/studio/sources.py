"""Everything that arrives in a project: votes, texts and images, predictions of models, truths.

A file is first a draft: the page shows what is in it and what it would change, and repairs it by
changing how it is read. Then it is taken in; the votes of all sources are read in their order, and
a later vote of an annotator on a task counts. How labels are spelled is shared by all sources of
votes of a project, so reading one of them again keeps it.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from finegold.errors import FinegoldError
from finegold.io.columns import TASK, TRUTH, candidates
from finegold.io.predictions import read_predictions
from finegold.io.sheets import KEY
from finegold.io.truth import read_truth
from finegold.studio import items
from finegold.studio.files import safe_name
from finegold.studio.fits import fits_of, queue_fit
from finegold.studio.judging import add_truths
from finegold.studio.problems import (
    Problem,
    rename_files,
    warnings_in_words,
    words_of,
)
from finegold.studio.projects import create_project, describe
from finegold.studio.reading import DEFAULTS, OPTIONS, check_reading, preview, title_of
from finegold.studio.security import ONLY_OWNER, REVIEWERS_WHO_SEE
from finegold.studio.services import FileName, Project, ProjectDep, Received, ServicesDep
from finegold.studio.store import Row, now
from finegold.studio.votes import (
    SHARED,
    compare,
    key_of,
    read_part,
    version_of,
    vote_sources,
    votes_of,
)
from finegold.votes.encoding import MISSING, match, text_of, to_list
from finegold.votes.sample import write_with_texts

router = APIRouter(tags=["sources"])

Kind = Literal["votes", "items", "predictions", "truths"]
# of one file that is compared with the votes so far
MAX_COMPARED = 2**26
SAMPLE = "sample.csv"


Column = Annotated[str | None, Field(max_length=1000)]


class Change(BaseModel, extra="forbid"):
    """What is not given stays as it is. `task` and `label` are columns of items and truths."""

    kind: Kind | None = None
    reading: dict[str, Any] | None = Field(None, description="Options of the reading.")
    task: Column = None
    label: Column = None
    state: Literal["in", "out"] | None = Field(None, description="Take it in, or remove it.")


@router.get("/reading", dependencies=ONLY_OWNER)
def reading_options() -> list[dict[str, Any]]:
    """Return the options for reading a file, from which the form is made."""
    shown = ("help", "kind", "choices", "low", "high")
    return [
        {"name": name, "title": title_of(name), **{each: getattr(option, each) for each in shown}}
        for name, option in OPTIONS.items()
    ]


@router.post("/sample", dependencies=ONLY_OWNER, status_code=201)
def open_sample(services: ServicesDep) -> Row:
    """Create a project in which two LLM judges and two people compare answers."""
    blob = services.files.keep(write_with_texts, ".csv")
    project = create_project(services, SAMPLE)
    given = {"kind": "votes", "state": "in", "name": SAMPLE, "blob": blob, "at": now()}
    services.store.insert("source", project=project.id, **given)
    queue_fit(project)
    return describe(project)


@router.get("/projects/{project:id}/sources", dependencies=REVIEWERS_WHO_SEE)
def sources(project: ProjectDep) -> list[Row]:
    """Return what arrived in the project, in the order in which it arrived."""
    used = _used(project)
    rows = project.rows("SELECT * FROM source WHERE project = ? AND state != 'out' ORDER BY id")
    return [_described(row, used) for row in rows]


def _used(project: Project) -> list[Any]:
    """Return the versions of the sources of votes that the shown labels are made from."""
    fit = next(iter(fits_of(project, "id = ?", project.row["shown"])), {})
    used: list[Any] = (fit.get("facts") or {}).get("key", {}).get("sources", [])
    return used


def _described(row: Row, used: list[Any]) -> Row:
    names = ("id", "kind", "state", "name", "at", "reading", "facts")
    is_used = row["kind"] != "votes" or version_of(row) in used
    return {**{name: row[name] for name in names}, "is_used": is_used}


@router.post("/projects/{project:id}/sources", dependencies=ONLY_OWNER, status_code=201)
def add_source(
    project: ProjectDep,
    name: FileName,
    path: Received,
    kind: Annotated[Kind | None, Query(description="By default, the columns decide.")] = None,
) -> Row:
    """Add a file as a draft: the body, or, if that is empty, a file or a folder of the folder."""
    blob, place, source = None, None, path
    if path.stat().st_size:
        blob, shown = project.store.keep_file(path), safe_name(name)
    else:
        place, shown = name, name
        source = project.files.subfolder(name) or project.files.resolve(name)
    seen = preview(source, {}) if source.is_file() else None
    kind = kind or _guess_kind(project, seen)
    reading = {} if seen is None else _first_reading(project, seen, name)
    with project.changing():
        more = {"name": shown, "place": place, "blob": blob, "reading": reading, "at": now()}
        new = project.store.insert("source", project=project.id, kind=kind, state="draft", **more)
    return see_source(project, new)


def _guess_kind(project: Project, seen: Row | None) -> Kind:
    """Return what a file most likely holds. The first file of a project holds votes."""
    if seen is None:
        return "items"
    columns, is_of_tool = seen["columns"], seen["is_export"] or seen["is_judge_log"]
    is_matrix = seen["guess"].get("shape") in ("wide", "transposed")
    if is_of_tool or is_matrix or _is_of_one(seen) or not vote_sources(project):
        return "votes"
    if not {"annotator", "label"} & {*seen["open"]}:
        return "votes"
    if candidates(columns, TRUTH) and candidates(columns, TASK):
        return "truths"
    classes = []
    with suppress(Problem, FinegoldError):
        classes = project.shown.class_texts
    is_model = len(classes) > 1 and sum(name in columns for name in classes) > 1
    return "predictions" if is_model else "items"


def _is_of_one(seen: Row) -> bool:
    """Return whether a file has labels of tasks and nothing else, as files of one judge have."""
    return len(seen["columns"]) == 2 and seen["open"] == ["annotator"] and not seen["is_export"]


def _first_reading(project: Project, seen: Row, name: str) -> Row:
    """Return how to read a new file: as the first one if it has its columns, else as a guess."""
    guess: Row = dict(seen["guess"])
    for row in vote_sources(project)[:1]:
        first = row["reading"]
        named = {first[role] for role in ("task", "annotator", "label") if role in first}
        has_these = bool(named) and named <= {*seen["columns"]}
        if first.get("shape", "long") == "long" and not seen["is_export"] and has_these:
            guess = dict(first)
            if guess.get("gold") not in seen["columns"]:
                guess.pop("gold", None)
        guess |= {option: first[option] for option in SHARED if option in first}
    guess.pop("one_annotator", None)
    return guess | ({"one_annotator": Path(name).stem} if _is_of_one(seen) else {})


@router.get("/projects/{project:id}/sources/{source:id}", dependencies=ONLY_OWNER)
def see_source(
    project: ProjectDep,
    source: int,
    reading: Annotated[
        str | None, Query(max_length=20_000, description="Another reading to look at, as JSON.")
    ] = None,
) -> Row:
    """Return a source with its first rows, and what a draft would change."""
    row = _find(project, source)
    if reading is not None:
        row["reading"] = _changed(row, reading)
    path, shown, proposal, problem = project.files.path_of(row), None, None, None
    with project.services.loaded.loading(project.id), warnings_in_words() as words:
        if path.is_file():
            shown = preview(path, row["reading"])
            problem = shown["problem"] if row["kind"] == "votes" else None
        if row["state"] == "draft" and problem is None:
            try:
                proposal = _propose(project, row, path, shown)
            except FinegoldError as error:
                names = {str(path): row["name"], path.name: row["name"]}
                problem = words_of(rename_files(error, names))
    found = _described(row, _used(project))
    more = {"preview": shown, "proposal": proposal, "warnings": words, "problem": problem}
    return found | more


def _propose(project: Project, row: Row, path: Path, seen: Row | None) -> Row | None:
    reading, known = row["reading"], vote_sources(project)
    if row["kind"] == "votes":
        # the first file is looked at as it is read
        if not known or path.stat().st_size > MAX_COMPARED:
            return None
        missing = [role for role in (seen["open"] if seen else []) if not reading.get(role)]
        is_long = reading.get("shape", "long") == "long"
        if missing and is_long and not reading.get("one_annotator"):
            return None
        return compare(votes_of(project), read_part(project, row))
    if not known:
        raise Problem(409, "There are no votes yet", "Add the file with the votes first.")
    votes = votes_of(project)
    if row["kind"] == "items":
        tasks = pl.Series([text_of(name) for name in to_list(votes.task_names)], dtype=pl.String)
        return items.match_items(items.read_items(path, row["name"]), tasks, reading.get("task"))
    if row["kind"] == "predictions":
        read = read_predictions(path, votes)
        n = int(read.known[0][: votes.n_tasks].sum())
        rest = {"n_without_prediction": votes.n_tasks - n}
        return {"n_tasks": n, **rest, "n_without_votes": len(read.task_names)}
    columns = seen["columns"] if seen is not None else []
    pairs, tasks, classes = _read_truths(row, path, columns, votes)
    unknown = {label for (_, label), code in zip(pairs, classes, strict=True) if code == MISSING}
    used = [MISSING not in each for each in zip(tasks, classes, strict=True)]
    return {
        "columns": columns,
        "used": sum(used),
        "without_votes": tasks.count(MISSING),
        "unknown_classes": [] if votes.multi else sorted(unknown)[:20],
    }


def _read_truths(row: Row, path: Path, columns: list[str], votes: Any) -> tuple[Any, Any, Any]:
    """Return tasks and truths of a file as texts, and the codes that they have in the votes."""
    named = (row["reading"].get("task"), votes.columns[0])
    task = next((name for name in named if name in columns), None)
    truth = read_truth(str(path), task=task, label=row["reading"].get("label"))
    texts = [[text_of(each) for each in to_list(column)] for column in (truth.task, truth.truth)]
    codes = [
        match(each, names).tolist()
        for each, names in zip(texts, (votes.task_names, votes.class_names), strict=True)
    ]
    return list(zip(*texts, strict=True)), codes[0], codes[1]


def _find(project: Project, source: int) -> Row:
    sql = "SELECT * FROM source WHERE project = ? AND id = ? AND state != 'out'"
    found = project.rows(sql, source)
    if not found:
        raise Problem(404, "There is no such source", "It may have been removed.")
    return found[0]


def _changed(row: Row, changed: str | Row) -> Row:
    try:
        more = json.loads(changed) if isinstance(changed, str) else changed
        return check_reading({**row["reading"], **more})
    except (TypeError, ValueError) as error:
        raise Problem(422, "The request is not valid", str(error)) from None


@router.patch("/projects/{project:id}/sources/{source:id}", dependencies=ONLY_OWNER)
def change_source(project: ProjectDep, source: int, change: Change) -> Row:
    """Change how a source is read (its spellings: for all sources), take it in, or remove it."""
    store, row = project.store, _find(project, source)
    was_draft, kind = row["state"] == "draft", change.kind or row["kind"]
    names = {name: each for name in ("task", "label") if (each := getattr(change, name))}
    reading = _changed(row, {**(change.reading or {}), **names})
    row |= {"kind": kind, "reading": reading}
    is_in = change.state == "in" or (row["state"] == "in" and change.state is None)
    facts: dict[str, Any] = {}
    if is_in and kind != "votes":
        facts = _take(project, row)
    elif is_in:
        # raises at once if the file is missing
        project.files.path_of(row)
    before = key_of(project)
    with project.changing():
        given = {"kind": kind, "reading": reading, "facts": row["facts"] | facts}
        store.update("source", source, **given)
        if is_in and kind == "votes":
            shared = {name: reading.get(name, DEFAULTS[name]) for name in SHARED}
            # an answer to what a draft has may also be right for the files before
            for other in vote_sources(project):
                store.update("source", other["id"], reading=_changed(other, shared))
            store.update("source", source, content=None)
        if change.state == "out":
            store.run("UPDATE judgement SET undone = 1 WHERE source = ?", source)
        if change.state == "out" or is_in:
            store.update("source", source, state="in" if is_in else "out")
    store.sweep()
    has_changed = key_of(project) != before
    has_changed |= kind == "predictions" and (is_in or not was_draft)
    if has_changed and vote_sources(project):
        queue_fit(project)
    elif has_changed:
        with project.changing():
            store.update("project", project.id, shown=None)
    return describe(project)


def _take(project: Project, row: Row) -> dict[str, Any]:
    """Take in a file other than of votes; return what was found in it."""
    path, store = project.files.path_of(row), project.store
    try:
        with warnings_in_words() as words:
            seen = preview(path, {}) if path.is_file() else None
            facts = _propose(project, row, path, seen) or {}
            if row["kind"] == "items":
                if not facts["matched"]:
                    own, theirs = (", ".join(facts[name]) for name in ("own_ids", "task_ids"))
                    detail = (
                        f"No id is a task: it has {own or 'nothing'}; tasks are called {theirs}."
                    )
                    raise Problem(422, "These texts cannot be used", detail)
                table = items.read_items(path, row["name"])
                table = items.by_task(table, facts["task"] or KEY)
                blob = project.files.keep(table.write_parquet, ".parquet")
                store.update("source", row["id"], content=blob)
            if row["kind"] == "truths":
                votes = votes_of(project)
                found = _read_truths(row, path, facts["columns"], votes)
                tasks, classes = to_list(votes.task_names), to_list(votes.class_names)
                # with the names that the votes have; those of unknown classes are left out
                truths = [
                    (task if code == MISSING else tasks[code], classes[label])
                    for (task, _), code, label in zip(*found, strict=True)
                    if label != MISSING
                ]
                store.run("UPDATE judgement SET undone = 1 WHERE source = ?", row["id"])
                add_truths(project, row["id"], row["name"], truths)
    except FinegoldError as error:
        renamed = rename_files(error, {str(path): row["name"], path.name: row["name"]})
        raise Problem(422, "This file cannot be used", words_of(renamed)) from None
    return facts | {"warnings": words}
