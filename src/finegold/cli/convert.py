"""`finegold convert`: write votes as a plain table."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from finegold.cli import options as o
from finegold.cli import source as s

if TYPE_CHECKING:
    from finegold.api.result import Result
    from finegold.votes.annotations import Annotations

__all__ = ["convert", "export"]


EVERY_VOTE = o.Reading(repeated="all")


class Shape(StrEnum):
    long = "long"
    wide = "wide"


@o.with_groups
def convert(
    files: o.Files,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="OUT", help="The table: .csv, .tsv, .jsonl or .parquet; - prints CSV."),
    ],
    to: Annotated[
        Shape,
        typer.Option(
            "--to",
            metavar="long|wide",
            help="long: one row per vote. wide: one row per task and one column per annotator.",
        ),
    ] = Shape.long,
    reading: o.Reading = EVERY_VOTE,
    known: o.Gold = o.GOLD,
    raw: o.Raw = False,
) -> None:
    """Write the votes of an export, or of any table, as a plain table.

    With --question all, the table has a column with the question; with gold truths, a column with the truth. By
    default a long table holds all repeated votes and a wide table only the first; --repeated changes this.
    """
    from finegold.cli.aggregate import refuse_single_question_options
    from finegold.cli.outputs import check_outputs, write_all
    from finegold.cli.source import inputs_of
    from finegold.io.writers import write_votes

    check_outputs([output], [], inputs_of(files, known.gold, reading=reading))
    gold = known.given()
    if reading.reads_all_questions:
        refuse_single_question_options(query=reading.query, table=reading.table)
    if to is Shape.wide and reading.repeated == "all":  # a cell holds one vote
        reading = replace(reading, repeated="first")
    votes = reading.read_each(files, gold) if reading.reads_all_questions else {"": reading.read(files, gold)}
    shape = {"wide": to is Shape.wide, "gold": gold is not None}
    if output == "-":
        write_votes(votes, output, **shape)
    else:
        write_all({output: lambda path: write_votes(votes, path, **shape)})
    _print_summary(votes)


def _print_summary(votes: dict[str, Annotations]) -> None:
    from finegold.cli.messages import count, say
    from finegold.cli.outputs import print_left_out

    for question, read in votes.items():
        about = f'question "{question}": ' if len(votes) > 1 else ""
        say(
            f"{about}{count(read.n_votes, 'vote')} by {count(read.n_annotators, 'annotator')} "
            f"on {count(read.n_tasks, 'task')}"
        )
        print_left_out(read)


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
    _print_summary_export(result, output)


def _print_summary_export(result: Result, output: str) -> None:
    from finegold.cli.messages import count, say
    from finegold.votes.frames import to_list

    say(f"wrote {count(len(result.label_codes), 'task')} to {output}")
    say(f"classes, in the order of the probabilities: {', '.join(map(str, to_list(result.class_names)))}")
    if len(result.unlabelled):
        say(f"left out: {count(len(result.unlabelled), 'task')} without any vote")
