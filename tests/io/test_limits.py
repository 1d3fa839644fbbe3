"""Files that ask for more than any table needs are refused before memory is taken, with the figure and the remedy."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
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
from tests.support.workbooks import ods, xls, xlsx

LONG: list[list[Any]] = [["task", "worker", "label"], ["t2", "ann", "cat"], ["t1", "bob", "dog"], ["t1", "ann", "cat"]]


def changed(path: Path, part: str, old: str, new: str) -> Path:
    """The same archive with a text of one part replaced."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old.encode() in parts[part]
    parts[part] = parts[part].replace(old.encode(), new.encode(), 1)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


FAR = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
BARE = "<row r='1048576'>" + "<x:c/>" * 16384 + "</row></sheetData>"


TOO_FAR = r" is damaged, or its cells lie too far apart: .* memory in \d+ seconds, .*FINEGOLD_MAX_CELLS=N"


def test_a_small_workbook_that_spans_all_cells_is_refused(tmp_path: Path) -> None:
    path = changed(xlsx(tmp_path / "v.xlsx", {"A": LONG}), "xl/worksheets/sheet1.xml", "</sheetData>", FAR)
    with pytest.raises(InputError, match=r"v\.xlsx" + TOO_FAR):
        read(path)


def test_empty_cells_far_away_do_not_count(tmp_path: Path) -> None:
    path = changed(xlsx(tmp_path / "v.xlsx", {"A": LONG}), "xl/worksheets/sheet1.xml", "</sheetData>", BARE)
    assert votes_of(read(path)) == VOTES


ODS_ROW = (
    '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16000"'
)


def test_repeated_cells_of_open_document_count(tmp_path: Path) -> None:
    path = ods(tmp_path / "v.ods", {"A": LONG})
    changed(path, "content.xml", "<table:table-row><table:table-cell", ODS_ROW)
    with pytest.raises(InputError, match=r"v\.ods is (a )?damaged"):
        read(path)


def test_empty_cells_that_open_document_repeats_do_not_count(tmp_path: Path) -> None:
    path = ods(tmp_path / "v.ods", {"A": LONG})
    changed(path, "content.xml", "</table:table>", ODS_ROW + "/></table:table-row></table:table>")
    assert votes_of(read(path)) == VOTES


def test_the_limit_of_cells_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = xlsx(tmp_path / "v.xlsx", {"A": LONG})
    monkeypatch.setenv("FINEGOLD_MAX_CELLS", "11")
    with pytest.raises(InputError, match=r"4 rows x 3 columns.*more than 11 cells, which is the limit; if you trust"):
        read(path)
    monkeypatch.setenv("FINEGOLD_MAX_CELLS", "12")
    assert votes_of(read(path)) == VOTES
    monkeypatch.setenv("FINEGOLD_MAX_CELLS", "many")
    with pytest.raises(InputError, match="FINEGOLD_MAX_CELLS is 'many'; expected a number"):
        read(path)


def test_a_cell_of_the_old_format_that_is_far_away(tmp_path: Path) -> None:
    path = xls(tmp_path / "v.xls")
    content, cell = bytearray(path.read_bytes()), b"\xfd\x00\x0a\x00\x03\x00\x02\x00"  # row 3, column 2
    place = content.index(cell)
    struct.pack_into("<HH", content, place + 4, 65535, 65535)
    with pytest.raises(InputError, match=r"v\.xls" + TOO_FAR):
        read(write(path, bytes(content)))


@pytest.mark.parametrize("place", [40, 44, 64, 72])
def test_a_header_of_the_old_format_that_counts_too_many_sectors(tmp_path: Path, place: int) -> None:
    """The library reserves memory for some of them, up to 17 GB, and does not look at others."""
    content = bytearray(xls(tmp_path / "v.xls").read_bytes())
    struct.pack_into("<I", content, place, 2**32 - 7)
    path = write(tmp_path / "v.xls", bytes(content))
    if place in (40, 72):
        assert read(path).n_votes == 3
        return
    with pytest.raises(InputError, match=r"v\.xls is (a )?damaged"):
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
    with pytest.raises(InputError, match=rf"{name}.* nested more than 100 deep, .*FINEGOLD_MAX_DEPTH=N"):
        read(path)


