"""Files, folders, patterns and streams -> `Source`s: what each file is, and how it begins.

`sniff` says what a file is, once, from its first bytes.
"""

from __future__ import annotations

import csv
import difflib
import glob
import gzip
import io
import json
import os
import re
import sys
import zipfile
import zlib
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, cast

import polars as pl

from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.io import workbooks
from finegold.io.databases import is_database, parse
from finegold.system.memory import limit, remedy_of

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

# bytes that tell what kind of file it is
START_BYTES = 2**14
# what some editors put in front
BOM = b"\xef\xbb\xbf"
# lines that show the separator
LINES_OF_SEPARATOR = 20
# rows of a table that are kept beside the header
ROWS_KEPT = 3
# bytes of a field, or of a line with one record, which may hold an image
MAX_FIELD_BYTES = 2**24
# strings, brackets and commas of the first object of JSON that are looked at
MAX_MARKS = 100_000
# bytes that are unpacked at a time
CHUNK_BYTES = 2**20
# a compressed file may unpack to so many bytes, or to so many times its size
MAX_UNPACKED_BYTES, MAX_UNPACKED_RATIO = 2**26, 100
QUOTED = re.compile('"[^"]*"')
JSON_MARKS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},]', re.DOTALL)
# a separator that hardly ever occurs, so that a line is one field
UNUSED = "\x1f"
AGAIN = "fetch or write the file again"

TABLES = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".parquet": "parquet", ".pq": "parquet"}
TABLES |= {".jsonl": "jsonl", ".ndjson": "jsonl"}
TABLES |= dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow")
# formats that can be compressed
TEXT = frozenset({"csv", "tsv", "jsonl"})
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
# of files in a folder without plain tables
EXPORTS = (".json", ".json.gz", ".zip", ".eval", *workbooks.SUFFIXES)
SCORES = (".txt", ".txt.gz", ".qrels", ".qrels.gz")
READABLE = frozenset(
    {*TABLES, *COMPRESSIONS, *workbooks.SUFFIXES, ".json", ".zip", ".eval", ".manifest"}
)
READABLE_FILES = (
    "CSV, TSV, JSONL (each also as .gz or .zst), JSON lists, Parquet, Arrow and Excel files"
)

