"""Every layout is one long frame before anything is encoded: task, annotator, label and, if it is
asked for, gold, with a row for each vote that could have been cast.

A long table has these columns. The cells of a wide table (a row per task) and of a transposed one
(a row per annotator) are unpivoted, and an export yields the frame in batches. All of them end in
`assemble`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from finegold.errors import InputError, Placeholder, leave_out, use
from finegold.io import columns as roles
from finegold.io.exports import ALL
from finegold.io.options import ReadOptions
from finegold.io.questions import Questions, several_questions
from finegold.io.tables import IDS, Table
from finegold.io.truth import (
    Truth,
    add_gold_sets,
    find_foreign_truths,
    find_unused_gold,
    find_unvoted_gold,
    gold_codes,
    gold_column,
    one_per_task,
    read_truth,
)
from finegold.kernels.cells import count
from finegold.system.memory import limit, remedy_of
from finegold.votes.annotations import Annotations, Counts
from finegold.votes.encoding import (
    MISSING,
    Coded,
    Encoder,
    Names,
    as_text,
    encode,
    text_of,
    to_list,
)
from finegold.votes.hygiene import (
    Finding,
    Hygiene,
    examine_votes,
    find_doubtful_labels,
    find_doubtful_words,
)
from finegold.votes.labels import (
    NOTHING,
    Spellings,
    count_no_votes,
    drop_missing,
    encode_classes,
    hold_sets,
    options_of,
    replace_aliases,
    separator_of,
    unify,
    unify_ids,
)

# that a column of labels may hold
MAX_CLASSES = 10_000
# the number of a row in a table that is unpivoted
ROW = "\nrow"

# describes a row, or a cell
Where = Callable[[int], str]


@dataclass
class LongFrame:
    """The long frame, encoded."""

    task: Coded
    annotator: Coded
    label: Coded
    # in the rows of tasks whose truth is known
    gold: Coded | None
    where: Where
    # every value was read as text, so that numbers are still to be recognised
    is_text: bool
    # where the labels stand, for messages
    name: str
    # what the user calls tasks, annotators and labels
    columns: tuple[Any, Any] = (None, None)
    label_column: str = ""
    findings: list[Finding] = field(default_factory=list)
    is_wide: bool = False
    of_export: bool = False

    @classmethod
    def of(cls, encoder: Encoder, where: Where, name: str) -> LongFrame:
        """Return the frame whose batches the encoder was given."""
        coded = encoder.finish()
        task, annotator, label = (coded.pop(column) for column in (*IDS, "label"))
        gold = coded.pop("gold", None)
        return cls(task, annotator, label, gold, where, encoder.is_text, name)


# From tables to the long frame


def read_long(opened: Table, options: ReadOptions) -> dict[str, Annotations]:
    """Read a table with a row per vote, and return the votes by question; "" if it has one."""
    # Several columns of tasks are one together, and several columns of labels a question each.
    tasks, labels = (_listed(name, opened.columns) for name in (options.task, options.label))
    with roles.columns_of(opened):
        gold = None if options.gold is None else gold_column(options.gold, opened.columns)
        question, wanted = _question_of(opened.columns, options, len(labels) > 1)
        named = [roles.named_column(opened.columns, name, roles.TASK) for name in tasks[1:]]
        free = [each for each in opened.columns if each not in (gold, question, *named)]
        names = {
            roles.TASK: tasks[0] if tasks else None,
            roles.ANNOTATOR: options.annotator,
            roles.LABEL: labels[0] if labels else None,
        }
        by_task, by_annotator, by_label = roles.find_columns(free, names)
        more = [roles.named_column(opened.columns, name, roles.LABEL) for name in labels[1:]]
    columns = {"task": (by_task, *named) if named else by_task, "annotator": by_annotator}
    columns |= {"gold": gold} if gold is not None else {}
    columns |= {"question": question} if question is not None else {}
    lists = () if options.multi is False else (by_label, gold, *more)
    if not more and question is None:
        _check_rivals(opened, by_label, options)
    by_number = {f"label {number}": name for number, name in enumerate([by_label, *more])}
    batches = opened.batches(columns | by_number, options.watch, lists)
    votes = Questions(opened.is_text, opened.backend)
    for batch in batches:
        for number, name in by_number.items():
            part = batch.rename({number: "label"}).drop(by_number, strict=False)
            if more:
                part = part.with_columns(question=pl.lit(str(name)))
            votes.add(
                part if "question" in part.columns else part.with_columns(question=pl.lit(""))
            )
    found = {}
    for name, encoder in votes.chosen(opened.name, wanted, question):
        long = LongFrame.of(
            encoder, opened.where if not name else _where_of(opened, name), opened.name
        )
        long.findings = opened.findings
        if all(source.header for source in opened.sources):
            long.columns = None if named else by_task, by_annotator
        long.label_column = str(name if more else by_label)
        found[name] = assemble(long, options)
    if list(found) == [""]:
        _refuse_mixed_questions(opened, found[""])
    return found


def _where_of(opened: Table, question: str) -> Where:
    return lambda vote: f'{opened.name}, question "{question}", vote {vote + 1:,}'


def _listed(names: Any, columns: Sequence[Any]) -> list[Any]:
    """Return the columns that the user names, with commas between or as a list."""
    if not isinstance(names, str):
        return [] if names is None else list(names)
    is_list = "," in names and names not in columns
    return [name.strip() for name in names.split(",")] if is_list else [names]


def _question_of(
    columns: Sequence[Any], options: ReadOptions, has_labels: bool
) -> tuple[Any, str | None]:
    """Return the column that tells questions apart, and the question that is wanted."""
    asked = options.question
    if asked is None or has_labels:
        return None, ALL if options.every_question else asked
    if asked == ALL:
        found = roles.candidates(columns, roles.QUESTION)
        return (found[0] if len(found) == 1 else None), ALL
    name, _, value = asked.partition("=")
    return roles.named_column(columns, name, roles.QUESTION), value or None


def _check_rivals(opened: Table, by_label: Any, options: ReadOptions) -> None:
    """Refuse a column of labels beside predictions of the same classes: it may hold the truth."""
    others = [
        name
        for name in opened.columns
        if name not in (by_label, options.task, options.annotator)
        and not PREDICTED.isdisjoint(roles.parts_of(name))
    ]
    if options.label is not None or not others:
        return
    table = opened.head(ROWS_COMPARED)
    own = {*roles.Column.of(by_label, table[str(by_label)]).values}
    for name in others:
        values = {*roles.Column.of(name, table[str(name)]).values}
        if own and len(own & values) * 2 >= max(len(own), len(values)):
            problem = f'the column "{by_label}" may hold the truth, because "{name}" holds the same values'
            remedies = [
                use("if it does", label=str(name), gold=str(by_label)),
                use("if it holds the votes", label=str(by_label)),
            ]
            raise InputError(problem, opened.name, remedies)


def _refuse_mixed_questions(opened: Table, votes: Annotations) -> None:
    """Refuse votes of several questions that a column tells apart, but nobody chose."""
    found = roles.candidates(opened.columns, roles.QUESTION)
    if len(found) != 1 or votes.counts.repeated < MIXED * votes.counts.rows:
        return
    names = opened.read(found).to_series().drop_nulls()
    if 1 < names.n_unique() <= MOST_QUESTIONS:
        counts = Counter(as_text(names).to_list())
        raise several_questions(opened.name, counts, found[0])


# made by a model, beside a column of labels
PREDICTED = roles.words_in("pred prediction predicted predictions parsed verdict model_label")
ROWS_COMPARED = 1_000
# the share of the rows that repeat an earlier vote if questions are mixed
MIXED = 0.2
MOST_QUESTIONS = 50


def read_counts(opened: Table, options: ReadOptions) -> Annotations:
    """Read a table with a row per task and a column per class, which says how many voted for it."""
    with roles.columns_of(opened):
        by_task = roles.find_column(opened.columns, roles.WIDE_TASK, options.task)
        others = {by_task, *roles.candidates(opened.columns, roles.TRUTH)}
        chosen = _listed(options.label, opened.columns) or [
            name for name in opened.columns if name not in others
        ]
        gold = gold_column(options.gold, opened.columns)
    classes = [name for name in chosen if name != gold]
    frame = opened.read([name for name in (by_task, *classes, gold) if name is not None])
    frame = frame.with_row_index(ROW)
    row = ROW if by_task is None else str(by_task)
    table = _unpivot(frame, row, classes, gold, is_transposed=False)
    texts = as_text(table["label"]).str.strip_chars()
    counts = texts.str.replace(r"\.0*$", "").cast(pl.UInt32, strict=False)
    wrong = (counts.is_null() & texts.is_not_null() & (texts != "")).arg_true()
    if len(wrong):
        cell = int(wrong[0])
        place = f'{opened.where(cell % len(frame))}, column "{classes[cell // len(frame)]}"'
        remedies = [use(label=Placeholder("CLASS,CLASS"), text="to name the columns of counts")]
        raise InputError(f"{texts[cell]!r} is not a number of votes", place, remedies)
    # a task without votes keeps a row, so that it is listed as unlabelled
    times = pl.Series("times", counts.fill_null(0).clip(1))
    label = table["annotator"].cast(pl.String).set(counts.fill_null(0) == 0, None)
    votes = table.with_columns(label.alias("label"), annotator=pl.lit("unknown"))
    votes = votes.select(pl.all().repeat_by(times).explode())
    encoder = Encoder(IDS, opened.is_text, opened.backend)
    encoder.add(votes)
    long = LongFrame.of(encoder, lambda vote: f"{opened.name}, vote {vote + 1:,}", opened.name)
    text = (
        f"{opened.name} has numbers of votes, so annotators are unknown: all votes count as those of"
        " one"
    )
    long.findings, long.columns = [*opened.findings, Finding("counts", text)], (by_task, None)
    found = assemble(long, replace(options, repeated="all"))
    kept = [each for each in found.hygiene.findings if each.kind != "one annotator"]
    n_zero = int((counts.fill_null(0) == 0).sum())
    found = count_more(found, rows=-n_zero, missing=-n_zero)
    return replace(found, hygiene=replace(found.hygiene, findings=kept))


def read_cells(opened: Table, options: ReadOptions, is_transposed: bool = False) -> Annotations:
    """Read a table with a row per task and a column per annotator, or the other way round."""
    # Rows are named by their column, by a pandas index, or else by their number, from 0. A column
    # of a wide table called gold or truth is not an annotator, and neither is such a row of a
    # transposed one; they are used only if `gold` asks for them.
    role, name = (
        (roles.RESPONDENT, options.annotator) if is_transposed else (roles.WIDE_TASK, options.task)
    )
    with roles.columns_of(opened):
        gold = None if is_transposed else gold_column(options.gold, opened.columns)
        free = [column for column in opened.columns if column != gold]
        by_row = roles.find_column(free, role, name)
        cells = (
            _task_columns(opened.columns, options.task, by_row)
            if is_transposed
            else _annotator_columns(opened.columns, options.annotator, {by_row, gold})
        )
        frame = opened.read([column for column in (by_row, *cells, gold) if column is not None])
        findings = opened.findings
        if not is_transposed and options.annotator is None:
            cells, aside = _check_annotators(frame, cells, by_row)
            findings += roles.report_columns_aside(opened.name, False, cells, aside)
    frame = frame.with_row_index(ROW)
    row_name = ROW if by_row is None else str(by_row)
    if is_transposed and by_row is not None:
        frame, truths = _without_truths(frame, row_name)
        if options.gold is True:
            truth = _truth_of_rows(truths, cells, opened.is_text)
            if not len(truth.task):
                remedies = [use(gold=Placeholder("FILE"), text="to give a file of truths")]
                problem = f"{opened.name} has no row called gold or truth"
                raise InputError(problem, remedies=remedies)
            options = replace(options, gold=truth)
    rows, row_numbers = len(frame), frame[ROW].to_numpy()
    long_frame = _unpivot(frame, row_name, cells, gold, is_transposed)

    def where(cell: int) -> str:
        place = opened.where(int(row_numbers[cell % rows]))
        return f'{place}, column "{cells[cell // rows]}"'

    encoder = Encoder(IDS, opened.is_text, opened.backend)
    encoder.add(long_frame)
    long = LongFrame.of(encoder, where, opened.name)
    long.findings, long.is_wide = findings, True
    if all(source.header for source in opened.sources):
        long.columns = (None, by_row) if is_transposed else (by_row, None)
    return assemble(long, options)


def _unpivot(
    frame: pl.DataFrame, by_row: str, cells: Sequence[Any], gold: Any, is_transposed: bool
) -> pl.DataFrame:
    """Return the long frame of a table with a column per annotator, or per task."""
    names = [str(cell) for cell in cells]
    types = {frame.schema[name] for name in names} - {pl.Null()}
    if len(types) > 1:
        # integers where blanks made floats of some, or text
        texts = [as_text(frame[name]) for name in names]
        wholes = [text.cast(pl.Int64, strict=False) for text in texts]
        is_whole = all(each.is_numeric() for each in types) and all(
            whole.null_count() == text.null_count()
            for whole, text in zip(wholes, texts, strict=True)
        )
        frame = frame.with_columns(wholes if is_whole else texts)
    column, row = ("task", "annotator") if is_transposed else ("annotator", "task")
    index = {row: pl.col(by_row)} | ({} if gold is None else {"gold": pl.col(str(gold))})
    long = frame.select(**index, **{f"\n{n}": pl.col(name) for n, name in enumerate(names)})
    long = long.unpivot(index=list(index), variable_name=column, value_name="label")
    # columns of a data frame may be called by numbers
    named = pl.Series(column, Names(list(cells)).values)
    number = long[column].str.slice(1).cast(pl.UInt32)
    return long.with_columns(named.gather(number).alias(column))


def _without_truths(frame: pl.DataFrame, by_row: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split the rows of people from those called gold or truth."""
    names = as_text(frame[by_row]).to_list()
    is_truth = pl.Series([roles.bare_name(name) in roles.TRUTH.words for name in names])
    return frame.filter(~is_truth), frame.filter(is_truth)


