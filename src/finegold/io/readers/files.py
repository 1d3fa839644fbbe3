"""Paths, patterns, folders and standard input -> sources."""

from __future__ import annotations

import difflib
import glob
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from finegold.errors import InputError
from finegold.io.databases import is_database, parse
from finegold.io.readers.check_files import check_source
from finegold.io.readers.excel import SHEET, is_workbook, sheet_text
from finegold.io.readers.formats import READABLE, by_extension
from finegold.io.readers.source import Source, start_of
from finegold.io.suffixes import EXPORTS, TABLES

__all__ = ["is_files", "sources_of"]

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
        return [_file(place)]
    if glob.has_magic(path):
        return _pattern(place, path)
    book, has_sheet, sheet = path.rpartition(SHEET)
    if has_sheet and _test(Path(book).expanduser().is_file, path):
        return [_sheet(_file(Path(book).expanduser()), sheet)]
    raise InputError(f"there is no file {path}{_similar(place)}")


def _sheet(book: Source, sheet: str) -> Source:
    check_source(book)
    return sheet_text(book, sheet)


def _test(question: Any, path: str) -> bool:
    try:
        return bool(question())
    except (OSError, ValueError) as error:  # a folder that may not be entered, a name that cannot be one
        raise InputError(f"{path} cannot be read: {error}; check the name and its permissions") from None


def _file(place: Path) -> Source:
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
    sources = [_file(file) for file in sorted(places) if file.is_file() and not file.name.startswith(".")]
    found = [source for source in sources if by_extension(source)[0]]
    return found or [source for source in sources if source.name.lower().endswith(EXPORTS)]


def _pattern(place: Path, path: str) -> list[Source]:
    found = [Path(name) for name in sorted(glob.glob(str(place), recursive=True))]  # noqa: PTH207 (absolute patterns)
    if not any(file.is_file() for file in found):
        raise InputError(f"no file matches the pattern {path}; quote it, and check it with ls")
    return [_file(file) for file in found if file.is_file()]


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
