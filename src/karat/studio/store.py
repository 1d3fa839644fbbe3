"""The project file: an SQLite database in WAL mode. A committed transaction is on disk."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from karat.errors import InputError

__all__ = ["Row", "Store"]

APPLICATION, VERSION = 0x4B617261, 2  # "Kara"
PIECE_BYTES = 4 * 2**20  # large files are written in pieces, so that other threads do not wait long

SCHEMA = """
CREATE TABLE project (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    created TEXT NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,  -- counts every change
    file TEXT,                           -- the name of the file with the votes
    place TEXT,                          -- where in the folder it is, if it was opened there
    upload INTEGER REFERENCES blob,      -- its bytes, if it was sent
    reading TEXT,                        -- how its columns were read, JSON
    base INTEGER REFERENCES fit,         -- the majority vote, with the votes and the gold of the file
    shown INTEGER REFERENCES fit,        -- the fit that is looked at
    opening INTEGER NOT NULL DEFAULT 0,  -- how many threads read its file now
    crashed INTEGER NOT NULL DEFAULT 0   -- whether the studio ended while it read the file
);
CREATE TABLE fit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    method TEXT NOT NULL,
    settings TEXT NOT NULL,
    state TEXT NOT NULL,                 -- queued, running, done, failed, cancelled, interrupted, replaced
    started TEXT NOT NULL,
    facts TEXT,                          -- what it came to, JSON
    message TEXT NOT NULL DEFAULT '',    -- why it failed
    model INTEGER REFERENCES blob        -- the saved result, with its votes
);
CREATE INDEX fit_of_project ON fit (project);
CREATE TABLE gold (
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    task TEXT NOT NULL,                  -- names as JSON: 7 is not "7"
    label TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (project, task)
) WITHOUT ROWID;
CREATE TABLE action (                    -- every change of the gold, to be undone
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    task TEXT NOT NULL,
    before TEXT,
    after TEXT,
    at TEXT NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX action_of_project ON action (project, task);
CREATE TABLE posted (                    -- votes that were posted, in batches
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    n_votes INTEGER NOT NULL,
    votes TEXT NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0,    -- whether they are among the votes of the base; else the next fit takes them
    at TEXT NOT NULL DEFAULT ''          -- when they were posted
);
CREATE INDEX posted_of_project ON posted (project);
CREATE TABLE blob (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    whole INTEGER NOT NULL DEFAULT 0,
    digest TEXT                          -- SHA-256 of its bytes
);
CREATE TABLE piece (
    blob INTEGER NOT NULL REFERENCES blob ON DELETE CASCADE,
    number INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (blob, number)
);
"""

# Results that are being opened. The table is created in every project file; older versions of Karat ignore it.
OPENING = """
CREATE TABLE IF NOT EXISTS opening (
    fit INTEGER PRIMARY KEY REFERENCES fit ON DELETE CASCADE,
    threads INTEGER NOT NULL,            -- how many threads open it now
    crashed INTEGER NOT NULL DEFAULT 0   -- whether the studio ended meanwhile
)
"""

# From version 1 of the format to version 2.
UPGRADE = """
ALTER TABLE project ADD COLUMN opening INTEGER NOT NULL DEFAULT 0;
ALTER TABLE project ADD COLUMN crashed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE posted ADD COLUMN at TEXT NOT NULL DEFAULT '';
ALTER TABLE blob ADD COLUMN digest TEXT;
"""
DAMAGED = "is damaged; restore it from a backup, or start with another --project"

Row = dict[str, Any]


class Store:
    """One connection, used by one thread at a time. No other process can open the file meanwhile."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        with _explained(path):
            self._connection = sqlite3.connect(path, timeout=1, isolation_level=None, check_same_thread=False)
            try:
                self._set_up()
            except BaseException:
                self._connection.close()
                raise

    def close(self) -> None:
        """Close the file. Files that are being read now are not marked as crashed."""
        with self._lock, suppress(sqlite3.Error):
            self._connection.execute("UPDATE project SET opening = 0")
            self._connection.execute("DELETE FROM opening WHERE NOT crashed")
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all changes of the block together, or none."""
        with self._lock:
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
    def snapshot(self) -> Iterator[None]:
        """Read several rows without changes in between."""
        with self._lock:
            yield

    def rows(self, sql: str, *values: Any) -> list[Row]:
        with self._lock:
            return [dict(row) for row in self._connection.execute(sql, values)]

    def row(self, sql: str, *values: Any) -> Row | None:
        return next(iter(self.rows(sql, *values)), None)

    def run(self, sql: str, *values: Any) -> int:
        """Execute a statement and return the id of the inserted row, if any."""
        with self._lock:
            return self._connection.execute(sql, values).lastrowid or 0

    def keep_file(self, path: Path) -> int:
        """Store the bytes of a file in pieces. The next start deletes it unless `own` marks it as used."""
        blob, digest = self.run("INSERT INTO blob DEFAULT VALUES"), hashlib.sha256()
        with path.open("rb") as file:
            for number, data in enumerate(iter(lambda: file.read(PIECE_BYTES), b"")):
                self.run("INSERT INTO piece VALUES (?, ?, ?)", blob, number, data)
                digest.update(data)
        self.run("UPDATE blob SET digest = ? WHERE id = ?", digest.hexdigest(), blob)
        return blob

    def own(self, blob: int) -> None:
        self.run("UPDATE blob SET whole = 1 WHERE id = ?", blob)

    def copy_to(self, blob: int, path: Path) -> None:
        """Write a stored file to a path. Raise an InputError if it is damaged or was deleted meanwhile."""
        known = self.row("SELECT digest FROM blob WHERE id = ?", blob) or {"digest": "deleted"}
        pieces, digest = self.rows("SELECT number FROM piece WHERE blob = ? ORDER BY number", blob), hashlib.sha256()
        with path.open("wb") as file:
            for piece in pieces:
                found = self.row("SELECT bytes FROM piece WHERE blob = ? AND number = ?", blob, piece["number"])
                data = found["bytes"] if found else b""
                file.write(data)
                digest.update(data)
        if known["digest"] not in (None, digest.hexdigest()):
            raise InputError(f"{self.path} {DAMAGED}")

    def _set_up(self) -> None:
        run = self._connection.execute
        self._connection.row_factory = sqlite3.Row
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run("PRAGMA foreign_keys = ON")
        self._make_or_check()
        self._check_integrity()
        run("UPDATE project SET crashed = 1, opening = 0 WHERE opening > 0")
        run(OPENING)
        run("UPDATE opening SET crashed = 1, threads = 0")
        run("DELETE FROM blob WHERE whole = 0")  # left over from a crash
        run("UPDATE fit SET state = 'interrupted' WHERE state IN ('queued', 'running')")

    def _make_or_check(self) -> None:
        if not self.rows("SELECT 1 FROM sqlite_master"):
            pragmas = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
            self._connection.executescript(f"BEGIN IMMEDIATE; {pragmas} {SCHEMA} COMMIT;")
        application = self.rows("PRAGMA application_id")[0]["application_id"]
        if application != APPLICATION:
            raise InputError(f"{self.path} is a database, but not a project of the studio; choose another --project")
        version = self.rows("PRAGMA user_version")[0]["user_version"]
        if version == 1:
            self._connection.executescript(f"BEGIN IMMEDIATE; {UPGRADE} PRAGMA user_version = {VERSION}; COMMIT;")
        elif version != VERSION:
            raise InputError(
                f"{self.path} was written by another version of Karat (file format {version}; this version reads "
                f"{VERSION}); open it with that version, or choose another --project"
            )
        self._connection.execute("BEGIN EXCLUSIVE")  # from now on no other process can open it
        self._connection.execute("COMMIT")

    def _check_integrity(self) -> None:
        found = [row["quick_check"] for row in self.rows("PRAGMA quick_check(1)")]
        if found != ["ok"]:
            raise InputError(f"{self.path} {DAMAGED} (SQLite found: {' '.join(found[0].split())})")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        said = str(error)
        if "locked" in said:
            raise InputError(f"{path} is open in another studio; close that one, or choose another --project") from None
        if "malformed" in said:
            raise InputError(f"{path} {DAMAGED} (SQLite: {said})") from None
        if "not a database" in said:
            raise InputError(f"{path} is not a project of the studio; choose another --project") from None
        raise InputError(f"{path} cannot be opened as a project: {said}; choose another --project") from None
