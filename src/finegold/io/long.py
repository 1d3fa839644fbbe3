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
from finegold.io import truth as truths
from finegold.io.exports import ALL
from finegold.io.options import ReadOptions
from finegold.io.questions import Questions, several_questions
from finegold.io.tables import IDS, Table
from finegold.kernels.cells import count
from finegold.system.memory import limit, remedy_of
from finegold.votes import hygiene
from finegold.votes import labels as spelling
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
from finegold.votes.hygiene import Finding
from finegold.votes.labels import Spellings

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

    @classmethod
    def of_frame(cls, frame: pl.DataFrame, opened: Table, where: Where) -> LongFrame:
        encoder = Encoder(IDS, opened.is_text, opened.backend)
        encoder.add(frame)
        return cls.of(encoder, where, opened.name)


# From tables to the long frame


def read_long(opened: Table, options: ReadOptions) -> dict[str, Annotations]:
    """Read a table with a row per vote, and return the votes by question; "" if it has one."""
    # Several columns of tasks are one together, and several columns of labels a question each.
    columns = opened.columns
    tasks, labels = (_listed(name, columns) for name in (options.task, options.label))
    with roles.columns_of(opened):
        gold = None if options.gold is None else truths.gold_column(options.gold, columns)
        question, wanted = _question_of(columns, options, len(labels) > 1)
        named = [roles.named_column(columns, name, roles.TASK) for name in tasks[1:]]
        free = [each for each in columns if each not in (gold, question, *named)]
        names = {
            roles.TASK: tasks[0] if tasks else None,
            roles.ANNOTATOR: options.annotator,
            roles.LABEL: labels[0] if labels else None,
        }
        by_task, by_annotator, by_label = roles.find_columns(free, names)
        more = [roles.named_column(columns, name, roles.LABEL) for name in labels[1:]]
    if not more and question is None:
        _check_rivals(opened, by_label, options)
    wanted_columns = {"task": (by_task, *named) if named else by_task, "annotator": by_annotator}
    wanted_columns |= {"gold": gold} if gold is not None else {}
    wanted_columns |= {"question": question} if question is not None else {}
    by_number = {f"label {number}": name for number, name in enumerate([by_label, *more])}
    lists = () if options.multi is False else (by_label, gold, *more)
    votes = Questions(opened.is_text, opened.backend)
    for batch in opened.batches(wanted_columns | by_number, options.watch, lists):
        for number, name in by_number.items():
            part = batch.rename({number: "label"}).drop(by_number, strict=False)
            if question is None:
                part = part.with_columns(question=pl.lit(str(name) if more else ""))
            votes.add(part)
    found = {}
    for name, encoder in votes.chosen(opened.name, wanted, question):
        where = _where_of(opened.name, name) if name else opened.where
        long = LongFrame.of(encoder, where, opened.name)
        long.findings, long.label_column = opened.findings, str(name if more else by_label)
        if all(source.header for source in opened.sources):
            long.columns = None if named else by_task, by_annotator
        found[name] = assemble(long, options)
    if list(found) == [""]:
        _refuse_mixed_questions(opened, found[""])
    return found


def _where_of(name: str, question: str = "") -> Where:
    origin = f'{name}, question "{question}"' if question else name
    return lambda vote: f"{origin}, vote {vote + 1:,}"


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


# made by a model, beside a column of labels
PREDICTED = roles.words_in("pred prediction predicted predictions parsed verdict model_label")
ROWS_COMPARED = 1_000
# the share of the rows that repeat an earlier vote if questions are mixed
MIXED = 0.2
MOST_QUESTIONS = 50


def _check_rivals(opened: Table, by_label: Any, options: ReadOptions) -> None:
    """Refuse a column of labels beside predictions of the same classes: it may hold the truth."""
    known = (by_label, options.task, options.annotator)
    others = [name for name in opened.columns if name not in known]
    others = [name for name in others if not PREDICTED.isdisjoint(roles.parts_of(name))]
    if options.label is not None or not others:
        return
    table = opened.head(ROWS_COMPARED)
    own, *rivals = (
        {*roles.Column.of(name, table[str(name)]).values} for name in (by_label, *others)
    )
    for name, values in zip(others, rivals, strict=True):
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


