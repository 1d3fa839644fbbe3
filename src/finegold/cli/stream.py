"""Write simulations as tables, piece by piece, so that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from finegold.errors import InputError
from finegold.io.writers import check_table_path
from finegold.system.files import replacing_all
from finegold.votes.simulation import Process, draw_truth, pieces

if TYPE_CHECKING:
    from finegold.votes.encoding import Codes

__all__ = ["output_paths", "write_simulation"]

SINKS = {"csv": "sink_csv", "jsonl": "sink_ndjson", "parquet": "sink_parquet"}


def output_paths(out: str, kind: str | None) -> tuple[Path, Path, str]:
    """Return the paths of votes and truths and the format. A name without a known extension is a folder."""
    path = Path(out)
    if path.is_dir() or path.suffix == "":
        kind = kind or "csv"
        return path / f"votes.{kind}", path / f"truth.{kind}", kind
    found, is_packed = check_table_path(path)
    if found not in SINKS or is_packed:
        raise InputError(f"{out} must end in .csv, .jsonl or .parquet, or be a folder")
    if kind not in (None, found):
        raise InputError(f"--format is {kind} but the extension of {out} is {found}")
    return path, path.with_name(f"{path.stem}-truth{path.suffix}"), found


def write_simulation(
    process: Process, n_tasks: int, names: list[str] | None, votes: Path, truth: Path, kind: str
) -> int:
    """Write both tables or none, and return the number of votes."""
    written = RowCounter()
    with replacing_all([votes, truth]) as (first, second):
        _sink(written.counted(_vote_tables(process, n_tasks, names)), first, kind)
        _sink(_truth_tables(process, n_tasks, names), second, kind)
    return written.rows


class RowCounter:
    """Counts the rows of tables while they are iterated over."""

    rows = 0

    def counted(self, tables: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        for table in tables:
            self.rows += table.height
            yield table


def _vote_tables(process: Process, n_tasks: int, names: list[str] | None) -> Iterator[pl.DataFrame]:
    for piece in pieces(process, n_tasks):
        columns = {"task": piece.task, "annotator": piece.annotator, "label": _named(piece.label, names)}
        yield pl.DataFrame(columns)


def _truth_tables(process: Process, n_tasks: int, names: list[str] | None) -> Iterator[pl.DataFrame]:
    for first, truth in draw_truth(process, n_tasks):
        task = np.arange(first, first + len(truth), dtype=np.int32)
        yield pl.DataFrame({"task": task, "truth": _named(truth, names)})


def _named(codes: Codes, names: list[str] | None) -> pl.Series:
    known = pl.Series(codes).replace(-1, None)  # a missing label is null
    return known if names is None else pl.Series(names).gather(known)


def _sink(tables: Iterator[pl.DataFrame], path: Path, kind: str) -> None:
    """Write the tables one by one with a streaming sink of Polars."""
    first = next(tables)

    def source(*_: Any) -> Iterator[pl.DataFrame]:
        yield first
        yield from tables

    frame = register_io_source(source, schema=first.schema)
    try:
        getattr(frame, SINKS[kind])(path)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from error
        raise OSError(str(error)) from error  # `replacing` turns it into a message for the user
