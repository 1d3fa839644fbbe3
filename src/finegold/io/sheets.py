"""Sheets that a person fills in: what is shown of each task, and the answers that come back.

A sheet may come back from a spreadsheet: as a workbook, with numbers as floats, more columns, or in
another order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import polars as pl
from polars import selectors

from finegold.errors import InputError, use
from finegold.io.columns import ANNOTATOR, LABEL, TASK, TRUTH, candidates
from finegold.io.exports import find_export
from finegold.io.exports.base import DamagedExport, read_records
from finegold.io.options import ReadOptions
from finegold.io.source import Source, is_files, reading, sources_of, with_dialect
from finegold.io.tables import Table, open_sources, open_table
from finegold.votes.encoding import as_text, text_of
from finegold.votes.labels import fold_words, is_missing, spelled_alike

# the column with the names of the tasks; no column of a file is called so
KEY = "\ntask"
# what tools call the number of a record
ID_KEYS = ("id", "_input_hash", "_task_hash", "_server_id")
# where they put what was shown to annotators
CONTENT_KEYS = ("data", "fields")
MAX_LENGTH = 4000
MAX_FIELDS = 20


# ---- What is shown of a task


def content_of_table(
    opened: Table, task: Any, votes: Collection[Any], tasks: Sequence[str] | None = None
) -> pl.DataFrame | None:
    """Return the first values of each task in the columns with neither votes nor truths: these
    would influence people. If `tasks` are given, return columns that have one value for each of
    them.

    `votes` are columns of votes that the user names.
    """
    columns = [str(column) for column in opened.columns]
    by_task = task if isinstance(task, str) else next(iter(candidates(columns, TASK)), None)
    usual = {column for role in (ANNOTATOR, LABEL, TRUTH) for column in candidates(columns, role)}
    shown = [column for column in columns if column not in {by_task, *votes} | usual]
    if by_task is None or not shown:
        return None
    # pl.col reads patterns
    of = {name: selectors.by_name(name).as_expr() for name in (by_task, *shown)}
    cut = [of[name].cast(pl.String).str.slice(0, MAX_LENGTH + 1) for name in shown]
    key = of[by_task].cast(pl.String).alias(KEY)
    if tasks is None:
        if not opened.scans:
            return None
        with reading(opened.sources[0]):
            rows = opened.scans[0].select(key, *cut[:MAX_FIELDS])
            first = rows.unique(KEY, keep="first", maintain_order=True)
            return first.collect(engine="streaming")
    table = opened.read([by_task, *shown])
    table = pl.DataFrame({column.name: as_text(column) for column in table.iter_columns()})
    some = table.select(key, *cut).filter(selectors.by_name(KEY).as_expr().is_in(list(tasks)))
    by_key = some.group_by(KEY).agg(selectors.exclude(KEY).n_unique())
    same = [
        name
        for name in shown
        if len(some) and by_key[name].max() == 1 and some[name].n_unique() > 1
    ]
    content = some.select(selectors.by_name(KEY, *same[:MAX_FIELDS]))
    return content.unique(KEY, keep="first", maintain_order=True) if same else None


def content_of_records(seen: Source) -> pl.DataFrame | None:
    """Return the fields of each record of an export."""
    rows: list[dict[str, str]] = []
    # a damaged end of the file was already reported when the votes were read
    with suppress(DamagedExport):
        for record in read_records(seen):
            if not isinstance(record, dict):
                continue
            inside = next(
                (record[key] for key in CONTENT_KEYS if isinstance(record.get(key), dict)), record
            )
            ids = [
                text_of(record[key]) for key in ID_KEYS if isinstance(record.get(key), str | int)
            ]
            plain = {
                name: value
                for name, value in inside.items()
                if isinstance(value, str | int | float | bool)
            }
            texts = {str(name): text_of(value)[: MAX_LENGTH + 1] for name, value in plain.items()}
            rows.extend({KEY: task} | texts for task in ids)
    names = list(dict.fromkeys(name for row in rows for name in row if name != KEY))[:MAX_FIELDS]
    if not names:
        return None
    schema = {KEY: pl.String} | dict.fromkeys(names, pl.String)
    return pl.DataFrame(rows, schema=schema).unique(KEY, keep="first", maintain_order=True)


def content_of_votes(
    votes: Any, options: ReadOptions, tasks: Sequence[str], classes: Collection[str]
) -> pl.DataFrame:
    """Return what a person who checks these tasks may see of them: columns that are the same in all
    rows of a task.
    """
    # Columns that hold nothing but classes are left out, because they may give the label away. What
    # cannot be read shows nothing: reading the votes reports what is wrong.
    content, named = None, [options.annotator, options.label]
    hidden = [name for each in named for name in ([each] if isinstance(each, str) else each or [])]
    with suppress(InputError, pl.exceptions.PolarsError):
        files = with_dialect(votes, options.encoding, options.separator, options.header)
        sources, tool = (sources_of(files) if is_files(files) else []), None
        if sources:
            tool = find_export(sources[:1], options.format, may_be_table=options.names_columns)
        if tool is None and options.layout in (None, "long"):
            opened = open_sources(sources) if sources else open_table(files)
            content = content_of_table(opened, options.task, hidden, tasks)
        elif tool is not None and sources[0].record:
            content = content_of_records(sources[0])
    if content is None:
        return pl.DataFrame(schema={KEY: pl.String})
    blind = [
        KEY,
        *(
            c
            for c in content.columns
            if c != KEY and not set(content[c].drop_nulls()) <= set(classes)
        ),
    ]
    return content.select(selectors.by_name(blind))


# ---- What comes back


class Answers(NamedTuple):
    """A filled sheet: the truth of each task, None where it is blank, and the samples that its rows
    belong to.
    """

    truths: dict[str, str | None]
    samples: set[str]


def read_answers(
    checks: Any,
    task: str,
    truth: str,
    sample: str,
    tasks: Iterable[str] = (),
    classes: Iterable[Any] = (),
) -> Answers:
    """Read a sheet that was filled in, given its columns, or the truth of each task.

    What a spreadsheet wrote in another way than the tasks that were drawn and the classes are named
    is found again.
    """
    known = list(classes)
    words = set(map(text_of, known))
    if isinstance(checks, Mapping):
        rows = [(text_of(name), answer, "", "") for name, answer in checks.items()]
    else:
        opened, columns = open_table(checks), []
        # by its name, ignoring case, or else by a usual name
        for name, role in ((task, TASK), (truth, TRUTH)):
            alike = [
                column
                for column in opened.columns
                if str(column).strip().casefold() == name.strip().casefold()
            ]
            columns += alike or candidates(opened.columns, role)
            if len(columns) != (1 if role is TASK else 2):
                listed = ", ".join(map(str, opened.columns))
                raise InputError(
                    f'the sheet has no column "{name}"; its columns are {listed}', opened.name
                )
        by_task, by_truth = columns
        ids = [column for column in opened.columns if str(column).strip().casefold() == sample]
        table = opened.read([by_task, by_truth, *ids])
        cells = [table[str(column)].to_list() for column in (by_task, by_truth, *ids)]
        cells += [[None] * len(cells[0])] if not ids else []
        rows = [
            ("" if is_missing(a) else text_of(a).strip(), b, c, opened.where(i))
            for i, (a, b, c) in enumerate(zip(*cells, strict=True))
        ]
    task_of = _in_known_form(tasks)
    truths: dict[str, str | None] = {}
    for name, answer, _, where in rows:
        blank = is_missing(answer, fold_words(None)) and (
            is_missing(answer) or text_of(answer) not in words
        )
        if not name:
            if not blank:
                raise InputError(
                    "there is a truth but no task",
                    where,
                    [use(text="fill in the task or remove it")],
                )
            continue
        name = task_of(name)
        if name in truths:
            raise InputError(
                f"the task {name!r} is in the sheet more than once",
                where,
                [use(text="keep one row")],
            )
        truths[name] = None if blank else text_of(answer).strip()
    spelled = spelled_alike([each for each in truths.values() if each is not None], known)
    class_of = _in_known_form(map(text_of, known))
    said = {
        n: None if t is None else class_of(text_of(spelled.get(t, t))) for n, t in truths.items()
    }
    return Answers(said, {text_of(each).strip() for *_, each, _ in rows if not is_missing(each)})


def _in_known_form(names: Iterable[str]) -> Callable[[str], str]:
    """Return what finds the name again that a spreadsheet wrote in another way: 7 as 7.0, 007 as 7."""

    def number_of(text: str) -> float | None:
        try:
            return float(text)
        except ValueError:
            return None

    known = set(names)
    n_alike = Counter(map(number_of, known))
    # 7 and 007 are two names
    names_of = {number_of(name): name for name in known if n_alike[number_of(name)] == 1}
    names_of.pop(None, None)
    return lambda name: name if name in known else names_of.get(number_of(name), name)
