"""What is wrong with a file or a table that cannot be read. This runs after an error only, so it
may be slow.

Options that would read a table are proposed only if names or values speak for its columns, if no
other columns would do as well, and if the first rows, read in that way, look like votes. Otherwise
the columns are described: a wrong proposal is worse than none.
"""

from __future__ import annotations

import csv
import json
import re
from collections import deque
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
from finegold.votes.encoding import text_of
from finegold.votes.labels import is_missing

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
    return problem or InputError(
        f"{source.name} cannot be read as {source.format.upper()}: {reason}"
    )


def problems_of_text(source: Source) -> Iterator[InputError]:
    """Yield what is wrong with a text, the cause before its effects."""
    name = source.name
    with source.open_bytes() as file:
        if b"\0" in file.read(1 << 16):
            kind = source.format.upper()
            yield InputError(
                f"{name} is not {kind} text but binary data (or UTF-16); save it as UTF-8 text"
            )
    with source.open_bytes() as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                problem = (
                    f"{name}, line {number}: not valid UTF-8 (byte"
                    f" 0x{line[error.start : error.start + 1].hex()})"
                )
                start = source.text
                if any(byte < 32 and byte not in b"\t\r\n\f" for byte in start):
                    yield InputError(f"{problem}; save the file as UTF-8")
                encoding = "cp1252" if any(0x80 <= byte < 0xA0 for byte in start) else "latin-1"
                remedies = [use(encoding=encoding), Remedy(text="save it as UTF-8")]
                yield InputError(f"{problem}; it looks like {encoding}", remedies=remedies)
    if (header := wrong_header(source)) is not None:
        yield header
    if source.is_delimited:
        with suppress(csv.Error, pl.exceptions.PolarsError):
            with source.open_bytes() as file:
                if not file.readline().removeprefix(BOM).rstrip(b"\r\n"):
                    yield InputError(
                        f"{name}: the first line is blank; remove it, for the header must come"
                        " first"
                    )
            if (ragged := ragged_line(source)) is not None:
                yield ragged
            with source.open_bytes() as file:
                if sum(line.count(b'"') for line in file) % 2:
                    yield InputError(
                        f"{name}: a quotation mark is opened and never closed; repair the file"
                    )
    if source.format == "jsonl":
        import ijson

        with source.open_bytes() as file:
            for number, line in enumerate(file, start=1):
                problem = ""
                try:
                    value = json.loads(line.removeprefix(BOM)) if line.strip() else {}
                    if not isinstance(value, dict):
                        problem = f"found {type(value).__name__}"
                except (ValueError, RecursionError) as error:
                    # objects over several lines
                    with suppress(ijson.JSONError, ValueError), source.open_bytes() as whole:
                        deque(ijson.basic_parse(whole, multiple_values=True), maxlen=0)
                        problem = (
                            f"{name} is JSON, but holds no votes that Finegold recognises; expected"
                            " one object "
                        )
                        problem += "per line, a list of rows, or an object of tasks"
                        remedies = [use(format="nested-json", when="if it is an object of tasks")]
                        yield InputError(problem, remedies=remedies)
                    problem = f"not valid JSON ({error})"
                if problem:
                    yield InputError(
                        f"{name}, line {number}: {problem}; expected one JSON object per line"
                    )


def ragged_line(source: Source, may_omit: int = 0) -> InputError | None:
    """Return what is wrong with the first line of too many or too few fields; None if there is
    none.
    """
    width = 0
    for line, record in records(source, source.delimiter):
        width = width or len(record)
        # commas at the end of a line are no fields
        while len(record) > width and not record[-1]:
            record.pop()
        if record and not width - may_omit <= len(record) <= width:
            kind = "many" if len(record) > width else "few"
            problem = (
                f"{source.name}, line {line}: too {kind} fields, found {len(record)} but the header"
                f" has {width}"
            )
            return InputError(
                f"{problem}; repair the line (a value that contains the separator must be quoted)"
            )
    return None


# The first line of a text

MOST_LINES = 30
# of a column
LONGEST_NAME = 60


