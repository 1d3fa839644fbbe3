"""What is wrong with a file or a table that cannot be read. This runs after an error only, so it
may be slow.

Options that would read a table are proposed only if names or values speak for its columns, and if
the first rows, read in that way, look like votes. Otherwise the columns are described: a wrong
proposal is worse than none.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl
from polars import selectors

from finegold.errors import InputError, Placeholder, Remedy, leave_out, use
from finegold.io import columns as roles
from finegold.io.columns import ANNOTATOR, LABEL, TASK, Column, count_pairs, kappa_of
from finegold.io.source import AGAIN, BOM, DAMAGED, Source, records
from finegold.votes.encoding import as_text, listed
from finegold.votes.labels import shortest_number

if TYPE_CHECKING:
    from finegold.io.tables import Table

# Texts that cannot be read


def explain_unreadable(source: Source, error: BaseException) -> InputError:
    """Return one sentence about a file for an error of Polars."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    if source.format in ("parquet", "arrow"):
        return InputError(
            f"{source.name} is not a complete {source.format.capitalize()} file ({reason}); {AGAIN}"
        )
    try:
        problem = next(problems_of_text(source), None)
    except DAMAGED as damage:
        return InputError(f"{source.name} is damaged: it cannot be unpacked ({damage}); {AGAIN}")
    kind = source.format.upper()
    return problem or InputError(f"{source.name} cannot be read as {kind}: {reason}")


def problems_of_text(source: Source) -> Iterator[InputError]:
    """Yield what is wrong with a text, the cause before its effects."""
    name, kind, n_quotes = source.name, source.format.upper(), 0
    if b"\0" in source.text:
        problem = f"{name} is not {kind} text but binary data (or UTF-16)"
        yield InputError(f"{problem}; save it as UTF-8 text")
    with source.open_bytes() as file:
        for number, line in enumerate(file, start=1):
            n_quotes += line.count(b'"')
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                is_windows = any(0x80 <= byte < 0xA0 for byte in source.text)
                encoding = "cp1252" if is_windows else "latin-1"
                problem = f"{name}, line {number}: not valid UTF-8 (byte 0x{line[error.start]:02x})"
                save = Remedy(text="save it as UTF-8")
                if any(byte < 32 and byte not in b"\t\r\n\f" for byte in source.text):
                    yield InputError(problem, remedies=[save])
                remedies = [use(encoding=encoding), save]
                yield InputError(f"{problem}; it looks like {encoding}", remedies=remedies)
    if (header := wrong_header(source)) is not None:
        yield header
    if source.is_delimited:
        with suppress(csv.Error, pl.exceptions.PolarsError):
            if (ragged := ragged_line(source)) is not None:
                yield ragged
            if n_quotes % 2:
                problem = "a quotation mark is opened and never closed; repair the file"
                yield InputError(f"{name}: {problem}")
    if source.format == "jsonl":
        yield from _problems_of_lines(source)


def _problems_of_lines(source: Source) -> Iterator[InputError]:
    # one object over several lines
    with suppress(ValueError, RecursionError):
        json.loads(source.all_bytes())
        problem = f"{source.name} is JSON, but holds no votes that Finegold recognises"
        expected = "one object per line, a list of rows, or an object of tasks"
        remedy = use(format="nested-json", when="if it is an object of tasks")
        yield InputError(f"{problem}; expected {expected}", remedies=[remedy])
    for number, line in enumerate(source.all_bytes().split(b"\n"), start=1):
        try:
            value = json.loads(line) if line.strip() else {}
            problem = "" if isinstance(value, dict) else f"found {type(value).__name__}"
        except (ValueError, RecursionError) as error:
            problem = f"not valid JSON ({error})"
        if problem:
            place = f"{source.name}, line {number}"
            yield InputError(f"{place}: {problem}; expected one JSON object per line")


def ragged_line(source: Source, may_omit: int = 0) -> InputError | None:
    """Return what is wrong with the first line of too many or too few fields."""
    width = 0
    for line, record in records(source, source.delimiter):
        width = width or len(record)
        # commas at the end of a line are no fields
        while len(record) > width and not record[-1]:
            record.pop()
        if record and not width - may_omit <= len(record) <= width:
            kind = "many" if len(record) > width else "few"
            return InputError(
                f"{source.name}, line {line}: too {kind} fields, found {len(record)} but the header"
                f" has {width}; repair the line (a value that contains the separator must be"
                " quoted)"
            )
    return None


# The first line of a text

# that may hold a title
MOST_LINES = 30
# of a column
LONGEST_NAME = 60


