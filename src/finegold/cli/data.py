"""`finegold convert`, `export` and `simulate`: votes as a plain table, labels for training, drawn
votes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from finegold.api.options import FitOptions
from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.aggregate import refuse_for_all_questions
from finegold.cli.options import progress, result_of
from finegold.cli.outputs import count, say
from finegold.errors import InputError
from finegold.io.options import ReadOptions

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class Convert:
    """What `finegold convert` writes."""

    output: str = o.table(
        "The table: .csv, .tsv, .jsonl or .parquet; - prints CSV.", flag=o.OUTPUT, required=True
    )
    to: str = o.choice(
        "long",
        "long: one row per vote. wide: one row per task and one column per annotator.",
        *("long", "wide"),
    )


@o.command
@o.votes_argument()
@o.declared(Convert, "own")
@o.declared(FitOptions, "known", only=("gold",))
@o.declared(ReadOptions, "reading", repeated="all")
def convert(files: tuple[str, ...], own: Convert, known: FitOptions, reading: ReadOptions) -> None:
    """Write the votes of an export, or of any table, as a plain table.

    With --question all, the table has a column with the question; with gold truths, a column with
    the truth. By default a long table holds all repeated votes and a wide table only the first;
    --repeated changes this.
    """
    from finegold.api.fit import read_questions, read_votes
    from finegold.io.writers import write_votes

    out.check_outputs(files, own, known, reading)
    # a cell holds one vote
    if own.to == "wide" and reading.repeated == "all":
        reading = replace(reading, repeated="first")
    if reading.every_question:
        refuse_for_all_questions({"--query": reading.query})
        votes = read_questions(list(files), reading, known.gold, progress())
    else:
        if reading.multi:
            raise InputError("sets of labels have no meaning here; leave out --multi")
        single = replace(reading, multi=False)
        votes = {"": read_votes(list(files), single, known.gold, progress())}
    write = partial(write_votes, votes, wide=own.to == "wide", gold=known.gold is not None)
    if own.output == "-":
        write("-")
    out.write_all({own.output: write})
    for question, part in votes.items():
        about = f'question "{question}": ' if len(votes) > 1 else ""
        annotators, tasks = count(part.n_annotators, "annotator"), count(part.n_tasks, "task")
        say(f"{about}{count(part.n_votes, 'vote')} by {annotators} on {tasks}")
        out.print_left_out(part)


@dataclass(frozen=True)
class Export:
    """What `finegold export` writes."""

    output: str = o.output("The Parquet file.", flag=o.OUTPUT, required=True)
    purpose: str = o.choice(
        None,
        "huggingface: labels are numbers, probabilities a list. torch: the same, with arrays of"
        " fixed length. sklearn: labels are names, and every class has a column.",
        *("huggingface", "torch", "sklearn"),
        required=True,
    )
    validation: float = o.number(
        0.1,
        "The approximate share of tasks to validate on; they are the same every time.",
        "SHARE",
    )
    group: str | None = o.text(
        None,
        "A column of FILE, or of --items, such as the document of a sentence: a group has one"
        " split.",
        "COLUMN",
    )
    items: str | None = o.path("A table with the tasks and their groups.")


@o.command
@o.votes_or_model
@o.declared(Export, "own")
@o.declared(FitOptions, "fit")
@o.declared(ReadOptions, "reading")
def export(files: tuple[str, ...], own: Export, fit: FitOptions, reading: ReadOptions) -> None:
    """Write labels for training: the label of every task, the probability of each class, a weight,
    and a split.

    The weight is 1 where the label is certain and 0 where all classes are equally probable. The
    column consensus says whether all votes are for the label (unanimous), more than half
    (majority), or fewer (disputed); the column split, whether to train or to validate on the task.
    Tasks without votes are left out.
    """
    from finegold.api.fit import given_result
    from finegold.io.truth import read_groups
    from finegold.io.writers import check_training, write_training
    from finegold.results.data import votes_of
    from finegold.votes.encoding import to_list

    check_training(own.output, own.purpose, own.validation)
    out.check_outputs(files, own, fit, reading)
    groups, model = None, given_result(files) if own.group is not None else None
    if (own.items is None and model is not None) or (own.items is not None and own.group is None):
        raise InputError("the groups of tasks are not known; use --group COLUMN --items FILE")
    if own.group is not None:
        task = reading.task if model is None else votes_of(model).columns[0]
        groups = read_groups(files if own.items is None else own.items, own.group, task)
    result = result_of(files, reading, fit)
    how: dict[str, Any] = {"purpose": own.purpose, "validation": own.validation, "groups": groups}
    out.write_all({own.output: lambda path: write_training(result, path, **how)})
    say(f"wrote {count(len(result.label_codes), 'task')} to {own.output}")
    say(
        "classes, in the order of the probabilities:"
        f" {', '.join(map(str, to_list(result.class_names)))}"
    )
    if len(result.unlabelled):
        say(f"left out: {count(len(result.unlabelled), 'task')} without any vote")


@dataclass(frozen=True)
class Draw:
    """What is drawn."""

    tasks: int = o.number(1000, "The number of tasks.")
    annotators: int = o.number(50, "The number of annotators.")
    classes: int = o.number(4, "The number of classes.")
    votes_per_task: float = o.number(5.0, "The mean number of votes per task.", "X")
    prototypes: int = o.number(2, "The number of prototypes.")
    concentration: float = o.number(
        2.0,
        "If small, each annotator follows one prototype; if large, each is a mixture of all.",
        "X",
    )
    imbalance: float = o.number(
        1.0, "The frequency of the most frequent class divided by that of the rarest.", "X"
    )
    missing: float = o.number(0.0, "The share of votes without a label.", "X")
    seed: int = o.number(0, "The seed. The same seed gives the same files.")


@o.command
@click.option(
    *("--out", "folder"),
    required=True,
    metavar="DIR",
    help="The folder for the tables of votes and truths.",
)
@click.option(
    "--format",
    type=click.Choice(["csv", "parquet", "jsonl"]),
    default="csv",
    show_default=True,
    help="The format of the tables.",
)
@o.declared(Draw, "draw")
def simulate(folder: str, format: str, draw: Draw) -> None:
    """Draw votes and truths from the generative model of the PTBCC paper."""
    import numpy as np
    import polars as pl

    from finegold.io.writers import write_frame, write_votes
    from finegold.system.files import prepared
    from finegold.votes.simulation import simulate as draw_votes

    if Path(folder).suffix and not Path(folder).is_dir():
        raise InputError(f"--out must be a folder, and {folder} looks like a file")
    drawn = draw_votes(
        draw.tasks,
        draw.annotators,
        draw.classes,
        votes_per_task=draw.votes_per_task,
        n_prototypes=draw.prototypes,
        annotator_concentration=draw.concentration,
        imbalance=draw.imbalance,
        missing=draw.missing,
        seed=draw.seed,
    )
    votes, names = drawn.annotations, np.asarray(drawn.annotations.task_names)
    truth = pl.DataFrame({"task": names, "truth": drawn.truth})
    paths = [str(Path(folder) / f"{name}.{format}") for name in ("votes", "truth")]
    with prepared(Path(folder)):
        writers = (partial(write_votes, {"": votes}), partial(write_frame, truth))
        out.write_all(dict(zip(paths, writers, strict=True)))
    say(f"wrote {paths[0]} ({count(votes.n_votes, 'vote')}) and {paths[1]} ({truth.height} truths)")
