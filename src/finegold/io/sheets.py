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
from finegold.io.source import Source, is_files, sources_of, with_dialect
from finegold.io.tables import Table, open_sources, open_table
from finegold.votes.encoding import as_text, text_of
from finegold.votes.labels import fold_words, is_missing, shortest_number, spelled_alike

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
    table = opened.read([by_task, *(shown if tasks is not None else shown[:MAX_FIELDS])])
    texts = {column.name: as_text(column) for column in table.iter_columns()}
    cut = {name: texts[name].str.slice(0, MAX_LENGTH + 1) for name in texts if name != by_task}
    content = pl.DataFrame({KEY: texts[by_task], **cut})
    if tasks is not None:
        content = content.filter(selectors.by_name(KEY).as_expr().is_in(list(tasks)))
        by_key = content.group_by(KEY).agg(selectors.exclude(KEY).n_unique())
        same = [n for n in cut if by_key[n].max() == 1 and content[n].n_unique() > 1]
        if not same:
            return None
        content = content.select(selectors.by_name(KEY, *same[:MAX_FIELDS]))
    return content.unique(KEY, keep="first", maintain_order=True)


def content_of_records(seen: Source) -> pl.DataFrame | None:
    """Return the fields of each record of an export."""
    rows: list[dict[str, str]] = []
    # a damaged end of the file was already reported when the votes were read
    with suppress(DamagedExport):
        for record in read_records(seen):
            if not isinstance(record, dict):
                continue
            inside = [record[key] for key in CONTENT_KEYS if isinstance(record.get(key), dict)]
            fields = (inside or [record])[0]
            texts = {
                str(name): text_of(value)[: MAX_LENGTH + 1]
                for name, value in fields.items()
                if isinstance(value, str | int | float | bool)
            }
            ids = [record[key] for key in ID_KEYS if isinstance(record.get(key), str | int)]
            rows.extend({KEY: text_of(task)} | texts for task in ids)
    names = list(dict.fromkeys(name for row in rows for name in row if name != KEY))[:MAX_FIELDS]
    if not names:
        return None
    schema = {KEY: pl.String} | dict.fromkeys(names, pl.String)
    return pl.DataFrame(rows, schema=schema).unique(KEY, keep="first", maintain_order=True)


def content_of_votes(
    votes: Any, options: ReadOptions, tasks: Sequence[str], classes: Collection[str]
) -> pl.DataFrame:
    """Return what a person who checks these tasks may see of them."""
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
    is_blind = [
        name == KEY or not set(content[name].drop_nulls()) <= set(classes)
        for name in content.columns
    ]
    return content.select(
        content[name] for name, is_so in zip(content.columns, is_blind, strict=True) if is_so
    )


# ---- What comes back


class Answers(NamedTuple):
    """A filled sheet: the truth of each task, None where it is blank, and the samples in it."""

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
    if isinstance(checks, Mapping):
        rows = [(text_of(name), answer, "") for name, answer in checks.items()]
        samples = set[str]()
    else:
        rows, samples = _rows_of(open_table(checks), task, truth, sample)
    known = {text_of(name): name for name in classes}
    task_of, truths = _in_known_form(tasks), dict[str, str | None]()
    for name, answer, where in rows:
        is_blank = is_missing(answer, fold_words(None)) and text_of(answer) not in known
        is_blank |= is_missing(answer)
        if not name and is_blank:
            continue
        if not name:
            remedy = use(text="fill in the task or remove it")
            raise InputError("there is a truth but no task", where, [remedy])
        name = task_of(name)
        if name in truths:
            problem = f"the task {name!r} is in the sheet more than once"
            raise InputError(problem, where, [use(text="keep one row")])
        truths[name] = None if is_blank else text_of(answer).strip()
    spelled = spelled_alike([each for each in truths.values() if each is not None], known.values())
    class_of = _in_known_form(known)
    said = {
        name: None if answer is None else class_of(text_of(spelled.get(answer, answer)))
        for name, answer in truths.items()
    }
    return Answers(said, samples)


def _rows_of(
    opened: Table, task: str, truth: str, sample: str
) -> tuple[list[tuple[str, Any, str]], set[str]]:
    """Return the task, the truth and the place of each row, and the samples of all rows."""
    columns = list[Any]()
    # by its name, ignoring case, or else by a usual name
    for name, role in ((task, TASK), (truth, TRUTH)):
        wanted = name.strip().casefold()
        alike = [each for each in opened.columns if str(each).strip().casefold() == wanted]
        alike = alike or candidates(opened.columns, role)
        if len(alike) != 1:
            listed = ", ".join(map(str, opened.columns))
            problem = f'the sheet has no column "{name}"; its columns are {listed}'
            raise InputError(problem, opened.name)
        columns += alike
    ids = [each for each in opened.columns if str(each).strip().casefold() == sample]
    table = opened.read([*columns, *ids])
    names, answers = (table[str(column)].to_list() for column in columns)
    rows = [
        ("" if is_missing(name) else text_of(name).strip(), answer, opened.where(row))
        for row, (name, answer) in enumerate(zip(names, answers, strict=True))
    ]
    samples = [each for column in ids for each in table[str(column)].to_list()]
    return rows, {text_of(each).strip() for each in samples if not is_missing(each)}


def _in_known_form(names: Iterable[str]) -> Callable[[str], str]:
    """Return what finds the name again that a spreadsheet wrote in another way: 7 as 7.0, 007 as 7."""
    known = set(names)
    n_alike = Counter(map(shortest_number, known))
    # 7 and 007 are two names
    by_number = {
        shortest_number(name): name for name in known if n_alike[shortest_number(name)] == 1
    }
    by_number.pop(None, None)
    return lambda name: name if name in known else by_number.get(shortest_number(name), name)
