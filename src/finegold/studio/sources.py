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
from pydantic import AfterValidator, BaseModel, Field, ValidationError

from finegold.errors import FinegoldError
from finegold.io.columns import TASK, TRUTH, candidates
from finegold.io.predictions import read_predictions
from finegold.io.sheets import KEY
from finegold.io.truth import read_truth
from finegold.studio import items
from finegold.studio.files import safe_name
from finegold.studio.fits import queue_fit
from finegold.studio.judging import add_truths
from finegold.studio.problems import (
    Problem,
    of_validation,
    rename_files,
    warnings_in_words,
    words_of,
)
from finegold.studio.projects import create_project, describe
from finegold.studio.reading import OPTIONS, Layout, Reading, preview, title_of
from finegold.studio.rights import ONLY_OWNER, REVIEWERS_WHO_SEE
from finegold.studio.services import FileName, Received, Scalar, Services, ServicesDep
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
MAX_POSTED = 100_000
# of one file that is compared with the votes so far
MAX_COMPARED = 2**26
POSTED = "posted votes.csv"
SAMPLE = "sample.csv"
# of a route
FILE_BODY = {
    "requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string"}}}}
}


def _not_blank(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise ValueError("it is blank; give a name")
    return value


Id = Annotated[Scalar, AfterValidator(_not_blank)]
Column = Annotated[str | None, Field(max_length=1000)]


class Vote(BaseModel, extra="forbid"):
    """As in a file, 7, 7.0 and the text 7 are the same task, and a blank label is no vote."""

    task: Id
    annotator: Id
    label: Scalar | None


class Posted(BaseModel, extra="forbid"):
    votes: list[Vote] = Field(min_length=1, max_length=MAX_POSTED)


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
    """Create a project of the sample: two LLM judges and two people compare the answers to 300
    instructions.
    """
    blob = services.files.keep(write_with_texts, ".csv")
    project = create_project(services, SAMPLE)
    services.store.insert(
        "source", project=project, kind="votes", state="in", name=SAMPLE, blob=blob, at=now()
    )
    queue_fit(services, project)
    return describe(services, project)


@router.get("/projects/{project:id}/sources", dependencies=REVIEWERS_WHO_SEE)
def sources(project: int, services: ServicesDep) -> list[Row]:
    """Return what arrived in the project, in the order in which it arrived."""
    used = _used(services, project)
    rows = services.store.rows(
        "SELECT * FROM source WHERE project = ? AND state != 'out' ORDER BY id", project
    )
    return [_described(row, used) for row in rows]


def _used(services: Services, project: int) -> list[Any]:
    """Return the versions of the sources of votes that the shown labels are made from."""
    sql = "SELECT facts FROM fit WHERE id = (SELECT shown FROM project WHERE id = ?)"
    fit = services.store.row(sql, project)
    used: list[Any] = (fit["facts"] or {}).get("key", {}).get("sources", []) if fit else []
    return used


def _described(row: Row, used: list[Any]) -> Row:
    names = ("id", "kind", "state", "name", "at", "reading", "facts")
    is_used = row["kind"] != "votes" or version_of(row) in used
    return {**{name: row[name] for name in names}, "is_used": is_used}


@router.post(
    "/projects/{project:id}/sources",
    dependencies=ONLY_OWNER,
    status_code=201,
    openapi_extra=FILE_BODY,
)
def add_source(
    project: int,
    name: FileName,
    path: Received,
    services: ServicesDep,
    kind: Annotated[Kind | None, Query(description="By default, the columns decide.")] = None,
) -> Row:
    """Add a file as a draft: the body of the request, or a file or a folder of the studio's folder
    if the body is empty.
    """
    blob, place, source = None, None, path
    if path.stat().st_size:
        blob, shown = services.store.keep_file(path), safe_name(name)
    else:
        place, shown = name, name
        source = services.files.subfolder(name) or services.files.resolve(name)
    seen = preview(source, Layout()) if source.is_file() else None
    kind = kind or _guess_kind(services, project, seen)
    reading = Reading() if seen is None else _first_reading(services, project, seen, name)
    with services.store.changing(project):
        given = reading.model_dump(exclude_defaults=True)
        more = {"name": shown, "place": place, "blob": blob, "reading": given, "at": now()}
        new = services.store.insert("source", project=project, kind=kind, state="draft", **more)
    return see_source(project, new, services)


def _guess_kind(services: Services, project: int, seen: Row | None) -> Kind:
    """Return what a file most likely holds. The first file of a project holds votes."""
    if seen is None:
        return "items"
    columns, is_of_tool = seen["columns"], seen["is_export"] or seen["is_judge_log"]
    is_matrix = seen["guess"].shape in ("wide", "transposed")
    if is_of_tool or is_matrix or _is_of_one(seen) or not vote_sources(services, project):
        return "votes"
    if not {"annotator", "label"} & {*seen["open"]}:
        return "votes"
    if candidates(columns, TRUTH) and candidates(columns, TASK):
        return "truths"
    classes = []
    with suppress(Problem, FinegoldError):
        classes = services.loaded.shown(project).class_texts
    is_model = len(classes) > 1 and sum(name in columns for name in classes) > 1
    return "predictions" if is_model else "items"


def _is_of_one(seen: Row) -> bool:
    """Return whether a file has labels of tasks and nothing else, as files of one judge have."""
    return len(seen["columns"]) == 2 and seen["open"] == ["annotator"] and not seen["is_export"]


def _first_reading(services: Services, project: int, seen: Row, name: str) -> Reading:
    """Return how to read a new file: as the first one if it has its columns, otherwise as its own
    columns say; labels are spelled as in the others.
    """
    known = vote_sources(services, project)
    guess: Reading = seen["guess"]
    change: dict[str, Any] = {"one_annotator": Path(name).stem if _is_of_one(seen) else None}
    if known:
        first = Reading(**known[0]["reading"])
        named = [each for each in (first.task, first.annotator, first.label) if each is not None]
        has_these = bool(named) and {*named} <= {*seen["columns"]}
        if first.shape == "long" and not seen["is_export"] and has_these:
            guess = first
            change["gold"] = first.gold if first.gold in seen["columns"] else None
        change |= {name: getattr(first, name) for name in SHARED}
    found: Reading = guess.model_copy(update=change)
    return found


@router.get("/projects/{project:id}/sources/{source:id}", dependencies=ONLY_OWNER)
def see_source(
    project: int,
    source: int,
    services: ServicesDep,
    reading: Annotated[
        str | None, Query(max_length=20_000, description="Another reading to look at, as JSON.")
    ] = None,
) -> Row:
    """Return a source with its first rows, and what a draft would change."""
    row = _find(services, project, source)
    if reading is not None:
        row["reading"] = _reading_of(row, reading).model_dump(exclude_defaults=True)
    path, shown, proposal, problem = services.files.path_of(row), None, None, None
    with services.loaded.loading(project), warnings_in_words() as words:
        if path.is_file():
            shown = preview(path, Reading(**row["reading"]).layout)
            problem = shown["problem"] if row["kind"] == "votes" else None
        if row["state"] == "draft" and problem is None:
            try:
                proposal = _propose(services, row, path, shown)
            except FinegoldError as error:
                names = {str(path): row["name"], path.name: row["name"]}
                problem = words_of(rename_files(error, names))
    if shown is not None:
        shown["guess"] = shown["guess"].model_dump()
    found = _described(row, _used(services, project))
    more = {"preview": shown, "proposal": proposal, "warnings": words, "problem": problem}
    return found | more


def _propose(services: Services, row: Row, path: Path, seen: Row | None) -> Row | None:
    """Return what a draft would change."""
    project, reading = row["project"], row["reading"]
    known = vote_sources(services, project)
    if row["kind"] == "votes":
        # the first file is looked at as it is read
        if not known or path.stat().st_size > MAX_COMPARED:
            return None
        missing = [role for role in (seen["open"] if seen else []) if not reading.get(role)]
        is_long = reading.get("shape", "long") == "long"
        if missing and is_long and not reading.get("one_annotator"):
            return None
        return compare(votes_of(services, project), read_part(services, row))
    if not known:
        raise Problem(409, "There are no votes yet", "Add the file with the votes first.")
    votes = votes_of(services, project)
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


def _find(services: Services, project: int, source: int) -> Row:
    sql = "SELECT * FROM source WHERE project = ? AND id = ? AND state != 'out'"
    row = services.store.row(sql, project, source)
    if row is None:
        raise Problem(404, "There is no such source", "It may have been removed.")
    return row


def _reading_of(row: Row, changed: str | dict[str, Any]) -> Reading:
    """Return how a source is read with some options changed."""
    try:
        more = json.loads(changed) if isinstance(changed, str) else changed
        return Reading(**{**row["reading"], **more})
    except ValidationError as error:
        raise of_validation(error.errors()) from None
    except (TypeError, ValueError) as error:
        raise Problem(422, "The request is not valid", str(error)) from None


@router.patch("/projects/{project:id}/sources/{source:id}", dependencies=ONLY_OWNER)
def change_source(project: int, source: int, change: Change, services: ServicesDep) -> Row:
    """Change how a source is read, take it in, or remove it. Votes are then fitted again.

    How labels are spelled changes in all sources of votes.
    """
    store, row = services.store, _find(services, project, source)
    was_draft, kind = row["state"] == "draft", change.kind or row["kind"]
    names = {name: each for name in ("task", "label") if (each := getattr(change, name))}
    reading = _reading_of(row, {**(change.reading or {}), **names})
    row |= {"kind": kind, "reading": reading.model_dump(exclude_defaults=True)}
    is_in = change.state == "in" or (row["state"] == "in" and change.state is None)
    facts: dict[str, Any] = {}
    if is_in and kind != "votes":
        facts = _take(services, row)
    elif is_in:
        # raises at once if the file is missing
        services.files.path_of(row)
    before = key_of(services, project)
    with store.changing(project):
        given = {"kind": kind, "reading": row["reading"], "facts": row["facts"] | facts}
        store.update("source", source, **given)
        if is_in and kind == "votes":
            shared = {name: getattr(reading, name) for name in SHARED}
            # an answer to what a draft has may also be right for the files before
            for other in vote_sources(services, project):
                same = Reading(**{**other["reading"], **shared}).model_dump(exclude_defaults=True)
                store.update("source", other["id"], reading=same)
            store.update("source", source, content=None)
        if change.state == "out":
            store.run("UPDATE judgement SET undone = 1 WHERE source = ?", source)
        if change.state == "out" or is_in:
            store.update("source", source, state="in" if is_in else "out")
    store.sweep()
    has_changed = key_of(services, project) != before
    has_changed |= kind == "predictions" and (is_in or not was_draft)
    if has_changed and vote_sources(services, project):
        queue_fit(services, project)
    elif has_changed:
        with store.changing(project):
            store.update("project", project, shown=None)
    return describe(services, project)


def _take(services: Services, row: Row) -> dict[str, Any]:
    """Take in a file other than of votes; return what was found in it."""
    path, store = services.files.path_of(row), services.store
    try:
        with warnings_in_words() as words:
            seen = preview(path, Layout()) if path.is_file() else None
            facts = _propose(services, row, path, seen) or {}
            if row["kind"] == "items":
                if not facts["matched"]:
                    own, theirs = (", ".join(facts[name]) for name in ("own_ids", "task_ids"))
                    detail = (
                        f"No id is a task: it has {own or 'nothing'}; tasks are called {theirs}."
                    )
                    raise Problem(422, "These texts cannot be used", detail)
                table = items.read_items(path, row["name"])
                table = items.by_task(table, facts["task"] or KEY)
                blob = services.files.keep(table.write_parquet, ".parquet")
                store.update("source", row["id"], content=blob)
            if row["kind"] == "truths":
                votes = votes_of(services, row["project"])
                found = _read_truths(row, path, facts["columns"], votes)
                tasks, classes = to_list(votes.task_names), to_list(votes.class_names)
                # with the names that the votes have; those of unknown classes are left out
                truths = [
                    (task if code == MISSING else tasks[code], classes[label])
                    for (task, _), code, label in zip(*found, strict=True)
                    if label != MISSING
                ]
                store.run("UPDATE judgement SET undone = 1 WHERE source = ?", row["id"])
                add_truths(store, row["project"], row["id"], row["name"], truths)
    except FinegoldError as error:
        renamed = rename_files(error, {str(path): row["name"], path.name: row["name"]})
        raise Problem(422, "This file cannot be used", words_of(renamed)) from None
    return facts | {"warnings": words}


@router.post("/projects/{project:id}/votes", dependencies=ONLY_OWNER, status_code=202)
def post_votes(project: int, posted: Posted, services: ServicesDep) -> dict[str, int]:
    """Add votes of a program. They are stored at once and used by the next fit; a newer vote
    replaces an older one.
    """
    store, files, roles = services.store, services.files, ("task", "annotator", "label")
    cells = [[getattr(vote, role) for role in roles] for vote in posted.votes]
    texts = [[None if cell is None else text_of(cell) for cell in row] for row in cells]
    rows = pl.DataFrame(texts, schema=dict.fromkeys(roles, pl.String), orient="row")
    with store.lock:
        known = vote_sources(services, project)
        # those that no fit has used are one source
        waiting = known[-1] if known and known[-1]["facts"].get("posted") else None
        if waiting is not None and version_of(waiting) in _used(services, project):
            waiting = None
        if waiting is not None:
            rows = pl.concat([pl.read_csv(files.path_of(waiting), infer_schema=False), rows])
        first = known[0]["reading"] if known else {}
        more = {
            "blob": files.keep(rows.write_csv, ".csv"),
            "facts": {"posted": True, "votes": rows.height},
            "at": now(),
        }
        with store.changing(project):
            if waiting is not None:
                source = waiting["id"]
                store.update("source", source, **more)
            else:
                shared = {name: value for name, value in first.items() if name in SHARED}
                reading = {**{role: role for role in roles}, **shared}
                more |= {"name": POSTED, "reading": reading}
                source = store.insert("source", project=project, kind="votes", state="in", **more)
    return {"accepted": len(posted.votes), "source": source}
