"""`finegold convert`, `export` and `simulate`: votes as a plain table, labels for training, drawn
votes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.aggregate import refuse_for_all_questions
from finegold.cli.outputs import count, say
from finegold.errors import InputError


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


@o.on_votes(Convert, model=False, fit=["gold"], repeated="all")
def convert(votes: o.Votes, own: Convert) -> None:
    """Write the votes of an export, or of any table, as a plain table.

    With --question all, the table has a column with the question; with gold truths, a column with
    the truth. By default a long table holds all repeated votes and a wide table only the first;
    --repeated changes this.
    """
    from finegold.api.fit import read_questions, read_votes
    from finegold.io.writers import write_votes

    reading, gold = votes.reading, votes.fit.gold
    # a cell holds one vote
    if own.to == "wide" and reading.repeated == "all":
        reading = replace(reading, repeated="first")
    if reading.every_question:
        refuse_for_all_questions({"--query": reading.query})
        found = read_questions(list(votes.files), reading, gold, o.progress())
    else:
        if reading.multi:
            raise InputError("sets of labels have no meaning here; leave out --multi")
        single = replace(reading, multi=False)
        found = {"": read_votes(list(votes.files), single, gold, o.progress())}
    write = partial(write_votes, found, wide=own.to == "wide", gold=gold is not None)
    if own.output == "-":
        write("-")
    out.write_all({own.output: write})
    for question, part in found.items():
        about = f'question "{question}": ' if len(found) > 1 else ""
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


@o.on_votes(Export)
def export(votes: o.Votes, own: Export) -> None:
    """Write labels for training: the label of every task, the probability of each class, a weight,
    and a split.

    The weight is 1 where the label is certain and 0 where all classes are equally probable. The
    column consensus says whether all votes are for the label (unanimous), more than half
    (majority), or fewer (disputed); the column split, whether to train or to validate on the task.
    Tasks without votes are left out.
    """
    from finegold.api.fit import given_result
    from finegold.io.truth import read_truth
    from finegold.io.writers import check_training, write_training

    check_training(own.output, own.purpose, own.validation)
    groups, model = None, given_result(votes.files) if own.group is not None else None
    if (own.items is None and model is not None) or (own.items is not None and own.group is None):
        raise InputError("the groups of tasks are not known; use --group COLUMN --items FILE")
    if own.group is not None:
        by_task = votes.reading.task if model is None else model.annotations.columns[0]
        task = by_task if isinstance(by_task, str) else None
        source = own.items or votes.files
        tasks, names = read_truth(source, task=task, label=own.group, prefix="", what="group")
        groups = dict(zip(tasks, names, strict=True))
    result = votes.result()
    write = partial(write_training, purpose=own.purpose, validation=own.validation, groups=groups)
    out.write_all({own.output: partial(write, result)})
    say(f"wrote {count(len(result.label_codes), 'task')} to {own.output}")
    classes = ", ".join(map(str, result.class_names))
    say(f"classes, in the order of the probabilities: {classes}")
    if len(result.unlabelled):
        say(f"left out: {count(len(result.unlabelled), 'task')} without any vote")


@dataclass(frozen=True)
class Draw:
    """What is drawn."""

    out: str = o.output(
        "The folder for the tables of votes and truths.", required=True, metavar="DIR"
    )
    format: str = o.choice("csv", "The format of the tables.", *("csv", "parquet", "jsonl"))
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
@o.declared(Draw, "draw")
def simulate(draw: Draw) -> None:
    """Draw votes and truths from the generative model of the PTBCC paper."""
    import polars as pl

    from finegold.io.writers import write_frame, write_votes
    from finegold.system.files import prepared
    from finegold.votes.simulation import simulate as draw_votes

    folder = Path(draw.out)
    if folder.suffix and not folder.is_dir():
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
    votes, paths = (
        drawn.annotations,
        [str(folder / f"{x}.{draw.format}") for x in ("votes", "truth")],
    )
    truth = pl.DataFrame({"task": list(votes.task_names), "truth": drawn.truth})
    with prepared(folder):
        writers = (partial(write_votes, {"": votes}), partial(write_frame, truth))
        out.write_all(dict(zip(paths, writers, strict=True)))
    say(f"wrote {paths[0]} ({count(votes.n_votes, 'vote')}) and {paths[1]} ({truth.height} truths)")
