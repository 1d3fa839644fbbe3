"""The project file: an SQLite database in WAL mode (its tables: schema.sql). A committed
transaction is on disk.
"""

from __future__ import annotations

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

# "Fine": marks the file as a project of the studio
APPLICATION = 0x46696E65
VERSION = 4
# large files are written in parts, so that other threads do not wait long
PART_BYTES = 4 * 2**20
ANOTHER_PROJECT = use(project=Placeholder("FILE"))
BLOBS_IN_USE = (
    "SELECT blob FROM source WHERE blob NOT NULL AND state != 'out' UNION"
    " SELECT content FROM source WHERE content NOT NULL AND state != 'out' UNION"
    " SELECT model FROM fit WHERE model NOT NULL UNION"
    " SELECT json_extract(value, '$.blob') FROM judgement WHERE kind = 'accept'"
)
# columns that hold JSON
JSON_COLUMNS = {
    *("settings", "facts", "reading", "excluded", "plan", "auditors"),
    *("task", "value", "label_then"),
}

Row = dict[str, Any]


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
        # whoever holds it sees no changes in between
        self.lock = threading.RLock()
        # blobs to which no row refers yet
        self._fresh: set[int] = set()
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
            words, remedies = str(error), [ANOTHER_PROJECT]
            problem = f"{path} cannot be opened as a project: {words}"
            if "locked" in words:
                problem = f"{path} is open in another studio"
                remedies = [Remedy(text="close that one"), ANOTHER_PROJECT]
            elif "malformed" in words:
                raise self._damaged(words) from None
            elif "not a database" in words:
                problem = f"{path} is not a project of the studio"
            raise InputError(problem, remedies=remedies) from None

    def close(self) -> None:
        """Close the file. Projects that are being loaded were not stopped by a crash."""
        with self.lock, suppress(sqlite3.Error):
            self._connection.execute("UPDATE project SET loading = 0 WHERE loading = 1")
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all changes of the block together, or none."""
        with self.lock:
            if self._connection.in_transaction:
                yield
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            try:
                self._connection.execute("COMMIT")
            # the disk is full: the transaction would stay open
            except sqlite3.Error:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def changing(self, project: int, version: int | None = None) -> Iterator[None]:
        """Commit the changes of the block together as a new version, and tell open tabs."""
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
            detail = "It may have been deleted; go back to all projects."
            raise Problem(404, "There is no such project", detail)
        return row

    def rows(self, sql: str, *values: Any) -> list[Row]:
        """Return rows; what is kept as JSON is read."""
        with self.lock:
            found = [dict(row) for row in self._connection.execute(sql, values)]
        for row in found:
            for name in row.keys() & JSON_COLUMNS:
                row[name] = json.loads(row[name]) if row[name] is not None else None
        return found

    def row(self, sql: str, *values: Any) -> Row | None:
        return next(iter(self.rows(sql, *values)), None)

    def run(self, sql: str, *values: Any) -> int:
        """Execute a statement and return the id of the inserted row, if any."""
        with self.lock:
            return self._connection.execute(sql, values).lastrowid or 0

    def insert(self, table: str, **values: Any) -> int:
        """Insert a row, instead of one with the same key. Columns of JSON are written as such."""
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        sql = f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})"
        return self.run(sql, *_written(values))

    def update(self, table: str, key: int, **values: Any) -> None:
        columns = ", ".join(f"{name} = ?" for name in values)
        self.run(f"UPDATE {table} SET {columns} WHERE id = ?", *_written(values), key)

    def keep_file(self, path: Path) -> int:
        """Store the bytes of a file in parts, and return their id."""
        with self.lock:
            newest = self.rows("SELECT max(id) AS id FROM blob")[0]["id"] or 0
            blob = max(newest, *self._fresh, 0) + 1
            self._fresh.add(blob)
        with path.open("rb") as file:
            for part, data in enumerate(iter(lambda: file.read(PART_BYTES), b"")):
                self.run("INSERT INTO blob VALUES (?, ?, ?)", blob, part, data)
        return blob

    def copy_to(self, blob: int, path: Path) -> None:
        parts = self.rows("SELECT part FROM blob WHERE id = ? ORDER BY part", blob)
        with path.open("wb") as file:
            for part in parts:
                sql = "SELECT bytes FROM blob WHERE id = ? AND part = ?"
                row = self.row(sql, blob, part["part"])
                file.write(row["bytes"] if row else b"")

    def sweep(self) -> None:
        """Delete the files to which no row refers any more."""
        with self.lock:
            used = {row["blob"] for row in self.rows(BLOBS_IN_USE)}
            self._fresh -= used
            for row in self.rows("SELECT DISTINCT id FROM blob"):
                if row["id"] not in used | self._fresh:
                    self.run("DELETE FROM blob WHERE id = ?", row["id"])

    def _set_up(self) -> None:
        run = self._connection.execute
        self._connection.row_factory = sqlite3.Row
        for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL"):
            run(f"PRAGMA {pragma}")
        run("PRAGMA foreign_keys = ON")
        if not self.rows("SELECT 1 FROM sqlite_master"):
            pragmas = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
            tables = Path(__file__).with_name("schema.sql").read_text("utf-8")
            self._connection.executescript(f"BEGIN IMMEDIATE; {pragmas} {tables} COMMIT;")
        if run("PRAGMA application_id").fetchone()[0] != APPLICATION:
            problem = f"{self.path} is a database, but not a project of the studio"
            raise InputError(problem, remedies=[ANOTHER_PROJECT])
        if (version := run("PRAGMA user_version").fetchone()[0]) != VERSION:
            formats = f"file format {version}; this version reads {VERSION}"
            problem = f"{self.path} was written by another version of Finegold ({formats})"
            remedies = [Remedy(text="open it with that version"), ANOTHER_PROJECT]
            raise InputError(problem, remedies=remedies)
        # from here on no other process can open it
        run("BEGIN EXCLUSIVE")
        run("COMMIT")
        if (answer := run("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise self._damaged(" ".join(answer.split()))
        run("UPDATE project SET loading = 2 WHERE loading = 1")
        run("UPDATE fit SET state = 'interrupted' WHERE state IN ('queued', 'running')")
        self.sweep()

    def _damaged(self, words: str) -> InputError:
        remedies = [Remedy(text="restore it from a backup"), ANOTHER_PROJECT]
        return InputError(f"{self.path} is damaged (SQLite reports: {words})", remedies=remedies)


def _written(values: Row) -> list[Any]:
    return [
        name_key(value) if name in JSON_COLUMNS and value is not None else value
        for name, value in values.items()
    ]
