"""What readers of exports share: the contract (`Export`), records of JSON, zips, and sheets.

A reader is one file of this folder. It declares an `EXPORT`: its name and title, and how it yields
votes (`read`). It raises `DamagedExport` for whatever its tool would not write.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, BinaryIO, NamedTuple, TypeVar, cast

import polars as pl
from polars import selectors

from finegold.errors import InputError, Placeholder, Remedy, use, warn_user
from finegold.io.source import Source
from finegold.io.tables import batches, scan_delimited
from finegold.votes.encoding import text_of
from finegold.votes.labels import NOTHING

if sys.version_info >= (3, 14):
    import zipfile as zstd_zipfile
else:
    from backports.zstd import zipfile as zstd_zipfile

# between the labels of an answer that has several: their set is a class of its own
SEVERAL = "|"
VOTES_PER_BATCH = 2**16
# What Python raises where a reader takes a value for a list, an object or a text, and it is
# something else.
MISUSED = (TypeError, AttributeError, LookupError, ValueError, RecursionError)
SPANS = "marked spans"
NAMED_BY_FILE = "the files do not say who annotated: each is taken for one annotator, by its name"

Kind = TypeVar("Kind")
Made = TypeVar("Made")
Read = Callable[[Source, "ExportOptions"], Iterable["Vote"]]


# The contract.


class Vote(NamedTuple):
    """A vote. Without a label it says only that the task was asked."""

    task: Any
    annotator: Any = None
    label: Any = None
    # "" where an export asks one; None belongs to all of them
    question: str | None = None
    # the known truth, if the export marks one
    gold: Any = None
    # in which spans are marked
    text: str | None = None


COLUMNS = ("task", "annotator", "label", "question", "gold")
# start, end and class
Span = tuple[int, int, str]


class Spans(NamedTuple):
    """What stands in place of a label where somebody marked characters of a text; `finegold.spans`
    reads it.
    """

    marks: list[Span]
    # what the tool needs to take spans back, by its own names
    form: dict[str, Any] | None = None


@dataclass(frozen=True)
class ExportOptions:
    # the field that names the tasks, instead of the tool's own ids
    task: str | None = None
    question: str | None = None
    # whether gold marks are wanted
    gold: bool = False
    # of what the tool's reader leaves out by itself
    include: frozenset[str] = frozenset()
    # the reader counts here, under a plural: "drafts"
    left_out: Counter[str] = field(default_factory=Counter)
    has_many_files: bool = False
    # whether answers are sets of labels; None if the labels decide
    multi: bool | None = False
    # answers without a label, which are empty sets if `multi`
    empty: Counter[str] = field(default_factory=Counter)
    # texts of warnings that were shown
    warnings: set[str] = field(default_factory=set)
    # the file, for readers of records
    seen: Source = field(default_factory=lambda: Source("", b""))

    def nothing(self, what: str, number: int = 1) -> str | None:
        """Return the label of answers in which nothing was chosen, and count them by this name."""
        (self.left_out if self.multi is False else self.empty)[what] += number
        return None if self.multi is False else NOTHING

    def leaves_out(self, is_marked: bool, what: str, option: str = "") -> bool:
        """Count a record that is marked so, unless the option `include` asks for it."""
        is_out = is_marked and option not in self.include
        if is_out:
            self.left_out[what] += 1
        return is_out

    def annotator_of_file(self) -> str | None:
        """Return who annotated a file that does not say so, if its name tells."""
        if self.seen.annotator:
            self.warn_once(NAMED_BY_FILE)
        return self.seen.annotator or None

    def warn_once(self, text: str, *remedies: Remedy) -> None:
        if text not in self.warnings:
            self.warnings.add(text)
            warn_user(text, remedies)


@dataclass(frozen=True)
class Export:
    """How the export of one tool is recognised and read.

    `read` yields votes, whose values may all be text, as in a CSV. `ExportOptions.left_out` counts
    whatever is left out.
    """

    # the value of the option `format`
    name: str
    # for messages
    title: str
    # where to click for a good export: the end of every complaint about a damaged one
    remedy: str
    # whether the tool wrote a file; None if its marks are the whole test
    fits: Callable[[Source], bool] | None
    read: Read
    # what the option `include` can bring in: "predictions", "rejected", ...
    include: tuple[str, ...] = ()
    # whether the option `task` can choose a field
    takes_task: bool = False
    has_gold: bool = False
    # the names of all annotators, in their order
    shorten: Callable[[Sequence[str]], Sequence[str]] | None = None


class DamagedExport(Exception):
    """An export is not as its tool writes it. Whoever reads it adds the file, the tool and the
    tool's remedy.
    """

    def __init__(self, problem: str, *remedies: Remedy | str, record: int | None = None) -> None:
        super().__init__(problem)
        self.problem, self.record = problem, record
        self.remedies = [Remedy(text=each) if isinstance(each, str) else each for each in remedies]

    def of_tool(self, seen: Source, export: Export) -> InputError:
        record = f", record {self.record:,}" if self.record else ""
        where = f"{seen.name} ({export.title} export){record}"
        return InputError(self.problem, where, self.remedies or [Remedy(text=export.remedy)])


# Fields of records.

KINDS = {list: "a list", dict: "an object", str: "a text", int: "a number", object: "a value"}


def need(record: Any, name: str, kind: type[Kind], default: Kind | None = None) -> Kind:
    """Return a field of a record, which must have this type. It may be absent or null only with a
    default.
    """
    if not isinstance(record, dict):
        raise DamagedExport(f"expected a JSON object, found {record!r:.40}")
    value = record.get(name)
    if value is None and default is not None:
        return default
    if not isinstance(value, kind) or name not in record:
        there = f"{value!r:.40} for" if name in record else "no"
        raise DamagedExport(f'found {there} "{name}", expected {KINDS[kind]}')
    return value


def need_id(record: Any, name: str, options: ExportOptions, inside: str = "") -> Any:
    """Return the id of a task, or the field that the user names, which may stand inside another."""
    if options.task is not None:
        record = need(record, inside, dict, record) if inside else record
        name = options.task
        if isinstance(record, dict) and record.get(name) is None:
            place = f'its "{inside}" has' if inside else "there is"
            raise unknown_task(f'{place} no "{name}"', record)
    if need(record, name, object, "") == "":
        raise DamagedExport(f'found no "{name}"')
    return record[name]


def spans_in(marks: Iterable[Any], start: str = "start", end: str = "end") -> Spans:
    """Return objects with a start, an end and a label as spans."""
    return Spans([(int(mark[start]), int(mark[end]), str(mark["label"])) for mark in marks])


def unknown_task(problem: str, names: Iterable[str]) -> DamagedExport:
    """Return the complaint about a field of tasks that is not there, with those that are."""
    text = f"with one of {', '.join(names)}"
    return DamagedExport(problem, use(task=Placeholder("NAME"), text=text))


def _as_text(value: Any) -> str:
    if isinstance(value, list | dict):
        raise DamagedExport(f"expected a name, a number or a label, found {value!r:.40}")
    return text_of(value)


def join_labels(labels: Any) -> Any:
    """Return a single label as it is, several as one text in sorted order, and None if there is
    none.
    """
    if not isinstance(labels, list):
        return labels
    # a label that was chosen twice is one label
    texts = sorted({_as_text(label) for label in labels})
    return SEVERAL.join(texts) if len(labels) > 1 else labels[0] if labels else None


# Votes, record by record.


def with_numbers(
    records: Iterable[Any], make: Callable[[Any], Iterable[Made]], file: str = ""
) -> Iterator[Made]:
    """Yield what is made of every record, such as votes. Errors get its number, and the file of an
    archive in which it stands.
    """
    number = 1
    try:
        for record in records:
            yield from make(record)
            number += 1
    except DamagedExport as error:
        problem = f"in {file}, {error.problem}" if file else error.problem
        raise DamagedExport(problem, *error.remedies, record=number) from None
    except MISUSED as error:
        if isinstance(error, InputError):
            raise
        problem = f"a value is of a kind that is not expected there ({error})"
        raise DamagedExport(problem, record=number) from None


def in_batches(votes: Iterable[Vote], options: ExportOptions) -> Iterator[pl.DataFrame]:
    """Yield votes as tables of text. Python strings take much memory, so they are kept for one
    batch only.
    """

    def without_texts() -> Iterator[tuple[Any, ...]]:
        for vote in votes:
            if isinstance(vote.label, Spans):
                options.left_out[SPANS] += 1
                yield Vote(vote.task)[:5]
            else:
                yield vote[:5]

    rest = without_texts()
    while rows := list(islice(rest, VOTES_PER_BATCH)):
        texts = {
            name: [
                value if value is None or value.__class__ is str else _as_text(value)
                for value in values
            ]
            for name, values in zip(COLUMNS, zip(*rows, strict=True), strict=True)
        }
        yield pl.DataFrame(texts, schema=dict.fromkeys(COLUMNS, pl.String))


def by_record(
    votes_of: Callable[[Any, ExportOptions], Iterable[Vote]],
    records_of: Callable[[Source, ExportOptions], Iterable[Any]] | None = None,
) -> Read:
    """Return the `read` of a tool, given the votes of one record, and the records if they are not
    simply those of JSON.
    """

    def read(seen: Source, options: ExportOptions) -> Iterator[Vote]:
        options = replace(options, seen=seen)
        records = read_records(seen) if records_of is None else records_of(seen, options)
        return with_numbers(records, lambda record: votes_of(record, options))

    return read


# JSON, which may be larger than memory.

BETWEEN = re.compile(r"[ \t\n\r,]*")
# bytes that are read at once
CHUNK = 2**20
# a text that ends in the middle of a word or a number breaks off so near to its end
NEAR = 16


def read_records(seen: Source) -> Iterator[Any]:
    """Yield the records of a JSON list or of JSON Lines. A single object is a list of one."""
    with seen.open_bytes() as file:
        yield from json_records(file)


def json_records(file: BinaryIO) -> Iterator[Any]:
    """Yield the items of a JSON list, or the values of JSON Lines."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    scan = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # typeshed omits it
    text, at, is_all = "", 0, False
    # not known before the first mark
    in_list: bool | None = None
    while True:
        at = cast(re.Match[str], BETWEEN.match(text, at)).end()
        mark = text[at : at + 1]
        if mark and in_list is None:
            in_list = mark == "["
            at += in_list
        elif mark == "]" and in_list:
            in_list, at = False, at + 1
        elif not mark and is_all and not in_list:
            return
        else:
            try:
                value, end = scan(text, at)
            except (StopIteration, ValueError, RecursionError) as error:
                place = getattr(error, "value", getattr(error, "pos", 0))
                is_cut = "Unterminated" in str(error) or place > len(text) - NEAR
                if is_all or not is_cut:
                    problem = "the file is cut short" if is_cut else f"not valid JSON ({error})"
                    raise DamagedExport(problem) from None
                end = len(text)
            # a number near the end may go on: 3, 3.5, 3.5e-10
            if is_all or end + NEAR < len(text):
                at = end
                yield value
                continue
            data = file.read(max(CHUNK, len(text) - at))
            is_all = not data
            try:
                text, at = text[at:] + decoder.decode(data, final=is_all), 0
            except UnicodeError as error:
                raise DamagedExport(f"not valid JSON ({error})") from None