def wrong_header(source: Source, is_of_votes: bool = True) -> InputError | None:
    """Return what is wrong with the first line of a text: a title above the names of the columns,
    or data.
    """
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
    names, below = (
        [cell for cell in rows[first] if cell],
        [row for row in rows[first + 1 : MOST_LINES] if any(row)],
    )
    are_names = len(set(names)) == len(names) and max(map(len, names), default=0) <= LONGEST_NAME
    are_names &= any(roles.bare_name(name) in roles.KNOWN for name in names) or (
        len(names) > 2 and not any(map(_is_number, names))
    )
    is_table = sum(len(row) == len(rows[first]) for row in below) > 0.9 * max(len(below), 1)
    if first and width > 1 and max(filled[:first]) <= max(1, width // 2) and are_names and is_table:
        what = "line 1 holds a title" if first == 1 else f"lines 1 to {first} hold a title"
        what = what if any(filled[:first]) else "the first line is blank"
        remedy = use(header=first + 1) if is_of_votes else use(text="remove the lines above")
        return InputError(
            f"{what}, and line {first + 1} the names of the columns", source.name, [remedy]
        )
    # Data: most values of the first line are numbers, or occur below in the same column.
    header, below = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    if len(header) < 2 or not below or any(roles.bare_name(name) in roles.KNOWN for name in header):
        return None
    columns = list(zip(*below, strict=True))
    cells = list(zip(header, columns, strict=True))
    texts = [name in column for name, column in cells if not _is_number(name)]
    # names may be numbers, such as years; other names do not occur below
    if (len(cells) - len(texts) + sum(texts)) * 2 < len(cells) or sum(texts) * 2 < len(texts):
        return None
    what = (
        f"the first line ({', '.join(header[:6])}) looks like data and not like the names of"
        " columns"
    )
    if not is_of_votes:
        return InputError(
            what, source.name, [use(text="if there is no header, add a line with the names")]
        )
    numbers = [str(number) for number in range(1, len(header) + 1)]
    values = [[*column] for column in zip(header, *below, strict=True)]
    remedy = use(
        "if there is no header",
        header=False,
        task=Placeholder("NUMBER"),
        annotator=Placeholder("NUMBER"),
        label=Placeholder("NUMBER"),
    )
    table = pl.DataFrame(dict(zip(numbers, values, strict=True)))
    if columns_by_number := propose_long(table, [TASK, ANNOTATOR, LABEL], {}):
        remedy = use(text="if there is no header", header=False, **columns_by_number)
    return InputError(what, source.name, [remedy])


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# Words in the names of columns, in some languages: evidence for a proposal, but not enough to read
# a file without one.
HINTS = {
    "task": (
        TASK.words
        | roles.words_in(
            "id orig original document doc sentence tweet comment post url video audio file"
            " filename pair sample prompt query passage snippet claim headline article statement"
            " clip picture photo object subject stimulus case review aufgabe frage bild satz tarea"
            " pregunta imagen oracion tâche tache phrase domanda compito tarefa pergunta taak vraag"
            " thing 任务 题目 样本 图片 タスク 問題 задание задача вопрос 문항 과제"
        )
    ),
    "annotator": (
        ANNOTATOR.words
        | roles.words_in(
            "work wid uid turker crowdworker assessor grader scorer expert respondent volunteer"
            " contributor who person name login email submitter author annotatore annotateur"
            " anotador bearbeiter nutzer benutzer teilnehmer arbeiter usuario trabajador"
            " participante évaluateur evaluateur utilisateur travailleur utente lavoratore usuário"
            " beoordelaar gebruiker 标注者 标注员 用户 アノテーター 作業者 разметчик аннотатор"
            " пользователь 작업자"
        )
    ),
    "label": (
        LABEL.words
        | roles.words_in(
            "category sentiment winner grade relevance stance emotion tag decision said selected"
            " chosen option code assessment opinion bewertung antwort etikett klasse urteil"
            " respuesta etiqueta clase valoración réponse reponse étiquette etiquette classe"
            " risposta etichetta resposta rótulo antwoord oordeel 标签 答案 ラベル 回答 метка ответ"
            " оценка 라벨 답변"
        )
    ),
}
# Columns with such words are neither annotators nor labels, whatever they hold.
OTHERS = roles.DERIVED | roles.words_in(
    "true ground time times date datetime start started end ended submit submitted accept accepted"
    " duration seconds timestamp age gender sex education country city state region location"
    " language race ethnicity ethnic income occupation job native nationality religion religious"
    " political politics confidence certainty difficulty reward price lifetime approval approved"
    " status comment comments feedback row rownum year month day browser ip os device platform lat"
    " lon latitude longitude mean avg average median std count counts num total prob probability"
    " pred prediction predicted model split fold batch alter geschlecht edad sexo género sexe âge"
    " zeit datum hora fecha date"
)
PERSON = re.compile(
    r"(annotator|worker|rater|judge|user|coder|ann|[awu])[-_ ]?[0-9]+|\S+@\S+|A[0-9A-Z]{10,}", re.I
)
ITEM = re.compile(
    r"(task|item|image|img|document|doc|question|text|sentence|tweet|[tiq])[-_ ]?[0-9]+"
    r"|.+\.(jpe?g|png|gif|wav|mp3|mp4|txt|pdf)|https?://.+|\S+( \S+){4,}",
    re.I,
)

# rows whose cells are looked at
CELLS = 400_000
# among more columns, these are only listed
MOST_COLUMNS = 60
MOST_CLASSES = 30
# characters of the name of an annotator, on average
LONGEST_ID = 40
# the share of rows that are the only ones of their task and annotator
UNIQUE = 0.95
VOTES_PER_TASK, VOTES_PER_ANNOTATOR = 1.2, 1.5
# tasks with several votes, if their agreement decides
COMPARED = 10
# kappa of tasks, and how much larger it is than that of annotators
AGREEMENT, TIMES_MORE = 0.1, 2.0
ROLES = ("task", "annotator", "label")


def _is_named(column: Column, role: str) -> bool:
    """Return whether the name, or nearly all values, speak for the role and for no other one."""
    parts = {*roles.parts_of(column.name)}
    parts |= {part.rstrip("s") for part in parts}
    if role != "task" and not OTHERS.isdisjoint(parts):
        return False
    # "worker id" and "task worker" are annotators
    for each in ("annotator", "label", "task"):
        if not HINTS[each].isdisjoint(parts):
            return each == role
    pattern = {"task": ITEM, "annotator": PERSON}.get(role)
    return pattern is not None and sum(map(bool, map(pattern.fullmatch, column.values))) > (
        0.9 * column.n
    )


def _may_be(column: Column, role: str) -> bool:
    """Return whether the values do not speak against the role."""
    if role == "task":
        return column.n > 2 and column.filled >= VOTES_PER_TASK * column.n
    if not OTHERS.isdisjoint(roles.parts_of(column.name)) or column.n < 2:
        return False
    if role == "annotator":
        has_fractions = any(_is_number(value) and float(value) % 1 for value in column.values)
        is_short = sum(map(len, column.values)) <= LONGEST_ID * column.n
        return column.filled >= VOTES_PER_ANNOTATOR * column.n and is_short and not has_fractions
    return column.n <= MOST_CLASSES and column.n * 2 <= column.filled and not column.are_texts


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
        else [column for column in free if _may_be(column, role)]
        for role in ROLES
    )
    pairs = [
        (task, who)
        for task, who in product(tasks, people)
        if task is not who and _are_votes(task, who)
    ]
    every_vote = [
        (task, who, label)
        for (task, who), label in product(pairs, labels)
        if label is not task
        and label is not who
        # not a property of annotators (their country)
        and _varies(label, who)
    ]
    # nor of tasks (a truth), unless nothing else is left and ids are clear
    possible = [vote for vote in every_vote if _varies(vote[2], vote[0])] or [
        vote
        for vote in every_vote
        if _is_named(vote[0], "task") and _is_named(vote[1], "annotator")
    ]

    def n_named(vote: tuple[Column, Column, Column]) -> int:
        return sum(
            role in given or _is_named(column, role)
            for role, column in zip(ROLES, vote, strict=True)
        )

    def look_right(task: Column, who: Column, label: Column) -> bool:
        """Return whether votes agree about tasks: by far more than about annotators, if names say
        little.
        """
        compared, kappa = kappa_of(count_pairs(label, task))
        if best == len(ROLES):
            return compared < COMPARED or kappa > 0
        of_people = kappa_of(count_pairs(label, who))[1]
        is_clear = kappa >= max(AGREEMENT, TIMES_MORE * of_people)
        return compared >= COMPARED and who.n > 2 and is_clear

    best = max(map(n_named, possible), default=0)
    votes = [vote for vote in possible if n_named(vote) == best]
    labels = [vote[2] for vote in votes]
    votes = [vote for vote in votes if look_right(*vote)]
    if not votes or any(label is not labels[0] for label in labels):
        return {}
    task, who, label = min(votes, key=lambda vote: sum(map(len, vote[0].values)) / vote[0].n)
    # other columns would do as well, unless they say the same
    for one, other in (
        (pair[0], pair[1]) for vote in votes for pair in zip(vote[:2], (task, who), strict=True)
    ):
        n_pairs = len({*zip(one.codes.tolist(), other.codes.tolist(), strict=True)})
        if one.n != other.n or n_pairs > one.n + 1:
            return {}
    # another column holds votes that agree far more
    rivals = [vote[2] for vote in possible if vote[0] is task and vote[1] is who]
    kappas = {rival.name: kappa_of(count_pairs(rival, task))[1] for rival in rivals}
    if max(kappas.values()) > kappas[label.name] + AGREEMENT:
        return {}
    column_of = {"task": task.name, "annotator": who.name, "label": label.name}
    return {
        role.option.replace("-", "_"): column_of[role.option.rpartition("-")[2]] for role in lost
    }


