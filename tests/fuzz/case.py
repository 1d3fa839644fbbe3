"""One case of the fuzzer: files, a command that reads them, and what must hold afterwards."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

from finegold.cli.app import app

OUTPUT = "out.csv"  # there before the command runs; it must be untouched if the command fails
BEFORE = "what was there before\n"
GOOD, BAD_INPUT = 0, 2


class Case(NamedTuple):
    """Files by name, and the arguments of a `finegold` command that runs in their folder."""

    name: str
    files: dict[str, bytes]
    arguments: tuple[str, ...]
    votes: int | None = None  # how many votes the files hold, where that is known


def run_case(case: Case, folder: Path) -> tuple[int, str]:
    """Run the command in an empty folder. -> its exit code, and the rule that it broke, or an empty text."""
    for name, content in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / OUTPUT).write_text(BEFORE)
    os.chdir(folder)
    with _native_errors() as native:
        done = CliRunner().invoke(app, list(case.arguments))
    if b"panicked" in native:
        return done.exit_code, f"a panic was printed: {bytes(native)[:200]!r}"
    if "Traceback" in done.output:
        return done.exit_code, f"a traceback was printed: {done.output[:200]!r}"
    if done.exit_code not in (GOOD, BAD_INPUT):
        return done.exit_code, f"exit {done.exit_code}: {done.exception!r}"
    if done.exit_code == BAD_INPUT:
        return BAD_INPUT, _broken_by_refusal(folder, done.stderr)
    return GOOD, _broken_counts(case, done.stdout, done.stderr)


@contextmanager
def _native_errors() -> Iterator[bytearray]:
    """Collect what compiled libraries write to standard error, past Python."""
    said, before = bytearray(), os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield said
        finally:
            os.dup2(before, 2)
            os.close(before)
            file.seek(0)
            said += file.read()


def _broken_by_refusal(folder: Path, said: str) -> str:
    if (folder / OUTPUT).read_text() != BEFORE:
        return "the output was touched, though the command failed"
    return "" if "error: " in said.lower() or "─ Error ─" in said else f"no message: {said[:200]!r}"


def _broken_counts(case: Case, printed: str, said: str) -> str:
    """Every row is a vote, or was reported as missing, repeated or joined with another; no row is lost."""
    if "--json" not in case.arguments:
        return ""
    found = json.loads(printed)
    if "n_votes" not in found or "rows" not in found:  # another command than aggregate
        return ""
    rows = found["rows"]
    joined = sum(
        int(number.replace(",", "")) for number in re.findall(r"are one answer: ([\d,]+) of", said)
    )
    counted = found["n_votes"] + rows["missing"] + rows["repeated"] + joined
    if counted != rows["rows"]:
        return f"{rows['rows']} rows, but {counted} votes counted and reported"
    there = rows["rows"] + sum(rows["left_out"].values())
    return (
        ""
        if case.votes in (None, there)
        else f"{case.votes} votes are there, but {there} were counted or reported"
    )
