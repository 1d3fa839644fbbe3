"""Files of every format are read alike, and every kind of broken file is met with a clear sentence."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from finegold.errors import InputError
from finegold.io.read import read
from tests.support.exports_cases import Case, check_each, reads, refuses
from tests.support.exports_made import LABEL_STUDIO
from tests.support.readers_votes import CSV, VOTES, votes_of, write

FRAME = pl.DataFrame(
    {"task": ["t2", "t1", "t1"], "worker": ["ann", "bob", "ann"], "label": ["cat", "dog", "cat"]}
)
TSV = CSV.replace(",", "\t")
JSONL = FRAME.write_ndjson()


def zstd(text: str) -> bytes:
    return bytes(pa.compress(text.encode(), codec="zstd", asbytes=True))


def parquet(*columns: list[Any]) -> bytes:
    file = io.BytesIO()
    (pl.DataFrame(columns, FRAME.columns) if columns else FRAME).write_parquet(file)
    return file.getvalue()


def arrow(stream: bool = False) -> bytes:
    file = io.BytesIO()
    (FRAME.write_ipc_stream if stream else FRAME.write_ipc)(file)
    return file.getvalue()


CONTENTS = {
    "v.csv": CSV.encode(),
    "v.CSV": CSV.encode(),
    "v.tsv": TSV.encode(),
    "v.jsonl": JSONL.encode(),
    "v.parquet": parquet(),
    "v.arrow": arrow(),
    "stream.arrow": arrow(stream=True),
    "v.csv.gz": gzip.compress(CSV.encode()),
    "v.jsonl.gz": gzip.compress(JSONL.encode()),
    "v.csv.zst": zstd(CSV),
    "no_extension": CSV.encode(),
    "v.txt": TSV.encode(),
    "lines of JSON.csv": JSONL.encode(),  # JSON is told by its content, whatever the name says
    "lines of JSON behind a mark.csv": b"\xef\xbb\xbf" + JSONL.encode(),
    "lines of JSON behind a mark.jsonl.gz": gzip.compress(b"\xef\xbb\xbf" + JSONL.encode()),
    "list of JSON.jsonl": FRAME.write_json().encode(),
    "JSON below a blank line.txt": b"\n" + JSONL.encode(),
    "semicolons.csv": CSV.replace(",", ";").encode(),
    "bom.csv": b"\xef\xbb\xbf" + CSV.encode(),
    "windows.csv": CSV.replace("\n", "\r\n").encode(),
    "odd[1]*.csv": CSV.encode(),
    "odd[1]*.jsonl": JSONL.encode(),
    "v.json": FRAME.with_columns(more=pl.struct(at=1)).write_json().encode(),
    "v.json.gz": gzip.compress(json.dumps(FRAME.to_dicts(), indent=2).encode()),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_every_format_gives_the_same_votes(tmp_path: Path, name: str) -> None:
    assert votes_of(read(write(tmp_path / name, CONTENTS[name]))) == VOTES


@pytest.mark.parametrize("name", CONTENTS)
def test_standard_input_and_streams_are_recognised_by_their_content(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(CONTENTS[name])))
    assert votes_of(read("-")) == votes_of(read(io.BytesIO(CONTENTS[name]))) == VOTES


FIRST, SECOND = "task,worker,label\nt2,ann,cat\n", "worker,task,label\nbob,t1,dog\nann,t1,cat\n"
FILES = {"a.csv": FIRST, "b.csv": SECOND, "README.txt": "hello", ".hidden.csv": "x\n1\n"}
ROWS = FRAME.rename({"label": "answer"}).write_csv()


def in_encoding(encoding: str, mark: str = "") -> Case:
    """As spreadsheets and surveys write texts."""
    content = (mark + CSV.replace("cat", "Käse").replace(",", "\t")).encode(encoding)
    return reads(
        "votes.txt",
        content,
        {(task, who, label.replace("cat", "Käse")) for task, who, label in VOTES},
    )


test_files_are_read_as_one_table_whatever_stands_in_them = check_each({
    "a folder": reads("", FILES, VOTES),
    "a pattern": reads("*.csv", FILES, VOTES),
    "a CSV beside a Parquet file is read as text": reads(
        "", {"a.csv": "task,worker,label\n7,ann,0\n", "b.parquet": parquet([8], ["bob"], [1])},
        {(7, "ann", 0), (8, "bob", 1)}),
    "the row of a later file is named in that file": refuses(
        "*", {"a.csv": FIRST, "b.csv": "worker,task,label\nbob,t1,dog\nann,,cat\n"},
        "b.csv, row 2 (line 3): there is a label but no task"),
    "files with other columns": refuses(
        "", {"a.csv": FIRST, "b.csv": ROWS}, "b.csv has other columns than ", "a.csv (answer, label)"),
    "blank last values and blank lines are not short rows": reads(
        "v.csv", 'task,worker,label\nt1,ann,\n\nt2,bob,"a,b"\nt3,bob,"x\ny"\n',
        {("t2", "bob", "a,b"), ("t3", "bob", "x\ny")}, rows=4, missing=2, unlabelled=["t1"]),
    "a text beside the votes may be long": reads(
        "v.csv", f"task,annotator,label,text\n1,ann,a,{'x' * 200_000}\n", {(1, "ann", "a")}),
    "UTF-8 behind a mark": in_encoding("utf-8-sig"),
    "UTF-16": in_encoding("utf-16"),
    "UTF-16 of other computers": in_encoding("utf-16-be", "\ufeff"),
})  # fmt: skip


def test_a_list_of_files_is_read_as_one_table(tmp_path: Path) -> None:
    files = [write(tmp_path / name, FILES[name]) for name in ("a.csv", "b.csv")]
    assert votes_of(read(files)) == votes_of(read(str(tmp_path))) == VOTES


BROKEN = {
    "empty.csv": (b"", "is empty"),
    "header.csv": (b"task,worker,label\n", "has a header but no rows"),
    "rubbish.csv": (bytes(range(256)) * 20, "binary data"),
    "rubbish.parquet": (b"rubbish" * 100, "not a complete Parquet file"),
    "really_parquet.csv": (parquet(), "is not CSV: its content is parquet"),
    "really_csv.gz.csv": (gzip.compress(CSV.encode()), "its content is gzip"),
    "v.pkl": (
        b"\x80\x04cos\nsystem\n(S'false'\ntR.",
        "not valid UTF-8",
    ),  # a pickle is never opened
    "cut.csv.gz": (
        gzip.compress(CSV.encode() * 99)[:-30],
        "is cut short: the gzip data ends too early",
    ),
    "cut.csv.zst": (zstd(CSV * 99)[:-30], "is cut short: the zstd data ends too early"),
    "long_row.csv": (
        b"task,worker,label\nt1,ann,a\nt2,bob,b,c\n",
        "line 3: too many fields, found 4 but",
    ),
    "blank_first.csv": (b"\n\ntask,worker,label\nt1,ann,a\n", "the first line is blank"),
    "rubbish.csv.gz": (b"\x1f\x8b" + b"rubbish" * 30, "cannot be unpacked with gzip"),
    "short_row.csv": (
        b"task,worker,label\nt1,ann,a\nt2,bob\nt3,bob,b\n",
        "line 3: too few fields, found 2 but",
    ),
    "short_hidden.csv": (
        b"task,worker,label,note\nt1,ann,a,\nt2,bob,b\n",
        "line 3: too few fields, found 3",
    ),
    "latin.csv": (
        b"task,worker,label\nt1,ann,a\nt2,ren\xe9,b\n",
        r"line 3: not valid UTF-8 \(byte 0xe9\)",
    ),
    "latin.jsonl": (b'{"task":1,"worker":2,"label":"\xe9"}\n', "line 1: not valid UTF-8"),
    "twice.csv": (b"task,worker,label,label\nt1,ann,a,b\n", 'more than one column named "label"'),
    "quote.csv": (
        b'task,worker,label\nt1,"ann,a\nt2,bob,b\n',
        "line 2: too few fields|never closed",
    ),
    "bad.jsonl": (b'{"task":1,"worker":2,"label":3}\n{"task":1,"wor\n', "line 2: not valid JSON"),
    "list.json": (b'[{"task":1}]', "there is no annotator and no label column"),
    "numbers.json": (b"[1, 2]", "the list holds 1; expected rows, which are objects"),
    "cut.json": (
        b'[{"task":1,"worker":2,"label":"a"},{"task"',
        "cannot be read as JSON .*write it again",
    ),
}


def test_exports_and_titles_in_zstd_are_seen_like_those_in_gzip(tmp_path: Path) -> None:
    answer = '{"_input_hash":%d,"answer":"accept","_session_id":"a-%s","accept":["x"],"options":[{"id":"x"}]}\n'
    lines = "".join(answer % (task, who) for task in (1, 2) for who in ("ann", "bob"))
    assert read(write(tmp_path / "p.jsonl.zst", zstd(lines))).n_votes == 4
    with pytest.raises(InputError, match=r"v\.csv\.zst: line 1 holds a title.*header=2"):
        read(write(tmp_path / "v.csv.zst", zstd("Our votes of May\n" + CSV)))


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_file_is_named_with_its_trouble(tmp_path: Path, name: str) -> None:
    content, trouble = BROKEN[name]
    with pytest.raises(InputError, match=trouble) as caught:
        read(write(tmp_path / name, content))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_long_row_far_down_is_found_although_its_columns_are_not_asked_for(
    tmp_path: Path,
) -> None:
    rows = b"task,note,worker,label\n" + b"t1,x,ann,a\n" * 300_000 + b"t2,x,bob,b,c\n"
    with pytest.raises(InputError, match="line 300002: too many fields, found 5"):
        read(write(tmp_path / "v.csv", rows))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("{}/vots.csv", r"there is no file .*vots\.csv; did you mean .*votes\.csv\?"),
        ("{}/nowhere/v.csv", r"nor is there a folder .*nowhere"),
        ("{}/notes", r"holds no data files; Finegold reads CSV.*\.parquet"),
        ("{}/*.tsv", r"no file matches the pattern .*\*\.tsv"),
        ([], "list of files is empty"),
        ("", "the path is empty"),  # and not the folder here
        (42, "of type int cannot be read; expected a path"),
    ],
)
def test_what_names_no_file_is_refused(tmp_path: Path, given: Any, words: str) -> None:
    write(tmp_path / "votes.csv", CSV)
    (tmp_path / "notes").mkdir()
    write(tmp_path / "notes" / "README.md", "hello")
    with pytest.raises(InputError, match=words):
        read(given.format(tmp_path) if isinstance(given, str) else given)


def test_an_unreadable_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "v.csv", CSV)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # the tests may run as root, who may read everything
    with pytest.raises(
        InputError, match=r"v\.csv cannot be read: Permission denied; check its permissions"
    ):
        read(path)


HEADERS = {
    "quoted, with a line break": '"task","who is\nit","label"\n',
    "BOM and Windows line ends": "\ufefftask,annotator,label\r\n",
    "longer than what is looked at": "task,annotator,label,"
    + ",".join(f"column{n}" for n in range(10_000))
    + "\n",
    "in quotes, longer than what is looked at": f'task,annotator,label,"{"x" * 70_000}\ny"\n',
}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS)
@pytest.mark.parametrize("name", ["votes.csv", "votes.csv.gz"])
def test_headers_of_any_length_are_read(tmp_path: Path, header: str, name: str) -> None:
    width = header.count(",") + 1
    text = header + "".join(f"t{n},w{n % 3},a{',' * (width - 3)}\n" for n in range(50))
    path = write(tmp_path / name, gzip.compress(text.encode()) if name.endswith("gz") else text)
    annotator = "who is\nit" if "who" in header else None
    votes = read(path, annotator=annotator)
    assert (votes.n_tasks, votes.n_annotators, votes.n_votes) == (50, 3, 50)


def test_a_first_record_longer_than_what_is_looked_at_still_tells_the_tool(tmp_path: Path) -> None:
    tasks = [{**LABEL_STUDIO[0], "data": {"text": "long " * 20_000}}, *LABEL_STUDIO[1:]]
    assert read(write(tmp_path / "export.json", json.dumps(tasks))).n_votes
