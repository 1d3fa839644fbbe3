"""The project file: an SQLite database in WAL mode (its tables: schema.sql). A committed transaction is on disk."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.studio.problems import Problem

APPLICATION = 0x46696E65  # "Fine": marks the file as a project of the studio
VERSION = 3
PIECE_BYTES = 4 * 2**20  # large files are written in pieces, so that other threads do not wait long
ANOTHER_PROJECT = use(project=Placeholder("FILE"))
CLOSE_IT = Remedy(text="close that one")
REPAIR = (Remedy(text="restore it from a backup"), ANOTHER_PROJECT)

Row = dict[str, Any]

FILES_IN_USE = (
    "SELECT upload FROM project WHERE upload NOT NULL UNION SELECT content FROM project WHERE content NOT NULL "
    "UNION SELECT model FROM fit WHERE model NOT NULL UNION SELECT file FROM predictions UNION SELECT file FROM layer"
)


def name_key(name: Any) -> str:
    """Return a task or class name as JSON, so that 7 and "7" stay distinct."""
    return json.dumps(name, ensure_ascii=False, default=str)


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Store:
    """One connection, used by one thread at a time. No other process can open the file meanwhile."""

    def __init__(self, path: Path, on_change: Callable[[int], None] = lambda project: None) -> None:
        """`on_change` is called with the project after each change of one."""
        self.path, self._on_change = path, on_change
        self.lock = threading.RLock()  # whoever holds it sees no changes in between
        try:
            self._connection = sqlite3.connect(
                path, timeout=1, isolation_level=None, check_same_thread=False
            )
            try:
                self._set_up()
            except BaseException:
                self._connection.close()
                raise
        except sqlite3.DatabaseError as error:
            problem, remedies = f"{path} cannot be opened as a project: {error}", [ANOTHER_PROJECT]
            if "locked" in str(error):
                problem, remedies = f"{path} is open in another studio", [CLOSE_IT, ANOTHER_PROJECT]
            elif "malformed" in str(error):
                problem, remedies = f"{path} is damaged (SQLite reports: {error})", [*REPAIR]
            elif "not a database" in str(error):
                problem = f"{path} is not a project of the studio"
            raise InputError(problem, remedies=remedies) from None

    def close(self) -> None:
        """Close the file. Files that are being read now are not marked as crashed."""
        with self.lock, suppress(sqlite3.Error):
            self._connection.execute("UPDATE project SET opening = 0")
            self._connection.execute("DELETE FROM opening WHERE NOT crashed")
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all changes of the block together, or none."""
        with self.lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            try:
                self._connection.execute("COMMIT")
            except sqlite3.Error:  # the disk is full: the transaction would stay open
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def changing(self, project: int, version: int | None = None) -> Iterator[None]:
        """Commit the changes of the block together, count them as a new version, and tell open tabs."""
        with self.transaction():
            row = self.project(project)
            if version is not None and version != row["version"]:
                detail = "Another tab or a program changed it; reload it, then repeat your change."
                raise Problem(409, "The project has changed", detail)
            yield
            self.run("UPDATE project SET version = version + 1 WHERE id = ?", project)
        self._on_change(project)

    def project(self, project: int) -> Row:
        row = self.row("SELECT * FROM project WHERE id = ?", project)
        if row is None:
            raise Problem(
                404,
                "There is no such project",
                "It may have been deleted; go back to all projects.",
            )
        return row | {name: json.loads(row[name] or "null") for name in ("reading", "options")}

    def rows(self, sql: str, *values: Any) -> list[Row]:
        with self.lock:
            return [dict(row) for row in self._connection.execute(sql, values)]

    def row(self, sql: str, *values: Any) -> Row | None:
        return next(iter(self.rows(sql, *values)), None)

    def run(self, sql: str, *values: Any) -> int:
        """Execute a statement and return the id of the inserted row, if any."""
        with self.lock:
            return self._connection.execute(sql, values).lastrowid or 0

    def insert(self, table: str, **values: Any) -> int:  # instead of one with the same key
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        return self.run(
            f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})", *values.values()
        )

    def keep_file(self, path: Path) -> int:
        """Store the bytes of a file in pieces. The next start deletes it unless a row refers to it by then."""
        blob, digest = self.run("INSERT INTO blob DEFAULT VALUES"), hashlib.sha256()
        with path.open("rb") as file:
            for number, data in enumerate(iter(lambda: file.read(PIECE_BYTES), b"")):
                self.run("INSERT INTO piece VALUES (?, ?, ?)", blob, number, data)
                digest.update(data)
        self.run("UPDATE blob SET digest = ? WHERE id = ?", digest.hexdigest(), blob)
        return blob

    def copy_to(self, blob: int, path: Path) -> None:
        """Write a stored file to a path. Raise an InputError if it is damaged or was deleted meanwhile."""
        known = self.row("SELECT digest FROM blob WHERE id = ?", blob) or {"digest": "deleted"}
        pieces, digest = (
            self.rows("SELECT number FROM piece WHERE blob = ? ORDER BY number", blob),
            hashlib.sha256(),
        )
        with path.open("wb") as file:
            for piece in pieces:
                row = self.row(
                    "SELECT bytes FROM piece WHERE blob = ? AND number = ?", blob, piece["number"]
                )
                data = row["bytes"] if row else b""
                file.write(data)
                digest.update(data)
        if known["digest"] not in (None, digest.hexdigest()):
            raise InputError(f"{self.path} is damaged", remedies=REPAIR)

    def _set_up(self) -> None:
        run = self._connection.execute
        self._connection.row_factory = sqlite3.Row
        for pragma in (
            "locking_mode = EXCLUSIVE",
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
        ):
            run(f"PRAGMA {pragma}")
        if not self.rows("SELECT 1 FROM sqlite_master"):
            pragmas = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
            tables = Path(__file__).with_name("schema.sql").read_text("utf-8")
            self._connection.executescript(f"BEGIN IMMEDIATE; {pragmas} {tables} COMMIT;")
        if self.rows("PRAGMA application_id")[0]["application_id"] != APPLICATION:
            raise InputError(
                f"{self.path} is a database, but not a project of the studio",
                remedies=[ANOTHER_PROJECT],
            )
        version = self.rows("PRAGMA user_version")[0]["user_version"]
        if version != VERSION:
            formats = f"file format {version}; this version reads {VERSION}"
            problem = f"{self.path} was written by another version of Finegold ({formats})"
            raise InputError(
                problem, remedies=[Remedy(text="open it with that version"), ANOTHER_PROJECT]
            )
        run("BEGIN EXCLUSIVE")  # from now on no other process can open it
        run("COMMIT")
        answer = self.rows("PRAGMA quick_check(1)")[0]["quick_check"]
        if answer != "ok":
            raise InputError(
                f"{self.path} is damaged (SQLite reports: {' '.join(answer.split())})",
                remedies=REPAIR,
            )
        run("UPDATE project SET crashed = 1, opening = 0 WHERE opening > 0")
        run("UPDATE opening SET crashed = 1, threads = 0")
        run(f"DELETE FROM blob WHERE id NOT IN ({FILES_IN_USE})")  # left over from a crash
        run("UPDATE fit SET state = 'interrupted' WHERE state IN ('queued', 'running')")
