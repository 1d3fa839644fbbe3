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
from finegold.studio.files import FILE_BODY, safe_name
from finegold.studio.fits import queue_fit
from finegold.studio.judging import add_truths
from finegold.studio.problems import Problem, rename_files, warnings_in_words, words_of
from finegold.studio.projects import Project, describe
from finegold.studio.reading import OPTIONS, Layout, Preview, Reading, preview, title_of
from finegold.studio.rights import ONLY_OWNER, REVIEWERS_WHO_SEE
from finegold.studio.services import (
    FileName,
    ProjectId,
    Received,
    Scalar,
    Services,
    ServicesDep,
    SourceId,
)
from finegold.studio.store import Row, Store, now
from finegold.studio.votes import SHARED, compare, key_of, read_part, vote_sources, votes_of
from finegold.votes.encoding import MISSING, match, text_of, to_list

router = APIRouter(tags=["sources"])

Kind = Literal["votes", "items", "predictions", "truths"]
MAX_POSTED = 100_000
# of one file that is compared with the votes so far; of more, only the first rows are looked at
MAX_COMPARED = 2**26
POSTED = "posted votes.csv"


def _not_blank(value: Any) -> Any:
    if isinstance(value, str) and not value.strip():
        raise ValueError("it is blank; give a name")
    return value


Id = Annotated[Scalar, AfterValidator(_not_blank)]


class Vote(BaseModel, extra="forbid"):
    task: Annotated[
        Id,
        Field(
            description="The name of the task. As in a file, 7, 7.0 and the text 7 are the same."
        ),
    ]
    annotator: Id
    label: Annotated[
        Scalar | None,
        Field(description="Null, blank, NA, null and NaN mean no vote, as in a file."),
    ]


class Posted(BaseModel, extra="forbid"):
    votes: list[Vote] = Field(min_length=1, max_length=MAX_POSTED)


class Waiting(BaseModel):
    accepted: int
    source: int


class ReadingOption(BaseModel):
    """An option of the reader, as the form shows it."""

    name: str
    title: str
    help: str
    group: str
    kind: str
    choices: list[str]
    low: float | None
    high: float | None


class Source(BaseModel):
    id: int
    kind: Kind
    state: Literal["draft", "in"]
    name: str
    at: str
    reading: dict[str, Any]
    facts: dict[str, Any]
    is_used: bool


class Seen(Source):
    """A source with its first rows, and what it changes."""

    preview: Preview | None
    proposal: dict[str, Any] | None
    warnings: list[str]
    problem: str | None


class Change(BaseModel, extra="forbid"):
    """What is not given stays as it is."""

    kind: Kind | None = None
    reading: dict[str, Any] | None = Field(
        default=None, description="Options of the reading; others stay as they are."
    )
    task: str | None = Field(
        default=None, max_length=1000, description="Of items and truths: the column of the tasks."
    )
    label: str | None = Field(
        default=None, max_length=1000, description="Of truths: the column of the truths."
    )
    state: Literal["in", "out"] | None = Field(
        default=None, description="Take it in, or remove it."
    )


@router.get("/reading", dependencies=ONLY_OWNER)
def reading_options() -> list[ReadingOption]:
    """Return the options for reading a file, from which the form is made."""
    return [
        ReadingOption(name=name, title=title_of(name), **vars(option))
        for name, option in OPTIONS.items()
    ]


@router.get("/projects/{project:id}/sources", dependencies=REVIEWERS_WHO_SEE)
def sources(project: ProjectId, services: ServicesDep) -> list[Source]:
    """Return what arrived in the project, in the order in which it arrived."""
    used = _used(services, project)
    rows = services.store.rows(
        "SELECT * FROM source WHERE project = ? AND state != 'out' ORDER BY id", project
    )
    return [_source(row, used) for row in rows]


def _used(services: Services, project: int) -> list[Any]:
    fit = services.store.row(
        "SELECT facts FROM fit WHERE id = (SELECT shown FROM project WHERE id = ?)", project
    )
    return (fit["facts"] or {}).get("key", {}).get("sources", []) if fit else []


def _source(row: Row, used: list[Any]) -> Source:
    is_used = row["kind"] != "votes" or [row["id"], row["reading"], row["blob"]] in used
    fields = {name: row[name] for name in Source.model_fields if name in row}
    return Source(**fields, is_used=is_used)


