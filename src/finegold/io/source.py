"""Files, folders, patterns and streams -> `Source`s: what each file is, how it begins, and whether it is safe to read.

The first bytes are read once and kept with the source. Everything that asks what a file is looks at them.

What may be hostile is checked before anything is decoded (`check_source`, `limits.py`).
"""

from __future__ import annotations

import codecs
import difflib
import glob
import gzip
import io
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

import polars as pl

from finegold.errors import InputError, Placeholder, Remedy, use
from finegold.io.databases import is_database, parse
from finegold.io.limits import (
    AGAIN,
    CHUNK,
    Nesting,
    check_cells,
    check_unpacked,
    limit,
    n_bytes,
    refuse,
    unpack_zstd,
)
from finegold.io.workbooks import OLE, PARTS, SHEET, list_sheets, read_sheet
from finegold.io.workbooks import SUFFIXES as WORKBOOKS

START = 2**14  # bytes that tell what kind of file it is; they are kept for each of many files
BOM = b"\xef\xbb\xbf"  # that some editors put in front
GZIP_HEADER = 31  # zlib's number for data with the header of gzip
LINES = 20  # that show the separator
QUOTED = re.compile('"[^"]*"')
UNUSED = "\x1f"  # a separator that hardly ever occurs, so that a line is one field

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
EXPORTS = (".json", ".json.gz", ".zip", ".eval", *WORKBOOKS)  # of files in a folder without plain tables
READABLE = frozenset({*TABLES, *COMPRESSIONS, *WORKBOOKS, ".json", ".zip", ".eval", ".manifest"})
WRITABLE = {suffix: kind for suffix, kind in TABLES.items() if kind in TEXT | {"parquet"}} | {".xlsx": "xlsx"}
READABLE_FILES = "CSV, TSV, JSONL (each also as .gz or .zst), JSON lists, Parquet, Arrow and Excel files"

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
    OLE: "Excel",
    b"%PDF": "PDF",
    b"SQLite format 3": "SQLite",
}


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

    @property
    def content(self) -> Path | bytes:
        """The data as Polars reads them: zstd is unpacked once, and Polars itself unpacks gzip."""
        if self.compression != "zstd":
            return self.data
        if "unpacked" not in self.seen:
            self.seen["unpacked"] = unpack_zstd(self.name, self.data)
        unpacked: bytes = self.seen["unpacked"]
        return unpacked


# The bytes and the lines of a file.


def open_bytes(source: Source) -> BinaryIO:
    """Open the text for reading bytes, unpacked."""
    if source.compression == "gzip":
        return cast(BinaryIO, gzip.open(_file(source.data), "rb"))
    content = source.content
    return io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")


def _file(data: Path | bytes) -> Path | io.BytesIO:
    return io.BytesIO(data) if isinstance(data, bytes) else data


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
    """Return the first bytes of a text, unpacked; damage to gzip, which may have several members, ends them."""
    if source.compression == "zstd":
        return cast(bytes, source.content)[:START]
    start = read_start(source)
    if source.compression != "gzip":
        return start
    text = b""
    while start and len(text) < START:
        member = zlib.decompressobj(GZIP_HEADER)
        with suppress(zlib.error):
            text += member.decompress(start, START - len(text))
        start = member.unused_data
    return text


def has_whole_text(source: Source) -> bool:
    """Return whether `text_start` is the whole text."""
    is_whole = source.compression == "zstd" or len(read_start(source)) < START
    return is_whole and len(text_start(source)) < START


def size_of(source: Source) -> int:
    """Return the number of bytes on disk."""
    return n_bytes(source.data)


def archive_members(source: Source) -> list[zipfile.ZipInfo]:
    """Return the files in a zip archive, which is opened once."""
    if "members" not in source.seen:
        try:
            with zipfile.ZipFile(_file(source.data)) as archive:
                source.seen["members"] = archive.infolist()
        except NotImplementedError as error:  # the version of the format, which damage changes
            raise zipfile.BadZipFile(str(error)) from error
    members: list[zipfile.ZipInfo] = source.seen["members"]
    return members


