"""Files, folders, patterns and streams -> `Source`s: what each file is, how it begins, and whether
it is safe to read.

`sniff` says what a file is, once, from its first bytes, which are kept with the source. What may be
hostile is checked before anything is decoded (`check_source`, `limits.py`).
"""

from __future__ import annotations

import codecs
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
from finegold.io import limits
from finegold.io.databases import is_database, parse

# bytes that tell what kind of file it is; they are kept for each of many files
START = 2**14
# that some editors put in front
BOM = b"\xef\xbb\xbf"
# zlib's number for data with the header of gzip
GZIP_HEADER = 31
# that show the separator
LINES = 20
# of a table that are kept, beside the header
ROWS = 3
# bytes of a field, or of a line with one record, which may hold an image
LONGEST = 2**24
# of the JSON of one big object
MOST_EVENTS = 20_000
QUOTED = re.compile('"[^"]*"')
# a separator that hardly ever occurs, so that a line is one field
UNUSED = "\x1f"

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
# formats that can be compressed
TEXT = frozenset({"csv", "tsv", "jsonl"})
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
# of files in a folder without plain tables
EXPORTS = (".json", ".json.gz", ".zip", ".eval", *limits.WORKBOOKS)
READABLE = frozenset(
    {*TABLES, *COMPRESSIONS, *limits.WORKBOOKS, ".json", ".zip", ".eval", ".manifest"}
)
READABLE_FILES = (
    "CSV, TSV, JSONL (each also as .gz or .zst), JSON lists, Parquet, Arrow and Excel files"
)

ARROW_STREAM = b"\xff" * 4
ZIP = b"PK\x03\x04"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
MAGIC_FORMATS = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    ARROW_STREAM: "arrow",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    ZIP: "zip (or Excel)",
    limits.OLE: "Excel",
    b"%PDF": "PDF",
    b"SQLite format 3": "SQLite",
}


