"""A page as a list of blocks, rendered as HTML or Markdown. All text is escaped here."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

DIFFERENCE = "difference"  # columns whose names end with this word show a sign


@dataclass(frozen=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Items:
    texts: list[str]


@dataclass(frozen=True)
class Picture:
    name: str  # name of the file, without extension
    caption: str


@dataclass(frozen=True)
class Table:
    name: str  # name of the CSV file, without extension
    caption: str
    header: list[str]
    rows: list[list[Any]]
    notes: list[str] = field(default_factory=list)
    digits: int = 4


Block = Heading | Text | Items | Picture | Table

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
table { display: block; overflow-x: auto; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #ccc; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
th { border-bottom: 2px solid #333; }
img { max-width: 100%; height: auto; }
figure { margin: 1.5rem 0; }
figcaption, .note { color: #444; font-size: .9rem; }
"""


def to_html(title: str, blocks: Iterable[Block], pictures: Mapping[str, bytes]) -> str:
    """Render a self-contained HTML page; the pictures (PNG, by name) are embedded."""
    body = "\n".join(_html(block, pictures) for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{html.escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def to_markdown(title: str, blocks: Iterable[Block], folder: str) -> str:
    """Render the page as Markdown; the pictures are files in a folder."""
    return "\n\n".join([f"# {_md(title)}", *(_markdown(block, folder) for block in blocks)]) + "\n"


def shown(value: Any, heading: str, digits: int) -> str:
    """Format a cell for readers."""
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return str(value)
    sign = "+" if heading.endswith(DIFFERENCE) else ""
    if isinstance(value, int):
        return f"{value:{sign},}"
    text = f"{value:{sign}.{digits}f}"
    return text.replace("-", "+") if float(text) == 0 and sign else text


def csv_cell(value: Any) -> str:
    """Format a cell for programs, with all digits."""
    text = "" if value is None else repr(value) if isinstance(value, float) else str(value)
    return '"' + text.replace('"', '""') + '"' if re.search('[",\n]', text) else text


def _html(block: Block, pictures: Mapping[str, bytes]) -> str:
    match block:
        case Heading(text, level):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Text(text):
            return f"<p>{html.escape(text)}</p>"
        case Items(texts):
            return "<ul>" + "".join(f"<li>{html.escape(text)}</li>" for text in texts) + "</ul>"
        case Picture(name, caption):
            data, words = base64.b64encode(pictures[name]).decode(), html.escape(caption)
            image = f'<img src="data:image/png;base64,{data}" alt="{words}">'
            return f"<figure>{image}<figcaption>{words}</figcaption></figure>"
        case Table():
            return _html_table(block)


def _html_table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(heading)}</th>" for heading in table.header)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>\n" for row in _cells(table)
    )
    notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in table.notes)
    caption = html.escape(table.caption)
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table>{notes}"


def _markdown(block: Block, folder: str) -> str:
    match block:
        case Heading(text, level):
            return f"{'#' * level} {_md(text)}"
        case Text(text):
            return _md(text)
        case Items(texts):
            return "\n".join(f"- {_md(text)}" for text in texts)
        case Picture(name, caption):
            return f"![{_md(caption)}]({folder}/{name}.png)\n\n*{_md(caption)}*"
        case Table():
            return _markdown_table(block)


def _markdown_table(table: Table) -> str:
    lines = [
        f"**{_md(table.caption)}**",
        "",
        _row(table.header),
        _row(["---", *["---:"] * (len(table.header) - 1)], md=False),
    ]
    lines += [_row(row) for row in _cells(table)]
    return "\n".join([*lines, *(f"\n{_md(note)}" for note in table.notes)])


def _row(cells: list[str], md: bool = True) -> str:
    return "| " + " | ".join(_md(cell) if md else cell for cell in cells) + " |"


def _cells(table: Table) -> list[list[str]]:
    return [
        [shown(value, heading, table.digits) for value, heading in zip(row, table.header, strict=True)]
        for row in table.rows
    ]


def _md(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)
