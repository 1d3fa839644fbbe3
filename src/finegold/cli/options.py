"""The options of commands, and the votes or the model that they name.

A command is a class: its fields are its options, and `run` does the work. Commands on votes
(`on_votes`) get them as `Votes`, with the options of reading and fitting, after the outputs that
their options name have been checked.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click

from finegold.api.options import FitOptions
from finegold.cli.outputs import (
    check_outputs,
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
    """An option that help lists under the heading `group`; the page of options has it if it
    `is_listed` there.
    """

    def __init__(self, *names: Any, group: str = "", is_listed: bool = False, **more: Any) -> None:
        super().__init__(*names, **more)
        self.group, self.is_listed = group, is_listed


class Command(click.Command):
    """A command whose options are listed by group, and whose errors and warnings are worded for the
    command line that was typed.
    """

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (record := param.get_help_record(ctx)):
                groups.setdefault(getattr(param, "group", "") or "Options", []).append(record)
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


def declared(
    kind: type, parameter: str, names: Iterable[str] | None = None, **defaults: Any
) -> Decorator:
    """Add the options of a dataclass, or those with these names, to a command, which gets the
    dataclass as `parameter`, filled in. `defaults` are those that differ here.
    """
    options = options_of(kind, "cli")
    options = {name: options[name] for name in (options if names is None else names)}
    usual = {each.name: each.default for each in fields(kind)} | defaults
    is_listed = issubclass(kind, Options)

    def add(function: Function) -> Function:
        @wraps(function)
        def fill_and_run(**texts: Any) -> None:
            values = {name: _value(name, each, texts.pop(name)) for name, each in options.items()}
            given = {name: value for name, value in values.items() if value is not None}
            if given.get("layout") == "wide" and isinstance(given.get("annotator"), str):
                given["annotator"] = split_commas(given["annotator"])
            function(**texts, **{parameter: kind(**(defaults | given))})

        for name, about in reversed(options.items()):
            _option_of(name, about, usual[name], is_listed)(fill_and_run)
        return fill_and_run

    return add


def _option_of(name: str, about: Option, usual: Any, is_listed: bool) -> Decorator:
    """Return the option of Click. It has no default: what is not given is left to the dataclass."""
    flags, help = (about.flag or about.flag_of(name)).split(), about.help
    more: dict[str, Any] = {"group": about.group, "is_listed": is_listed}
    # an option with a default, even None, is never missing
    more |= {"required": True} if about.required else {"default": None}
    if usual not in (None, "", ()) and not isinstance(usual, bool) and "by default" not in help:
        help += f"  [default: {usual}]"
    if about.kind in ("flag", "switch"):
        more["is_flag"] = True
        flags = flags if about.kind == "flag" else [f"{flags[0]}/--no-{flags[0][2:]}"]
    elif about.kind == "number":
        is_float = float in (type(usual), type(about.low))
        kind: Any = click.FloatRange if is_float else click.IntRange
        has_range = about.low is not None or about.high is not None
        plain = float if is_float else int
        more["type"] = kind(about.low, about.high) if has_range else plain
        more["metavar"] = about.metavar or "N"
    elif about.kind == "choice":
        more["type"] = click.Choice(about.choices)
    else:
        outputs = {"table": "OUT", "output": "OUT", "path": "FILE", "paths": "FILE"}
        more["metavar"] = about.metavar or outputs.get(about.kind, "TEXT")
        more["multiple"] = about.kind in ("list", "pairs", "paths", "texts")
    return click.option(*flags, name, cls=ListedOption, help=help, **more)


def _value(name: str, about: Option, given: Any) -> Any:
    """Return the value that was given, or None."""
    if given is None or given == () or (about.kind == "flag" and not given):
        return None
    if about.kind == "list":
        return split_commas(",".join(given))
    if about.kind in ("paths", "texts"):
        return list(given)
    if about.kind != "pairs":
        return about.words.get(given, given)
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


# ---- Fields of the dataclasses of single commands

OUTPUT = "-o --output"


# a table or another file to write, a file to read, and so on
table = partial(option, None, kind="table")
output = partial(option, None, kind="output")
path = partial(option, None, kind="path")
number = partial(option, kind="number", metavar="N")
choice = partial(option, kind="choice")
flag = partial(option, False, kind="flag")
json_flag = partial(flag, "Print JSON on standard output.")


@dataclass(frozen=True)
class Truths:
    """Known truths, to compare labels with."""

    truth: str | None = path("Known truths to compare with: a table of tasks and truths.")
    truth_task: str | None = option(None, "The column of the tasks in --truth.", metavar="NAME")
    truth_label: str | None = option(None, "The column of the truths in --truth.", metavar="NAME")

    def read_truth(self) -> Any:
        """Read the truths. Commands do this before the fit, so that errors are found early."""
        return truths_of(self.truth, self.truth_task, self.truth_label)


def truths_of(
    path: str | None, task: str | None = None, label: str | None = None, prefix: str = "truth-"
) -> Any:
    from finegold.io.truth import read_truth

    return None if path is None else read_truth(path, task=task, label=label, prefix=prefix)


# ---- The input of a command: votes or a saved result

FILES = (
    "Votes: a CSV, TSV, JSONL (also .gz, .zst), Parquet or Excel file, a glob pattern, a folder,"
    " the address of a database, or - for standard input."
)
MODEL = "Votes, as for finegold aggregate, or a model written by --save."
OF_FIT = tuple(options_of(FitOptions, "cli"))
# of commands that fit several methods and compare them with truths
OF_FITS = tuple(name for name in OF_FIT if name not in ("method", "gold"))


@dataclass(frozen=True)
class Votes:
    """The votes or the model that a command is given, and how to read and to fit them."""

    files: tuple[str, ...]
    fit: FitOptions
    reading: ReadOptions

    @property
    def typed(self) -> FitOptions:
        """The options with the method itself, whose settings have the types that it takes."""
        return replace(self.fit, method=method_with(self.fit), settings=None)

    def result(self, otherwise: str = DEFAULT_METHOD) -> Result:
        """Load the saved result, or read the votes and fit the method."""
        from finegold.api.fit import fit_votes

        given = [name for name in self.fit.given() if name != "threads"]
        if (result := self._model(given)) is not None:
            return result
        chosen = replace(self, fit=replace(self.fit, method=self.fit.method or otherwise))
        return fit_votes(list(self.files), chosen.typed, self.reading, progress(print_left_out))

    def results(self, names: list[str]) -> list[Result]:
        """Read the votes and fit several methods; each gets the settings that it has."""
        from finegold.api.fit import fit_each

        methods = [method_with(self.fit, name, only_known=len(names) > 1) for name in names]
        for setting in self.fit.settings or {}:
            if not any(setting in method.settings for method in methods):
                raise InputError(f"none of {', '.join(names)} has a setting {setting}")
        fit = replace(self.fit, settings=None)
        return fit_each(list(self.files), methods, fit, self.reading, progress(print_left_out))

    def read(self) -> Annotations | Result:
        """Load the saved result, or read the votes, and print what was left out."""
        from finegold.api.fit import check_one_question

        if (result := self._model()) is not None:
            return result
        check_one_question(self.reading)
        single = replace(self.reading, multi=bool(self.reading.multi))
        return replace(self, reading=single).questions(print_left_out)[""]

    def questions(
        self, on_read: Callable[[Annotations], None] | None = None
    ) -> dict[str, Annotations]:
        """Read the votes by question; "" is the only one without --question all."""
        from finegold.api.fit import read_questions

        return read_questions(list(self.files), self.reading, self.fit.gold, progress(on_read))

    def _model(self, given: Iterable[str] = ()) -> Result | None:
        """Return the result if FILE is a model. Options that need votes are refused then."""
        from finegold.api.fit import given_result, refuse_for_model

        result = given_result(self.files)
        if result is not None:
            of_reading = [name for name in self.reading.given() if name != "repeated"]
            refuse_for_model(dict.fromkeys([*given, *of_reading], True))
        return result


def on_votes(
    argument: Decorator | None = None,
    *,
    model: bool = True,
    fit: Iterable[str] = OF_FIT,
    **defaults: Any,
) -> Callable[[type], Any]:
    """Make a command of a class whose fields are its own options; its `run` gets the `Votes`.

    `model` says whether a saved model will do, `fit` which options of a fit there are, and
    `defaults` which of reading have another default here.
    """

    def make(kind: Any) -> Command:
        def run(files: tuple[str, ...], own: Any, fit: Any, reading: Any, **more: Any) -> None:
            check_outputs(files, own, fit, reading)
            own.run(Votes(files, fit, reading), **more)

        filled = declared(ReadOptions, "reading", **defaults)(run)
        filled = declared(FitOptions, "fit", fit)(filled)
        files = files_argument(MODEL if model else FILES, model)
        return _command_of(kind, argument or files, filled)

    return make


def command_with(
    argument: Decorator = lambda function: function, more: Decorator = lambda function: function
) -> Callable[[type], Any]:
    """Make a command of a class whose fields are its options; its `run` gets the argument, and what
    `more` declares.
    """

    def make(kind: Any) -> Command:
        return _command_of(kind, argument, more(lambda own, **given: own.run(**given)))

    return make


def _command_of(kind: Any, argument: Decorator, run: Function) -> Command:
    name = re.sub("(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()
    filled = declared(dataclass(frozen=True)(kind), "own")(run)
    made: Command = click.command(name, cls=Command, help=kind.__doc__)(argument(filled))
    return made


def files_argument(help: str, model: bool = False) -> Decorator:
    metavar = "FILE|MODEL..." if model else "FILE..."
    return click.argument("files", nargs=-1, required=True, metavar=metavar, help=help)


def progress(on_read: Callable[[Annotations], None] | None = None) -> Progress:
    """Return what shows progress if standard error is a terminal, and what is told of the votes."""
    from finegold.api.fit import Progress
    from finegold.fitting.progress import on_terminal

    shown = Progress(reading_progress, on_terminal) if sys.stderr.isatty() else Progress()
    return shown if on_read is None else shown._replace(on_read=on_read)


def method_with(fit: FitOptions, name: str | None = None, *, only_known: bool = False) -> Method:
    """Return a method, by default that of the command line, with the settings of the command line.

    With only_known, settings that it does not have are left out.
    """
    from finegold.methods.lookup import make_method, method_class

    name, given = name or str(fit.method or DEFAULT_METHOD), fit.settings or {}
    defaults = method_class(name).defaults()
    known = {key: text for key, text in given.items() if key in defaults}
    values = {key: _setting(key, text.strip(), defaults[key]) for key, text in known.items()}
    return make_method(name, values if only_known else {**given, **values})


def _setting(key: str, text: str, default: Any) -> Any:
    """Return the value of a setting, of the type that its default has."""
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.lower()]
        return type(default)(text) if isinstance(default, str | int | float) else json.loads(text)
    except (ValueError, KeyError):
        kinds = {bool: "true or false", int: "a whole number", float: "a number"}
        kind = kinds.get(type(default), "JSON")
        raise InputError(f"--set {key}: expected {kind}, found {text!r}") from None


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
        if flag not in self.takes_value:
            return f"{in_python(name, value)} in Python"
        shown = text if text is None or isinstance(value, Placeholder) else shlex.quote(text)
        return flag if shown is None else f"{flag} {shown}"

    def repair(self, remedies: Iterable[Remedy]) -> str:
        """Return this command line with the first remedy that can be pasted and that the command
        has, or nothing.
        """
        for remedy in remedies:
            added = {as_flag(name, value)[0] for name, value in remedy.options.items()}
            if remedy.can_be_pasted and self.takes_value.keys() >= added:
                return self.with_options(remedy.options)
        return ""

    def with_options(self, options: Mapping[str, Any]) -> str:
        """Return this command line with these options, ready to paste; None leaves an option out."""
        replaced = {flag for name in options for flag in (as_flag(name, None)[0], _negated(name))}
        kept, rest = ["finegold"], iter(self.words)
        for word in rest:
            flag, has_value, _ = word.partition("=")
            if flag not in replaced:
                kept.append(shown_name(word))
            elif not has_value and self.takes_value.get(flag):
                next(rest, None)
        added = [as_flag(name, value) for name, value in options.items() if value is not None]
        return shlex.join([*kept, *(part for parts in added for part in parts if part is not None)])


def as_flag(name: str, value: Any) -> tuple[str, str | None]:
    """Return the flag of an option of Python, and its value as text, if it takes one: ("multi",
    False) is --no-multi.
    """
    about = DECLARED.get(name, Option(""))
    flag = about.flag_of(name)
    if isinstance(value, bool) and about.kind == "number":
        value = int(value)
    for word, meaning in about.words.items():
        if meaning is value:
            return flag, word
    if value is None or isinstance(value, bool):
        return _negated(name) if value is False else flag, None
    return flag, ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _negated(name: str) -> str:
    return f"--no-{DECLARED.get(name, Option('')).flag_of(name)[2:]}"
