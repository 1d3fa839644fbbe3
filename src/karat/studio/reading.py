"""Preview a file, guess the roles of its columns, and read its votes with the columns that the user chose."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, Field

from karat.errors import InputError, KaratWarning
from karat.io.readers import read
from karat.io.readers.columns import ANNOTATOR, LABEL, TASK, candidates
from karat.io.readers.diagnosis import reading
from karat.io.readers.exports import TRANSPOSED, find_export, look
from karat.io.readers.exports.export import Export, ExportOptions
from karat.io.readers.exports.peek import Peek
from karat.io.readers.files import sources_of
from karat.io.readers.shapes import shape_of
from karat.io.readers.table import Opened, open_sources
from karat.io.readers.truth import GoldColumn
from karat.io.writeback import TOOLS
from karat.studio.judge_logs import EXPORTS as JUDGE_EXPORTS
from karat.studio.judge_logs import JudgeColumns, guess_log, read_judge_votes
from karat.votes.annotations import Annotations, Repeated

__all__ = ["Preview", "Question", "Reading", "preview", "read_votes"]

SHOWN_ROWS = 12
SHOWN_CHARACTERS = 200  # of each value in the preview
MAX_ALIASES = 10_000
PREVIEWED_BATCHES = 8  # of an export, to list its questions


class Reading(BaseModel, extra="forbid"):
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


def preview(path: Path) -> Preview:
    """Return the first rows of a file and a guess of how to read it."""
    sources = sources_of(str(path))
    peeks = look(sources)
    export = find_export(peeks)
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
    given = options.model_dump(exclude={"gold_marks", "shape", "columns", "judges"}, exclude_none=True)
    if options.gold is not None:
        given["gold"] = GoldColumn(options.gold)
    elif options.gold_marks:
        given["gold"] = True
    return read(str(path), watch=watch, **given | _shaped(options))


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KaratWarning)  # the preview shows the columns that are not used
        shape = shape_of(opened, None)
    if shape is not None:
        kind, role = ("transposed", "annotator") if shape.is_transposed else ("wide", "task")
        return Reading.model_validate({"shape": kind, role: shape.ids, "columns": shape.votes}), []
    found: dict[str, Any] = {}
    for role_ in (TASK, ANNOTATOR, LABEL):
        free = [column for column in columns if column not in found.values()]
        found[role_.name] = next(iter(candidates(free, role_)), None)
    return Reading(**found), [name for name, column in found.items() if column is None]


def _texts(head: pl.DataFrame) -> list[list[str | None]]:
    return [[None if value is None else str(value)[:SHOWN_CHARACTERS] for value in row] for row in head.iter_rows()]
