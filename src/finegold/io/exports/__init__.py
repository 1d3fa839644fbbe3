"""Exports of annotation tools -> Annotations. Each tool has a file, and a line in FORMATS registers it.

Files are read record by record: memory depends on the distinct names and the votes, not on the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

from finegold.errors import InputError, use
from finegold.io.exports.base import Export, Peek, peek
from finegold.io.source import Source
from finegold.system.memory import did_you_mean

__all__ = ["FORMATS", "TABLE", "TRANSPOSED", "export_named", "find_export", "look", "nested_hint"]

TABLE = "table"  # the --format that says: no export, whatever it looks like
TRANSPOSED = "transposed"  # nor is this one: a table with a row per annotator and a column per task

# The --format and the module that has EXPORT. The first that fits a file reads it.
FORMATS = {
    "label-studio": "finegold.io.exports.label_studio",
    "prodigy": "finegold.io.exports.prodigy",
    "doccano": "finegold.io.exports.doccano",
    "argilla": "finegold.io.exports.argilla",
    "inspect": "finegold.io.exports.inspect_ai",
    "mturk": "finegold.io.exports.mturk",
    "toloka": "finegold.io.exports.toloka",
    "appen": "finegold.io.exports.appen",
    "qualtrics": "finegold.io.exports.qualtrics",
    "sagemaker": "finegold.io.exports.sagemaker",
    "mt-bench": "finegold.io.exports.mt_bench",
    "judgebench": "finegold.io.exports.judge_bench",
    "alpaca-eval": "finegold.io.exports.alpaca_eval",
    "arena": "finegold.io.exports.arena",
    "zooniverse": "finegold.io.exports.zooniverse",
    "nested-json": "finegold.io.exports.nested_json",
}


def export_named(name: str) -> Export:
    if name not in FORMATS:
        known = [TABLE, TRANSPOSED, *FORMATS]
        raise InputError(f'there is no format "{name}"; Finegold knows {", ".join(known)}{did_you_mean(name, known)}')
    export: Export = import_module(FORMATS[name]).EXPORT
    return export


def look(sources: Sequence[Source]) -> list[Peek]:
    """Look at the beginning of each file."""
    return [peek(source) for source in sources]


def find_export(peeks: Sequence[Peek], format: str | None = None, *, may_be_table: bool = False) -> Export | None:
    """Return the tool that wrote these files, or None for plain tables."""
    if format is not None:
        return None if format == TABLE else export_named(format)
    exports = [export_named(name) for name in FORMATS]
    found = [next((export for export in exports if export.fits(seen)), None) for seen in peeks]
    if may_be_table and all(seen.is_table for seen in peeks):
        return None
    for export, seen in zip(found, peeks, strict=True):
        if export is not found[0]:
            raise InputError(
                f"{peeks[0].source.name} is {_said(found[0])} but {seen.source.name} is {_said(export)}; "
                "read them one at a time, or name the --format that both have"
            )
    return found[0] if found else None


@contextmanager
def nested_hint(peeks: Sequence[Peek]) -> Iterator[None]:
    """Add to errors about a table of JSON how votes inside lists and objects are read."""
    try:
        yield
    except InputError as error:
        if not any(isinstance(value, dict | list) for seen in peeks for value in seen.record.values()):
            raise
        error.remedies = (use(format="nested-json", text="if every task holds its votes"), *error.remedies)
        raise


def _said(export: Export | None) -> str:
    return "a plain table" if export is None else f"an export of {export.title}"
