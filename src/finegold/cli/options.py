"""The options of commands, and the votes or the result that they name.

Options of reading and fitting are made from `ReadOptions` and `FitOptions`: `with_groups` replaces
a parameter of a command by the options of such a dataclass, and the command gets the dataclass,
filled in. Options of the command line alone, which several commands share, are declared here.
"""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from finegold.api.options import FitOptions, fit_option
from finegold.cli.outputs import print_left_out, reading_progress
from finegold.errors import InputError, Placeholder, Remedy, in_python
from finegold.io.databases import is_database, parse
from finegold.io.options import ReadOptions
from finegold.methods.registry import REGISTRY
from finegold.options import Option, options_of

if TYPE_CHECKING:
    from finegold.api.job import Job
    from finegold.api.result import Result
    from finegold.methods.base import Method
    from finegold.votes.annotations import Annotations

KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY

# ---- Options that are made from declarations


@dataclass(frozen=True)
class Fit(FitOptions):
    """What every fit takes, and the settings that have options of their own here."""

    seed: int | None = fit_option(
        None, "number", "N", "The seed of methods that draw random numbers.", low=0
    )
    # the names of the options that stand on the command line
    given: tuple[str, ...] = ()


class Group:
    """Options of a command that are the fields of a dataclass. It stands for them in the signature
    of the command.

    `only` and `but` name options that the command has or does not have; `defaults` are those that
    differ here.
    """

    def __init__(
        self, declared: type, *, only: Iterable[str] = (), but: Iterable[str] = (), **defaults: Any
    ) -> None:
        self.declared, names = declared, options_of(declared, "cli")
        self.options = {
            name: about
            for name, about in names.items()
            if name not in but and (name in only or not only)
        }
        self.defaults = {each.name: each.default for each in fields(declared)} | defaults

    def parameters(self) -> Iterator[inspect.Parameter]:
        """Yield the parameters that Typer makes options from."""
        for name, about in self.options.items():
            flag, usual = about.flag_of(name), self.defaults[name]
            kind: Any = str
            default: Any = None
            more: dict[str, Any] = {"help": about.help, "rich_help_panel": about.group or None}
            if about.kind not in ("flag", "switch"):
                more["metavar"] = (
                    "|".join(about.choices) if about.kind == "choice" else about.metavar
                )
            if about.kind == "flag":
                kind, default = bool, False
            elif about.kind == "switch":
                kind, flag, more["show_default"] = bool, f"{flag}/--no-{flag[2:]}", False
            elif about.kind == "number":
                kind = type(usual) if type(usual) in (int, float) else int
                default = usual if type(usual) is kind else None
                more |= {"min": about.low, "max": about.high}
            elif about.kind in ("pairs", "paths"):
                kind = list[str]
            else:
                if about.choices:
                    more["autocompletion"] = completing(about.choices)
                if isinstance(usual, str) and not about.help.endswith(f"by default {usual}."):
                    default = usual
            kind = kind if about.kind == "flag" else kind | None
            made = typer.Option(flag, **more)
            yield inspect.Parameter(
                name, KEYWORD_ONLY, default=default, annotation=Annotated[kind, made]
            )
            for spelling, constant in about.constants.items():
                made = typer.Option(
                    spelling, help=constant.help, rich_help_panel=constant.group or None
                )
                name = spelling[2:].replace("-", "_")
                yield inspect.Parameter(
                    name, KEYWORD_ONLY, default=False, annotation=Annotated[bool, made]
                )

    def fill(self, texts: dict[str, Any], context: typer.Context) -> Any:
        """Return the dataclass with the values that these texts stand for, and remove them from
        `texts`.
        """
        values = dict(self.defaults)
        sources = {name: context.get_parameter_source(name) for name in self.options}
        given = [
            name
            for name, source in sources.items()
            if source is not None and source.name == "COMMANDLINE"
        ]
        for name, about in self.options.items():
            text, spelling = texts.pop(name), about.flag_of(name)
            if about.kind == "list":
                values[name] = values[name] if text is None else split_commas(text)
            elif about.kind == "pairs":
                pairs = {}
                for pair in text or ():
                    key, equals, value = pair.partition("=")
                    if not equals or not key.strip():
                        usage = f"{spelling} takes {about.metavar}, e.g. {spelling} {about.example}"
                        raise InputError(f"{usage}, not {pair!r}")
                    pairs[key.strip().removeprefix(":").replace("-", "_")] = value
                values[name] = pairs or values[name]
            elif about.kind == "paths":
                values[name] = text or values[name]
            elif text is not None:
                values[name] = text
            for other, constant in about.constants.items():
                if texts.pop(other[2:].replace("-", "_")):
                    if name in given:
                        raise InputError(
                            f"{spelling} and {other} cannot be combined; leave one of them out"
                        )
                    values[name] = constant.value
                    given.append(name)
        if "given" in values:
            values["given"] = tuple(given)
        if values.get("layout") == "wide" and isinstance(values["annotator"], str):
            values["annotator"] = split_commas(values["annotator"])
        return self.declared(**values)


