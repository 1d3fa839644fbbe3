"""Workbooks made by hand: just what makes a file one."""

from __future__ import annotations

import base64
import zipfile
import zlib
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from tests.support.exports_made import zipped

Sheets = dict[str, list[list[Any]]]
LONG: list[list[Any]] = [
    ["task", "worker", "label"],
    ["t2", "ann", "cat"],
    ["t1", "bob", "dog"],
    ["t1", "ann", "cat"],
]
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PARTS = "http://schemas.openxmlformats.org/package/2006"


def xlsx(path: Path, sheets: Sheets) -> Path:
    """Excel's own format; a cell is a number, a truth value, a text, or None."""
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="r{n}"/>'
        for n, name in enumerate(sheets, 1)
    )
    links = "".join(
        f'<Relationship Id="r{n}" Type="{LINKS}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    )
    root = f'<Relationship Id="r" Type="{LINKS}/officeDocument" Target="xl/workbook.xml"/>'
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PARTS}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{PARTS}/relationships">{root}</Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{LINKS}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PARTS}/relationships">{links}</Relationships>',
    }
    for number, rows in enumerate(sheets.values(), 1):
        data = "".join(f'<row r="{r}">{_cells(row, r)}</row>' for r, row in enumerate(rows, 1))
        parts[f"xl/worksheets/sheet{number}.xml"] = (
            f'<worksheet xmlns="{MAIN}"><sheetData>{data}</sheetData></worksheet>'
        )
    path.write_bytes(zipped({name: HEAD + part for name, part in parts.items()}))
    return path


def _cells(row: list[Any], number: int) -> str:
    return "".join(
        _cell(value, f"{chr(65 + column)}{number}")
        for column, value in enumerate(row)
        if value is not None
    )


def _cell(value: Any, place: str) -> str:
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def ods(path: Path, sheets: Sheets) -> Path:
    """OpenDocument, as LibreOffice writes it."""
    names = ("office", "table", "text")
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names
    )
    tables = "".join(
        f'<table:table table:name="{name}">{"".join(map(_row, rows))}</table:table>'
        for name, rows in sheets.items()
    )
    body = f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    parts = 'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"'
    content = {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": f"{HEAD}<manifest:manifest {parts}/>",
        "content.xml": f"{HEAD}<office:document-content {spaces}>{body}</office:document-content>",
    }
    path.write_bytes(zipped(content))
    return path


def replace_in(path: Path, part: str, old: str, new: str) -> Path:
    """Replace a text of one part of an archive."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name).decode() for name in archive.namelist()}
    assert old in parts[part]
    parts[part] = parts[part].replace(old, new, 1)
    path.write_bytes(zipped(parts))
    return path


def _row(row: list[Any]) -> str:
    cells = "".join(
        "<table:table-cell/>" if value is None
        else f'<table:table-cell office:value-type="float" office:value="{value}"/>' if isinstance(value, int | float)
        else f'<table:table-cell office:value-type="string"><text:p>{escape(value)}</text:p></table:table-cell>'
        for value in row
    )  # fmt: skip
    return f"<table:table-row>{cells}</table:table-row>"


def xls(path: Path) -> Path:
    """The old binary format, of one sheet: task, worker, label; 1, ann, cat; 1, bob, dog; 2, ann, cat."""
    path.write_bytes(zlib.decompress(base64.b85decode(XLS)))
    return path


XLS = (
    "c-rk)OK1~O6g_V~&4;E<YAUos2?eXxZp2MD?Wmw#S*i;a5p>cFA_*Cp21FNHtyv0!E5%Kr8#h%qe$a*PTnH6i2%?ba(v_g#qRsTaJ2Nq<Su~)<"
    "&zxcIyYIex=H0x{&AfTFl&Z|%@2_GF#-XC-#?aAV6LiOdN)puWx>60wDBW&|zY4J^O=O3TCyAF4Ifrt-t59%HdrlJgNcRbx#iU)dG8>3}9D^xj"
    "3}Yk(Zj+@8eH>K}%W0OISl(sNr!4od<r>Q|@~w#DSTZJuNBvcNOc~_1F39ITWX?Ob>_RVI$W?sly6}8;>~+qVg+H@lK<mT;Xx=8QqUD%{3eq%z"
    "3;5<{fUm($eU=IB8*3LJ`}byhq=o&4q5-pTPw@gTBZ2p-Y|(MVE?G0n80CB`Hzqlj%$YoG&vUkuw;UZPm|3ep{${aAa@s7B%-UI!Is0^6=4#&C"
    "$)>%X;5FY#GKX%~Q@rw%l)able0hB^J7t_?%Pi+}FY9lWfx^XQ$slqUw`eS7#KX+k$?^(6bqnkLEYtLZs2rN=^_2s2>~ob{hp3<3j5o%%27No}"
    "<<Ey64U|6_J4j!gs9s1fzBT4CNTZS?zP#ozB1Ximn-Y(WpcH<F_`tI7r)&{bl78&2|JT-y6~tLhvGi(kbVR+T_+us6Vh#JE5@%bAM_Kv{W~=p@"
    "WNSWKX~9;S*xt<O^_t?hNw(U8tuj0A`>RcTtM$Iel^#5h9Z`<_fjB~h2oWMgh!7z{{4WsvUhBQZYkc(Z&Iu9!yUq&TweT~^Ka0b#=_=8|bU%tz"
    "Iym3f`q>O!1kV!d<OJUfC5}?>4)Vxy9Qn4_FP-y5<L_BFG5PDZP`mxt+KKZw_rD6++0kY"
)
