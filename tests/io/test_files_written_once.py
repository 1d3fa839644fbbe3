"""Every file is written under one pattern of temporary names, and one function moves it to its place."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import finegold
from finegold.io.folders import labels as folder_labels
from finegold.io.folders import votes as folder_votes
from finegold.io.writeback import write_back
from finegold.io.writers import write_frame, write_labels, write_votes
from finegold.report import write_report
from finegold.system.files import write_bytes
from tests.support.cli_helpers import CSV, write
from tests.support.exports_made import LABEL_STUDIO

SOURCE = Path(finegold.__file__).parent
PATTERN = re.compile(r"\..+\.[0-9a-f]{12}\.part(\.\w+)*")
MOVES: list[tuple[Path, Path, str]] = []
watching = False


def listen(event, arguments):
    """An audit hook cannot be removed, so it listens to one test at a time."""
    if watching and event == "os.rename":
        MOVES.append((Path(arguments[0]), Path(arguments[1]), sys._getframe(2).f_code.co_name))


sys.addaudithook(listen)


@pytest.fixture
def moves():
    global watching
    MOVES.clear()
    watching = True
    yield MOVES
    watching = False


@pytest.fixture
def result(tmp_path):
    return finegold.aggregate(write(tmp_path / "votes.csv", CSV), method="mv")


def back(result, path):
    export = write(path.parent / "export.json", json.dumps(LABEL_STUDIO))
    write_back(finegold.aggregate(export, method="mv"), export, path)


WRITERS = {
    "labels.csv": write_labels,
    "labels.tsv.gz": write_labels,
    "labels.parquet": write_labels,
    "annotators.jsonl": lambda result, path: write_frame(result.annotators(), path),
    "votes.csv": lambda result, path: write_votes(
        finegold.read(path.parent.parent / "votes.csv"), path
    ),
    "model.finegold": lambda result, path: result.save(path),
    "report.html": write_report,
    "some.bytes": lambda result, path: write_bytes(path, b"some"),
    "back.json": back,
    "part-00000.parquet": lambda result, path: folder_labels._write_part(
        result, False, 0, path.parent
    ),
    "stored": lambda result, path: folder_votes._store(
        path, names=pl.Series(["a"]), codes=np.arange(3)
    ),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_writer_uses_the_same_names_and_the_same_rename(tmp_path, result, moves, name):
    target = tmp_path / "out" / name
    target.parent.mkdir()
    WRITERS[name](result, target)
    assert target.exists()
    moved = [(temporary, by) for temporary, final, by in moves if final == target]
    assert [by for _, by in moved] == ["move"]
    assert PATTERN.fullmatch(moved[0][0].name)
    assert moved[0][0].parent == target.parent
    assert set(target.parent.iterdir()) - {target.parent / "export.json"} == {target}


def test_no_other_module_makes_temporary_names():
    makers = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if re.search(r"\b(token_hex|mkstemp|NamedTemporaryFile)\b", path.read_text("utf-8"))
    }
    assert makers == {
        "system/files.py",
        "studio/files.py",  # names in a scratch folder, which are never moved
        "io/database_tables.py",  # a temporary table
    }
