"""Data frames, whole or in pieces -> CSV, TSV, JSONL (each also gzipped), Parquet and Excel."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from finegold.errors import InputError, OutputError
from finegold.io.formulas import ESCAPE, escaped
from finegold.io.suffixes import TEXT, WRITABLE
from finegold.io.writers.workbook import write_workbook
from finegold.system.files import STANDARD_OUTPUT, print_bytes, replacing

if TYPE_CHECKING:
    import polars as pl

    from finegold.results.data import ResultData

__all__ = ["check_table_path", "polars_errors", "write_frame", "write_labels", "write_pieces"]

MOST_ROWS = 2**16  # written at a time
GZIP = 31  # zlib's number for a stream with the header and the checksum of gzip


def write_frame(frame: Any, path: str | os.PathLike[str], *, escape_formulas: bool | None = None) -> None:
    """Write a data frame of any library as CSV, TSV, JSONL, Parquet or XLSX, as the extension says.

    Parameters
    ----------
    frame : DataFrame
        The table.
    path : str or Path
        The file to write; "-" is CSV on standard output.
    escape_formulas : bool, optional
        Put an apostrophe in front of texts in CSV and TSV that a spreadsheet would take for formulas. Finegold's
        readers remove it. The default is True.

    Raises
    ------
    InputError
        If the format is not known.
    OutputError
        If the file cannot be written. An existing file is left as it was.
    """
    from finegold.votes.frames import to_polars

    check_table_path(path)
    write_pieces([to_polars(frame)], path, escape_formulas=escape_formulas)


def write_labels(
    result: ResultData,
    path: str | os.PathLike[str],
    *,
    probabilities: bool = False,
    scores: bool = False,
    escape_formulas: bool | None = None,
) -> None:
    """Write the labels piece by piece, without holding all of them in memory.

    The file has the columns of `Result.labels` and `is_gold`. The column of the tasks keeps the name that it has in the
    votes, and tasks are in their natural order (t2 before t10).

    Parameters
    ----------
    result : Result
        The labels.
    path : str or Path
        The file to write: CSV, TSV, JSONL, Parquet or XLSX, as the extension says; "-" is CSV on standard output.
    probabilities : bool, default False
        Add a column per class with its probability.
    scores : bool, default False
        Add the expected score and its interval, for ordered classes.
    escape_formulas : bool, optional
        Put an apostrophe in front of texts in CSV and TSV that a spreadsheet would take for formulas. Finegold's
        readers remove it. The default is True.

    Raises
    ------
    InputError
        If the format is not known.
    OutputError
        If the file cannot be written. An existing file is left as it was.
    """
    from finegold.results.tables import labels_pieces

    check_table_path(path)
    pieces = labels_pieces(result, probabilities=probabilities, scores=scores, for_users=True)
    write_pieces(pieces, path, escape_formulas=escape_formulas)


def write_pieces(
    pieces: Iterable[pl.DataFrame], path: str | os.PathLike[str], *, escape_formulas: bool | None = None
) -> None:
    """Write one or more tables with the same columns as one table. Each is made when the one before is written.

    escape_formulas: whether to put an apostrophe before each text in CSV and TSV that a spreadsheet would take for a
        formula; by default yes. Finegold's readers remove it.
    """
    kind, is_packed = check_table_path(path)
    if kind in ("csv", "tsv") and (ESCAPE.get() if escape_formulas is None else escape_formulas):
        pieces = map(escaped, pieces)
    if os.fspath(path) == STANDARD_OUTPUT:
        _print(pieces)
        return
    with replacing(path) as temporary, polars_errors(path, kind):
        if kind == "parquet":
            _sink_parquet(pieces, temporary)
            return
        if kind == "xlsx":
            write_workbook(pieces, temporary)
            return
        with temporary.open("wb") as file:
            for data in _packed(_texts(pieces, kind)) if is_packed else _texts(pieces, kind):
                file.write(data)


def check_table_path(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """Return the format of an output path and whether it is gzipped. Raise an InputError for other suffixes."""
    if os.fspath(path) == STANDARD_OUTPUT:
        return "csv", False
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    is_packed = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:-1] if is_packed else suffixes)[-1:]
    kind = WRITABLE.get(suffix[0], "") if suffix else ""
    if not kind or (is_packed and kind not in TEXT):
        known = ", ".join([*WRITABLE, *(f"{suffix}.gz" for suffix in WRITABLE if WRITABLE[suffix] in TEXT)])
        raise InputError(f"{path} has no extension that Finegold writes; use one of {known}")
    shown = os.fsencode(path).decode(errors="backslashreplace")
    if kind == "parquet" and shown != os.fspath(path):  # Polars opens the file itself
        raise InputError(f"{shown} is not valid UTF-8, as the name of a Parquet file must be; choose another name")
    return kind, is_packed


@contextmanager
def polars_errors(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Turn the errors that Polars raises into those of Finegold: it reports some errors of the disk as its own."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if "No space left" in str(error):
            raise OSError(str(error)) from error
        if "KeyboardInterrupt" in str(error):  # in what Polars called
            raise KeyboardInterrupt from error
        said = str(error).strip().splitlines()[0]
        raise OutputError(f"{path} cannot be written as {kind.upper()}: {said}") from error


def _texts(pieces: Iterable[pl.DataFrame], kind: str) -> Iterator[bytes]:
    """Write pieces into memory: Polars would report Ctrl-C during a write to a Python file as an error of the file."""
    for number, piece in enumerate(part for whole in pieces for part in _slices(whole)):
        text = io.BytesIO()
        if kind == "jsonl":
            piece.write_ndjson(text)
        else:
            piece.write_csv(text, separator="\t" if kind == "tsv" else ",", include_header=number == 0)
        yield text.getvalue()


def _slices(piece: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Cut a table into slices that are written quickly. A table without rows still has a header."""
    return piece.iter_slices(MOST_ROWS) if piece.height else iter([piece])


def _print(pieces: Iterable[pl.DataFrame]) -> None:
    """Write bytes to standard output: Polars would report a closed pipe or a full disk in its own way."""
    for number, piece in enumerate(pieces):
        print_bytes(piece.write_csv(include_header=number == 0).encode())


def _sink_parquet(pieces: Iterable[pl.DataFrame], path: Path) -> None:
    """Let Polars take the pieces one by one: it packs one while the next is made."""
    from polars.io.plugins import register_io_source

    rest = iter(pieces)
    first = next(rest)

    def source(*_: Any) -> Iterator[pl.DataFrame]:
        yield first
        yield from rest

    register_io_source(source, schema=first.schema).sink_parquet(path)


def _packed(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Compress as gzip, without name and time in the header: the same data give the same bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, GZIP)
    for text in texts:
        yield packer.compress(text)
    yield packer.flush()
