"""Long, wide and transposed tables -> Annotations. All of them, and exports, end in `assemble`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError, Placeholder, leave_out, use
from finegold.io import columns as roles
from finegold.io.options import ReadOptions
from finegold.io.tables import Table, lists_as_text
from finegold.io.truth import (
    Truth,
    add_gold_sets,
    find_shifted_truths,
    find_unused_gold,
    find_unvoted_gold,
    gold_codes,
    gold_column,
    gold_truth,
)
from finegold.kernels import sort_votes
from finegold.system.memory import limit, remedy_of
from finegold.votes import encoding
from finegold.votes.annotations import Annotations, Counts
from finegold.votes.encoding import MISSING, Coded, Codes, Names, text_of, to_list
from finegold.votes.frames import names_like
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
    separator_of,
    unify,
    unify_ids,
)

# that a column of labels may hold
MAX_CLASSES = 10_000

# describes a row, or a cell
Where = Callable[[int], str]


class Labels(NamedTuple):
    """The labels that are votes."""

    coded: Coded
    are_sets: bool
    # what was noticed in them
    findings: list[Finding]
    # words that mean "no vote" and how often each occurs
    no_vote: dict[str, int]


def read_labels(
    cells: Coded,
    options: ReadOptions,
    findings: Sequence[Finding],
    *,
    is_wide: bool = False,
    of_export: bool = False,
) -> Labels:
    """Return the cells that are votes, and whether they are sets. Report words that may be classes,
    or no votes.
    """
    labels = drop_missing(cells, options.no_vote)
    words = count_no_votes(cells, labels) if len(labels.names) < len(cells.names) else {}
    noticed, are_sets, sets = list(findings), bool(options.multi), None
    if options.multi is None:
        texts = [text_of(name) for name in labels.names]
        if hold_sets(texts, sort_votes.count(labels.codes, len(texts)), of_export=of_export):
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
            if are_sets or of_export:
                counts.pop(NOTHING, None)
            noticed += find_doubtful_labels(counts, words, is_wide)
    return Labels(labels, are_sets, [*noticed, sets] if sets else noticed, words)


def assemble(
    tasks: Coded,
    annotators: Coded,
    labels: Labels,
    truth: Truth | None,
    options: ReadOptions,
    is_text: bool,
    where: Where,
) -> Annotations:
    """Build Annotations with one list of classes. Rows that hold nothing are left out and counted."""
    tasks, annotators, more = unify_ids(tasks, annotators, options.normalise, is_text)
    alias = options.alias.class_of if options.alias else {}
    findings, column = [*labels.findings, *more], labels.coded.names.values.name
    # findings are added below
    hygiene = Hygiene(findings, labels.no_vote, column, options.normalise, alias)
    if labels.are_sets:
        annotations, more = _assemble_sets(tasks, annotators, labels.coded, options, where)
        findings += more
        if truth:
            annotations, unused = add_gold_sets(annotations, truth)
            findings += unused
        return replace(annotations, hygiene=hygiene)
    truths = to_list(truth.truth) if truth else []
    written, more = unify(
        Spellings(labels.coded, truths), options.classes, options.normalise, options.alias
    )
    findings += more
    coded, truth_codes, classes = encode_classes(
        written.labels, written.truths, options.classes, is_text, where
    )
    codes, left_out = [tasks.take_codes(), annotators.take_codes(), coded], 0
    del coded
    # they may hold the same codes
    for other in (labels.coded, written.labels):
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
        findings += find_shifted_truths(annotations, annotations.gold, annotations.class_names)
        findings += find_unvoted_gold(
            written.truths, written.labels.names if options.classes is None else classes
        )
    findings += examine_votes(annotations, options.repeated)
    return replace(annotations, hygiene=hygiene)


def refuse_lost_ids(labels: Codes, where: Where, **ids_of: Codes) -> None:
    """Refuse a label without a task or an annotator: it is a mistake in the file."""
    for role, ids in ids_of.items():
        if (
            ids.size
            and ids.min() == MISSING
            and (lost := np.flatnonzero((ids == MISSING) & (labels != MISSING))).size
        ):
            like_that = f" ({lost.size:,} rows are like that)" if lost.size > 1 else ""
            remedy = use(text=f"fill in the {role} or remove the row{like_that}")
            raise InputError(f"there is a label but no {role}", where(int(lost[0])), [remedy])


def count_more(annotations: Annotations, rows: int, missing: int) -> Annotations:
    counts = annotations.counts
    return replace(
        annotations,
        counts=replace(counts, rows=counts.rows + rows, missing=counts.missing + missing),
    )


def _with_columns(
    annotations: Annotations, opened: Table, task: Any, annotator: Any
) -> Annotations:
    """Keep what the user calls tasks and annotators, where columns have names."""
    if any(not source.header for source in opened.sources):
        return annotations
    known = zip((task, annotator), annotations.columns, strict=True)
    names = [name if isinstance(name, str) and name.strip() else usual for name, usual in known]
    return replace(annotations, columns=(names[0], names[1]))


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
    words = sorted({option for some in parts for option in some})
    code_of = {name: code for code, name in enumerate(words)}
    # A row per option of each vote, and one row for an empty set or a missing vote (the last part,
    # for MISSING).
    codes = [[code_of[option] for option in some] or [MISSING] for some in [*parts, []]]
    lengths = np.array([len(some) for some in codes])
    first, length = np.cumsum(lengths) - lengths, lengths[labels.codes]
    row = np.repeat(np.arange(len(length)), length)
    within_cell = np.arange(len(row)) - np.repeat(np.cumsum(length) - length, length)
    flat = np.array([code for some in codes for code in some], dtype=np.int32)
    option = Coded(
        flat[first[labels.codes[row]] + within_cell], Names(pl.Series(words, dtype=pl.String))
    )
    written, findings = unify(
        Spellings(option, []), options.classes, options.normalise, options.alias
    )
    coded, _, classes = encode_classes(
        written.labels, [], options.classes, False, lambda vote: where(int(row[vote]))
    )
    names = [text_of(name) for name in classes]
    is_nothing = (coded == MISSING) & (labels.codes[row] != MISSING)
    label = np.where(is_nothing, np.int32(len(names)), coded).astype(np.int32)
    # Without rows that lack a task or an annotator, and options that an annotator chose twice for a
    # task.
    votes = np.stack([tasks.codes[row], annotators.codes[row], label])
    votes = votes[:, (votes[:2] != MISSING).all(axis=0)]
    votes = votes[:, np.lexsort(votes[::-1])]
    votes = votes[:, (np.diff(votes, axis=1, prepend=MISSING - 1) != 0).any(axis=0)]
    ids = (tasks.names, annotators.names, [*names, ""])
    annotations = Annotations.from_codes(votes[0], votes[1], votes[2], *ids, repeated="all")
    sets: dict[frozenset[str], int] = {}
    # of each cell
    set_of = np.array([*(sets.setdefault(frozenset(some), len(sets)) for some in parts), MISSING])
    rows = pl.DataFrame(
        {"task": tasks.codes, "annotator": annotators.codes, "set": set_of[labels.codes]}
    )
    answers = rows.filter(pl.all_horizontal(pl.all() != MISSING))
    n_missing, n_distinct = int((labels.codes == MISSING).sum()), answers.n_unique()
    if n_joined := n_distinct - answers.n_unique(["task", "annotator"]):
        text = (
            f"rows of one annotator on one task are one answer: {n_joined:,} of {len(rows):,}"
            " joined an earlier row"
        )
        # a usual layout
        is_row_per_option = all(len(some) < 2 for some in parts)
        findings = [*findings, Finding("joined", text, is_silent=is_row_per_option)]
    counts = Counts(len(rows), n_missing, len(answers) - n_distinct)
    return replace(annotations, counts=counts, multi=True), findings


# Long tables: a row per vote


def read_long(opened: Table, options: ReadOptions) -> Annotations:
    with roles.columns_of(opened):
        gold = None if options.gold is None else gold_column(options.gold, opened.columns)
        free = [column for column in opened.columns if column != gold]
        names = {
            roles.TASK: options.task,
            roles.ANNOTATOR: options.annotator,
            roles.LABEL: options.label,
        }
        by_task, by_annotator, by_label = roles.find_columns(free, names)
    values = [column for column in (by_label, gold) if column is not None]
    for column in () if opened.is_text or options.multi is False else values:
        opened = lists_as_text(opened, column)
    table = opened.encode([by_task, by_annotator], values, options.watch)
    tasks, annotators = table.ids(by_task), table.ids(by_annotator)
    labels = read_labels(table.values(by_label), options, table.findings)
    n_classes = len(labels.coded.names)
    # the column probably holds texts or ids
    if not labels.are_sets and n_classes > (most := limit("CLASSES", MAX_CLASSES)):
        problem = (
            f'{opened.name} has {n_classes:,} classes in the column "{by_label}", more than'
            f" {most:,}"
        )
        remedies = [use(label=Placeholder("NAME"), text="to name the column of the labels")]
        raise InputError(
            f"{problem}, which is the limit", "", [*remedies, use(text=remedy_of("CLASSES"))]
        )
    refuse_lost_ids(labels.coded.codes, table.where, task=tasks.codes, annotator=annotators.codes)
    truth = (
        None
        if options.gold is None
        else gold_truth(table, tasks, gold, options.gold, options.no_vote)
    )
    annotations = assemble(tasks, annotators, labels, truth, options, table.is_text, table.where)
    return _with_columns(annotations, opened, by_task, by_annotator)


# Wide tables (a row per task and a column per annotator) and transposed ones (a row per annotator,
# a column per task)

TIMES = frozenset(
    ["timestamp", "starttime", "completiontime", "lastmodifiedtime", "submittedat", "submitdate"]
)


def read_wide(opened: Table, options: ReadOptions, is_transposed: bool = False) -> Annotations:
    """Rows are named by their column (or by a pandas index), else by their number, from 0."""
    # A column of a wide table called gold or truth is not an annotator, and neither is such a row
    # of a transposed one; they are used only if `gold` asks for them.
    findings: list[Finding] = []
    with roles.columns_of(opened):
        gold = None if is_transposed else gold_column(options.gold, opened.columns)
        role, name = (
            (roles.RESPONDENT, options.annotator)
            if is_transposed
            else (roles.WIDE_TASK, options.task)
        )
        by_row = roles.find_column(
            [column for column in opened.columns if column != gold], role, name
        )
        # pandas users keep their ids in the index
        if by_row is None and opened.frame is not None:
            import narwhals as nw

            index = (
                nw.maybe_get_index(opened.frame) if isinstance(opened.frame, nw.DataFrame) else None
            )
            if index is not None and type(index).__name__ != "RangeIndex" and index.nlevels == 1:
                native = opened.frame.to_native().reset_index()
                opened = replace(opened, frame=nw.from_native(native), columns=list(native.columns))
                by_row = native.columns[0]
        if is_transposed:
            columns = _task_columns(opened.columns, options.task, by_row)
        elif options.annotator is not None:
            wanted = (
                [options.annotator] if isinstance(options.annotator, str) else options.annotator
            )
            columns = [roles.named_column(opened.columns, name, roles.ANNOTATOR) for name in wanted]
        else:
            others = {by_row, gold, *roles.candidates(opened.columns, roles.TRUTH)}
            columns = [column for column in opened.columns if column not in others]
        if not columns:
            raise InputError(
                f"no column is left for an annotator among {', '.join(map(str, opened.columns))}"
            )
        table = opened.load(
            [column for column in [by_row, *columns, gold] if column is not None], [by_row]
        )
        # row numbers, ids and texts are left aside
        if not is_transposed and options.annotator is None:
            every, columns = columns, roles.voting_columns(table, columns, by_row)
            voting = set(columns)
            aside = [column for column in every if column not in voting]
            people = [
                column for column in every if roles.bare_name(column) in roles.ANNOTATOR.words
            ]
            has_labels = any(roles.bare_name(column) in roles.LABEL.words for column in every)
            # annotators would become votes
            if people and (has_labels or people[0] in aside):
                problem = (
                    f"the column {roles.list_names(people[:1])} names annotators, so this is not a"
                    " wide table"
                )
                raise InputError(
                    problem,
                    remedies=[leave_out("layout", when="" if has_labels else "if a row is a vote")],
                )
            if not columns:
                raise InputError(
                    f"no column is left for an annotator; {roles.list_names(aside)} hold ids or"
                    " texts"
                )
            findings = roles.report_columns_aside(opened.name, False, columns, aside)
    n_rows, like = len(table.rows[columns[0]]), table.rows[columns[0]]
    rows = (
        encoding.encode_series(names_like(range(n_rows), like))
        if by_row is None
        else table.ids(by_row)
    )
    names = encoding.encode_series(names_like(columns, like))
    names = encoding.integer_names(names) if table.is_text else names
    cells, row, column = _cells_of(table, columns)
    labels = read_labels(cells, options, [*findings, *table.findings], is_wide=True)

    def where(cell: int) -> str:
        return f'{table.where(int(row[cell]))}, column "{columns[column[cell]]}"'

    refuse_lost_ids(labels.coded.codes, where, **{role.name: rows.codes[row]})
    of_rows, of_columns = (
        Coded(rows.codes[row], rows.names),
        Coded(names.codes[column], names.names),
    )
    truth_rows: list[int] = []
    tasks, task, who = (
        (names, of_columns, of_rows) if is_transposed else (rows, of_rows, of_columns)
    )
    has_truth_row = is_transposed and options.gold is True
    truth = None if has_truth_row else gold_truth(table, tasks, gold, options.gold, options.no_vote)
    if is_transposed:
        truths = roles.TRUTH.words
        truth_rows = [
            code for code, name in enumerate(to_list(rows.names)) if roles.bare_name(name) in truths
        ]
        is_truth = np.isin(who.codes, truth_rows)
        if has_truth_row:
            known = np.flatnonzero(is_truth & (labels.coded.codes != MISSING))
            if not known.size:
                remedies = [use(gold=Placeholder("FILE"), text="to give a file of truths")]
                raise InputError(
                    f"{opened.name} has no row called gold or truth", remedies=remedies
                )
            truth = Truth(
                tasks.names[task.codes[known]], labels.coded.names[labels.coded.codes[known]]
            )
        votes_only = Coded(
            np.where(is_truth, np.int32(MISSING), labels.coded.codes), labels.coded.names
        )
        labels = labels._replace(coded=votes_only)
    # One missing vote for each task without any, so that it is listed as unlabelled.
    has_vote = labels.coded.codes != MISSING
    unlabelled = np.setdiff1d(tasks.codes[tasks.codes != MISSING], task.codes[has_vote])
    nobody = np.zeros(len(unlabelled), np.int32)
    task, who, votes = (
        Coded(np.concatenate([column.codes[has_vote], more]), column.names)
        for column, more in (
            (task, unlabelled),
            (who, nobody),
            (labels.coded, nobody + np.int32(MISSING)),
        )
    )
    annotations = assemble(
        task, who, labels._replace(coded=votes), truth, options, table.is_text, where
    )
    # Every cell counts as a row.
    n_people = int((~np.isin(rows.codes, truth_rows)).sum()) if is_transposed else len(columns)
    n_tasks = len(columns) if is_transposed else n_rows
    counts, n_cells = annotations.counts, n_people * n_tasks
    counts = replace(counts, rows=n_cells, missing=n_cells - (counts.rows - counts.missing))
    silent = annotations.never_voted
    if truth_rows:
        silent = silent[
            np.flatnonzero(
                [roles.bare_name(name) not in roles.TRUTH.words for name in to_list(silent)]
            )
        ]
    annotations = replace(annotations, counts=counts, never_voted=silent)
    return _with_columns(
        annotations, opened, *((None, by_row) if is_transposed else (by_row, None))
    )


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
            if column not in others and roles.bare_name(column) not in TIMES
        ]
    else:
        patterns = [pattern.strip() for pattern in tasks.split(",")]
        fitting = [
            column
            for column in columns
            if any(fnmatchcase(str(column), pattern) for pattern in patterns)
        ]
        fitting = [column for column in fitting if column != by_annotator]
    if not fitting:
        that_fits = "" if tasks is None else f" that fits {tasks}"
        raise InputError(
            f"there is no column of a task{that_fits} among {', '.join(map(str, columns))}"
        )
    return fitting


def _cells_of(
    table: Table, columns: list[Any]
) -> tuple[Coded, NDArray[np.int32], NDArray[np.int32]]:
    """Return the labels of all cells that are not null, column by column, with their rows and
    columns.
    """
    parts = [encoding.encode_series(table.rows[column]) for column in columns]
    lists = [part.names for part in parts if len(part.names)] or [parts[0].names]
    if len({str(each.values.dtype) for each in lists}) == 1:
        labels = Names(pl.concat([each.values for each in lists]), lists[0].like)
    else:
        # integers where blanks made floats of some, or text
        labels = lists[0].of([name for each in lists for name in each])
    names = encoding.encode_series(labels)
    first = np.cumsum([0] + [len(part.names) for part in parts])
    rows = [np.flatnonzero(part.codes != MISSING).astype(np.int32) for part in parts]
    codes = [
        encoding.renumber(part.codes[row], names.codes[start : start + len(part.names)])
        for part, row, start in zip(parts, rows, first[:-1], strict=True)
    ]
    column = np.repeat(np.arange(len(columns), dtype=np.int32), [len(row) for row in rows])
    return Coded(np.concatenate(codes), names.names), np.concatenate(rows), column