def lines_of(source: Source, most: int | None = None) -> pl.LazyFrame:
    """Return the lines of a text, one per row, blank ones as null."""
    return pl.scan_csv(
        source.content,
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
    key = f"separator {source.header}"
    if key not in source.seen:
        lines = text_start(source).removeprefix(BOM).decode(errors="replace").splitlines()
        lines = lines if len(lines) == 1 or has_whole_text(source) else lines[:-1]  # the last may be cut
        filled = [line for line in lines[max(source.header - 1, 0) :] if line.strip()][:LINES]
        source.seen[key] = _find_separator(filled, source.format)
    separator: str = source.seen[key]
    return separator


def _find_separator(lines: list[str], format: str) -> str:
    """Return the mark that the header has; of several, one that each line has equally often."""
    marks = "\t,;|" if format == "tsv" else ",;\t|"
    plain = [QUOTED.sub("", line) for line in lines] or [""]
    counts = {mark: [line.count(mark) for line in plain] for mark in f"{marks} "}
    in_header = [mark for mark in marks if counts[mark][0]]
    steady = [mark for mark in in_header if len(set(counts[mark])) == 1]
    if in_header:
        return (steady or in_header)[0]
    has_spaces = len(lines) > 1 and counts[" "][0] > 1 and len(set(counts[" "])) == 1
    return " " if has_spaces else marks[0]


# From what the user names to sources.


def is_files(votes: object) -> bool:
    """Return whether these are paths or streams, and not data frames."""
    if isinstance(votes, list | tuple):
        return all(isinstance(vote, str | os.PathLike | Source) for vote in votes)
    return isinstance(votes, str | os.PathLike) or _is_stream(votes)


def _is_stream(votes: object) -> bool:
    return callable(getattr(votes, "read", None)) and not hasattr(votes, "columns")


def sources_of(votes: Any) -> list[Source]:
    """Return every file meant, in the order given; those of a pattern or a folder are sorted by name.

    Sources that this function made before are returned as they are, so that a file is looked at once.
    """
    if _is_stream(votes):
        content = votes.read()
        data = content.encode() if isinstance(content, str) else bytes(content)
        return [_as_text(Source(str(getattr(votes, "name", "the stream")), data))]
    items = votes if isinstance(votes, list | tuple) else [votes]
    if not items:
        raise InputError("the list of files is empty; name at least one file")
    return [
        source
        for item in items
        for source in ([item] if isinstance(item, Source) else map(_as_text, _expand(os.fspath(item))))
    ]


def _expand(path: str) -> Iterable[Source]:
    if path == "-":
        return [Source("standard input", sys.stdin.buffer.read())]
    if not path:
        raise InputError("the path is empty; name a file")
    if is_database(path):
        raise InputError(
            f"{parse(path).name} is a database, not a file",
            remedies=[
                use(text="where votes are read", query=Placeholder('"SELECT ..."')),
                use(text="there", table=Placeholder("NAME")),
                Remedy(text="make a file of it with finegold convert"),
            ],
        )
    target = Path(path).expanduser()
    book, has_sheet, sheet = path.rpartition(SHEET)
    try:
        if target.is_dir():
            return _folder(target, path)
        if target.exists():  # also a name that happens to contain * or [
            return [_regular_file(target)]
        if glob.has_magic(path):
            return _pattern(target, path)
        if has_sheet and Path(book).expanduser().is_file():
            workbook = _regular_file(Path(book).expanduser())
            check_source(workbook)
            return [sheet_text(workbook, sheet)]
    except (OSError, ValueError) as error:  # a folder that may not be entered, a name that cannot be one
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} cannot be read: {error}; check the name and its permissions") from None
    folder = target.parent
    if not folder.is_dir():
        raise InputError(f"there is no file {path}; nor is there a folder {folder}")
    names = [entry.name for entry in folder.iterdir()] if os.access(folder, os.R_OK) else []
    near = " or ".join(str(folder / name) for name in difflib.get_close_matches(target.name, names, n=3))
    raise InputError(f"there is no file {path}; {f'did you mean {near}?' if near else 'check the name'}")