def _truth_of_rows(truths: pl.DataFrame, cells: Sequence[Any], is_text: bool) -> Truth:
    """Return the truths of tasks that have a column, from rows called gold or truth."""
    known = [
        (cell, value)
        for cell in cells
        for value in as_text(truths[str(cell)]).drop_nulls().to_list()[:1]
        if value.strip()
    ]
    return Truth(Names([cell for cell, _ in known]), Names([value for _, value in known]))


def _annotator_columns(columns: Sequence[Any], named: Any, others: set[Any]) -> list[Any]:
    """Return the columns that the user names, or all but those of tasks and truths."""
    if named is not None:
        wanted = [named] if isinstance(named, str) else named
        return [roles.named_column(columns, name, roles.ANNOTATOR) for name in wanted]
    others = others | {*roles.candidates(columns, roles.TRUTH)}
    found = [column for column in columns if column not in others]
    if not found:
        raise InputError(f"no column is left for an annotator among {', '.join(map(str, columns))}")
    return found


def _check_annotators(
    frame: pl.DataFrame, columns: list[Any], by_row: Any
) -> tuple[list[Any], list[Any]]:
    """Return the columns that hold votes, and those that hold row numbers, ids or texts."""
    voting = roles.voting_columns(frame, columns, by_row)
    aside = [column for column in columns if column not in voting]
    people = [column for column in columns if roles.bare_name(column) in roles.ANNOTATOR.words]
    has_labels = any(roles.bare_name(column) in roles.LABEL.words for column in columns)
    # annotators would become votes
    if people and (has_labels or people[0] in aside):
        problem = (
            f"the column {roles.list_names(people[:1])} names annotators, so this is not a wide"
            " table"
        )
        when = "" if has_labels else "if a row is a vote"
        raise InputError(problem, remedies=[leave_out("layout", when=when)])
    if not voting:
        names = roles.list_names(aside)
        raise InputError(f"no column is left for an annotator; {names} hold ids or texts")
    return voting, aside


