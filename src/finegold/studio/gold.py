"""Adjudication: truths that people gave, tasks that they skipped or sent back. Every action can be undone."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from finegold.studio.problems import Problem
from finegold.studio.projects import Projects, name_key, now
from finegold.studio.store import Row

__all__ = ["Gold"]

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
        found = self.store.row("SELECT count(*) AS n FROM gold WHERE project = ?", project)
        return int(found["n"]) if found else 0

    def of(self, project: int, task: Any) -> Any:
        """Return the truth that was given to a task, or None."""
        found = self._row(project, name_key(task))
        return None if found is None else json.loads(found["label"])

    def reviewer_of(self, project: int, task: Any) -> str | None:
        """Return who judged a task, or None."""
        found = self._row(project, name_key(task))
        return None if found is None else str(found["reviewer"])

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
            found = self._row(project, key)
            new = None if label is None else _judgement(name_key(label), reviewer, label_then, found)
            if before is not NOT_GIVEN and (None if before is None else name_key(before)) != _label(found):
                raise _changed(_label(found))
            action = self._add_action(project, key, JUDGE, _label(found), _label(new), reviewer, found)
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
            action = self._add_action(project, key, kind, None, None, reviewer)
            self.store.run(
                "INSERT OR REPLACE INTO aside VALUES (?, ?, ?, ?, ?, ?)", project, key, kind, reviewer, n_votes, now()
            )
        return action

    def aside(self, project: int, kind: str, reviewer: str | None = None) -> dict[Any, int]:
        """Return the tasks that were set aside, with the number of votes that they had (None: by any reviewer)."""
        rows = self.store.rows(
            "SELECT task, max(n_votes) AS n FROM aside WHERE project = ? AND kind = ? AND (? IS NULL OR reviewer = ?) "
            "GROUP BY task ORDER BY min(at)",
            *(project, kind, reviewer, reviewer),
        )
        return {json.loads(row["task"]): int(row["n"]) for row in rows}

    def undo(self, project: int, action: int | None, reviewer: str = "") -> Row:
        """Undo an action (None: the last action of the reviewer)."""
        with self.projects.changing(project):
            found = self._to_undo(project, action, reviewer)
            self.store.run("UPDATE action SET undone = 1 WHERE id = ?", found["id"])
            if found["kind"] == JUDGE:
                self._put(project, found["task"], _earlier(found))
            else:
                self.store.run(
                    "DELETE FROM aside WHERE project = ? AND task = ? AND kind = ? AND reviewer = ?",
                    *(project, found["task"], found["kind"], found["reviewer"]),
                )
        return _plain(found)

    def last(self, project: int, reviewer: str = "", most: int = 20) -> list[Row]:
        """Return the newest actions of a reviewer that can be undone."""
        rows = self.store.rows(
            "SELECT * FROM action WHERE project = ? AND undone = 0 AND reviewer = ? ORDER BY id DESC LIMIT ?",
            *(project, reviewer, most),
        )
        return [_plain(row) for row in rows]

    def note(self, project: int, task: Any) -> str:
        found = self.store.row("SELECT text FROM note WHERE project = ? AND task = ?", project, name_key(task))
        return "" if found is None else str(found["text"])

    def set_note(self, project: int, task: Any, text: str, reviewer: str = "") -> None:
        with self.projects.changing(project):
            if text.strip():
                values = (project, name_key(task), text, reviewer, now())
                self.store.run("INSERT OR REPLACE INTO note VALUES (?, ?, ?, ?, ?)", *values)
            else:
                self.store.run("DELETE FROM note WHERE project = ? AND task = ?", project, name_key(task))

    def _add_action(
        self,
        project: int,
        task: str,
        kind: str,
        before: str | None,
        after: str | None,
        reviewer: str,
        earlier: Row | None = None,
    ) -> int:
        return self.store.run(
            "INSERT INTO action (project, task, kind, before, after, reviewer, earlier, at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(project, task, kind, before, after, reviewer, json.dumps(earlier), now()),
        )

    def _to_undo(self, project: int, action: int | None, reviewer: str) -> Row:
        if action is None:
            found = self.store.row(
                "SELECT * FROM action WHERE project = ? AND undone = 0 AND reviewer = ? ORDER BY id DESC LIMIT 1",
                *(project, reviewer),
            )
        else:
            which = "SELECT * FROM action WHERE project = ? AND id = ? AND reviewer = ?"
            found = self.store.row(which, project, action, reviewer)
        if found is None:
            raise Problem(409, "There is nothing to undo")
        is_judge = found["kind"] == JUDGE
        if found["undone"] or (is_judge and _label(self._row(project, found["task"])) != found["after"]):
            raise Problem(409, "The truth has changed", "Another tab or a program changed it; nothing was undone.")
        return found

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


def _judgement(label: str, reviewer: str, label_then: Any, found: Row | None) -> Row:
    """Return a new judgement; what the label was then is kept where the result was fitted with an earlier judgement."""
    then = name_key(label_then) if label_then is not None else found and found["label_then"]
    return {"label": label, "at": now(), "reviewer": reviewer, "label_then": then}


def _label(row: Row | None) -> str | None:
    return None if row is None else str(row["label"])


def _earlier(action: Row) -> Row | None:
    """Return the judgement before this action; older versions kept only its label."""
    found: Row | None = json.loads(action["earlier"] or "null")
    if found is None and action["before"] is not None:
        return {"label": action["before"], "at": action["at"], "reviewer": "", "label_then": None}
    return found


def _changed(found: str | None) -> Problem:
    label = None if found is None else json.loads(found)
    said = "it has no truth now" if label is None else f"it is {label} now"
    return Problem(
        409,
        "This task was judged by somebody else",
        f"Another tab or a program changed its truth: {said}. Nothing was overwritten.",
        current=label,
    )


def _names(row: Row, *columns: str) -> Row:
    return {name: None if row[name] is None else json.loads(row[name]) for name in columns}


def _plain(row: Row) -> Row:
    return {"id": row["id"], "at": row["at"], "kind": row["kind"]} | _names(row, "task", "before", "after")