@router.post(
    "/projects/{project:id}/sources",
    dependencies=ONLY_OWNER,
    status_code=201,
    openapi_extra=FILE_BODY,
)
def add_source(
    project: ProjectId,
    name: FileName,
    path: Received,
    services: ServicesDep,
    kind: Annotated[Kind | None, Query(description="By default, the columns decide.")] = None,
) -> Seen:
    """Add a file as a draft: the body of the request, or a file or a folder of the studio's folder
    if the body is empty.
    """
    row = services.store.project(project)
    blob, place, source = None, None, path
    if path.stat().st_size:
        blob = services.store.keep_file(path)
    else:
        place, source = name, services.files.subfolder(name) or services.files.resolve(name)
    seen = preview(source, Layout()) if source.is_file() else None
    kind = kind or _guess_kind(services, project, seen)
    reading = Reading() if seen is None else _first_reading(services, project, seen, name)
    with services.store.changing(row["id"]):
        new = services.store.insert(
            "source",
            project=project,
            kind=kind,
            state="draft",
            name=name if blob is None else safe_name(name),
            place=place,
            blob=blob,
            reading=reading.model_dump(exclude_defaults=True),
            at=now(),
        )
    return see_source(project, new, services)


def _guess_kind(services: Services, project: int, seen: Preview | None) -> Kind:
    """Return what a file most likely holds. The first file of a project holds votes."""
    known = vote_sources(services, project)
    if seen is None:
        return "items"
    guess, columns = seen.guess, seen.columns
    if not known or seen.is_export or seen.is_judge_log or guess.shape in ("wide", "transposed"):
        return "votes"
    if not {"annotator", "label"} & set(seen.open) or _is_of_one(seen):
        return "votes"
    if candidates(columns, TRUTH) and candidates(columns, TASK):
        return "truths"
    classes = []
    with suppress(Problem, FinegoldError):
        classes = services.loaded.shown(project).class_texts
    if len(classes) > 1 and sum(name in columns for name in classes) > 1:
        return "predictions"
    return "items"


def _is_of_one(seen: Preview) -> bool:
    """Return whether a file has labels of tasks and nothing else, as files of one judge have."""
    return len(seen.columns) == 2 and seen.open == ["annotator"] and not seen.is_export


def _first_reading(services: Services, project: int, seen: Preview, name: str) -> Reading:
    """Return how to read a new file: as the first one if it has its columns, otherwise as its own
    columns say; labels are spelled as in the others.
    """
    known = vote_sources(services, project)
    one = Path(name).stem if _is_of_one(seen) else None
    if not known:
        guess: Reading = seen.guess.model_copy(update={"one_annotator": one})
        return guess
    first = Reading(**known[0]["reading"])
    named = [name for name in (first.task, first.annotator, first.label) if name is not None]
    if first.shape == "long" and not seen.is_export and named and {*named} <= {*seen.columns}:
        gold = first.gold if first.gold in seen.columns else None
        same: Reading = first.model_copy(update={"gold": gold, "one_annotator": one})
        return same
    shared = {name: getattr(first, name) for name in SHARED}
    other: Reading = seen.guess.model_copy(update={**shared, "one_annotator": one})
    return other


@router.get("/projects/{project:id}/sources/{source:id}", dependencies=ONLY_OWNER)
def see_source(
    project: ProjectId,
    source: SourceId,
    services: ServicesDep,
    reading: Annotated[
        str | None, Query(max_length=20_000, description="Another reading to look at, as JSON.")
    ] = None,
) -> Seen:
    """Return a source with its first rows, and what a draft would change."""
    row = _find(services.store, project, source)
    if reading is not None:
        row["reading"] = _reading_of(row, json.loads(reading)).model_dump(exclude_defaults=True)
    path, shown, proposal, problem = services.files.path_of(row), None, None, None
    with services.loaded.loading(project), warnings_in_words() as words:
        if path.is_file():
            options = Reading(**row["reading"])
            layout = Layout(**options.model_dump(include=set(Layout.model_fields)))
            shown = preview(path, layout)
            problem = shown.problem if row["kind"] == "votes" else None
        if row["state"] == "draft" and problem is None:
            try:
                proposal = _propose(services, project, row, path, shown)
            except FinegoldError as error:
                problem = words_of(
                    rename_files(error, {str(path): row["name"], path.name: row["name"]})
                )
    used = _used(services, project)
    return Seen(
        **_source(row, used).model_dump(),
        preview=shown,
        proposal=proposal,
        warnings=words,
        problem=problem,
    )


