"""One file, or all bytes of a stream: what it is, its first bytes and its lines.

The first bytes are read once and kept with the source. Everything that asks what a file is looks at them.
"""

from __future__ import annotations

import gzip
import io
import re
import zipfile
import zlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import polars as pl

__all__ = [
    "BOM",
    "START",
    "Source",
    "archive_members",
    "first_line",
    "first_lines",
    "has_whole_text",
    "lines_of",
    "open_bytes",
    "read_start",
    "separator_of",
    "size_of",
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
