"""A page as a list of blocks, rendered as HTML or Markdown. All text is escaped here."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

# columns whose names end with this word show a sign
DIFFERENCE = "difference"


class Heading(NamedTuple):
    text: str


class Picture(NamedTuple):
    # name of the file, without extension
    name: str
    caption: str


@dataclass(frozen=True)
class Table:
    # name of the CSV file, without extension
    name: str
    caption: str
    header: list[str]
    rows: list[list[Any]]
    notes: list[str] = field(default_factory=list)
    digits: int = 4

    @property
    def cells(self) -> list[list[str]]:
        """The rows as readers see them."""
        return [
            [format_cell(*cell, self.digits) for cell in zip(row, self.header, strict=True)]
            for row in self.rows
        ]


# a text is a paragraph, a list has an item per text
Block = str | list[str] | Heading | Picture | Table

STYLE = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")


def to_html(title: str, blocks: Iterable[Block], pictures: Mapping[str, bytes]) -> str:
    """Render a self-contained HTML page; the pictures (PNG, by name) are embedded."""
    body = "\n".join(_html(block, pictures) for block in blocks)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{html.escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def to_markdown(title: str, blocks: Iterable[Block], folder: str) -> str:
    """Render the page as Markdown; the pictures are files in a folder."""
    return "\n\n".join([f"# {_md(title)}", *(_markdown(block, folder) for block in blocks)]) + "\n"


def format_cell(value: Any, heading: str, digits: int) -> str:
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
        case str():
            return f"<p>{html.escape(block)}</p>"
        case list():
            return "<ul>" + "".join(f"<li>{html.escape(text)}</li>" for text in block) + "</ul>"
        case Heading(text):
            return f"<h2>{html.escape(text)}</h2>"
        case Picture(name, caption):
            data, words = base64.b64encode(pictures[name]).decode(), html.escape(caption)
            image = f'<img src="data:image/png;base64,{data}" alt="{words}">'
            return f"<figure>{image}<figcaption>{words}</figcaption></figure>"
        case Table():
            head = "".join(f"<th>{html.escape(heading)}</th>" for heading in block.header)
            cells = [[f"<td>{html.escape(cell)}</td>" for cell in row] for row in block.cells]
            rows = "".join("<tr>" + "".join(row) + "</tr>\n" for row in cells)
            notes = "".join(f'<p class="note">{html.escape(note)}</p>' for note in block.notes)
            above = f"<caption>{html.escape(block.caption)}</caption><thead><tr>{head}</tr></thead>"
            return f"<table>{above}<tbody>\n{rows}</tbody></table>{notes}"


def _markdown(block: Block, folder: str) -> str:
    match block:
        case str():
            return _md(block)
        case list():
            return "\n".join(f"- {_md(text)}" for text in block)
        case Heading(text):
            return f"## {_md(text)}"
        case Picture(name, caption):
            return f"![{_md(caption)}]({folder}/{name}.png)\n\n*{_md(caption)}*"
        case Table():
            rows = [[_md(cell) for cell in row] for row in (block.header, *block.cells)]
            rows.insert(1, ["---", *["---:"] * (len(block.header) - 1)])
            lines = [f"**{_md(block.caption)}**", "", *(f"| {' | '.join(row)} |" for row in rows)]
            return "\n".join([*lines, *(f"\n{_md(note)}" for note in block.notes)])


def _md(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)