def _varies(label: Column, by: Column) -> bool:
    return bool(((count_pairs(label, by) > 0).sum(axis=1) > 1).any())


def _are_votes(task: Column, who: Column) -> bool:
    """Return whether annotators have nearly always one row for a task, and tasks and annotators
    several rows.
    """
    counts = count_pairs(task, who)
    n = int(counts.sum())
    return n > 0 and (counts > 0).sum() >= UNIQUE * n and n >= VOTES_PER_TASK * task.n


MOST_DESCRIBED, MOST_EXAMPLES, LONGEST_EXAMPLE = 12, 3, 24


def describe_columns(table: pl.DataFrame) -> str:
    """Say what columns look like: how many different values they have, and some of them."""
    parts = []
    for rows in list(table.iter_columns())[:MOST_DESCRIBED]:
        texts = [text_of(value) for value in rows.to_list() if not is_missing(value)]
        distinct = list(dict.fromkeys(texts))
        examples = [" ".join(value.split()) for value in distinct[:MOST_EXAMPLES]]
        cut = [
            f"{text[:LONGEST_EXAMPLE].rstrip()}..." if len(text) > LONGEST_EXAMPLE else text
            for text in examples
        ]
        number = f"{len(distinct):,} {'value' if len(distinct) == 1 else 'values'}"
        all_differ = " all different," if len(distinct) == len(rows) > 1 else ""
        number += ":" if len(distinct) <= len(cut) else f",{all_differ} such as"
        listing = f"{number} {', '.join(cut)}" if cut else "blank"
        parts.append(f'"{rows.name}" ({listing})')
    n_more = table.width - MOST_DESCRIBED
    return ", ".join([*parts, *([f"and {n_more:,} more"] if n_more > 0 else [])])


