"""`finegold simulate`: draw votes and truths from the generative model of the PTBCC paper, or a log of LLM judges."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from finegold.cli.options import split_commas
from finegold.errors import InputError

__all__ = ["simulate"]


class Format(StrEnum):
    csv = "csv"
    parquet = "parquet"
    jsonl = "jsonl"


def simulate(
    out: Annotated[
        str, typer.Option("--out", metavar="DIR|FILE", help="A folder for votes and truths, or the file for the votes.")
    ],
    tasks: Annotated[int, typer.Option("--tasks", metavar="N", help="The number of tasks.")] = 1000,
    annotators: Annotated[int, typer.Option("--annotators", metavar="N", help="The number of annotators.")] = 50,
    classes: Annotated[
        int | None, typer.Option("--classes", metavar="N", help="The number of classes; by default 4.")
    ] = None,
    class_names: Annotated[
        str | None, typer.Option("--class-names", metavar="A,B,C", help="The names of the classes; by default numbers.")
    ] = None,
    votes_per_task: Annotated[
        float, typer.Option("--votes-per-task", metavar="X", help="The mean number of votes per task.")
    ] = 5.0,
    activity_spread: Annotated[
        float,
        typer.Option(
            "--activity-spread",
            metavar="X",
            help="How much the activity of annotators varies; with 0, all are equally active.",
        ),
    ] = 1.0,
    prototypes: Annotated[
        str,
        typer.Option(
            "--prototypes",
            metavar="N|FILE",
            help="The number of prototypes, or a JSON file of matrices (truths in rows, votes in columns).",
        ),
    ] = "2",
    prototype_weights: Annotated[
        str | None,
        typer.Option(
            "--prototype-weights", metavar="X,Y", help="How common the prototypes are; by default equally common."
        ),
    ] = None,
    annotator_concentration: Annotated[
        float,
        typer.Option(
            "--annotator-concentration",
            metavar="X",
            help="If small, each annotator follows one prototype; if large, each is a mixture of all.",
        ),
    ] = 2.0,
    imbalance: Annotated[
        float,
        typer.Option(
            "--imbalance", metavar="X", help="The frequency of the most frequent class divided by that of the rarest."
        ),
    ] = 1.0,
    missing: Annotated[float, typer.Option("--missing", metavar="X", help="The share of votes without a label.")] = 0.0,
    judges: Annotated[
        int | None,
        typer.Option(
            "--judges",
            metavar="N",
            help="Draw a raw log of N LLM judges instead, with families, position bias, failures, ties and costs. "
            "Only --tasks, --seed, --format and --out apply.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The seed. The same seed gives the same files.")] = 0,
    format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            metavar="csv|parquet|jsonl",
            help="The format of the tables.  [default: by the extension, otherwise csv]",
        ),
    ] = None,
) -> None:
    """Draw votes and truths from the generative model of the PTBCC paper, or a log of LLM judges (--judges)."""
    if judges is not None:
        from finegold.cli.simulate_judges import write_judge_log

        write_judge_log(judges, tasks, out, format.value if format else "csv", seed)
        return
    from finegold.votes.simulation import draw_process

    names = split_commas(class_names)
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
    """Return the number of prototypes, or their matrices if the text names a file."""
    import json

    if text.isdecimal():
        return {"n_prototypes": int(text)}
    try:
        return {"prototypes": json.loads(Path(text).read_bytes())}
    except OSError as error:
        raise InputError(
            f"--prototypes: {text} is not a number, and there is no readable file of that name ({error.strerror})"
        ) from None
    except ValueError:
        raise InputError(f"{text} is not JSON; expected a list of matrices of numbers") from None


def _numbers(text: str | None) -> list[float] | None:
    try:
        return [float(part) for part in split_commas(text) or []] or None
    except ValueError:
        raise InputError(f"--prototype-weights must be numbers separated by commas, not {text!r}") from None


def _write(
    process: Any, n_tasks: int, names: list[str] | None, out: str, format: Format | None, prototypes: str
) -> None:
    from finegold.cli.messages import count, say
    from finegold.cli.outputs import check_outputs
    from finegold.cli.stream import output_paths, write_simulation
    from finegold.system.files import prepared

    votes, truth, kind = output_paths(out, format.value if format else None)
    with prepared(votes.parent):
        check_outputs([], [str(votes), str(truth)], [prototypes])
        n_votes = write_simulation(process, n_tasks, names, votes, truth, kind)
    say(f"wrote {votes} ({count(n_votes, 'vote')}) and {truth} ({count(n_tasks, 'truth')})")
