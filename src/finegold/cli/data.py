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
from finegold.cli.options import ALL, progress, result_of
from finegold.cli.outputs import count, say
from finegold.errors import InputError
from finegold.io.options import ReadOptions
from finegold.options import option

if TYPE_CHECKING:
    pass


@o.command
@o.votes_argument()
@o.opt(
    *("-o", "--output"),
    required=True,
    help="The table: .csv, .tsv, .jsonl or .parquet; - prints CSV.",
)
@o.opt(
    "--to",
    type=click.Choice(["long", "wide"]),
    default="long",
    show_default=True,
    help="long: one row per vote. wide: one row per task and one column per annotator.",
)
@o.declared(FitOptions, "known", only=("gold",))
@o.declared(ReadOptions, "reading", repeated="all")
def convert(
    files: tuple[str, ...], output: str, to: str, known: FitOptions, reading: ReadOptions
) -> None:
    """Write the votes of an export, or of any table, as a plain table.

    With --question all, the table has a column with the question; with gold truths, a column with
    the truth. By default a long table holds all repeated votes and a wide table only the first;
    --repeated changes this.
    """
    from finegold.api.fit import read_questions, read_votes
    from finegold.io.writers import write_votes

    out.check_outputs([output], [], files, reading, known)
    # a cell holds one vote
    if to == "wide" and reading.repeated == "all":
        reading = replace(reading, repeated="first")
    if reading.question == ALL:
        refuse_for_all_questions({"--query": reading.query})
        votes = read_questions(list(files), reading, known.gold, progress())
    else:
        if reading.multi:
            raise InputError("sets of labels have no meaning here; leave out --multi")
        reading = replace(reading, multi=False)
        votes = {"": read_votes(list(files), reading, known.gold, progress())}
    shape = {"wide": to == "wide", "gold": known.gold is not None}
    if output == "-":
        write_votes(votes, output, **shape)
    else:
        out.write_all({output: lambda path: write_votes(votes, path, **shape)})
    for question, part in votes.items():
        about = f'question "{question}": ' if len(votes) > 1 else ""
        annotators, tasks = count(part.n_annotators, "annotator"), count(part.n_tasks, "task")
        say(f"{about}{count(part.n_votes, 'vote')} by {annotators} on {tasks}")
        out.print_left_out(part)


@o.command
@o.votes_or_model
@o.opt("-o", "--output", required=True, help="The Parquet file.")
@o.opt(
    *("--for", "purpose"),
    required=True,
    type=click.Choice(["huggingface", "torch", "sklearn"]),
    help="huggingface: labels are numbers, probabilities a list. torch: the same, with arrays of"
    " fixed length. sklearn: labels are names, and every class has a column.",
)
@o.opt(
    "--validation",
    type=float,
    default=0.1,
    show_default=True,
    metavar="SHARE",
    help="The approximate share of tasks to validate on; they are the same every time.",
)
@o.opt(
    "--group",
    metavar="COLUMN",
    help="A column of FILE, or of --items, such as the document of a sentence: a group has one"
    " split.",
)
@o.opt("--items", metavar="FILE", help="A table with the tasks and their groups.")
@o.declared(FitOptions, "fit")
@o.declared(ReadOptions, "reading")
def export(
    files: tuple[str, ...],
    output: str,
    purpose: str,
    validation: float,
    group: str | None,
    items: str | None,
    fit: FitOptions,
    reading: ReadOptions,
) -> None:
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

    check_training(output, purpose, validation)
    out.check_outputs([], [output], [*files, items], reading, fit)
    groups, model = None, given_result(files) if group is not None else None
    if (items is None and model is not None) or (items is not None and group is None):
        raise InputError("the groups of tasks are not known; use --group COLUMN --items FILE")
    if group is not None:
        task = reading.task if model is None else votes_of(model).columns[0]
        groups = read_groups(files if items is None else items, group, task)
    result = result_of(files, reading, fit)
    out.write_all({output: lambda path: write_training(result, path, purpose, validation, groups)})
    say(f"wrote {count(len(result.label_codes), 'task')} to {output}")
    say(
        "classes, in the order of the probabilities:"
        f" {', '.join(map(str, to_list(result.class_names)))}"
    )
    if len(result.unlabelled):
        say(f"left out: {count(len(result.unlabelled), 'task')} without any vote")


# ---- Simulation


