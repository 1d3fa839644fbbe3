"""`read`: files, data frames and databases -> Annotations. All checks of the input happen on this
way, once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Any, Unpack

from finegold.errors import InputError, Placeholder, leave_out, use
from finegold.io.columns import (
    ANNOTATOR,
    LABEL,
    TASK,
    LostColumnsError,
    candidates,
    guess_shape,
    report_columns_aside,
)
from finegold.io.databases import is_database, read_query
from finegold.io.diagnosis import explain_lost_columns
from finegold.io.exports import ALL, find_export
from finegold.io.exports.marks import add_nested_hint, refuse_one_object
from finegold.io.long import read_cells, read_counts, read_long
from finegold.io.options import Reading, ReadOptions
from finegold.io.source import READABLE, Source, is_files, sources_of, with_dialect
from finegold.io.tables import Table, WatchReading, open_sources, open_table
from finegold.io.truth import GoldColumn, as_texts, with_gold
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import listed, text_of
from finegold.votes.hygiene import Finding, Hygiene, warn_of, warn_of_lost_votes
from finegold.votes.labels import is_missing

# Of a table without a header whose values look like votes in this order.
PLAIN_COLUMNS: dict[str, Any] = {"task": "1", "annotator": "2", "label": "3"}
MANY_FIELDS = 1_000
ENDINGS = re.compile(f"({'|'.join(map(re.escape, READABLE))})+$", re.IGNORECASE)
PLAIN = "its columns are taken as task, annotator and label, in this order"


def read(
    votes: Any, *, gold: Any = None, watch: WatchReading | None = None, **reading: Unpack[Reading]
) -> Annotations:
    """Read votes from any source.

    Args:
        votes (path, data frame, rows, columns, Annotations or address of a database): A path,
            several paths, a pattern or a folder; "-" for standard input, or a binary stream; any
            data frame that Narwhals knows; a Hugging Face data set, Arrow record batches, an
            iterable of dicts or of tuples (task, annotator, label), a dict of columns, a NumPy
            structured array; postgresql://..., sqlite:///FILE or duckdb:///FILE; or Annotations,
            which come back as they are. Exports of annotation tools are recognised by their
            content.
        gold (path, data frame, mapping, str or bool): Known truths: task -> class; or the name of a
            column of the votes' own table; or True for the column called gold or truth, or for the
            gold marks of an export.
        watch (callable): Is called from time to time with the number of rows that were read so far.
        **reading: How to read the votes: the options of `ReadOptions`. What is not given is found
            out from the file.
        task: The column of the tasks, if its name is not recognised, or several that name them
            together; in an export, the field that identifies tasks; in a transposed table, the
            columns of the tasks ("Q1,Q2_*").
        annotator: The column of the annotators; in a wide table, the columns of the annotators.
        label: The column of the votes; of several columns, each is a question. If an annotator or a
            label column is named, the file is read as a plain table.
        layout: What a row of a plain table is: a vote (long), a task with a column per annotator
            (wide) or with the number of votes for each class (counts), or an annotator with a
            column per task (transposed). Many wide and transposed tables are recognised without it.
        classes: All classes, in this order; any other label is an error.
        ordered: All classes, from the lowest to the highest, instead of `classes`: `Result.scores`
            follows this order.
        missing: Labels that mean "no vote", besides null, NaN and blank, in upper or lower case.
            The default is NA, N/A, #N/A, NaN, None, null, -, ? and {}, except those among
            `classes`. An empty list keeps all of them as classes. -1 is a class unless listed here.
        normalise: Merge labels that differ only in case, spaces, hyphens, accents, Unicode form,
            number format or marks around them into the most frequent spelling, and ids that differ
            only in spaces, case, quotes or number format. Without it, a warning shows them. If
            every label is a number, formats are always merged.
        alias: The class that each spelling of a label means: spelling -> class, or a table with
            these two columns.
        repeated: Which votes count if an annotator votes on a task more than once.
        multi: Whether a vote is a set of labels: a list, or options such as "a;b". The classes are
            then the options. If None, the votes are sets if the cells hold lists, or if most hold
            several options; `read` takes False.
        encoding: The encoding of a text file that is not UTF-8, e.g. latin-1 or cp1252.
        separator: The character between the columns of a text file: one character, or "tab". By
            default, it is found.
        header: The line with the names of the columns, from 1. False or 0 if there is none: columns
            are then "1", "2", ...
        format: The tool that wrote the file, e.g. label-studio, if it is not recognised.
        question: The question to read, if there are several: its name, or in a table COLUMN=NAME,
            where the column tells questions apart. `finegold.read_each` reads all of them.
        include: Also read votes that are left out by default, e.g. predictions, rejected.
        query: The query that returns the votes, e.g. 'SELECT task, annotator, label FROM votes'.

    Returns:
        The votes. `counts` says what was left out, and `hygiene` what looks wrong.

    Raises:
        InputError: If the votes cannot be read; the message names the file, the row and the column.

    Examples:
        >>> import finegold
        >>> import polars as pl
        >>> finegold.read(pl.DataFrame({"task": [1, 1, 2], "worker": ["a", "b", "a"], "label": ["x", "y", "x"]}))
        Annotations(3 votes, 2 tasks, 2 annotators, 2 classes)
        >>> finegold.read(pl.DataFrame({"task": [1, 2], "ann": ["x", "y"], "bob": ["x", None]}), layout="wide")
        Annotations(3 votes, 2 tasks, 2 annotators, 2 classes; left out: 1 row without a label)
    """
    options: dict[str, Any] = {"multi": False, **reading}
    found = read_with(votes, ReadOptions(gold=gold, watch=watch, **options))
    if not isinstance(votes, Annotations):
        warn_of_lost_votes(found)
    return found


def read_with(votes: Any, options: ReadOptions) -> Annotations:
    """Read votes with options as they are declared; `gold` and `watch` are among them."""
    if isinstance(votes, Annotations):
        accepted = {"repeated", "multi"} if votes.multi or not options.multi else {"repeated"}
        if given := [name for name in options.given() if name not in accepted]:
            names = ", ".join(given)
            raise InputError(f"{names} cannot be applied to Annotations, which are read already")
        gold = as_texts(options.gold) if options.multi is not False else options.gold
        return votes if gold is None else with_gold(votes, gold)
    if options.every_question:
        remedy = use(question=Placeholder("NAME"), text="to choose one, or call finegold.read_each")
        raise InputError("several questions give several sets of votes", remedies=[remedy])
    (annotations,) = read_each_with(votes, options).values()
    return annotations


def read_each(
    votes: Any, *, gold: Any = None, watch: WatchReading | None = None, **reading: Unpack[Reading]
) -> dict[str, Annotations]:
    """Read the votes of an export for each of its questions.

    Args:
        votes (path, data frame or Annotations): The votes, as in `finegold.read`.
        gold (path, data frame, mapping, str or bool): Known truths, as in `finegold.read`.
        watch (callable): Is called from time to time with the number of rows that were read so far.
        **reading: How to read the votes, as in `finegold.read`. By default, `question` is "all".

    Returns:
        The votes by the name of the question. A plain table has one question, with the name "".

    Raises:
        InputError: If the votes cannot be read.

    Examples:
        >>> import finegold
        >>> import polars as pl
        >>> finegold.read_each(pl.DataFrame({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]}))
        {'': Annotations(2 votes, 1 tasks, 2 annotators, 2 classes)}
    """
    options: dict[str, Any] = {"question": ALL, "multi": False, **reading}
    return read_each_with(votes, ReadOptions(gold=gold, watch=watch, **options))


def read_each_with(votes: Any, options: ReadOptions) -> dict[str, Annotations]:
    """Read the votes of each question; a table has one, with the name ""."""
    questions = _read(votes, _complete(options))
    warn_of(finding for found in questions.values() for finding in found.hygiene.findings)
    return questions


def _complete(options: ReadOptions) -> ReadOptions:
    """Return the options, with one list of classes and with the alias read."""
    if options.classes is not None and options.ordered is not None:
        remedies = [leave_out("classes"), leave_out("ordered")]
        raise InputError("classes and ordered both list the classes", remedies=remedies)
    classes = options.ordered if options.classes is None else options.classes
    if classes is options.ordered and classes is not None and len([*classes]) < 2:
        raise InputError("ordered needs at least two classes, from the lowest to the highest")
    gold = options.gold if options.multi is False else as_texts(options.gold)
    alias = None if options.alias is None else read_alias(options.alias)
    return replace(options, gold=gold, classes=classes, ordered=None, alias=alias)


def _read(votes: Any, options: ReadOptions) -> dict[str, Annotations]:
    if is_database(votes) or options.query is not None:
        name, rows = read_query(votes, options.query)
        votes = replace(open_table(rows), title=name)
    if options.encoding is not None or options.separator or options.header != 1:
        votes = with_dialect(votes, options.encoding, options.separator, options.header)
    # a stream can be read once
    sources = sources_of(votes) if is_files(votes) else []
    votes = sources or votes
    if (by_criterion := _read_judges(votes, options)) is not None:
        return by_criterion
    if not sources:
        if options.format is not None:
            problem = f"the format {options.format} is one of files; give a path"
            raise InputError(problem, remedies=[leave_out("format")])
        return _read_table(votes if isinstance(votes, Table) else open_table(votes), options)
    is_plain = options.names_columns or any(not source.header for source in sources)
    export = None
    if options.layout is None or options.format is not None:
        export = find_export(sources, options.format, may_be_table=is_plain)
    if export is None:
        # Polars takes long to find the types of so many fields
        for seen in sources:
            if len(seen.record) > MANY_FIELDS:
                refuse_one_object(seen)
        try:
            return _read_table(open_sources(sources), options)
        except InputError as error:
            add_nested_hint(error, sources)
            raise
    if options.names_columns:
        problem = f"an export of {export.title} has no columns to name"
        named = {"label", "annotator", "layout"} & {*options.given()}
        columns: dict[str, Any] = dict.fromkeys(sorted(named))
        without: dict[str, Any] = {} if options.format is None else {"format": None}
        remedies = [use(question=Placeholder("NAME"), **columns), use(layout="long", **without)]
        raise InputError(problem, remedies=remedies)
    from finegold.io.exports.read import read_export

    if len(sources) > 1:
        sources = named_by_file(sources)
    return read_export(export, sources, options)


def _read_judges(votes: Any, options: ReadOptions) -> dict[str, Annotations] | None:
    """Return the votes of a log of LLM judges by criterion; None for anything else."""
    is_plain = options.layout is not None or options.format is not None or options.names_columns
    if is_plain or not _may_be_judges(votes):
        return None
    from finegold.io.judge_logs import as_votes, find_judge_logs

    gold = options.gold if isinstance(options.gold, GoldColumn) else None
    logs = find_judge_logs(votes, gold=gold, item=options.task)
    if logs is None:
        return None
    wanted = options.question if options.question is not None or len(logs) > 1 else ALL
    if wanted not in (ALL, *logs):
        listed = ", ".join(f'"{name}" ({log.n_verdicts:,})' for name, log in logs.items())
        one = use(question=Placeholder("NAME"), text="for one of them")
        every = use(question=ALL, when="where several results can be shown")
        raise InputError(f"the log has {len(logs)} criteria: {listed}", remedies=[one, every])
    columns: dict[str, Any] = {"task": "task", "annotator": "annotator", "label": "label"}
    if has_gold := options.gold is True or gold is not None:
        columns["gold"] = True
    how = replace(options, question=None, layout="long", **columns)
    found = {}
    for name in logs if wanted == ALL else [wanted]:
        frame, finding = as_votes(logs[name])
        table = open_table(frame if has_gold else frame.drop("gold"))
        read_as = _read_table(replace(table, title="the log of judges"), how)[""]
        found[name] = _with_findings(read_as, [finding])
    return found


# in a name of a column of every log of judges, or of a field of a tool's
OF_JUDGES = re.compile(
    r"verdict|decision|winner|prefer|choice|vote|judg|llm|predicted|pick|select|pass|correct|success"
    r"|score|rating|grade|result|games|testcases|spec|event_?id",
    re.IGNORECASE,
)


def _may_be_judges(votes: Any) -> bool:
    """Return whether votes may be a log of judges, without loading what reads such logs."""
    source = sources_of(votes)[0] if is_files(votes) else None
    schema = votes.collect_schema() if hasattr(votes, "collect_schema") else ()
    columns = schema or getattr(votes, "columns", ())
    names = [*source.columns, *source.record] if source else [*columns]
    # lines of query, iteration, passage and score have one column
    return len(names) < 2 or OF_JUDGES.search(" ".join(map(str, names))) is not None


def _read_table(opened: Table, options: ReadOptions) -> dict[str, Annotations]:
    """Return the votes of a plain table by question."""
    layout, given = options.layout, {*options.given()}
    one = f"is of no use, because a {layout} table has one question"
    for name, problem, is_wrong in (
        ("include", "is for exports of annotation tools, but this is a plain table", True),
        ("question", one, layout not in (None, "long") and options.question != ALL),
        ("label", f"names no column of a {layout} table", layout in ("wide", "transposed")),
    ):
        if is_wrong and name in given:
            raise InputError(f"{name} {problem}", opened.name, [leave_out(name)])
    if not isinstance(options.annotator, str | None) and layout != "wide":
        problem = "several annotator columns make a wide table"
        raise InputError(problem, opened.name, [use(layout="wide")])
    if layout == "counts":
        return {"": read_counts(opened, options)}
    if layout in ("wide", "transposed"):
        return {"": read_cells(opened, options, layout == "transposed")}
    shape = None if options.names_columns else guess_shape(opened, options.task)
    if shape is not None:
        findings = report_columns_aside(opened.name, shape.is_transposed, shape.votes, shape.aside)
        columns: dict[str, Any] = {"task": shape.ids, "annotator": shape.votes}
        if shape.is_transposed:
            columns = {"task": shape.votes, "annotator": shape.ids}
        votes = read_cells(opened, replace(options, **columns), shape.is_transposed)
        return {"": _with_findings(votes, findings)}
    findings = []
    if options.annotator is None and len(opened.sources) > 1:
        opened, findings = name_annotators_by_file(opened, options.task, options.label)
    try:
        questions = read_long(opened, options)
    except LostColumnsError as error:
        explained = explain_lost_columns(error, opened)
        is_usual = any(dict(each.options) == PLAIN_COLUMNS for each in explained.remedies)
        if options.header or not is_usual:
            raise explained from None
        questions = read_long(opened, replace(options, **PLAIN_COLUMNS))
        findings.append(Finding("columns", f"{opened.name} has no header; {PLAIN}"))
    for votes in questions.values():
        refuse_parts_of_one_table(opened, votes)
    return {question: _with_findings(votes, findings) for question, votes in questions.items()}


def _with_findings(votes: Annotations, findings: list[Finding]) -> Annotations:
    return replace(votes, hygiene=Hygiene(findings).join(votes.hygiene)) if findings else votes


def read_alias(alias: Any) -> dict[str, Any]:
    """Return the class of each spelling, of a mapping or of a table with two columns."""
    name, pairs = "the alias", list(alias.items()) if isinstance(alias, Mapping) else []
    if not isinstance(alias, Mapping):
        opened = open_table(alias)
        name, names = opened.name, ", ".join(f'"{column}"' for column in opened.columns)
        if len(opened.columns) != 2:
            problem = f"{name} must have two columns, spellings and classes, but has {names}"
            raise InputError(problem)
        # without a header, its first line is a pair as well
        pairs = [*opened.read(opened.columns).iter_rows(), tuple(opened.columns)]
    class_of: dict[str, Any] = {}
    for spelling, meant in pairs:
        if is_missing(meant):
            remedies = [use(text="fill it in"), use(text="remove the row")]
            raise InputError(f"the spelling {spelling!r} has no class", name, remedies)
        known = class_of.setdefault(text_of(spelling), meant)
        if text_of(known) != text_of(meant):
            problem = f"the spelling {spelling!r} means both {known!r} and {meant!r}"
            raise InputError(problem, name, [use(text="keep one of them")])
    return class_of


# A file per annotator


def name_annotators_by_file(opened: Table, task: Any, label: Any) -> tuple[Table, list[Finding]]:
    """Take files with tasks and labels and without annotators for those of one each."""
    columns = opened.columns
    has_votes = (task or candidates(columns, TASK)) and (label or candidates(columns, LABEL))
    sources = named_by_file(opened.sources)
    if not sources[0].annotator or not has_votes or candidates(columns, ANNOTATOR):
        return opened, []
    text = "there is no column of annotators, so each file is taken for one annotator"
    names = listed([source.annotator for source in sources], 5)
    return open_sources(sources), [Finding("files", f"{opened.name}: {text}: {names}")]


def named_by_file(sources: Sequence[Source]) -> list[Source]:
    """Return files with the annotators whose names they have, unless some are called alike."""
    # names without endings; or those of the folders, where all files are called alike
    paths = [PurePath(source.name) for source in sources]
    bare = [ENDINGS.sub("", path.name) for path in paths]
    names = bare if len({*bare}) == len(bare) else [path.parent.name for path in paths]
    if len({*names}) < len(names):
        return [*sources]
    return [replace(file, annotator=name) for file, name in zip(sources, names, strict=True)]


def refuse_parts_of_one_table(opened: Table, votes: Annotations) -> None:
    """Refuse files that turn out to be parts of one table and not those of annotators."""
    if not any(source.annotator for source in opened.sources):
        return
    is_twice = votes.counts.repeated > 0
    if is_twice or votes.n_votes == votes.n_tasks:
        what = "a file has a task more than once" if is_twice else "the files share no task"
        remedies = [use(text="add a column of annotators")]
        remedies.append(use(annotator=Placeholder("NAME"), text="to name it"))
        raise InputError(f"{what}, so they are not one file per annotator", opened.name, remedies)
