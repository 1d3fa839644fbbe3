"""What report and plot show: a result that was saved, or one made of votes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli import options as o
from karat.cli.exports import ALL
from karat.errors import InputError
from karat.io.databases import is_database, parse
from karat.methods.registry import DEFAULT_METHOD

if TYPE_CHECKING:
    from karat.api.result import Result
    from karat.votes.annotations import Annotations

__all__ = [
    "Gold",
    "Method",
    "Source",
    "Truth",
    "command_line",
    "refuse_for_model",
    "result_of",
    "title_of",
    "truths_of",
    "votes_or_saved",
]

Source = Annotated[
    list[str],
    typer.Argument(metavar="FILE|MODEL", help="Votes, as for aggregate; or what --save kept.", show_default=False),
]
Method = Annotated[
    str | None,
    typer.Option("--method", metavar="M", help=f"For votes: one of {o.METHODS}.  [default: {DEFAULT_METHOD}]"),
]
Gold = Annotated[
    str | None,
    typer.Option("--gold", metavar="FILE", help="Known truths that teach the method, or a column of FILE with them."),
]
Truth = Annotated[str | None, typer.Option("--truth", metavar="FILE", help="Known truths to judge the labels by.")]


def result_of(
    reading: o.Reading, method: str | None, settings: list[str] | None, seed: int | None, threads: int | None, gold: Any
) -> Result:
    """The saved result, or that of the votes."""
    from karat.api.fit import fit
    from karat.api.result import load
    from karat.cli.summary import tell_left_out
    from karat.cli.words import progress
    from karat.results.archive import is_saved_result

    if len(reading.files) == 1 and is_saved_result(reading.files[0]):
        refuse_for_model(reading, method=method, set=settings, seed=seed, gold=gold)
        return load(reading.files[0])
    if reading.selection.get("question") == ALL:
        raise InputError("this shows one question; choose it with --question NAME")
    chosen = o.make(method or DEFAULT_METHOD, settings, seed)
    votes = reading.read(gold)
    tell_left_out(votes)
    with progress(chosen.name) as watch:
        return fit(chosen, votes, threads=threads, watch=watch)


def votes_or_saved(reading: o.Reading) -> Annotations | Result:
    """The saved result, or the votes, of which is said what was left out."""
    from karat.api.result import load
    from karat.cli.summary import tell_left_out
    from karat.results.archive import is_saved_result

    if len(reading.files) == 1 and is_saved_result(reading.files[0]):
        refuse_for_model(reading)
        return load(reading.files[0])
    votes = reading.read()
    tell_left_out(votes)
    return votes


def truths_of(path: str | None) -> Any:
    """Read before the long work, so that a mistake in them is found before it."""
    from karat.io.readers import read_truth

    return None if path is None else read_truth(path)


def title_of(files: list[str]) -> str:
    """votes.csv, or votes.csv and 2 more."""
    first = parse(files[0]).name if is_database(files[0]) else Path(files[0]).name or files[0]
    first = "standard input" if first == "-" else first
    return first if len(files) == 1 else f"{first} and {len(files) - 1:,} more"


def command_line(context: typer.Context) -> str:
    """What was asked for, so that it can be asked again; without the password of a database."""
    words = ["karat", context.info_name or ""]
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is not None and source.name == "COMMANDLINE":
            words += _words(parameter, context.params[parameter.name or ""])
    return shlex.join(words)


def _words(parameter: Any, value: Any) -> list[str]:
    """The words that gave this parameter its value."""
    values = [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]
    if parameter.param_type_name == "argument":
        return [parse(one).name if is_database(one) else one for one in values]
    option = parameter.opts[0]
    return [option] if value is True else [word for one in values for word in (option, one)]


def refuse_for_model(reading: o.Reading, **options: Any) -> None:
    """What is for votes only."""
    columns = {name: getattr(reading, name) for name in ("task", "annotator", "label", "wide", "classes", "missing")}
    options |= {**columns, **reading.selection}
    given = [name for name, value in options.items() if value]
    if given:
        raise InputError(f"--{given[0]} is for votes, and this model is fitted already; leave it out")
