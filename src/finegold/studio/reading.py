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
from typing import Any

import polars as pl
from finegold.errors import InputError, Placeholder, Remedy, warn_user
from finegold.insight.judges.answers import whole
from finegold.io.columns import ANNOTATOR, LABEL, TASK, candidates, guess_shape
from finegold.io.exports import find_export
from finegold.io.exports.base import Export, ExportOptions, in_batches
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
MOST = 100_000
# letters of names that may be misspelled, and how alike the spellings are
LEAST_NEAR, LEAST_ALIKE = 5, 0.85
# bytes of a log that is read whole, to say how
MOST_LOG = 2**26
# of an export, to list its questions
PREVIEWED_BATCHES = 8
# the format of a file that is no export, whatever it looks like
TABLE = "table"

Options = dict[str, Any]
OPTIONS = options_of(ReadOptions, "studio")
# options of text files
DIALECT = [name for name, option in OPTIONS.items() if option.group == TEXT]
SHAPES = ("long", "wide", "transposed", "judges")
# what the studio asks for besides: what a row is, the sheet of a workbook, the columns with votes of
# a wide or transposed table, a column with truths, whether to use those that an export marks, who
# gave all votes, whom spellings of names mean, and further columns of a log of judges by their roles
OWN: dict[str, Any] = {
    **{"shape": "long", "sheet": None, "columns": None, "gold": None, "gold_marks": False},
    **{"one_annotator": None, "people": None, "judges": None},
}
DEFAULTS: dict[str, Any] = {
    **{field.name: field.default for field in fields(ReadOptions) if field.name in OPTIONS},
    **{"alias": None, **OWN},
}
TYPES: dict[str, Any] = {
    **{name: option.kind for name, option in OPTIONS.items()},
    **{"gold_marks": "flag", "columns": "list", "people": "path", "judges": "path"},
}
KINDS: dict[str, Any] = {"flag": bool, "switch": bool, "number": int, "list": list, "path": dict}
# names that roles of a log have in other tables
PLACES = {"item": "task", "judge": "annotator", "verdict": "label"}
JUDGE_ROLES = [name for name in options_of(LogReading) if name not in PLACES]
TITLES = {"alias": "Spellings", "header": "Names of the columns"}


