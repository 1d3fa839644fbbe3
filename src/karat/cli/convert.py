"""karat convert: votes of any kind -> a plain table."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from karat.cli import database as d
from karat.cli import exports as e
from karat.cli import options as o

if TYPE_CHECKING:
    from karat.votes.annotations import Annotations

__all__ = ["convert"]


class Shape(StrEnum):
    long = "long"
    wide = "wide"


def convert(
    files: o.Files,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="OUT", help="The table: .csv, .tsv, .jsonl or .parquet; - prints CSV."),
    ],
    to: Annotated[
        Shape, typer.Option("--to", help="A row a vote, or a row a task with a column an annotator.")
    ] = Shape.long,
    task: o.TaskColumn = None,
    annotator: o.AnnotatorColumn = None,
    label: o.LabelColumn = None,
    wide: o.Wide = False,
    gold: Annotated[
        str | None,
        typer.Option("--gold", metavar="FILE", help="Known truths of some tasks, or a column of FILE with them."),
    ] = None,
    classes: o.Classes = None,
    missing: o.Missing = None,
    repeated: o.Repeated = "all",
    format: e.Format = None,
    question: e.Question = None,
    include: e.Include = None,
    gold_from_export: e.GoldFromExport = False,
    query: d.Query = None,
    table: d.Table = None,
    param: d.Param = None,
    raw: o.Raw = False,
) -> None:
    """Write the votes of an export, or of any table, as a plain table.

    With --question all, a column names the question of each vote; with gold truths, another holds them. Of repeated
    votes, a long table has all, a wide one the first, unless --repeated says otherwise.
    """
    from karat.cli.outputs import check_outputs, write_all
    from karat.cli.questions import refuse_single
    from karat.io.writers.votes import write_votes

    check_outputs([output], [], [*files, *([gold] if gold else [])])
    known = e.gold_of(gold, gold_from_export)
    if question == e.ALL:
        refuse_single(query=query, table=table)
    if to is Shape.wide and repeated == "all":  # a row has room for one vote of an annotator
        repeated = "first"
    selection = {**d.selection(query, table, param), **e.selection(format, question, include)}
    reading = o.Reading(files, task, annotator, label, wide, classes, missing, repeated, selection)
    votes = reading.read_each(known) if question == e.ALL else {"": reading.read(known)}
    shape = {"wide": to is Shape.wide, "gold": known is not None}
    if output == "-":
        write_votes(votes, output, **shape)
    else:
        write_all({output: lambda path: write_votes(votes, path, **shape)})
    _tell(votes)


def _tell(votes: dict[str, Annotations]) -> None:
    from karat.cli.summary import tell_left_out
    from karat.cli.words import count, say

    for question, read in votes.items():
        about = f'question "{question}": ' if len(votes) > 1 else ""
        say(
            f"{about}{count(read.n_votes, 'vote')} by {count(read.n_annotators, 'annotator')} "
            f"on {count(read.n_tasks, 'task')}"
        )
        tell_left_out(read)
