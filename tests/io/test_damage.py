"""Whatever is wrong with a file is said in one sentence that names it: never "failed unexpectedly"."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from finegold import InputError
from finegold.io.limits import NEGATIVE_PAGE
from finegold.io.read import read
from tests.support.cli_helpers import run
from tests.support.exports_made import (
    ARGILLA,
    DOCCANO,
    INSPECT,
    LABEL_STUDIO,
    PRODIGY,
    lines,
    zipped,
)
from tests.support.exports_sheets import MT_BENCH, SAGEMAKER
from tests.support.readers_votes import CSV, VOTES, votes_of, write
from tests.support.workbooks import xlsx


def refusals(paths: Iterable[Path], **options: Any) -> list[str]:
    """Read files, and return what is said of those that are refused; any other exception is an error."""
    said = []
    for path in paths:
        try:
            read(path, **options)
        except InputError as error:
            said.append(str(error))
    return said


def damaged(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


@pytest.mark.parametrize("name", ["v.csv.gz", "v.jsonl.gz", "v.json.gz", "v.gz"])
@pytest.mark.parametrize("place", [1, 3, 11, 40, -6])
def test_damaged_gzip(tmp_path: Path, name: str, place: int) -> None:
    text = CSV if "csv" in name else lines(PRODIGY) if "jsonl" in name else json.dumps(LABEL_STUDIO)
    packed = gzip.compress(text.encode())
    words = r"(is damaged|is cut short|cannot be|is not|is neither).*;"
    if place == 1 and name in (
        "v.csv.gz",
        "v.jsonl.gz",
    ):  # by its name it is gzip, by its content it is not
        words = "is damaged: it cannot be unpacked .*again"
    with pytest.raises(InputError, match=rf"{name}.* {words}"):
        read(write(tmp_path / name, damaged(packed, place % len(packed))))


@pytest.mark.parametrize("place", [4, 6, 9, 15, 30])
def test_damaged_zstd(tmp_path: Path, place: int) -> None:
    zstd = pytest.importorskip("backports.zstd")
    packed = zstd.compress((CSV * 5).encode(), options={zstd.CompressionParameter.checksum_flag: 1})
    with pytest.raises(InputError, match=r"v\.csv\.zst.*(damaged|cut short).*;"):
        read(write(tmp_path / "v.csv.zst", damaged(packed, place)))


@pytest.mark.parametrize(
    "files", [{"ann.jsonl": '{"id":1,"text":"x","label":["a"]}'}, {"header.json": "{}"}]
)
def test_an_encrypted_archive(tmp_path: Path, files: dict[str, str]) -> None:
    content = bytearray(zipped(files))
    for mark, flags in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        content[content.find(mark) + flags] |= 1
    with pytest.raises(
        InputError, match=r"v\.zip .*encrypted; unpack the archive with its password"
    ):
        read(write(tmp_path / "v.zip", bytes(content)))


def test_a_workbook_without_sheets_and_a_header_with_a_control_character(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"v\.xlsx is a workbook without sheets"):
        read(xlsx(tmp_path / "v.xlsx", {}))
    assert votes_of(read(write(tmp_path / "v.csv", CSV.replace("label", "la\x1fbel", 1)))) == VOTES


@pytest.mark.parametrize("which", range(3))
def test_a_parquet_file_with_counts_of_rows_that_disagree(tmp_path: Path, which: int) -> None:
    """The count of the file, of a column and of a group of rows: a wrong one must not lose rows in silence."""
    n = 300_000
    path = tmp_path / "v.parquet"
    pl.DataFrame(dict.fromkeys(["task", "worker", "label"], ["a"] * n)).write_parquet(
        path, row_group_size=n
    )
    count, other = (
        bytes.fromhex("c0cf24"),
        bytes.fromhex("c0b802"),
    )  # 300,000 and 20,000 as Thrift writes them
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    parts = content[footer:].split(count)
    assert len(parts) == 6  # one count of the file, three of columns, one of the group
    place = (1, 2, 5)[which]
    path.write_bytes(
        content[:footer] + count.join(parts[:place]) + other + count.join(parts[place:])
    )
    with pytest.raises(
        InputError, match=r"v\.parquet is not a complete Parquet file \(.*; fetch or write"
    ):
        read(path)


def test_file_names_that_are_not_utf_8(tmp_path: Path) -> None:
    name = os.fsdecode(os.fsencode(tmp_path) + b"/v\xe9.csv")
    for exists in (False, True):
        found = run("aggregate", name, "--method", "mv", "-o", tmp_path / "out.csv")
        assert found.exit_code == 2, found.output
        assert "v\\udce9.csv" in found.stderr.replace("\n", "")
        assert exists == ("not valid UTF-8; rename" in found.stderr.replace("\n", " "))
        Path(name).write_text(CSV)


REMOVED = object()
WRONG: list[Any] = [
    *(
        REMOVED,
        None,
        5,
        -1.5,
        True,
        "",
        "text",
        "\ud800",
        [],
        [5],
        [1, "a"],
        [[]],
        {},
        {"a": 5},
        [None],
        [{"a": []}],
    ),
    {"taxonomy": 5},
]
RECORDS: dict[str, Any] = {
    "label-studio": LABEL_STUDIO,
    "prodigy": PRODIGY,
    "argilla": ARGILLA,
    "inspect": INSPECT,
    "sagemaker": SAGEMAKER,
    "mt-bench": MT_BENCH,
    "doccano": DOCCANO["ann.jsonl"],
}


def places(value: Any) -> list[tuple[Any, ...]]:
    """The path of every value inside a JSON value."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [(), *((key, *place) for key, part in inner for place in places(part))]


