"""Adjudication: truths that people gave. Every change can be undone."""

from __future__ import annotations

import json
from typing import Any

from karat.studio.problems import Problem
from karat.studio.projects import Projects, name_key, now
from karat.studio.store import Row

__all__ = ["Gold"]

NOT_GIVEN = object()


class Gold:
    """Truths by task name, so that they stay valid when the votes are read again."""

    def __init__(self, projects: Projects) -> None:
        self.projects, self.store = projects, projects.store

    def all(self, project: int) -> dict[Any, Any]:
        rows = self.store.rows("SELECT task, label FROM gold WHERE project = ? ORDER BY at, task", project)
        return {json.loads(row["task"]): json.loads(row["label"]) for row in rows}

    def count(self, project: int) -> int:
        found = self.store.row("SELECT count(*) AS n FROM gold WHERE project = ?", project)
        return int(found["n"]) if found else 0

    def of(self, project: int, task: Any) -> Any:
        """Return the truth that was given to a task, or None."""
        label = self._key_of(project, name_key(task))
        return None if label is None else json.loads(label)

    def set(self, project: int, task: Any, label: Any, before: Any = NOT_GIVEN) -> int:
        """Set the truth of a task (None removes it) and return the id of the action, for undo.

        `before` is the truth that the caller saw. If it has changed meanwhile, nothing is overwritten.
        """
        key, after = name_key(task), None if label is None else name_key(label)
        with self.projects.changing(project):
            found = self._key_of(project, key)
            if before is not NOT_GIVEN and (None if before is None else name_key(before)) != found:
                raise _changed(found)
            action = self.store.run(
                "INSERT INTO action (project, task, before, after, at) VALUES (?, ?, ?, ?, ?)",
                project,
                key,
                found,
                after,
                now(),
            )
            self._put(project, key, after)
        return action

    def undo(self, project: int, action: int | None) -> Row:
        """Restore the truth of a task to what it was before this action (None: the last action)."""
        with self.projects.changing(project):
            found = self._to_undo(project, action)
            self.store.run("UPDATE action SET undone = 1 WHERE id = ?", found["id"])
            self._put(project, found["task"], found["before"])
        return _plain(found)

    def last(self, project: int, most: int = 20) -> list[Row]:
        """Return the newest actions that can be undone."""
        rows = self.store.rows(
            "SELECT * FROM action WHERE project = ? AND undone = 0 ORDER BY id DESC LIMIT ?", project, most
        )
        return [_plain(row) for row in rows]

    def _to_undo(self, project: int, action: int | None) -> Row:
        if action is None:
            found = self.store.row(
                "SELECT * FROM action WHERE project = ? AND undone = 0 ORDER BY id DESC LIMIT 1", project
            )
        else:
            found = self.store.row("SELECT * FROM action WHERE project = ? AND id = ?", project, action)
        if found is None:
            raise Problem(409, "There is nothing to undo")
        if found["undone"] or self._key_of(project, found["task"]) != found["after"]:
            raise Problem(409, "The truth has changed", "Another tab or a program changed it; nothing was undone.")
        return found

    def _key_of(self, project: int, task: str) -> str | None:
        found = self.store.row("SELECT label FROM gold WHERE project = ? AND task = ?", project, task)
        return None if found is None else str(found["label"])

    def _put(self, project: int, task: str, label: str | None) -> None:
        if label is None:
            self.store.run("DELETE FROM gold WHERE project = ? AND task = ?", project, task)
        else:
            self.store.run("INSERT OR REPLACE INTO gold VALUES (?, ?, ?, ?)", project, task, label, now())


def _changed(found: str | None) -> Problem:
    label = None if found is None else json.loads(found)
    said = "it has no truth now" if label is None else f"it is {label} now"
    return Problem(
        409,
        "This task was judged by somebody else",
        f"Another tab or a program changed its truth: {said}. Nothing was overwritten.",
        current=label,
    )


def _plain(row: Row) -> Row:
    names = {key: None if row[key] is None else json.loads(row[key]) for key in ("task", "before", "after")}
    return {"id": row["id"], "at": row["at"], **names}
