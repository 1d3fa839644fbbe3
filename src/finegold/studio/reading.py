"""Preview a file, guess the roles of its columns, and read its votes with the columns that the user chose.

The request model is made from the options of the reader (`finegold.io.options`), with what only the studio asks for.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from finegold.errors import FinegoldWarning, InputError, Placeholder, Remedy
from finegold.insight.judges.answers import merge, whole
from finegold.io.columns import ANNOTATOR, LABEL, TASK, candidates, guess_shape
from finegold.io.exports import find_export
from finegold.io.exports.base import Export, ExportOptions
from finegold.io.judge_logs import JudgeLog, find_judge_logs, read_judge_log
from finegold.io.options import TEXT, ReadOptions
from finegold.io.read import read
from finegold.io.source import (
    Source,
    check_unpacked,
    is_workbook,
    reading,
    sheet_text,
    sources_of,
    with_dialect,
)
from finegold.io.tables import open_sources
from finegold.io.truth import GoldColumn
from finegold.io.verdicts import LogReading
from finegold.io.workbooks import find_sheets
from finegold.io.writeback import TOOLS
from finegold.options import options_of
from finegold.studio.problems import rename_files, words_of
from finegold.votes.annotations import Annotations

JUDGE_EXPORTS = (
    "mt-bench",
    "judgebench",
    "arena",
    "alpaca-eval",
)  # exports whose records are verdicts on pairs
SHOWN_ROWS = 12
SHOWN_CHARACTERS = 200  # of each value in the preview
MAX_LENGTH = 10_000  # of a text, a list or a table in a request
LEAST_NEAR, LONG_NAME = 5, 10  # letters of names that may be misspelled: by one letter, or by two
PREVIEWED_BATCHES = 8  # of an export, to list its questions

OPTIONS = options_of(ReadOptions, "studio")
DIALECT = [
    name for name, option in OPTIONS.items() if option.group == TEXT
]  # options of text files
JUDGE_OPTIONS = [
    name for name in options_of(LogReading) if name not in ("item", "judge", "verdict")
]  # of other fields
DEFAULTS = {
    field.name: field.default
    for declared in (ReadOptions, LogReading)
    for field in fields(declared)
}


def _model_of(names: Iterable[str], base: Any = BaseModel) -> Any:
    """Return a request model with these options of the reader: their types, limits and descriptions."""
    declared: dict[str, Any] = {}
    for name in names:
        option = (OPTIONS | options_of(LogReading))[name]
        default: Any = DEFAULTS[name]
        limits: dict[str, Any] = {}
        if option.kind in ("flag", "switch"):
            kind: Any = bool if option.kind == "flag" else bool | None
        elif option.kind == "number":
            kind, limits = (
                int if default is not None else int | None,
                {"ge": option.low, "le": option.high},
            )
            default = None if default is None else int(default)
        elif option.kind == "choice":
            kind = (
                Literal[option.choices] if default is not None else Literal[option.choices] | None
            )
        else:  # a table of two columns comes as JSON
            kind = {"list": list[str] | None, "path": dict[str, str] | None}.get(
                option.kind, str | None
            )
            limits, default = {"max_length": MAX_LENGTH}, None
        declared[name] = (kind, Field(default=default, description=option.help, **limits))
    return create_model("Declared", __base__=base, **declared)


# the format of a file that is no export, whatever it looks like
TABLE = "table"


# mypy does not see the declared fields
class Layout(_model_of([*DIALECT, "format"])):  # type: ignore[misc]
    """How a file is written. What is not given is found."""

    model_config = ConfigDict(extra="forbid")

    sheet: str | None = Field(default=None, max_length=200, description="The sheet of a workbook.")


class JudgeColumns(_model_of(JUDGE_OPTIONS)):  # type: ignore[misc]
    """How to read a judge log, besides its items, judges and verdicts. Columns are found by their usual names."""

    model_config = ConfigDict(extra="forbid")


class Reading(_model_of([name for name in OPTIONS if name not in Layout.model_fields], Layout)):  # type: ignore[misc]
    """How to read a file. Columns that are not given are guessed from their names."""

    shape: Literal["long", "wide", "transposed", "judges"] = Field(
        default="long",
        description="Whether a row is a vote, a task (wide), an annotator (transposed) or a call of an LLM judge.",
    )
    judges: JudgeColumns | None = Field(
        default=None, description="How to read a log of LLM judges."
    )
    columns: list[str] | None = Field(
        default=None, description="The columns with votes in a wide or transposed table."
    )
    gold: str | None = Field(default=None, description="A column with known truths.")
    gold_marks: bool = Field(
        default=False, description="Whether to use the gold marks of an export."
    )
    one_annotator: str | None = Field(
        default=None,
        max_length=200,
        description="Who gave all votes of a table without a column of annotators.",
    )
    people: dict[str, str] | None = Field(
        default=None, description="Spellings of annotators' names, and whom each means."
    )


def choices_of(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return options of Python as choices of the form; None if the form does not have them."""
    choices: dict[str, Any] = dict(options)
    choices |= {
        name: [*map(str, each)] for name, each in options.items() if isinstance(each, list | tuple)
    }
    if "layout" in choices:
        shape = choices["shape"] = choices.pop("layout") or "long"
        votes = "task" if shape == "transposed" else "annotator"
        choices["columns"] = choices.pop(votes, None)
    if isinstance(choices.get("columns"), str):
        choices["columns"] = choices["columns"].split(",")
    if not choices.keys() <= Reading.model_fields.keys():
        return None
    left_out = {
        name: Reading.model_fields[name].default for name, value in choices.items() if value is None
    }
    with suppress(ValidationError):
        valid: dict[str, Any] = Reading.model_validate(choices | left_out).model_dump(
            include=choices.keys()
        )
        return valid
    return None


