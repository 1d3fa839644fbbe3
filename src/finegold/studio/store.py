"""The project file: an SQLite database in WAL mode. A committed transaction is on disk."""

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
REPAIR = (Remedy(text="restore it from a backup"), ANOTHER_PROJECT)

Row = dict[str, Any]

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
    crashed INTEGER NOT NULL DEFAULT 0,  -- whether the studio ended while it read the file
    failure TEXT,                        -- why its file could not be read
    content INTEGER REFERENCES blob,     -- the content of the tasks, a Parquet file
    options TEXT,                        -- the labels that each task was asked about if votes are sets of labels, JSON
    template TEXT,                       -- how the content of a task is shown
    remote INTEGER NOT NULL DEFAULT 0,   -- whether images of other servers may be loaded
    blind INTEGER NOT NULL DEFAULT 1     -- whether votes are hidden until a task is judged
);
CREATE TABLE fit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    method TEXT NOT NULL,
    settings TEXT NOT NULL,
    state TEXT NOT NULL,                 -- queued, running, done, failed, cancelled, interrupted, replaced
    started TEXT NOT NULL,
    facts TEXT,                          -- summary figures, JSON
    message TEXT NOT NULL DEFAULT '',    -- why it failed
    model INTEGER REFERENCES blob        -- the saved result, with its votes
);
CREATE INDEX fit_of_project ON fit (project);
CREATE TABLE opening (                   -- results that are being opened
    fit INTEGER PRIMARY KEY REFERENCES fit ON DELETE CASCADE,
    threads INTEGER NOT NULL,            -- how many threads open it now
    crashed INTEGER NOT NULL DEFAULT 0   -- whether the studio ended meanwhile
);
CREATE TABLE predictions (               -- files with class probabilities of models
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    name TEXT NOT NULL,                  -- of the file
    file INTEGER NOT NULL REFERENCES blob,
    facts TEXT NOT NULL,                 -- what was read of it, JSON
    PRIMARY KEY (project, name)
) WITHOUT ROWID;
CREATE TABLE gold (
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    task TEXT NOT NULL,                  -- names as JSON: 7 is not "7"
    label TEXT NOT NULL,
    at TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    label_then TEXT,                     -- the label of the task when it was judged
    PRIMARY KEY (project, task)
) WITHOUT ROWID;
CREATE TABLE action (                    -- everything that reviewers did, to be undone
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    task TEXT NOT NULL,
    kind TEXT NOT NULL,                  -- judge, skip or send_back
    before TEXT,
    after TEXT,
    reviewer TEXT NOT NULL,
    earlier TEXT NOT NULL,               -- the judgement before this one, JSON
    at TEXT NOT NULL,
    undone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX action_of_project ON action (project, task);
CREATE TABLE aside (                     -- tasks that reviewers did not judge
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    task TEXT NOT NULL,
    kind TEXT NOT NULL,                  -- skip or send_back
    reviewer TEXT NOT NULL,
    n_votes INTEGER NOT NULL,            -- that the task had
    at TEXT NOT NULL,
    PRIMARY KEY (project, task, kind, reviewer)
) WITHOUT ROWID;
CREATE TABLE note (
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    task TEXT NOT NULL,
    text TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (project, task)
) WITHOUT ROWID;
CREATE TABLE posted (                    -- votes that were posted, in batches
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    n_votes INTEGER NOT NULL,
    votes TEXT NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0,    -- whether they are among the votes of the base; else the next fit uses them
    at TEXT NOT NULL,                    -- when they were posted
    source TEXT NOT NULL DEFAULT '',     -- the file that they came from
    facts TEXT                           -- what was new, repeated and changed, JSON
);
CREATE INDEX posted_of_project ON posted (project);
CREATE TABLE blob (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    digest TEXT                          -- SHA-256 of its bytes
);
CREATE TABLE piece (
    blob INTEGER NOT NULL REFERENCES blob ON DELETE CASCADE,
    number INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (blob, number)
);
CREATE TABLE layer (                     -- texts and images of the tasks that came after the votes
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    name TEXT NOT NULL,                  -- of the table or the folder
    n_tasks INTEGER NOT NULL,
    file INTEGER NOT NULL REFERENCES blob,
    batch INTEGER REFERENCES posted ON DELETE CASCADE,  -- the votes that it came with
    at TEXT NOT NULL
);
CREATE TABLE audit (                     -- random samples of tasks that people check
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    fit INTEGER NOT NULL,                -- the result whose labels are measured
    plan TEXT NOT NULL,                  -- JSON
    auditors TEXT NOT NULL,              -- names of those who share the tasks, JSON; empty: anybody
    overlap REAL NOT NULL,               -- the share of the tasks that all of them check
    certificate TEXT,                    -- what the answers show, JSON
    at TEXT NOT NULL
);
CREATE TABLE answer (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    audit INTEGER NOT NULL REFERENCES audit ON DELETE CASCADE,
    task TEXT NOT NULL,
    reviewer TEXT NOT NULL,
    label TEXT NOT NULL,
    settles INTEGER NOT NULL DEFAULT 0,  -- whether the lead settled a disagreement with it
    at TEXT NOT NULL,
    UNIQUE (audit, task, reviewer, settles)
);
CREATE TABLE person (                    -- reviewers who were invited on the page
    name TEXT PRIMARY KEY,
    project INTEGER NOT NULL REFERENCES project ON DELETE CASCADE,
    session TEXT NOT NULL UNIQUE,        -- of the token, which is not kept
    at TEXT NOT NULL
) WITHOUT ROWID;
-- A file goes with the row that it belongs to.
CREATE TRIGGER project_gone AFTER DELETE ON project BEGIN DELETE FROM blob WHERE id IN (old.upload, old.content); END;
CREATE TRIGGER content_gone AFTER UPDATE OF content ON project BEGIN DELETE FROM blob WHERE id = old.content; END;
CREATE TRIGGER fit_gone AFTER DELETE ON fit BEGIN DELETE FROM blob WHERE id = old.model; END;
CREATE TRIGGER model_gone AFTER UPDATE OF model ON fit BEGIN DELETE FROM blob WHERE id = old.model; END;
CREATE TRIGGER predictions_gone AFTER DELETE ON predictions BEGIN DELETE FROM blob WHERE id = old.file; END;
CREATE TRIGGER layer_gone AFTER DELETE ON layer BEGIN DELETE FROM blob WHERE id = old.file; END;
"""
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
        connection = None
        try:
            connection = sqlite3.connect(path, timeout=1, isolation_level=None, check_same_thread=False)
            self._connection = connection
            self._set_up()
        except BaseException as error:
            if connection is not None:
                connection.close()
            if not isinstance(error, sqlite3.DatabaseError):
                raise
            remedies: tuple[Remedy, ...] = (ANOTHER_PROJECT,)
            problem = f"{path} cannot be opened as a project: {error}"
            if "locked" in str(error):
                problem, remedies = (
                    f"{path} is open in another studio",
                    (Remedy(text="close that one"), ANOTHER_PROJECT),
                )
            elif "malformed" in str(error):
                problem, remedies = f"{path} is damaged (SQLite reports: {error})", REPAIR
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
            raise Problem(404, "There is no such project", "It may have been deleted; go back to all projects.")
        return row

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
        return self.run(f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})", *values.values())

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
        pieces, digest = self.rows("SELECT number FROM piece WHERE blob = ? ORDER BY number", blob), hashlib.sha256()
        with path.open("wb") as file:
            for piece in pieces:
                row = self.row("SELECT bytes FROM piece WHERE blob = ? AND number = ?", blob, piece["number"])
                data = row["bytes"] if row else b""
                file.write(data)
                digest.update(data)
        if known["digest"] not in (None, digest.hexdigest()):
            raise InputError(f"{self.path} is damaged", remedies=REPAIR)

    def _set_up(self) -> None:
        run = self._connection.execute
        self._connection.row_factory = sqlite3.Row
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA journal_mode = WAL")
        run("PRAGMA synchronous = FULL")
        run("PRAGMA foreign_keys = ON")
        if not self.rows("SELECT 1 FROM sqlite_master"):
            pragmas = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION};"
            self._connection.executescript(f"BEGIN IMMEDIATE; {pragmas} {SCHEMA} COMMIT;")
        if self.rows("PRAGMA application_id")[0]["application_id"] != APPLICATION:
            raise InputError(f"{self.path} is a database, but not a project of the studio", remedies=[ANOTHER_PROJECT])
        version = self.rows("PRAGMA user_version")[0]["user_version"]
        if version != VERSION:
            raise InputError(
                f"{self.path} was written by another version of Finegold (file format {version}; this version reads "
                f"{VERSION})",
                remedies=[Remedy(text="open it with that version"), ANOTHER_PROJECT],
            )
        run("BEGIN EXCLUSIVE")  # from now on no other process can open it
        run("COMMIT")
        answer = self.rows("PRAGMA quick_check(1)")[0]["quick_check"]
        if answer != "ok":
            raise InputError(f"{self.path} is damaged (SQLite reports: {' '.join(answer.split())})", remedies=REPAIR)
        run("UPDATE project SET crashed = 1, opening = 0 WHERE opening > 0")
        run("UPDATE opening SET crashed = 1, threads = 0")
        run(f"DELETE FROM blob WHERE id NOT IN ({FILES_IN_USE})")  # left over from a crash
        run("UPDATE fit SET state = 'interrupted' WHERE state IN ('queued', 'running')")
