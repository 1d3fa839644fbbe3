"""Gold: truths that people or files gave, and tasks that reviewers skipped or sent back. Every action can be undone.

Tasks are kept by their names, so that truths stay valid when the votes are read again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from finegold.io.truth import read_truth
from finegold.studio.files import FILE_BODY, columns_of
from finegold.studio.problems import Problem
from finegold.studio.rights import ONLY_OWNER, REVIEWERS, REVIEWERS_WHO_SEE
from finegold.studio.services import (
    FileName,
    Name,
    ProjectId,
    Reviewer,
    Scalar,
    Shown,
    StoreDep,
    sent_file,
)
from finegold.studio.store import Row, Store, name_key, now
from finegold.studio.workspace import Browser
from finegold.votes.encoding import MISSING, Codes, match, to_list

router = APIRouter(tags=["gold"], prefix="/projects/{project:id}")

NOT_GIVEN = object()
JUDGE, SKIP, SEND_BACK = "judge", "skip", "send_back"  # kinds of actions
GOLD = "SELECT label, at, reviewer, label_then FROM gold WHERE project = ? AND task = ?"


class Action(BaseModel):
    """Something that a reviewer did, which can be undone."""

    id: int
    at: str
    kind: str = Field(description="judge, skip or send_back")
    task: Name
    before: Name | None
    after: Name | None


class Truth(BaseModel, extra="forbid"):
    task: Scalar
    label: Scalar | None = Field(description="The true class; null removes the truth.")
    before: Scalar | None = Field(
        None,
        description="The current truth as the client knows it; the request is refused (409) if it has changed.",
    )


class Judgement(BaseModel):
    task: Name
    label: Name
    label_then: Name | None = Field(description="The label of the result when the task was judged.")
    reviewer: str
    at: str
    note: str


class Given(BaseModel):
    action: int
    judged: int


class OneTask(BaseModel, extra="forbid"):
    task: Scalar


class Note(BaseModel, extra="forbid"):
    task: Scalar
    text: str = Field(max_length=10_000, description="Blank removes the note.")


class Undo(BaseModel, extra="forbid"):
    action: int | None = Field(
        None, ge=1, le=2**53, description="The id of the action; by default your newest."
    )


class Undone(BaseModel):
    action: Action
    judged: int


class Imported(BaseModel):
    file: str
    read: int
    used: int = Field(description="Number of truths of tasks with votes that nobody had judged.")
    without_votes: int = Field(description="Number of truths of tasks that have no votes.")
    unknown_classes: list[str] = Field(
        description="Truths that are not classes; their tasks are left out."
    )


def truths_of(store: Store, project: int) -> dict[Any, Any]:
    rows = store.rows("SELECT task, label FROM gold WHERE project = ? ORDER BY at, task", project)
    return {json.loads(row["task"]): json.loads(row["label"]) for row in rows}


def count_truths(store: Store, project: int) -> int:
    return int(store.rows("SELECT count(*) AS n FROM gold WHERE project = ?", project)[0]["n"])


def rows_with_names(store: Store, sql: str, *values: Any) -> list[Row]:
    """Return rows with the names of tasks and classes that they hold as JSON."""
    names, rows = ("task", "label", "label_then", "before", "after"), store.rows(sql, *values)
    return [
        row | {name: json.loads(row[name]) for name in names if row.get(name) is not None}
        for row in rows
    ]


def judgements_of(store: Store, project: int) -> list[Row]:
    """Return all truths with who gave them, when, what the label was then, and the note on the task."""
    which = (
        "SELECT gold.task, label, label_then, gold.reviewer, gold.at, coalesce(note.text, '') AS note FROM gold "
        "LEFT JOIN note ON note.project = gold.project AND note.task = gold.task "
        "WHERE gold.project = ? ORDER BY gold.at, gold.task"
    )
    return rows_with_names(store, which, project)


def sent_back_tasks(store: Store, project: int) -> list[Row]:
    """Return the tasks that were sent back for more votes and that nobody judged, with who did it and the note."""
    which = (
        "SELECT aside.task, aside.reviewer, aside.n_votes, min(aside.at) AS at, coalesce(note.text, '') AS note "
        "FROM aside LEFT JOIN note ON note.project = aside.project AND note.task = aside.task "
        "WHERE aside.project = ? AND kind = ? AND aside.task NOT IN (SELECT task FROM gold WHERE project = ?) "
        "GROUP BY aside.task ORDER BY min(aside.at)"
    )
    return rows_with_names(store, which, project, SEND_BACK, project)


def tasks_aside(
    store: Store, project: int, kind: str, reviewer: str | None = None
) -> dict[Any, int]:
    """Return the tasks that were set aside, with the number of votes that they had (None: by any reviewer)."""
    which = (
        "SELECT task, max(n_votes) AS n FROM aside WHERE project = ? AND kind = ? AND (? IS NULL OR reviewer = ?) "
        "GROUP BY task ORDER BY min(at)"
    )
    return {
        row["task"]: int(row["n"])
        for row in rows_with_names(store, which, project, kind, reviewer, reviewer)
    }


def set_truth(
    store: Store,
    project: int,
    task: Any,
    label: Any,
    before: Any = NOT_GIVEN,
    *,
    reviewer: str = "",
    then: Any = None,
) -> int:
    """Set the truth of a task (None removes it), unless it is not `before` any more; return the action for undo."""
    key = name_key(task)
    with store.changing(project):
        old = store.row(GOLD, project, key)
        current = None if old is None else json.loads(old["label"])
        if before is not NOT_GIVEN and name_key(before) != name_key(current):
            state = "it has no truth now" if old is None else f"it is {current} now"
            detail = (
                f"Another tab or a program changed its truth: {state}. Nothing was overwritten."
            )
            raise Problem(409, "This task was judged by somebody else", detail, current=current)
        # What the label was then is kept where the result was fitted with an earlier judgement.
        label_then = name_key(then) if then is not None else old and old["label_then"]
        judged = {
            "label": name_key(label),
            "reviewer": reviewer,
            "label_then": label_then,
            "at": now(),
        }
        new = None if label is None else judged
        _put(store, project, key, new)
        return _add_action(store, project, key, JUDGE, reviewer, old, new)


def add_truths(
    store: Store, project: int, source: str, truths: Iterable[tuple[Any, Any, Any]]
) -> int:
    """Add truths of a file (task, truth, label of the result) where there are none, and return how many."""
    n_added = 0
    with store.changing(project):
        for task, label, then in truths:
            if store.row(GOLD, project, name_key(task)) is None:
                label_then = None if then is None else name_key(then)
                new = {
                    "label": name_key(label),
                    "at": now(),
                    "reviewer": source,
                    "label_then": label_then,
                }
                store.insert("gold", project=project, task=name_key(task), **new)
                n_added += 1
    return n_added


def merge_truths(known: Codes, given: Mapping[int, int]) -> Codes:
    """Return the truths of the file with those that people gave; where both have one, people are right."""
    gold = known.copy()
    gold[np.fromiter(given, np.int64, len(given))] = np.fromiter(
        given.values(), np.int32, len(given)
    )
    return gold


def _add_action(
    store: Store,
    project: int,
    task: str,
    kind: str,
    reviewer: str,
    old: Row | None = None,
    new: Row | None = None,
) -> int:
    more = {
        "before": old and old["label"],
        "after": new and new["label"],
        "earlier": json.dumps(old),
    }
    return store.insert(
        "action", project=project, task=task, kind=kind, reviewer=reviewer, at=now(), **more
    )


def _put(store: Store, project: int, task: str, new: Row | None) -> None:
    if new is None:
        store.run("DELETE FROM gold WHERE project = ? AND task = ?", project, task)
    else:
        store.insert("gold", project=project, task=task, **new)


@router.get("/gold", dependencies=REVIEWERS_WHO_SEE)
def all_gold(project: ProjectId, store: StoreDep) -> list[Judgement]:
    """Return every truth that a person or a program gave."""
    return [Judgement(**row) for row in judgements_of(store, project)]


@router.post("/gold", dependencies=REVIEWERS)
def give_truth(
    project: ProjectId, truth: Truth, shown: Shown, store: StoreDep, reviewer: Reviewer
) -> Given:
    """Set the truth of a task. It is on disk when the response arrives, and the next fit uses it."""

    def class_of(name: Any) -> Any:
        code = None if name is None else int(match([name], shown.result.class_names)[0])
        if code == MISSING:
            raise Problem(
                422,
                "There is no such class",
                f"The classes are {', '.join(map(str, shown.classes))}.",
            )
        return None if code is None else shown.classes[code]

    code, label = _task(shown, truth.task), class_of(truth.label)
    before = class_of(truth.before) if "before" in truth.model_fields_set else NOT_GIVEN
    then = label_without_truth(shown, code)
    action = set_truth(
        store, project, shown.task_name(code), label, before, reviewer=reviewer, then=then
    )
    return Given(action=action, judged=count_truths(store, project))


@router.post("/skip", dependencies=REVIEWERS)
def skip(
    project: ProjectId, which: OneTask, shown: Shown, store: StoreDep, reviewer: Reviewer
) -> Given:
    """Leave a task for later: this reviewer gets it again after all others."""
    return _set_aside(store, project, shown, which.task, SKIP, reviewer)


@router.post("/send_back", dependencies=REVIEWERS)
def send_back(
    project: ProjectId, which: OneTask, shown: Shown, store: StoreDep, reviewer: Reviewer
) -> Given:
    """Ask for more votes on a task: nobody is asked to judge it until it has more votes."""
    return _set_aside(store, project, shown, which.task, SEND_BACK, reviewer)


def _set_aside(
    store: Store, project: int, shown: Browser, task: Any, kind: str, reviewer: str
) -> Given:
    code = _task(shown, task)
    key, n_votes = name_key(shown.task_name(code)), int(shown.result.votes_per_task[code])
    with store.changing(project):
        action = _add_action(store, project, key, kind, reviewer)
        values = {"kind": kind, "reviewer": reviewer, "n_votes": n_votes, "at": now()}
        store.insert("aside", project=project, task=key, **values)
    return Given(action=action, judged=count_truths(store, project))


@router.post("/undo", dependencies=REVIEWERS)
def undo(project: ProjectId, which: Undo, store: StoreDep, reviewer: Reviewer) -> Undone:
    """Undo an action of the reviewer: a judgement, a skip, or sending a task back."""
    with store.changing(project):
        row = store.row(
            "SELECT * FROM action WHERE project = ? AND reviewer = ? AND (id = ? OR (? IS NULL AND undone = 0)) "
            "ORDER BY id DESC LIMIT 1",
            *(project, reviewer, which.action, which.action),
        )
        if row is None:
            raise Problem(409, "There is nothing to undo")
        is_judge, current = row["kind"] == JUDGE, store.row(GOLD, project, row["task"])
        if row["undone"] or (is_judge and (current and current["label"]) != row["after"]):
            raise Problem(
                409,
                "The truth has changed",
                "Another tab or a program changed it; nothing was undone.",
            )
        store.run("UPDATE action SET undone = 1 WHERE id = ?", row["id"])
        if is_judge:
            _put(store, project, row["task"], json.loads(row["earlier"]))
        else:
            aside = "DELETE FROM aside WHERE project = ? AND task = ? AND kind = ? AND reviewer = ?"
            store.run(aside, project, row["task"], row["kind"], reviewer)
        action = Action(**rows_with_names(store, "SELECT * FROM action WHERE id = ?", row["id"])[0])
    return Undone(action=action, judged=count_truths(store, project))


@router.put("/note", dependencies=REVIEWERS, status_code=204, response_class=Response)
def set_note(
    project: ProjectId, note: Note, shown: Shown, store: StoreDep, reviewer: Reviewer
) -> None:
    """Write or remove the note on a task."""
    key = name_key(shown.task_name(_task(shown, note.task)))
    with store.changing(project):
        store.run("DELETE FROM note WHERE project = ? AND task = ?", project, key)
        if note.text.strip():
            store.insert(
                "note", project=project, task=key, text=note.text, reviewer=reviewer, at=now()
            )


def _task(shown: Browser, name: Any) -> int:
    """Return the code of a task; the text "7" matches the number 7 of the file."""
    code = int(match([name], shown.result.task_names)[0])
    if code == MISSING:
        raise Problem(404, "There is no such task", f"No task with votes is called {name!r}.")
    return code


def label_without_truth(shown: Browser, code: int) -> Any:
    """Return the label of a task if it did not come from a truth."""
    return (
        shown.classes[shown.result.label_codes[code]]
        if shown.result.gold[code] == MISSING
        else None
    )


Column = Annotated[
    str | None, Query(max_length=1000, description="A column, if its name is not recognised.")
]


@router.post("/truths", dependencies=ONLY_OWNER, openapi_extra=FILE_BODY)
def import_truths(
    project: ProjectId,
    name: FileName,
    shown: Shown,
    store: StoreDep,
    path: Annotated[Path, sent_file("The truths cannot be read")],
    task: Column = None,
    label: Column = None,
) -> Imported:
    """Read truths from the body of the request, or from a file of the folder if the body is empty."""
    result, own = (
        shown.result,
        shown.votes.columns[0],
    )  # names tasks in the votes, and in our own exports
    read = read_truth(
        str(path), task=task or (own if own in columns_of(path) else None), label=label
    )
    truths = dict(zip(to_list(read.task), to_list(read.truth), strict=True))
    tasks, labels = match(truths, result.task_names), match(truths.values(), result.class_names)
    used = np.flatnonzero((tasks != MISSING) & (labels != MISSING))
    names = result.task_names.take(tasks[used]).to_list()
    rows = [
        (each, shown.classes[truth], label_without_truth(shown, code))
        for each, code, truth in zip(
            names, tasks[used].tolist(), labels[used].tolist(), strict=True
        )
    ]
    unknown = {
        str(truth)
        for truth, code in zip(truths.values(), labels.tolist(), strict=True)
        if code == MISSING
    }
    return Imported(
        file=name,
        read=len(truths),
        used=add_truths(store, project, name, rows),
        without_votes=int(np.count_nonzero(tasks == MISSING)),
        unknown_classes=sorted(unknown)[:20],
    )


@router.delete("/truths", dependencies=ONLY_OWNER, status_code=204, response_class=Response)
def remove_truths(project: ProjectId, name: FileName, store: StoreDep) -> None:
    """Remove the truths of a file."""
    with store.changing(project):
        store.run("DELETE FROM gold WHERE project = ? AND reviewer = ?", project, name)