def title_of(option: str) -> str:
    return {"alias": "Spellings", "header": "Names of the columns"}.get(option) or option.replace(
        "_", " "
    ).capitalize()


def advice_on(remedies: Iterable[Remedy]) -> list[dict[str, Any]]:
    """Return remedies that the form has, as the page shows them: words, and choices if all values are known."""
    advice = []
    for remedy in remedies:
        action, choices = "" if remedy.options else remedy.text, choices_of(remedy.options)
        if any(isinstance(value, Placeholder) for value in remedy.options.values()):
            action = f"choose {' and '.join(f'“{title_of(name)}”' for name in remedy.options)}, then read again"
            choices = {} if remedy.options.keys() <= OPTIONS.keys() else None
        if choices is not None:
            words = ", ".join(part for part in (remedy.when, action) if part)
            advice.append({"words": words, "choices": choices or None})
    return advice


def choices_that_repair(error: object) -> dict[str, Any] | None:
    """Return the choices that apply an error's first remedy for which this is possible; None if there is none."""
    remedies = [remedy for remedy in getattr(error, "remedies", ()) if remedy.can_be_pasted]
    return next((choices for remedy in remedies if (choices := choices_of(remedy.options))), None)


class Question(BaseModel):
    name: str
    n_votes: int


class Preview(BaseModel):
    """The first rows of a file, its format and the guessed columns."""

    file: str
    format: str
    is_export: bool
    columns: list[str]
    rows: list[list[str | None]]
    guess: Reading
    open: list[str]
    questions: list[Question] = []
    includes: list[str] = []
    writes_back: bool = False
    is_judge_log: bool = False
    has_gold: bool = False
    sheets: list[str] = []
    problem: str | None = None
    repair: dict[str, Any] | None = None


