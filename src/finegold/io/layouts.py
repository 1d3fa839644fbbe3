"""The last step of every reader: coded columns -> Annotations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.columns import (
    ANNOTATOR,
    LABEL,
    RESPONDENT,
    TASK,
    TRUTH,
    WIDE_TASK,
    Role,
    bare_name,
    candidates,
    columns_of,
    find_column,
    find_columns,
    listed,
    named_column,
    plain_columns,
    say_aside,
    truth_columns,
)
from finegold.io.sets import assemble_sets, find_sets, lists_as_text, refuse_with_sets
from finegold.io.source import limit, remedy_of
from finegold.io.tables import Opened, Table, WatchReading, row_numbers
from finegold.io.truth import Truth, gold_codes, gold_column, gold_truth, read_gold, warn_of_gold, with_gold_sets
from finegold.votes.alarms import alarm, totals_of
from finegold.votes.annotations import Annotations, Repeated, count_disagreeing
from finegold.votes.encoding import MISSING, Codes, Names
from finegold.votes.findings import taken
from finegold.votes.frames import kind_of, series_of, to_list
from finegold.votes.hygiene import votes_in
from finegold.votes.labels import Alias, Spellings, encode_classes, listed_classes, missing_words, unify
from finegold.votes.names import Coded, encode_series, integer_names, renumber, text_of

__all__ = [
    "ReadOptions",
    "assemble",
    "cells_of",
    "column_names",
    "count_cells",
    "count_more",
    "id_column",
    "read_long",
    "read_transposed",
    "read_wide",
    "refuse_lost_ids",
    "row_ids",
    "with_columns",
    "with_unlabelled",
]


@dataclass(frozen=True)
class ReadOptions:
    """The options of a reader, apart from the columns."""

    gold: Any = None
    classes: Sequence[Any] | None = None
    repeated: Repeated = "first"
    missing: Sequence[Any] | None = None
    keep_missing: bool = False
    normalise: bool = False
    alias: Alias | None = None
    watch: WatchReading | None = None  # called with the progress of a long read
    multi: bool | None = False  # whether votes are sets of labels; None if the labels decide

    @property
    def no_vote(self) -> Sequence[Any] | None:
        """The words that mean "no vote", or None for the usual ones."""
        spellings = self.alias.class_of if self.alias else {}
        return missing_words(self.missing, self.keep_missing, [*listed_classes(self.classes), *spellings])

    def decided(self, labels: Coded, of_export: bool = False) -> ReadOptions:
        """Return the options with `multi` true or false."""
        return self if self.multi is not None else replace(self, multi=find_sets(labels, of_export))


def assemble(
    tasks: Coded,
    annotators: Coded,
    labels: Coded,
    truth: Truth | None,
    options: ReadOptions,
    is_text: bool,
    where: Callable[[int], str],
) -> Annotations:
    """Build Annotations with one list of classes. Rows that hold nothing are left out and counted."""
    if options.decided(labels).multi:
        refuse_with_sets(options.repeated)
        given = (options.classes, options.normalise, options.alias)
        votes = assemble_sets(tasks, annotators, labels, *given, where)
        return with_gold_sets(votes, truth) if truth else votes
    truths, label = to_list(truth.truth) if truth else [], str(labels.names.name)
    labels, truths, _ = unify(Spellings(labels, truths), options.classes, options.normalise, options.alias)
    encoded = encode_classes(labels, truths, options.classes, is_text, where)
    codes, left_out = _with_ids(tasks.codes, annotators.codes, encoded.labels)
    gold, unused = gold_codes(truth, encoded.truths, tasks.names, codes) if truth else (None, [])
    annotations = Annotations.from_codes(
        *codes,
        tasks.names,
        annotators.names,
        encoded.names,
        gold=gold,
        repeated=options.repeated,
    )
    annotations = count_more(annotations, rows=left_out, missing=left_out) if left_out else annotations
    if truth:
        known = labels.names if options.classes is None else encoded.names
        warn_of_gold(unused, truths, annotations.task_names, known)
    is_repeated = annotations.counts.repeated > 0
    disagreeing = count_disagreeing(*codes, annotations.votes_per_task) if is_repeated else 0
    counts = replace(annotations.counts, gold_unused=len(unused), disagreeing=disagreeing)
    annotations = replace(annotations, counts=counts)
    alarm(totals_of(annotations), options.repeated)
    alias = options.alias.class_of if options.alias else {}
    return replace(annotations, hygiene=taken(label=label, normalise=options.normalise, alias=alias))


def with_columns(annotations: Annotations, opened: Opened, task: Any, annotator: Any) -> Annotations:
    """Keep what the user calls tasks and annotators, where columns have names."""
    if any(not source.header for source in opened.sources):
        return annotations
    known = zip((task, annotator), annotations.columns, strict=True)
    names = [name if isinstance(name, str) and name.strip() else usual for name, usual in known]
    return replace(annotations, columns=(names[0], names[1]))


def refuse_lost_ids(role: str, ids: Codes, labels: Codes, where: Callable[[int], str]) -> None:
    """Refuse a label without a task or an annotator: it is a mistake in the file."""
    if ids.size and ids.min() != MISSING:
        return
    lost = np.flatnonzero((ids == MISSING) & (labels != MISSING))
    if lost.size:
        like_that = f" ({lost.size:,} rows are like that)" if lost.size > 1 else ""
        remedy = f"fill in the {role} or remove the row{like_that}"
        raise InputError(f"{where(int(lost[0]))}: there is a label but no {role}; {remedy}")


def count_more(annotations: Annotations, rows: int, missing: int) -> Annotations:
    counts = annotations.counts
    return replace(annotations, counts=replace(counts, rows=counts.rows + rows, missing=counts.missing + missing))


def _with_ids(task: Codes, annotator: Codes, label: Codes) -> tuple[tuple[Codes, Codes, Codes], int]:
    """Leave out rows without an id, such as blank lines, and return how many there are."""
    if all(ids.size == 0 or ids.min() != MISSING for ids in (task, annotator)):
        return (task, annotator, label), 0
    whole = (task != MISSING) & (annotator != MISSING)
    return (task[whole], annotator[whole], label[whole]), int((~whole).sum())


def read_long(
    opened: Opened, task: str | None, annotator: str | None, label: str | None, options: ReadOptions
) -> Annotations:
    with columns_of(opened.name):
        gold = gold_column(options.gold, opened.columns)
        free = [column for column in opened.columns if column != gold]
        chosen = find_columns(free, {TASK: task, ANNOTATOR: annotator, LABEL: label})
    if options.multi is not False:
        for column in (chosen[2], gold):
            opened = opened if column is None else lists_as_text(opened, column)
    values = [chosen[2]] if gold is None else [chosen[2], gold]
    table = opened.encode(chosen[:2], values, options.watch)
    tasks, annotators = table.ids(chosen[0]), table.ids(chosen[1])
    labels = votes_in(table.values(chosen[2]), options.no_vote)
    options = options.decided(labels)
    if not options.multi:
        _refuse_too_many_classes(opened.name, chosen[2], len(labels.names))
    refuse_lost_ids("task", tasks.codes, labels.codes, table.where)
    refuse_lost_ids("annotator", annotators.codes, labels.codes, table.where)
    truth = gold_truth(table, tasks, gold, options.gold, options.no_vote)
    annotations = assemble(tasks, annotators, labels, truth, options, table.is_text, table.where)
    return with_columns(annotations, opened, *chosen[:2])


def _refuse_too_many_classes(name: str, column: Any, found: int) -> None:
    """Refuse a column with so many classes that it probably holds texts or ids."""
    if found > (most := limit("CLASSES")):
        raise InputError(
            f'{name} has {found:,} classes in the column "{column}", more than {most:,}, which is the limit; name the '
            f"column of the labels with --label NAME, or, {remedy_of('CLASSES')}"
        )


Series = nw.Series[Any]


def read_wide(
    opened: Opened, task: str | None, annotators: str | Sequence[str] | None, options: ReadOptions
) -> Annotations:
    """Tasks are named by their column (or by a pandas index), else by the number of their row, from 1.

    A column called gold or truth is no annotator; it is used only if `gold` asks for it.
    """
    with columns_of(opened.name):
        gold = gold_column(options.gold, opened.columns)
        opened, by_task = id_column(opened, WIDE_TASK, task, {gold})
        columns = _named_columns(opened.columns, annotators, {by_task, gold})
    table = opened.load([column for column in [by_task, *columns, gold] if column is not None], [by_task])
    if annotators is None:
        with columns_of(opened.name):
            columns = _annotator_columns(table, opened, columns, by_task)
    tasks = row_ids(table, by_task)
    cells, row, column = cells_of(table, columns)
    labels = votes_in(cells, options.no_vote, is_wide=options.classes is None)
    truth = gold_truth(table, tasks, gold, options.gold, options.no_vote)
    names = column_names(table, columns)

    def where(cell: int) -> str:
        return f'{table.where(int(row[cell]))}, column "{columns[column[cell]]}"'

    refuse_lost_ids("task", tasks.codes[row], labels.codes, where)
    whole = with_unlabelled(
        Coded(tasks.codes[row], tasks.names), Coded(names.codes[column], names.names), labels, tasks
    )
    annotations = assemble(*whole, truth, options, table.is_text, where)
    return with_columns(count_cells(annotations, len(table.frame) * len(columns)), opened, by_task, None)


def id_column(opened: Opened, role: Role, name: str | None, others: set[Any]) -> tuple[Opened, Any]:
    """Return the column that names the rows, or None. A pandas index becomes a column."""
    found = find_column([column for column in opened.columns if column not in others], role, name)
    if found is not None or not isinstance(opened.frame, nw.DataFrame):
        return opened, found
    index = nw.maybe_get_index(opened.frame)
    if index is None or type(index).__name__ == "RangeIndex" or index.nlevels > 1:
        return opened, None
    native = opened.frame.to_native().reset_index()  # pandas users keep their ids in the index
    return replace(opened, frame=nw.from_native(native), columns=list(native.columns)), native.columns[0]


def _named_columns(columns: list[Any], chosen: str | Sequence[str] | None, others: set[Any]) -> list[Any]:
    """Return the columns of the annotators that the user names, or all columns that may be theirs."""
    if chosen is not None:
        wanted = [chosen] if isinstance(chosen, str) else chosen
        return [named_column(columns, name, ANNOTATOR) for name in wanted]
    others = others | set(truth_columns(columns))
    found = [column for column in columns if column not in others]
    if not found:
        raise InputError(f"no column is left for an annotator among {', '.join(map(str, columns))}")
    return found


def _annotator_columns(table: Table, opened: Opened, columns: list[Any], by_task: Any) -> list[Any]:
    """Leave aside row numbers, ids and texts. Refuse a long table, whose annotators would become votes."""
    found = plain_columns(table, columns, by_task)
    voting = set(found)
    aside = [column for column in columns if column not in voting]
    people = [column for column in columns if bare_name(column) in ANNOTATOR.words]
    has_labels = any(bare_name(column) in LABEL.words for column in columns)
    if people and (has_labels or people[0] in aside):
        text = f"the column {listed(people[:1])} names annotators, so this is no wide table; leave --wide out"
        raise InputError(f"{text} (wide= in Python)", {"--wide": None})
    if not found:
        raise InputError(f"no column is left for an annotator; {listed(aside)} hold ids or texts")
    say_aside(opened.name, False, found, aside)
    return found


def row_ids(table: Table, column: Any) -> Coded:
    """Return the names of the rows, or their numbers if no column names them."""
    if column is None:
        return encode_series(row_numbers(table))
    return table.ids(column)


def column_names(table: Table, columns: list[Any]) -> Coded:
    """Return the names of columns as a series of the table's library."""
    coded = encode_series(series_of(columns, kind_of(table.column(columns[0]))))
    return integer_names(coded) if table.is_text else coded


