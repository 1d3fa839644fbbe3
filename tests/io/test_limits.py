"""Files that ask for more than any table needs are refused before memory is taken, with the figure and the remedy."""

from __future__ import annotations

import gzip
import io
import struct
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import finegold
from finegold import Annotations, InputError
from finegold.io.read import read
from tests.support.exports_made import zipped
from tests.support.readers_votes import CSV, VOTES, votes_of, write
from tests.support.workbooks import LONG, ods, replace_in, xls, xlsx

XLSX, ODS = "xl/worksheets/sheet1.xml", "content.xml"
ODS_ROW = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16000"'
TOO_FAR = (
    r" is damaged, or its cells lie too far apart: .* memory in \d+ seconds, .*FINEGOLD_MAX_CELLS=N"
)
DAMAGED = r" is (a )?damaged"
FAR: list[tuple[Any, str, str, str, str | None]] = [
    (
        xlsx,
        XLSX,
        "</sheetData>",
        '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>',
        TOO_FAR,
    ),
    (
        xlsx,
        XLSX,
        "</sheetData>",
        "<row r='1048576'>" + "<x:c/>" * 16384 + "</row></sheetData>",
        None,
    ),
    (ods, ODS, "<table:table-row><table:table-cell", ODS_ROW, DAMAGED),
    (ods, ODS, "</table:table>", ODS_ROW + "/></table:table-row></table:table>", None),
]


@pytest.mark.parametrize(("make", "part", "old", "new", "words"), FAR)
def test_cells_far_away_count_unless_they_are_empty(
    tmp_path: Path, make: Any, part: str, old: str, new: str, words: str | None
) -> None:
    path = replace_in(make(tmp_path / f"v.{make.__name__}", {"A": LONG}), part, old, new)
    if words is None:
        assert votes_of(read(path)) == VOTES
    else:
        with pytest.raises(InputError, match=path.name + words):
            read(path)


def test_the_limit_of_cells_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = xlsx(tmp_path / "v.xlsx", {"A": LONG})
    monkeypatch.setenv("FINEGOLD_MAX_CELLS", "11")
    with pytest.raises(
        InputError,
        match=r"4 rows x 3 columns.*more than 11 cells, which is the limit; if you trust",
    ):
        read(path)
    monkeypatch.setenv("FINEGOLD_MAX_CELLS", "12")
    assert votes_of(read(path)) == VOTES
    monkeypatch.setenv("FINEGOLD_MAX_CELLS", "many")
    with pytest.raises(InputError, match="FINEGOLD_MAX_CELLS is 'many'; expected a number"):
        read(path)


def far_cell(book: bytearray) -> None:
    cell = book.index(b"\xfd\x00\x0a\x00\x03\x00\x02\x00")  # row 3, column 2
    struct.pack_into("<HH", book, cell + 4, 65535, 65535)


def circle_of_sectors(book: bytearray) -> None:
    """The workbook library may follow it until the memory is full."""
    table = 512 + 512 * int.from_bytes(book[76:80], "little")
    sectors = [
        int.from_bytes(book[table + 4 * n : table + 4 * n + 4], "little") for n in range(128)
    ]
    second = next(n for n, following in enumerate(sectors) if following == n + 1)
    struct.pack_into("<I", book, table + 4 * second, second)


def many_sectors(place: int) -> Any:
    """The library reserves memory for some of them, up to 17 GB, and does not look at others."""
    return lambda book: struct.pack_into("<I", book, place, 2**32 - 7)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (far_cell, TOO_FAR),
        (circle_of_sectors, DAMAGED),
        (many_sectors(44), DAMAGED),
        (many_sectors(64), DAMAGED),
        (many_sectors(40), None),
        (many_sectors(72), None),
    ],
)
def test_an_old_workbook_that_asks_for_too_much_is_refused(
    tmp_path: Path, change: Any, words: str | None
) -> None:
    path = xls(tmp_path / "v.xls")
    book = bytearray(path.read_bytes())
    change(book)
    path.write_bytes(book)
    if words is None:
        assert read(path).n_votes == 3
    else:
        with pytest.raises(InputError, match=r"v\.xls" + words):
            read(path)