def test_brackets_in_strings_are_not_nesting(tmp_path: Path) -> None:
    text = "[" * 300 + '\\"{' * 300 + "\\\\"
    rows = [f'{{"task":"t{n // 3}","worker":"w{n % 3}","label":"a","text":"{text * 200}"}}\n' for n in range(6)]
    assert len(votes_of(read(write(tmp_path / "v.jsonl", "".join(rows))))) == 6


def test_a_very_long_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_LINE", "2e6")
    row = '{"task":1,"worker":2,"label":"a","text":"%s"}\n'
    assert len(votes_of(read(write(tmp_path / "v.jsonl", row % ("x" * 1_900_000) * 2)))) == 1
    with pytest.raises(InputError, match=r"v\.jsonl has a line of more than 2,000,000 bytes, .*FINEGOLD_MAX_LINE=N"):
        read(write(tmp_path / "v.jsonl", row % "" + row % ("x" * 2_000_000)))
    with pytest.raises(InputError, match=r"v\.json has a text of more than 2,000,000 bytes.*FINEGOLD_MAX_LINE=N"):
        read(write(tmp_path / "v.json", row % ("x" * 5_000_000)))
    answer = '{"_input_hash":1,"answer":"accept","_session_id":"a-b","text":"%s"}\n'
    with pytest.raises(InputError, match=r"p\.jsonl.*a line of more than 2,000,000 bytes.*FINEGOLD_MAX_LINE=N"):
        read(write(tmp_path / "p.jsonl", answer % "" + answer % ("x" * 2_000_000)))


def zip_of(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", '{"eval":{}}')
        archive.writestr(name, content)
    return buffer.getvalue()


BOMB = b"task,worker,label\n" + bytes(3_000_000)
BOMBS = {
    "v.csv.gz": gzip.compress(BOMB),
    "v.csv.zst": bytes.fromhex("28b52ffd0058"),  # a frame with 150 blocks, each a byte that is repeated
    "v.zip": zip_of("ann.jsonl", BOMB),
    "v.eval": zip_of("samples/1.json", BOMB),
    "v.xlsx": zip_of("xl/workbook.xml", BOMB),
}
BOMBS["v.csv.zst"] += b"".join((2**17 << 3 | 2).to_bytes(3, "little") + b"0" for _ in range(150)) + b"\1\0\0"


@pytest.mark.parametrize("name", BOMBS)
def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_UNPACKED", "2_000_000")
    with pytest.raises(InputError, match=rf"{name} unpacks to more than 2,000,000 bytes, .*FINEGOLD_MAX_UNPACKED=N"):
        read(write(tmp_path / name, BOMBS[name]))


def test_a_large_file_may_unpack_to_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_UNPACKED", "10")
    assert votes_of(read(write(tmp_path / "v.csv.gz", gzip.compress(CSV.encode())))) == VOTES


def test_frames_of_zstd_one_after_the_other_are_one_text(tmp_path: Path) -> None:
    zstd = pytest.importorskip("backports.zstd")
    packed = zstd.compress(CSV[:9].encode()) + zstd.compress(CSV[9:].encode(), 19)
    assert votes_of(read(write(tmp_path / "v.csv.zst", packed))) == VOTES


def test_too_many_columns_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "v.csv", f"task,{','.join(f'w{n}' for n in range(20))}\nt1{',a' * 20}\n")
    monkeypatch.setenv("FINEGOLD_MAX_COLUMNS", "21")
    assert len(votes_of(read(path, wide=True))) == 20
    monkeypatch.setenv("FINEGOLD_MAX_COLUMNS", "20")
    with pytest.raises(InputError, match=r"v\.csv has 21 columns, more than 20, .*FINEGOLD_MAX_COLUMNS=N"):
        read(path, wide=True)


