"""Options that several commands share. Each is declared once; `with_groups` adds groups of them to a command."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli.completion import complete_method, complete_methods
from finegold.cli.database import Param, Query, Table, parameters
from finegold.cli.exports import ALL, Format, GoldFromExport, Include, Question
from finegold.cli.groups import with_groups
from finegold.cli.settings import method_from_options, split_commas
from finegold.cli.text_files import Encoding, HeaderLine, NoHeader, Separator
from finegold.engines.registry import ENGINES
from finegold.errors import InputError
from finegold.io.formulas import ESCAPE
from finegold.methods.registry import DEFAULT_METHOD, REGISTRY

if TYPE_CHECKING:
    from finegold.api.job import Job
    from finegold.votes.annotations import Annotations

__all__ = [
    "EXECUTION",
    "FITTING",
    "GOLD",
    "READING",
    "Execution",
    "Fitting",
    "Gold",
    "Reading",
    "split_commas",
    "with_groups",
]

METHOD_CHOICES = ", ".join(REGISTRY)
ENGINE_CHOICES = "|".join(ENGINES)
COLUMNS_PANEL = "Columns and labels"
FIT_PANEL = "Fit"

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Votes: a CSV, TSV, JSONL (also .gz, .zst), Parquet or Excel file, a glob pattern, a folder, "
        "the address of a database, or - for standard input.",
        show_default=False,
    ),
]
Source = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE|MODEL", help="Votes, as for finegold aggregate, or a model written by --save.", show_default=False
    ),
]
Truth = Annotated[str | None, typer.Option("--truth", metavar="FILE", help="Known truths to compare the labels with.")]
TruthTask = Annotated[
    str | None, typer.Option("--truth-task", metavar="NAME", help="The column of the tasks in --truth.")
]
TruthLabel = Annotated[
    str | None, typer.Option("--truth-label", metavar="NAME", help="The column of the truths in --truth.")
]
TaskColumn = Annotated[
    str | None, typer.Option("--task", metavar="NAME", help="The column with the tasks.", rich_help_panel=COLUMNS_PANEL)
]
AnnotatorColumn = Annotated[
    str | None,
    typer.Option(
        "--annotator",
        metavar="NAME",
        help="The column with the annotators (with --wide: the columns, separated by commas).",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
LabelColumn = Annotated[
    str | None,
    typer.Option("--label", metavar="NAME", help="The column with the labels.", rich_help_panel=COLUMNS_PANEL),
]
Wide = Annotated[
    bool, typer.Option("--wide", help="The table has one column per annotator.", rich_help_panel=COLUMNS_PANEL)
]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        metavar="A,B,C",
        help="All classes, in this order; any other label is an error.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
Ordered = Annotated[
    str | None,
    typer.Option(
        "--ordered",
        metavar="A,B,C",
        help="All classes, from the lowest to the highest: aggregate adds expected scores, evaluate and agreement know "
        "the order.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="A,B",
        help="Labels that mean 'no vote' beside blank; by default NA, N/A, #N/A, NaN, None, null, -, ?, {}.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
KeepMissing = Annotated[
    bool,
    typer.Option("--keep-missing", help="Keep labels such as NA and None as classes.", rich_help_panel=COLUMNS_PANEL),
]
Normalise = Annotated[
    bool,
    typer.Option(
        "--normalise",
        help="Merge labels that differ only in case, spaces, Unicode form, a final dot or number format.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
Alias = Annotated[
    str | None,
    typer.Option(
        "--alias",
        metavar="FILE",
        help="A table of two columns: spellings of labels, and the classes that they mean.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
Repeated = Annotated[
    str,
    typer.Option(
        "--repeated",
        metavar="first|last|majority|all|error",
        help="Which votes count if an annotator votes on a task more than once.",
        rich_help_panel=COLUMNS_PANEL,
    ),
]
Multi = Annotated[
    bool | None,
    typer.Option(
        "--multi/--no-multi",
        help="Whether votes are sets of labels, such as a;b; by default, aggregate and evaluate find out.",
        show_default=False,
        rich_help_panel=COLUMNS_PANEL,
    ),
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method",
        metavar="M",
        help=f"One of {METHOD_CHOICES}; by default {DEFAULT_METHOD}.",
        autocompletion=complete_method,
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "--methods",
        metavar="A,B,C",
        help=f"Some of {METHOD_CHOICES}. Can be repeated.",
        autocompletion=complete_methods,
    ),
]


def _write_raw(raw: bool) -> bool:
    ESCAPE.set(not raw)
    return raw


Raw = Annotated[
    bool,
    typer.Option(
        "--raw",
        help="In CSV and TSV, do not put an apostrophe before text that a spreadsheet would run, such as =1+1.",
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
    return typer.Option(name, help=help_text, rich_help_panel=FIT_PANEL, **more)


Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


@dataclass(frozen=True)
class Reading:
    """Options for reading votes."""

    task: TaskColumn = None
    annotator: AnnotatorColumn = None
    label: LabelColumn = None
    wide: Wide = False
    classes: Classes = None
    missing: Missing = None
    keep_missing: KeepMissing = False
    normalise: Normalise = False
    alias: Alias = None
    encoding: Encoding = None
    separator: Separator = None
    no_header: NoHeader = False
    header_line: HeaderLine = 1
    repeated: Repeated = "first"
    query: Query = None
    table: Table = None
    param: Param = None
    format: Format = None
    question: Question = None
    include: Include = None
    multi: Multi = None
    ordered: Ordered = None

    @property
    def reads_all_questions(self) -> bool:
        return self.question == ALL

    def keywords(self) -> dict[str, Any]:
        """Return the options as keywords of `finegold.read`."""
        given = {
            "task": self.task,
            "annotator": split_commas(self.annotator) if self.wide else self.annotator,
            "label": self.label,
            "wide": self.wide,
            "classes": split_commas(self.classes),
            "ordered": split_commas(self.ordered),
            "missing": split_commas(self.missing),
            "keep_missing": self.keep_missing,
            "normalise": self.normalise,
            "alias": self.alias,
            "encoding": self.encoding,
            "separator": self.separator,
            "repeated": self.repeated,
            "query": self.query,
            "table": self.table,
            "params": parameters(self.param),
            "format": self.format,
            "question": self.question,
            "include": split_commas(self.include),
        }
        more = {} if self._header == 1 else {"header": self._header}
        more |= {} if self.multi is None else {"multi": self.multi}
        return {name: value for name, value in given.items() if value} | more

    @property
    def _header(self) -> int:
        if self.no_header and self.header_line != 1:
            raise InputError("--no-header and --header-line cannot be combined; leave one of them out")
        return 0 if self.no_header else self.header_line

    def options(self) -> dict[str, Any]:
        """Return the values that differ from the default by option name, without --repeated."""
        given = [one for one in fields(self) if one.name != "repeated" and getattr(self, one.name) != one.default]
        return {one.name: getattr(self, one.name) for one in given}

    def read(self, files: list[str], gold: str | bool | None = None, sets: bool = False) -> Annotations:
        """Read the votes for a command that fits nothing and may take sets of labels."""
        if self.multi and not sets:
            raise InputError("sets of labels have no meaning here; leave out --multi")
        return self.run(files, gold).read(may_be_sets=False)

    def read_each(self, files: list[str], gold: str | bool | None = None) -> dict[str, Annotations]:
        """Read the votes for every question of an export."""
        return self.run(files, gold).read_questions()

    def run(self, files: list[str], gold: str | bool | None = None, **more: Any) -> Job:
        from finegold.api.job import Job
        from finegold.cli.messages import on_terminal

        return Job(files, self.keywords(), gold=gold, progress=on_terminal(), **more)


@dataclass(frozen=True)
class Gold:
    """Options for known truths that the method learns from."""

    gold: Annotated[
        str | None,
        typer.Option(
            "--gold", metavar="FILE", help="Known truths of some tasks: a file, or the name of a column of FILE."
        ),
    ] = None
    gold_from_export: GoldFromExport = False

    def given(self) -> str | bool | None:
        if self.gold is not None and self.gold_from_export:
            raise InputError("--gold and --gold-from-export cannot be combined; leave one of them out")
        return True if self.gold_from_export else self.gold


@dataclass(frozen=True)
class Execution:
    """Options for where a fit runs and what it starts from."""

    prior: Annotated[
        str | None,
        fit_option(
            "--prior",
            "A saved model; what it learned about annotators is the prior for those who vote again.",
            metavar="MODEL",
        ),
    ] = None
    predictions: Annotated[
        list[str] | None,
        fit_option(
            "--predictions",
            "Class probabilities of a model: a table with a task column and a column per class. Can be repeated.",
            metavar="FILE",
        ),
    ] = None
    threads: Annotated[
        int | None,
        fit_option(
            "--threads",
            "The number of threads; by default FINEGOLD_THREADS, otherwise one per core.",
            min=1,
            metavar="N",
        ),
    ] = None
    engine: Annotated[str, fit_option("--engine", "Where the fit runs.", metavar=ENGINE_CHOICES)] = "local"
    scheduler: Annotated[
        str | None,
        fit_option(
            "--scheduler",
            "The cluster for --engine dask, e.g. tcp://10.0.0.1:8786; by default a local cluster is started.",
            metavar="ADDRESS",
        ),
    ] = None
    checkpoint: Annotated[
        str | None,
        fit_option("--checkpoint", "Save unfinished work to this file, every minute and on Ctrl-C.", metavar="FILE"),
    ] = None
    resume: Annotated[bool, fit_option("--resume", "Continue from --checkpoint, if the file exists.")] = False
    overwrite: Annotated[bool, fit_option("--overwrite", "Discard the work of an earlier run in --checkpoint.")] = False

    @property
    def predictions_files(self) -> list[str]:
        return self.predictions or []

    def run_fields(self) -> dict[str, Any]:
        """Return the options as fields of a `Job`."""
        return {one.name: getattr(self, one.name) for one in fields(Execution)}


@dataclass(frozen=True)
class Fitting(Execution):
    """Options for fitting a method."""

    settings: Setting = None
    seed: Annotated[
        int | None, fit_option("--seed", "The seed of methods that draw random numbers.", min=0, metavar="N")
    ] = None
    paper: Annotated[
        bool,
        fit_option("--paper", "Use the settings of the tables in the PTBCC paper instead of the recommended ones."),
    ] = False

    def run(self, files: list[str], reading: Reading, method: str | None, gold: str | bool | None, **more: Any) -> Job:
        """Return the job of one method."""
        chosen = method_from_options(method or DEFAULT_METHOD, self.settings, self.seed, paper=self.paper)
        return reading.run(files, gold, method=chosen, **self.run_fields(), **more)

    def options(self) -> dict[str, Any]:
        """Return the values by option name, without --threads, which is also allowed with a saved model."""
        given = {name: value for name, value in self.run_fields().items() if name not in ("threads", "engine")}
        engine = None if self.engine == "local" else self.engine
        return {"set": self.settings, "seed": self.seed, "paper": self.paper, "engine": engine, **given}


READING, GOLD, EXECUTION, FITTING = Reading(), Gold(), Execution(), Fitting()
