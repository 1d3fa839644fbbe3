"""karat report: everything about a result in one HTML file."""

from __future__ import annotations

from typing import Annotated

import typer

from karat.cli import database as d
from karat.cli import exports as e
from karat.cli import options as o
from karat.cli import source as s

__all__ = ["report"]


def report(
    context: typer.Context,
    files: s.Source,
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="The HTML file.")] = "report.html",
    truth: s.Truth = None,
    method: s.Method = None,
    settings: o.Setting = None,
    task: o.TaskColumn = None,
    annotator: o.AnnotatorColumn = None,
    label: o.LabelColumn = None,
    wide: o.Wide = False,
    gold: s.Gold = None,
    classes: o.Classes = None,
    missing: o.Missing = None,
    repeated: o.Repeated = "first",
    threads: o.Threads = None,
    seed: o.Seed = None,
    query: d.Query = None,
    table: d.Table = None,
    param: d.Param = None,
    format: e.Format = None,
    question: e.Question = None,
    include: e.Include = None,
    gold_from_export: e.GoldFromExport = False,
) -> None:
    """Show everything about the labels in one HTML file: no network, no server, for reading and for printing.

    How good they are, which tasks need a person, how good each annotator is, the prototypes, the classes, agreement
    and calibration, and how it was computed.
    """
    from karat.cli.outputs import check_outputs
    from karat.cli.words import say
    from karat.report import require_libraries, write_report

    require_libraries()
    check_outputs([], [output], [*files, *(path for path in (truth, gold) if path)])
    known = s.truths_of(truth)
    selection = {**d.selection(query, table, param), **e.selection(format, question, include)}
    reading = o.Reading(files, task, annotator, label, wide, classes, missing, repeated, selection)
    result = s.result_of(reading, method, settings, seed, threads, e.gold_of(gold, gold_from_export))
    write_report(result, output, known, title=s.title_of(files), command=s.command_line(context))
    say(f"{output}: open it in a browser")