def _task_columns(columns: list[Any], tasks: Any, by_annotator: Any) -> list[Any]:
    """Return the columns that the user lists or that fit patterns; else all but those of people and
    of times.
    """
    if tasks is not None and not isinstance(tasks, str):
        return list(tasks)
    if tasks is None:
        others = {by_annotator, *roles.candidates(columns, roles.RESPONDENT)}
        fitting = [
            column
            for column in columns
            if column not in others and roles.survey_name(column) not in roles.TIMES
        ]
    else:
        patterns = [pattern.strip() for pattern in tasks.split(",")]
        fitting = [
            column
            for column in columns
            if column != by_annotator
            and any(fnmatchcase(str(column), pattern) for pattern in patterns)
        ]
    if not fitting:
        that_fits = "" if tasks is None else f" that fits {tasks}"
        raise InputError(
            f"there is no column of a task{that_fits} among {', '.join(map(str, columns))}"
        )
    return fitting


# From the long frame to votes


class Labels(NamedTuple):
    """The labels that are votes."""

    coded: Coded
    are_sets: bool
    # what was noticed in them
    findings: list[Finding]
    # words that mean "no vote" and how often each occurs
    no_vote: dict[str, int]


def assemble(long: LongFrame, options: ReadOptions, labels: Labels | None = None) -> Annotations:
    """Build Annotations with one list of classes. Rows that hold nothing are left out and counted."""
    labels = labels or read_labels(long, options)
    _check_number(long, labels)
    refuse_lost_ids(long, labels)
    truth = _truth_of(long, options)
    tasks, annotators, more = unify_ids(long.task, long.annotator, options.normalise, long.is_text)
    alias = options.alias or {}
    findings = [*labels.findings, *more]
    # findings are added below
    hygiene = Hygiene(findings, labels.no_vote, long.label_column, options.normalise, alias)
    named = zip(long.columns, ("task", "annotator"), strict=True)
    about: dict[str, Any] = {
        "hygiene": hygiene,
        "columns": tuple(
            name if isinstance(name, str) and name.strip() else usual for name, usual in named
        ),
    }
    if labels.are_sets:
        annotations, more = _assemble_sets(tasks, annotators, labels.coded, options, long.where)
        findings += more
        if truth:
            annotations, unused = add_gold_sets(annotations, truth)
            findings += unused
        return replace(annotations, **about)
    truths = to_list(truth.truth) if truth else []
    written, more = _unify(Spellings(labels.coded, truths), options, long.is_wide)
    findings += more
    coded, truth_codes, classes = encode_classes(
        written.labels, written.truths, options.classes, long.is_text, long.where
    )
    codes, left_out = [tasks.take_codes(), annotators.take_codes(), coded], 0
    del coded
    # they may hold the same codes
    for other in (long.task, long.annotator, long.label, labels.coded, written.labels):
        other.take_codes()
    # rows without an id, such as blank lines
    if any(ids.size and ids.min() == MISSING for ids in codes[:2]):
        whole = (codes[0] != MISSING) & (codes[1] != MISSING)
        codes, left_out = [column[whole] for column in codes], int((~whole).sum())
    gold, unused_gold = (
        gold_codes(truth, truth_codes, tasks.names, codes, options.normalise)
        if truth
        else (None, [])
    )
    # `from_codes` frees codes that nobody else holds, not even this list
    take = codes.pop
    annotations = Annotations.from_codes(
        take(0),
        take(0),
        take(0),
        tasks.names,
        annotators.names,
        classes,
        gold=gold,
        repeated=options.repeated,
    )
    counts = annotations.counts
    rows, missing = counts.rows + left_out, counts.missing + left_out
    counts = replace(counts, rows=rows, missing=missing, gold_unused=len(unused_gold))
    annotations = replace(annotations, counts=counts)
    if unused_gold:
        task = to_list(annotations.task_names[:1])[0]
        findings += find_unused_gold(len(unused_gold), len(truths), unused_gold[0], task)
    if truth:
        findings += find_foreign_truths(annotations, annotations.gold)
        findings += find_unvoted_gold(
            written.truths, written.labels.names if options.classes is None else classes
        )
    findings += examine_votes(annotations, options.repeated)
    return replace(annotations, **about)


