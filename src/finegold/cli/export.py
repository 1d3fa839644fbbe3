"""`finegold export`: write labels for training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from finegold.cli import options as o
from finegold.cli import source as s

if TYPE_CHECKING:
    from finegold.api.result import Result

__all__ = ["export"]


@o.with_groups
def export(
    files: o.Source,
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="The Parquet file.")],
    purpose: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="huggingface|torch|sklearn",
            help="huggingface: labels are numbers, probabilities a list. torch: the same, with arrays of fixed length. "
            "sklearn: labels are names, and every class has a column.",
        ),
    ],
    method: o.Method = None,
    fitting: o.Fitting = o.FITTING,
    known: o.Gold = o.GOLD,
    reading: o.Reading = o.READING,
) -> None:
    """Write labels for training: the label of every task, the probability of each class, and a weight.

    The weight is 1 where the label is certain and 0 where all classes are equally probable. The column split says
    whether all votes are for the label (unanimous), more than half (majority), or fewer (disputed). Tasks without votes
    are left out.
    """
    from finegold.cli.outputs import check_outputs, write_all
    from finegold.io.writers import check_training, write_training

    check_training(output, purpose)
    check_outputs(
        [], [output, *s.outputs_of(fitting)], s.inputs_of(files, known.gold, reading=reading, fitting=fitting)
    )
    result = s.result_of(files, reading, fitting, method, known)
    write_all({output: lambda path: write_training(result, path, purpose)})
    _print_summary(result, output)


def _print_summary(result: Result, output: str) -> None:
    from finegold.cli.messages import count, say
    from finegold.votes.frames import to_list

    say(f"wrote {count(len(result.label_codes), 'task')} to {output}")
    say(f"classes, in the order of the probabilities: {', '.join(map(str, to_list(result.class_names)))}")
    if len(result.unlabelled):
        say(f"left out: {count(len(result.unlabelled), 'task')} without any vote")