def preview(path: Path, layout: Layout) -> Preview:
    """Return the first rows of a file and a guess of how to read it, or what is wrong with it."""
    source, sheets = Source(path.name, path), list[str]()
    with suppress(InputError, OSError):
        sheets = find_sheets(source.name, source.data) if is_workbook(source) else []
    try:
        sources = find_sources(path, layout)
        export = find_tool(sources, layout)
        seen = (
            _preview_table(path, sources)
            if export is None
            else _preview_export(path.name, export, sources[0])
        )
    except InputError as error:
        error = rename_files(error, {f"{path.parent}{os.sep}": ""})
        seen = {"problem": words_of(error), "repair": choices_that_repair(error)}
    guess = seen.pop("guess", Reading()).model_copy(
        update=layout.model_dump(include=set(Layout.model_fields))
    )
    nothing: dict[str, Any] = {
        "format": "",
        "is_export": False,
        "columns": [],
        "rows": [],
        "open": [],
    }
    return Preview(file=path.name, guess=guess, sheets=sheets, **nothing | seen)


def find_sources(path: Path, layout: Layout) -> list[Source]:
    """Return the file, or the chosen sheet of it, to be read as the layout says."""
    sources = sources_of(str(path)) if layout.sheet is None else [Source(str(path), path)]
    if layout.sheet is not None:  # its name is never part of a path
        check_unpacked(sources[0])
        if not is_workbook(sources[0]):
            raise InputError(
                "it is not a workbook, so it has no sheets; leave the sheet out", str(path)
            )
        sources = [sheet_text(sources[0], layout.sheet)]
    written: list[Source] = with_dialect(sources, layout.encoding, layout.separator, layout.header)
    return written


def find_tool(sources: list[Source], layout: Layout) -> Export | None:
    if layout.format == TABLE:
        return None
    return find_export(sources, layout.format, may_be_table=layout.header == 0)


def _preview_table(path: Path, sources: list[Source]) -> dict[str, Any]:
    """Guess the column of each role by its name, unless the values show that a row holds several votes."""
    opened = open_sources(sources)
    columns = [str(column) for column in opened.columns]
    with reading(opened.sources[0]):
        head = opened.scans[0].head(SHOWN_ROWS).collect()
    log, unknown = guess_log(head), []
    shape = guess_shape(opened, None) if log is None else None
    if log is not None:
        guess = Reading(shape="judges", **log)
    elif shape is not None and not shape.doubt:
        rows_are, names = ("transposed", "annotator") if shape.is_transposed else ("wide", "task")
        guess = Reading.model_validate(
            {"shape": rows_are, names: shape.ids, "columns": shape.votes}
        )
    else:
        roles: dict[str, Any] = {}
        for role in (TASK, ANNOTATOR, LABEL):
            free = [column for column in columns if column not in roles.values()]
            roles[role.name] = next(iter(candidates(free, role)), None)
        guess, unknown = (
            Reading(**roles),
            [name for name, column in roles.items() if column is None],
        )
    kind = (
        "Excel sheet"
        if is_workbook(Source(path.name, path))
        else f"{opened.sources[0].format.upper()} table"
    )
    preview = {
        "format": kind,
        "columns": columns,
        "rows": _texts(head),
        "guess": guess,
        "open": unknown,
    }
    return preview | {"is_judge_log": log is not None}


def near_spellings(labels: Iterable[str], classes: Sequence[str]) -> dict[str, str]:
    """Return labels that look like a misspelled class, and that class, such as hatefull and hateful."""
    # They differ in one letter, or in two if they are long; short ones and those with digits may well be classes.

    def is_near(a: str, b: str, most: int) -> bool:
        """Return whether a few letters were inserted, left out, replaced or swapped with the next."""
        while a and a[0] == b[:1]:
            a, b = a[1:], b[1:]
        edits = [
            (a[1:], b),
            (a, b[1:]),
            (a[1:], b[1:]),
            *([(a[2:], b[2:])] if a[:2] == b[1::-1] else []),
        ]
        return a == b or (most > 0 and any(is_near(*rest, most - 1) for rest in edits))

    def may_be(label: str, name: str) -> bool:
        length = min(len(label), len(name))
        if length < LEAST_NEAR or label == name or any(mark.isdigit() for mark in label + name):
            return False
        return is_near(label.casefold(), name.casefold(), 1 if length < LONG_NAME else 2)

    near = {label: [name for name in classes if may_be(label, name)] for label in labels}
    return {label: names[0] for label, names in near.items() if len(names) == 1}