def read_labels(long: LongFrame, options: ReadOptions) -> Labels:
    """Return the cells that are votes, and whether they are sets. Report words that may be classes,
    or no votes.
    """
    cells = long.label
    labels = drop_missing(cells, options.no_vote)
    words = count_no_votes(cells, labels) if len(labels.names) < len(cells.names) else {}
    noticed, are_sets, sets = list(long.findings), bool(options.multi), None
    if options.multi is None:
        texts = [text_of(name) for name in labels.names]
        if hold_sets(texts, count(labels.codes, len(texts)), of_export=long.of_export):
            separator = separator_of(texts)
            shown = min(
                [cell for cell in texts if len(options_of(cell, separator)) > 1] or texts, key=len
            )
            text = (
                f"the votes are sets of labels, such as {shown}, so each option is taken as a"
                " question of yes or no"
            )
            sets = Finding("sets", text, (use(multi=False, text="to take each set as a class"),))
            are_sets = True
    if options.no_vote is None:
        noticed += find_doubtful_words(words) if words else []
        if options.classes is None and len(labels.names) <= limit("CLASSES", MAX_CLASSES):
            counts = Spellings(labels, []).frequency()
            # nothing was chosen, which is an answer
            if are_sets or long.of_export:
                counts.pop(NOTHING, None)
            noticed += find_doubtful_labels(counts, words, long.is_wide)
    return Labels(labels, are_sets, [*noticed, sets] if sets else noticed, words)


