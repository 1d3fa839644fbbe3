"""Files that ask for more than any table needs are refused before memory is taken, with the figure and the remedy."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from karat import InputError
from karat.readers import read
from karat.readers.sheet_size import Size, sheet_sizes
from tests.readers_votes import VOTES, votes_of
from tests.workbooks import ods, xlsx

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


@pytest.mark.parametrize("far", [FAR, BARE])
def test_a_small_workbook_that_spans_all_cells_is_refused(tmp_path: Path, far: str) -> None:
    path = changed(xlsx(tmp_path / "v.xlsx", {"A": LONG}), "xl/worksheets/sheet1.xml", "</sheetData>", far)
    with pytest.raises(InputError, match=r"v\.xlsx .*1,048,576 rows x 16,384 columns.*10,000,000.*KARAT_MAX_CELLS"):
        read(path)


ODS_ROW = (
    '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="16000"'
)


def test_repeated_cells_of_open_document_count(tmp_path: Path) -> None:
    path = ods(tmp_path / "v.ods", {"A": LONG})
    changed(path, "content.xml", "<table:table-row><table:table-cell", ODS_ROW)
    with pytest.raises(InputError, match=r"v\.ods .*rows x 16,002 columns.*KARAT_MAX_CELLS"):
        read(path)


def test_empty_cells_that_open_document_repeats_do_not_count(tmp_path: Path) -> None:
    path = ods(tmp_path / "v.ods", {"A": LONG})
    changed(path, "content.xml", "</table:table>", ODS_ROW + "/></table:table-row></table:table>")
    assert votes_of(read(path)) == VOTES


def test_the_limit_of_cells_can_be_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = xlsx(tmp_path / "v.xlsx", {"A": LONG})
    monkeypatch.setenv("KARAT_MAX_CELLS", "11")
    with pytest.raises(InputError, match=r"4 rows x 3 columns.*the limit is 11"):
        read(path)
    monkeypatch.setenv("KARAT_MAX_CELLS", "12")
    assert votes_of(read(path)) == VOTES
    monkeypatch.setenv("KARAT_MAX_CELLS", "many")
    with pytest.raises(InputError, match="KARAT_MAX_CELLS is 'many'; expected a number"):
        read(path)


def test_sizes_of_binary_sheets() -> None:
    buffer = io.BytesIO()
    cell = struct.pack("<I", 16383) + bytes(4)
    with zipfile.ZipFile(buffer, "w") as archive:
        row = bytes([0, 4]) + struct.pack("<I", 1048575)
        archive.writestr("xl/worksheets/sheet1.bin", bytes([0x81, 0x01, 0]) + row + bytes([2, len(cell)]) + cell)
        assert list(sheet_sizes(archive)) == [Size(1048576, 16384)]
