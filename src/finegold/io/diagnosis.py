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

from finegold.errors import InputError
from finegold.io.source import Source, first_line, lines_of, open_bytes, separator_of, text_start

__all__ = ["line_of_row", "long_fields", "ragged_line", "reading", "records"]


LONGEST = 2**24  # of a field: texts of tasks may be long, but an unclosed quotation mark must not fill memory

INVALID = "no valid JSON"
ROWS_OF_JSON = "expected one object per line, a list of rows, or an object of tasks (--format nested-json)"


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
        explain(source, error)


def explain(source: Source, error: BaseException) -> NoReturn:
    if source.compression == "zstd" and (not source.format or isinstance(error, OSError)):
        raise InputError(f"{source.name}{_bad_zstd(str(error))}; fetch or write the file again") from error
    from finegold.io.columns import wrong_header

    if (header := wrong_header(source)) is not None and not _bad_unicode(source, str(error)):
        raise InputError(header.what, source.name, header.remedies) from error
    for diagnose in (_binary, _bad_unicode, _bad_shape, _bad_json):
        try:
            found = diagnose(source, str(error))
        except (OSError, EOFError, zlib.error) as damage:
            again = "fetch or write the file again"
            raise InputError(f"{source.name} is damaged: it cannot be unpacked ({damage}); {again}") from error
        if found:
            raise InputError(f"{source.name}{found}", _encoding(source) if diagnose is _bad_unicode else {}) from error
    said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    raise InputError(f"{source.name} cannot be read as {source.format.upper()}: {said}") from error


def records(source: Source, separator: str) -> Generator[tuple[int, list[str]], None, None]:
    """Yield every record of a delimited file, the header first, with the line that it starts on."""
    skipped = max(source.header - 1, 0)
    with open_bytes(source) as raw, long_fields():
        text = _text_lines(source, raw)
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


def ragged_line(source: Source, separator: str, may_omit: int = 0) -> str:
    """Describe the first line with too many or too few fields; return an empty text if there is none."""
    width = 0
    for line, record in records(source, separator):
        width = width or len(record)
        if record and not width - may_omit <= len(record) <= width:
            kind = "many" if len(record) > width else "few"
            return (
                f", line {line}: too {kind} fields, found {len(record)} but the header has {width}; "
                "repair the line (a value that contains the separator must be quoted)"
            )
    return ""


def _text_lines(source: Source, raw: object) -> Iterator[str]:
    if source.compression == "zstd":
        return (f"{line or ''}\n" for line in lines_of(source).collect().to_series().to_list())
    return iter(io.TextIOWrapper(raw, encoding="utf-8-sig", newline=""))  # type: ignore[type-var]


def _bad_zstd(said: str) -> str:
    if "incomplete frame" in said:
        return " is cut short: the zstd data ends too early"
    return f" is damaged: it cannot be unpacked with zstd ({said})"


def _binary(source: Source, said: str) -> str:
    if source.format == "parquet" or source.format == "arrow":
        detail = said.strip().splitlines()[0]
        return f" is no whole {source.format.capitalize()} file ({detail}); fetch or write the file again"
    if source.compression == "zstd":
        return ""
    with open_bytes(source) as file:
        if b"\0" in file.read(1 << 16):
            return f" is not {source.format.upper()} text but binary data (or UTF-16); save it as UTF-8 text"
    return ""


def _bad_unicode(source: Source, said: str) -> str:
    if source.compression == "zstd":
        return " is not valid UTF-8; save it as UTF-8" if "utf-8" in said.lower() else ""
    with open_bytes(source) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                found = line[error.start : error.start + 1].hex()
                what = f", line {number}: not valid UTF-8 (byte 0x{found})"
                name = _western(source)
                looks = f"; it looks like {name}: say --encoding {name} (encoding= in Python), or save it as UTF-8"
                return what + (looks if name else "; save the file as UTF-8")
    return ""


def _encoding(source: Source) -> dict[str, str | None]:
    return {"--encoding": found} if source.compression != "zstd" and (found := _western(source)) else {}


def _western(source: Source) -> str:
    """Return the name of an encoding of one byte per character that the first bytes fit, or nothing."""
    start = text_start(source)
    if b"\0" in start or any(byte < 32 and byte not in b"\t\r\n\f" for byte in start):
        return ""
    return "cp1252" if any(0x80 <= byte < 0xA0 for byte in start) else "latin-1"


def _bad_shape(source: Source, said: str) -> str:
    if not source.is_delimited:
        return ""
    try:
        if not first_line(source):
            return ": the first line is blank; remove it, for the header must come first"
        return ragged_line(source, separator_of(source)) or _open_quote(source)
    except (csv.Error, pl.exceptions.PolarsError):
        return ""


def _open_quote(source: Source) -> str:
    with open_bytes(source) as file:
        quotes = sum(line.count(b'"') for line in file)
    return ": a quotation mark is opened and never closed; repair the file" if quotes % 2 else ""


def _bad_json(source: Source, said: str) -> str:
    if source.format != "jsonl" or source.compression == "zstd":
        return ""
    with open_bytes(source) as file:
        for number, line in enumerate(file, start=1):
            problem = _json_problem(line.removeprefix(b"\xef\xbb\xbf")) if line.strip() else ""
            if problem.startswith(INVALID) and _is_json(source):
                return f" is JSON, but holds no votes that Finegold recognises; {ROWS_OF_JSON}"
            if problem:
                return f", line {number}: {problem}; expected one JSON object per line"
    return ""


def _is_json(source: Source) -> bool:
    """Return whether the file is JSON although its lines are not: objects over several lines."""
    import ijson

    with open_bytes(source) as file:
        try:
            deque(ijson.basic_parse(file, multiple_values=True), maxlen=0)
        except ijson.JSONError:
            return False
    return True


def _json_problem(line: bytes) -> str:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"{INVALID} ({error})"
    return "" if isinstance(found, dict) else f"found {type(found).__name__}"
