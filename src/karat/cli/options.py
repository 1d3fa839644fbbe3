"""Options that several commands share. Each is declared here, once; `with_groups` adds groups of them to a command."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli.database import Param, Query, Table, parameters
from karat.cli.exports import ALL, Format, GoldFromExport, Include, Question
from karat.cli.groups import with_groups
from karat.cli.settings import listed, make
from karat.engines.registry import ENGINES
from karat.errors import InputError
from karat.io.formulas import ESCAPE
from karat.methods.registry import DEFAULT_METHOD, REGISTRY

if TYPE_CHECKING:
    from karat.api.run import Run
    from karat.votes.annotations import Annotations

__all__ = ["FITTING", "GOLD", "PLACE", "READING", "Fitting", "Gold", "Place", "Reading", "listed", "with_groups"]

METHODS = ", ".join(REGISTRY)
WHERE = "|".join(ENGINES)
COLUMNS = "Columns and labels"
FIT = "Fit"

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Votes: CSV, TSV, JSONL (also .gz, .zst), Parquet, Excel, a pattern, folder or database; - for stdin.",
        show_default=False,
    ),
]
Source = Annotated[
    list[str],
    typer.Argument(metavar="FILE|MODEL", help="Votes, as for aggregate; or what --save kept.", show_default=False),
]
Truth = Annotated[str | None, typer.Option("--truth", metavar="FILE", help="Known truths to judge the labels by.")]
TaskColumn = Annotated[
    str | None, typer.Option("--task", metavar="NAME", help="The column of the tasks.", rich_help_panel=COLUMNS)
]
AnnotatorColumn = Annotated[
    str | None,
    typer.Option(
        "--annotator",
        metavar="NAME",
        help="The column of the annotators (with --wide: several, with commas).",
        rich_help_panel=COLUMNS,
    ),
]
LabelColumn = Annotated[
    str | None, typer.Option("--label", metavar="NAME", help="The column of the labels.", rich_help_panel=COLUMNS)
]
Wide = Annotated[bool, typer.Option("--wide", help="The table has one column per annotator.", rich_help_panel=COLUMNS)]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="A,B,C",
        help="All classes, in the order wanted; any other label is an error.",
        rich_help_panel=COLUMNS,
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="A,B",
        help="Labels that mean 'no vote' beside blank; by default NA, N/A, #N/A, NaN, None, null, -, ?, {}.",
        rich_help_panel=COLUMNS,
    ),
]
KeepMissing = Annotated[
    bool,
    typer.Option("--keep-missing", help="Keep labels such as NA and None as classes.", rich_help_panel=COLUMNS),
]
Normalise = Annotated[
    bool,
    typer.Option(
        "--normalise",
        help="Merge labels that differ only in case, spaces, Unicode form, a final dot or number format.",
        rich_help_panel=COLUMNS,
    ),
]
Alias = Annotated[
    str | None,
    typer.Option(
        "--alias",
        metavar="FILE",
        help="A table of two columns: spellings of labels, and the classes that they mean.",
        rich_help_panel=COLUMNS,
    ),
]
Repeated = Annotated[
    str,
    typer.Option(
        "--repeated",
        metavar="first|last|majority|all|error",
        help="Which votes count if an annotator votes on a task more than once.",
        rich_help_panel=COLUMNS,
    ),
]
Method = Annotated[
    str | None, typer.Option("--method", metavar="M", help=f"One of {METHODS}; by default {DEFAULT_METHOD}.")
]
Methods = Annotated[
    list[str] | None,
    typer.Option("--method", "--methods", metavar="A,B,C", help=f"Some of {METHODS}. Can be repeated."),
]


def _write_raw(raw: bool) -> bool:
    ESCAPE.set(not raw)
    return raw


Raw = Annotated[
    bool,
    typer.Option(
        "--raw",
        help="In CSV and TSV, write texts such as =1+1 without an apostrophe in front.",
        callback=_write_raw,
    ),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A setting of the method, e.g. max_iterations=100. Can be repeated."
    ),
]


def fit_option(name: str, help_text: str, **more: Any) -> Any:
    return typer.Option(name, help=help_text, rich_help_panel=FIT, **more)


Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


@dataclass(frozen=True)
class Reading:
    """How the votes are read."""

    task: TaskColumn = None
    annotator: AnnotatorColumn = None
    label: LabelColumn = None
    wide: Wide = False
    classes: Classes = None
    missing: Missing = None
    keep_missing: KeepMissing = False
    normalise: Normalise = False
    alias: Alias = None
    repeated: Repeated = "first"
    query: Query = None
    table: Table = None
    param: Param = None
    format: Format = None
    question: Question = None
    include: Include = None

    @property
    def is_of_all_questions(self) -> bool:
        return self.question == ALL

    def keywords(self) -> dict[str, Any]:
        """Those of `karat.read`."""
        given = {
            "task": self.task,
            "annotator": listed(self.annotator) if self.wide else self.annotator,
            "label": self.label,
            "wide": self.wide,
            "classes": listed(self.classes),
            "missing": listed(self.missing),
            "keep_missing": self.keep_missing,
            "normalise": self.normalise,
            "alias": self.alias,
            "repeated": self.repeated,
            "query": self.query,
            "table": self.table,
            "params": parameters(self.param),
            "format": self.format,
            "question": self.question,
            "include": listed(self.include),
        }
        return {name: value for name, value in given.items() if value}

    def options(self) -> dict[str, Any]:
        """What was given, by the name of the option, but for --repeated, which has a default."""
        names = [one.name for one in fields(self) if one.name != "repeated"]
        return {f"--{name.replace('_', '-')}": getattr(self, name) for name in names}

    def read(self, files: list[str], gold: str | bool | None = None) -> Annotations:
        """Read the votes for a command that fits nothing."""
        from karat.api.run import read_votes

        return read_votes(self.run(files, gold))

    def read_each(self, files: list[str], gold: str | bool | None = None) -> dict[str, Annotations]:
        """Read the votes for every question of an export."""
        from karat.api.run import read_questions

        return read_questions(self.run(files, gold))

    def run(self, files: list[str], gold: str | bool | None = None, **more: Any) -> Run:
        from karat.api.run import Run
        from karat.cli.words import on_terminal

        return Run(files, self.keywords(), gold=gold, progress=on_terminal(), **more)


@dataclass(frozen=True)
class Gold:
    """Known truths that teach a method."""

    gold: Annotated[
        str | None,
        typer.Option("--gold", metavar="FILE", help="Known truths of some tasks, or a column of FILE with them."),
    ] = None
    gold_from_export: GoldFromExport = False

    def given(self) -> str | bool | None:
        if self.gold is not None and self.gold_from_export:
            raise InputError("--gold and --gold-from-export both say where known truths are; leave one of them out")
        return True if self.gold_from_export else self.gold


@dataclass(frozen=True)
class Place:
    """Where a fit runs, and what it starts from."""

    prior: Annotated[
        str | None,
        fit_option("--prior", "A saved model: what it knows of annotators who vote again.", metavar="MODEL"),
    ] = None
    threads: Annotated[
        int | None, fit_option("--threads", "Threads to use; by default KARAT_THREADS, else one per core.", min=1)
    ] = None
    engine: Annotated[str, fit_option("--engine", "Where the work is done.", metavar=WHERE)] = "local"
    scheduler: Annotated[
        str | None,
        fit_option(
            "--scheduler",
            "Of the cluster that --engine dask uses, e.g. tcp://10.0.0.1:8786; else one is started here.",
            metavar="ADDRESS",
        ),
    ] = None
    checkpoint: Annotated[
        str | None,
        fit_option("--checkpoint", "Keep unfinished work there: on Ctrl-C, and every minute.", metavar="FILE"),
    ] = None
    resume: Annotated[bool, fit_option("--resume", "Go on from --checkpoint, if it is there.")] = False
    overwrite: Annotated[bool, fit_option("--overwrite", "Give up the work of an earlier run in --checkpoint.")] = False

    def place(self) -> dict[str, Any]:
        """The fields of a `Run` that these options fill in."""
        return {one.name: getattr(self, one.name) for one in fields(Place)}


@dataclass(frozen=True)
class Fitting(Place):
    """How a method is fitted."""

    settings: Setting = None
    seed: Annotated[int | None, fit_option("--seed", "Seed of methods that draw random numbers.", min=0)] = None
    paper: Annotated[
        bool, fit_option("--paper", "The settings of the PTBCC paper's tables instead of those recommended for work.")
    ] = False

    def run(self, files: list[str], reading: Reading, method: str | None, gold: str | bool | None, **more: Any) -> Run:
        """The run of one method."""
        chosen = make(method or DEFAULT_METHOD, self.settings, self.seed, paper=self.paper)
        return reading.run(files, gold, method=chosen, **self.place(), **more)

    def options(self) -> dict[str, Any]:
        """What was given, by the name of the option, but for --threads, which a saved model may be shown with."""
        given = {f"--{name}": value for name, value in self.place().items() if name not in ("threads", "engine")}
        engine = None if self.engine == "local" else self.engine
        return {"--set": self.settings, "--seed": self.seed, "--paper": self.paper, "--engine": engine, **given}


READING, GOLD, PLACE, FITTING = Reading(), Gold(), Place(), Fitting()
