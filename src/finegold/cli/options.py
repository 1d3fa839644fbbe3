"""The options of commands, and the votes or the result that they name.

Options of reading and fitting are made from `ReadOptions` and `FitOptions`: `declared` adds a
command's options from the fields of such a dataclass, and the command gets the dataclass, filled
in. Options of the command line alone, which several commands share, are declared here.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from finegold.api.options import FitOptions
from finegold.cli.outputs import (
    print_left_out,
    reading_progress,
    report_error,
    showing_warnings,
    shown_name,
)
from finegold.errors import FinegoldError, InputError, Placeholder, Remedy, in_python
from finegold.io.options import ReadOptions
from finegold.methods.lookup import DEFAULT_METHOD
from finegold.options import Option, Options, option, options_of

if TYPE_CHECKING:
    from finegold.api.fit import Progress
    from finegold.api.result import Result
    from finegold.methods.base import Method
    from finegold.votes.annotations import Annotations

Function = Callable[..., None]
Decorator = Callable[[Function], Function]

# ---- Commands and options


class ListedOption(click.Option):
    """An option that help lists under the heading `group`; `is_declared` if a dataclass has it."""

    def __init__(
        self, *names: Any, group: str = "", is_declared: bool = False, **more: Any
    ) -> None:
        super().__init__(*names, **more)
        self.group, self.is_declared = group, is_declared


class Command(click.Command):
    """A command whose options are listed by group, and whose errors and warnings are worded for the
    command line that was typed.
    """

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                heading = getattr(param, "group", "") or "Options"
                groups.setdefault(heading, []).append(record)
        # --help is the last of the first group
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def invoke(self, ctx: click.Context) -> Any:
        takes_value = {
            flag: not getattr(param, "is_flag", False)
            for param in self.params
            for flag in (*param.opts, *param.secondary_opts)
        }
        line = CommandLine(ctx.obj or (), takes_value)
        try:
            with showing_warnings(line.word):
                return super().invoke(ctx)
        except (FinegoldError, KeyboardInterrupt, OSError, EOFError, MemoryError) as error:
            # Click would print other messages
            raise click.exceptions.Exit(report_error(error, line)) from error


def command(function: Function) -> Command:
    """Make a command of a function and of the options that its decorators declare."""
    made: Command = click.command(function.__name__.replace("_", "-"), cls=Command)(function)
    return made


def opt(*flags: str, help: str, **more: Any) -> Decorator:
    """Declare an option, by default for a file to write."""
    if not more.keys() & {"is_flag", "type", "metavar"}:
        more["metavar"] = "OUT"
    return click.option(*flags, cls=ListedOption, help=help, **more)


def switch(*flags: str, help: str, **more: Any) -> Decorator:
    """Declare an option without a value."""
    return opt(*flags, help=help, is_flag=True, **more)


def declared(
    kind: type,
    parameter: str,
    *,
    only: Iterable[str] = (),
    but: Iterable[str] = (),
    required: Iterable[str] = (),
    **defaults: Any,
) -> Decorator:
    """Add the options of a dataclass to a command, which gets them as `parameter`, filled in.

    `only` and `but` name options that the command has or does not have, `required` those that it
    needs; `defaults` are those that differ here.
    """
    options = {
        name: replace(about, required=True) if name in required else about
        for name, about in options_of(kind, "cli").items()
        if name not in but and (name in only or not only)
    }
    usual = {each.name: each.default for each in fields(kind)} | defaults
    # the page of options has them
    is_listed = issubclass(kind, Options)

    def add(function: Function) -> Function:
        @wraps(function)
        def fill_and_run(**texts: Any) -> None:
            values = {}
            for name, about in options.items():
                value = _value(name, about, texts.pop(name))
                for flag, constant in about.constants.items():
                    if texts.pop(_parameter(flag)):
                        if value is not None:
                            raise InputError(
                                f"{about.flag_of(name)} and {flag} cannot be combined; leave one"
                                " of them out"
                            )
                        value = constant.value
                if value is not None:
                    values[name] = value
            if values.get("layout") == "wide" and isinstance(values.get("annotator"), str):
                values["annotator"] = split_commas(values["annotator"])
            function(**texts, **{parameter: kind(**(defaults | values))})

        for name, about in reversed(options.items()):
            for flag, constant in about.constants.items():
                more = {"group": constant.group, "is_declared": is_listed}
                switch(flag, _parameter(flag), help=constant.help, **more)(fill_and_run)
            _option_of(name, about, usual[name], is_listed)(fill_and_run)
        return fill_and_run

    return add


def _parameter(flag: str) -> str:
    return flag[2:].replace("-", "_")


def _option_of(name: str, about: Option, usual: Any, is_listed: bool) -> Decorator:
    """Return the option of Click. It has no default: what is not given is left to the dataclass."""
    flags, help = (about.flag or about.flag_of(name)).split(), about.help
    more: dict[str, Any] = {"group": about.group, "is_declared": is_listed}
    # an option with a default, even None, is never missing
    more |= {"required": True} if about.required else {"default": None}
    if usual not in (None, "", ()) and not isinstance(usual, bool) and "by default" not in help:
        help += f"  [default: {usual}]"
    if about.kind == "flag":
        more["is_flag"] = True
    elif about.kind == "switch":
        flags, more["is_flag"] = [f"{flags[0]}/--no-{flags[0][2:]}"], True
    elif about.kind == "number":
        is_float = type(usual) is float
        number: Any = float if is_float else int
        if about.low is not None or about.high is not None:
            bounded: Any = click.FloatRange if is_float else click.IntRange
            number = bounded(about.low, about.high)
        more |= {"type": number, "metavar": about.metavar or "N"}
    elif about.kind == "choice":
        more["type"] = click.Choice(about.choices)
    else:
        outputs = {"table": "OUT", "output": "OUT", "path": "FILE", "paths": "FILE"}
        more["metavar"] = about.metavar or outputs.get(about.kind, "TEXT")
        more["multiple"] = about.kind in ("list", "pairs", "paths")
        if about.choices:
            more["shell_complete"] = completing(about.choices)
    return opt(*flags, name, help=help, **more)


def _value(name: str, about: Option, given: Any) -> Any:
    """Return the value that was given, or None."""
    if given is None or given == ():
        return None
    if about.kind == "flag":
        return given or None
    if about.kind == "list":
        return split_commas(",".join(given))
    if about.kind == "paths":
        return list(given)
    if about.kind != "pairs":
        return given
    pairs, flag = {}, about.flag_of(name)
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            usage = f"{flag} takes {about.metavar}, e.g. {flag} {about.example}"
            raise InputError(f"{usage}, not {pair!r}")
        pairs[key.strip().replace("-", "_")] = value
    return pairs


def split_commas(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def completing(names: Iterable[str]) -> Any:
    """Return a function that offers these names to the shell, also for the last name of a list with
    commas.
    """

    def complete(ctx: click.Context, param: click.Parameter, word: str) -> list[CompletionItem]:
        before, comma, last = word.rpartition(",")
        found = [name for name in names if name.startswith(last.lower())]
        return [CompletionItem(f"{before}{comma}{name}") for name in found]

    return complete


# ---- Options of the command line alone, which commands declare as fields of a dataclass

OUTPUT = "-o --output"


def table(help: str, **about: Any) -> Any:
    """Declare a table to write."""
    return option(None, help, kind="table", **about)


def output(help: str, **about: Any) -> Any:
    """Declare another file to write."""
    return option(None, help, kind="output", **about)


def path(help: str, **about: Any) -> Any:
    """Declare a file to read."""
    return option(None, help, kind="path", **about)


def text(default: Any, help: str, metavar: str, **about: Any) -> Any:
    return option(default, help, metavar=metavar, **about)


def number(default: Any, help: str, metavar: str = "N", **about: Any) -> Any:
    return option(default, help, kind="number", metavar=metavar, **about)


def choice(default: Any, help: str, *choices: str, **about: Any) -> Any:
    return option(default, help, kind="choice", choices=choices, **about)


def flag(help: str, **about: Any) -> Any:
    return option(False, help, kind="flag", **about)


def json_flag() -> Any:
    return flag("Print JSON on standard output.")


@dataclass(frozen=True)
class Truths:
    """Known truths, to compare labels with."""

    truth: str | None = path(
        "Known truths to compare with: a table with a task and a truth column."
    )
    truth_task: str | None = text(None, "The column of the tasks in --truth.", "NAME")
    truth_label: str | None = text(None, "The column of the truths in --truth.", "NAME")

    def read(self) -> Any:
        """Read the truths. Commands do this before the fit, so that errors are found early."""
        return truths_of(self.truth, self.truth_task, self.truth_label)


FILES = (
    "Votes: a CSV, TSV, JSONL (also .gz, .zst), Parquet or Excel file, a glob pattern, a folder,"
    " the address of a database, or - for standard input."
)


def votes_argument(metavar: str = "FILE...", help: str = FILES) -> Decorator:
    return click.argument("files", nargs=-1, required=True, metavar=metavar, help=help)


votes_or_model = votes_argument(
    "FILE|MODEL...", "Votes, as for finegold aggregate, or a model written by --save."
)
json_option = switch("--json", help="Print JSON on standard output.")


# ---- Methods with their settings


def chosen_methods(listed: list[str] | None, fit: FitOptions, default: list[str]) -> list[Method]:
    """Return the methods that an option lists. If there are several, each gets the settings that it
    has.
    """
    listed = listed or default
    methods = [chosen_method(fit, name, only_known=len(listed) > 1) for name in listed]
    for setting in fit.settings or {}:
        if not any(setting in method.settings for method in methods):
            raise InputError(f"none of {', '.join(listed)} has a setting {setting}")
    return methods


def chosen_method(fit: FitOptions, name: str | None = None, *, only_known: bool = False) -> Method:
    """Return a method, by default that of the command line, with the settings of the command line.

    With only_known, settings that it does not have are left out.
    """
    from finegold.methods.lookup import make_method, method_class, no_setting

    name = name or str(fit.method or DEFAULT_METHOD)
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
                kept.append(shown_name(word))
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


def progress(on_read: Callable[[Annotations], None] | None = None) -> Progress:
    """Return what shows progress if standard error is a terminal, and what is told of the votes."""
    from finegold.api.fit import Progress
    from finegold.fitting.progress import on_terminal

    shown = Progress(reading_progress, on_terminal) if sys.stderr.isatty() else Progress()
    return shown if on_read is None else shown._replace(on_read=on_read)


def typed(fit: FitOptions) -> FitOptions:
    """Return the options with the method itself, whose settings have the types that it takes."""
    return replace(fit, method=chosen_method(fit), settings=None)


def result_of(
    files: tuple[str, ...], reading: ReadOptions, fit: FitOptions, otherwise: str = DEFAULT_METHOD
) -> Result:
    """Load the saved result, or read the votes and fit the method."""
    from finegold.api.fit import fit_votes

    given = [name for name in fit.given() if name != "threads"]
    if (result := _load_model(files, reading, given)) is not None:
        return result
    if reading.every_question:
        raise InputError(
            "this command works with one question only; choose it with --question NAME"
        )
    chosen = typed(replace(fit, method=fit.method or otherwise))
    return fit_votes(list(files), chosen, reading, progress(print_left_out))


def results_of(
    files: tuple[str, ...], reading: ReadOptions, fit: FitOptions, methods: list[Method]
) -> list[Result]:
    """Read the votes and fit several methods to them."""
    from finegold.api.fit import fit_each

    return fit_each(
        list(files), methods, replace(fit, settings=None), reading, progress(print_left_out)
    )


def votes_or_saved(files: tuple[str, ...], reading: ReadOptions) -> Annotations | Result:
    """Load the saved result, or read the votes and print what was left out."""
    from finegold.api.fit import read_votes

    result = _load_model(files, reading)
    single = replace(reading, multi=bool(reading.multi))
    return (
        read_votes(list(files), single, None, progress(print_left_out))
        if result is None
        else result
    )


def _load_model(
    files: tuple[str, ...], reading: ReadOptions, given: Iterable[str] = ()
) -> Result | None:
    """Return the result if FILE is a model. Options that need votes are refused then."""
    from finegold.api.fit import given_result, refuse_for_model

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
