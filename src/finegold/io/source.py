"""One file, or all bytes of a stream: what it is, its first bytes and its lines.

The first bytes are read once and kept with the source. Everything that asks what a file is looks at them.
"""

from __future__ import annotations

import codecs
import difflib
import glob
import gzip
import io
import os
import re
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, BinaryIO, NoReturn, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.databases import is_database, parse
from finegold.io.parquet_pages import damaged_page

__all__ = [
    "ARROW",
    "ARROW_STREAM",
    "BOM",
    "COMPRESSIONS",
    "DEFAULTS",
    "DIALECT",
    "EXPORTS",
    "PARQUET",
    "READABLE",
    "READABLE_FILES",
    "START",
    "TABLES",
    "TEXT",
    "WORKBOOKS",
    "WRITABLE",
    "Dialect",
    "Source",
    "archive_members",
    "by_extension",
    "by_magic",
    "check_lines",
    "check_nesting",
    "check_rows",
    "check_source",
    "first_line",
    "first_lines",
    "has_whole_text",
    "is_files",
    "limit",
    "lines_of",
    "most_unpacked",
    "open_bytes",
    "read_start",
    "recognise",
    "refuse",
    "remedy_of",
    "separator_of",
    "size_of",
    "sources_of",
    "start_of",
    "text_start",
]


START = 2**14  # bytes that tell what kind of file it is; they are kept for each of many files
BOM = b"\xef\xbb\xbf"  # that some editors put in front
GZIP_HEADER = 31  # zlib's number for data with the header of gzip
LINES = 20  # that show the separator
QUOTED = re.compile('"[^"]*"')
UNUSED = "\x1f"  # a separator that hardly ever occurs, so that a line is one field


@dataclass(frozen=True)
class Source:
    """Where votes come from, and how they are written there.

    `replace` keeps what was seen of the file, so give a source of other data a `Source` of its own.
    """

    name: str  # as the user knows it
    data: Path | bytes
    format: str = ""
    compression: str = ""
    annotator: str = ""  # who cast all votes of the file, if its name tells
    separator: str = ""  # of the columns of a delimited text; empty to find it
    header: int = 1  # the line of a delimited text with the names of the columns; 0 if there is none
    seen: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)  # what was read of the file before

    @property
    def is_delimited(self) -> bool:
        return self.format in ("csv", "tsv")


def open_bytes(source: Source) -> BinaryIO:
    """Open the text for reading bytes. It is unpacked from gzip only: Python 3.11 has no zstd."""
    if source.compression == "gzip":
        return cast(BinaryIO, gzip.open(_file(source), "rb"))
    return io.BytesIO(source.data) if isinstance(source.data, bytes) else source.data.open("rb")


def read_start(source: Source) -> bytes:
    """Return the first bytes as they are on disk. They are read when they are first asked for."""
    if isinstance(source.data, bytes):
        return source.data[:START]
    if "start" not in source.seen:
        with source.data.open("rb") as file:
            source.seen["start"] = file.read(START)
    start: bytes = source.seen["start"]
    return start


def start_of(source: Source) -> bytes:
    """Return the first bytes, or none if the file cannot be read: the reader reports it."""
    with suppress(OSError):
        return read_start(source)
    return b""


def text_start(source: Source) -> bytes:
    """Return the first bytes of a text, unpacked from gzip."""
    start = read_start(source)
    return _unpacked(start) if source.compression == "gzip" else start


def has_whole_text(source: Source) -> bool:
    """Return whether `text_start` is the whole text."""
    return len(read_start(source)) < START and len(text_start(source)) < START


def archive_members(source: Source) -> list[zipfile.ZipInfo]:
    """Return the files in a zip archive, which is opened once."""
    if "members" not in source.seen:
        try:
            with zipfile.ZipFile(_file(source)) as archive:
                source.seen["members"] = archive.infolist()
        except NotImplementedError as error:  # the version of the format, which damage changes
            raise zipfile.BadZipFile(str(error)) from error
    members: list[zipfile.ZipInfo] = source.seen["members"]
    return members


