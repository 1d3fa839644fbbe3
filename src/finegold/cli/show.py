"""Show data frames as tables on the terminal."""

from __future__ import annotations

from typing import Any

__all__ = ["console", "figures_table", "frame_table"]


def console() -> Any:
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # guard.py ends with exit code 0 then; Rich would end with 1

    made = Screen(highlight=False)
    if not made.is_terminal:  # files and pipes have no width
        made.width = 140
    return made


def frame_table(title: str, frame: Any, rows: int) -> Any:
    """Return a table of the first rows of a data frame; its caption has the number of further rows."""
    from rich.box import SIMPLE
    from rich.markup import escape
    from rich.table import Table

    from finegold.votes.frames import to_polars

    shown = to_polars(frame)
    more = max(len(shown) - rows, 0)
    table = Table(box=SIMPLE, title=title, title_justify="left", caption=f"{more:,} more" if more else None)
    for name in shown.columns:
        table.add_column(name.replace("_", " "), justify="right" if shown[name].dtype.is_numeric() else "left")
    for row in shown.head(rows).iter_rows(named=True):
        table.add_row(*(escape(_text(name, value)) for name, value in row.items()))
    return table


def figures_table(title: str, rows: list[tuple[str, str]]) -> Any:
    """Return a table with one name and one value per row."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE, title=title, title_justify="left", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for row in rows:
        table.add_row(*row)
    return table


def _text(name: str, value: Any) -> str:
    if value is None or value != value:  # NaN differs from itself
        return "–"
    if isinstance(value, float):
        return f"{value:.3f}"
    is_number_of = type(value) is int and name.startswith("n_")  # other integers are names of tasks and annotators
    return f"{value:,}" if is_number_of else str(value)
