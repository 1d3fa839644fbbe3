"""Whatever is wrong with a file is said in one sentence that names it: never "failed unexpectedly"."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from backports import zstd

from finegold import InputError
from finegold.io.read import read
from tests.support.cli_helpers import run
from tests.support.exports_made import (
    LABEL_STUDIO,
    PRODIGY,
    lines,
    zipped,
)
from tests.support.readers_votes import CSV, VOTES, votes_of, write
from tests.support.workbooks import LONG, ods, replace_in, xlsx

BOMB = "task,worker,label\n" + "\0" * 3_000_000


def packed(name: str, text: str) -> bytes:
    return (gzip if name.endswith(".gz") else zstd).compress(text.encode())


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


@pytest.mark.parametrize("name", ["v.csv.gz", "v.jsonl.gz", "v.json.gz", "v.gz", "v.csv.zst"])
@pytest.mark.parametrize("place", [1, 3, 11, 40, -6])
def test_a_damaged_compressed_file_is_refused(tmp_path: Path, name: str, place: int) -> None:
    text = CSV if "csv" in name else lines(PRODIGY) if "jsonl" in name else json.dumps(LABEL_STUDIO)
    content = packed(name, text * 5 if name.endswith("zst") else text)
    words = r"(is damaged|is cut short|cannot be|is not|is neither|not valid).*;"
    with pytest.raises(InputError, match=rf"{name}.* {words}"):
        read(write(tmp_path / name, flipped(content, place % len(content))))


UNPACKED_TO_MUCH = {
    "v.csv.gz": packed("v.gz", BOMB),
    "v.csv.zst": packed("v.zst", BOMB),
    "v.zip": zipped({"ann.jsonl": BOMB}),
    "v.eval": zipped({"header.json": '{"eval":{}}', "samples/1.json": BOMB}),
    "v.xlsx": zipped({"xl/workbook.xml": BOMB}),
}


@pytest.mark.parametrize("name", UNPACKED_TO_MUCH)
def test_what_unpacks_to_too_much_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_UNPACKED", "2_000_000")
    words = rf"{name} unpacks to more than 2,000,000 bytes, .*FINEGOLD_MAX_UNPACKED=N"
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / name, UNPACKED_TO_MUCH[name]))


@pytest.mark.parametrize("name", ["v.csv.gz", "v.csv.zst"])
def test_what_unpacks_to_a_hundred_times_its_size_is_read(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_UNPACKED", "10")
    in_parts = packed(name, CSV[:9]) + packed(name, CSV[9:])
    assert votes_of(read(write(tmp_path / name, in_parts))) == VOTES


FAR_ROW = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
FAR_CELLS = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16000"'


@pytest.mark.parametrize(
    ("make", "part", "old", "new", "is_read"),
    [
        (xlsx, "xl/worksheets/sheet1.xml", "</sheetData>", FAR_ROW, False),
        (ods, "content.xml", "<table:table-row><table:table-cell", FAR_CELLS, False),
        (ods, "content.xml", "</table:table>", FAR_CELLS + "/></table:table-row></table:table>", True),
    ],
)  # fmt: skip
def test_a_stray_cell_far_away_does_not_end_the_program(
    tmp_path: Path, make: Any, part: str, old: str, new: str, is_read: bool
) -> None:
    path = replace_in(make(tmp_path / f"v.{make.__name__}", {"A": LONG}), part, old, new)
    if is_read:
        assert votes_of(read(path)) == VOTES
    else:
        with pytest.raises(InputError, match=rf"{path.name} is (a )?damaged.*; save"):
            read(path)


def test_an_encrypted_archive_is_refused(tmp_path: Path) -> None:
    content = bytearray(zipped({"ann.jsonl": '{"id":1,"text":"x","label":["a"]}'}))
    for mark, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.find(mark) + flags] |= 1
    words = r"v\.zip .*encrypted.*unpack the archive, with its password"
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "v.zip", bytes(content)))


@pytest.mark.parametrize("write_table", ["write_parquet", "write_ipc", "write_ipc_stream"])
@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_a_binary_table_that_is_cut_short_is_refused(
    tmp_path: Path, write_table: str, keep: float
) -> None:
    file = io.BytesIO()
    names = [f"t{n}" for n in range(1000)]
    table = pl.DataFrame(dict.fromkeys(["task", "worker", "label"], names))
    getattr(table, write_table)(file)
    content = file.getvalue()
    path = write(tmp_path / "v.arrow", content[: int(keep * len(content))])
    with pytest.raises(InputError, match=r"v\.arrow.*(not a complete|is not ARROW)"):
        read(path)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("deep.json", "[" * 100_000, "cannot be read as JSON"),
        ("deep.jsonl", '{"task":' + "[" * 10_000 + "]" * 10_000 + "}", "not valid JSON"),
        ("digits.jsonl", '{"task":1,"worker":2,"label":%s}' % ("7" * 5000), "not valid JSON"),
        ("digits.json", '[{"task":1,"worker":2,"label":%s}]' % ("7" * 5000), "cannot be read"),
    ],
)
def test_json_that_no_parser_takes_is_refused(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    with pytest.raises(InputError, match=rf"{name}.*{words}"):
        read(write(tmp_path / name, text))


def test_nan_in_json_is_no_vote(tmp_path: Path) -> None:
    rows = [{"task": n, "worker": f"NaN{n % 2}", "label": float("nan")} for n in range(4)]
    rows[1]["label"] = rows[2]["label"] = 1
    for name, text in (
        ("v.jsonl", "\n".join(map(json.dumps, rows))),
        ("v.json", json.dumps(rows)),
    ):
        votes = read(write(tmp_path / name, text))
        assert votes_of(votes) == {(1, "NaN1", 1), (2, "NaN0", 1)}


def test_file_names_that_are_not_utf_8(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/v\xe9.csv")
    for exists in (False, True):
        found = run("aggregate", name, "--method", "mv", "-o", tmp_path / "out.csv")
        assert found.exit_code == 2, found.output
        assert "v\\udce9.csv" in found.stderr.replace("\n", "")
        assert exists == ("not valid UTF-8; rename" in found.stderr.replace("\n", " "))
        Path(name).write_text(CSV)
