"""`finegold audit`: find labels in use that are probably wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from finegold.cli import options as o
from finegold.cli import source as s

__all__ = ["audit"]


@o.with_groups
def audit(
    files: o.Source,
    labels: Annotated[
        str, typer.Option("--labels", metavar="FILE", help="The labels in use: a table with a task and a label column.")
    ],
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="The table: .csv, .tsv, .jsonl or .parquet. By default, CSV is printed.",
        ),
    ] = None,
    labels_task: Annotated[
        str | None, typer.Option("--labels-task", metavar="NAME", help="The column of the tasks in --labels.")
    ] = None,
    labels_label: Annotated[
        str | None, typer.Option("--labels-label", metavar="NAME", help="The column of the labels in --labels.")
    ] = None,
    method: o.Method = None,
    fitting: o.Fitting = o.FITTING,
    known: o.Gold = o.GOLD,
    reading: o.Reading = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """List how likely each label in use is wrong, judged by votes and predictions; the worst labels come first."""
    from finegold.api.evaluate import audit_result
    from finegold.cli.messages import count, say
    from finegold.cli.outputs import check_outputs, frame_writer, write_all
    from finegold.cli.summary import print_json
    from finegold.io.writers import write_frame
    from finegold.votes.frames import to_polars

    output = None if output == "-" else output
    inputs = s.inputs_of(files, labels, known.gold, reading=reading, fitting=fitting)
    check_outputs([] if output is None else [output], s.outputs_of(fitting), inputs)
    current = s.truths_of(labels, labels_task, labels_label)
    found = audit_result(s.result_of(files, reading, fitting, method, known), current)
    table = to_polars(found)
    if output is not None:
        write_all({output: frame_writer(lambda: found)})
    if json:
        print_json({"n_labels": len(table), "expected_wrong": table["p_wrong"].sum(), "labels": table.to_dicts()})
    elif output is None:
        write_frame(found, "-")
    judges = "votes and predictions" if "predicted" in table.columns else "votes"
    say(f"{count(len(table), 'label')} audited; about {table['p_wrong'].sum():.0f} are wrong, judged by {judges}")