def size_of(source: Source) -> int:
    """Return the number of bytes on disk."""
    return len(source.data) if isinstance(source.data, bytes) else source.data.stat().st_size


def lines_of(source: Source, most: int | None = None) -> pl.LazyFrame:
    """Return the lines of a text, one per row, blank ones as null. Polars unpacks gzip and zstd."""
    return pl.scan_csv(
        source.data,
        has_header=False,
        separator=UNUSED,
        quote_char=None,
        infer_schema=False,
        truncate_ragged_lines=True,
        n_rows=most,
        glob=False,
    )


def first_line(source: Source) -> str:
    """Return the first line, out of the first bytes if it is among them."""
    if source.compression != "zstd":
        line, end, _ = text_start(source).removeprefix(BOM).partition(b"\n")
        with suppress(UnicodeDecodeError):  # Polars says what is wrong
            if end or has_whole_text(source):
                return line.decode().removesuffix("\r")
    head = lines_of(source, most=1).collect()
    return UNUSED.join(cell or "" for cell in head.row(0)) if head.height else ""


def separator_of(source: Source) -> str:
    """Return the separator that the user names, or the one that the first lines show."""
    if source.separator:
        return source.separator
    kept = f"separator {source.header}"
    if kept not in source.seen:
        source.seen[kept] = _find_separator(first_lines(source, source.header), source.format)
    found: str = source.seen[kept]
    return found


def first_lines(source: Source, first: int = 1) -> list[str]:
    """Return some lines that are not blank, from line `first` on; the last of the first bytes may be cut."""
    if source.compression == "zstd":
        lines = [line or "" for line in lines_of(source, most=first + LINES).collect().to_series().to_list()]
    else:
        lines = text_start(source).removeprefix(BOM).decode(errors="replace").splitlines()
        lines = lines if len(lines) == 1 or has_whole_text(source) else lines[:-1]
    return [line for line in lines[max(first - 1, 0) :] if line.strip()][:LINES]


def _find_separator(lines: list[str], format: str) -> str:
    """Return the mark that the header has; of several, one that each line has equally often."""
    marks = "\t,;|" if format == "tsv" else ",;\t|"
    plain = [QUOTED.sub("", line) for line in lines] or [""]
    counts = {mark: [line.count(mark) for line in plain] for mark in f"{marks} "}
    found = [mark for mark in marks if counts[mark][0]]
    steady = [mark for mark in found if len(set(counts[mark])) == 1]
    if found:
        return (steady or found)[0]
    has_spaces = len(lines) > 1 and counts[" "][0] > 1 and len(set(counts[" "])) == 1
    return " " if has_spaces else marks[0]


def _file(source: Source) -> Path | io.BytesIO:
    return io.BytesIO(source.data) if isinstance(source.data, bytes) else source.data


def _unpacked(start: bytes) -> bytes:
    """Unpack the beginning of a gzip file, which may have several members; damage ends it."""
    text = b""
    while start and len(text) < START:
        member = zlib.decompressobj(GZIP_HEADER)
        with suppress(zlib.error):
            text += member.decompress(start, START - len(text))
        start = member.unused_data
    return text


DEFAULTS = {
    "CELLS": 10_000_000,  # of a sheet of a workbook, or of a Parquet or Arrow file (empty cells included)
    "CLASSES": 10_000,  # that a column of labels may hold
    "COLUMNS": 20_000,  # of a table
    "DEPTH": 100,  # of lists and objects inside each other in JSON
    "LINE": 2**24,  # bytes of one line of JSON Lines, or of a field of a CSV
    "UNPACKED": 2**26,  # bytes of a compressed file after unpacking, unless PACKED_TIMES its size is more
}
PACKED_TIMES = 100