def with_value(value: Any, place: tuple[Any, ...], new: Any) -> Any:
    """The same JSON value with the part at a place replaced or removed."""
    if not place:
        return None if new is REMOVED else new
    copy = dict(value) if isinstance(value, dict) else list(value)
    if new is REMOVED and len(place) == 1:
        del copy[place[0]]
        return copy
    copy[place[0]] = with_value(value[place[0]], place[1:], new)
    return copy


@pytest.mark.filterwarnings("ignore::finegold.errors.FinegoldWarning")
@pytest.mark.parametrize("tool", RECORDS)
def test_any_value_of_an_export_may_be_of_any_kind(tmp_path: Path, tool: str) -> None:
    """Read, or refused in a sentence: no other exception."""
    records = (
        with_value(RECORDS[tool], place, wrong)
        for number, place in enumerate(places(RECORDS[tool]))
        for wrong in WRONG[number % 5 :: 5]
    )
    refused = refusals(
        (write(tmp_path / "ann.json", json.dumps(each)) for each in records), format=tool
    )
    assert refused
    assert [said for said in refused if "ann.json" not in said] == []


def test_a_wrong_kind_is_said_with_the_record(tmp_path: Path) -> None:
    records = with_value(LABEL_STUDIO, (1, "annotations", 0, "result", 0, "value"), {"taxonomy": 5})
    words = r"v\.json \(Label Studio export\), record 2: .*; export it again"
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "v.json", json.dumps(records)))


@pytest.mark.parametrize("header", ["[]", "null", "5", '{"eval":[]}', '{"eval":{"config":5}}', "{"])
def test_odd_headers_of_inspect(tmp_path: Path, header: str) -> None:
    files = {"header.json": header, "samples/1.json": json.dumps(INSPECT["samples"][0])}
    with pytest.raises(InputError, match=r"v\.eval \(Inspect export\).*; write it again"):
        read(write(tmp_path / "v.eval", zipped(files)))


def test_a_zip_whose_directory_is_damaged(tmp_path: Path) -> None:
    content = zipped({"ann.jsonl": lines(DOCCANO["ann.jsonl"])})
    changed = (damaged(content, place) for place in range(0, len(content), 3))
    refused = refusals(write(tmp_path / "v.zip", each) for each in changed)
    assert refused
    assert [said for said in refused if "v.zip" not in said] == []


@pytest.mark.parametrize("n_values", [-13, 60])
def test_a_page_of_parquet_that_declares_other_values_than_its_column_is_refused(
    tmp_path: Path, n_values: int
) -> None:
    """Polars allocates what a page declares: the process ended."""
    table = io.BytesIO()
    pl.DataFrame({"task": list("abc"), "worker": list("www"), "label": list("xyx")}).write_parquet(
        table, compression="uncompressed", statistics=False
    )
    content = table.getvalue()
    header = b"\x2c\x15\x06"  # the struct of a data page begins with its number of values: 3
    place = content.index(header)
    path = tmp_path / "votes.parquet"
    coded = 2 * n_values if n_values >= 0 else -2 * n_values - 1
    path.write_bytes(content[: place + 2] + bytes([coded]) + content[place + 3 :])
    with pytest.raises(InputError, match=r"votes\.parquet is not a complete Parquet file \("):
        read(path)


@pytest.mark.parametrize(
    "options", [{}, {"data_page_version": "2.0"}, {"write_page_checksum": True}]
)
def test_no_page_of_any_kind_may_have_a_negative_number_of_values(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    """One bit is the sign. If every bit of such files is flipped, these are the only ones that end the process."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(
        arrow.table({"task": list("abc"), "worker": [1, 2, None]}),
        tmp_path / "v.parquet",
        **options,
    )
    content = (tmp_path / "v.parquet").read_bytes()
    assert NEGATIVE_PAGE.search(content) is None
    flips = [
        content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        for place in range(len(content))
    ]
    negative = [flip for flip in flips if NEGATIVE_PAGE.search(flip)]
    assert len(negative) == 4  # each column has a dictionary and a page
    with pytest.raises(
        InputError, match=r"v\.parquet is not a complete Parquet file \(a page declares a negative"
    ):
        read(write(tmp_path / "v.parquet", negative[0]))
