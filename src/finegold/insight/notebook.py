"""Data frames of what insight finds as HTML tables, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finegold.votes.frames import to_polars
from finegold.votes.notebook import Figure, rows_html


def frame_html(
    title: str, frame: Any, notes: Sequence[str] = (), columns: Sequence[str] = (), most: int = 20
) -> str:
    """Return the first rows of a data frame, or of some of its columns; `title` is HTML."""
    table = to_polars(frame)
    rows = [
        {
            name.replace("_", " "): Figure("–") if value is None else value
            for name, value in row.items()
        }
        for row in table.select(columns or table.columns).head(most).to_dicts()
    ]
    return rows_html(title, rows, notes, len(table))
