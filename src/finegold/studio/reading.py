"""Look at a file, guess the roles of its columns, and read its votes as the user chose.

The request model is made from the options of the reader (`finegold.io.options`), with what only the
studio asks for.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, Field, ValidationError, create_model, field_validator

from finegold.errors import InputError, Placeholder, Remedy, warn_user
from finegold.insight.judges.answers import whole
from finegold.io.columns import ANNOTATOR, LABEL, TASK, candidates, guess_shape
from finegold.io.exports import find_export
from finegold.io.exports.base import Export, ExportOptions
from finegold.io.judge_logs import JudgeLog, find_judge_logs, merge_calls, read_judge_log
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
from finegold.options import options_of
from finegold.studio.problems import rename_files, words_of
from finegold.votes.annotations import Annotations

# exports whose records are verdicts on pairs
JUDGE_EXPORTS = ("mt-bench", "judgebench", "arena", "alpaca-eval")
SHOWN_ROWS = 12
# of each value that is shown
SHOWN_CHARACTERS = 200
# of a text, a list or a table in a request
MAX_LENGTH = 10_000
# letters of names that may be misspelled, and how alike the spellings are
LEAST_NEAR, LEAST_ALIKE = 5, 0.85
# of an export, to list its questions
PREVIEWED_BATCHES = 8
# the format of a file that is no export, whatever it looks like
TABLE = "table"

OPTIONS = options_of(ReadOptions, "studio")
# options of text files
DIALECT = [name for name, option in OPTIONS.items() if option.group == TEXT]
TYPES: dict[str, Any] = {
    "flag": bool,
    "switch": bool | None,
    "number": int | None,
    "list": list[str] | None,
    # a table of two columns comes as JSON
    "path": dict[str, str] | None,
}
TITLES = {"alias": "Spellings", "header": "Names of the columns"}


def _declared(names: Iterable[str]) -> dict[str, Any]:
    """Return these options of the reader as fields of a model: types, limits and descriptions."""
    defaults = {field.name: field.default for field in fields(ReadOptions)}
    found: dict[str, Any] = {}
    for name in names:
        option, default = OPTIONS[name], defaults[name]
        limits: dict[str, Any] = {}
        kind: Any = TYPES.get(option.kind, str | None)
        if option.kind == "number":
            limits = {"ge": option.low, "le": option.high}
        elif option.kind == "choice":
            kind = Literal[option.choices] | None if default is None else Literal[option.choices]
        elif option.kind not in ("flag", "switch"):
            limits, default = {"max_length": MAX_LENGTH}, None
        found[name] = (kind, Field(default=default, description=option.help, **limits))
    return found


class _Strict(BaseModel, extra="forbid"):
    """The base of the models that are made from options."""


_Dialect: Any = create_model("Dialect", __base__=_Strict, **_declared([*DIALECT, "format"]))


# mypy does not see the declared fields
class Layout(_Dialect):  # type: ignore[misc]
    """How a file is written. What is not given is found."""

    sheet: str | None = Field(default=None, max_length=200, description="The sheet of a workbook.")


_rest = [name for name in OPTIONS if name not in Layout.model_fields]
_Declared: Any = create_model("Declared", __base__=Layout, **_declared(_rest))


class Reading(_Declared):  # type: ignore[misc]
    """How to read a file. Columns that are not given are guessed from their names."""

    shape: Literal["long", "wide", "transposed", "judges"] = Field(
        default="long",
        description="What a row is: a vote, a task, an annotator, or a call of an LLM judge.",
    )
    judges: dict[str, str] | None = Field(
        default=None, description="Other columns of a log of LLM judges, by their roles."
    )
    columns: list[str] | None = Field(
        default=None, description="The columns with votes in a wide or transposed table."
    )
    gold: str | None = Field(default=None, description="A column with known truths.")
    gold_marks: bool = Field(default=False, description="Use the gold marks of an export.")
    one_annotator: str | None = Field(
        None, max_length=200, description="Who gave all votes of a table without annotators."
    )
    people: dict[str, str] | None = Field(
        default=None, description="Spellings of annotators' names, and whom each means."
    )

    @field_validator("judges")
    @classmethod
    def _check_roles(cls, value: dict[str, str] | None) -> dict[str, str] | None:
        if not {*(value or {})} <= {*options_of(LogReading)} - {"item", "judge", "verdict"}:
            raise ValueError("a log of judges has no such role")
        return value

    @property
    def layout(self) -> Layout:
        return Layout(**self.model_dump(include=set(Layout.model_fields)))


def choices_of(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return options of Python as choices of the form; None if the form does not have them."""
    choices: dict[str, Any] = {
        name: [*map(str, each)] if isinstance(each, list | tuple) else each
        for name, each in options.items()
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
        valid: dict[str, Any] = Reading(**choices | left_out).model_dump(include=choices.keys())
        return valid
    return None


def title_of(option: str) -> str:
    return TITLES.get(option) or option.replace("_", " ").capitalize()


def advice_on(remedies: Iterable[Remedy]) -> list[dict[str, Any]]:
    """Return remedies that the form has: words, and choices if all values are known."""
    advice = []
    for remedy in remedies:
        action, choices = "" if remedy.options else remedy.text, choices_of(remedy.options)
        if any(isinstance(value, Placeholder) for value in remedy.options.values()):
            names = " and ".join(f"“{title_of(name)}”" for name in remedy.options)
            action = f"choose {names}, then read again"
            choices = {} if remedy.options.keys() <= OPTIONS.keys() else None
        if choices is not None:
            words = ", ".join(part for part in (remedy.when, action) if part)
            advice.append({"words": words, "choices": choices or None})
    return advice


def choices_that_repair(error: object) -> dict[str, Any] | None:
    """Return the choices that apply an error's first remedy for which this is possible."""
    remedies = [remedy for remedy in getattr(error, "remedies", ()) if remedy.can_be_pasted]
    return next((choices for remedy in remedies if (choices := choices_of(remedy.options))), None)


def preview(path: Path, layout: Layout) -> dict[str, Any]:
    """Return the first rows of a file and a guess of how to read it, or what is wrong with it."""
    source, sheets = Source(path.name, path), list[str]()
    with suppress(InputError, OSError):
        sheets = find_sheets(source.name, source.data) if is_workbook(source) else []
    nothing: dict[str, Any] = {
        **{"format": "", "is_export": False, "is_judge_log": False, "has_gold": False},
        **{"columns": [], "rows": [], "open": [], "questions": [], "includes": []},
        **{"problem": None, "repair": None, "guess": Reading(), "sheets": sheets},
    }
    try:
        sources = find_sources(path, layout)
        export = find_tool(sources, layout)
        if export is None:
            seen = _preview_table(path, sources)
        else:
            seen = _preview_export(path.name, export, sources[0])
    except InputError as error:
        error = rename_files(error, {f"{path.parent}{os.sep}": ""})
        seen = {"problem": words_of(error), "repair": choices_that_repair(error)}
    found = nothing | seen
    return found | {"guess": found["guess"].model_copy(update=layout.model_dump())}


def find_sources(path: Path, layout: Layout) -> list[Source]:
    """Return the file, or the chosen sheet of it, to be read as the layout says."""
    sources = [Source(str(path), path)]
    if layout.sheet is None:
        sources = sources_of(str(path))
    else:
        # the name of a sheet is never part of a path
        check_unpacked(sources[0])
        if not is_workbook(sources[0]):
            problem = "it is not a workbook, so it has no sheets; leave the sheet out"
            raise InputError(problem, str(path))
        sources = [sheet_text(sources[0], layout.sheet)]
    written: list[Source] = with_dialect(sources, layout.encoding, layout.separator, layout.header)
    return written


def find_tool(sources: list[Source], layout: Layout) -> Export | None:
    if layout.format == TABLE:
        return None
    return find_export(sources, layout.format, may_be_table=layout.header == 0)


def _preview_table(path: Path, sources: list[Source]) -> dict[str, Any]:
    """Guess the column of each role by its name, unless the values show that a row holds several
    votes.
    """
    opened = open_sources(sources)
    columns = [str(column) for column in opened.columns]
    with reading(opened.sources[0]):
        head = opened.scans[0].head(SHOWN_ROWS).collect()
    log = guess_log(head)
    shape = guess_shape(opened, None) if log is None else None
    roles: dict[str, Any] = {}
    if log is not None:
        guess = Reading(shape="judges", **log)
    elif shape is not None and not shape.doubt:
        kind, ids = ("transposed", "annotator") if shape.is_transposed else ("wide", "task")
        guess = Reading.model_validate({"shape": kind, ids: shape.ids, "columns": shape.votes})
    else:
        for role in (TASK, ANNOTATOR, LABEL):
            free = [column for column in columns if column not in roles.values()]
            roles[role.name] = next(iter(candidates(free, role)), None)
        guess = Reading(**roles)
    is_sheet = is_workbook(Source(path.name, path))
    return {
        "format": "Excel sheet" if is_sheet else f"{opened.sources[0].format.upper()} table",
        "columns": columns,
        "rows": _texts(head),
        "guess": guess,
        "open": [name for name, column in roles.items() if column is None],
        "is_judge_log": log is not None,
    }


def _preview_export(file: str, export: Export, seen: Source) -> dict[str, Any]:
    batches = list(islice(export.read(seen, ExportOptions()), PREVIEWED_BATCHES))
    if not batches:
        raise InputError(f"{file} ({export.title} export) holds no votes; {export.remedy}")
    votes = pl.concat(batches, how="diagonal")
    shown = [each for each in ("task", "annotator", "label", "question") if each in votes.columns]
    questions = []
    # the one with the most votes first
    if "question" in shown:
        counts = votes.get_column("question").drop_nulls().value_counts(sort=True)
        questions = [{"name": str(name), "n_votes": count} for name, count in counts.iter_rows()]
    is_log = export.name in JUDGE_EXPORTS
    question = questions[0]["name"] if len(questions) > 1 else None
    return {
        "format": f"{export.title} export",
        "is_export": True,
        "columns": shown,
        "rows": _texts(votes.select(shown).head(SHOWN_ROWS)),
        "guess": Reading(shape="judges" if is_log else "long", question=question),
        "questions": questions,
        "includes": list(export.include),
        "has_gold": export.has_gold,
        "is_judge_log": is_log,
    }


def _texts(head: pl.DataFrame) -> list[list[str | None]]:
    return [
        [None if value is None else str(value)[:SHOWN_CHARACTERS] for value in row]
        for row in head.iter_rows()
    ]


def near_spellings(labels: Iterable[str], classes: Sequence[str]) -> dict[str, str]:
    """Return labels that look like a misspelled class, and that class, such as hatefull and
    hateful.
    """

    # short ones and those with digits may well be classes
    def may_be(name: str) -> bool:
        return len(name) >= LEAST_NEAR and not any(mark.isdigit() for mark in name)

    folded = {name.casefold(): name for name in classes if may_be(name)}
    near = {}
    for label in filter(may_be, labels):
        others = [name for name in folded if folded[name] != label]
        found = difflib.get_close_matches(label.casefold(), others, 2, LEAST_ALIKE)
        if len(found) == 1:
            near[label] = folded[found[0]]
    return near


def read_votes(path: Path, options: Reading, watch: Callable[[Any], None]) -> Annotations:
    """Read the votes of a file. `watch` is called with the progress."""
    # the swap of a log is undone, and failed calls are left out
    if options.shape == "judges":
        log = read_log(path, options)
        for note in log.notes:
            warn_user(note)
        answers = whole(log, merge_calls(log))
        if answers is None:
            problem = "no judge gives the same answer in both orders to any item"
            raise InputError(f"{problem}, so there is nothing to label by")
        left_out = {"calls that failed": log.n_failed} if log.n_failed else {}
        counts = replace(answers.counts, rows=log.n_verdicts, left_out=left_out)
        return replace(answers, counts=counts)
    # sources have their dialect
    given = options.model_dump(include=OPTIONS.keys() - set(DIALECT), exclude_none=True)
    given["multi"] = options.multi
    if given.get("format") == TABLE:
        given |= {"format": None, "layout": "long"}
    if options.shape in ("wide", "transposed"):
        votes = "annotator" if options.shape == "wide" else "task"
        given |= {"layout": options.shape, votes: options.columns, "label": None}
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


def guess_log(head: pl.DataFrame) -> dict[str, Any] | None:
    """Return the columns of tasks, annotators and labels if these first rows are of a judge log."""
    try:
        logs = find_judge_logs(head, gold=None)
    except InputError:
        return None
    roles = next(iter(logs.values())).reading.roles if logs else {}
    names = {"task": "item", "annotator": "judge", "label": "verdict"}
    found = {name: roles[role].columns for name, role in names.items() if role in roles}
    known = {name: ",".join(each) for name, each in found.items() if {*each} <= {*head.columns}}
    return known or None


def read_log(path: Path, options: Reading) -> JudgeLog:
    named = {"item": options.task, "judge": options.annotator, "verdict": options.label}
    return read_judge_log(str(path), **named, gold=options.gold, **options.judges or {})
