"""Gold: truths that people or files gave, and tasks that reviewers skipped or sent back. Every action can be undone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel, Field

from finegold.errors import InputError
from finegold.io.tables import open_table
from finegold.io.truth import read_truth
from finegold.studio.browser import Browser
from finegold.studio.problems import Problem, rename_files, words_of
from finegold.studio.projects import Projects, name_key, now
from finegold.studio.requests import (
    FILE_BODY,
    FileName,
    Name,
    ProjectId,
    Reviewer,
    Scalar,
    Services,
    ServicesDep,
    Shown,
    sent_file,
)
from finegold.studio.store import Row
from finegold.votes.encoding import MISSING, to_list
from finegold.votes.frames import take
from finegold.votes.names import match

router = APIRouter(tags=["gold"], prefix="/projects/{project}")

NOT_GIVEN = object()
JUDGE, SKIP, SEND_BACK = "judge", "skip", "send_back"  # kinds of actions


class Gold:
    """Truths by task name, so that they stay valid when the votes are read again."""

    def __init__(self, projects: Projects) -> None:
        self.projects, self.store = projects, projects.store

    def all(self, project: int) -> dict[Any, Any]:
        rows = self.store.rows("SELECT task, label FROM gold WHERE project = ? ORDER BY at, task", project)
        return {json.loads(row["task"]): json.loads(row["label"]) for row in rows}

    def judgements(self, project: int) -> list[Row]:
        """Return all truths with who gave them, when, what the label was then, and the note on the task."""
        rows = self.store.rows(
            "SELECT gold.task, label, label_then, gold.reviewer, gold.at, coalesce(note.text, '') AS note FROM gold "
            "LEFT JOIN note ON note.project = gold.project AND note.task = gold.task "
            "WHERE gold.project = ? ORDER BY gold.at, gold.task",
            project,
        )
        return [row | _names(row, "task", "label", "label_then") for row in rows]

    def count(self, project: int) -> int:
        row = self.store.row("SELECT count(*) AS n FROM gold WHERE project = ?", project)
        return int(row["n"]) if row else 0

    def of(self, project: int, task: Any) -> Any:
        """Return the truth that was given to a task, or None."""
        row = self._row(project, name_key(task))
        return None if row is None else json.loads(row["label"])

    def reviewer_of(self, project: int, task: Any) -> str | None:
        """Return who judged a task, or None."""
        row = self._row(project, name_key(task))
        return None if row is None else str(row["reviewer"])

    def set(
        self,
        project: int,
        task: Any,
        label: Any,
        before: Any = NOT_GIVEN,
        *,
        reviewer: str = "",
        label_then: Any = None,
    ) -> int:
        """Set the truth of a task (None removes it) and return the id of the action, for undo.

        `before` is the truth that the caller saw. If it has changed meanwhile, nothing is overwritten.
        `label_then` is the label that the result gives to the task without this truth.
        """
        key = name_key(task)
        with self.projects.changing(project):
            old = self._row(project, key)
            now_given = None if old is None else json.loads(old["label"])
            if before is not NOT_GIVEN and name_key(before) != name_key(now_given):
                state = "it has no truth now" if old is None else f"it is {now_given} now"
                detail = f"Another tab or a program changed its truth: {state}. Nothing was overwritten."
                raise Problem(409, "This task was judged by somebody else", detail, current=now_given)
            new = None if label is None else _judgement(name_key(label), reviewer, label_then, old)
            action = self._add_action(project, key, JUDGE, reviewer, old, new)
            self._put(project, key, new)
        return action

    def add_many(self, project: int, source: str, truths: Iterable[tuple[Any, Any, Any]]) -> int:
        """Add truths of a file (task, truth, label of the result) where there are none, and return how many."""
        before = self.count(project)
        with self.projects.changing(project):
            for task, label, then in truths:
                new = _judgement(name_key(label), source, then, None)
                if self._row(project, name_key(task)) is None:
                    self._put(project, name_key(task), new)
        return self.count(project) - before

    def remove_of(self, project: int, reviewer: str) -> None:
        """Remove all truths of a file."""
        with self.projects.changing(project):
            self.store.run("DELETE FROM gold WHERE project = ? AND reviewer = ?", project, reviewer)

    def set_aside(self, project: int, task: Any, kind: str, n_votes: int, reviewer: str = "") -> int:
        """Remember that a reviewer skipped a task, or sent it back for more votes. Return the id of the action."""
        key = name_key(task)
        with self.projects.changing(project):
            action = self._add_action(project, key, kind, reviewer)
            values = (project, key, kind, reviewer, n_votes, now())
            self.store.run("INSERT OR REPLACE INTO aside VALUES (?, ?, ?, ?, ?, ?)", *values)
        return action

    def aside(self, project: int, kind: str, reviewer: str | None = None) -> dict[Any, int]:
        """Return the tasks that were set aside, with the number of votes that they had (None: by any reviewer)."""
        rows = self.store.rows(
            "SELECT task, max(n_votes) AS n FROM aside WHERE project = ? AND kind = ? AND (? IS NULL OR reviewer = ?) "
            "GROUP BY task ORDER BY min(at)",
            *(project, kind, reviewer, reviewer),
        )
        return {json.loads(row["task"]): int(row["n"]) for row in rows}

    def sent_back(self, project: int) -> list[Row]:
        """Return the tasks that were sent back for more votes and that nobody judged, with who did it and the note."""
        rows = self.store.rows(
            "SELECT aside.task, aside.reviewer, aside.n_votes, min(aside.at) AS at, coalesce(note.text, '') AS note "
            "FROM aside LEFT JOIN note ON note.project = aside.project AND note.task = aside.task "
            "WHERE aside.project = ? AND kind = ? AND aside.task NOT IN (SELECT task FROM gold WHERE project = ?) "
            "GROUP BY aside.task ORDER BY min(aside.at)",
            *(project, SEND_BACK, project),
        )
        return [row | _names(row, "task") for row in rows]

    def notes(self, project: int) -> dict[Any, str]:
        rows = self.store.rows("SELECT task, text FROM note WHERE project = ?", project)
        return {json.loads(row["task"]): row["text"] for row in rows}

    def undo(self, project: int, action: int | None, reviewer: str = "") -> Row:
        """Undo an action (None: the last action of the reviewer)."""
        with self.projects.changing(project):
            undone = self._to_undo(project, action, reviewer)
            self.store.run("UPDATE action SET undone = 1 WHERE id = ?", undone["id"])
            if undone["kind"] == JUDGE:
                self._put(project, undone["task"], json.loads(undone["earlier"]))
            else:
                self.store.run(
                    "DELETE FROM aside WHERE project = ? AND task = ? AND kind = ? AND reviewer = ?",
                    *(project, undone["task"], undone["kind"], undone["reviewer"]),
                )
        return _plain(undone)

    def last(self, project: int, reviewer: str = "", most: int = 20) -> list[Row]:
        """Return the newest actions of a reviewer that can be undone."""
        rows = self.store.rows(
            "SELECT * FROM action WHERE project = ? AND undone = 0 AND reviewer = ? ORDER BY id DESC LIMIT ?",
            *(project, reviewer, most),
        )
        return [_plain(row) for row in rows]

    def note(self, project: int, task: Any) -> str:
        row = self.store.row("SELECT text FROM note WHERE project = ? AND task = ?", project, name_key(task))
        return "" if row is None else str(row["text"])

    def set_note(self, project: int, task: Any, text: str, reviewer: str = "") -> None:
        with self.projects.changing(project):
            if text.strip():
                values = (project, name_key(task), text, reviewer, now())
                self.store.run("INSERT OR REPLACE INTO note VALUES (?, ?, ?, ?, ?)", *values)
            else:
                self.store.run("DELETE FROM note WHERE project = ? AND task = ?", project, name_key(task))

    def _add_action(
        self, project: int, task: str, kind: str, reviewer: str, old: Row | None = None, new: Row | None = None
    ) -> int:
        return self.store.run(
            "INSERT INTO action (project, task, kind, before, after, reviewer, earlier, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(project, task, kind, _label(old), _label(new), reviewer, json.dumps(old), now()),
        )

    def _to_undo(self, project: int, action: int | None, reviewer: str) -> Row:
        if action is None:
            row = self.store.row(
                "SELECT * FROM action WHERE project = ? AND undone = 0 AND reviewer = ? ORDER BY id DESC LIMIT 1",
                *(project, reviewer),
            )
        else:
            which = "SELECT * FROM action WHERE project = ? AND id = ? AND reviewer = ?"
            row = self.store.row(which, project, action, reviewer)
        if row is None:
            raise Problem(409, "There is nothing to undo")
        is_judge = row["kind"] == JUDGE
        if row["undone"] or (is_judge and _label(self._row(project, row["task"])) != row["after"]):
            raise Problem(409, "The truth has changed", "Another tab or a program changed it; nothing was undone.")
        return row

    def _row(self, project: int, task: str) -> Row | None:
        which = "SELECT label, at, reviewer, label_then FROM gold WHERE project = ? AND task = ?"
        return self.store.row(which, project, task)

    def _put(self, project: int, task: str, new: Row | None) -> None:
        if new is None:
            self.store.run("DELETE FROM gold WHERE project = ? AND task = ?", project, task)
        else:
            self.store.run(
                "INSERT OR REPLACE INTO gold (project, task, label, at, reviewer, label_then) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                *(project, task, new["label"], new["at"], new["reviewer"], new["label_then"]),
            )


def _judgement(label: str, reviewer: str, label_then: Any, old: Row | None) -> Row:
    """Return a new judgement; what the label was then is kept where the result was fitted with an earlier judgement."""
    then = name_key(label_then) if label_then is not None else old and old["label_then"]
    return {"label": label, "at": now(), "reviewer": reviewer, "label_then": then}


def _label(row: Row | None) -> str | None:
    return None if row is None else str(row["label"])


def _names(row: Row, *columns: str) -> Row:
    return {name: None if row[name] is None else json.loads(row[name]) for name in columns}


def _plain(row: Row) -> Row:
    return {"id": row["id"], "at": row["at"], "kind": row["kind"]} | _names(row, "task", "before", "after")


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
        default=None,
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
        default=None, ge=1, le=2**53, description="The id of the action; by default the reviewer's newest."
    )


class Undone(BaseModel):
    action: Action
    judged: int


@router.get("/gold")
def all_gold(project: ProjectId, services: ServicesDep) -> list[Judgement]:
    """Return every truth that a person or a program gave."""
    services.projects.get(project)
    return [Judgement(**row) for row in services.gold.judgements(project)]


@router.post("/gold")
def give_truth(project: ProjectId, truth: Truth, shown: Shown, services: ServicesDep, reviewer: Reviewer) -> Given:
    """Set the truth of a task. It is on disk when the response arrives, and the next fit uses it."""
    code = _task(shown, truth.task)
    label = None if truth.label is None else _class(shown, truth.label)
    before = truth.before if "before" in truth.model_fields_set else NOT_GIVEN
    if before is not NOT_GIVEN and before is not None:
        before = _class(shown, before)
    label_then = _label_of(shown, code)
    action = services.gold.set(project, shown.task_name(code), label, before, reviewer=reviewer, label_then=label_then)
    return Given(action=action, judged=services.gold.count(project))


@router.post("/skip")
def skip(project: ProjectId, which: OneTask, shown: Shown, services: ServicesDep, reviewer: Reviewer) -> Given:
    """Leave a task for later: this reviewer gets it again after all others."""
    return _set_aside(services, project, shown, which.task, SKIP, reviewer)


@router.post("/send_back")
def send_back(project: ProjectId, which: OneTask, shown: Shown, services: ServicesDep, reviewer: Reviewer) -> Given:
    """Ask for more votes on a task: nobody is asked to judge it until it has more votes."""
    return _set_aside(services, project, shown, which.task, SEND_BACK, reviewer)


@router.post("/undo")
def undo(project: ProjectId, which: Undo, services: ServicesDep, reviewer: Reviewer) -> Undone:
    """Undo an action of the reviewer: a judgement, a skip, or sending a task back."""
    undone = services.gold.undo(project, which.action, reviewer)
    return Undone(action=Action(**undone), judged=services.gold.count(project))


@router.put("/note", status_code=204, response_class=Response)
def set_note(project: ProjectId, note: Note, shown: Shown, services: ServicesDep, reviewer: Reviewer) -> None:
    """Write or remove the note on a task."""
    services.gold.set_note(project, shown.task_name(_task(shown, note.task)), note.text, reviewer)


def _set_aside(services: Services, project: int, shown: Browser, task: Any, kind: str, reviewer: str) -> Given:
    code = _task(shown, task)
    n_votes = int(shown.result.votes_per_task[code])
    action = services.gold.set_aside(project, shown.task_name(code), kind, n_votes, reviewer)
    return Given(action=action, judged=services.gold.count(project))


def _task(shown: Browser, name: Any) -> int:
    """Return the code of a task; the text "7" matches the number 7 of the file."""
    code = shown.task_code(name)
    if code == MISSING:
        raise Problem(404, "There is no such task", f"No task with votes is called {name!r}.")
    return code


def _class(shown: Browser, name: Any) -> Any:
    code = shown.class_code(name)
    if code == MISSING:
        raise Problem(422, "There is no such class", f"The classes are {', '.join(map(str, shown.classes))}.")
    return shown.classes[code]


Column = Annotated[str | None, Query(max_length=1000, description="A column, if its name is not recognised.")]


class Imported(BaseModel):
    file: str
    read: int
    used: int = Field(description="Number of truths of tasks with votes that nobody had judged.")
    without_votes: int = Field(description="Number of truths of tasks that have no votes.")
    unknown_classes: list[str] = Field(
        description="Truths that are not classes of the votes; their tasks are left out."
    )


@router.post("/truths", openapi_extra=FILE_BODY)
async def import_truths(
    project: ProjectId,
    request: Request,
    name: FileName,
    shown: Shown,
    services: ServicesDep,
    task: Column = None,
    label: Column = None,
) -> Imported:
    """Read truths from the body of the request, or from a file of the folder if the body is empty."""
    async with sent_file(request, services, name) as path:
        truths = await run_in_threadpool(_read, path, name, task or _own_column(path, shown), label)
    return await run_in_threadpool(_keep, services, project, shown, name, truths)


@router.delete("/truths", status_code=204, response_class=Response)
def remove_truths(project: ProjectId, name: FileName, services: ServicesDep) -> None:
    """Remove the truths of a file."""
    services.gold.remove_of(project, name)


def _read(path: Path, name: str, task: str | None, label: str | None) -> dict[Any, Any]:
    try:
        truths = read_truth(str(path), task=task, label=label)
    except InputError as error:
        detail = words_of(rename_files(error, {str(path): name, path.name: name}))
        raise Problem(422, "The truths cannot be read", detail, columns=_columns(path)) from None
    return dict(zip(to_list(truths.task), to_list(truths.truth), strict=True))


def _own_column(path: Path, shown: Browser) -> str | None:
    """Return the column that names tasks in the votes, if the file has it: our own exports do."""
    own = shown.votes.columns[0]
    return own if own in _columns(path) else None


def _columns(path: Path) -> list[str]:
    with suppress(InputError):
        return [str(column) for column in open_table(str(path)).columns]
    return []


def _keep(services: Services, project: int, shown: Browser, name: str, truths: dict[Any, Any]) -> Imported:
    result = shown.result
    tasks, labels = match(truths, result.task_names), match(truths.values(), result.class_names)
    used = np.flatnonzero((tasks != MISSING) & (labels != MISSING))
    names = to_list(take(result.task_names, tasks[used]))
    rows = [
        (task, shown.classes[label], _label_of(shown, code))
        for task, code, label in zip(names, tasks[used].tolist(), labels[used].tolist(), strict=True)
    ]
    unknown = {str(label) for label, code in zip(truths.values(), labels.tolist(), strict=True) if code == MISSING}
    return Imported(
        file=name,
        read=len(truths),
        used=services.gold.add_many(project, name, rows),
        without_votes=int(np.count_nonzero(tasks == MISSING)),
        unknown_classes=sorted(unknown)[:20],
    )


def _label_of(shown: Browser, code: int) -> Any:
    """Return the label of a task if it did not come from a truth."""
    return shown.classes[shown.result.label_codes[code]] if shown.result.gold[code] == MISSING else None