def read_counts(opened: Table, options: ReadOptions) -> Annotations:
    """Read a table with a row per task and a column per class, which says how many voted for it."""
    columns = opened.columns
    with roles.columns_of(opened):
        by_task = roles.find_column(columns, roles.WIDE_TASK, options.task)
        gold = truths.gold_column(options.gold, columns)
        others = {by_task, gold, *roles.candidates(columns, roles.TRUTH)}
    classes = _listed(options.label, columns) or [name for name in columns if name not in others]
    remedies = [use(label=Placeholder("CLASS,CLASS"), text="to name the columns of counts")]
    if not classes:
        raise InputError("there is no column with numbers of votes", opened.name, remedies)
    frame = opened.read([name for name in (by_task, *classes, gold) if name is not None])
    frame = frame.with_row_index(ROW)
    table = _unpivot(frame, ROW if by_task is None else str(by_task), classes, gold, False)
    texts = as_text(table["label"]).str.strip_chars()
    counts = texts.str.replace(r"\.0*$", "").cast(pl.UInt32, strict=False)
    wrong = (counts.is_null() & texts.is_not_null() & (texts != "")).arg_true()
    if len(wrong):
        cell = int(wrong[0])
        place = f'{opened.where(cell % len(frame))}, column "{classes[cell // len(frame)]}"'
        raise InputError(f"{texts[cell]!r} is not a number of votes", place, remedies)
    n_votes = counts.fill_null(0).to_numpy()
    # a task without votes keeps a row, so that it is listed as unlabelled
    times, n_rows = n_votes.copy(), len(frame)
    times[:n_rows] += n_votes.reshape(-1, n_rows).sum(axis=0) == 0
    label = table["annotator"].cast(pl.String).set(pl.Series(n_votes == 0), None)
    votes = table.with_columns(label.alias("label"), annotator=pl.lit("unknown"))
    votes = votes.select(pl.all().repeat_by(pl.Series(times)).explode())
    long = LongFrame.of_frame(votes, opened, _where_of(opened.name))
    text = "numbers of votes, so annotators are unknown: all votes count as those of one"
    long.findings = [*opened.findings, Finding("counts", f"{opened.name} has {text}")]
    long.columns = (by_task, None)
    found = assemble(long, replace(options, repeated="all"))
    kept = [each for each in found.hygiene.findings if each.kind != "one annotator"]
    return replace(found, hygiene=replace(found.hygiene, findings=kept))


def read_cells(opened: Table, options: ReadOptions, is_transposed: bool = False) -> Annotations:
    """Read a table with a row per task and a column per annotator, or the other way round."""
    # Rows are named by their column or else by their number, from 0. A column of a wide table called
    # gold or truth is not an annotator, and neither is such a row of a transposed one.
    columns = opened.columns
    role, name = (
        (roles.RESPONDENT, options.annotator) if is_transposed else (roles.WIDE_TASK, options.task)
    )
    with roles.columns_of(opened):
        if is_transposed and options.gold is True:
            remedies = [use(gold=Placeholder("FILE"), text="to give a file of truths")]
            raise InputError("a transposed table has no gold column", remedies=remedies)
        gold = truths.gold_column(options.gold, columns)
        by_row = roles.find_column([each for each in columns if each != gold], role, name)
        asked = options.task if is_transposed else options.annotator
        cells = _cell_columns(columns, asked, {by_row, gold}, is_transposed)
        frame = opened.read([column for column in (by_row, *cells, gold) if column is not None])
        findings = opened.findings
        if not is_transposed and asked is None:
            cells, aside = _check_annotators(frame, cells, by_row)
            findings += roles.report_columns_aside(opened.name, False, cells, aside)
    frame = frame.with_row_index(ROW)
    row_name = ROW if by_row is None else str(by_row)
    if is_transposed and by_row is not None:
        names = as_text(frame[row_name]).to_list()
        frame = frame.filter([roles.bare_name(each) not in roles.TRUTH.words for each in names])
    rows, row_numbers = len(frame), frame[ROW].to_numpy()

    def where(cell: int) -> str:
        place = opened.where(int(row_numbers[cell % rows]))
        return f'{place}, column "{cells[cell // rows]}"'

    unpivoted = _unpivot(frame, row_name, cells, gold, is_transposed)
    long = LongFrame.of_frame(unpivoted, opened, where)
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


