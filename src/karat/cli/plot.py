"""karat plot: one chart as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from karat.cli import database as d
from karat.cli import exports as e
from karat.cli import options as o
from karat.cli import source as s
from karat.errors import InputError
from karat.report.kinds import FORMATS, KINDS

__all__ = ["plot"]

KINDS_HELP = "\n\n".join(f"- [bold]{name}[/bold]: {about}" for name, about in KINDS.items())


def plot(
    file: Annotated[str, typer.Argument(metavar="FILE|MODEL", help="Votes, as for aggregate; or what --save kept.")],
    kind: Annotated[str, typer.Argument(metavar="KIND", help=f"One of {', '.join(KINDS)}.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="The picture: .svg, .png or .pdf.")],
    who: Annotated[str | None, typer.Option("--who", metavar="NAME", help="For annotator: which one.")] = None,
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
    from karat.cli.outputs import check_outputs
    from karat.report import require_libraries, write_plot

    require_libraries()
    _check(kind, who, output)
    check_outputs([], [output], [file, *(path for path in (truth, gold) if path)])
    known = s.truths_of(truth)
    selection = {**d.selection(query, table, param), **e.selection(format, question, include)}
    reading = o.Reading([file], task, annotator, label, wide, classes, missing, repeated, selection)
    result = s.result_of(reading, method, settings, seed, threads, e.gold_of(gold, gold_from_export))
    write_plot(result, kind, output, known, who=who)


plot.__doc__ = f"Save one chart of the report.\n\n{KINDS_HELP}"


def _check(kind: str, who: str | None, output: str) -> None:
    if kind not in KINDS:
        raise InputError(f"there is no chart {kind!r}; there are {', '.join(KINDS)}")
    if (kind == "annotator") != (who is not None):
        raise InputError("the chart of one annotator needs --who NAME, and no other chart does")
    if Path(output).suffix.lower().removeprefix(".") not in FORMATS:
        raise InputError(f"{output}: a picture ends in .svg, .png or .pdf")
