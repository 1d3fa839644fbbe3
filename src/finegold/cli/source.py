"""The input of a command: votes or a saved result."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from finegold.cli import options as o
from finegold.errors import InputError
from finegold.io.databases import is_database, parse

if TYPE_CHECKING:
    from finegold.api.job import Run
    from finegold.api.result import Result
    from finegold.results.multi import MultiResult
    from finegold.votes.annotations import Annotations

__all__ = [
    "any_result_of",
    "command_line",
    "inputs_of",
    "outputs_of",
    "result_of",
    "title_of",
    "truths_of",
    "votes_or_saved",
]


def result_of(files: list[str], reading: o.Reading, fitting: o.Fitting, method: str | None, known: o.Gold) -> Result:
    """Load the saved result, or read the votes and fit the method."""
    from finegold.api.job import run, saved

    result = saved(files)
    wanted = _checked(result, files, reading, fitting, method, known)
    return run(wanted) if result is None else result


def any_result_of(
    files: list[str], reading: o.Reading, fitting: o.Fitting, method: str | None, known: o.Gold
) -> Result | MultiResult:
    """Do the same for a command that also takes sets of labels."""
    from finegold.api.job import run_any, saved_any

    result = saved_any(files)
    wanted = _checked(result, files, reading, fitting, method, known)
    return run_any(wanted) if result is None else result


def _checked(
    result: Any, files: list[str], reading: o.Reading, fitting: o.Fitting, method: str | None, known: o.Gold
) -> Run:
    """Return the run. Options that need votes are refused with a saved result."""
    from finegold.api.job import refuse_for_model
    from finegold.cli.outputs import print_left_out

    if result is not None:
        gold = {"--gold": known.gold, "--gold-from-export": known.gold_from_export}
        refuse_for_model({"--method": method, **fitting.options(), **gold, **reading.options()})
    elif reading.reads_all_questions:
        raise InputError("this command works with one question only; choose it with --question NAME")
    return fitting.run(files, reading, method, known.given(), on_read=print_left_out)


def votes_or_saved(files: list[str], reading: o.Reading) -> Annotations | Result:
    """Load the saved result, or read the votes and print what was left out."""
    from finegold.api.job import refuse_for_model, saved
    from finegold.cli.outputs import print_left_out

    if (result := saved(files)) is not None:
        refuse_for_model(reading.options())
        return result
    votes = reading.read(files)
    print_left_out(votes)
    return votes


def inputs_of(
    files: list[str], *others: str | None, reading: o.Reading | None = None, fitting: o.Execution | None = None
) -> list[str]:
    """Return the input files, which no output may replace, with those that options for reading and fitting name."""
    named = [*others, reading.alias if reading else None, fitting.prior if fitting else None]
    return [*files, *(fitting.predictions_files if fitting else []), *(name for name in named if name is not None)]


def outputs_of(execution: o.Execution) -> list[str]:
    """Return the files that the fit itself writes."""
    return [] if execution.checkpoint is None else [execution.checkpoint]


def truths_of(path: str | None, task: str | None = None, label: str | None = None) -> Any:
    """Read the truths. Commands do this before the fit, so that errors are found early."""
    from finegold.io.read import read_truth

    return None if path is None else read_truth(path, task=task, label=label)


def title_of(files: list[str]) -> str:
    """Return a title such as "votes.csv" or "votes.csv and 2 more"."""
    first = parse(files[0]).name if is_database(files[0]) else Path(files[0]).name or files[0]
    first = "standard input" if first == "-" else first
    return first if len(files) == 1 else f"{first} and {len(files) - 1:,} more"


def command_line(context: typer.Context) -> str:
    """Return the command line, without passwords of databases."""
    words = ["finegold", context.info_name or ""]
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE":
            words += _arguments(parameter, context.params[parameter.name or ""])
    return shlex.join(words)


def _arguments(parameter: Any, value: Any) -> list[str]:
    """Return the command-line arguments that set this parameter."""
    values = [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]
    if parameter.param_type_name == "argument":
        return [parse(one).name if is_database(one) else one for one in values]
    option = parameter.opts[0]
    return [option] if value is True else [word for one in values for word in (option, one)]
