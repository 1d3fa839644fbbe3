"""Readers: files, data frames and databases -> Annotations. All checks of the input happen here, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from karat.errors import InputError
from karat.io.databases import is_database
from karat.io.readers.assemble import ReadOptions
from karat.io.readers.batches import Progress, WatchReading
from karat.io.readers.database import open_database
from karat.io.readers.exports import TABLE, TRANSPOSED, find_export, look
from karat.io.readers.exports.export import ALL, ExportOptions
from karat.io.readers.exports.read import read_export
from karat.io.readers.files import is_files, sources_of
from karat.io.readers.long import read_long
from karat.io.readers.shapes import shape_of
from karat.io.readers.table import Opened, open_sources, open_table
from karat.io.readers.transposed import read_transposed
from karat.io.readers.truth import Match, Truth, match_truth, read_truth, with_gold
from karat.io.readers.wide import read_wide
from karat.votes.annotations import Annotations, Repeated

__all__ = ["Match", "Progress", "Truth", "match_truth", "read", "read_each", "read_truth"]


def read(
    votes: Any,
    *,
    task: str | None = None,
    annotator: str | Sequence[str] | None = None,
    label: str | None = None,
    wide: bool = False,
    format: str | None = None,
    question: str | None = None,
    include: str | Sequence[str] = (),
    query: str | None = None,
    table: str | None = None,
    params: Mapping[str, Any] | None = None,
    gold: Any = None,
    classes: Sequence[Any] | None = None,
    repeated: Repeated = "first",
    missing: Sequence[Any] | None = None,
    watch: WatchReading | None = None,
) -> Annotations:
    """Votes of any source as Annotations.

    votes: a path, several paths, a pattern or a folder; "-" for standard input, or a binary stream; any data
        frame that Narwhals knows; or Annotations, which come back as they are. Exports of annotation tools are
        recognised by their content. The address of a database: postgresql://..., sqlite:///FILE, duckdb:///FILE.
    task, annotator, label: the columns, where their names do not tell. With wide=True, annotator may list the
        columns of the annotators, and there is no label column; many wide tables are found without it. In an
        export, task may name the field that tells tasks apart; naming an annotator or a label column makes it a
        plain table.
    format: the tool that wrote an export, such as "label-studio", where it is not recognised; "table" for none;
        "transposed" for a table with a row per annotator and a column per task (task= chooses columns: "Q1,Q2_*").
    question: which one, where an export asks several; `read_each` reads all of them.
    include: what an export's reader leaves out by itself, such as "predictions" or "rejected".
    query, table, params: what to read from a database; values in params are bound to :name in the query.
    gold: known truths: a path, a data frame, a mapping {task: class}; the name of a column of the votes' own
        table, or True for the one called gold or truth (never taken for an annotator), or for an export's gold marks.
    classes: all classes, in the order wanted; any other label is then an error.
    missing: labels that mean "no vote" beside null, NaN and blank; by default NA, null and NaN, and in wide
        tables of integers also -1.
    watch: is called with the Progress of reading long tables and exports from files, now and then.
    """
    if isinstance(votes, Annotations):
        _refuse_options(
            task=task, annotator=annotator, label=label, wide=wide, format=format, question=question, include=include,
            classes=classes, missing=missing,
        )  # fmt: skip
        return votes if gold is None else with_gold(votes, gold)
    if is_database(votes) or query is not None or table is not None or params:
        votes = open_database(votes, query, table, params)
    if question == ALL:
        raise InputError("several questions give several sets of votes; choose one (--question) or use karat.read_each")
    options = ReadOptions(gold=gold, classes=classes, repeated=repeated, missing=_as_list(missing), watch=watch)
    export_options = ExportOptions(task, question, gold is True, frozenset(_as_list(include) or ()))
    return next(iter(_read(votes, Columns(task, annotator, label, wide), format, export_options, options).values()))


def read_each(
    votes: Any,
    *,
    task: str | None = None,
    format: str | None = None,
    question: str = ALL,
    include: str | Sequence[str] = (),
    gold: Any = None,
    classes: Sequence[Any] | None = None,
    repeated: Repeated = "first",
    missing: Sequence[Any] | None = None,
    watch: WatchReading | None = None,
) -> dict[str, Annotations]:
    """The votes of an export for each of its questions, by the question's name. The options are those of `read`.

    A file that asks one question without a name, as a plain table does, has it under the name "".
    """
    options = ReadOptions(gold=gold, classes=classes, repeated=repeated, missing=_as_list(missing), watch=watch)
    export_options = ExportOptions(task, question, gold is True, frozenset(_as_list(include) or ()))
    return _read(votes, Columns(task), format, export_options, options)


class Columns(NamedTuple):
    """The columns of a plain table that the user names."""

    task: str | None = None
    annotator: str | Sequence[str] | None = None
    label: str | None = None
    wide: bool = False

    @property
    def say_table(self) -> bool:
        """Whether the user names columns that only a plain table has."""
        return self.wide or self.annotator is not None or self.label is not None


def _read(
    votes: Any, columns: Columns, format: str | None, export_options: ExportOptions, options: ReadOptions
) -> dict[str, Annotations]:
    if format == TRANSPOSED:
        return {
            "": _read_transposed(
                votes if isinstance(votes, Opened) else open_table(votes), columns, export_options, options
            )
        }
    if not is_files(votes):
        if format not in (None, TABLE):
            raise InputError(f"the format {format} is one of files; give a path, or leave the format out")
        opened = votes if isinstance(votes, Opened) else open_table(votes)
        return {"": _read_table(opened, columns, export_options, options)}
    sources = sources_of(votes)
    peeks = look(sources)
    export = find_export(peeks, format, may_be_table=columns.say_table)
    if export is None:
        return {"": _read_table(open_sources(sources), columns, export_options, options)}
    if columns.say_table:
        raise InputError(
            f"an export of {export.title} has no columns to name: choose with --question instead of "
            f"--label, --annotator or --wide, or say --format {TABLE}"
        )
    return read_export(export, peeks, export_options, options)


def _read_transposed(
    opened: Opened, columns: Columns, export_options: ExportOptions, options: ReadOptions
) -> Annotations:
    _refuse_of_exports(opened, export_options)
    if columns.label is not None or not isinstance(columns.annotator, str | None):
        raise InputError("a transposed table has one column of annotators and none of labels; see --annotator, --task")
    return read_transposed(opened, columns.task, columns.annotator, options)


def _refuse_of_exports(opened: Opened, export_options: ExportOptions) -> None:
    if export_options.include or export_options.question not in (None, ALL):
        option = "--include" if export_options.include else "--question"
        raise InputError(
            f"{option} is for exports of annotation tools, but {opened.name} is a plain table; leave it out"
        )


def _read_table(opened: Opened, columns: Columns, export_options: ExportOptions, options: ReadOptions) -> Annotations:
    _refuse_of_exports(opened, export_options)
    task, annotator, label, wide = columns
    if not columns.say_table and (shape := shape_of(opened, task)) is not None:
        if shape.is_transposed:
            return read_transposed(opened, shape.votes, shape.ids, options)
        return read_wide(opened, shape.ids, shape.votes, options)
    if wide:
        if label is not None:
            raise InputError("a wide table has no label column: leave out --label, or --wide if there is one")
        return read_wide(opened, task, annotator, options)
    if annotator is not None and not isinstance(annotator, str):
        raise InputError("several annotator columns make a wide table: add --wide (wide=True in Python)")
    return read_long(opened, task, annotator, label, options)


def _as_list(values: Sequence[Any] | None) -> list[Any] | None:
    if values is None:
        return None
    return [values] if isinstance(values, str) else list(values)


def _refuse_options(**options: Any) -> None:
    given = [name for name, value in options.items() if value]
    if given:
        raise InputError(f"{', '.join(given)} cannot be applied to Annotations, which are read already")
