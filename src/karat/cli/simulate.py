"""karat simulate: votes and truths from the generative process of PTBCC's paper."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from karat.cli.options import listed
from karat.errors import InputError

__all__ = ["simulate"]


class Format(StrEnum):
    csv = "csv"
    parquet = "parquet"
    jsonl = "jsonl"


def simulate(
    out: Annotated[
        str, typer.Option("--out", metavar="DIR|FILE", help="A folder for votes and truth, or the file of votes.")
    ],
    tasks: Annotated[int, typer.Option("--tasks", help="How many tasks.")] = 1000,
    annotators: Annotated[int, typer.Option("--annotators", help="How many annotators.")] = 50,
    classes: Annotated[int | None, typer.Option("--classes", help="How many classes.  [default: 4]")] = None,
    class_names: Annotated[
        str | None, typer.Option("--class-names", metavar="A,B,C", help="Their names; else they are numbered.")
    ] = None,
    votes_per_task: Annotated[float, typer.Option("--votes-per-task", help="Votes per task, on average.")] = 5.0,
    activity_spread: Annotated[
        float, typer.Option("--activity-spread", help="How unevenly active annotators are; 0: all alike.")
    ] = 1.0,
    prototypes: Annotated[
        str,
        typer.Option(
            "--prototypes",
            metavar="N|FILE",
            help="How many prototypes, or a JSON file of matrices (truth in rows, votes in columns).",
        ),
    ] = "2",
    prototype_weights: Annotated[
        str | None,
        typer.Option("--prototype-weights", metavar="X,Y", help="How common they are; by default alike."),
    ] = None,
    annotator_concentration: Annotated[
        float,
        typer.Option("--annotator-concentration", help="Small: annotators follow one prototype each; large: all."),
    ] = 2.0,
    imbalance: Annotated[
        float,
        typer.Option("--imbalance", help="How many times the rarest class the most frequent one is."),
    ] = 1.0,
    missing: Annotated[float, typer.Option("--missing", help="Share of votes without a label.")] = 0.0,
    seed: Annotated[int, typer.Option("--seed", help="Same seed, same files.")] = 0,
    format: Annotated[
        Format | None, typer.Option("--format", help="Of the tables.  [default: csv, or by the extension]")
    ] = None,
) -> None:
    """Draw votes and truths from the generative process of PTBCC's paper."""
    from karat.votes.simulation import draw_process

    names = listed(class_names)
    process = draw_process(
        annotators,
        _n_classes(classes, names),
        votes_per_task=votes_per_task,
        **_prototypes(prototypes),
        prototype_weights=_numbers(prototype_weights),
        annotator_concentration=annotator_concentration,
        imbalance=imbalance,
        activity_spread=activity_spread,
        missing=missing,
        seed=seed,
    )
    _write(process, tasks, names, out, format, prototypes)


def _n_classes(number: int | None, names: list[str] | None) -> int:
    if names is None:
        return 4 if number is None else number
    if len(set(names)) < len(names) or "" in names:
        raise InputError("--class-names must be different names")
    if number not in (None, len(names)):
        raise InputError(f"--classes is {number} but --class-names has {len(names)} names")
    return len(names)


def _prototypes(text: str) -> dict[str, Any]:
    """A number, or the matrices of a file."""
    import json

    if text.isdecimal():
        return {"n_prototypes": int(text)}
    try:
        return {"prototypes": json.loads(Path(text).read_bytes())}
    except OSError as error:
        raise InputError(f"--prototypes: {text} is no number and cannot be read ({error.strerror})") from None
    except ValueError:
        raise InputError(f"{text} is not JSON; expected a list of matrices of numbers") from None


def _numbers(text: str | None) -> list[float] | None:
    try:
        return [float(part) for part in listed(text) or []] or None
    except ValueError:
        raise InputError(f"--prototype-weights must be numbers with commas between them, not {text!r}") from None


def _write(
    process: Any, n_tasks: int, names: list[str] | None, out: str, format: Format | None, prototypes: str
) -> None:
    from karat.cli.outputs import check_outputs
    from karat.cli.stream import places, write_simulation
    from karat.cli.words import count, say
    from karat.system.files import prepared

    votes, truth, kind = places(out, format.value if format else None)
    with prepared(votes.parent):
        check_outputs([], [str(votes), str(truth)], [prototypes])
        n_votes = write_simulation(process, n_tasks, names, votes, truth, kind)
    say(f"wrote {votes} ({count(n_votes, 'vote')}) and {truth} ({count(n_tasks, 'truth')})")
