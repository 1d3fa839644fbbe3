"""Write the output files of a command: all of them or none, and never over an input."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from glob import glob
from pathlib import Path
from typing import Any

from finegold.errors import InputError, OutputError

__all__ = ["Write", "check_outputs", "frame_writer", "write_all"]

Write = Callable[[Path], None]


def check_outputs(tables: Iterable[str], others: Iterable[str], inputs: Iterable[str]) -> None:
    """Check before the fit that every output can be written, is not an input and is not named twice."""
    from finegold.io.writers import check_table_path, check_writable

    tables, read = list(tables), {file.resolve() for name in inputs for file in _files_of(name)}
    outputs = [*tables, *others]
    places = [Path(path).expanduser().resolve() for path in outputs]
    for path in tables:
        check_table_path(path)
    for path, place in zip(outputs, places, strict=True):
        if place in read:
            raise InputError(f"{path} is an input and would be overwritten; name another output")
        if places.count(place) > 1:
            raise InputError(f"{path} is named for two outputs; name another")
        check_writable(path)


def frame_writer(make: Callable[[], Any]) -> Write:
    """Return a function that writes the data frame that `make` returns."""
    from finegold.io.writers import write_frame

    return lambda path: write_frame(make(), path)


def _files_of(name: str) -> list[Path]:
    """Return the files of an input: a file, a folder, a glob pattern, a database file or an Excel sheet."""
    from finegold.io.databases import is_database, parse

    if is_database(name):
        return [Path(parse(name).target)] if parse(name).is_file else []
    path = Path(name).expanduser()
    if path.is_dir():
        return _data_files(path.iterdir()) or _data_files(path.rglob("*"))
    if path.exists():
        return [path]
    book = Path(str(path).rpartition("#")[0])
    return [book] if book.is_file() else [Path(found) for found in glob(str(path), recursive=True)]  # noqa: PTH207 (absolute patterns)


def _data_files(found: Iterable[Path]) -> list[Path]:
    from finegold.io.source import EXPORTS, Source, by_extension

    files = [path for path in found if path.is_file()]
    return [path for path in files if by_extension(Source("", path))[0] or path.name.lower().endswith(EXPORTS)]


def write_all(files: dict[str, Write], then: Callable[[], None] | None = None) -> None:
    """Write all files under temporary names, call `then`, and move the files to their final names."""
    from finegold.system.files import replacing_all

    with replacing_all(files) as temporary_paths:
        for temporary, (path, write) in zip(temporary_paths, files.items(), strict=True):
            _write_to(temporary, path, write)
        if then is not None:
            then()


def _write_to(temporary: Path, path: str, write: Write) -> None:
    try:
        write(temporary)
    except OutputError as error:
        raise OutputError(str(error).replace(str(temporary), path)) from error
