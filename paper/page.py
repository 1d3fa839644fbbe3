"""A page of texts, tables and pictures, as HTML (page.html) and Markdown (page.md)."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined

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
    # one per row: column -> text or number; all have the same columns
    rows: list[dict[str, Any]]
    notes: list[str] = field(default_factory=list)
    digits: int = 4

    @property
    def header(self) -> list[str]:
        return list(self.rows[0])

    @property
    def cells(self) -> list[list[str]]:
        """The rows as readers see them."""
        return [
            [_cell(value, name, self.digits) for name, value in row.items()] for row in self.rows
        ]

    def to_csv(self) -> str:
        """Return the rows for programs, with all digits."""
        return pl.DataFrame(self.rows, infer_schema_length=None).write_csv()


# a text is a paragraph, a list has an item per text
Block = str | list[str] | Heading | Picture | Table


def _cell(value: Any, column: str, digits: int) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    sign = "+" if column.endswith(DIFFERENCE) else ""
    if isinstance(value, int):
        return f"{value:{sign},}"
    text = f"{value:{sign}.{digits}f}"
    return text.replace("-", "+") if float(text) == 0 and sign else text


def write(
    folder: Path, name: str, title: str, blocks: list[Block], pictures: Mapping[str, bytes]
) -> Path:
    """Write NAME.html, which needs no other file, NAME.md, and a CSV file for each table.

    The pictures (PNG, by name) are embedded in the HTML. In Markdown they are files of the folder
    NAME beside it.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=lambda template: template == "page.html",
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters["md"] = lambda text: re.sub(r"([\\`*_\[\]<>|])", r"\\\1", text)
    environment.tests["heading"] = lambda block: isinstance(block, Heading)
    environment.tests["picture"] = lambda block: isinstance(block, Picture)
    environment.tests["table"] = lambda block: isinstance(block, Table)
    embedded = {key: base64.b64encode(png).decode() for key, png in pictures.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for kind in ("html", "md"):
        text = environment.get_template(f"page.{kind}").render(
            title=title, blocks=blocks, pictures=embedded, folder=name
        )
        (folder / f"{name}.{kind}").write_text(text.rstrip() + "\n", encoding="utf-8")
    for table in (block for block in blocks if isinstance(block, Table)):
        (folder / f"{table.name}.csv").write_text(table.to_csv(), encoding="utf-8")
    return folder / f"{name}.html"
