"""The command line in this very process, with standard output and standard error apart."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
from click.testing import CliRunner, Result

from finegold.cli.app import app
from tests.support.data_sets import SHARED

DATASETS = SHARED / "datasets"
CSV = "task,worker,label\n" + "".join(
    f"{task},{worker},{label}\n"
    for task, labels in {"t1": "xxy", "t2": "yyy", "t3": "xyz", "t4": "zzx"}.items()
    for worker, label in zip(("ann", "bob", "eve"), labels, strict=True)
)


def run(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def succeed(*arguments: object, stdin: str | None = None) -> Result:
    """Run a command that must end well."""
    done = run(*arguments, stdin=stdin)
    assert done.exit_code == 0, done.output
    return done


def json_of(*arguments: object) -> Any:
    """Run a command with --json, which must end well, and return what it prints."""
    return json.loads(succeed(*arguments, "--json").stdout)


def refusal_of(*arguments: object, stdin: str | None = None) -> str:
    """Run a command that must be refused, without output and traceback; return its message in one line."""
    done = run(*arguments, stdin=stdin)
    assert (done.exit_code, done.stdout) == (2, ""), done.output
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def without_seconds(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def database(path: Path, votes: str = CSV) -> str:
    """Put votes into the table votes of a new SQLite file, and return its address."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE votes (task, annotator, label)")
        connection.executemany(
            "INSERT INTO votes VALUES (?, ?, ?)", [row.split(",") for row in votes.split()[1:]]
        )
    return f"sqlite:///{path}"


def read_table(path: Path) -> pl.DataFrame:
    """Read a table by the extension of its name."""
    if path.suffix == ".xlsx":
        return pl.read_excel(path, engine="calamine")
    readers = {".parquet": pl.read_parquet, ".jsonl": pl.read_ndjson}
    return readers.get(
        path.suffix, partial(pl.read_csv, separator="\t" if path.suffix == ".tsv" else ",")
    )(path)
