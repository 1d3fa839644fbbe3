"""`finegold report`, `plot` and `methods`: a page about a result, one of its charts, and the methods there are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from finegold.cli import options as o
from finegold.cli.messages import say
from finegold.cli.outputs import check_outputs
from finegold.cli.source import command_line, result_of, title_of, truths_of
from finegold.errors import InputError
from finegold.io.options import ReadOptions
from finegold.report.kinds import FORMATS, KINDS
from finegold.system.memory import did_you_mean


@o.with_groups
def report(
    context: typer.Context,
    files: o.Source,
    output: Annotated[str, o.value("--output", "-o", help="The HTML file.")] = "report.html",
    truth: o.Truth = None,
    truth_task: o.TruthTask = None,
    truth_label: o.TruthLabel = None,
    fit: o.Fit = o.FIT_ONE,
    reading: ReadOptions = o.READING,
) -> None:
    """Write one HTML file about the labels. It needs no network and no server, and it can be printed.

    It shows how good the labels are, which tasks a person should check, how good each annotator is, the prototypes,
    the classes, agreement, calibration, and how the labels were computed. For sets of labels it shows the options, the
    tasks in doubt, and how good annotators are at each option.
    """
    from finegold.report import require_libraries, write_report

    require_libraries()
    check_outputs([], [output], [*files, truth], reading, fit)
    truths = truths_of(truth, truth_task, truth_label)
    result = result_of(files, reading, fit)
    write_report(result, output, truths, title=title_of(files), command=command_line(context))
    say(f"wrote {output}; open it in a browser")


@o.with_groups
def plot(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE|MODEL", help="Votes, as for finegold aggregate, or a model written by --save."),
    ],
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help=f"One of {', '.join(KINDS)}.", autocompletion=o.completing(KINDS)),
    ],
    output: Annotated[str, o.value("--output", "-o", help="The image file: .svg, .png or .pdf.")],
    who: Annotated[
        str | None, o.value("--who", metavar="NAME", help="The annotator to show, for the chart annotator.")
    ] = None,
    truth: o.Truth = None,
    truth_task: o.TruthTask = None,
    truth_label: o.TruthLabel = None,
    fit: o.Fit = o.FIT_ONE,
    reading: ReadOptions = o.READING,
) -> None:
    from finegold.report import require_libraries, write_plot

    require_libraries()
    if kind not in KINDS:
        raise InputError(f"there is no chart {kind!r}; choose one of {', '.join(KINDS)}{did_you_mean(kind, KINDS)}")
    if (kind == "annotator") != (who is not None):
        raise InputError("--who NAME is required for the chart annotator and not allowed for other charts")
    if Path(output).suffix.lower().removeprefix(".") not in FORMATS:
        raise InputError(f"{output} must end in .svg, .png or .pdf")
    check_outputs([], [output], [file, truth], reading, fit)
    truths = truths_of(truth, truth_task, truth_label)
    write_plot(result_of([file], reading, fit), kind, output, truths, who=who)


plot.__doc__ = "Save one chart of the report.\n\n" + "\n\n".join(
    f"- [bold]{name}[/bold]: {about}" for name, about in KINDS.items()
)


def methods() -> None:
    """List the methods with a one-line description of each."""
    from finegold.methods.lookup import method_class, method_names

    names = method_names()
    width = max(map(len, names))
    for name in names:
        first_line = (method_class(name).__doc__ or "").strip().partition("\n")[0]
        typer.echo(f"{name:<{width}}  {first_line}")