def wrong_header(source: Source) -> InputError | None:
    """Return what is wrong with a first line that holds a title, or data."""
    if not source.is_delimited or source.header != 1:
        return None
    lines = source.text.removeprefix(BOM).decode(errors="replace").splitlines()
    mark = source.separator or max(",;\t|", key="".join(lines).count)
    mark = mark if any(mark in line for line in lines) else " "
    # a line may be blank
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark)]
    if len(rows) < 2:
        return None
    # A title: few cells above a line of names, which has as many cells as the lines below it.
    filled = [sum(map(bool, row)) for row in rows[:MOST_LINES]]
    width = max(filled)
    first = filled.index(width)
    are_known = any(roles.bare_name(cell) in roles.KNOWN for cell in rows[first])
    are_names = are_known or not any(map(shortest_number, rows[first]))
    if first and width > 1 and max(filled[:first]) <= max(1, width // 2) and are_names:
        what = "line 1 holds a title" if first == 1 else f"lines 1 to {first} hold a title"
        what = what if any(filled[:first]) else "the first line is blank"
        remedies = [use(header=first + 1), use(text="remove the lines above")]
        names_at = f"{what}, and line {first + 1} the names of the columns"
        return InputError(names_at, source.name, remedies)
    # Data: most values of the first line are numbers, or occur below in the same column.
    header, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if len(header) < 2 or not below or any(roles.bare_name(name) in roles.KNOWN for name in header):
        return None
    columns = [*zip(*below, strict=True)]
    texts = [n for n, name in enumerate(header) if not shortest_number(name)]
    found = sum(header[n] in columns[n] for n in texts)
    # names may be numbers, such as years; other names do not occur below
    if (len(header) - len(texts) + found) * 2 < len(header) or found * 2 < len(texts):
        return None
    values = enumerate(zip(header, *below, strict=True), start=1)
    table = pl.DataFrame({str(number): [*cells] for number, cells in values})
    named = propose_long(table, [TASK, ANNOTATOR, LABEL], {})
    named = named or dict.fromkeys(("task", "annotator", "label"), Placeholder("NUMBER"))
    remedies = [use(text="if there is no header", header=False, **named)]
    remedies.append(use(text="add a line with the names"))
    what = f"the first line ({', '.join(header[:6])}) looks like data and not like the names of"
    return InputError(f"{what} columns", source.name, remedies)


# Options for a table whose columns have other names

# rows whose cells are looked at
CELLS = 400_000
# among more columns, these are only listed
MOST_COLUMNS = 60
MOST_CLASSES = 30
# the share of rows that are the only ones of their task and annotator
UNIQUE = 0.95
VOTES_PER_TASK = 1.2
# how much larger kappa is for labels that are votes rather than others
AGREEMENT = 0.1
MOST_DESCRIBED, MOST_EXAMPLES, LONGEST_EXAMPLE = 12, 3, 24


def _is_named(column: Column, role: roles.Role) -> bool:
    """Return whether the name, or nearly all values, speak for the role and for no other one."""
    parts = {*roles.parts_of(column.name)}
    parts |= {part.rstrip("s") for part in parts}
    if role != TASK and not roles.OTHERS.isdisjoint(parts):
        return False
    # "worker id" and "task worker" are annotators
    for each in (ANNOTATOR, LABEL, TASK):
        if not (each.words | each.hints).isdisjoint(parts):
            return each == role
    fitting = filter(role.values.fullmatch, column.values) if role.values else ()
    return len([*fitting]) > 0.9 * column.n


def propose_long(
    table: pl.DataFrame, lost: Sequence[roles.Role], known: Mapping[str, Any]
) -> dict[str, str]:
    """Return options that name a column for each lost role; none unless these columns, and no
    others, look like votes.

    The table has the first rows, and `known` the columns of the roles that are not lost.
    """
    if table.width > MOST_COLUMNS:
        return {}
    every = [Column.of(each.name, each) for each in table.iter_columns() if each.name.strip()]
    given = {role: str(name) for role, name in known.items()}
    free = [column for column in every if column.name not in given.values()]
    tasks, people, labels = (
        [column for column in every if column.name == given[role.name]]
        if role.name in given
        else [column for column in free if _is_named(column, role)]
        for role in (TASK, ANNOTATOR, LABEL)
    )
    few = [each for each in every if each.n <= MOST_CLASSES and each.n * 2 <= each.filled]
    if not (tasks and people) and len(lost) == len(every) == 3 and every[0].n > every[1].n:
        # the usual order, if nothing else is known
        tasks, people, labels = [every[0]], [every[1]], [every[2]]
    # labels may have any name, if one column only may hold them
    others = [column for column in free if column in few and column not in [*tasks, *people]]
    labels = labels or [c for c in others if roles.OTHERS.isdisjoint(roles.parts_of(c.name))]
    votes = [
        each
        for each in product(tasks, people, labels)
        if each[2] in few and len({column.name for column in each}) == 3 and _are_votes(*each)
    ]
    # other columns would do as well, unless they seem to say the same
    if len({(task.n, who.n, label.name) for task, who, label in votes}) != 1:
        return {}
    columns = min(votes, key=lambda vote: sum(map(len, vote[0].values)) / vote[0].n)
    # another column holds votes that agree far more
    task, _, label = columns
    rivals = [each for each in others if each is not label and _varies(each, task)]
    kappas = [kappa_of(count_pairs(each, task))[1] for each in (label, *rivals)]
    if max(kappas) > kappas[0] + AGREEMENT:
        return {}
    name_of = dict(
        zip(("task", "annotator", "label"), (each.name for each in columns), strict=True)
    )
    return {role.option.replace("-", "_"): name_of[role.option.rpartition("-")[2]] for role in lost}


def _are_votes(task: Column, who: Column, label: Column) -> bool:
    """Return whether annotators have nearly always one row for a task, and tasks several rows; and
    whether the label is no property of annotators, such as their country.
    """
    counts = count_pairs(task, who)
    n = int(counts.sum())
    is_one_each = n > 0 and (counts > 0).sum() >= UNIQUE * n and n >= VOTES_PER_TASK * task.n
    return is_one_each and _varies(label, who)


def _varies(label: Column, by: Column) -> bool:
    return bool((count_pairs(label, by) > 0).sum(axis=1).max(initial=0) > 1)


def describe_columns(table: pl.DataFrame) -> str:
    """Say what columns look like: how many different values they have, and some of them."""
    parts = []
    for rows in list(table.iter_columns())[: MOST_DESCRIBED + 1]:
        texts = as_text(rows)
        texts = texts.filter(texts.str.contains(r"\S")).unique(maintain_order=True)
        shown = [" ".join(text.split()) for text in texts.head(MOST_EXAMPLES + 1)]
        cut = [f"{each[:LONGEST_EXAMPLE]}..." if each[LONGEST_EXAMPLE:] else each for each in shown]
        number = "1 value" if len(texts) == 1 else f"{len(texts):,} values"
        listing = f"{number}: {listed(cut, MOST_EXAMPLES)}" if cut else "blank"
        parts.append(f'"{rows.name}" ({listing})')
    return listed(parts, MOST_DESCRIBED)


def explain_lost_columns(error: roles.LostColumnsError, opened: Table) -> InputError:
    """Return the error with what the table looks like, and options that would read it."""
    columns, source = opened.columns, opened.sources[0] if opened.sources else None
    if source and not error.among and (header := wrong_header(source)) is not None:
        header.where = opened.name
        return header
    if len(columns) == 1 and source and source.separator:
        problem = f"{error.problem}. The separator leaves one column"
        return InputError(problem, error.where, [leave_out("separator")])
    of_votes = {TASK, ANNOTATOR, LABEL}.issuperset(error.lost)
    if len(columns) == 1 and of_votes and len(error.lost) == 3:
        name = str(columns[0])[:LONGEST_NAME]
        if source and source.text.removeprefix(BOM).startswith(b'"') and set(name) & {*",;\t|"}:
            problem = "every line is in quotation marks, so it is one cell"
            remedies = [use(text="remove the marks at the start and the end of each line")]
            return InputError(problem, opened.name, remedies)
        problem = f'there is one column, "{name}", and votes need a task, an annotator and a label'
        mark = Placeholder("CHARACTER")
        remedy = use("if a character that was not found separates columns", separator=mark)
        return InputError(problem, opened.name, [remedy] if opened.is_text else [])
    table = opened.head(max(CELLS // len(columns), 100))
    if of_votes:
        # or several could have it
        lost = [role for role in (TASK, ANNOTATOR, LABEL) if role.name not in error.known]
        # one of these has the role
        likely = {*error.among, *error.known.values()} if error.among else {*columns}
        tried = table.select(selectors.by_name(*(str(name) for name in columns if name in likely)))
        if proposed := propose_long(tried, lost, error.known):
            remedy = use(text="if these are the columns", **proposed)
            return InputError(error.problem, error.where, [remedy])
    remedies = list(error.remedies)
    if ANNOTATOR in error.lost and len(columns) > 2 and not error.among:
        names = Placeholder("NAME,NAME")
        remedies += [
            use("if every annotator has a column of their own", layout="wide", annotator=names),
            use("if every row is an annotator", layout="transposed", task=names),
            use("if columns hold numbers of votes", layout="counts", label=names),
        ]
    described = f"{error.problem}. The columns are {describe_columns(table)}"
    return InputError(described, error.where, remedies)
