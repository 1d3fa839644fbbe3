"""The records of JSON exports, one by one."""

from __future__ import annotations

import io
import json
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import PurePath
from typing import Any, BinaryIO, cast

from finegold.io.exports.export import Wrong
from finegold.io.exports.peek import Peek, skip_bom
from finegold.io.readers.check_files import check_nesting
from finegold.io.readers.limits import limit, remedy_of
from finegold.io.readers.source import Source, open_bytes

__all__ = ["damage", "items", "json_lines", "open_export", "open_member", "open_zip", "records_of"]

ENCRYPTED = 1  # a bit of the flags of a file in an archive
CHUNK = 2**18  # bytes that ijson reads at once


def records_of(seen: Peek) -> Iterator[Any]:
    """Yield the records of a JSON list or of JSON Lines. A single object is a list of one."""
    with open_export(seen.source) as file:
        if seen.source.format == "jsonl":
            yield from json_lines(file)
        else:
            yield from items(file, "item" if seen.is_list else "")


def open_export(source: Source) -> BinaryIO:
    if source.compression == "zstd":
        raise Wrong("it is packed with zstd", remedy="unpack it first (zstd -d)")
    file = open_bytes(source)
    skip_bom(file)
    return file


def items(file: BinaryIO, place: str) -> Iterator[Any]:
    """Yield the values at a place of a JSON file that may be larger than memory.

    "item" means the values of a list, and "" means whole objects, of which several may follow each other.
    """
    import ijson

    done = 0
    try:
        for item in ijson.items(file, place, use_float=True, buf_size=CHUNK, multiple_values=not place):
            done += 1
            yield item
    except (ijson.JSONError, UnicodeDecodeError) as error:
        raise Wrong(damage(error), record=done + 1) from None


def damage(error: Exception) -> str:
    """Return the reason that ijson gives, without its drawing of the place."""
    reason = str(error).removeprefix("b'").split("\\n")[0].split("\n")[0].strip(" .")
    return "the file is cut short" + ("" if "EOF" in reason else f", or no valid JSON ({reason})")


def json_lines(file: BinaryIO) -> Iterator[Any]:
    """Yield one JSON value per line. Blank lines do not count."""
    number, most = 0, limit("LINE")
    while line := file.readline(most + 1):
        if len(line) > most:
            raise Wrong(f"a line of more than {most:,} bytes", number + 1, remedy_of("LINE"))
        if line.strip():
            number += 1
            yield _loaded(line, number)


def _loaded(line: bytes, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise Wrong(f"no valid JSON ({error})", record=number) from None


@contextmanager
def open_zip(source: Source) -> Iterator[zipfile.ZipFile]:
    data = io.BytesIO(source.data) if isinstance(source.data, bytes) else source.data
    library = _zip_library()
    try:
        with library.ZipFile(data) as archive:
            yield archive
    except (zipfile.BadZipFile, library.BadZipFile, zlib.error, EOFError) as error:
        raise Wrong(f"the zip archive is damaged ({error})") from None
    except NotImplementedError as error:
        raise _cannot_unpack(str(error)) from None


def _cannot_unpack(reason: str) -> Wrong:
    if reason.startswith("zip file version"):
        return Wrong(f"the zip archive is damaged ({reason})")
    return Wrong("it is packed with zstd", remedy="install what can unpack it: pip install 'finegold[inspect]'")


def _zip_library() -> Any:
    """Return a module that reads archives. Python unpacks zstd from 3.14 on, and a backport does before that."""
    if sys.version_info < (3, 14):
        with suppress(ImportError):
            from backports.zstd import zipfile as newer

            return newer
    return zipfile


@contextmanager
def open_member(archive: zipfile.ZipFile, name: str) -> Iterator[BinaryIO]:
    """Open a file of an archive, and add its name to errors."""
    if archive.getinfo(name).flag_bits & ENCRYPTED:
        raise Wrong(f"{name} is encrypted", remedy="unpack the archive with its password, and give the files in it")
    with archive.open(name) as file:
        check_nesting(f"{name} in {PurePath(archive.filename or 'the archive').name}", file)
    try:
        with archive.open(name) as file:
            yield cast(BinaryIO, file)
    except Wrong as error:
        raise Wrong(f"in {name}, {error.found}", error.record, error.remedy) from None
