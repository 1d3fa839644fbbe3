"""Options that several commands share, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.engines.registry import ENGINES
from karat.errors import InputError
from karat.io.formulas import ESCAPE
from karat.methods.registry import REGISTRY

if TYPE_CHECKING:
    from karat.methods import Method
    from karat.votes.annotations import Annotations

__all__ = ["METHODS", "Reading", "listed", "make", "setting_names", "several"]

METHODS = ", ".join(REGISTRY)
WHERE = "|".join(ENGINES)
COLUMNS = "Columns and labels"

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Votes: CSV, TSV, JSONL (also .gz, .zst), Parquet, Excel, a pattern, folder or database; - for stdin.",
        show_default=False,
    ),
]
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
        help="Labels that mean 'no vote' beside blank; by default NA, null, NaN.",
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
Prior = Annotated[
    str | None,
    typer.Option("--prior", metavar="MODEL", help="A saved model: what it knows of annotators who vote again."),
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="A setting of the method, e.g. max_iterations=100. Can be repeated."
    ),
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, help="Threads to use; by default KARAT_THREADS, else one per core."),
]
Engine = Annotated[str, typer.Option("--engine", metavar=WHERE, help="Where the work is done.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Of the cluster that --engine dask uses, e.g. tcp://10.0.0.1:8786; else one is started here.",
    ),
]
Seed = Annotated[int | None, typer.Option("--seed", min=0, help="Seed of methods that draw random numbers.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


@dataclass(frozen=True)
class Reading:
    """How the votes are read."""

    files: list[str]
    task: str | None
    annotator: str | None
    label: str | None
    wide: bool
    classes: str | None
    missing: str | None
    repeated: str
    selection: dict[str, Any] = field(default_factory=dict)  # from a database or an export

    def read(self, gold: str | bool | None = None) -> Annotations:
        from karat.cli.words import reading_progress
        from karat.io.readers import read

        annotator: Any = self.annotator
        with reading_progress() as watch:
            return read(
                self.files,
                annotator=listed(annotator) if self.wide and annotator else annotator,
                label=self.label,
                wide=self.wide,
                watch=watch,
                **self._common(gold),
            )

    def read_each(self, gold: str | bool | None = None) -> dict[str, Annotations]:
        """The votes for every question of an export."""
        from karat.cli.words import reading_progress
        from karat.io.readers import read_each

        if self.annotator or self.label or self.wide:
            raise InputError("--annotator, --label and --wide are for plain tables, which ask one question")
        with reading_progress() as watch:
            return read_each(self.files, watch=watch, **self._common(gold))

    def _common(self, gold: str | bool | None) -> dict[str, Any]:
        return {
            "task": self.task,
            "gold": gold,
            "classes": listed(self.classes),
            "missing": listed(self.missing),
            "repeated": self.repeated,  # checked by the reader
            **{name: value for name, value in self.selection.items() if value},
        }


def listed(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def several(given: list[str] | None) -> list[str]:
    """The values of an option that takes commas and can be repeated."""
    return [name for text in given or [] for name in listed(text) or []]


def make(name: str, given: list[str] | None, seed: int | None, *, only_known: bool = False) -> Method:
    """The method with the settings from the command line; with only_known, those it does not have are left out."""
    from karat.methods import current_settings, make_method, method_class, no_setting

    chosen = method_class(name)
    defaults = chosen().settings
    settings = current_settings(name, dict(_pair(text) for text in given or []))
    unknown = [key for key in settings if key not in defaults]
    if unknown and not only_known:
        raise no_setting(chosen.name, unknown[0])
    values = {key: _value(key, text, defaults[key]) for key, text in settings.items() if key in defaults}
    if seed is not None:
        values["seed"] = seed
    return make_method(name, values)


def setting_names(given: list[str] | None) -> list[str]:
    return [_pair(text)[0] for text in given or []]


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"--set takes NAME=VALUE, e.g. --set max_iterations=100, not {text!r}")
    return name.strip().replace("-", "_"), value.strip()


def _value(name: str, text: str, default: Any) -> Any:
    """The text as the kind of value that the setting has."""
    import json

    try:
        if isinstance(default, str):
            return text
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        if isinstance(default, int | float):
            return type(default)(text)
        return json.loads(text)
    except (ValueError, KeyError):
        kind = {bool: "true or false", int: "a whole number", float: "a number"}.get(type(default), "JSON")
        raise InputError(f"--set {name}: expected {kind}, found {text!r}") from None