def _regular_file(path: Path) -> Source:
    """Return a file as a source. A pipe, such as <(zcat votes.gz), can be read once only, so it is read whole."""
    shown = str(path).encode(errors="backslashreplace").decode()
    if shown != str(path):
        raise InputError(f"the name of the file {shown} is not valid UTF-8; rename the file")
    if path.is_file():
        return Source(str(path), path)
    try:
        return Source(str(path), path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def _folder(folder: Path, path: str) -> list[Source]:
    """Return the data files of a folder; if there are none, those of its subfolders, as some tools write them."""
    try:
        sources = _data_files(folder.iterdir()) or _data_files(folder.rglob("*"))
    except PermissionError:
        raise InputError(f"the folder {path} may not be read; check its permissions") from None
    if not sources:
        raise InputError(
            f"the folder {path} holds no data files; Finegold reads {READABLE_FILES} ({', '.join(TABLES)})"
        )
    return sources


def _data_files(paths: Iterable[Path]) -> list[Source]:
    sources = [_regular_file(file) for file in sorted(paths) if file.is_file() and not file.name.startswith(".")]
    tables = [source for source in sources if by_extension(source)[0]]
    return tables or [source for source in sources if source.name.lower().endswith(EXPORTS)]


def _pattern(pattern: Path, path: str) -> list[Source]:
    matches = [Path(name) for name in sorted(glob.glob(str(pattern), recursive=True))]  # noqa: PTH207 (absolute patterns)
    if not any(file.is_file() for file in matches):
        raise InputError(f"no file matches the pattern {path}; quote it, and check it with ls")
    return [_regular_file(file) for file in matches if file.is_file()]


def _as_text(source: Source) -> Source:
    """Return a workbook as comma-separated text, and UTF-16, which Excel and survey tools write, as UTF-8."""
    check_source(source)
    if is_workbook(source):
        return sheet_text(source)
    if start_of(source).startswith(UTF_16):
        with suppress(OSError, UnicodeError):  # those who read it will say so
            data = source.data if isinstance(source.data, bytes) else source.data.read_bytes()
            return Source(source.name, data.decode("utf-16").encode())
    return source


def is_workbook(source: Source) -> bool:
    """Recognise a workbook by its content, because any file may be called .xls; a damaged one by its name."""
    start = start_of(source)[: len(ZIP)]
    if start == ZIP:
        with suppress(zipfile.BadZipFile, OSError):
            return not PARTS.isdisjoint(member.filename for member in archive_members(source))
    return start == OLE or (start == ZIP and source.name.lower().endswith(WORKBOOKS))


def sheet_text(source: Source, sheet: str | None = None) -> Source:
    """Return the sheet of this name, or the only one that is not empty, as comma-separated text."""
    title, text = read_sheet(source.name, source.data, sheet)
    return Source(f'{source.name}, sheet "{title}"', text)


def sheet_names(source: Source) -> list[str]:
    """Return the names of the sheets that are not empty."""
    return list_sheets(source.name, source.data)


# What the files are.


def recognise(source: Source) -> Source:
    """Return the source with its format. Raise an InputError if Finegold does not read it."""
    try:
        start = read_start(source)[:4096]
    except PermissionError:
        raise InputError(f"{source.name} may not be read; check its permissions (chmod u+r)") from None
    except OSError as error:
        raise InputError(f"{source.name} cannot be read: {error.strerror}") from None
    if not start.strip():
        raise InputError(f"{source.name} is empty; expected a table with a header and at least one vote")
    expected, compression = by_extension(source)
    actual = by_magic(start)
    if expected and actual and actual != (compression or expected):
        claim = f"{expected.upper()} in {compression}" if compression else expected.upper()
        raise InputError(f"{source.name} is not {claim}: its content is {actual}; rename or convert it")
    if expected:
        return replace(source, format=expected, compression=compression)
    if actual in ("parquet", "arrow"):
        return replace(source, format=actual)
    if actual in ("SQLite", "DuckDB"):
        raise InputError(
            f"{source.name} is a database; read it as {actual.lower()}:///{source.name}",
            remedies=[use(table=Placeholder("NAME")), use(query=Placeholder('"SELECT ..."'))],
        )
    packed = actual if actual in ("gzip", "zstd") else ""
    if not packed and (actual or b"\0" in start):
        what = f"its content is {actual}" if actual else "it is binary"
        raise InputError(f"{source.name} is not a table that Finegold reads: {what}; it reads {READABLE_FILES}")
    source = replace(source, compression=packed)
    text = text_start(source).removeprefix(BOM).lstrip(b" ")
    if text.startswith((b"{", b"[")):
        return replace(source, format="jsonl" if text.startswith(b"{") else "json")
    line = (text.splitlines() or [b""])[0]
    return replace(source, format="tsv" if line.count(b"\t") > line.count(b",") else "csv")


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
    """Return the format that the first bytes tell, or an empty text."""
    if start[8:12] == b"DUCK":
        return "DuckDB"
    return next((kind for magic, kind in MAGIC_FORMATS.items() if start.startswith(magic)), "")


# Whether it is safe to read them.


def check_source(source: Source) -> None:
    """Refuse a file that exceeds a limit, and damaged gzip and zstd. Readers report other damage."""
    with suppress(OSError, zipfile.BadZipFile, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        start = start_of(source)
        magic = by_magic(start)
        if start.startswith(ZIP):
            check_unpacked(source.name, source.data, sum(member.file_size for member in archive_members(source)))
        elif magic in ("parquet", "arrow"):
            check_cells(source.name, source.data, "stream" if start.startswith(ARROW_STREAM) else magic)
        else:
            with _whole_gzip(source):
                _check_text(replace(source, compression=magic if magic in ("gzip", "zstd") else ""))


@contextmanager
def _whole_gzip(source: Source) -> Iterator[None]:
    """Raise an InputError for a file that cannot be unpacked."""
    try:
        yield
    except EOFError:
        raise InputError(f"{source.name} is cut short: the gzip data ends too early; {AGAIN}") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{source.name} is damaged: it cannot be unpacked with gzip ({error}); {AGAIN}") from None


def _check_text(source: Source) -> None:
    """Check in one pass the unpacked size of gzip, and the nesting of JSON."""
    if not source.compression:
        start = start_of(source)
        if not Nesting(source.name).add(start) or len(start) < START:
            return
    size, nesting = 0, Nesting(source.name)
    with open_bytes(source) as file:
        while chunk := file.read(CHUNK):
            size += len(chunk)
            if source.compression == "gzip":
                check_unpacked(source.name, source.data, size)
            if not nesting.add(chunk) and source.compression != "gzip":
                return


def check_lines(source: Source) -> None:
    """Refuse JSON Lines with a very long line: parsing it takes minutes."""
    most, length = limit("LINE"), 0
    with suppress(OSError), open_bytes(source) as file:
        while chunk := file.read(CHUNK):
            first, *others = chunk.split(b"\n")
            length = max([length + len(first), *map(len, others)])
            if length > most:
                refuse(source.name, f"has a line of more than {most:,} bytes", "LINE")
            length = len(others[-1]) if others else length


# What the user says about a delimited text.

WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


@dataclass(frozen=True)
class Dialect:
    """What the user says about a delimited text. The default says nothing."""

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
        mark = WORDS.get(self.separator or "", self.separator or "")
        sources = sources_of(votes)
        if self.encoding is not None:
            sources = [Source(source.name, _decode(source, self.encoding)) for source in sources]
        return [replace(source, separator=mark, header=int(self.header)) for source in sources]


def _decode(source: Source, encoding: str) -> bytes:
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