@dataclass(frozen=True)
class Source:
    """A file of votes: where it is, how it is written, and what its beginning shows."""

    # `replace` keeps the bytes that were read, so give a source of other data a `Source` of its
    # own.

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
    problem: InputError | None = field(default=None, repr=False, compare=False)
    # of JSON: list, lines or object
    layout: str = ""
    # the first object
    record: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    # the names in a zip archive
    members: tuple[str, ...] = ()
    # what was read of the file before
    seen: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_delimited(self) -> bool:
        return self.format in ("csv", "tsv")

    @property
    def content(self) -> Path | bytes:
        """The data as Polars reads them: zstd is unpacked once, and Polars itself unpacks gzip."""
        if self.compression != "zstd":
            return self.data
        if "unpacked" not in self.seen:
            self.seen["unpacked"] = limits.unpack_zstd(self.name, self.data)
        return cast(bytes, self.seen["unpacked"])

    def open_bytes(self) -> BinaryIO:
        """Open the text for reading bytes, unpacked."""
        content = self.content
        if self.compression == "gzip":
            return cast(
                BinaryIO,
                gzip.open(io.BytesIO(content) if isinstance(content, bytes) else content, "rb"),
            )
        return io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")

    @property
    def start(self) -> bytes:
        """The first bytes as they are on disk, which are read when they are first asked for."""
        if isinstance(self.data, bytes):
            return self.data[:START]
        if "start" not in self.seen:
            with self.data.open("rb") as file:
                self.seen["start"] = file.read(START)
        return cast(bytes, self.seen["start"])

    @property
    def text(self) -> bytes:
        """The first bytes of a text, unpacked; damage to gzip, which may have several members, ends
        them.
        """
        if self.compression == "zstd":
            return cast(bytes, self.content)[:START]
        start, text = self.start, b""
        if self.compression != "gzip":
            return start
        while start and len(text) < START:
            member = zlib.decompressobj(GZIP_HEADER)
            with suppress(zlib.error):
                text += member.decompress(start, START - len(text))
            start = member.unused_data
        return text

    @property
    def is_whole(self) -> bool:
        """Whether `text` is the whole text."""
        return (self.compression == "zstd" or len(self.start) < START) and len(self.text) < START

    @cached_property
    def delimiter(self) -> str:
        """The separator that the user names, or the one that the first lines show."""
        # It is the mark that the header has; of several, one that each line has equally often.
        if self.separator:
            return self.separator
        lines = self.text.removeprefix(BOM).decode(errors="replace").splitlines()
        # the last may be cut
        lines = lines if len(lines) == 1 or self.is_whole else lines[:-1]
        lines = [line for line in lines[max(self.header - 1, 0) :] if line.strip()][:LINES]
        marks = "\t,;|" if self.format == "tsv" else ",;\t|"
        plain = [QUOTED.sub("", line) for line in lines] or [""]
        counts = {mark: [line.count(mark) for line in plain] for mark in f"{marks} "}
        steady = [mark for mark in counts if counts[mark][0] and len(set(counts[mark])) == 1]
        in_header = [mark for mark in marks if counts[mark][0]]
        if in_header:
            return next((mark for mark in in_header if mark in steady), in_header[0])
        return " " if " " in steady and len(lines) > 1 and counts[" "][0] > 1 else marks[0]

    @cached_property
    def head(self) -> list[tuple[str, ...]]:
        """The header of a table and, of a delimited text, the next few rows; nothing if these
        cannot be read.
        """
        with suppress(InputError, OSError, ValueError, csv.Error, pl.exceptions.PolarsError):
            if self.format == "parquet":
                return [tuple(pl.scan_parquet(self.data, glob=False).collect_schema().names())]
            if not self.is_delimited or self.record:
                return []
            # the first bytes will do where they hold one row more
            with suppress(csv.Error, UnicodeDecodeError):
                text = io.TextIOWrapper(io.BytesIO(self.text), encoding="utf-8-sig", newline="")
                reader = csv.reader(
                    islice(text, max(self.header - 1, 0), None), delimiter=self.delimiter
                )
                rows = [tuple(row) for row in islice(reader, ROWS + 2)]
                if len(rows) == ROWS + 2 or self.is_whole:
                    return rows[: ROWS + 1]
            with closing(records(self, self.delimiter)) as lines:
                return [tuple(row) for _, row in islice(lines, ROWS + 1)]
        return []

    @property
    def columns(self) -> tuple[str, ...]:
        """The header of a table."""
        return self.head[0] if self.head else ()

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The first rows of a delimited text below the header."""
        return self.head[1:]

    @property
    def is_table(self) -> bool:
        """Whether the file could be read as a plain table, whatever wrote it."""
        return (
            self.layout == "lines"
            if self.layout
            else self.format in ("csv", "tsv", "parquet", "arrow")
        )


def archive_members(source: Source) -> list[zipfile.ZipInfo]:
    """Return the files in a zip archive, which is opened once."""
    if "members" not in source.seen:
        try:
            with zipfile.ZipFile(
                io.BytesIO(source.data) if isinstance(source.data, bytes) else source.data
            ) as archive:
                source.seen["members"] = archive.infolist()
        except NotImplementedError as error:
            # the version of the format, which damage changes
            raise zipfile.BadZipFile(str(error)) from error
    return cast(list[zipfile.ZipInfo], source.seen["members"])


def lines_of(source: Source) -> pl.LazyFrame:
    """Return the lines of a text, one per row, blank ones as null."""
    return pl.scan_csv(
        source.content,
        has_header=False,
        separator=UNUSED,
        quote_char=None,
        infer_schema=False,
        truncate_ragged_lines=True,
        glob=False,
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


UNREADABLE = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    OSError,
    EOFError,
    UnicodeError,
    csv.Error,
)


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
    """Raise the limit of the csv module, 128 KiB per field, and restore it: it holds for the whole
    process.
    """
    before = csv.field_size_limit(LONGEST)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _look_at_json(source: Source, text: bytes) -> tuple[str, dict[str, Any]]:
    """Return how JSON that begins with this text is laid out, and its first object; {} if it is
    truncated or odd.
    """
    if text.startswith(b"{"):
        line, end, _ = text.partition(b"\n")
        if not end and not source.is_whole:
            with source.open_bytes() as file:
                while (line := file.readline(LONGEST).removeprefix(BOM)) and not line.strip():
                    pass
        # of JSON Lines, the first line holds a whole object
        with suppress(ValueError):
            return "lines", dict(json.loads(line.decode()))
    import ijson

    # the first bytes are at hand, and hold the first object of most files
    if text.startswith(b"["):
        for is_open in (True, False)[: 1 if source.is_whole else 2]:
            with (
                io.BytesIO(source.text) if is_open else source.open_bytes() as file,
                suppress(ijson.JSONError, StopIteration),
            ):
                skip_bom(file)
                item = next(ijson.items(file, "item", use_float=True))
                return "list", item if isinstance(item, dict) else {}
        return "list", {}
    # of an object over many lines
    builder = ijson.ObjectBuilder()
    with source.open_bytes() as file, suppress(ijson.JSONError):
        skip_bom(file)
        for event, value in islice(ijson.basic_parse(file, use_float=True), MOST_EVENTS):
            builder.event(event, value)
    record = getattr(builder, "value", {})
    return "object", record if isinstance(record, dict) else {}


def skip_bom(file: BinaryIO) -> None:
    if file.read(len(BOM)) != BOM:
        file.seek(0)


# From what the user names to sources.


def is_files(votes: object) -> bool:
    """Return whether these are paths or streams, and not data frames."""
    if isinstance(votes, list | tuple):
        return all(isinstance(vote, str | os.PathLike | Source) for vote in votes)
    is_stream = callable(getattr(votes, "read", None)) and not hasattr(votes, "columns")
    return isinstance(votes, str | os.PathLike) or is_stream


def sources_of(votes: Any) -> list[Source]:
    """Return every file meant, in the order given; those of a pattern or a folder are sorted by
    name.
    """
    # Sources that this function made before are returned as they are, so that a file is looked at
    # once.
    if not isinstance(votes, list | tuple | str | os.PathLike | Source):
        content = votes.read()
        data = content.encode() if isinstance(content, str) else bytes(content)
        return [sniff(Source(str(getattr(votes, "name", "the stream")), data))]
    items = votes if isinstance(votes, list | tuple) else [votes]
    if not items:
        raise InputError("the list of files is empty; name at least one file")
    return [
        source
        for item in items
        for source in map(sniff, [item] if isinstance(item, Source) else _expand(os.fspath(item)))
    ]


def _expand(path: str) -> list[Source]:
    if path == "-":
        return [Source("standard input", sys.stdin.buffer.read())]
    if not path:
        raise InputError("the path is empty; name a file")
    if "://" in path and is_database(path):
        query, table = Placeholder('"SELECT ..."'), Placeholder("NAME")
        remedies = [use(text="where votes are read", query=query), use(text="there", table=table)]
        remedies.append(Remedy(text="make a file of it with finegold convert"))
        raise InputError(f"{parse(path).name} is a database, not a file", remedies=remedies)
    target = Path(path).expanduser()
    book, has_sheet, sheet = path.rpartition(limits.SHEET)
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
            workbook = _regular_file(Path(book).expanduser())
            check_source(workbook)
            return [sheet_text(workbook, sheet)]
    except (OSError, ValueError) as error:
        # a folder that may not be entered, a name that cannot be one
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path} cannot be read: {error}; check the name and its permissions"
        ) from None
    folder = target.parent
    if not folder.is_dir():
        raise InputError(f"there is no file {path}; nor is there a folder {folder}")
    names = [entry.name for entry in folder.iterdir()] if os.access(folder, os.R_OK) else []
    near = " or ".join(
        str(folder / name) for name in difflib.get_close_matches(target.name, names, n=3)
    )
    raise InputError(
        f"there is no file {path}; {f'did you mean {near}?' if near else 'check the name'}"
    )


def _regular_file(path: Path) -> Source:
    """Return a file as a source. A pipe, such as <(zcat votes.gz), can be read once only, so it is
    read whole.
    """
    shown = str(path).encode(errors="backslashreplace").decode()
    if shown != str(path):
        raise InputError(f"the name of the file {shown} is not valid UTF-8; rename the file")
    try:
        return Source(shown, path if path.is_file() else path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _data_files(folder: Path, path: str) -> list[Source]:
    """Return the data files of a folder; if there are none, those of its subfolders, as some tools
    write them.
    """
    try:
        for inside in (folder.iterdir(), folder.rglob("*")):
            files = [
                _regular_file(file)
                for file in sorted(inside)
                if file.is_file() and not file.name.startswith(".")
            ]
            tables = [source for source in files if by_extension(source.data)[0]]
            if sources := tables or [
                source for source in files if source.name.lower().endswith(EXPORTS)
            ]:
                return sources
    except PermissionError:
        raise InputError(f"the folder {path} may not be read; check its permissions") from None
    raise InputError(
        f"the folder {path} holds no data files; Finegold reads {READABLE_FILES}"
        f" ({', '.join(TABLES)})"
    )


def is_workbook(source: Source) -> bool:
    """Recognise a workbook by its content, because any file may be called .xls; a damaged one by
    its name.
    """
    start = b""
    with suppress(zipfile.BadZipFile, OSError):
        start = source.start[: len(ZIP)]
        if start == ZIP:
            return not limits.PARTS.isdisjoint(
                member.filename for member in archive_members(source)
            )
    return start == limits.OLE or (start == ZIP and source.name.lower().endswith(limits.WORKBOOKS))


def sheet_text(source: Source, sheet: str | None = None) -> Source:
    """Return the sheet of this name, or the only one that is not empty, as comma-separated text."""
    text, facts = limits.read_workbook("write_sheet", source.name, source.data, sheet)
    return sniff(Source(f'{source.name}, sheet "{facts["sheet"]}"', text))


# What the files are.


def sniff(source: Source) -> Source:
    """Return the source with its format, and with the reason why it is not a table if it is none."""
    # A workbook becomes comma-separated text, and UTF-16, which Excel and survey tools write,
    # becomes UTF-8.
    if source.format or source.problem:
        return source
    name = source.name
    try:
        start = source.start
    except PermissionError:
        return replace(
            source, problem=InputError(f"{name} may not be read; check its permissions (chmod u+r)")
        )
    except OSError as error:
        return replace(source, problem=InputError(f"{name} cannot be read: {error.strerror}"))
    actual = by_magic(start)
    # there is nothing to fear from other text
    if actual or start.removeprefix(BOM).lstrip()[:1] in (b"", b"[", b"{"):
        check_source(source)
    # those who read it will say so
    with suppress(OSError, UnicodeError):
        if start.startswith((ZIP, limits.OLE)) and is_workbook(source):
            return sheet_text(source)
        if start.startswith(UTF_16):
            data = source.data if isinstance(source.data, bytes) else source.data.read_bytes()
            return sniff(Source(name, data.decode("utf-16").encode()))
    format, compression = by_extension(source.data)
    start, problem, remedies = start[:4096], "", list[Remedy]()
    is_packed = actual in ("gzip", "zstd")
    if not start.strip():
        problem = "is empty; expected a table with a header and at least one vote"
    elif format and actual and actual != (compression or format):
        claim = f"{format.upper()} in {compression}" if compression else format.upper()
        problem = f"is not {claim}: its content is {actual}; rename or convert it"
    elif actual in ("SQLite", "DuckDB"):
        problem = f"is a database; read it as {actual.lower()}:///{name}"
        remedies = [use(table=Placeholder("NAME")), use(query=Placeholder('"SELECT ..."'))]
    elif (
        not format
        and not is_packed
        and actual not in ("parquet", "arrow")
        and (actual or b"\0" in start)
    ):
        what = f"its content is {actual}" if actual else "it is binary"
        problem = f"is not a table that Finegold reads: {what}; it reads {READABLE_FILES}"
    source = replace(source, compression=actual if is_packed else compression)
    if actual in ("parquet", "arrow"):
        format = actual
    elif actual == MAGIC_FORMATS[ZIP]:
        format = ""
        with suppress(zipfile.BadZipFile, OSError):
            source = replace(
                source, members=tuple(member.filename for member in archive_members(source))
            )
            format = "zip"
    else:
        with suppress(InputError, OSError, ValueError, RecursionError):
            text = source.text.removeprefix(BOM).lstrip()
            if text.startswith((b"{", b"[")):
                layout, record = _look_at_json(source, text)
                source = replace(source, layout=layout, record=record)
        if problem:
            format = ""
        elif (source.record and format in ("", *TEXT)) or (source.layout and not format):
            # whatever its name says
            format = "json" if source.layout == "list" else "jsonl"
        elif not format:
            line = (source.text.removeprefix(BOM).lstrip().splitlines() or [b""])[0]
            format = "tsv" if line.count(b"\t") > line.count(b",") else "csv"
    reason = InputError(f"{name} {problem}", remedies=remedies) if problem else None
    return replace(source, format=format, problem=reason)


def by_extension(data: Path | bytes) -> tuple[str, str]:
    """Return the format and the compression that the name of a file tells; empty texts if it does
    not.
    """
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


# Whether it is safe to read them.


def check_source(source: Source) -> None:
    """Refuse a file that exceeds a limit, and damaged gzip and zstd. Readers report other damage."""
    # The unpacked size of gzip and the nesting of JSON are measured in one pass; other text is not
    # read.
    with suppress(
        OSError, zipfile.BadZipFile, pl.exceptions.PolarsError, pl.exceptions.PanicException
    ):
        start = source.start
        magic = by_magic(start)
        if start.startswith(ZIP):
            limits.check_unpacked(
                source.name,
                source.data,
                sum(member.file_size for member in archive_members(source)),
            )
            return
        if magic in ("parquet", "arrow"):
            limits.check_cells(
                source.name, source.data, "stream" if start.startswith(ARROW_STREAM) else magic
            )
            return
        packed = magic if magic in ("gzip", "zstd") else ""
        if not packed and (not limits.Nesting(source.name).add(start) or len(start) < START):
            return
        size, nesting = 0, limits.Nesting(source.name)
        try:
            with replace(source, compression=packed).open_bytes() as file:
                while chunk := file.read(limits.CHUNK):
                    size += len(chunk)
                    if packed == "gzip":
                        limits.check_unpacked(source.name, source.data, size)
                    if not nesting.add(chunk) and packed != "gzip":
                        return
        except EOFError:
            raise InputError(
                f"{source.name} is cut short: the gzip data ends too early; {limits.AGAIN}"
            ) from None
        except (gzip.BadGzipFile, zlib.error) as error:
            problem = (
                f"{source.name} is damaged: it cannot be unpacked with gzip ({error});"
                f" {limits.AGAIN}"
            )
            raise InputError(problem) from None


def check_lines(source: Source) -> None:
    """Refuse JSON Lines with a very long line: parsing it takes minutes."""
    most, length = limits.limit("LINE"), 0
    with suppress(OSError), source.open_bytes() as file:
        while chunk := file.read(limits.CHUNK):
            first, *others = chunk.split(b"\n")
            length = max([length + len(first), *map(len, others)])
            if length > most:
                limits.refuse(source.name, f"has a line of more than {most:,} bytes", "LINE")
            length = len(others[-1]) if others else length


# What the user says about a delimited text.

WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


def with_dialect(votes: Any, encoding: str | None, separator: str | None, header: int) -> Any:
    """Return files as sources that are read as the user says. Without any of these, the votes come
    back as they are.
    """
    mark = WORDS.get(separator or "", separator or "")
    if mark and (len(mark) != 1 or not mark.isascii() or mark in '"\r\n'):
        known = ", ".join(word for word in WORDS if word.isalpha())
        raise InputError(
            f"the separator {separator!r} is not one ASCII character, nor one of {known}"
        )
    if header < 0:
        raise InputError(
            f"the header is on line {header}; expected a line from 1 on, or 0 for no header"
        )
    if encoding is None and not mark and header == 1:
        return votes
    if not is_files(votes):
        raise InputError(
            "an encoding, a separator and a header are for text files only; leave them out"
        )
    sources = sources_of(votes)
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError:
            raise InputError(
                f'there is no encoding "{encoding}"; try utf-8, latin-1, cp1252 or utf-16'
            ) from None
        for number, source in enumerate(sources):
            with replace(
                source, compression="gzip" if by_magic(source.start) == "gzip" else ""
            ).open_bytes() as file:
                data = file.read()
            try:
                sources[number] = sniff(Source(source.name, data.decode(encoding).encode()))
            except (UnicodeError, LookupError) as error:
                problem = (
                    f"{source.name} is not written in {encoding} ({error}); try another encoding"
                )
                raise InputError(problem) from None
    return [replace(source, separator=mark, header=int(header)) for source in sources]