def _cell_columns(
    columns: Sequence[Any], named: Any, others: set[Any], is_transposed: bool
) -> list[Any]:
    """Return the columns of annotators, or of tasks, that the user names, or all that are left."""
    role = roles.TASK if is_transposed else roles.ANNOTATOR
    if named is not None:
        found = list[Any]()
        for name in _listed(named, columns):
            fitting = [each for each in columns if fnmatchcase(str(each), str(name))]
            exact = name in columns or not fitting
            found += [roles.named_column(columns, name, role)] if exact else fitting
        found = [each for each in dict.fromkeys(found) if each not in others]
    else:
        ids = roles.candidates(columns, roles.RESPONDENT if is_transposed else roles.TRUTH)
        times = roles.TIMES if is_transposed else frozenset[str]()
        found = [each for each in columns if each not in {*others, *ids}]
        found = [each for each in found if roles.survey_name(each) not in times]
    if not found:
        listing = ", ".join(map(str, columns))
        raise InputError(
            f"no column is left for {'a task' if is_transposed else 'an annotator'} among {listing}"
        )
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
        problem = f'the column "{people[0]}" names annotators, so this is not a wide table'
        when = "" if has_labels else "if a row is a vote"
        raise InputError(problem, remedies=[leave_out("layout", when=when)])
    if not voting:
        names = roles.list_names(aside)
        raise InputError(f"no column is left for an annotator; {names} hold ids or texts")
    return voting, aside


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
    _refuse_lost(long, labels)
    if long.gold is not None:
        truth = truths.one_per_task(long.task, long.gold, options.no_vote, long.is_text, long.where)
    elif options.gold is None or options.gold is False:
        truth = None
    else:
        truth = truths.read_truth(options.gold, missing=options.no_vote, prefix="")
    tasks, annotators, alike = spelling.unify_ids(
        long.task, long.annotator, options.normalise, long.is_text
    )
    build = _assemble_sets if labels.are_sets else _assemble_classes
    annotations, findings = build(long, tasks, annotators, labels.coded, truth, options)
    findings = [*labels.findings, *alike, *findings]
    alias = options.alias or {}
    told = hygiene.Hygiene(findings, labels.no_vote, long.label_column, options.normalise, alias)
    by_task, by_annotator = (
        name if isinstance(name, str) and name.strip() else usual
        for name, usual in zip(long.columns, IDS, strict=True)
    )
    columns = (by_task, by_annotator)
    return replace(annotations, hygiene=told, columns=columns)


def _assemble_classes(
    long: LongFrame,
    tasks: Coded,
    annotators: Coded,
    labels: Coded,
    truth: truths.Truth | None,
    options: ReadOptions,
) -> tuple[Annotations, list[Finding]]:
    known = to_list(truth.truth) if truth else []
    rules = options.classes, options.normalise, options.alias or {}
    written, findings = spelling.unify(Spellings(labels, known), *rules, long.is_wide)
    coded, truth_codes, classes = spelling.encode_classes(
        written.labels, written.truths, options.classes, long.is_text, long.where
    )
    codes, left_out = [tasks.take_codes(), annotators.take_codes(), coded], 0
    del coded
    # they may hold the same codes
    for other in (long.task, long.annotator, long.label, labels, written.labels):
        other.take_codes()
    # rows without an id, such as blank lines
    if any(ids.size and ids.min() == MISSING for ids in codes[:2]):
        whole = (codes[0] != MISSING) & (codes[1] != MISSING)
        codes, left_out = [column[whole] for column in codes], int((~whole).sum())
    gold, unused = None, list[Any]()
    if truth:
        gold, unused = truths.gold_codes(truth, truth_codes, tasks.names, codes, options.normalise)
    # `from_codes` frees codes that nobody else holds, not even a list or a tuple
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
    annotations = count_more(annotations, left_out, left_out)
    annotations = replace(annotations, counts=replace(annotations.counts, gold_unused=len(unused)))
    if unused:
        task = to_list(annotations.task_names[:1])[0]
        findings += truths.find_unused_gold(len(unused), len(known), unused[0], task)
    if truth:
        voted = written.labels.names if options.classes is None else classes
        findings += truths.find_unvoted_gold(written.truths, voted)
    return annotations, findings + hygiene.examine_votes(annotations, options.repeated)


def read_labels(long: LongFrame, options: ReadOptions) -> Labels:
    """Return the cells that are votes, and whether they are sets; report doubtful words."""
    labels = spelling.drop_missing(long.label, options.no_vote)
    n_dropped = len(long.label.names) - len(labels.names)
    words = spelling.count_no_votes(long.label, labels) if n_dropped else {}
    noticed, are_sets, sets = list(long.findings), bool(options.multi), list[Finding]()
    texts = [text_of(name) for name in labels.names]
    votes = count(labels.codes, len(texts))
    if options.multi is None:
        are_sets = spelling.hold_sets(texts, votes, of_export=long.of_export)
        if are_sets:
            parts = zip(texts, spelling.split_cells(texts), strict=True)
            several = [each for each, some in parts if len(some) > 1]
            text = (
                f"the votes are sets of labels, such as {min(several or texts, key=len)}, so each"
                " option is taken as a question of yes or no"
            )
            sets = [Finding("sets", text, (use(multi=False, text="to take each set as a class"),))]
    if options.no_vote is None:
        noticed += hygiene.find_doubtful_words(words) if words else []
        if options.classes is None and len(labels.names) <= limit("CLASSES", MAX_CLASSES):
            counts = dict(zip(texts, votes.tolist(), strict=True))
            # nothing was chosen, which is an answer
            if are_sets or long.of_export:
                counts.pop(spelling.NOTHING, None)
            noticed += hygiene.find_doubtful_labels(counts, words, long.is_wide)
    return Labels(labels, are_sets, noticed + sets, words)