def _unify(
    spellings: Spellings, options: ReadOptions, is_wide: bool = False
) -> tuple[Spellings, list[Finding]]:
    findings: list[Finding] = []
    if options.alias:
        spellings, findings = replace_aliases(spellings, options.alias)
    spellings, more = unify(spellings, options.classes, options.normalise, is_wide)
    return spellings, [*findings, *more]


def _check_number(long: LongFrame, labels: Labels) -> None:
    n_classes, most = len(labels.coded.names), limit("CLASSES", MAX_CLASSES)
    # the column probably holds texts or ids
    if not labels.are_sets and n_classes > most and long.label_column:
        problem = (
            f'{long.name} has {n_classes:,} classes in the column "{long.label_column}", more than'
            f" {most:,}"
        )
        remedies = [use(label=Placeholder("NAME"), text="to name the column of the labels")]
        raise InputError(
            f"{problem}, which is the limit", "", [*remedies, use(text=remedy_of("CLASSES"))]
        )


def refuse_lost_ids(long: LongFrame, labels: Labels) -> None:
    """Refuse a label without a task or an annotator: it is a mistake in the file."""
    for role, ids in (("task", long.task.codes), ("annotator", long.annotator.codes)):
        if not ids.size or ids.min() != MISSING:
            continue
        lost = np.flatnonzero((ids == MISSING) & (labels.coded.codes != MISSING))
        if lost.size:
            like_that = f" ({lost.size:,} rows are like that)" if lost.size > 1 else ""
            remedy = use(text=f"fill in the {role} or remove the row{like_that}")
            raise InputError(f"there is a label but no {role}", long.where(int(lost[0])), [remedy])