NESTED = {
    "lists.json": "[" * 100_000,
    "objects.json": '{"a":' * 600 + "1" + "}" * 600,
    "table.jsonl": '{"task":1,"worker":2,"label":' + '{"a":' * 600 + "1" + "}" * 601 + "\n",
    "prodigy.jsonl": '{"_input_hash":1,"answer":"accept","x":' + "[" * 600 + "]" * 600 + "}\n",
    "after_strings.json": '[{"a":"\\"[' + "x" * 2**20 + '\\\\"},' + "[" * 200 + "]" * 201,
}


@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("pack", ["", ".gz"])
def test_deeply_nested_json_is_refused(tmp_path: Path, name: str, pack: str) -> None:
    content = NESTED[name].encode()
    path = write(tmp_path / f"{name}{pack}", gzip.compress(content) if pack else content)
    with pytest.raises(
        InputError, match=rf"{name}.* nested more than 100 deep, .*FINEGOLD_MAX_DEPTH=N"
    ):
        read(path)


def test_brackets_in_strings_are_not_nesting(tmp_path: Path) -> None:
    text = "[" * 300 + '\\"{' * 300 + "\\\\"
    rows = [
        f'{{"task":"t{n // 3}","worker":"w{n % 3}","label":"a","text":"{text * 200}"}}\n'
        for n in range(6)
    ]
    assert len(votes_of(read(write(tmp_path / "v.jsonl", "".join(rows))))) == 6


def test_a_very_long_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_LINE", "2e6")
    row = '{"task":1,"worker":2,"label":"a","text":"%s"}\n'
    assert len(votes_of(read(write(tmp_path / "v.jsonl", row % ("x" * 1_900_000) * 2)))) == 1
    with pytest.raises(
        InputError, match=r"v\.jsonl has a line of more than 2,000,000 bytes, .*FINEGOLD_MAX_LINE=N"
    ):
        read(write(tmp_path / "v.jsonl", row % "" + row % ("x" * 2_000_000)))
    with pytest.raises(
        InputError, match=r"v\.json has a text of more than 2,000,000 bytes.*FINEGOLD_MAX_LINE=N"
    ):
        read(write(tmp_path / "v.json", row % ("x" * 5_000_000)))
    answer = '{"_input_hash":1,"answer":"accept","_session_id":"a-b","text":"%s"}\n'
    with pytest.raises(
        InputError, match=r"p\.jsonl.*a line of more than 2,000,000 bytes.*FINEGOLD_MAX_LINE=N"
    ):
        read(write(tmp_path / "p.jsonl", answer % "" + answer % ("x" * 2_000_000)))


BOMB = "task,worker,label\n" + "\0" * 3_000_000
BLOCK = (2**17 << 3 | 2).to_bytes(3, "little") + b"0"  # of zstd: a byte that is repeated
BOMBS = {
    "v.csv.gz": gzip.compress(BOMB.encode()),
    "v.csv.zst": bytes.fromhex("28b52ffd0058") + BLOCK * 150 + b"\1\0\0",
    "v.zip": zipped({"ann.jsonl": BOMB}),
    "v.eval": zipped({"header.json": '{"eval":{}}', "samples/1.json": BOMB}),
    "v.xlsx": zipped({"xl/workbook.xml": BOMB}),
}


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_too_much_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_UNPACKED", "2_000_000")
    with pytest.raises(
        InputError, match=rf"{name} unpacks to more than 2,000,000 bytes, .*FINEGOLD_MAX_UNPACKED=N"
    ):
        read(write(tmp_path / name, BOMBS[name]))


def test_a_large_file_may_unpack_to_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_UNPACKED", "10")
    assert votes_of(read(write(tmp_path / "v.csv.gz", gzip.compress(CSV.encode())))) == VOTES


def test_frames_of_zstd_one_after_the_other_are_one_text(tmp_path: Path) -> None:
    zstd = pytest.importorskip("backports.zstd")
    packed = zstd.compress(CSV[:9].encode()) + zstd.compress(CSV[9:].encode(), 19)
    assert votes_of(read(write(tmp_path / "v.csv.zst", packed))) == VOTES


def test_too_many_columns_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(
        tmp_path / "v.csv", f"task,{','.join(f'w{n}' for n in range(20))}\nt1{',a' * 20}\n"
    )
    monkeypatch.setenv("FINEGOLD_MAX_COLUMNS", "21")
    assert len(votes_of(read(path, layout="wide"))) == 20
    monkeypatch.setenv("FINEGOLD_MAX_COLUMNS", "20")
    with pytest.raises(
        InputError, match=r"v\.csv has 21 columns, more than 20, .*FINEGOLD_MAX_COLUMNS=N"
    ):
        read(path, layout="wide")


