"""Files that a command writes: all of them or none, and never over what it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from karat.errors import InputError, OutputError

__all__ = ["Write", "check_outputs", "table", "write_all"]

STANDARD_OUTPUT = "-"

Write = Callable[[Path], None]


def check_outputs(tables: Iterable[str], others: Iterable[str], inputs: Iterable[str]) -> None:
    """Before the work: every output can be written, and is neither an input nor named twice."""
    from karat.writers import check_table_path, check_writable

    tables, read = list(tables), {Path(name).resolve() for name in inputs if name != STANDARD_OUTPUT}
    outputs = [*tables, *others]
    places = [Path(path).resolve() for path in outputs]
    for path in tables:
        check_table_path(path)
    for path, place in zip(outputs, places, strict=True):
        if _is_read(place, read):
            raise InputError(f"{path} is read here and would be overwritten; name another output")
        if places.count(place) > 1:
            raise InputError(f"{path} is named for two outputs; name another")
        check_writable(path)


def table(make: Callable[[], Any]) -> Write:
    """Writes the data frame that `make` makes."""
    from karat.writers import write_frame

    return lambda path: write_frame(make(), path)


def _is_read(output: Path, read: set[Path]) -> bool:
    """Inputs may be folders and patterns."""
    if output in read:
        return True
    return output.exists() and any(output.parent == name or fnmatch(str(output), str(name)) for name in read)


def write_all(files: dict[str, Write], then: Callable[[], None] | None = None) -> None:
    """Each file is written beside its place; only when all are whole, and `then` is done, do they move there."""
    from karat.writers import replacing

    with ExitStack() as stack:
        for path, write in files.items():
            temporary = stack.enter_context(replacing(path))
            _write_to(temporary, path, write)
        if then is not None:
            then()


def _write_to(temporary: Path, path: str, write: Write) -> None:
    """The extension tells the format, so it must stay."""
    staged = temporary.with_name(f"{temporary.name}.staged" + "".join(Path(path).suffixes))
    try:
        write(staged)
        staged.replace(temporary)
    except OutputError as error:
        raise OutputError(str(error).replace(str(staged), path)) from error
    finally:
        staged.unlink(missing_ok=True)