def limit(name: str) -> int:
    """Return the limit of the environment, or its default."""
    value = os.environ.get(f"FINEGOLD_MAX_{name}")
    try:
        return DEFAULTS[name] if value is None else int(float(value))
    except (ValueError, OverflowError):
        raise InputError(f"FINEGOLD_MAX_{name} is {value!r}; expected a number, such as {DEFAULTS[name]}") from None


def refuse(file: str, found: str, name: str) -> NoReturn:
    """Raise an InputError that names the limit and how to raise it."""
    raise InputError(f"{file} {found}, which is the limit; {remedy_of(name)}")


def remedy_of(name: str) -> str:
    """Return the end of such a message."""
    return f"if you trust the file, raise the limit: FINEGOLD_MAX_{name}=N in the environment"


MAGIC = 0xFD2FB528
SKIPPABLE = 0x184D2A50  # to ...5F: frames that hold no data
MOST_IN_BLOCK = 2**17
RAW, RLE = 0, 1


def most_unpacked(file: BinaryIO) -> int:
    """Return an upper bound of the bytes of all frames. What follows damage does not count."""
    size = 0
    while len(head := file.read(4)) == 4:
        magic = int.from_bytes(head, "little")
        if magic & ~0xF == SKIPPABLE:
            file.seek(int.from_bytes(file.read(4), "little"), 1)
        elif magic == MAGIC:
            size += _frame(file)
        else:
            break
    return size


def _frame(file: BinaryIO) -> int:
    """Return the size that the header declares or that the blocks allow, whichever is less."""
    descriptor = int.from_bytes(file.read(1), "little")
    is_single, has_checksum = bool(descriptor & 0x20), bool(descriptor & 4)
    file.read((0 if is_single else 1) + (0, 1, 2, 4)[descriptor & 3])
    width = (1 if is_single else 0, 2, 4, 8)[descriptor >> 6]
    said = int.from_bytes(file.read(width), "little") + (256 if width == 2 else 0)
    size = _blocks(file)
    file.read(4 if has_checksum else 0)
    return min(size, said) if width else size


def _blocks(file: BinaryIO) -> int:
    size = 0
    while len(head := file.read(3)) == 3:
        header = int.from_bytes(head, "little")
        kind, length = header >> 1 & 3, header >> 3
        size += length if kind in (RAW, RLE) else MOST_IN_BLOCK
        file.seek(1 if kind == RLE else length, 1)
        if header & 1:  # the last block
            break
    return size


CHUNK = 2**20
AGAIN = "fetch or write the file again"
GZIP, ZSTD, ZIP = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
QUOTE = ord('"')
NO_MARKS = bytes(set(range(256)) - set(b'"[]{}'))
POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
OPENS = 2  # the bit that [ and { have, and ] and } have not


def check_source(source: Source) -> None:
    """Refuse a file that exceeds a limit, and damaged gzip. Readers report other damage."""
    with suppress(OSError, zipfile.BadZipFile, *POLARS), whole_gzip(source):
        start = start_of(source)[: len(ZIP)]
        if start == ZIP:
            _check_zip(source)
        elif start in (PARQUET, ARROW, ARROW_STREAM):
            check_rows(source, start)
        elif start == ZSTD:
            _check_zstd(source)
            _check_text(replace(source, compression="zstd"))
        else:
            _check_text(replace(source, compression="gzip" if start.startswith(GZIP) else ""))


@contextmanager
def whole_gzip(source: Source) -> Iterator[None]:
    """Raise an InputError for a file that cannot be unpacked."""
    try:
        yield
    except EOFError:
        raise InputError(f"{source.name} is cut short: the gzip data ends too early; {AGAIN}") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{source.name} is damaged: it cannot be unpacked with gzip ({error}); {AGAIN}") from None


def check_lines(source: Source) -> None:
    """Refuse JSON Lines with a very long line: parsing it takes minutes."""
    most, length = limit("LINE"), 0
    with suppress(OSError, pl.exceptions.PolarsError):
        for chunk in _chunks(source):
            first, *others = chunk.split(b"\n")
            length = max([length + len(first), *map(len, others)])
            if length > most:
                refuse(source.name, f"has a line of more than {most:,} bytes", "LINE")
            length = len(others[-1]) if others else length