READING: Any = Group(ReadOptions)
EVERY_VOTE: Any = Group(ReadOptions, repeated="all")
FIT_ONE: Any = Group(Fit)
# commands whose own --seed is that of a draw
FIT_BESIDE_SEED: Any = Group(Fit, but=("seed",))
# methods that are compared
FIT_SEVERAL: Any = Group(Fit, but=("method", "gold"))


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter whose default is a `Group` by its options.

    Typer sees one parameter per option. The command gets the dataclass of the group, filled in.
    """
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    groups: dict[str, Group] = {
        name: each.default
        for name, each in signature.parameters.items()
        if isinstance(each.default, Group)
    }

    @wraps(command)
    def fill_and_run(*, context: typer.Context, **given: Any) -> None:
        filled = {name: group.fill(given, context) for name, group in groups.items()}
        if "context" in hints:
            filled["context"] = context
        command(**given, **filled)

    parameters = [inspect.Parameter("context", KEYWORD_ONLY, annotation=typer.Context)]
    parameters = [] if "context" in hints else parameters
    for name, each in signature.parameters.items():
        if name in groups:
            parameters += groups[name].parameters()
        else:
            parameters.append(each.replace(kind=KEYWORD_ONLY, annotation=hints[name]))
    fill_and_run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    fill_and_run.__annotations__ = {each.name: each.annotation for each in parameters}
    return fill_and_run


def split_commas(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that offers these names to the shell, also for the last name of a list with
    commas.
    """

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(last.lower())]

    return complete


# ---- Options of the command line alone


def opt(
    help: str,
    *flags: str,
    default: Any = None,
    metavar: str = "OUT",
    panel: str | None = None,
    **more: Any,
) -> Any:
    """Return an option, by default for a file to write. Without flags, the parameter's name is the
    flag.
    """
    return typer.Option(default, *flags, metavar=metavar, help=help, rich_help_panel=panel, **more)


FILES = (
    "Votes: a CSV, TSV, JSONL (also .gz, .zst), Parquet or Excel file, a glob pattern, a folder,"
    " the address of a database, or - for standard input."
)
VOTES_OR_MODEL = "Votes, as for finegold aggregate, or a model written by --save."
SOME_METHODS = f"Some of {', '.join(REGISTRY)}. Can be repeated."