def check_reading(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that differ from the defaults; raise an InputError for a wrong one."""
    for name, value in given.items():
        if name not in DEFAULTS:
            raise InputError(f"reading has no option {name!r}")
        option, default = OPTIONS.get(name), DEFAULTS[name]
        choices = SHAPES if name == "shape" else option.choices if option else ()
        is_fine = isinstance(value, KINDS.get(TYPES.get(name, ""), str)) and len(str(value)) <= MOST
        if isinstance(value, list | dict):
            texts = [*value, *(value.values() if isinstance(value, dict) else [])]
            is_fine &= all(isinstance(each, str) for each in texts)
        if isinstance(value, int) and option is not None:
            is_fine &= (option.low or 0) <= value <= (option.high or value)
        if value != default and (not is_fine or (choices and value not in choices)):
            raise InputError(f"{name} cannot be {value!r}")
    if not {*(given.get("judges") or {})} <= {*JUDGE_ROLES}:
        raise InputError(f"a log of judges has only {', '.join(JUDGE_ROLES)}")
    return {name: value for name, value in given.items() if value != DEFAULTS[name]}


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
    left_out = {name: DEFAULTS.get(name) for name, value in choices.items() if value is None}
    with suppress(InputError):
        check_reading(choices | left_out)
        return choices | left_out
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


def preview(path: Path, layout: Options) -> dict[str, Any]:
    """Return the first rows of a file and a guess of how to read it, or what is wrong with it."""
    source, sheets = Source(path.name, path), list[str]()
    with suppress(InputError, OSError):
        sheets = find_sheets(source.name, source.data) if is_workbook(source) else []
    nothing: dict[str, Any] = {
        **{"format": "", "is_export": False, "is_judge_log": False, "has_gold": False},
        **{"columns": [], "rows": [], "open": [], "questions": [], "includes": []},
        **{"problem": None, "repair": None, "guess": {}, "sheets": sheets},
        # how a log of judges was understood, and what would repair it where it was not
        **{"log": None, "ways": []},
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
    shape = layout.get("shape", found["guess"].get("shape"))
    if shape == "judges" and not found["problem"] and path.stat().st_size <= MOST_LOG:
        try:
            found["log"] = read_log(path, found["guess"] | layout).reading.to_dict()
        except InputError as error:
            error = rename_files(error, {f"{path.parent}{os.sep}": ""})
            found |= {"problem": words_of(error), "ways": _ways(error, layout)}
    written = {name: layout[name] for name in (*DIALECT, "format", "sheet") if name in layout}
    return found | {"guess": check_reading(found["guess"] | written)}


def _ways(error: InputError, layout: Options) -> list[dict[str, Any]]:
    """Return remedies for a log of judges as choices of the form."""
    ways = []
    for remedy in error.remedies:
        if remedy.can_be_pasted and {*remedy.options} <= {*JUDGE_ROLES, *PLACES}:
            known = {PLACES[name]: each for name, each in remedy.options.items() if name in PLACES}
            rest = {name: each for name, each in remedy.options.items() if name in JUDGE_ROLES}
            choices = known | ({"judges": {**layout.get("judges", {}), **rest}} if rest else {})
            ways.append({"words": remedy.when or remedy.text, "choices": choices})
    return ways


def find_sources(path: Path, layout: Options) -> list[Source]:
    """Return the file, or the chosen sheet of it, to be read as the layout says."""
    sources = [Source(str(path), path)]
    if layout.get("sheet") is None:
        sources = sources_of(str(path))
    else:
        # the name of a sheet is never part of a path
        check_unpacked(sources[0])
        if not is_workbook(sources[0]):
            problem = "it is not a workbook, so it has no sheets; leave the sheet out"
            raise InputError(problem, str(path))
        sources = [sheet_text(sources[0], layout["sheet"])]
    given = DEFAULTS | layout
    dialect = (given["encoding"], given["separator"], given["header"])
    written: list[Source] = with_dialect(sources, *dialect)
    return written


def find_tool(sources: list[Source], layout: Options) -> Export | None:
    given = DEFAULTS | layout
    if given["format"] == TABLE:
        return None
    return find_export(sources, given["format"], may_be_table=given["header"] == 0)


def _preview_table(path: Path, sources: list[Source]) -> dict[str, Any]:
    """Guess the column of each role by its name, unless a row holds several votes."""
    opened = open_sources(sources)
    columns = [str(column) for column in opened.columns]
    with reading(opened.sources[0]):
        head = opened.scans[0].head(SHOWN_ROWS).collect()
    log = guess_log(head)
    shape = guess_shape(opened, None) if log is None else None
    roles: dict[str, Any] = {}
    if log is not None:
        guess = {"shape": "judges", **log}
    elif shape is not None:
        kind, ids = ("transposed", "annotator") if shape.is_transposed else ("wide", "task")
        guess = {"shape": kind, ids: shape.ids, "columns": shape.votes}
    else:
        for role in (TASK, ANNOTATOR, LABEL):
            free = [column for column in columns if column not in roles.values()]
            roles[role.name] = next(iter(candidates(free, role)), None)
        guess = roles
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
    options = ExportOptions()
    batches = list(islice(in_batches(export.read(seen, options), options), PREVIEWED_BATCHES))
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
        "guess": {"shape": "judges" if is_log else "long", "question": question},
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
    """Return labels that look like one misspelled class, such as hatefull and hateful."""

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


def read_votes(path: Path, reading_as: Options, watch: Callable[[Any], None]) -> Annotations:
    """Read the votes of a file. `watch` is called with the progress."""
    options = DEFAULTS | reading_as
    # the swap of a log is undone, and failed calls are left out
    if options["shape"] == "judges":
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
    given = {name: options[name] for name in OPTIONS if name not in DIALECT}
    if given["format"] == TABLE:
        given |= {"format": None, "layout": "long"}
    if options["shape"] in ("wide", "transposed"):
        votes = "annotator" if options["shape"] == "wide" else "task"
        given |= {"layout": options["shape"], votes: options["columns"], "label": None}
    gold: Any = True if options["gold_marks"] else None
    gold = gold if options["gold"] is None else GoldColumn(options["gold"])
    source: Any = find_sources(path, options)
    if options["one_annotator"] and options["shape"] == "long":
        opened = open_sources(source)
        given["annotator"] = "annotator"
        who = pl.lit(options["one_annotator"]).alias("annotator")
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
    found = {name: roles[role].columns for role, name in PLACES.items() if role in roles}
    known = {name: ",".join(each) for name, each in found.items() if {*each} <= {*head.columns}}
    return known or None


def read_log(path: Path, options: Options) -> JudgeLog:
    given = DEFAULTS | options
    named = {role: given[name] for role, name in PLACES.items()}
    return read_judge_log(str(path), **named, gold=given["gold"], **given["judges"] or {})