WRITERS: dict[str, Any] = {
    "v.parquet": pl.DataFrame.write_parquet,
    "v.feather": partial(pl.DataFrame.write_ipc, compression="zstd"),
    "v.arrow": partial(pl.DataFrame.write_ipc_stream, compression="zstd"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_small_binary_file_with_millions_of_equal_rows_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    column = pl.repeat(0, 4_000_000, dtype=pl.Int8, eager=True)
    WRITERS[name](pl.DataFrame({"task": column, "worker": column, "label": column}), tmp_path / name)
    with pytest.raises(
        InputError, match=rf"{name} has .* rows x 3 columns, more than 10,000,000 cells, .*FINEGOLD_MAX_CELLS=N"
    ):
        read(tmp_path / name)
    monkeypatch.setenv("FINEGOLD_MAX_CELLS", "12e6")
    assert read(tmp_path / name).counts.rows == 4_000_000


def test_rows_without_any_bytes_are_refused(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table(dict.fromkeys(["task", "worker", "label"], pa.nulls(2**31 - 1)))
    for name, writer in (("v.arrow", pa.ipc.new_file), ("s.arrow", pa.ipc.new_stream)):
        with writer(tmp_path / name, table.schema) as file:
            file.write_table(table)
        with pytest.raises(InputError, match=rf"{name} has .* rows x 3 columns, more than 10,"):
            read(tmp_path / name)


@pytest.mark.parametrize("name", WRITERS)
def test_a_large_binary_file_may_have_more_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_CELLS", "1")
    WRITERS[name](pl.read_csv(io.StringIO(CSV)), tmp_path / name)
    assert votes_of(read(tmp_path / name)) == VOTES


DEEP = "[" * 600 + "]" * 600


@pytest.mark.parametrize("name", ["ann.jsonl", "ann.json", "samples/1.json", "header.json"])
def test_deep_json_in_an_archive_is_refused(tmp_path: Path, name: str) -> None:
    files = {"header.json": '{"eval":{}}', name: DEEP} if "." in name and "ann" not in name else {name: DEEP}
    path = write(tmp_path / "v.zip", zipped(files))
    with pytest.raises(
        InputError, match=rf"{name} in v\.zip has JSON .* nested more than 100 deep.*FINEGOLD_MAX_DEPTH"
    ):
        read(path)


def test_too_many_classes_are_refused_with_their_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "v.csv", "task,worker,answer\n" + "".join(f"{n},w,text {n}\n" for n in range(12)))
    monkeypatch.setenv("FINEGOLD_MAX_CLASSES", "12")
    assert read(path).n_classes == 12
    monkeypatch.setenv("FINEGOLD_MAX_CLASSES", "11")
    words = r'v\.csv has 12 classes in the column "answer", more than 11, .*label=NAME.*FINEGOLD_MAX_CLASSES=N'
    with pytest.raises(InputError, match=words):
        read(path)


@pytest.mark.parametrize(("method", "n_classes"), [("ds", 3000), ("hds", 3000), ("ebcc", 3000), ("cbcc", 300)])
def test_matrices_that_do_not_fit_into_memory_are_refused(
    method: str, n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_MEMORY", "100e6")
    n = np.arange(n_classes)
    votes = Annotations.from_arrays(n, n % 5, n)
    with pytest.raises(InputError, match=rf"{method} .* GB .*{n_classes:,} classes.*FINEGOLD_MAX_MEMORY=N"):
        finegold.aggregate(votes, method)
    monkeypatch.setenv("FINEGOLD_MAX_MEMORY", "x")
    with pytest.raises(InputError, match="FINEGOLD_MAX_MEMORY is 'x'; expected a number of bytes"):
        finegold.aggregate(votes, method)


def test_methods_without_matrices_take_many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FINEGOLD_MAX_MEMORY", "100e6")
    n = np.arange(1000)
    assert len(finegold.aggregate(Annotations.from_arrays(n, n % 5, n), "mv").label) == 1000


def test_an_old_workbook_whose_sectors_form_a_circle_is_refused(tmp_path: Path) -> None:
    """The workbook library may follow it until the memory is full."""
    path = xls(tmp_path / "v.xls")
    book = bytearray(path.read_bytes())
    table = 512 + 512 * int.from_bytes(book[76:80], "little")
    sectors = [int.from_bytes(book[table + 4 * n : table + 4 * n + 4], "little") for n in range(128)]
    second = next(n for n, following in enumerate(sectors) if following == n + 1)
    book[table + 4 * second : table + 4 * second + 4] = second.to_bytes(4, "little")
    path.write_bytes(book)
    with pytest.raises(InputError, match=r"v\.xls is (a )?damaged"):
        read(path)


def test_a_damaged_arrow_file_is_refused_without_pages_of_rust(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "votes.arrow"
    pl.DataFrame({"task": ["a", "b", "c"], "worker": [1, 2, 3], "label": ["x", "y", "x"]}).write_ipc(path)
    whole = path.read_bytes()
    footer = whole.index(b"ARROW1", 8) - 300  # it says where batches begin and how long they are
    for position in range(footer, len(whole) - 10):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x82]) + whole[position + 1 :])
        with suppress(InputError):
            finegold.read(path)
    assert "panicked" not in capfd.readouterr().err