def cells_of(table: Table, columns: list[Any]) -> tuple[Coded, NDArray[np.int32], NDArray[np.int32]]:
    """Return the labels of all cells that are not null, column by column, with their rows and columns."""
    parts = [encode_series(table.column(column)) for column in columns]
    names = encode_series(_stack([part.names for part in parts]))
    first = np.cumsum([0] + [len(part.names) for part in parts])
    rows = [np.flatnonzero(part.codes != MISSING).astype(np.int32) for part in parts]
    codes = [
        renumber(part.codes[row], names.codes[start : start + len(part.names)])
        for part, row, start in zip(parts, rows, first[:-1], strict=True)
    ]
    column = np.repeat(np.arange(len(columns), dtype=np.int32), [len(row) for row in rows])
    return Coded(np.concatenate(codes), names.names), np.concatenate(rows), column


def _stack(names: list[Series]) -> Series:
    """Join all columns in one series, in their dtype if they share one."""
    filled = [part for part in names if len(part)] or names[:1]
    if len({str(part.dtype) for part in filled}) == 1:
        frames = [part.alias("label").to_frame() for part in filled]
        return nw.concat(frames, how="vertical").get_column("label")
    return _mixed([value for part in filled for value in to_list(part)], filled[0])


def _mixed(values: list[Any], like: Series) -> Series:
    """Convert to integers where blanks made floats of some, or to text where the library allows no mixture."""
    if all(isinstance(value, int | float) and float(value).is_integer() for value in values):
        return series_of([int(value) for value in values], like.implementation)
    try:
        return series_of(values, like.implementation)
    except Exception:  # each library has its own ways to refuse a mixture
        return series_of([text_of(value) for value in values], like.implementation)