def _truth_of(long: LongFrame, options: ReadOptions) -> Truth | None:
    """Return the gold truths, from a column of the votes' own table or from another source."""
    if long.gold is not None:
        return one_per_task(long.task, long.gold, options.no_vote, long.is_text, long.where)
    if options.gold is None or options.gold is False:
        return None
    return read_truth(options.gold, missing=options.no_vote, prefix="")


def count_more(annotations: Annotations, rows: int, missing: int) -> Annotations:
    counts = annotations.counts
    return replace(
        annotations,
        counts=replace(counts, rows=counts.rows + rows, missing=counts.missing + missing),
    )


# Votes that are sets of labels: every option is a class, and an annotator may choose several of
# them


def _assemble_sets(
    tasks: Coded, annotators: Coded, labels: Coded, options: ReadOptions, where: Where
) -> tuple[Annotations, list[Finding]]:
    """Build Annotations whose classes are options, the last of them "": nothing was chosen."""
    # Rows of one annotator on one task are one answer, so a table may also have a row per chosen
    # option.
    if options.repeated not in ("first", "all"):
        problem = "with sets of labels, all rows of an annotator on a task are one answer"
        raise InputError(problem, remedies=[leave_out("repeated"), leave_out("multi")])
    cells = [text_of(name) for name in labels.names]
    separator = separator_of(cells)
    parts = [options_of(cell, separator) for cell in cells]
    numbers: dict[frozenset[str], int] = {}
    sets = [numbers.setdefault(frozenset(some), len(numbers)) for some in parts]
    # a row per option of each vote, and one row for an empty set or a missing vote
    of_cells = pl.DataFrame(
        [
            pl.Series("cell", range(len(parts)), dtype=pl.Int32),
            pl.Series("set", sets, dtype=pl.Int64),
            pl.Series("option", [some or [None] for some in parts], dtype=pl.List(pl.String)),
        ]
    )
    codes = {"task": tasks.codes, "annotator": annotators.codes, "cell": labels.codes}
    rows = pl.DataFrame(codes).join(of_cells, on="cell", how="left", maintain_order="left")
    chosen = rows.with_row_index("row").explode("option")
    written, findings = _unify(Spellings(encode(chosen["option"]), []), options)
    coded, _, classes = encode_classes(
        written.labels, [], options.classes, False, lambda vote: where(int(chosen["row"][vote]))
    )
    names = [text_of(name) for name in classes]
    label = pl.Series("label", coded)
    is_nothing = (label == MISSING) & chosen["set"].is_not_null()
    # Without rows that lack a task or an annotator, and options that an annotator chose twice for a
    # task.
    votes = (
        chosen.with_columns(label.set(is_nothing, len(names)))
        .select(*IDS, "label")
        .filter((pl.col("task") != MISSING) & (pl.col("annotator") != MISSING))
        .unique()
        .sort(*IDS, "label")
    )
    annotations = Annotations.from_codes(
        votes["task"].to_numpy(),
        votes["annotator"].to_numpy(),
        votes["label"].to_numpy(),
        tasks.names,
        annotators.names,
        [*names, ""],
        repeated="all",
    )
    answers = rows.drop("cell", "option").filter(
        (pl.col("task") != MISSING) & (pl.col("annotator") != MISSING), pl.col("set").is_not_null()
    )
    n_distinct = answers.n_unique() if len(answers) else 0
    if n_joined := n_distinct - (answers.n_unique(IDS) if len(answers) else 0):
        text = (
            f"rows of one annotator on one task are one answer: {n_joined:,} of {len(rows):,}"
            " joined an earlier row"
        )
        # a usual layout
        is_row_per_option = all(len(some) < 2 for some in parts)
        findings = [*findings, Finding("joined", text, is_silent=is_row_per_option)]
    counts = Counts(len(rows), rows["set"].null_count(), len(answers) - n_distinct)
    return replace(annotations, counts=counts, multi=True), findings
