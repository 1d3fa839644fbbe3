"""Preview a file, guess the roles of its columns, and read its votes with the columns that the user chose."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, Field

from finegold.errors import InputError
from finegold.insight.votes import single_votes
from finegold.io.columns import ANNOTATOR, LABEL, TASK, candidates, guess_shape
from finegold.io.diagnosis import reading
from finegold.io.exports import TRANSPOSED, find_export, look
from finegold.io.exports.base import Export, ExportOptions, Peek
from finegold.io.read import read
from finegold.io.source import Dialect, Source, check_source, sources_of
from finegold.io.tables import Opened, open_sources
from finegold.io.truth import GoldColumn
from finegold.io.workbooks import is_workbook, sheet_names, sheet_text
from finegold.io.writeback import TOOLS
from finegold.studio.judge_logs import EXPORTS as JUDGE_EXPORTS
from finegold.studio.judge_logs import JudgeColumns, guess_log, read_judge_votes
from finegold.studio.wording import in_browser, repair_of, without_folder
from finegold.votes.annotations import Annotations, Repeated

__all__ = ["Layout", "Preview", "Question", "Reading", "find_sources", "find_tool", "preview", "read_votes"]

SHOWN_ROWS = 12
SHOWN_CHARACTERS = 200  # of each value in the preview
MAX_ALIASES = 10_000
PREVIEWED_BATCHES = 8  # of an export, to list its questions


class Layout(BaseModel, extra="forbid"):
    """How a file is written. What is not given is found."""

    sheet: str | None = Field(default=None, max_length=200, description="The sheet of a workbook.")
    encoding: str | None = Field(default=None, max_length=40, description="Of a text file that is not UTF-8.")
    separator: str | None = Field(default=None, max_length=12, description="Between columns: a character, or tab.")
    header: int = Field(default=1, ge=0, le=1000, description="The line with the names of the columns; 0: none.")
    format: str | None = Field(default=None, max_length=40, description="table, nested-json, or the tool of an export.")


class Reading(Layout):
    """How to read a file. Columns that are not given are guessed from their names."""

    task: str | None = Field(default=None, description="The column with the tasks.")
    annotator: str | None = Field(default=None, description="The column with the annotators.")
    label: str | None = Field(default=None, description="The column with the labels.")
    shape: Literal["long", "wide", "transposed", "judges"] = Field(
        default="long",
        description="Whether a row is a vote, a task (wide), an annotator (transposed) or a call of an LLM judge.",
    )
    judges: JudgeColumns | None = Field(default=None, description="How to read a log of LLM judges.")
    columns: list[str] | None = Field(default=None, description="The columns with votes in a wide or transposed table.")
    gold: str | None = Field(default=None, description="A column with known truths.")
    question: str | None = Field(default=None, description="The question to read, in an export with several.")
    include: list[str] | None = Field(default=None, description="Records of an export that are skipped by default.")
    gold_marks: bool = Field(default=False, description="Whether to use the gold marks of an export.")
    missing: list[str] | None = Field(default=None, description='Labels that mean "no vote", besides blank ones.')
    keep_missing: bool = Field(default=False, description="Whether words such as NA and None are classes.")
    normalise: bool = Field(default=False, description="Whether to merge labels that differ only in spelling.")
    alias: dict[str, str] | None = Field(
        default=None, max_length=MAX_ALIASES, description="The class that each spelling of a label means."
    )
    repeated: Repeated = Field(default="first", description="Which votes count if an annotator repeats them.")


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
    open: list[str] = Field(description="The roles for which no column was found.")
    questions: list[Question] = []
    includes: list[str] = Field(default=[], description="What can be included: predictions, rejected, ...")
    writes_back: bool = Field(default=False, description="Whether labels can be exported for this tool.")
    is_judge_log: bool = Field(default=False, description="Whether this can be read as a log of LLM judges.")
    has_gold: bool = Field(default=False, description="Whether this tool's exports can mark gold.")
    sheets: list[str] = Field(default=[], description="The sheets of a workbook that are not empty.")
    problem: str | None = Field(default=None, description="Why no rows can be shown, until another layout is chosen.")
    repair: dict[str, Any] | None = Field(default=None, description="A choice that would repair the problem.")


def preview(path: Path, layout: Layout) -> Preview:
    """Return the first rows of a file and a guess of how to read it, or what is wrong with it."""
    try:
        found = _preview(path, layout)
    except InputError as error:
        said = in_browser(without_folder(error, path.parent))
        found = Preview(file=path.name, format="", is_export=False, columns=[], rows=[], guess=Reading(), open=[])
        found.problem, found.repair = said, repair_of(error)
    found.sheets = _sheets(path)
    found.guess = found.guess.model_copy(update=layout.model_dump(include=set(Layout.model_fields)))
    return found


def find_sources(path: Path, layout: Layout) -> list[Source]:
    """Return the file, or the chosen sheet of it, to be read as the layout says."""
    sources = sources_of(str(path)) if layout.sheet is None else [_sheet(path, layout.sheet)]
    found: list[Source] = Dialect(layout.encoding, layout.separator, layout.header).apply(sources)
    return found


def _sheet(path: Path, sheet: str) -> Source:
    """Return a sheet of a workbook. Its name is never part of a path."""
    source = Source(str(path), path)
    check_source(source)
    if not is_workbook(source):
        raise InputError(f"{path} is no workbook, so it has no sheets; leave the sheet out")
    return sheet_text(source, sheet)


def find_tool(peeks: list[Peek], layout: Layout) -> Export | None:
    """Return the tool that wrote an export, or None for a plain table."""
    return find_export(peeks, layout.format, may_be_table=layout.header == 0)


def _sheets(path: Path) -> list[str]:
    try:
        source = Source(path.name, path)
        return sheet_names(source) if is_workbook(source) else []
    except (InputError, OSError):
        return []


def _preview(path: Path, layout: Layout) -> Preview:
    sources = find_sources(path, layout)
    peeks = look(sources)
    export = find_tool(peeks, layout)
    if export is not None:
        return _of_export(path.name, export, peeks[0])
    opened = open_sources(sources)
    columns = [str(column) for column in opened.columns]
    with reading(opened.sources[0]):
        head = opened.scans[0].head(SHOWN_ROWS).collect()
    log = guess_log(head)
    guess, unknown = _guess(opened, columns) if log is None else (Reading(shape="judges", **log), [])
    return Preview(
        file=path.name,
        format=f"{opened.sources[0].format.upper()} table",
        is_export=False,
        columns=columns,
        rows=_texts(head),
        guess=guess,
        open=unknown,
        is_judge_log=log is not None,
    )


def read_votes(path: Path, options: Reading, watch: Callable[[Any], None]) -> Annotations:
    if options.shape == "judges":
        return read_judge_votes(path, options)
    layout = {"sheet", "encoding", "separator", "header"}  # of the sources
    given = options.model_dump(exclude={"gold_marks", "shape", "columns", "judges", *layout}, exclude_none=True)
    if options.gold is not None:
        given["gold"] = GoldColumn(options.gold)
    elif options.gold_marks:
        given["gold"] = True
    votes = read(find_sources(path, options), watch=watch, **given | _shaped(options))
    return single_votes(votes)  # sets of labels are questions of yes or no


def _shaped(options: Reading) -> dict[str, Any]:
    if options.shape == "wide":
        return {"wide": True, "annotator": options.columns, "label": None}
    if options.shape == "transposed":
        return {"format": TRANSPOSED, "task": options.columns, "label": None}
    return {}


def _of_export(file: str, export: Export, seen: Peek) -> Preview:
    batches = list(islice(export.read(seen, ExportOptions()), PREVIEWED_BATCHES))
    if not batches:
        raise InputError(f"{file} ({export.title} export) holds no votes; {export.remedy}")
    votes = pl.concat(batches, how="diagonal")
    shown: list[str] = [name for name in ("task", "annotator", "label", "question") if name in votes.columns]
    questions = _questions(votes)
    return Preview(
        file=file,
        format=f"{export.title} export",
        is_export=True,
        columns=shown,
        rows=_texts(votes.select(shown).head(SHOWN_ROWS)),
        guess=Reading(
            shape="judges" if export.name in JUDGE_EXPORTS else "long",
            question=questions[0].name if len(questions) > 1 else None,
        ),
        open=[],
        questions=questions,
        includes=list(export.include),
        has_gold=export.has_gold,
        writes_back=export.name in TOOLS,
        is_judge_log=export.name in JUDGE_EXPORTS,
    )


def _questions(votes: pl.DataFrame) -> list[Question]:
    """List the questions, the one with the most votes first."""
    if "question" not in votes.columns:
        return []
    counts = votes.get_column("question").drop_nulls().value_counts(sort=True)
    return [Question(name=str(name), n_votes=count) for name, count in counts.iter_rows()]


def _guess(opened: Opened, columns: list[str]) -> tuple[Reading, list[str]]:
    """Guess the column of each role by its name, unless the values show that a row holds several votes."""
    shape = guess_shape(opened, None)
    if shape is not None and not shape.doubt:
        kind, role = ("transposed", "annotator") if shape.is_transposed else ("wide", "task")
        return Reading.model_validate({"shape": kind, role: shape.ids, "columns": shape.votes}), []
    found: dict[str, Any] = {}
    for role_ in (TASK, ANNOTATOR, LABEL):
        free = [column for column in columns if column not in found.values()]
        found[role_.name] = next(iter(candidates(free, role_)), None)
    return Reading(**found), [name for name, column in found.items() if column is None]


def _texts(head: pl.DataFrame) -> list[list[str | None]]:
    return [[None if value is None else str(value)[:SHOWN_CHARACTERS] for value in row] for row in head.iter_rows()]
