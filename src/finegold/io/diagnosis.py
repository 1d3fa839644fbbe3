"""Find out what is wrong with a file that Polars refuses. This runs after an error only, so it may be slow."""

from __future__ import annotations

import csv
import io
import json
import zlib
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NoReturn

import polars as pl

from finegold.errors import InputError, Remedy, use
from finegold.io.hints import wrong_header
from finegold.io.limits import AGAIN
from finegold.io.source import BOM, Source, first_line, open_bytes, separator_of, text_start

LONGEST = 2**24  # of a field: texts of tasks may be long, but an unclosed quotation mark must not fill memory
ROWS_OF_JSON = "expected one object per line, a list of rows, or an object of tasks"


@contextmanager
def reading(source: Source) -> Iterator[None]:
    """Turn errors of Polars into one sentence about the file."""
    try:
        yield
    except InputError:
        raise
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        EOFError,
        UnicodeError,
        csv.Error,
    ) as error:
        _explain(source, error)


def _explain(source: Source, error: BaseException) -> NoReturn:
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if source.format in ("parquet", "arrow"):
        kind = source.format.capitalize()
        raise InputError(f"{source.name} is not a complete {kind} file ({reason}); {AGAIN}") from error
    try:
        for diagnose in (_binary, _bad_unicode, bad_header, _bad_shape, _bad_json):
            if (problem := diagnose(source)) is not None:
                raise problem from error
    except (OSError, EOFError, zlib.error) as damage:
        raise InputError(f"{source.name} is damaged: it cannot be unpacked ({damage}); {AGAIN}") from error
    raise InputError(f"{source.name} cannot be read as {source.format.upper()}: {reason}") from error


def bad_header(source: Source) -> InputError | None:
    """Return what is wrong with a text whose first line is a title, or data."""
    header = wrong_header(source)
    return None if header is None else InputError(header.what, source.name, header.remedies)


def records(source: Source, separator: str) -> Generator[tuple[int, list[str]], None, None]:
    """Yield every record of a delimited file, the header first, with the line that it starts on."""
    skipped = max(source.header - 1, 0)
    with open_bytes(source) as raw, long_fields():
        text = iter(io.TextIOWrapper(raw, encoding="utf-8-sig", newline=""))
        deque(islice(text, skipped), maxlen=0)
        reader = csv.reader(text, delimiter=separator)
        line = skipped + 1
        for record in reader:
            yield line, record
            line = skipped + reader.line_num + 1


@contextmanager
def long_fields() -> Iterator[None]:
    """Raise the limit of the csv module, 128 KiB per field, and restore it: it holds for the whole process."""
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def line_of_row(source: Source, separator: str, row: int) -> int | None:
    """Return the line on which data row `row` (from zero) starts, or None if it cannot be found."""
    try:
        for number, (line, _) in enumerate(records(source, separator), start=-1 if source.header else 0):
            if number == row:
                return line
    except (csv.Error, UnicodeError, OSError, EOFError, pl.exceptions.PolarsError):
        pass
    return None


def ragged_line(source: Source, separator: str, may_omit: int = 0) -> InputError | None:
    """Return what is wrong with the first line of too many or too few fields; None if there is none."""
    width = 0
    for line, record in records(source, separator):
        width = width or len(record)
        if record and not width - may_omit <= len(record) <= width:
            kind = "many" if len(record) > width else "few"
            return InputError(
                f"{source.name}, line {line}: too {kind} fields, found {len(record)} but the header has {width}; "
                "repair the line (a value that contains the separator must be quoted)"
            )
    return None


def _binary(source: Source) -> InputError | None:
    with open_bytes(source) as file:
        if b"\0" not in file.read(1 << 16):
            return None
    kind = source.format.upper()
    return InputError(f"{source.name} is not {kind} text but binary data (or UTF-16); save it as UTF-8 text")


def _bad_unicode(source: Source) -> InputError | None:
    with open_bytes(source) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = line[error.start : error.start + 1].hex()
                problem = f"{source.name}, line {number}: not valid UTF-8 (byte 0x{byte})"
                if encoding := _western(source):
                    remedies = [use(encoding=encoding), Remedy(text="save it as UTF-8")]
                    return InputError(f"{problem}; it looks like {encoding}", remedies=remedies)
                return InputError(f"{problem}; save the file as UTF-8")
    return None


def _western(source: Source) -> str:
    """Return the name of an encoding of one byte per character that the first bytes fit, or nothing."""
    start = text_start(source)
    if b"\0" in start or any(byte < 32 and byte not in b"\t\r\n\f" for byte in start):
        return ""
    return "cp1252" if any(0x80 <= byte < 0xA0 for byte in start) else "latin-1"


def _bad_shape(source: Source) -> InputError | None:
    if not source.is_delimited:
        return None
    try:
        if not first_line(source):
            return InputError(f"{source.name}: the first line is blank; remove it, for the header must come first")
        if (ragged := ragged_line(source, separator_of(source))) is not None:
            return ragged
    except (csv.Error, pl.exceptions.PolarsError):
        return None
    with open_bytes(source) as file:
        quotes = sum(line.count(b'"') for line in file)
    never = f"{source.name}: a quotation mark is opened and never closed; repair the file"
    return InputError(never) if quotes % 2 else None


def _bad_json(source: Source) -> InputError | None:
    if source.format != "jsonl":
        return None
    with open_bytes(source) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line.removeprefix(BOM))
                problem = "" if isinstance(value, dict) else f"found {type(value).__name__}"
            except (ValueError, RecursionError) as error:
                if _is_json(source):
                    return InputError(
                        f"{source.name} is JSON, but holds no votes that Finegold recognises; {ROWS_OF_JSON}",
                        remedies=[use(format="nested-json", when="if it is an object of tasks")],
                    )
                problem = f"not valid JSON ({error})"
            if problem:
                return InputError(f"{source.name}, line {number}: {problem}; expected one JSON object per line")
    return None


def _is_json(source: Source) -> bool:
    """Return whether the file is JSON although its lines are not: objects over several lines."""
    import ijson

    with open_bytes(source) as file:
        try:
            deque(ijson.basic_parse(file, multiple_values=True), maxlen=0)
        except ijson.JSONError:
            return False
    return True