def with_unlabelled(task: Coded, annotator: Coded, labels: Coded, tasks: Coded) -> tuple[Coded, Coded, Coded]:
    """Return the votes, and one missing vote for each task without any, so that it is listed as unlabelled."""
    voted = labels.codes != MISSING
    asked = np.setdiff1d(tasks.codes[tasks.codes != MISSING], task.codes[voted]).astype(np.int32)
    nobody: Codes = np.zeros(len(asked), dtype=np.int32)
    return (
        Coded(np.concatenate([task.codes[voted], asked]), task.names),
        Coded(np.concatenate([annotator.codes[voted], nobody]), annotator.names),
        Coded(np.concatenate([labels.codes[voted], nobody + np.int32(MISSING)]), labels.names),
    )


def count_cells(annotations: Annotations, cells: int) -> Annotations:
    """Count every cell as a row."""
    counts = annotations.counts
    missing = cells - (counts.rows - counts.missing)
    return replace(annotations, counts=replace(counts, rows=cells, missing=missing))


TIMES = frozenset(["timestamp", "starttime", "completiontime", "lastmodifiedtime", "submittedat", "submitdate"])


def read_transposed(
    opened: Opened, tasks: str | Sequence[Any] | None, annotator: str | None, options: ReadOptions
) -> Annotations:
    """Annotators are named by their column (or by a pandas index), else by the number of their row, from 1.

    tasks: the columns that are tasks, or patterns of them with commas between; by default all but those that name
    people or tell times. A row called gold or truth is no annotator; it is used if `gold` is True.
    """
    with columns_of(opened.name):
        opened, by_annotator = id_column(opened, RESPONDENT, annotator, set())
        columns = _task_columns(opened.columns, tasks, by_annotator)
    table = opened.load([column for column in [by_annotator, *columns] if column is not None], [by_annotator])
    people, items = row_ids(table, by_annotator), column_names(table, columns)
    cells, row, column = cells_of(table, columns)
    labels = votes_in(cells, options.no_vote, is_wide=options.classes is None)

    def where(cell: int) -> str:
        return f'{table.where(int(row[cell]))}, column "{columns[column[cell]]}"'

    refuse_lost_ids("annotator", people.codes[row], labels.codes, where)
    task, who = Coded(items.codes[column], items.names), Coded(people.codes[row], people.names)
    keys = _truth_rows(people)
    is_truth = np.isin(who.codes, keys)
    truth = _truth(task, labels, is_truth, options, opened.name)
    votes = Coded(np.where(is_truth, np.int32(MISSING), labels.codes), labels.names)
    whole = with_unlabelled(task, who, votes, items)
    annotations = assemble(*whole, truth, options, table.is_text, where)
    counted = count_cells(annotations, int((~np.isin(people.codes, keys)).sum()) * len(columns))
    counted = with_columns(counted, opened, None, by_annotator)
    return replace(counted, never_voted=_without_truth(counted.never_voted))