WRITERS: dict[str, Any] = {
    "v.parquet": pl.DataFrame.write_parquet,
    "v.feather": partial(pl.DataFrame.write_ipc, compression="zstd"),
    "v.arrow": partial(pl.DataFrame.write_ipc_stream, compression="zstd"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_small_binary_file_with_millions_of_equal_rows_is_refused_and_a_large_one_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    column = pl.repeat(0, 4_000_000, dtype=pl.Int8, eager=True)
    path = tmp_path / name
    WRITERS[name](pl.DataFrame({"task": column, "worker": column, "label": column}), path)
    words = rf"{name} has .* rows x 3 columns, more than 10,000,000 cells, .*FINEGOLD_MAX_CELLS=N"
    with pytest.raises(InputError, match=words):
        read(path)
    monkeypatch.setenv("FINEGOLD_MAX_CELLS", "12e6")
    assert read(path).counts.rows == 4_000_000
    monkeypatch.setenv("FINEGOLD_MAX_CELLS", "1")
    WRITERS[name](pl.read_csv(io.StringIO(CSV)), path)
    assert votes_of(read(path)) == VOTES


def test_rows_without_any_bytes_are_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(dict.fromkeys(["task", "worker", "label"], pa.nulls(2**31 - 1)))
    for name, writer in (("v.arrow", pa.ipc.new_file), ("s.arrow", pa.ipc.new_stream)):
        with writer(tmp_path / name, table.schema) as file:
            file.write_table(table)
        with pytest.raises(InputError, match=rf"{name} has .* rows x 3 columns, more than 10,"):
            read(tmp_path / name)


@pytest.mark.parametrize("name", ["ann.jsonl", "ann.json", "samples/1.json", "header.json"])
def test_deep_json_in_an_archive_is_refused(tmp_path: Path, name: str) -> None:
    files = {"header.json": '{"eval":{}}'} if name == "samples/1.json" else {}
    path = write(tmp_path / "v.zip", zipped({**files, name: "[" * 600 + "]" * 600}))
    words = rf"{name} in v\.zip has JSON .* nested more than 100 deep.*FINEGOLD_MAX_DEPTH"
    with pytest.raises(InputError, match=words):
        read(path)


def test_too_many_classes_are_refused_with_their_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(
        tmp_path / "v.csv", "task,worker,answer\n" + "".join(f"{n},w,text {n}\n" for n in range(12))
    )
    monkeypatch.setenv("FINEGOLD_MAX_CLASSES", "12")
    assert read(path).n_classes == 12
    monkeypatch.setenv("FINEGOLD_MAX_CLASSES", "11")
    words = r'v\.csv has 12 classes in the column "answer", more than 11, .*label=NAME.*FINEGOLD_MAX_CLASSES=N'
    with pytest.raises(InputError, match=words):
        read(path)


@pytest.mark.parametrize(
    ("method", "n_classes"), [("ds", 3000), ("hds", 3000), ("ebcc", 3000), ("cbcc", 300)]
)
def test_matrices_that_do_not_fit_into_memory_are_refused(
    method: str, n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_MEMORY", "100e6")
    n = np.arange(n_classes)
    votes = Annotations.from_arrays(n, n % 5, n)
    with pytest.raises(
        InputError, match=rf"{method} .* GB .*{n_classes:,} classes.*FINEGOLD_MAX_MEMORY=N"
    ):
        finegold.aggregate(votes, method)
    assert len(finegold.aggregate(votes, "mv").label) == n_classes  # which has none
    monkeypatch.setenv("FINEGOLD_MAX_MEMORY", "x")
    with pytest.raises(InputError, match="FINEGOLD_MAX_MEMORY is 'x'; expected a number of bytes"):
        finegold.aggregate(votes, method)


def test_a_damaged_arrow_file_is_refused_without_pages_of_rust(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "votes.arrow"
    pl.DataFrame(
        {"task": ["a", "b", "c"], "worker": [1, 2, 3], "label": ["x", "y", "x"]}
    ).write_ipc(path)
    whole = path.read_bytes()
    footer = whole.index(b"ARROW1", 8) - 300  # it says where batches begin and how long they are
    for position in range(footer, len(whole) - 10):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x82]) + whole[position + 1 :])
        with suppress(InputError):
            finegold.read(path)
    assert "panicked" not in capfd.readouterr().err