ARROW_STREAM = b"\xff" * 4
ZIP = b"PK\x03\x04"
# how an old workbook begins
OLE = b"\xd0\xcf\x11\xe0"
# files in the archives of Excel and of OpenDocument
PARTS_OF_WORKBOOK = {"xl/workbook.xml", "xl/workbook.bin", "content.xml"}
MARKUP = re.compile(rb"(\xef\xbb\xbf)?\s*<(\?xml|!doctype|html)", re.I)
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
MAGIC_FORMATS = {b"PAR1": "parquet", b"ARROW1": "arrow", ARROW_STREAM: "arrow", OLE: "Excel"}
MAGIC_FORMATS |= {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", ZIP: "zip (or Excel)"}
MAGIC_FORMATS |= {b"%PDF": "PDF", b"SQLite format 3": "SQLite"}
DAMAGED = (OSError, EOFError, zlib.error, zstd.ZstdError)
OF_POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
UNREADABLE = (*OF_POLARS, UnicodeError, csv.Error, *DAMAGED)


@dataclass(eq=False)
class Source:
    """A file of votes: where it is, how it is written, and what its beginning shows."""

    # as the user knows it
    name: str
    data: Path | bytes
    # csv, tsv, jsonl, json, parquet, arrow or zip; empty if it is none of them
    format: str = ""
    compression: str = ""
    # who cast all votes of the file, if its name tells
    annotator: str = ""
    # of the columns of a delimited text; empty to find it
    separator: str = ""
    # the line of a delimited text with the names of the columns; 0 if there is none
    header: int = 1
    # why it is not a table
    problem: InputError | None = field(default=None, repr=False)
    # of JSON: list, lines or object
    layout: str = ""
    # the first object
    record: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def is_delimited(self) -> bool:
        return self.format in ("csv", "tsv")

    @property
    def is_table(self) -> bool:
        """Whether the file could be read as a plain table, whatever wrote it."""
        is_plain = self.format in ("csv", "tsv", "parquet", "arrow")
        return self.layout == "lines" if self.layout else is_plain

    def open_raw(self) -> BinaryIO:
        """Open the file as it is on disk."""
        return io.BytesIO(self.data) if isinstance(self.data, bytes) else self.data.open("rb")

    def open_bytes(self) -> BinaryIO:
        """Open the text for reading bytes, unpacked."""
        if not self.compression:
            return self.open_raw()
        data = io.BytesIO(self.data) if isinstance(self.data, bytes) else self.data
        return cast(BinaryIO, (gzip if self.compression == "gzip" else zstd).open(data, "rb"))

    def all_bytes(self) -> bytes:
        """Return the whole text, unpacked, behind its byte-order mark."""
        with self.open_bytes() as file:
            return file.read().removeprefix(BOM)

    @cached_property
    def start(self) -> bytes:
        """The first bytes as they are on disk."""
        with self.open_raw() as file:
            return file.read(START_BYTES)

    @cached_property
    def text(self) -> bytes:
        """The first bytes of a text, unpacked."""
        with suppress(*DAMAGED), self.open_bytes() as file:
            return file.read(START_BYTES)
        return b""

    @property
    def is_whole(self) -> bool:
        """Whether `text` is the whole text."""
        return len(self.text) < START_BYTES

    @cached_property
    def archive(self) -> list[zipfile.ZipInfo]:
        """The files in a zip archive; none if it is damaged, or something else."""
        # the last: the version of the format, which damage changes
        with suppress(zipfile.BadZipFile, OSError, NotImplementedError), self.open_raw() as file:
            return zipfile.ZipFile(file).infolist() if self.start.startswith(ZIP) else []
        return []

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the files in a zip archive; none if it is something else."""
        return tuple(file.filename for file in self.archive)

    @cached_property
    def delimiter(self) -> str:
        """The separator that the user names, or the one that the first lines show."""
        # It is the mark that the header has; of several, one that each line has equally often.
        if self.separator:
            return self.separator
        lines = self.text.removeprefix(BOM).decode(errors="replace").splitlines()
        # the last may be cut
        lines = lines if len(lines) == 1 or self.is_whole else lines[:-1]
        lines = [line for line in lines[max(self.header - 1, 0) :] if line.strip()]
        plain = [QUOTED.sub("", line) for line in lines[:LINES_OF_SEPARATOR]] or [""]
        marks = "\t,;|" if self.format == "tsv" else ",;\t|"
        counts = {mark: [line.count(mark) for line in plain] for mark in f"{marks} "}
        steady = [mark for mark in counts if counts[mark][0] and len(set(counts[mark])) == 1]
        in_header = [mark for mark in marks if counts[mark][0]]
        if in_header:
            return next((mark for mark in in_header if mark in steady), in_header[0])
        return " " if " " in steady and len(plain) > 1 and counts[" "][0] > 1 else marks[0]

    @cached_property
    def head(self) -> list[tuple[str, ...]]:
        """The header of a table and, of a delimited text, a few rows, if they can be read."""
        with suppress(ValueError, *UNREADABLE):
            if self.format == "parquet":
                return [tuple(pl.scan_parquet(self.data, glob=False).collect_schema().names())]
            if self.is_delimited and not self.record:
                with closing(records(self, self.delimiter)) as lines:
                    return [tuple(row) for _, row in islice(lines, ROWS_KEPT + 1)]
        return []

    @property
    def columns(self) -> tuple[str, ...]:
        """The header of a table."""
        return self.head[0] if self.head else ()

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The first rows of a delimited text below the header."""
        return self.head[1:]


def lines_of(source: Source) -> pl.LazyFrame:
    """Return the lines of a text, one per row, blank ones as null."""
    options: dict[str, Any] = {"quote_char": None, "truncate_ragged_lines": True, "glob": False}
    return pl.scan_csv(
        source.data, has_header=False, separator=UNUSED, infer_schema=False, **options
    )


def records(source: Source, separator: str) -> Generator[tuple[int, list[str]], None, None]:
    """Yield every record of a delimited file, the header first, with the line that it starts on."""
    skipped = max(source.header - 1, 0)
    with source.open_bytes() as raw, long_fields():
        text = iter(io.TextIOWrapper(raw, encoding="utf-8-sig", newline=""))
        deque(islice(text, skipped), maxlen=0)
        reader = csv.reader(text, delimiter=separator)
        line = skipped + 1
        for record in reader:
            yield line, record
            line = skipped + reader.line_num + 1


@contextmanager
def reading(source: Source) -> Iterator[None]:
    """Turn errors of Polars into one sentence about the file."""
    try:
        yield
    except UNREADABLE as error:
        from finegold.io.diagnosis import explain_unreadable

        raise explain_unreadable(source, error) from error


@contextmanager
def long_fields() -> Iterator[None]:
    """Raise the limit of the csv module, 128 KiB per field, for a while."""
    before = csv.field_size_limit(MAX_FIELD_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)


# From what the user names to sources.


def is_files(votes: object) -> bool:
    """Return whether these are paths or streams, and not data frames."""
    if isinstance(votes, list | tuple):
        return all(isinstance(vote, str | os.PathLike | Source) for vote in votes)
    is_stream = callable(getattr(votes, "read", None)) and not hasattr(votes, "columns")
    return isinstance(votes, str | os.PathLike) or is_stream


def sources_of(votes: Any) -> list[Source]:
    """Return every file meant, in the order given; those of a pattern or a folder by name."""
    # Sources that this function made before are returned as they are.
    if not isinstance(votes, list | tuple | str | os.PathLike | Source):
        content = votes.read()
        data = content.encode() if isinstance(content, str) else bytes(content)
        return [sniff(Source(str(getattr(votes, "name", "the stream")), data))]
    items = votes if isinstance(votes, list | tuple) else [votes]
    if not items:
        raise InputError("the list of files is empty; name at least one file")
    found = [[item] if isinstance(item, Source) else _expand(os.fspath(item)) for item in items]
    return [sniff(source) for sources in found for source in sources]


def _expand(path: str) -> list[Source]:
    if path == "-":
        return [Source("standard input", sys.stdin.buffer.read())]
    if not path:
        raise InputError("the path is empty; name a file")
    if "://" in path and is_database(path):
        remedies = [use(text="where votes are read", query=Placeholder('"SELECT ..."'))]
        raise InputError(f"{parse(path).name} is a database, not a file", remedies=remedies)
    target = Path(path).expanduser()
    book, has_sheet, sheet = path.rpartition(workbooks.SHEET_MARK)
    try:
        if target.is_dir():
            return _data_files(target, path)
        # also a name that happens to contain * or [
        if target.exists():
            return [_regular_file(target)]
        if glob.has_magic(path):
            matches = map(Path, sorted(glob.glob(str(target), recursive=True)))  # noqa: PTH207
            if files := [_regular_file(file) for file in matches if file.is_file()]:
                return files
            raise InputError(f"no file matches the pattern {path}; quote it, and check it with ls")
        if has_sheet and Path(book).expanduser().is_file():
            return [sheet_text(_regular_file(Path(book).expanduser()), sheet)]
    except InputError:
        raise
    except (OSError, ValueError) as error:
        # a folder that may not be entered, a name that cannot be one
        problem = f"{path} cannot be read: {error}; check the name and its permissions"
        raise InputError(problem) from None
    folder = target.parent
    if not folder.is_dir():
        raise InputError(f"there is no file {path}; nor is there a folder {folder}")
    names = [entry.name for entry in folder.iterdir()] if os.access(folder, os.R_OK) else []
    near = [str(folder / name) for name in difflib.get_close_matches(target.name, names, n=3)]
    remedy = f"did you mean {' or '.join(near)}?" if near else "check the name"
    raise InputError(f"there is no file {path}; {remedy}")


def _regular_file(path: Path) -> Source:
    """Return a file as a source. A pipe can be read once only, so it is read whole."""
    shown = str(path).encode(errors="backslashreplace").decode()
    if shown != str(path):
        raise InputError(f"the name of the file {shown} is not valid UTF-8; rename the file")
    return Source(shown, path if path.is_file() else path.read_bytes())


def _data_files(folder: Path, path: str) -> list[Source]:
    """Return the data files of a folder; if there are none, those of its subfolders."""
    for inside in (folder.iterdir(), folder.rglob("*")):
        paths = [file for file in sorted(inside) if file.is_file() and file.name[0] != "."]
        tables = [file for file in paths if by_extension(file)[0]]
        exports = [file for file in paths if file.name.lower().endswith(EXPORTS)]
        # scores of judges may be lines of text
        scores = [file for file in paths if file.name.lower().endswith(SCORES)]
        if found := tables or exports or scores:
            return [_regular_file(file) for file in found]
    raise InputError(
        f"the folder {path} holds no data files; Finegold reads {READABLE_FILES}"
        f" ({', '.join(TABLES)})"
    )


# What the files are.


def sniff(source: Source) -> Source:
    """Say in the source what its format is, or why it is not a table, and return it.

    Instead of a workbook, return its sheet as comma-separated text, and instead of UTF-16, which
    Excel and survey tools write, return UTF-8.
    """
    if source.format or source.problem:
        return source
    try:
        actual = by_magic(source.start)
    except OSError as error:
        words = f"{source.name} cannot be read: {error.strerror}; check its permissions"
        source.problem = InputError(words)
        return source
    by_name, compression = by_extension(source.data)
    source.compression = actual if actual in ("gzip", "zstd") else compression
    if actual in ("gzip", "zstd") or source.start.startswith(ZIP):
        check_unpacked(source)
    if is_workbook(source):
        return sheet_text(source)
    # old programs of the Mac end lines with \r
    has_old_lines = b"\r" in source.start and b"\n" not in source.start and not actual
    if source.start.startswith(UTF_16) or has_old_lines:
        with source.open_raw() as file:
            data = file.read()
        # those who read it will say what is wrong
        with suppress(UnicodeError):
            if not has_old_lines:
                return sniff(Source(source.name, data.decode("utf-16").encode()))
            if b"\n" not in data:
                return sniff(Source(source.name, data.replace(b"\r", b"\n")))
    source.problem = _problem(source, by_name, compression, actual)
    if actual in ("parquet", "arrow"):
        source.format = actual
    elif source.start.startswith(ZIP):
        source.format = "zip" if source.archive else ""
    else:
        source.format = _format_of_text(source, by_name)
    return source


def _problem(source: Source, by_name: str, compression: str, actual: str) -> InputError | None:
    """Return why a file is not a table, whatever its first bytes hold."""
    start, remedies = source.start[:4096], list[Remedy]()
    if not start.strip():
        words = "is empty; expected a table with a header and at least one vote"
    elif by_name and actual and actual != (compression or by_name):
        packed = f" in {compression}" if compression else ""
        words = f"is not {by_name.upper()}{packed}: its content is {actual}; rename or convert it"
    elif markup := MARKUP.match(start):
        kind = "HTML" if b"html" in markup[0].lower() else "XML"
        words = f"is {kind}, which Finegold does not read; write the table as CSV"
    elif actual in ("SQLite", "DuckDB"):
        words = f"is a database; read it as {actual.lower()}:///{source.name}"
        remedies = [use(query=Placeholder('"SELECT ..."'))]
    elif by_name or actual in ("gzip", "zstd", "parquet", "arrow"):
        return None
    elif actual or b"\0" in start:
        what = f"its content is {actual}" if actual else "it is binary"
        words = f"is not a table that Finegold reads: {what}; it reads {READABLE_FILES}"
    else:
        return None
    return InputError(f"{source.name} {words}", remedies=remedies)


def _format_of_text(source: Source, by_name: str) -> str:
    text = source.text.removeprefix(BOM).lstrip()
    if text.startswith((b"{", b"[")):
        source.layout, source.record = _look_at_json(source, text.startswith(b"["))
    if source.problem:
        return ""
    # whatever its name says
    if (source.record and by_name in ("", *TEXT)) or (source.layout and not by_name):
        return "json" if source.layout == "list" else "jsonl"
    line = (text.splitlines() or [b""])[0]
    return by_name or ("tsv" if line.count(b"\t") > line.count(b",") else "csv")


def _look_at_json(source: Source, is_list: bool) -> tuple[str, dict[str, Any]]:
    """Return how JSON is laid out, and its first object, which may be cut; {} if it is odd."""
    with suppress(ValueError, RecursionError, *DAMAGED), source.open_bytes() as file:
        # of JSON Lines, the first line holds a whole object
        while not is_list and (line := file.readline(MAX_FIELD_BYTES)):
            if line.removeprefix(BOM).strip():
                return "lines", dict(json.loads(line))
    record: Any = None
    with suppress(ValueError, RecursionError, *DAMAGED), source.open_bytes() as file:
        text = file.read(MAX_FIELD_BYTES).removeprefix(BOM).decode(errors="ignore").lstrip()
        text = _first_record(text.removeprefix("[") if is_list else text)
        try:
            record = json.loads(text)
        except json.JSONDecodeError as error:
            record = json.loads(_first_record(text[: error.pos]))
    return "list" if is_list else "object", record if isinstance(record, dict) else {}


def _first_record(text: str) -> str:
    """Return the first object of a JSON text; one that is cut ends behind its last whole value."""
    closing_marks, cut = "", (0, "")
    for found in islice(JSON_MARKS.finditer(text), MAX_MARKS):
        mark = found[0]
        if mark in "[{":
            closing_marks = {"[": "]", "{": "}"}[mark] + closing_marks
        elif mark in "]}":
            closing_marks = closing_marks[1:]
        elif mark == ",":
            cut = found.start(), closing_marks
        if not closing_marks:
            return text[: found.end()]
    return text[: cut[0]] + cut[1]


def by_extension(data: Path | bytes) -> tuple[str, str]:
    """Return the format and the compression that the name of a file tells, or empty texts."""
    suffixes = [] if isinstance(data, bytes) else [suffix.lower() for suffix in data.suffixes[-2:]]
    if not suffixes:
        return "", ""
    compression = COMPRESSIONS.get(suffixes[-1], "")
    expected = TABLES.get(suffixes[-2 if compression and len(suffixes) > 1 else -1], "")
    return (expected, compression) if expected in TEXT or not compression else ("", "")


def by_magic(start: bytes) -> str:
    """Return the format that the first bytes tell, or an empty text."""
    if start[8:12] == b"DUCK":
        return "DuckDB"
    return next((kind for magic, kind in MAGIC_FORMATS.items() if start.startswith(magic)), "")


def is_workbook(source: Source) -> bool:
    """Recognise a workbook by its content; a damaged one by its name."""
    if not source.start.startswith(ZIP):
        return source.start.startswith(OLE)
    is_named = source.name.lower().endswith(workbooks.SUFFIXES)
    return not PARTS_OF_WORKBOOK.isdisjoint(source.members) or (is_named and not source.archive)


def sheet_text(source: Source, sheet: str | None = None) -> Source:
    """Return the sheet of this name, or the only one that is not empty, as comma-separated text."""
    check_unpacked(source)
    title, text = workbooks.read_sheet(source.name, source.data, sheet)
    return sniff(Source(f'{source.name}, sheet "{title}"', text))


def check_unpacked(source: Source) -> None:
    """Refuse a compressed file that unpacks to far too much, and a damaged one."""
    size = len(source.data) if isinstance(source.data, bytes) else source.data.stat().st_size
    most = max(int(limit("UNPACKED", MAX_UNPACKED_BYTES)), MAX_UNPACKED_RATIO * size)
    unpacked = sum(file.file_size for file in source.archive)
    if source.compression:
        try:
            with source.open_bytes() as file:
                while unpacked <= most and (chunk := file.read(CHUNK_BYTES)):
                    unpacked += len(chunk)
        except EOFError:
            raise InputError(
                f"{source.name} is cut short: the {source.compression} data ends too early; {AGAIN}"
            ) from None
        except DAMAGED as error:
            how = f"it cannot be unpacked with {source.compression} ({error})"
            raise InputError(f"{source.name} is damaged: {how}; {AGAIN}") from None
    if unpacked > most:
        excess = f"unpacks to more than {most:,} bytes, which is the limit"
        raise InputError(f"{source.name} {excess}; {remedy_of('UNPACKED')}")


# What the user says about a delimited text.

WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


def with_dialect(votes: Any, encoding: str | None, separator: str | None, header: int) -> Any:
    """Return files as sources that are read as the user says, if the user says anything."""
    mark = WORDS.get(separator or "", separator or "")
    if mark and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
        known = ", ".join(word for word in WORDS if word.isalpha())
        raise InputError(
            f"the separator {separator!r} is not one ASCII character, nor one of {known}"
        )
    if encoding is None and not mark and header == 1:
        return votes
    if not is_files(votes):
        raise InputError(
            "an encoding, a separator and a header are for text files only; leave them out"
        )
    sources = sources_of(votes)
    if encoding is not None:
        sources = [_decoded(source, encoding) for source in sources]
    return [replace(source, separator=mark, header=int(header)) for source in sources]


def _decoded(source: Source, encoding: str) -> Source:
    try:
        with source.open_bytes() as file:
            return sniff(Source(source.name, file.read().decode(encoding).encode()))
    except LookupError:
        known = "try utf-8, latin-1, cp1252 or utf-16"
        raise InputError(f'there is no encoding "{encoding}"; {known}') from None
    except UnicodeError as error:
        raise InputError(
            f"{source.name} is not written in {encoding} ({error}); try another encoding"
        ) from None