def _refuse_lost(long: LongFrame, labels: Labels) -> None:
    """Refuse a label without a task or an annotator, and a column of texts or ids as labels."""
    n_classes, most = len(labels.coded.names), limit("CLASSES", MAX_CLASSES)
    if not labels.are_sets and n_classes > most and long.label_column:
        column = f'in the column "{long.label_column}"'
        remedies = [use(label=Placeholder("NAME"), text="to name the column of the labels")]
        raise InputError(
            f"{long.name} has {n_classes:,} classes {column}, more than {most:,}, which is the limit",
            remedies=[*remedies, use(text=remedy_of("CLASSES"))],
        )
    for role, ids in (("task", long.task.codes), ("annotator", long.annotator.codes)):
        if not ids.size or ids.min() != MISSING:
            continue
        lost = np.flatnonzero((ids == MISSING) & (labels.coded.codes != MISSING))
        if lost.size:
            like_that = f" ({lost.size:,} rows are like that)" if lost.size > 1 else ""
            remedy = use(text=f"fill in the {role} or remove the row{like_that}")
            raise InputError(f"there is a label but no {role}", long.where(int(lost[0])), [remedy])


def count_more(annotations: Annotations, rows: int, missing: int) -> Annotations:
    counts = annotations.counts
    counts = replace(counts, rows=counts.rows + rows, missing=counts.missing + missing)
    return replace(annotations, counts=counts)


# Votes that are sets of labels: every option is a class, and an annotator may choose several of
# them


def _assemble_sets(
    long: LongFrame,
    tasks: Coded,
    annotators: Coded,
    labels: Coded,
    truth: truths.Truth | None,
    options: ReadOptions,
) -> tuple[Annotations, list[Finding]]:
    """Build Annotations whose classes are options, the last of them "": nothing was chosen."""
    # Rows of one annotator on one task are one answer, so a table may also have a row per chosen
    # option.
    if options.repeated not in ("first", "all"):
        problem = "with sets of labels, all rows of an annotator on a task are one answer"
        raise InputError(problem, remedies=[leave_out("repeated"), leave_out("multi")])
    parts = spelling.split_cells([text_of(name) for name in labels.names])
    # a row per option of each vote, and one row for an empty set or a missing vote
    of_cells = pl.DataFrame(
        {"cell": range(len(parts)), "set": ["\n".join(sorted({*some})) for some in parts]},
        schema={"cell": pl.Int32, "set": pl.String},
    )
    chosen_of: list[Any] = [some or [None] for some in parts]
    of_cells = of_cells.with_columns(pl.Series("option", chosen_of, dtype=pl.List(pl.String)))
    codes = {"task": tasks.codes, "annotator": annotators.codes, "cell": labels.codes}
    rows = pl.DataFrame(codes).join(of_cells, on="cell", how="left", maintain_order="left")
    chosen = rows.with_row_index("row").explode("option")
    rules = options.classes, options.normalise, options.alias or {}
    written, findings = spelling.unify(Spellings(encode(chosen["option"]), []), *rules, False)

    def where(vote: int) -> str:
        return long.where(int(chosen["row"][vote]))

    coded, _, classes = spelling.encode_classes(written.labels, [], options.classes, False, where)
    names = [text_of(name) for name in classes]
    label = pl.Series("label", coded)
    is_nothing = (label == MISSING) & chosen["set"].is_not_null()
    # Without rows that lack a task or an annotator, and options that an annotator chose twice for a
    # task.
    is_whole = (pl.col("task") != MISSING) & (pl.col("annotator") != MISSING)
    votes = chosen.with_columns(label.set(is_nothing, len(names))).filter(is_whole)
    votes = votes.select(*IDS, "label").unique().sort(*IDS, "label")
    by_task, by_annotator, by_label = (votes[name].to_numpy() for name in (*IDS, "label"))
    known = (tasks.names, annotators.names, [*names, ""])
    annotations = Annotations.from_codes(by_task, by_annotator, by_label, *known, repeated="all")
    answers = rows.filter(is_whole, pl.col("set").is_not_null())
    n_distinct, n_answers = (
        answers.n_unique(names) if len(answers) else 0 for names in ([*IDS, "set"], [*IDS])
    )
    if n_joined := n_distinct - n_answers:
        text = (
            f"rows of one annotator on one task are one answer: {n_joined:,} of {len(rows):,}"
            " joined an earlier row"
        )
        # a usual layout
        is_row_per_option = all(len(some) < 2 for some in parts)
        findings = [*findings, Finding("joined", text, is_silent=is_row_per_option)]
    counts = Counts(len(rows), rows["set"].null_count(), len(answers) - n_distinct)
    annotations = replace(annotations, counts=counts, multi=True)
    if truth:
        annotations, unused = truths.add_gold_sets(annotations, truth)
        findings = findings + unused
    return annotations, findings
