"""Read an alias: which class each spelling of a label means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from finegold.errors import InputError
from finegold.io.readers.table import open_table
from finegold.votes.frames import to_list
from finegold.votes.labels import is_missing
from finegold.votes.names import text_of
from finegold.votes.spellings import Alias

__all__ = ["read_alias"]


def read_alias(alias: Any) -> Alias | None:
    """Return the class of each spelling, of a mapping or of a table with two columns.

    A table may have no header: its first row is then an alias, which counts if such a label occurs.
    """
    if alias is None or isinstance(alias, Alias):
        return alias
    if isinstance(alias, Mapping):
        return Alias(_class_of(list(alias.items()), "the alias"))
    opened = open_table(alias)
    columns = opened.columns
    if len(columns) != 2:
        names = ", ".join(f'"{name}"' for name in columns)
        raise InputError(f"{opened.name} must have two columns, spellings and classes, but has {names}")
    table = opened.load(columns)
    rows = zip(*(to_list(table.column(name)) for name in columns), strict=True)
    return Alias(_class_of(list(rows), opened.name), (text_of(columns[0]), columns[1]))


def _class_of(pairs: list[tuple[Any, Any]], where: str) -> dict[str, Any]:
    class_of: dict[str, Any] = {}
    for spelling, name in pairs:
        if is_missing(name, ()):
            raise InputError(f"{where}: the spelling {spelling!r} has no class; fill it in or remove the row")
        if text_of(class_of.setdefault(text_of(spelling), name)) != text_of(name):
            known = class_of[text_of(spelling)]
            raise InputError(f"{where}: the spelling {spelling!r} means both {known!r} and {name!r}; keep one of them")
    return class_of
