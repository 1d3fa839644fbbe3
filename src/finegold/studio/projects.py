"""The contents of a project file: projects, fits, posted votes and their history."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from finegold.studio.events import Hub
from finegold.studio.problems import Problem
from finegold.studio.store import Row, Store

__all__ = ["Projects", "name_key"]

SETTINGS = ("name", "blind", "template", "remote")  # columns of a project that users can change
DAMAGED = (
    "It may be damaged or need more memory than is available. It is opened again only if you ask for it; "
    "reading the votes again replaces it."
)


def name_key(name: Any) -> str:
    """Return a task or class name as JSON, so that 7 and "7" stay distinct."""
    return json.dumps(name, ensure_ascii=False, default=str)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Projects:
    """Projects in a store. Every change is one transaction, increments the project's version and notifies open tabs."""

    def __init__(self, store: Store, hub: Hub) -> None:
        self.store, self.hub = store, hub

    # Projects

    def all(self) -> list[Row]:
        return self.store.rows("SELECT * FROM project ORDER BY id DESC")

    def get(self, project: int) -> Row:
        found = self.store.row("SELECT * FROM project WHERE id = ?", project)
        if found is None:
            raise Problem(404, "There is no such project", "It may have been deleted; go back to all projects.")
        return found

    def create(self, name: str, *, file: str | None = None, place: str | None = None) -> int:
        with self.store.transaction():
            made = self.store.run(
                "INSERT INTO project (name, created, file, place) VALUES (?, ?, ?, ?)", name, now(), file, place
            )
        self.hub.notify(made)
        return made

    def create_from_upload(self, name: str, path: Path) -> int:
        upload = self.store.keep_file(path)
        with self.store.transaction():
            self.store.own(upload)
            made = self.store.run(
                "INSERT INTO project (name, created, file, upload) VALUES (?, ?, ?, ?)", name, now(), name, upload
            )
        self.hub.notify(made)
        return made

    def of_place(self, place: str) -> int | None:
        """Return the newest project of a file in the folder."""
        found = self.store.row("SELECT id FROM project WHERE place = ? ORDER BY id DESC", place)
        return None if found is None else int(found["id"])

    def change(self, project: int, values: dict[str, Any], version: int | None = None) -> None:
        """Set columns of a project: its name and how its tasks are shown."""
        with self.changing(project, version):
            for column, value in values.items():
                assert column in SETTINGS
                self.store.run(f"UPDATE project SET {column} = ? WHERE id = ?", value, project)

    def loads_remote(self) -> bool:
        """Return whether a project may show images of other servers."""
        return self.store.row("SELECT 1 FROM project WHERE remote") is not None

    def set_failure(self, project: int, message: str) -> None:
        """Remember why the file could not be read, until it is read."""
        with self.changing(project):
            self.store.run("UPDATE project SET failure = ? WHERE id = ?", message, project)

    def keep_content(self, project: int, path: Path) -> None:
        """Store the content of the tasks instead of what was stored before."""
        blob = self.store.keep_file(path)
        with self.changing(project):
            before = self.get(project)["content"]
            self.store.own(blob)
            self.store.run("UPDATE project SET content = ? WHERE id = ?", blob, project)
            self.store.run("DELETE FROM blob WHERE id = ?", before)

    def delete(self, project: int) -> None:
        with self.changing(project):
            blobs = self.store.rows(
                "SELECT model AS id FROM fit WHERE project = ? AND model IS NOT NULL "
                "UNION SELECT file FROM predictions WHERE project = ?",
                *(project, project),
            )
            row = self.get(project)
            self.store.run("UPDATE project SET shown = NULL, base = NULL WHERE id = ?", project)
            self.store.run("DELETE FROM project WHERE id = ?", project)
            for blob in [*(one["id"] for one in blobs), row["upload"], row["content"]]:
                self.store.run("DELETE FROM blob WHERE id = ?", blob)

    # Fits

    def fits(self, project: int) -> list[Row]:
        """Return all fits except those that a newer fit replaced."""
        which = "SELECT * FROM fit WHERE project = ? AND state != 'replaced' ORDER BY id"
        return [_plain_fit(row) for row in self.store.rows(which, project)]

    def fit(self, project: int, fit: int) -> Row:
        found = self.store.row("SELECT * FROM fit WHERE project = ? AND id = ?", project, fit)
        if found is None:
            raise Problem(404, "There is no such fit", "It may have been deleted.")
        return _plain_fit(found)

    def add_fit(self, project: int, method: str, settings: dict[str, Any]) -> int:
        with self.changing(project):
            return self.store.run(
                "INSERT INTO fit (project, method, settings, state, started) VALUES (?, ?, ?, 'queued', ?)",
                project,
                method,
                json.dumps(settings),
                now(),
            )

    def set_state(self, project: int, fit: int, state: str, message: str = "") -> None:
        with self.changing(project):
            self.store.run("UPDATE fit SET state = ?, message = ? WHERE id = ?", state, message, fit)

    def finish_fit(self, project: int, fit: int, model: Path, facts: dict[str, Any]) -> None:
        """Store the result of a fit, show it, and drop earlier results of the same method and settings."""
        blob = self.store.keep_file(model)
        with self.changing(project):
            self.store.own(blob)
            self.store.run(
                "UPDATE fit SET state = 'done', facts = ?, model = ? WHERE id = ?", json.dumps(facts), blob, fit
            )
            self.store.run("UPDATE project SET shown = ? WHERE id = ?", fit, project)
            kind = self.store.rows("SELECT method, settings FROM fit WHERE id = ?", fit)[0]
            self._replace(
                "SELECT id, model FROM fit WHERE project = ? AND id < ? AND method = ? AND settings = ? "
                "AND state NOT IN ('queued', 'running') AND id != (SELECT base FROM project WHERE id = ?)",
                *(project, fit, kind["method"], kind["settings"], project),
            )

    def show(self, project: int, fit: int) -> None:
        with self.changing(project):
            if self.fit(project, fit)["state"] != "done":
                raise Problem(409, "This fit has no result", "Choose one that has finished.")
            self.store.run("UPDATE project SET shown = ? WHERE id = ?", fit, project)

    def delete_fit(self, project: int, fit: int) -> None:
        with self.changing(project):
            row, found = self.get(project), self.fit(project, fit)
            if fit in (row["base"], row["shown"]):
                raise Problem(409, "This result is in use", "Show another one first; the majority vote always stays.")
            self.store.run("DELETE FROM fit WHERE id = ?", fit)
            self.store.run("DELETE FROM blob WHERE id = ?", found["model"])

    def replace_votes(
        self,
        project: int,
        model: Path,
        facts: dict[str, Any],
        *,
        reading: Any = None,
        read: Iterable[int] = (),
        removed: int | None = None,
    ) -> int:
        """Store new votes and drop the fits of the old ones.

        The votes were read again, joined with the batches `read`, or read without the batch `removed`.
        """
        blob = self.store.keep_file(model)
        with self.changing(project):
            self.store.own(blob)
            self.store.run("UPDATE project SET shown = NULL, base = NULL WHERE id = ?", project)
            self._replace("SELECT id, model FROM fit WHERE project = ? AND state NOT IN ('queued', 'running')", project)
            made = self.store.run(
                "INSERT INTO fit (project, method, settings, state, started, facts, model) "
                "VALUES (?, 'mv', '{}', 'done', ?, ?, ?)",
                *(project, now(), json.dumps(facts), blob),
            )
            self.store.run("UPDATE project SET base = ?, shown = ? WHERE id = ?", made, made, project)
            if reading is not None:  # posted votes must be joined with those of the file again
                new = json.dumps(reading)
                self.store.run("UPDATE project SET reading = ?, failure = NULL WHERE id = ?", new, project)
                self.store.run("UPDATE posted SET taken = 0 WHERE project = ?", project)
            for batch in read:
                self.store.run("UPDATE posted SET taken = 1 WHERE id = ?", batch)
            self.store.run("DELETE FROM posted WHERE project = ? AND id = ?", project, removed)
        return made

    def _replace(self, which: str, *values: Any) -> None:
        """Drop the results of fits, but keep their rows, so that clients can still request their state."""
        for fit in self.store.rows(which, *values):
            self.store.run("UPDATE fit SET state = 'replaced', facts = NULL, model = NULL WHERE id = ?", fit["id"])
            self.store.run("DELETE FROM blob WHERE id = ?", fit["model"])

    @contextmanager
    def opening(self, project: int, fit: int) -> Iterator[None]:
        """Mark a result on disk while it is opened. A result that crashes the studio is not opened again."""
        if self.is_damaged(fit):
            raise Problem(409, "The studio ended while it opened this result", DAMAGED, project=project, fit=fit)
        self.store.run(
            "INSERT INTO opening (fit, threads) VALUES (?, 1) ON CONFLICT DO UPDATE SET threads = threads + 1", fit
        )
        try:
            yield
        finally:
            with suppress(sqlite3.ProgrammingError):  # the studio was closed meanwhile
                self.store.run("UPDATE opening SET threads = threads - 1 WHERE fit = ?", fit)
                self.store.run("DELETE FROM opening WHERE fit = ? AND threads = 0", fit)

    def is_damaged(self, fit: int | None) -> bool:
        """Return whether opening this result crashed the studio before."""
        return self.store.row("SELECT 1 FROM opening WHERE fit = ? AND crashed", fit) is not None

    def open_again(self, project: int, fit: int) -> None:
        """Allow a result to be opened that crashed the studio before."""
        with self.changing(project):
            self.store.run("DELETE FROM opening WHERE fit = ?", self.fit(project, fit)["id"])

    # Posted votes

    def post_votes(self, project: int, votes: list[Any]) -> int:
        """Add a batch of posted votes and return the number of votes that wait for the next fit."""
        with self.changing(project):
            self.store.run(
                "INSERT INTO posted (project, n_votes, votes, at) VALUES (?, ?, ?, ?)",
                *(project, len(votes), json.dumps(votes, allow_nan=False), now()),
            )
        return self.n_waiting(project)

    def n_waiting(self, project: int) -> int:
        found = self.store.row(
            "SELECT coalesce(sum(n_votes), 0) AS n FROM posted WHERE project = ? AND NOT taken", project
        )
        return int(found["n"] or 0) if found else 0

    def batches(self, project: int) -> list[Row]:
        """Return all posted batches without their votes, the newest first."""
        return self.store.rows("SELECT id, at, n_votes, taken FROM posted WHERE project = ? ORDER BY id DESC", project)

    def remove_all_votes(self, project: int, batch: int) -> None:
        """Remove the only batch of a project that has no other votes."""
        with self.changing(project):
            self.store.run("UPDATE project SET shown = NULL, base = NULL WHERE id = ?", project)
            self._replace("SELECT id, model FROM fit WHERE project = ? AND state NOT IN ('queued', 'running')", project)
            self.store.run("DELETE FROM posted WHERE project = ? AND id = ?", project, batch)

    def remove_waiting(self, project: int, batch: int) -> None:
        with self.changing(project):
            self.store.run("DELETE FROM posted WHERE project = ? AND id = ? AND NOT taken", project, batch)

    def posted(self, project: int, *, all_but: int | None = None) -> tuple[list[int], list[Any]]:
        """Return the waiting batches and their votes.

        With `all_but`, return the used batches except that one; if it is 0, return all batches.
        """
        which = "NOT taken" if all_but is None else f"taken AND id != {all_but:d}" if all_but else "1"
        batches = self.store.rows(f"SELECT id, votes FROM posted WHERE project = ? AND {which} ORDER BY id", project)
        return [batch["id"] for batch in batches], [vote for batch in batches for vote in json.loads(batch["votes"])]

    @contextmanager
    def changing(self, project: int, version: int | None = None) -> Iterator[None]:
        with self.store.transaction():
            found = self.get(project)
            if version is not None and version != found["version"]:
                raise Problem(
                    409,
                    "The project has changed",
                    "Another tab or a program changed it; reload it, then repeat your change.",
                )
            yield
            self.store.run("UPDATE project SET version = version + 1 WHERE id = ?", project)
        self.hub.notify(project)


def _plain_fit(row: Row) -> Row:
    return {**row, "settings": json.loads(row["settings"]), "facts": json.loads(row["facts"] or "null")}
