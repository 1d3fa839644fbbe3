"""The project file: an SQLite database in WAL mode. A committed transaction is on disk."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from finegold.errors import InputError
from finegold.studio.schema import ADDED, SCHEMA, SCHEMA_VERSION, UPGRADES, VERSION

__all__ = ["Row", "Store"]

APPLICATION = 0x4B617261  # "Kara"
PIECE_BYTES = 4 * 2**20  # large files are written in pieces, so that other threads do not wait long

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
        for table in ADDED:
            run(table)
        run("UPDATE opening SET crashed = 1, threads = 0")
        run("DELETE FROM blob WHERE whole = 0")  # left over from a crash
        run("UPDATE fit SET state = 'interrupted' WHERE state IN ('queued', 'running')")

    def _make_or_check(self) -> None:
        if not self.rows("SELECT 1 FROM sqlite_master"):
            pragmas = f"PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA_VERSION};"
            self._connection.executescript(f"BEGIN IMMEDIATE; {pragmas} {SCHEMA} COMMIT;")
        application = self.rows("PRAGMA application_id")[0]["application_id"]
        if application != APPLICATION:
            raise InputError(f"{self.path} is a database, but not a project of the studio; choose another --project")
        version = self.rows("PRAGMA user_version")[0]["user_version"]
        while version in UPGRADES:
            change = f"{UPGRADES[version]} PRAGMA user_version = {version + 1};"
            self._connection.executescript(f"BEGIN IMMEDIATE; {change} COMMIT;")
            version += 1
        if version != VERSION:
            raise InputError(
                f"{self.path} was written by another version of Finegold (file format {version}; this version reads "
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