def members_of(seen: Source, names: Iterable[str]) -> Iterator[tuple[str, BinaryIO]]:
    """Yield these files of a zip archive, which may be packed with zstd, with their names."""
    data = io.BytesIO(seen.data) if isinstance(seen.data, bytes) else seen.data
    damages = (zipfile.BadZipFile, zstd_zipfile.BadZipFile, zlib.error, EOFError)
    try:
        with zstd_zipfile.ZipFile(data) as archive:
            for name in names:
                yield name, io.BytesIO(archive.read(name))
    except RuntimeError as error:
        # also a way of packing that does not exist
        remedy = "unpack the archive, with its password if it has one, and give the files in it"
        raise DamagedExport(f"the zip archive cannot be unpacked ({error})", remedy) from None
    except damages as error:
        raise DamagedExport(f"the zip archive is damaged ({error})") from None


# Sheets: a row per assignment or respondent.


def read_columns(seen: Source, columns: Sequence[str], may_omit: int = 0) -> Iterator[pl.DataFrame]:
    """Yield those of these columns that a table has, blank cells as null. Rows may omit so many of
    the last cells.
    """
    wanted = [name for name in dict.fromkeys(columns) if name in seen.columns]
    scan = scan_delimited(seen) if seen.is_delimited else pl.scan_parquet(seen.data, glob=False)
    text = selectors.string()
    for part in batches(seen, scan, wanted, may_omit):
        yield part.with_columns(pl.when(text.str.strip_chars() != "").then(text))


