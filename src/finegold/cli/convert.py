"""`finegold convert` and `export`: write votes as a plain table, and labels for training."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli.aggregate import refuse_for_all_questions
from finegold.cli.messages import count, say
from finegold.cli.outputs import check_outputs, print_left_out, write_all
from finegold.cli.source import ALL, job_of, read, result_of
from finegold.io.options import ReadOptions

GOLD: Any = o.Group(o.Fit, only=("gold",))


class Shape(StrEnum):
    long = "long"
    wide = "wide"


@o.with_groups
def convert(
    files: o.Files,
    output: Annotated[str, o.value("--output", "-o", help="The table: .csv, .tsv, .jsonl or .parquet; - prints CSV.")],
    to: Annotated[
        Shape,
        typer.Option(
            "--to",
            metavar="long|wide",
            help="long: one row per vote. wide: one row per task and one column per annotator.",
        ),
    ] = Shape.long,
    reading: ReadOptions = o.EVERY_VOTE,
    known: o.Fit = GOLD,
    raw: o.Raw = False,
) -> None:
    """Write the votes of an export, or of any table, as a plain table.

    With --question all, the table has a column with the question; with gold truths, a column with the truth. By
    default a long table holds all repeated votes and a wide table only the first; --repeated changes this.
    """
    from finegold.io.writers import write_votes

    check_outputs([output], [], files, reading, known)
    if to is Shape.wide and reading.repeated == "all":  # a cell holds one vote
        reading = replace(reading, repeated="first")
    if reading.question == ALL:
        refuse_for_all_questions({"--query": reading.query, "--table": reading.table})
        votes = job_of(files, reading, gold=known.gold).read_questions()
    else:
        votes = {"": read(files, reading, known.gold)}
    shape = {"wide": to is Shape.wide, "gold": known.gold is not None, "escape_formulas": not raw}
    if output == "-":
        write_votes(votes, output, **shape)
    else:
        write_all({output: lambda path: write_votes(votes, path, **shape)})
    for question, part in votes.items():
        about = f'question "{question}": ' if len(votes) > 1 else ""
        say(
            f"{about}{count(part.n_votes, 'vote')} by {count(part.n_annotators, 'annotator')} "
            f"on {count(part.n_tasks, 'task')}"
        )
        print_left_out(part)


@o.with_groups
def export(
    files: o.Source,
    output: Annotated[str, o.value("--output", "-o", help="The Parquet file.")],
    purpose: Annotated[
        str,
        o.value(
            "--for",
            metavar="huggingface|torch|sklearn",
            help="huggingface: labels are numbers, probabilities a list. torch: the same, with arrays of fixed length. "
            "sklearn: labels are names, and every class has a column.",
        ),
    ],
    fit: o.Fit = o.FIT_ONE,
    reading: ReadOptions = o.READING,
) -> None:
    """Write labels for training: the label of every task, the probability of each class, and a weight.

    The weight is 1 where the label is certain and 0 where all classes are equally probable. The column split says
    whether all votes are for the label (unanimous), more than half (majority), or fewer (disputed). Tasks without votes
    are left out.
    """
    from finegold.io.writers import check_training, write_training
    from finegold.votes.encoding import to_list

    check_training(output, purpose)
    check_outputs([], [output], files, reading, fit)
    result = result_of(files, reading, fit)
    write_all({output: lambda path: write_training(result, path, purpose)})
    say(f"wrote {count(len(result.label_codes), 'task')} to {output}")
    say(f"classes, in the order of the probabilities: {', '.join(map(str, to_list(result.class_names)))}")
    if len(result.unlabelled):
        say(f"left out: {count(len(result.unlabelled), 'task')} without any vote")
