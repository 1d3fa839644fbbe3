"""What is wrong with a file or a table that cannot be read. This runs after an error only, so it
may be slow.

Options that would read a table are proposed only if names or values speak for its columns, and if
the first rows, read in that way, look like votes. Otherwise the columns are described: a wrong
proposal is worse than none.
"""

from __future__ import annotations

import csv
import json
import re
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
from finegold.votes.encoding import listed, text_of
from finegold.votes.labels import is_missing, shortest_number

if TYPE_CHECKING:
    from finegold.io.tables import Table

# Texts that cannot be read


def explain_unreadable(source: Source, error: BaseException) -> InputError:
    """Return one sentence about a file for an error of Polars."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
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
    name, n_quotes = source.name, 0
    if b"\0" in source.text:
        kind = source.format.upper()
        yield InputError(
            f"{name} is not {kind} text but binary data (or UTF-16); save it as UTF-8 text"
        )
    with source.open_bytes() as file:
        for number, line in enumerate(file, start=1):
            n_quotes += line.count(b'"')
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = line[error.start : error.start + 1].hex()
                problem = f"{name}, line {number}: not valid UTF-8 (byte 0x{byte})"
                if any(byte < 32 and byte not in b"\t\r\n\f" for byte in source.text):
                    yield InputError(f"{problem}; save the file as UTF-8")
                is_windows = any(0x80 <= byte < 0xA0 for byte in source.text)
                encoding = "cp1252" if is_windows else "latin-1"
                remedies = [use(encoding=encoding), Remedy(text="save it as UTF-8")]
                yield InputError(f"{problem}; it looks like {encoding}", remedies=remedies)
    if (header := wrong_header(source)) is not None:
        yield header
    if source.is_delimited:
        with suppress(csv.Error, pl.exceptions.PolarsError):
            if not source.text.removeprefix(BOM).partition(b"\n")[0].strip(b"\r"):
                yield InputError(
                    f"{name}: the first line is blank; remove it, for the header must come first"
                )
            if (ragged := ragged_line(source)) is not None:
                yield ragged
            if n_quotes % 2:
                yield InputError(
                    f"{name}: a quotation mark is opened and never closed; repair the file"
                )
    if source.format == "jsonl":
        with source.open_bytes() as file:
            for number, line in enumerate(file, start=1):
                problem = ""
                try:
                    value = json.loads(line.removeprefix(BOM)) if line.strip() else {}
                    if not isinstance(value, dict):
                        problem = f"found {type(value).__name__}"
                except (ValueError, RecursionError) as error:
                    # one object over several lines
                    with suppress(ValueError, RecursionError), source.open_bytes() as whole:
                        json.loads(whole.read().removeprefix(BOM))
                        problem = f"{name} is JSON, but holds no votes that Finegold recognises"
                        expected = "one object per line, a list of rows, or an object of tasks"
                        remedy = use(format="nested-json", when="if it is an object of tasks")
                        yield InputError(f"{problem}; expected {expected}", remedies=[remedy])
                    problem = f"not valid JSON ({error})"
                if problem:
                    yield InputError(
                        f"{name}, line {number}: {problem}; expected one JSON object per line"
                    )


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

MOST_LINES = 30
# of a column
LONGEST_NAME = 60


def wrong_header(source: Source, is_of_votes: bool = True) -> InputError | None:
    """Return what is wrong with a first line that holds a title, or data."""
    # Options of reading repair it in files of votes; other files have to be repaired themselves.
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
        remedy = use(header=first + 1) if is_of_votes else use(text="remove the lines above")
        names_at = f"{what}, and line {first + 1} the names of the columns"
        return InputError(names_at, source.name, [remedy])
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
    what = f"the first line ({', '.join(header[:6])}) looks like data and not like the names of"
    remedy = use(text="if there is no header, add a line with the names")
    if is_of_votes:
        values = zip(header, *below, strict=True)
        table = pl.DataFrame({str(n): [*each] for n, each in enumerate(values, 1)})
        number = Placeholder("NUMBER")
        unknown = dict.fromkeys(("task", "annotator", "label"), number)
        found_columns = propose_long(table, [TASK, ANNOTATOR, LABEL], {})
        remedy = use(text="if there is no header", header=False, **(found_columns or unknown))
    return InputError(f"{what} columns", source.name, [remedy])


# Words in the names of columns, in some languages: evidence for a proposal, but not enough to read
# a file without one.
HINTS = {
    "annotator": ANNOTATOR.words
    | roles.words_in(
        "work wid uid turker crowdworker assessor grader scorer expert respondent volunteer"
        " contributor who person name login email author nutzer bearbeiter teilnehmer usuario"
        " anotador participante utilisateur annotateur utente usuário gebruiker 标注者 用户"
        " аннотатор"
    ),
    "label": LABEL.words
    | roles.words_in(
        "category sentiment winner grade relevance stance emotion tag decision said selected chosen"
        " option code assessment opinion bewertung antwort klasse respuesta etiqueta clase réponse"
        " étiquette classe risposta resposta rótulo antwoord 标签 答案 метка ответ"
    ),
    "task": TASK.words
    | roles.words_in(
        "id orig original document doc sentence tweet comment post url video audio file filename"
        " pair sample prompt query passage snippet claim headline article statement clip picture"
        " photo object subject stimulus case review thing aufgabe frage satz tarea pregunta tâche"
        " domanda tarefa vraag 任务 задание"
    ),
}
# Columns with such words are neither annotators nor labels, whatever they hold.
OTHERS = roles.DERIVED | roles.words_in(
    "true ground time times date datetime start started end ended submit submitted accept accepted"
    " duration seconds timestamp age gender sex education country city state region location"
    " language race ethnicity ethnic income occupation job native nationality religion political"
    " politics confidence certainty difficulty reward price lifetime approval approved status"
    " comment comments feedback row rownum year month day browser ip os device platform lat lon mean"
    " avg average median std count counts num total prob probability pred prediction predicted model"
    " split fold batch alter geschlecht edad sexo género sexe zeit datum hora fecha date"
)
PATTERNS = {
    "annotator": re.compile(
        r"(annotator|worker|rater|judge|user|coder|ann|[awu])[-_ ]?[0-9]+|\S+@\S+|A[0-9A-Z]{10,}",
        re.I,
    ),
    "task": re.compile(
        r"(task|item|image|img|document|doc|question|text|sentence|tweet|[tiq])[-_ ]?[0-9]+"
        r"|.+\.(jpe?g|png|gif|wav|mp3|mp4|txt|pdf)|https?://.+|\S+( \S+){4,}",
        re.I,
    ),
}

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


def _is_named(column: Column, role: str) -> bool:
    """Return whether the name, or nearly all values, speak for the role and for no other one."""
    parts = {*roles.parts_of(column.name)}
    parts |= {part.rstrip("s") for part in parts}
    if role != "task" and not OTHERS.isdisjoint(parts):
        return False
    # "worker id" and "task worker" are annotators
    for each, words in HINTS.items():
        if not words.isdisjoint(parts):
            return each == role
    pattern = PATTERNS.get(role)
    return pattern is not None and sum(map(bool, map(pattern.fullmatch, column.values))) > (
        0.9 * column.n
    )


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
        [column for column in every if column.name == given[role]]
        if role in given
        else [column for column in free if _is_named(column, role)]
        for role in ("task", "annotator", "label")
    )
    few = [each for each in every if each.n <= MOST_CLASSES and each.n * 2 <= each.filled]
    if not (tasks and people) and len(lost) == len(every) == 3 and every[0].n > every[1].n:
        # the usual order, if nothing else is known
        tasks, people, labels = [every[0]], [every[1]], [every[2]]
    # labels may have any name, if one column only may hold them
    others = [column for column in free if column in few and column not in [*tasks, *people]]
    labels = labels or [each for each in others if OTHERS.isdisjoint(roles.parts_of(each.name))]
    votes = [
        (task, who, label)
        for task, who, label in product(tasks, people, labels)
        if label in few
        and len({task.name, who.name, label.name}) == 3
        and _are_votes(task, who)
        # not a property of annotators (their country)
        and _varies(label, who)
    ]
    if not votes or any(vote[2] is not votes[0][2] for vote in votes):
        return {}
    task, who, label = min(votes, key=lambda vote: sum(map(len, vote[0].values)) / vote[0].n)
    # other columns would do as well, unless they say the same
    for one, other in ((vote[n], (task, who)[n]) for vote in votes for n in (0, 1)):
        if one.n != other.n or (count_pairs(one, other) > 0).sum() > one.n:
            return {}
    # another column holds votes that agree far more
    rivals = [each for each in others if each is not label and _varies(each, task)]
    kappas = [kappa_of(count_pairs(each, task))[1] for each in (label, *rivals)]
    if max(kappas) > kappas[0] + AGREEMENT:
        return {}
    column_of = {"task": task.name, "annotator": who.name, "label": label.name}
    return {
        role.option.replace("-", "_"): column_of[role.option.rpartition("-")[2]] for role in lost
    }


def _varies(label: Column, by: Column) -> bool:
    return bool((count_pairs(label, by) > 0).sum(axis=1).max(initial=0) > 1)


def _are_votes(task: Column, who: Column) -> bool:
    """Return whether annotators have nearly always one row for a task, and tasks several rows."""
    counts = count_pairs(task, who)
    n = int(counts.sum())
    return n > 0 and (counts > 0).sum() >= UNIQUE * n and n >= VOTES_PER_TASK * task.n


MOST_DESCRIBED, MOST_EXAMPLES, LONGEST_EXAMPLE = 12, 3, 24


def describe_columns(table: pl.DataFrame) -> str:
    """Say what columns look like: how many different values they have, and some of them."""
    parts = []
    for rows in list(table.iter_columns())[:MOST_DESCRIBED]:
        distinct = [
            *dict.fromkeys(text_of(each) for each in rows.to_list() if not is_missing(each))
        ]
        texts = [" ".join(value.split()) for value in distinct[: MOST_EXAMPLES + 1]]
        cut = [
            f"{text[:LONGEST_EXAMPLE]}..." if len(text) > LONGEST_EXAMPLE else text
            for text in texts
        ]
        number = f"{len(distinct):,} {'value' if len(distinct) == 1 else 'values'}"
        listing = f"{number}: {listed(cut, MOST_EXAMPLES)}" if cut else "blank"
        parts.append(f'"{rows.name}" ({listing})')
    n_more = table.width - MOST_DESCRIBED
    return ", ".join([*parts, *([f"and {n_more:,} more"] if n_more > 0 else [])])


def explain_lost_columns(
    error: roles.LostColumnsError, opened: Table, shape: roles.Shape | None = None
) -> InputError:
    """Return the error with what the table looks like, and options that would read it."""
    columns, source = opened.columns, opened.sources[0] if opened.sources else None
    # no option names the header of other files
    of_votes = {TASK, ANNOTATOR, LABEL}.issuperset(error.lost)
    if source and not error.among and (header := wrong_header(source, of_votes)) is not None:
        header.where = opened.name
        return header
    if len(columns) == 1 and source and source.separator:
        problem = f"{error.problem}. The separator leaves one column"
        return InputError(problem, error.where, [leave_out("separator")])
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
    problem, remedies = error.problem, list(error.remedies)
    if shape is not None:
        doubt, remedy = _explain_shape(shape)
        if shape.truths:
            remedies, remedy = [], use(text="if they are annotators", **remedy.options)
        problem, remedies = f"{problem}. {doubt}", [remedy, *remedies]
    elif {ANNOTATOR, LABEL} <= set(error.lost) and len(columns) > 2:
        own = "if every annotator has a column of their own"
        remedies.append(use(own, layout="wide", annotator=Placeholder("NAME,NAME")))
    described = f"{problem}. The columns are {describe_columns(table)}"
    return InputError(described, error.where, remedies)


def _explain_shape(shape: roles.Shape) -> tuple[str, Remedy]:
    """Say what a table with several votes per row may be, and the options that would read it."""
    names = list(map(str, shape.votes))
    is_plain = len(names) <= 50 and not any("," in name or name != name.strip() for name in names)
    own: dict[str, Any] = {"annotator": names} if is_plain else {}
    task = {"task": str(shape.ids)} if str(shape.ids) else {}
    if "counts" in shape.doubt:
        return shape.doubt.capitalize(), use(
            "if they are numbers of votes", layout="counts", **task
        )
    if not shape.is_transposed and not all(map(roles.names_item, shape.votes)):
        doubt = f"It may be a table with a column per annotator, but {shape.doubt}"
        return doubt, use("if it is", layout="wide", **task, **own)
    own = {"annotator": str(shape.ids)} | ({"task": ",".join(names)} if is_plain else {})
    # the names are those of tasks
    if not shape.is_transposed:
        doubt, when = shape.doubt, "if every row is an annotator"
    else:
        may_be = "a table with a row per annotator and a column per task"
        doubt, when = f"It may be {may_be}, but {shape.doubt}", "if it is"
    return doubt, use(when, layout="transposed", **own)