def read_rows(seen: Source, columns: Sequence[str], may_omit: int = 0) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, with those of the columns that it has."""
    for part in read_columns(seen, columns, may_omit):
        yield from part.iter_rows(named=True)


def task_column(seen: Source, task: str | None, usual: str, prefix: str = "") -> str:
    """Return the column of the tasks: the usual one, or the one that the user names, with or
    without its prefix.
    """
    for name in (usual,) if task is None else (task, prefix + task):
        if task is None or name in seen.columns:
            return name
    names = dict.fromkeys([usual, *(name for name in seen.columns if name.startswith(prefix))])
    raise unknown_task(f'there is no column "{task}"', names)


def answer_columns(seen: Source, task: str, others: Sequence[str], named: str | None) -> list[str]:
    """Return the columns with answers: the one that the user names, or those that differ within a
    task, because its data are the same in all of its rows.
    """
    if named in seen.columns:
        return [str(named)]
    # hashes are enough, and small
    hashed = pl.col(others).fill_null("").hash()
    parts = [part.select(task, hashed) for part in read_columns(seen, [task, *others])]
    if not parts:
        raise DamagedExport("it has a header but no rows")
    spread = pl.concat(parts).group_by(task).agg(pl.col(others).n_unique() > 1)
    return [name for name in others if spread[name].any()]


def label_in(cell: str | None, options: ExportOptions) -> Any:
    """Return the label in a cell, which may be a list of several answers, such as ["a","b"]."""
    try:
        answers = json.loads(cell) if cell is not None and cell.lstrip()[:1] == "[" else cell
    except ValueError:
        answers = cell
    if answers == []:
        return options.nothing("answers in which nothing was chosen")
    if isinstance(answers, list) and all(isinstance(item, dict | list) for item in answers):
        options.left_out["answers that are not labels, such as marks"] += 1
        return None
    return join_labels(answers)
