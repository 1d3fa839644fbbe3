"""Data frames -> CSV, TSV, JSONL (each also gzipped) and Parquet."""

from __future__ import annotations

import gzip
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from karat.errors import InputError, OutputError
from karat.files import STANDARD_OUTPUT, replacing

if TYPE_CHECKING:
    import polars as pl

__all__ = ["check_table_path", "write_frame"]

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
TEXT = [suffix for suffix, kind in FORMATS.items() if kind != "parquet"]


def write_frame(frame: Any, path: str | os.PathLike[str]) -> None:
    """Any data frame, in the format that the extension says; "-" is CSV on standard output."""
    from karat.frames import to_polars

    kind, is_packed = check_table_path(path)
    table = to_polars(frame)
    if os.fspath(path) == STANDARD_OUTPUT:
        _write_standard_output(table)
        return
    with replacing(path) as temporary:
        _guarded(table, temporary, kind, path)
        if is_packed:
            _pack(temporary)


def check_table_path(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """The format of an output path and whether it is gzipped; an InputError for any other extension."""
    if os.fspath(path) == STANDARD_OUTPUT:
        return "csv", False
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    is_packed = suffixes[-1:] == [".gz"]
    suffix = (suffixes[:-1] if is_packed else suffixes)[-1:]
    kind = FORMATS.get(suffix[0], "") if suffix else ""
    if not kind or (is_packed and kind == "parquet"):
        known = ", ".join([*FORMATS, *(f"{suffix}.gz" for suffix in TEXT)])
        raise InputError(f"{path} has no extension that Karat writes; use one of {known}")
    return kind, is_packed


def _guarded(table: pl.DataFrame, temporary: Path, kind: str, path: str | os.PathLike[str]) -> None:
    """Polars reports some troubles of the disk, and all of its own, as errors of its own."""
    import polars as pl

    try:
        with temporary.open("wb") as file:
            _write(table, file, kind)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        if "No space left" in str(error):
            raise OSError(str(error)) from error
        said = str(error).strip().splitlines()[0]
        raise OutputError(f"{path} cannot be written as {kind.upper()}: {said}") from error


def _write(table: pl.DataFrame, file: BinaryIO, kind: str) -> None:
    if kind == "parquet":
        table.write_parquet(file)
    elif kind == "jsonl":
        table.write_ndjson(file)
    else:
        table.write_csv(file, separator="\t" if kind == "tsv" else ",")


def _pack(temporary: Path) -> None:
    """The same data give the same bytes: no name and no time in the header."""
    packed = temporary.with_name(temporary.name + ".gz")
    try:
        with (
            temporary.open("rb") as source,
            packed.open("wb") as raw,
            gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as target,
        ):
            shutil.copyfileobj(source, cast(BinaryIO, target))
        packed.replace(temporary)
    finally:
        packed.unlink(missing_ok=True)


def _write_standard_output(table: pl.DataFrame) -> None:
    text = table.write_csv()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()