def _propose(
    services: Services, project: int, row: Row, path: Path, seen: Preview | None
) -> dict[str, Any] | None:
    """Return what a draft would change."""
    kind, reading = row["kind"], row["reading"]
    known = vote_sources(services, project)
    if kind == "votes":
        # the first file is looked at as it is read
        if not known or path.stat().st_size > MAX_COMPARED:
            return None
        options, open_roles = Reading(**reading), seen.open if seen else []
        missing = [role for role in open_roles if not getattr(options, role)]
        if missing and options.shape == "long" and not options.one_annotator:
            return None
        return compare(votes_of(services, project), read_part(services, row))
    if not known:
        raise Problem(409, "There are no votes yet", "Add the file with the votes first.")
    votes = votes_of(services, project)
    tasks = pl.Series([text_of(name) for name in to_list(votes.task_names)], dtype=pl.String)
    if kind == "items":
        table = items.read_items(path, row["name"])
        return items.match_items(table, tasks, reading.get("task"))
    if kind == "predictions":
        read = read_predictions(path, votes)
        has_one = read.known[0]
        return {
            "n_tasks": int(has_one[: votes.n_tasks].sum()),
            "n_without_prediction": votes.n_tasks - int(has_one[: votes.n_tasks].sum()),
            "n_without_votes": len(read.task_names),
            "confidence": float(read.probabilities[0][has_one].max(axis=1).mean()),
        }
    columns = seen.columns if seen is not None else []
    task = reading.get("task") if reading.get("task") in columns else None
    task = task or (votes.columns[0] if votes.columns[0] in columns else None)
    truth = read_truth(str(path), task=task, label=reading.get("label"))
    task_codes = match(to_list(truth.task), votes.task_names)
    class_codes = match(to_list(truth.truth), votes.class_names)
    unknown = {
        text_of(name)
        for name, code in zip(to_list(truth.truth), class_codes.tolist(), strict=True)
        if code == MISSING
    }
    return {
        "columns": columns,
        "read": len(task_codes),
        "used": int(((task_codes != MISSING) & (class_codes != MISSING)).sum()),
        "without_votes": int((task_codes == MISSING).sum()),
        "unknown_classes": [] if votes.multi else sorted(unknown)[:20],
    }


def _find(store: Store, project: int, source: int) -> Row:
    row = store.row(
        "SELECT * FROM source WHERE project = ? AND id = ? AND state != 'out'", project, source
    )
    if row is None:
        raise Problem(404, "There is no such source", "It may have been removed.")
    return row


def _reading_of(row: Row, changed: dict[str, Any]) -> Reading:
    try:
        return Reading(**{**row["reading"], **changed})
    except (ValidationError, TypeError) as error:
        fields = [
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
            for each in (error.errors() if isinstance(error, ValidationError) else [])
        ]
        raise Problem(422, "The request is not valid", "; ".join(fields)) from None


@router.patch("/projects/{project:id}/sources/{source:id}", dependencies=ONLY_OWNER)
def change_source(
    project: ProjectId, source: SourceId, change: Change, services: ServicesDep
) -> Project:
    """Change how a source is read, take it in, or remove it. Votes are then fitted again.

    How labels are spelled changes in all sources of votes.
    """
    store, row = services.store, _find(services.store, project, source)
    kind = change.kind or row["kind"]
    names = {"task": change.task, "label": change.label}
    wanted = {**(change.reading or {}), **{name: each for name, each in names.items() if each}}
    reading = _reading_of(row, wanted)
    row |= {"kind": kind, "reading": reading.model_dump(exclude_defaults=True)}
    is_in = change.state == "in" or (row["state"] == "in" and change.state is None)
    facts: dict[str, Any] = {}
    if is_in and kind != "votes":
        facts = _take(services, project, row)
    elif is_in:
        # raises at once if the file is missing
        services.files.path_of(row)
    before = key_of(services, project)
    with store.changing(project):
        store.update(
            "source", source, kind=kind, reading=row["reading"], facts=row["facts"] | facts
        )
        if is_in and kind == "votes":
            shared = {name: getattr(reading, name) for name in SHARED}
            # an answer to what a draft has may also be right for the files before
            for other in vote_sources(services, project):
                same = Reading(**{**other["reading"], **shared}).model_dump(exclude_defaults=True)
                store.update("source", other["id"], reading=same)
            store.update("source", source, content=None)
        if change.state == "out":
            store.run("UPDATE judgement SET undone = 1 WHERE source = ?", source)
            store.update("source", source, state="out")
        elif is_in:
            store.update("source", source, state="in")
    store.sweep()
    has_changed = key_of(services, project) != before or (
        kind == "predictions" and row["state"] != "draft"
    )
    has_changed |= kind == "predictions" and is_in
    if has_changed and vote_sources(services, project):
        queue_fit(services, project)
    elif has_changed:
        with store.changing(project):
            store.update("project", project, shown=None)
    return describe(services, project)