def _check_zip(source: Source) -> None:
    _check_unpacked(source, sum(member.file_size for member in archive_members(source)))


def _check_zstd(source: Source) -> None:
    with open_bytes(replace(source, compression="")) as file:
        _check_unpacked(source, most_unpacked(file))


def _check_unpacked(source: Source, size: int) -> None:
    most = max(limit("UNPACKED"), PACKED_TIMES * size_of(source))
    if size > most:
        refuse(source.name, f"unpacks to more than {most:,} bytes", "UNPACKED")


def _check_text(source: Source) -> None:
    """Check in one pass the unpacked size of a compressed file, and the nesting of JSON."""
    if not source.compression:
        start = start_of(source)
        if not Nesting(source.name).add(start) or len(start) < START:
            return
    size, nesting = 0, Nesting(source.name)
    for chunk in _chunks(source):
        size += len(chunk)
        if source.compression:
            _check_unpacked(source, size)
        is_json = nesting.add(chunk)
        if not is_json and source.compression != "gzip":
            return


def check_nesting(name: str, file: IO[bytes]) -> None:
    """Refuse a file of an archive whose JSON is nested too deep."""
    nesting = Nesting(name)
    while (chunk := file.read(CHUNK)) and nesting.add(chunk):
        pass


def _chunks(source: Source) -> Iterator[bytes]:
    if source.compression == "zstd":  # which only Polars can unpack
        for batch in lines_of(source).collect_batches():
            yield "\n".join(line or "" for line in batch.to_series()).encode() + b"\n"
        return
    with open_bytes(source) as file:
        while chunk := file.read(CHUNK):
            yield chunk


class Nesting:
    """Measure how deep JSON lists and objects are nested, and how long strings are."""

    def __init__(self, name: str) -> None:
        self.name, self.begins, self.depth = name, b"", 0
        self.most, self.longest = limit("DEPTH"), limit("LINE")
        self.is_in_string, self.length, self.backslash = False, 0, b""

    def add(self, chunk: bytes) -> bool:
        """Add a chunk of text, and return whether the text may be JSON."""
        self.begins = self.begins or chunk.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        if self.begins in (b"[", b"{"):
            self._add(chunk)
        return self.begins in (b"", b"[", b"{")

    def _add(self, chunk: bytes) -> None:
        text = self.backslash + chunk
        self.backslash = b"\\" if (len(text) - len(text.rstrip(b"\\"))) % 2 else b""
        text = text.removesuffix(self.backslash).replace(rb"\\", b"").replace(rb"\"", b"")
        marks = np.frombuffer(text.translate(None, NO_MARKS), np.uint8)
        self._measure(marks == QUOTE, len(chunk))
        self._descend(marks)

    def _measure(self, is_quote: NDArray[np.bool_], size: int) -> None:
        """Limit strings over several chunks: a parser reads these again and again."""
        self.length = self.length + size if self.is_in_string and not is_quote.any() else 0
        if self.length > self.longest:
            refuse(self.name, f"has a text of more than {self.longest:,} bytes", "LINE")

    def _descend(self, marks: NDArray[np.uint8]) -> None:
        is_quote = marks == QUOTE
        is_inside = (np.cumsum(is_quote) + self.is_in_string) % 2 == 1
        brackets = marks[~is_inside & ~is_quote]
        self.is_in_string = bool(is_inside[-1]) if marks.size else self.is_in_string
        if brackets.size:
            depths = self.depth + np.cumsum(np.where(brackets & OPENS, 1, -1))
            self.depth = int(depths[-1])
            if depths.max() > self.most:
                refuse(self.name, f"has JSON lists and objects nested more than {self.most:,} deep", "DEPTH")