def read_votes(path: Path, options: Reading, watch: Callable[[Any], None]) -> Annotations:
    """Read the votes of a file. `watch` is called with the progress."""
    if options.shape == "judges":  # the swap is undone, and failed calls are left out
        log = read_log(path, options)
        for note in log.notes:
            warnings.warn(note, FinegoldWarning, stacklevel=2)
        answers = whole(log, merge(log))
        if answers is None:
            problem = "no judge gives the same answer in both orders to any item, so there is nothing to label by"
            raise InputError(problem)
        left_out = {"calls that failed": log.n_failed} if log.n_failed else {}
        return replace(
            answers, counts=replace(answers.counts, rows=log.n_verdicts, left_out=left_out)
        )
    # sources have their dialect
    given = options.model_dump(include=OPTIONS.keys() - set(DIALECT), exclude_none=True)
    given["multi"] = options.multi
    if given.get("format") == TABLE:
        given |= {"format": None, "layout": "long"}
    if options.shape == "wide":
        given |= {"layout": "wide", "annotator": options.columns, "label": None}
    elif options.shape == "transposed":
        given |= {"layout": "transposed", "task": options.columns, "label": None}
    gold: Any = True if options.gold_marks else None
    gold = gold if options.gold is None else GoldColumn(options.gold)
    source: Any = find_sources(path, options)
    if options.one_annotator and options.shape == "long":
        opened = open_sources(source)
        given["annotator"] = "annotator"
        who = pl.lit(options.one_annotator).alias("annotator")
        with reading(opened.sources[0]):
            source = opened.scans[0].with_columns(who).collect()
    return read(source, watch=watch, gold=gold, **given)


def _preview_export(file: str, export: Export, seen: Source) -> dict[str, Any]:
    batches = list(islice(export.read(seen, ExportOptions()), PREVIEWED_BATCHES))
    if not batches:
        raise InputError(f"{file} ({export.title} export) holds no votes; {export.remedy}")
    votes = pl.concat(batches, how="diagonal")
    shown: list[str] = [
        name for name in ("task", "annotator", "label", "question") if name in votes.columns
    ]
    questions = []
    if "question" in shown:  # the one with the most votes first
        counts = votes.get_column("question").drop_nulls().value_counts(sort=True)
        questions = [Question(name=str(name), n_votes=count) for name, count in counts.iter_rows()]
    is_log = export.name in JUDGE_EXPORTS
    question = questions[0].name if len(questions) > 1 else None
    return {
        "format": f"{export.title} export",
        "is_export": True,
        "columns": shown,
        "rows": _texts(votes.select(shown).head(SHOWN_ROWS)),
        "guess": Reading(shape="judges" if is_log else "long", question=question),
        "questions": questions,
        "includes": list(export.include),
        "has_gold": export.has_gold,
        "writes_back": export.name in TOOLS,
        "is_judge_log": is_log,
    }


def _texts(head: pl.DataFrame) -> list[list[str | None]]:
    return [
        [None if value is None else str(value)[:SHOWN_CHARACTERS] for value in row]
        for row in head.iter_rows()
    ]


def guess_log(head: pl.DataFrame) -> dict[str, Any] | None:
    """Return the columns of tasks, annotators and labels if these first rows are of a judge log, otherwise None."""
    try:
        logs = find_judge_logs(head, gold=None)
    except InputError:
        return None
    roles = next(iter(logs.values())).reading.roles if logs else {}
    names = {"task": "item", "annotator": "judge", "label": "verdict"}
    found = {name: roles[role].columns for name, role in names.items() if role in roles}
    return {
        name: ",".join(each) for name, each in found.items() if set(each) <= set(head.columns)
    } or None


def read_log(path: Path, options: Reading) -> JudgeLog:
    more = options.judges or JudgeColumns()
    named = {
        "item": options.task,
        "judge": options.annotator,
        "verdict": options.label,
        "gold": options.gold,
    }
    return read_judge_log(str(path), **named, **more.model_dump())