def _take(services: Services, project: int, row: Row) -> dict[str, Any]:
    """Take in a file other than of votes; return what was found in it."""
    path, store = services.files.path_of(row), services.store
    try:
        with warnings_in_words() as words:
            seen = preview(path, Layout()) if path.is_file() else None
            facts = _propose(services, project, row, path, seen) or {}
            if row["kind"] == "items":
                table = items.read_items(path, row["name"])
                key = facts["task"] or KEY
                table = table.rename({key: KEY}).drop_nulls(KEY).unique(KEY, keep="first")
                if not facts["matched"]:
                    own, theirs = (", ".join(facts[name]) for name in ("own_ids", "task_ids"))
                    detail = f"No id in it is a task: it has {own or 'nothing'}; tasks are called {theirs}."
                    raise Problem(422, "These texts cannot be used", detail)
                blob = services.files.keep(table.write_parquet, ".parquet")
                store.update("source", row["id"], content=blob)
            if row["kind"] == "truths":
                columns = seen.columns if seen is not None else []
                votes = votes_of(services, project)
                given = row["reading"]
                named = [given.get("task"), votes.columns[0]]
                task = next((name for name in named if name in columns), None)
                truth = read_truth(str(path), task=task, label=given.get("label"))
                store.run("UPDATE judgement SET undone = 1 WHERE source = ?", row["id"])
                pairs = zip(to_list(truth.task), to_list(truth.truth), strict=True)
                plain = [(text_of(task), text_of(label)) for task, label in pairs]
                add_truths(store, project, row["id"], row["name"], _named(votes, plain))
    except FinegoldError as error:
        names = {str(path): row["name"], path.name: row["name"]}
        raise Problem(
            422, "This file cannot be used", words_of(rename_files(error, names))
        ) from None
    return facts | {"warnings": words}


def _named(votes: Any, pairs: list[tuple[str, str]]) -> list[tuple[Any, Any]]:
    """Return truths with the names that the votes have; those of unknown classes are left out."""
    tasks, classes = to_list(votes.task_names), to_list(votes.class_names)
    task_codes = match([task for task, _ in pairs], votes.task_names).tolist()
    class_codes = match([label for _, label in pairs], votes.class_names).tolist()
    return [
        (task if code == MISSING else tasks[code], classes[label])
        for (task, _), code, label in zip(pairs, task_codes, class_codes, strict=True)
        if label != MISSING
    ]


@router.post("/projects/{project:id}/votes", dependencies=ONLY_OWNER, status_code=202)
def post_votes(project: ProjectId, posted: Posted, services: ServicesDep) -> Waiting:
    """Add votes of a program. They are stored at once and used by the next fit; a newer vote
    replaces an older one.
    """
    store, files = services.store, services.files
    columns = {
        name: [_cell(getattr(vote, name)) for vote in posted.votes]
        for name in ("task", "annotator", "label")
    }
    rows = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    with store.lock:
        known = vote_sources(services, project)
        waiting = known[-1] if known and known[-1]["facts"].get("posted") else None
        if waiting is not None and [waiting["id"], waiting["reading"], waiting["blob"]] in _used(
            services, project
        ):
            waiting = None
        shared = Reading(**known[0]["reading"]) if known else Reading()
        reading = Reading(
            **{"task": "task", "annotator": "annotator", "label": "label"},
            **{name: getattr(shared, name) for name in SHARED},
        ).model_dump(exclude_defaults=True)
        if waiting is not None:
            before = pl.read_csv(files.path_of(waiting), infer_schema=False)
            rows = pl.concat([before, rows])
        blob = files.keep(rows.write_csv, ".csv")
        facts = {"posted": True, "votes": rows.height}
        with store.changing(project):
            if waiting is not None:
                store.update("source", waiting["id"], blob=blob, facts=facts, at=now())
                source = waiting["id"]
            else:
                more = {"name": POSTED, "blob": blob, "reading": reading, "facts": facts}
                source = store.insert(
                    "source", project=project, kind="votes", state="in", at=now(), **more
                )
    return Waiting(accepted=len(posted.votes), source=source)


def _cell(value: Any) -> str | None:
    return None if value is None else text_of(value)
