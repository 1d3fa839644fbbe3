"""Readers: files, data frames and databases -> Annotations. All checks of the input happen here, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from finegold.errors import InputError
from finegold.io.columns import Columns, Guess, by_file, explained, guess_shape, refuse_other_files, say_aside
from finegold.io.database_tables import open_database
from finegold.io.databases import is_database
from finegold.io.exports import TABLE, TRANSPOSED, find_export, look, nested_hint
from finegold.io.exports.base import ALL, ExportOptions
from finegold.io.exports.read import read_export
from finegold.io.layouts import ReadOptions, read_long, read_transposed, read_wide
from finegold.io.source import Dialect, is_files, sources_of
from finegold.io.tables import Opened, Progress, WatchReading, open_sources, open_table
from finegold.io.truth import Truth, as_texts, match_truth, read_truth, with_gold, with_gold_sets
from finegold.votes.annotations import Annotations, Repeated
from finegold.votes.findings import collecting
from finegold.votes.frames import to_list
from finegold.votes.labels import Alias, is_missing
from finegold.votes.names import text_of

__all__ = ["Progress", "Truth", "match_truth", "read", "read_alias", "read_each", "read_truth"]


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
    keep_missing: bool = False,
    normalise: bool = False,
    alias: Any = None,
    encoding: str | None = None,
    separator: str | None = None,
    header: bool | int = True,
    multi: bool | None = False,
    watch: WatchReading | None = None,
) -> Annotations:
    """Read votes from any source.

    Parameters
    ----------
    votes : path, data frame, rows, columns, Annotations or address of a database
        A path, several paths, a pattern or a folder; "-" for standard input, or a binary stream; any data frame that
        Narwhals knows; a Hugging Face data set, Arrow record batches, an iterable of dicts or of tuples (task,
        annotator, label), a dict of columns, a NumPy structured array; postgresql://..., sqlite:///FILE or
        duckdb:///FILE; or Annotations, which come back as they are. Exports of annotation tools are recognised by
        their content.
    task : str, optional
        The column of the tasks, if its name is not recognised; in an export, the field that identifies tasks; in a
        transposed table, the columns of the tasks ("Q1,Q2_*").
    annotator : str or sequence of str, optional
        The column of the annotators. With `wide=True`, the columns of the annotators.
    label : str, optional
        The column of the votes. If an annotator or a label column is named, the file is read as a plain table.
    wide : bool, default False
        The table has a row per task and a column per annotator. Many such tables are recognised without it.
    format : str, optional
        The tool that wrote an export, such as "label-studio", if it is not recognised; "table" for none; "transposed"
        for a table with a row per annotator and a column per task.
    question : str, optional
        The question to read, if an export has several. `finegold.read_each` reads all of them.
    include : str or sequence of str, optional
        What the reader of an export leaves out by default, such as "predictions" or "rejected".
    query, table : str, optional
        What to read from a database: the result of a query, or a table.
    params : mapping, optional
        Values that are bound to :name in the query.
    gold : path, data frame, mapping, str or bool, optional
        Known truths: task -> class; or the name of a column of the votes' own table; or True for the column called gold
        or truth, or for the gold marks of an export.
    classes : sequence, optional
        All classes, in the order wanted. Any other label is then an error.
    repeated : {"first", "last", "majority", "all", "error"}, default "first"
        Which votes count if an annotator voted on a task more than once.
    missing : sequence, optional
        Labels that mean "no vote", besides null, NaN and blank; upper and lower case are the same. The default is NA,
        N/A, #N/A, NaN, None, null, -, ? and {}, except those among `classes`. -1 is a class unless it is listed here.
    keep_missing : bool, default False
        Keep words such as NA and None as classes. Only null, NaN and blank are then no votes.
    normalise : bool, default False
        Merge labels that differ only in case, spaces, Unicode form, a dot at the end or number format into the most
        frequent spelling. Without it, a warning shows them. If every label is a number, formats are always merged.
    alias : mapping, path or data frame, optional
        The class that each spelling of a label means: spelling -> class, or a table with these two columns.
    encoding : str, optional
        The encoding of text files that are not UTF-8, such as "latin-1" or "cp1252".
    separator : str, optional
        The character between the columns of a text file: one character, or "tab". By default, it is found.
    header : bool or int, default True
        The line with the names of the columns, from 1. False or 0 if there is none: columns are then "1", "2", ...
    multi : bool or None, default False
        Whether a vote is a set of labels: a list, or options such as "a;b". The classes are then the options. None
        finds it out: the votes are sets if the cells hold lists, or if most of them hold several options.
    watch : callable, optional
        Is called from time to time with the `Progress` of reading a long file.

    Returns
    -------
    Annotations
        The votes. `counts` says what was left out.

    Raises
    ------
    InputError
        If the votes cannot be read; the message names the file, the row and the column.

    Examples
    --------
    >>> import finegold
    >>> import polars as pl
    >>> finegold.read(pl.DataFrame({"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["x", "y", "x"]}))
    Annotations(3 votes, 2 tasks, 2 annotators, 2 classes)
    >>> finegold.read(pl.DataFrame({"task": [1, 2], "ann": ["x", "y"], "bob": ["x", None]}), wide=True)
    Annotations(3 votes, 2 tasks, 2 annotators, 2 classes)
    """
    dialect = Dialect(encoding, separator, int(header))
    if isinstance(votes, Annotations):
        _refuse_options(
            task=task, annotator=annotator, label=label, wide=wide, format=format, question=question, include=include,
            classes=classes, missing=missing, keep_missing=keep_missing, normalise=normalise,
            alias=alias is not None, encoding=encoding, separator=separator, header=header != 1,
            multi=multi and not votes.multi,
        )  # fmt: skip
        if gold is None:
            return votes
        return with_gold_sets(votes, gold) if votes.multi else with_gold(votes, gold)
    if is_database(votes) or query is not None or table is not None or params:
        votes = open_database(votes, query, table, params)
    if question == ALL:
        raise InputError(
            "several questions give several sets of votes; choose one (--question) or use finegold.read_each"
        )
    known = gold if multi is False else as_texts(gold)
    given = (known, classes, repeated, _as_list(missing), keep_missing, normalise)
    options = ReadOptions(*given, read_alias(alias), watch, multi)
    export_options = ExportOptions(task, question, gold is True, frozenset(_as_list(include) or ()), multi=multi)
    columns = Columns(task, annotator, label, wide)
    with collecting():
        return next(iter(_read(dialect.apply(votes), columns, format, export_options, options).values()))


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
    keep_missing: bool = False,
    normalise: bool = False,
    alias: Any = None,
    encoding: str | None = None,
    separator: str | None = None,
    header: bool | int = True,
    watch: WatchReading | None = None,
) -> dict[str, Annotations]:
    """Read the votes of an export for each of its questions.

    Parameters
    ----------
    votes : path, data frame or Annotations
        The votes, as in `finegold.read`.
    task : str, optional
        The field that identifies tasks.
    format : str, optional
        The tool that wrote the export, if it is not recognised.
    question : str, default "all"
        The question to read.
    include : str or sequence of str, optional
        What the reader of an export leaves out by default, such as "predictions" or "rejected".
    gold : path, data frame, mapping, str or bool, optional
        Known truths, as in `finegold.read`.
    classes : sequence, optional
        All classes, in the order wanted. Any other label is then an error.
    repeated : {"first", "last", "majority", "all", "error"}, default "first"
        Which votes count if an annotator voted on a task more than once.
    missing : sequence, optional
        Labels that mean "no vote", as in `finegold.read`.
    keep_missing : bool, default False
        Keep words such as NA and None as classes.
    normalise : bool, default False
        Merge spellings of one class, as in `finegold.read`.
    alias : mapping, path or data frame, optional
        The class that each spelling of a label means.
    encoding : str, optional
        The encoding of text files that are not UTF-8, as in `finegold.read`.
    separator : str, optional
        The character between the columns of a text file, as in `finegold.read`.
    header : bool or int, default True
        The line with the names of the columns, as in `finegold.read`.
    watch : callable, optional
        Is called from time to time with the `Progress` of reading a long file.

    Returns
    -------
    dict of str to Annotations
        The votes by the name of the question. A plain table has one question, with the name "".

    Raises
    ------
    InputError
        If the votes cannot be read.

    Examples
    --------
    >>> import finegold
    >>> import polars as pl
    >>> finegold.read_each(pl.DataFrame({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]}))
    {'': Annotations(2 votes, 1 tasks, 2 annotators, 2 classes)}
    """
    given = (gold, classes, repeated, _as_list(missing), keep_missing, normalise)
    options = ReadOptions(*given, read_alias(alias), watch)
    export_options = ExportOptions(task, question, gold is True, frozenset(_as_list(include) or ()))
    votes = Dialect(encoding, separator, int(header)).apply(votes)
    with collecting():
        return _read(votes, Columns(task), format, export_options, options)


def _read(
    votes: Any, columns: Columns, format: str | None, export_options: ExportOptions, options: ReadOptions
) -> dict[str, Annotations]:
    if format == TRANSPOSED:
        opened = votes if isinstance(votes, Opened) else open_table(votes, columns.names)
        return {"": _read_transposed(opened, columns, export_options, options)}
    if not is_files(votes):
        if format not in (None, TABLE):
            raise InputError(f"the format {format} is one of files; give a path, or leave the format out")
        opened = votes if isinstance(votes, Opened) else open_table(votes, columns.names)
        return {"": _read_table(opened, columns, export_options, options)}
    sources = sources_of(votes)
    peeks = look(sources)
    is_plain = columns.say_table or any(not source.header for source in sources)
    export = find_export(peeks, format, may_be_table=is_plain)
    if export is None:
        with nested_hint(peeks):
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
    guess = Guess() if columns.say_table else guess_shape(opened, task)
    if guess.shape is not None and not guess.doubt:
        shape = guess.shape
        say_aside(opened.name, shape.is_transposed, shape.votes, guess.aside)
        if shape.is_transposed:
            return read_transposed(opened, shape.votes, shape.ids, options)
        return read_wide(opened, shape.ids, shape.votes, options)
    if wide:
        if label is not None:
            raise InputError("a wide table has no label column: leave out --label, or --wide if there is one")
        return read_wide(opened, task, annotator, options)
    if annotator is not None and not isinstance(annotator, str):
        raise InputError("several annotator columns make a wide table: add --wide (wide=True in Python)")
    if annotator is not None:
        with explained(opened):
            return read_long(opened, task, annotator, label, options)
    opened = by_file(opened, task, label)
    with explained(opened, guess):
        annotations = read_long(opened, task, None, label, options)
    refuse_other_files(opened, annotations)
    return annotations


def _as_list(values: Sequence[Any] | None) -> list[Any] | None:
    if values is None:
        return None
    return [values] if isinstance(values, str) else list(values)


def _refuse_options(**options: Any) -> None:
    given = [name for name, value in options.items() if value]
    if given:
        raise InputError(f"{', '.join(given)} cannot be applied to Annotations, which are read already")