def explain_lost_columns(
    error: roles.LostColumnsError, opened: Table, shape: roles.Shape | None = None
) -> InputError:
    """Return the error about columns with what the table looks like, and the options that would
    read it.
    """
    columns = opened.columns
    # no option names the header of other files
    of_votes = {TASK, ANNOTATOR, LABEL}.issuperset(error.lost)
    source = opened.sources[0] if opened.sources else None
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
        remedy = use(
            "if a character that was not found separates columns",
            separator=Placeholder("CHARACTER"),
        )
        return InputError(problem, opened.name, [remedy] if opened.is_text else [])
    table = opened.head(max(CELLS // len(columns), 100))
    if error.lost[0].option == "truth-label" and len(columns) == 2 and "task" in error.known:
        # there is no other choice
        (other,) = (name for name in columns if name != error.known["task"])
        return InputError(error.problem, error.where, [use(truth_label=str(other))])
    if of_votes:
        # or several could have it
        lost = [role for role in (TASK, ANNOTATOR, LABEL) if role.name not in error.known]
        # one of these has the role
        likely = {*error.among, *error.known.values()} if error.among else {*columns}
        tried = table.select(selectors.by_name(*(str(name) for name in columns if name in likely)))
        if proposed := propose_long(tried, lost, error.known):
            remedy = use(text="if these are the columns", **proposed)
            return InputError(error.problem, error.where, [remedy])
    problem, remedies = error.brief, list(error.remedies)
    if shape is not None:
        doubt, remedy = _explain_shape(shape)
        if shape.truths:
            remedies, remedy = [], use(text="if they are annotators", **remedy.options)
        problem, remedies = f"{problem}. {doubt}", [remedy, *remedies]
    elif {ANNOTATOR, LABEL} <= set(error.lost) and len(columns) > 2:
        own = "if every annotator has a column of their own"
        remedies.append(use(own, layout="wide", annotator=Placeholder("NAME,NAME")))
    return InputError(
        f"{problem}. The columns are {describe_columns(table)}", error.where, remedies
    )


def _explain_shape(shape: roles.Shape) -> tuple[str, Remedy]:
    """Say what a table with several votes per row may be, and the options that would read it."""
    names = list(map(str, shape.votes))
    plain = len(names) <= 50 and not any("," in name or name != name.strip() for name in names)
    given: dict[str, Any]
    if "counts" in shape.doubt:
        given = {"layout": "counts"} | ({"task": str(shape.ids)} if str(shape.ids) else {})
        return shape.doubt.capitalize(), use("if they are numbers of votes", **given)
    if not shape.is_transposed and not all(map(roles.names_item, shape.votes)):
        given = {"layout": "wide"}
        given |= {"task": str(shape.ids)} if str(shape.ids) else {}
        given |= {"annotator": names} if plain else {}
        doubt = f"It may be a table with a column per annotator, but {shape.doubt}"
        return doubt, use("if it is", **given)
    given = {"layout": "transposed", "annotator": str(shape.ids)}
    given |= {"task": ",".join(names)} if plain else {}
    # the names are those of tasks
    if not shape.is_transposed:
        return shape.doubt, use("if every row is an annotator", **given)
    may_be = "a table with a row per annotator and a column per task"
    return f"It may be {may_be}, but {shape.doubt}", use("if it is", **given)
