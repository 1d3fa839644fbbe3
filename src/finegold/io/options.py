"""The options for reading votes. This is the only place that declares them; see `finegold.options`.

`Reading` has the same names as typed keywords, for the signatures of Python; a test compares the
two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from finegold.errors import InputError
from finegold.options import Options, option, options_of

if TYPE_CHECKING:
    from finegold.io.tables import WatchReading
    from finegold.votes.annotations import Repeated

COLUMNS, TEXT, EXPORTS, DATABASES = (
    "Columns and labels",
    "Text files",
    "Exports of annotation tools",
    "Databases",
)


@dataclass(frozen=True)
class ReadOptions(Options):
    """How to read votes. What is not given is found out from the file.

    `gold` and `watch` are not options of reading: every function that reads votes has them as
    keywords of its own.
    """

    task: str | Sequence[str] | None = option(
        None,
        "The column with the tasks, or several, separated by commas, that name them together.",
        group=COLUMNS,
        metavar="NAME",
    )
    annotator: str | Sequence[str] | None = option(
        None,
        "The column with the annotators; in a wide table the columns, separated by commas.",
        group=COLUMNS,
        metavar="NAME",
    )
    label: str | Sequence[str] | None = option(
        None,
        "The column with the labels; of several, separated by commas, each is a question.",
        group=COLUMNS,
        metavar="NAME",
    )
    layout: Literal["long", "wide", "transposed", "counts"] | None = option(
        None,
        "What a row of a plain table is: a vote (long), a task (wide; with numbers of votes: counts)"
        " or an annotator (transposed).",
        group=COLUMNS,
        kind="choice",
        choices=("long", "wide", "transposed", "counts"),
        # the studio asks what a row is
        surfaces=frozenset({"python", "cli"}),
    )
    classes: Sequence[Any] | None = option(
        None,
        "All classes, in this order; any other label is an error.",
        group=COLUMNS,
        kind="list",
        metavar="A,B,C",
    )
    ordered: Sequence[Any] | None = option(
        None,
        "All classes, from the lowest to the highest: aggregate adds expected scores; evaluate and"
        " agreement use it.",
        group=COLUMNS,
        kind="list",
        metavar="A,B,C",
    )
    missing: Sequence[Any] | None = option(
        None,
        "Labels that mean 'no vote' beside blank; by default NA, N/A, #N/A, NaN, None, null, -,"
        " ?, {}. '' keeps all of them as classes.",
        group=COLUMNS,
        kind="list",
        metavar="A,B",
    )
    normalise: bool = option(
        False,
        "Merge labels and ids that differ only in case, spaces, accents, number format or marks"
        " around them.",
        group=COLUMNS,
        kind="flag",
    )
    alias: Any = option(
        None,
        "A table of two columns: spellings of labels, and the classes that they mean.",
        group=COLUMNS,
        kind="path",
        metavar="FILE",
    )
    repeated: Repeated = option(
        "first",
        "Which votes count if an annotator votes on a task more than once.",
        group=COLUMNS,
        kind="choice",
        choices=("first", "last", "majority", "all", "error"),
    )
    multi: bool | None = option(
        None,
        "Whether votes are sets of labels, such as a;b; by default, the votes decide.",
        group=COLUMNS,
        kind="switch",
    )
    encoding: str | None = option(
        None,
        "The encoding of a text file that is not UTF-8, e.g. latin-1 or cp1252.",
        group=TEXT,
        metavar="NAME",
    )
    separator: str | None = option(
        None,
        "The character between the columns of a text file, or tab, if it is not found.",
        group=TEXT,
        metavar="CHARACTER",
    )
    header: bool | int = option(
        True,
        "The line with the names of the columns, if a title is above it; 0 if the columns have no"
        " names: then name them by number, e.g. --task 1 --annotator 2 --label 3.",
        group=TEXT,
        kind="number",
        metavar="N",
        low=0,
        high=1000,
        flag="--header-line",
    )
    format: str | None = option(
        None,
        "The tool that wrote the file, e.g. label-studio, if it is not recognised.",
        group=EXPORTS,
        metavar="TOOL",
    )
    question: str | None = option(
        None,
        "The question to read, if there are several, or COLUMN=NAME in a table; aggregate and"
        " convert also accept all and COLUMN=all.",
        group=EXPORTS,
        metavar="NAME",
    )
    include: str | Sequence[str] = option(
        (),
        "Also read votes that are left out by default, e.g. predictions, rejected.",
        group=EXPORTS,
        kind="list",
        metavar="A,B",
    )
    query: str | None = option(
        None,
        "The query that returns the votes, e.g. 'SELECT * FROM votes'.",
        group=DATABASES,
        metavar="SQL",
        surfaces=frozenset({"python", "cli"}),
    )
    # known truths; see `finegold.read`
    gold: Any = None
    # is called with the progress of a long read
    watch: WatchReading | None = None

    def __post_init__(self) -> None:
        defaults = {each.name: each.default for each in fields(self)}
        for name, about in options_of(self).items():
            value, default = getattr(self, name), defaults[name]
            if about.kind == "flag" and value not in (True, False):
                raise InputError(f"{name} must be True or False, not {value!r}")
            if about.kind == "choice" and value != default and value not in about.choices:
                choices = ", ".join(f'"{choice}"' for choice in about.choices[:-1])
                raise InputError(
                    f'{name} must be {choices} or "{about.choices[-1]}", not {value!r}'
                )
            if about.kind == "number" and value is not None and value < (about.low or 0):
                raise InputError(f"{name} must be {about.low or 0:g} or more, not {value!r}")

    @property
    def no_vote(self) -> Sequence[Any] | None:
        """The words that mean "no vote", or None for the usual ones."""
        if self.missing is None and self.classes is None and self.alias is None:
            return None
        from finegold.votes.labels import listed_classes, missing_words

        missing = [self.missing] if isinstance(self.missing, str) else self.missing
        named = [] if self.classes is None else listed_classes(self.classes)
        named += self.alias or []
        return missing_words(missing if missing is None else list(missing), named)

    @property
    def every_question(self) -> bool:
        """Whether all questions are wanted, each with a result of its own."""
        return self.question is not None and self.question.rpartition("=")[2] == "all"

    @property
    def names_columns(self) -> bool:
        """Whether the layout or columns are named that only a plain table has."""
        return self.layout is not None or self.annotator is not None or self.label is not None


class Reading(TypedDict, total=False):
    """The fields of `ReadOptions` as typed keywords; a test compares the two."""

    task: str | Sequence[str] | None
    annotator: str | Sequence[str] | None
    label: str | Sequence[str] | None
    layout: Literal["long", "wide", "transposed", "counts"] | None
    classes: Sequence[Any] | None
    ordered: Sequence[Any] | None
    missing: Sequence[Any] | None
    normalise: bool
    alias: Any
    repeated: Repeated
    multi: bool | None
    encoding: str | None
    separator: str | None
    header: bool | int
    format: str | None
    question: str | None
    include: str | Sequence[str]
    query: str | None