Files = Annotated[list[str], typer.Argument(metavar="FILE", help=FILES, show_default=False)]
Source = Annotated[
    list[str], typer.Argument(metavar="FILE|MODEL", help=VOTES_OR_MODEL, show_default=False)
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "--methods",
        metavar="A,B,C",
        help=SOME_METHODS,
        autocompletion=completing(REGISTRY),
    ),
]
Truth = Annotated[
    str | None,
    typer.Option("--truth", metavar="FILE", help="Known truths to compare the labels with."),
]
TruthTask = Annotated[
    str | None,
    typer.Option("--truth-task", metavar="NAME", help="The column of the tasks in --truth."),
]
TruthLabel = Annotated[
    str | None,
    typer.Option("--truth-label", metavar="NAME", help="The column of the truths in --truth."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]


# ---- Methods with their settings


def chosen_methods(names: list[str] | None, fit: Fit, default: list[str]) -> list[Method]:
    """Return the methods that an option lists. If there are several, each gets the settings that it
    has.
    """
    listed = [name for text in names or [] for name in split_commas(text)] or default
    methods = [chosen_method(fit, name, only_known=len(listed) > 1) for name in listed]
    for setting in fit.settings or {}:
        if not any(setting in method.settings for method in methods):
            raise InputError(f"none of {', '.join(listed)} has a setting {setting}")
    return methods


def chosen_method(fit: Fit, name: str | None = None, *, only_known: bool = False) -> Method:
    """Return a method, by default that of the command line, with the settings of the command line.

    With only_known, settings that it does not have are left out.
    """
    from finegold.methods.lookup import make_method, method_class, no_setting

    name = name or str(fit.method)
    chosen = method_class(name)
    defaults, given = chosen().settings, fit.settings or {}
    unknown = [key for key in given if key not in defaults]
    if unknown and not only_known:
        raise no_setting(chosen.name, unknown[0])
    values: dict[str, Any] = {}
    # a text becomes a value of the type that the setting has
    for key, text in given.items():
        default, text = defaults.get(key), text.strip()
        try:
            if isinstance(default, bool):
                values[key] = {"true": True, "false": False}[text.lower()]
            elif isinstance(default, str | int | float):
                values[key] = type(default)(text)
            elif key in defaults:
                values[key] = json.loads(text)
        except (ValueError, KeyError):
            kind = {bool: "true or false", int: "a whole number", float: "a number"}.get(
                type(default), "JSON"
            )
            raise InputError(f"--set {key}: expected {kind}, found {text!r}") from None
    if fit.seed is not None:
        values["seed"] = fit.seed
    return make_method(name, values)


# ---- Remedies as flags


DECLARED = options_of(ReadOptions) | options_of(FitOptions)


@dataclass(frozen=True)
class CommandLine:
    """The words of a command line, and the flags of its command. Remedies are worded for it."""

    words: tuple[str, ...]
    # by flag
    takes_value: Mapping[str, bool] = field(default_factory=dict)

    def word(self, name: str, value: Any) -> str:
        """Return an option of Python as this command spells it: ("layout", "wide") becomes --layout wide."""
        flag, text = as_flag(name, value)
        # leave out the spelling that was used
        if value is None:
            used = {word.partition("=")[0] for word in self.words}
            flag = next((spelling for spelling in spellings(name) if spelling in used), flag)
        if flag not in self.takes_value:
            return f"{in_python(name, value)} in Python"
        return (
            flag
            if text is None
            else f"{flag} {text if isinstance(value, Placeholder) else shlex.quote(text)}"
        )

    def repair(self, remedies: Iterable[Remedy]) -> str:
        """Return this command line with the first remedy that can be pasted and that the command
        has, or nothing.
        """
        for remedy in remedies:
            added = [
                as_flag(name, value)[0]
                for name, value in remedy.options.items()
                if value is not None
            ]
            if remedy.can_be_pasted and self.takes_value.keys() >= set(added):
                return self.change(remedy.options)
        return ""

    def change(self, options: Mapping[str, Any]) -> str:
        """Return this command line with these options, ready to paste; None leaves an option out."""
        replaced = {spelling for name in options for spelling in spellings(name)}
        kept, rest = ["finegold"], iter(self.words)
        for word in rest:
            flag, has_value, _ = word.partition("=")
            if flag not in replaced:
                kept.append(parse(word).name if is_database(word) else word)
            elif not has_value and self.takes_value.get(flag):
                next(rest, None)
        added = [
            part
            for name, value in options.items()
            if value is not None
            for part in as_flag(name, value)
        ]
        return shlex.join([*kept, *(part for part in added if part is not None)])


def as_flag(name: str, value: Any) -> tuple[str, str | None]:
    """Return the flag of an option of Python, and its value as text, if it takes one: ("header", 0)
    is --no-header.
    """
    declared = DECLARED.get(name, Option(""))
    for flag, constant in declared.constants.items():
        if isinstance(value, int) and value == constant.value:
            return flag, None
    flag = declared.flag_of(name)
    if value is None or value is True:
        return flag, None
    if value is False:
        return f"--no-{flag[2:]}", None
    return flag, ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def spellings(name: str) -> list[str]:
    """Return all flags that give an option of Python, the usual one first."""
    return [
        as_flag(name, None)[0],
        *DECLARED.get(name, Option("")).constants,
        as_flag(name, False)[0],
    ]


# ---- The input of a command: votes or a saved result

# the value of --question that selects all questions
ALL = "all"


def job_of(files: Any, reading: ReadOptions, fit: Fit | None = None, **more: Any) -> Job:
    """Return what is to be read, and what is to be fitted to it, with progress if standard error is
    a terminal.
    """
    from finegold.api.job import Job, Progress
    from finegold.fitting.progress import on_terminal

    if fit is not None:
        options = {each.name: getattr(fit, each.name) for each in fields(FitOptions)} | {
            "settings": None
        }
        more = options | ({} if "method" in more else {"method": chosen_method(fit)}) | more
    progress = Progress(reading_progress, on_terminal) if sys.stderr.isatty() else Progress()
    return Job(files, reading, progress=progress, **more)


def model_or_job(files: list[str], reading: ReadOptions, fit: Fit) -> Result | Job:
    """Load the saved result, or return what is to be read and fitted."""
    if (
        result := _load_model(files, reading, [name for name in fit.given if name != "threads"])
    ) is not None:
        return result
    if reading.question == ALL:
        raise InputError(
            "this command works with one question only; choose it with --question NAME"
        )
    return job_of(files, reading, fit, on_read=print_left_out)


def result_of(files: list[str], reading: ReadOptions, fit: Fit) -> Result:
    """Load the saved result, or read the votes and fit the method."""
    from finegold.api.job import result_for

    return result_for(model_or_job(files, reading, fit), None, {})[0]


def votes_or_saved(files: list[str], reading: ReadOptions) -> Annotations | Result:
    """Load the saved result, or read the votes and print what was left out."""
    result = _load_model(files, reading)
    return (
        job_of(files, reading, on_read=print_left_out).read(may_be_sets=False)
        if result is None
        else result
    )


def _load_model(files: list[str], reading: ReadOptions, given: Iterable[str] = ()) -> Result | None:
    """Return the result if FILE is a model. Options that need votes are refused then."""
    from finegold.api.job import given_result, refuse_for_model

    result = given_result(files)
    if result is not None:
        refuse_for_model(
            dict.fromkeys([*given, *(name for name in reading.given() if name != "repeated")], True)
        )
    return result


def truths_of(
    path: str | None, task: str | None = None, label: str | None = None, prefix: str = "truth-"
) -> Any:
    """Read the truths. Commands do this before the fit, so that errors are found early."""
    from finegold.io.truth import read_truth

    return None if path is None else read_truth(path, task=task, label=label, prefix=prefix)