TABLES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
TEXT = frozenset({"csv", "tsv", "jsonl"})  # formats that can be compressed
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
EXPORTS = (".json", ".json.gz", ".zip", ".eval", *WORKBOOKS)  # of files in a folder without plain tables
READABLE = frozenset({*TABLES, *COMPRESSIONS, *WORKBOOKS, ".json", ".zip", ".eval", ".manifest"})
WRITABLE = {suffix: kind for suffix, kind in TABLES.items() if kind in TEXT | {"parquet"}} | {".xlsx": "xlsx"}


READABLE_FILES = "CSV, TSV, JSONL (each also as .gz or .zst), JSON lists, Parquet, Arrow and Excel files"

MAGIC_FORMATS = {
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
    return next((kind for magic, kind in MAGIC_FORMATS.items() if start.startswith(magic)), "")


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
        raise InputError(f"{source.name} is no table that Finegold reads: {found}; it reads {READABLE_FILES}")
    return replace(source, format=_text_format(start.splitlines()[0] if start.split() else b""))


def _text_format(line: bytes) -> str:
    line = line.removeprefix(b"\xef\xbb\xbf").strip(b" ")
    if line.startswith(b"{"):
        return "jsonl"
    if line.startswith(b"["):
        return "json"
    return "tsv" if line.count(b"\t") > line.count(b",") else "csv"


def _first_line(source: Source) -> bytes:
    from finegold.io.diagnosis import reading

    with reading(source):
        return first_line(source).encode()


def _said(expected: str, compression: str) -> str:
    return f"{expected.upper()} in {compression}" if compression else expected.upper()


UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # how such a text begins


def is_files(votes: object) -> bool:
    """Return whether these are paths or streams, and not data frames."""
    if isinstance(votes, list | tuple):
        return all(isinstance(vote, str | os.PathLike | Source) for vote in votes)
    return isinstance(votes, str | os.PathLike) or _is_stream(votes)


def sources_of(votes: Any) -> list[Source]:
    """Return every file meant, in the order given; those of a pattern or a folder are sorted by name.

    Sources that this function made before are returned as they are, so that a file is looked at once.
    """
    if _is_stream(votes):
        return [_as_text(Source(str(getattr(votes, "name", "the stream")), _all_bytes(votes)))]
    given = votes if isinstance(votes, list | tuple) else [votes]
    if not given:
        raise InputError("the list of files is empty; name at least one file")
    return [source for one in given for source in ([one] if isinstance(one, Source) else _named(os.fspath(one)))]


def _named(path: str) -> list[Source]:
    return [_as_text(source) for source in _expand(path)]


def _as_text(source: Source) -> Source:
    """Return a workbook as comma-separated text, and UTF-16, which Excel and survey tools write, as UTF-8."""
    check_source(source)
    from finegold.io.workbooks import is_workbook, sheet_text

    if is_workbook(source):
        return sheet_text(source)
    if start_of(source).startswith(UTF_16):
        with suppress(OSError, UnicodeError):  # those who read it will say so
            data = source.data if isinstance(source.data, bytes) else source.data.read_bytes()
            return Source(source.name, data.decode("utf-16").encode())
    return source


def _expand(path: str) -> Iterable[Source]:
    if path == "-":
        return [Source("standard input", sys.stdin.buffer.read())]
    if not path:
        raise InputError("the path is empty; name a file")
    if is_database(path):
        raise InputError(
            f"{parse(path).name} is a database, and no file; finegold aggregate reads it with --query or --table, "
            "and finegold convert makes a file of it"
        )
    place = Path(path).expanduser()
    if _test(place.is_dir, path):
        return _folder(place, path)
    if _test(place.exists, path):  # also a name that happens to contain * or [
        return [_file_files(place)]
    if glob.has_magic(path):
        return _pattern(place, path)
    from finegold.io.workbooks import SHEET

    book, has_sheet, sheet = path.rpartition(SHEET)
    if has_sheet and _test(Path(book).expanduser().is_file, path):
        return [_sheet(_file_files(Path(book).expanduser()), sheet)]
    raise InputError(f"there is no file {path}{_similar(place)}")


def _sheet(book: Source, sheet: str) -> Source:
    from finegold.io.workbooks import sheet_text

    check_source(book)
    return sheet_text(book, sheet)


def _test(question: Any, path: str) -> bool:
    try:
        return bool(question())
    except (OSError, ValueError) as error:  # a folder that may not be entered, a name that cannot be one
        raise InputError(f"{path} cannot be read: {error}; check the name and its permissions") from None


def _file_files(place: Path) -> Source:
    """Return a file as a source. A pipe, such as <(zcat votes.gz), can be read once only, so it is read whole."""
    shown = str(place).encode(errors="backslashreplace").decode()
    if shown != str(place):
        raise InputError(f"the name of the file {shown} is not valid UTF-8; rename the file")
    if place.is_file():
        return Source(str(place), place)
    try:
        return Source(str(place), place.read_bytes())
    except OSError as error:
        raise InputError(f"{place} cannot be read: {error.strerror}") from None


def _folder(place: Path, path: str) -> list[Source]:
    """Return the data files of a folder; if there are none, those of its subfolders, as some tools write them."""
    try:
        found = _data_files(place.iterdir()) or _data_files(place.rglob("*"))
    except PermissionError:
        raise InputError(f"the folder {path} may not be read; check its permissions") from None
    if not found:
        raise InputError(f"the folder {path} holds no data files; Finegold reads {READABLE} ({', '.join(TABLES)})")
    return found


def _data_files(places: Iterable[Path]) -> list[Source]:
    sources = [_file_files(file) for file in sorted(places) if file.is_file() and not file.name.startswith(".")]
    found = [source for source in sources if by_extension(source)[0]]
    return found or [source for source in sources if source.name.lower().endswith(EXPORTS)]


def _pattern(place: Path, path: str) -> list[Source]:
    found = [Path(name) for name in sorted(glob.glob(str(place), recursive=True))]  # noqa: PTH207 (absolute patterns)
    if not any(file.is_file() for file in found):
        raise InputError(f"no file matches the pattern {path}; quote it, and check it with ls")
    return [_file_files(file) for file in found if file.is_file()]


def _similar(place: Path) -> str:
    folder = place.parent
    if not folder.is_dir():
        return f"; nor is there a folder {folder}"
    names = [entry.name for entry in folder.iterdir()] if os.access(folder, os.R_OK) else []
    near = difflib.get_close_matches(place.name, names, n=3)
    return f"; did you mean {' or '.join(str(folder / name) for name in near)}?" if near else "; check the name"


def _is_stream(votes: object) -> bool:
    return callable(getattr(votes, "read", None)) and not hasattr(votes, "columns")


def _all_bytes(stream: Any) -> bytes:
    content = stream.read()
    return content.encode() if isinstance(content, str) else bytes(content)


WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


@dataclass(frozen=True)
class Dialect:
    """What the user says of a delimited text. The default says nothing."""

    encoding: str | None = None
    separator: str | None = None
    header: int = 1

    def __post_init__(self) -> None:
        mark = WORDS.get(self.separator or "", self.separator or ",")
        if len(mark) != 1 or not mark.isascii() or mark in '"\r\n':
            known = ", ".join(word for word in WORDS if word.isalpha())
            raise InputError(f"the separator {self.separator!r} is not one ASCII character, nor one of {known}")
        if isinstance(self.header, int) and self.header < 0:
            raise InputError(f"the header is on line {self.header}; expected a line from 1 on, or 0 for no header")

    def apply(self, votes: Any) -> Any:
        """Return files as sources that are read this way."""
        if self == DIALECT:
            return votes
        if not is_files(votes):
            raise InputError("an encoding, a separator and a header are for text files only; leave them out")
        return [self._source(source) for source in sources_of(votes)]

    def _source(self, source: Source) -> Source:
        if self.encoding is not None:
            source = Source(source.name, _decoded(source, self.encoding))
        mark = WORDS.get(self.separator or "", self.separator or "")
        return replace(source, separator=mark, header=int(self.header))


def _decoded(source: Source, encoding: str) -> bytes:
    """Return the text in UTF-8."""
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise InputError(f'there is no encoding "{encoding}"; try utf-8, latin-1, cp1252 or utf-16') from None
    packed = by_magic(start_of(source))
    with open_bytes(replace(source, compression=packed if packed == "gzip" else "")) as file:
        data = file.read()
    try:
        return data.decode(encoding).encode()
    except (UnicodeError, LookupError) as error:
        raise InputError(f"{source.name} is not written in {encoding} ({error}); try another encoding") from None


DIALECT = Dialect()


PARQUET, ARROW, ARROW_STREAM = b"PAR1", b"ARRO", b"\xff" * 4  # how such files begin
CELLS_PER_BYTE = 50  # sparse wide tables have about 30
TYPE, HEADER, BODY_LENGTH = 1, 2, 3  # fields of a message (Message.fbs of Arrow)
SCHEMA, RECORD_BATCH = 1, 3  # types of a message
COLUMNS, ROWS = 1, 0  # a field of a schema, and one of a record batch


def check_rows(source: Source, start: bytes) -> None:
    """Refuse a small file that declares a huge table: nulls and repeated values take no bytes in a file."""
    rows, columns = _size_of_stream(source) if start == ARROW_STREAM else _size_of_file(source, start)
    most = max(limit("CELLS"), CELLS_PER_BYTE * size_of(source))
    if start == PARQUET and (wrong := _damage(source)):
        raise InputError(f"{source.name} is no whole Parquet file ({wrong}); fetch or write the file again")
    if rows * columns > most:
        refuse(source.name, f"has {rows:,} rows x {columns:,} columns, more than {most:,} cells", "CELLS")


def _damage(source: Source) -> str:
    with open_bytes(source) as file:
        return damaged_page(file, max(limit("UNPACKED"), PACKED_TIMES * size_of(source)))


def _size_of_file(source: Source, start: bytes) -> tuple[int, int]:
    scan = pl.scan_parquet if start == PARQUET else pl.scan_ipc
    table = scan(source.data, glob=False, hive_partitioning=False)
    return int(table.select(pl.len()).collect().item()), len(table.collect_schema())


def _size_of_stream(source: Source) -> tuple[int, int]:
    """Return the rows and columns that an Arrow stream declares. Polars can only read a stream as a whole."""
    rows, columns = 0, 0
    with open_bytes(source) as file, suppress(struct.error):  # damage is left to those who read the file
        for message, table in _messages(file):
            kind = _number("<B", message, _field(message, table, TYPE))
            header = _follow(message, _field(message, table, HEADER))
            if kind == SCHEMA:
                columns = _number("<I", message, _follow(message, _field(message, header, COLUMNS)))
            elif kind == RECORD_BATCH:
                rows += _number("<q", message, _field(message, header, ROWS))
    return rows, columns


def _messages(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Yield every message and the position of its table."""
    while (size := struct.unpack("<4xi", file.read(8))[0]) > 0:
        message = file.read(size)
        table = _follow(message, 0)
        yield message, table
        file.seek(max(_number("<q", message, _field(message, table, BODY_LENGTH)), 0), 1)


def _field(message: bytes, table: int, field: int) -> int | None:
    """Return the position of a field of a flatbuffer's table, or None if it has its default, which is 0 here."""
    layout = table - _number("<i", message, table)
    if 4 + 2 * field >= _number("<H", message, layout):
        return None
    place = _number("<H", message, layout + 4 + 2 * field)
    return table + place if place else None


def _follow(message: bytes, place: int | None) -> int:
    """Return the position that an offset points to."""
    return (place or 0) + _number("<I", message, place)


def _number(kind: str, message: bytes, place: int | None) -> int:
    return 0 if place is None else int(struct.unpack_from(kind, message, place)[0])
