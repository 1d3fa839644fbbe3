"""Tables as .xlsx workbooks of one sheet. Texts are written as texts, so that Excel runs none of them as a formula."""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from karat.errors import OutputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["write_workbook"]

MOST_ROWS, MOST_COLUMNS, MOST_CHARACTERS = 2**20, 2**14, 32_767  # limits of Excel
LARGE = 10**15  # Excel keeps 15 digits of a number, so longer integers are written as texts
HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{TYPE}.worksheet+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{LINKS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}"><sheets>'
    '<sheet name="Sheet1" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}/relationships">'
    f'<Relationship Id="r1" Type="{LINKS}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}
DATE = (1980, 1, 1, 0, 0, 0)  # of every part, so that the same table gives the same bytes
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]|\r|_(?=x[0-9A-Fa-f]{4}_)")


def write_workbook(pieces: Iterable[pl.DataFrame], path: Path) -> None:
    """Write tables with the same columns one below the other."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in PARTS.items():
            archive.writestr(_part(name), HEAD + content)
        with archive.open(_part("xl/worksheets/sheet1.xml"), "w", force_zip64=True) as file:
            file.write(f'{HEAD}<worksheet xmlns="{MAIN}"><sheetData>'.encode())
            for number, row in enumerate(_rows(pieces), 1):
                if number > MOST_ROWS or len(row) > MOST_COLUMNS:
                    most = f"{MOST_ROWS:,} rows and {MOST_COLUMNS:,} columns"
                    raise OutputError(f"{path} would have more than the {most} that a sheet can hold; write a .csv")
                file.write(f'<row r="{number}">{"".join(map(_cell, row))}</row>'.encode())
            file.write(b"</sheetData></worksheet>")


def _part(name: str) -> zipfile.ZipInfo:
    part = zipfile.ZipInfo(name, DATE)
    part.compress_type = zipfile.ZIP_DEFLATED
    return part


def _rows(pieces: Iterable[pl.DataFrame]) -> Iterator[Sequence[Any]]:
    for number, piece in enumerate(pieces):
        if number == 0:
            yield piece.columns
        yield from piece.iter_rows()


def _cell(value: Any) -> str:
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    if (isinstance(value, float) and math.isfinite(value)) or (isinstance(value, int) and abs(value) < LARGE):
        return f"<c><v>{value!r}</v></c>"
    text = NOT_XML.sub(lambda found: f"_x{ord(found[0]):04X}_", str(value)[:MOST_CHARACTERS])
    return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(text)}</t></is></c>'
