"""CSV and TSV: every value is read as text, so that 007 stays 007."""

from __future__ import annotations

from collections import Counter

import polars as pl

from finegold.errors import InputError
from finegold.io.formulas import unescaped_name
from finegold.io.readers.diagnosis import ragged_line
from finegold.io.readers.first_rows import wrong_header
from finegold.io.readers.source import BOM, Source, has_whole_text, lines_of, separator_of, text_start

__all__ = ["check_short_rows", "scan_delimited"]


def scan_delimited(source: Source) -> pl.LazyFrame:
    """Scan a text. Columns without names are called by their numbers, from 1."""
    separator = separator_of(source)
    if not source.header:
        scan = pl.scan_csv(source.data, separator=separator, has_header=False, infer_schema=False, glob=False)
        return scan.rename({name: str(n) for n, name in enumerate(scan.collect_schema().names(), 1)})
    header = _header_text(source)
    _refuse_repeated_names(source, separator)
    schema = None if header is None else pl.scan_csv(header, separator=separator, infer_schema=False).collect_schema()
    skipped = source.header - 1
    scan = pl.scan_csv(
        source.data, separator=separator, infer_schema=False, schema=schema, skip_lines=skipped, glob=False
    )
    names = {name: unescaped_name(name) for name in scan.collect_schema().names()}
    changed = {name: plain for name, plain in names.items() if plain != name}
    return scan.rename(changed) if changed else scan


def check_short_rows(source: Source) -> None:
    """Refuse short rows, which Polars fills with nulls. Called only if the last column has nulls."""
    separator = separator_of(source)
    width = len(_header(source, separator))
    if not _may_have_short_rows(source, separator, width):
        return
    found = ragged_line(source, separator)
    if found:
        raise InputError(f"{source.name}{found}")


def _may_have_short_rows(source: Source, separator: str, width: int) -> bool:
    """Return whether lines look short. Quoted values over several lines do, too, and are checked afterwards."""
    line = pl.first()
    short = line.str.count_matches(separator, literal=True) < width - 1
    return bool(lines_of(source).select((line.str.len_bytes().gt(0) & short).any()).collect().item())


def _header(source: Source, separator: str) -> list[str]:
    """Return the names as they are in the file: Polars renames duplicates."""
    text = _header_text(source)
    skipped = 0 if text else max(source.header - 1, 0)
    row = pl.scan_csv(
        text or source.data,
        has_header=False,
        separator=separator,
        infer_schema=False,
        n_rows=1,
        skip_lines=skipped,
        glob=False,
    ).collect()
    return [name or "" for name in row.row(0)] if row.height else []


def _header_text(source: Source) -> bytes | None:
    """Return the header out of the first bytes, up to the first line end outside quotation marks.

    Return None where it is not among them, is blank or is not UTF-8: then Polars looks at the file.
    """
    if source.compression == "zstd":
        return None
    text = text_start(source).removeprefix(BOM) + (b"\n" if has_whole_text(source) else b"")
    text = text.split(b"\n", max(source.header - 1, 0))[-1]
    end = quotes = 0
    while (found := text.find(b"\n", end)) >= 0:
        quotes, end = quotes + text.count(b'"', end, found), found + 1
        if quotes % 2 == 0:
            return text[:end] if text[:end].strip() and _is_utf8(text[:end]) else None
    return None


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _refuse_repeated_names(source: Source, separator: str) -> None:
    twice = [name for name, times in Counter(_header(source, separator)).items() if times > 1]
    if not twice:
        return
    if (found := wrong_header(source)) is not None:
        raise InputError(f"{source.name}: {found.what}; {found.remedy}", found.options)
    names = ", ".join(f'"{name}"' for name in twice)
    raise InputError(f"{source.name} has more than one column named {names}; give every column its own name")
