"""The format of a file: by its suffix, or by its first bytes if the suffix does not tell."""

from __future__ import annotations

from dataclasses import replace

from finegold.errors import InputError
from finegold.io.readers.diagnosis import reading
from finegold.io.readers.source import Source, first_line, read_start
from finegold.io.suffixes import COMPRESSIONS, TABLES, TEXT

__all__ = ["READABLE", "by_extension", "by_magic", "recognise"]

READABLE = "CSV, TSV, JSONL (each also as .gz or .zst), JSON lists, Parquet, Arrow and Excel files"

MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\xff\xff\xff\xff": "arrow",  # the stream form
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip (or Excel)",
    b"\xd0\xcf\x11\xe0": "Excel",
    b"%PDF": "PDF",
    b"SQLite format 3": "SQLite",
}


def recognise(source: Source) -> Source:
    """Return the source with its format. Raise an InputError if Finegold does not read it."""
    start = _start(source)
    if not start.strip():
        raise InputError(f"{source.name} is empty; expected a table with a header and at least one vote")
    expected, compression = by_extension(source)
    seen = by_magic(start)
    if not expected:
        return _by_content(source, start, seen)
    if seen and seen != (compression or expected):
        said = _said(expected, compression)
        raise InputError(f"{source.name} is not {said}: its content is {seen}; rename or convert it")
    return replace(source, format=expected, compression=compression)


def by_extension(source: Source) -> tuple[str, str]:
    """Return the format and the compression that the name tells; empty texts if it does not."""
    if isinstance(source.data, bytes):
        return "", ""
    suffixes = [suffix.lower() for suffix in source.data.suffixes[-2:]]
    if not suffixes:
        return "", ""
    compression = COMPRESSIONS.get(suffixes[-1], "")
    expected = TABLES.get(suffixes[-2 if compression and len(suffixes) > 1 else -1], "")
    return (expected, compression) if expected in TEXT or not compression else ("", "")


def by_magic(start: bytes) -> str:
    if start[8:12] == b"DUCK":
        return "DuckDB"
    return next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), "")


def _start(source: Source, size: int = 4096) -> bytes:
    try:
        return read_start(source)[:size]
    except PermissionError:
        raise InputError(f"{source.name} may not be read; check its permissions (chmod u+r)") from None
    except OSError as error:
        raise InputError(f"{source.name} cannot be read: {error.strerror}") from None


def _by_content(source: Source, start: bytes, seen: str) -> Source:
    if seen in ("parquet", "arrow"):
        return replace(source, format=seen)
    if seen in ("gzip", "zstd"):
        unpacked = replace(source, compression=seen)
        return replace(unpacked, format=_text_format(_first_line(unpacked)))
    if seen in ("SQLite", "DuckDB"):
        address = f"{seen.lower()}:///{source.name}"
        raise InputError(
            f'{source.name} is a database; read it as {address} with --table NAME or --query "SELECT ..." '
            "(table= or query= in Python)"
        )
    if seen or b"\0" in start:
        found = f"its content is {seen}" if seen else "it is binary"
        raise InputError(f"{source.name} is no table that Finegold reads: {found}; it reads {READABLE}")
    return replace(source, format=_text_format(start.splitlines()[0] if start.split() else b""))


def _text_format(line: bytes) -> str:
    line = line.removeprefix(b"\xef\xbb\xbf").strip(b" ")
    if line.startswith(b"{"):
        return "jsonl"
    if line.startswith(b"["):
        return "json"
    return "tsv" if line.count(b"\t") > line.count(b",") else "csv"


def _first_line(source: Source) -> bytes:
    with reading(source):
        return first_line(source).encode()


def _said(expected: str, compression: str) -> str:
    return f"{expected.upper()} in {compression}" if compression else expected.upper()
