"""`finegold convert`, `export` and `simulate`: votes as a plain table, labels for training, drawn
votes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from finegold.cli import options as o
from finegold.cli import outputs as out
from finegold.cli.aggregate import refuse_for_all_questions
from finegold.cli.outputs import count, say
from finegold.errors import InputError
from finegold.options import option


@o.on_votes(model=False, fit=["gold"], repeated="all")
class Convert:
    """Write the votes of an export, or of any table, as a plain table.

    With --question all, the table has a column with the question; with gold truths, a column with
    the truth. By default a long table holds all repeated votes and a wide table only the first;
    --repeated changes this.
    """

    output: str = o.table(
        "The table: .csv, .tsv, .jsonl or .parquet; - prints CSV.", flag=o.OUTPUT, required=True
    )
    to: str = o.choice(
        "long",
        "long: one row per vote. wide: one row per task and one column per annotator.",
        choices=("long", "wide"),
    )

    def run(self, votes: o.Votes) -> None:
        from finegold.io.writers import write_votes

        reading, gold = votes.reading, votes.fit.gold
        # a cell holds one vote
        if self.to == "wide" and reading.repeated == "all":
            reading = replace(reading, repeated="first")
        if reading.every_question:
            refuse_for_all_questions({"--query": reading.query})
        elif reading.multi:
            raise InputError("sets of labels have no meaning here; leave out --multi")
        found = replace(votes, reading=replace(reading, multi=False)).questions()
        write = partial(write_votes, found, wide=self.to == "wide", gold=gold is not None)
        if self.output == "-":
            write("-")
        out.write_all({self.output: write})
        for question, part in found.items():
            about = f'question "{question}": ' if len(found) > 1 else ""
            annotators, tasks = count(part.n_annotators, "annotator"), count(part.n_tasks, "task")
            say(f"{about}{count(part.n_votes, 'vote')} by {annotators} on {tasks}")
            out.print_left_out(part)


@o.on_votes()
class Export:
    """Write labels for training: the label of every task, the probability of each class, a weight,
    and a split.

    The weight is 1 where the label is certain and 0 where all classes are equally probable. The
    column consensus says whether all votes are for the label (unanimous), more than half
    (majority), or fewer (disputed); the column split, whether to train or to validate on the task.
    Tasks without votes are left out.
    """

    output: str = o.output("The Parquet file.", flag=o.OUTPUT, required=True)
    purpose: str = o.choice(
        None,
        "huggingface: labels are numbers, probabilities a list. torch: the same, with arrays of"
        " fixed length. sklearn: labels are names, and every class has a column.",
        choices=("huggingface", "torch", "sklearn"),
        required=True,
    )
    validation: float = o.number(
        0.1,
        "The approximate share of tasks to validate on; they are the same every time.",
        metavar="SHARE",
    )
    group: str | None = option(
        None,
        "A column of FILE, such as the document of a sentence: a group has one split.",
        metavar="COLUMN",
    )

    def run(self, votes: o.Votes) -> None:
        from finegold.api.fit import given_result
        from finegold.io.truth import read_truth
        from finegold.io.writers import check_training, write_training

        check_training(self.output, self.purpose, self.validation)
        groups = None
        if self.group is not None:
            if given_result(votes.files) is not None:
                raise InputError("a model has no columns; give its votes, or group= in Python")
            task = votes.reading.task if isinstance(votes.reading.task, str) else None
            how: Any = {"task": task, "label": self.group, "prefix": "", "what": "group"}
            groups = dict(zip(*read_truth(votes.files, **how), strict=True))
        result = votes.result()
        write = partial(
            write_training, purpose=self.purpose, validation=self.validation, groups=groups
        )
        out.write_all({self.output: partial(write, result)})
        say(f"wrote {count(len(result.label_codes), 'task')} to {self.output}")
        classes = ", ".join(map(str, result.class_names))
        say(f"classes, in the order of the probabilities: {classes}")
        if len(result.unlabelled):
            say(f"left out: {count(len(result.unlabelled), 'task')} without any vote")


@o.command_with()
class Simulate:
    """Draw votes and truths from the generative model of the PTBCC paper.

    Prototypes, imbalance and missing votes are arguments of finegold.simulate in Python.
    """

    out: str = o.output(
        "The folder for the tables of votes and truths.", required=True, metavar="DIR"
    )
    format: str = o.choice("csv", "The format of the tables.", choices=("csv", "parquet", "jsonl"))
    tasks: int = o.number(1000, "The number of tasks.")
    annotators: int = o.number(50, "The number of annotators.")
    classes: int = o.number(4, "The number of classes.")
    votes_per_task: float = o.number(5.0, "The mean number of votes per task.", metavar="X")
    seed: int = o.number(0, "The seed. The same seed gives the same files.")

    def run(self) -> None:
        import polars as pl

        from finegold.io.writers import write_frame, write_votes
        from finegold.system.files import make_folder
        from finegold.votes.simulation import simulate

        folder = Path(self.out)
        if folder.suffix and not folder.is_dir():
            raise InputError(f"--out must be a folder, and {folder} looks like a file")
        sizes = (self.tasks, self.annotators, self.classes)
        drawn = simulate(*sizes, votes_per_task=self.votes_per_task, seed=self.seed)
        votes = drawn.annotations
        truth = pl.DataFrame({"task": list(votes.task_names), "truth": drawn.truth})
        paths = [str(folder / f"{name}.{self.format}") for name in ("votes", "truth")]
        make_folder(folder)
        writers = (partial(write_votes, {"": votes}), partial(write_frame, truth))
        out.write_all(dict(zip(paths, writers, strict=True)))
        n_votes = count(votes.n_votes, "vote")
        say(f"wrote {paths[0]} ({n_votes}) and {paths[1]} ({truth.height} truths)")