def _task_columns(columns: list[Any], tasks: str | Sequence[Any] | None, by_annotator: Any) -> list[Any]:
    if tasks is not None and not isinstance(tasks, str):
        return list(tasks)
    others = {by_annotator, *candidates(columns, RESPONDENT)}
    found = [column for column in columns if column not in others and bare_name(column) not in TIMES]
    if tasks is not None:
        patterns = [pattern.strip() for pattern in tasks.split(",")]
        wanted = [column for column in columns if any(fnmatchcase(str(column), pattern) for pattern in patterns)]
        found = [column for column in wanted if column != by_annotator]
    if not found:
        named = "" if tasks is None else f" that fits {tasks}"
        raise InputError(f"there is no column of a task{named} among {', '.join(map(str, columns))}")
    return found


def _truth_rows(people: Coded) -> list[int]:
    return [code for code, name in enumerate(to_list(people.names)) if bare_name(name) in TRUTH.words]


def _without_truth(names: Names) -> Names:
    kept = [place for place, name in enumerate(to_list(names)) if bare_name(name) not in TRUTH.words]
    people: Names = names[np.array(kept, np.int64)]
    return people


def _truth(task: Coded, labels: Coded, is_truth: Any, options: ReadOptions, name: str) -> Truth | None:
    """Return the truths of a row of the table, or of another source."""
    if options.gold is not True:
        return None if options.gold is None or options.gold is False else read_gold(options.gold, options.no_vote)
    told = np.flatnonzero(is_truth & (labels.codes != MISSING))
    if not told.size:
        raise InputError(f"{name} has no row called gold or truth; give a file of truths (--gold FILE)")
    return Truth(task.names[task.codes[told]], labels.names[labels.codes[told]])