def _number(default: float | None, help: str, metavar: str = "N") -> Any:
    return option(default, help, kind="number", metavar=metavar)


@dataclass(frozen=True)
class Draw:
    """What is drawn."""

    tasks: int = _number(1000, "The number of tasks.")
    annotators: int = _number(50, "The number of annotators.")
    classes: int | None = _number(None, "The number of classes; by default 4.")
    class_names: list[str] | None = option(
        None, "The names of the classes; by default numbers.", kind="list", metavar="A,B,C"
    )
    votes_per_task: float = _number(5.0, "The mean number of votes per task.", "X")
    activity_spread: float = _number(
        1.0, "How much the activity of annotators varies; with 0, all are equally active.", "X"
    )
    prototypes: int = _number(2, "The number of prototypes.")
    prototype_weights: list[str] | None = option(
        None,
        "How common the prototypes are; by default equally common.",
        kind="list",
        metavar="X,Y",
    )
    annotator_concentration: float = _number(
        2.0,
        "If small, each annotator follows one prototype; if large, each is a mixture of all.",
        "X",
    )
    imbalance: float = _number(
        1.0, "The frequency of the most frequent class divided by that of the rarest.", "X"
    )
    missing: float = _number(0.0, "The share of votes that are missing.", "X")
    seed: int = _number(0, "The seed. The same seed gives the same files.")


@o.command
@o.opt(
    *("--out", "target"),
    required=True,
    metavar="DIR|FILE",
    help="A folder for votes and truths, or the file for the votes.",
)
@o.opt(
    "--format",
    type=click.Choice(["csv", "parquet", "jsonl"]),
    help="The format of the tables.  [default: by the extension, otherwise csv]",
)
@o.declared(Draw, "draw")
def simulate(target: str, format: str | None, draw: Draw) -> None:
    """Draw votes and truths from the generative model of the PTBCC paper."""
    import polars as pl

    import finegold
    from finegold.io.writers import check_table_path, write_pieces
    from finegold.system.files import prepared

    names = draw.class_names
    if names is not None and (len(set(names)) < len(names) or "" in names):
        raise InputError("--class-names must be different names")
    if names is not None and draw.classes not in (None, len(names)):
        raise InputError(f"--classes is {draw.classes} but --class-names has {len(names)} names")
    weights = draw.prototype_weights
    try:
        shares = None if weights is None else [float(text) for text in weights]
    except ValueError:
        given = ",".join(weights or ())
        raise InputError(
            f"--prototype-weights must be numbers separated by commas, not {given!r}"
        ) from None
    path, kind = Path(target), format
    # a name without an extension is a folder
    if path.is_dir() or path.suffix == "":
        kind = kind or "csv"
        votes, truth = path / f"votes.{kind}", path / f"truth.{kind}"
    else:
        extension, _ = check_table_path(path)
        if kind not in (None, extension):
            raise InputError(f"--format is {kind} but the extension of {target} is {extension}")
        stem, dot, extensions = path.name.partition(".")
        votes, truth = path, path.with_name(f"{stem}-truth{dot}{extensions}")
    drawn = finegold.simulate(
        draw.tasks,
        draw.annotators,
        len(names) if names is not None else draw.classes or 4,
        class_names=names,
        votes_per_task=draw.votes_per_task,
        n_prototypes=draw.prototypes,
        prototype_weights=shares,
        annotator_concentration=draw.annotator_concentration,
        imbalance=draw.imbalance,
        activity_spread=draw.activity_spread,
        missing=draw.missing,
        seed=draw.seed,
    )
    found = drawn.annotations
    columns = zip(
        ("task", "annotator", "label"),
        (found.task_names, found.annotator_names, found.class_names),
        found.votes(),
        strict=True,
    )
    tables = {
        str(votes): pl.DataFrame({what: of.take(codes).values for what, of, codes in columns}),
        str(truth): pl.DataFrame(
            {"task": found.task_names.values, "truth": found.class_names.take(drawn.truth).values}
        ),
    }
    with prepared(votes.parent):
        out.check_outputs([], list(tables), [])
        out.write_all({name: partial(write_pieces, [table]) for name, table in tables.items()})
    n_votes, n_tasks = count(found.n_votes, "vote"), count(found.n_tasks, "truth")
    say(f"wrote {votes} ({n_votes}) and {truth} ({n_tasks})")
