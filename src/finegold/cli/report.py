"""`finegold report`: write one HTML file about a result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from finegold.cli import options as o
from finegold.cli import source as s
from finegold.cli.completion import complete_chart
from finegold.errors import InputError
from finegold.report.kinds import FORMATS, KINDS
from finegold.system.memory import did_you_mean

__all__ = ["methods", "plot", "report"]


@o.with_groups
def report(
    context: typer.Context,
    files: o.Source,
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="The HTML file.")] = "report.html",
    truth: o.Truth = None,
    truth_task: o.TruthTask = None,
    truth_label: o.TruthLabel = None,
    method: o.Method = None,
    fitting: o.Fitting = o.FITTING,
    known: o.Gold = o.GOLD,
    reading: o.Reading = o.READING,
) -> None:
    """Write one HTML file about the labels. It needs no network and no server, and it can be printed.

    It shows how good the labels are, which tasks a person should check, how good each annotator is, the prototypes,
    the classes, agreement, calibration, and how the labels were computed. For sets of labels it shows the options, the
    tasks in doubt, and how good annotators are at each option.
    """
    from finegold.cli.messages import say
    from finegold.cli.outputs import check_outputs
    from finegold.report import require_libraries, write_report, write_sets_report
    from finegold.results.multi import MultiResult

    require_libraries()
    check_outputs(
        [],
        [output, *s.outputs_of(fitting)],
        s.inputs_of(files, truth, known.gold, reading=reading, fitting=fitting),
    )
    truths = s.truths_of(truth, truth_task, truth_label)
    result = s.any_result_of(files, reading, fitting, method, known)
    write: Any = write_sets_report if isinstance(result, MultiResult) else write_report
    write(result, output, truths, title=s.title_of(files), command=s.command_line(context))
    say(f"wrote {output}; open it in a browser")


KINDS_HELP = "\n\n".join(f"- [bold]{name}[/bold]: {about}" for name, about in KINDS.items())


@o.with_groups
def plot(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE|MODEL", help="Votes, as for finegold aggregate, or a model written by --save."),
    ],
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help=f"One of {', '.join(KINDS)}.", autocompletion=complete_chart),
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="OUT", help="The image file: .svg, .png or .pdf.")],
    who: Annotated[
        str | None, typer.Option("--who", metavar="NAME", help="The annotator to show, for the chart annotator.")
    ] = None,
    truth: o.Truth = None,
    truth_task: o.TruthTask = None,
    truth_label: o.TruthLabel = None,
    method: o.Method = None,
    fitting: o.Fitting = o.FITTING,
    known: o.Gold = o.GOLD,
    reading: o.Reading = o.READING,
) -> None:
    from finegold.cli.outputs import check_outputs
    from finegold.report import require_libraries, write_plot

    require_libraries()
    _check(kind, who, output)
    check_outputs(
        [],
        [output, *s.outputs_of(fitting)],
        s.inputs_of([file], truth, known.gold, reading=reading, fitting=fitting),
    )
    truths = s.truths_of(truth, truth_task, truth_label)
    result = s.result_of([file], reading, fitting, method, known)
    write_plot(result, kind, output, truths, who=who)


plot.__doc__ = f"Save one chart of the report.\n\n{KINDS_HELP}"


def _check(kind: str, who: str | None, output: str) -> None:
    if kind not in KINDS:
        raise InputError(f"there is no chart {kind!r}; choose one of {', '.join(KINDS)}{did_you_mean(kind, KINDS)}")
    if (kind == "annotator") != (who is not None):
        raise InputError("--who NAME is required for the chart annotator and not allowed for other charts")
    if Path(output).suffix.lower().removeprefix(".") not in FORMATS:
        raise InputError(f"{output} must end in .svg, .png or .pdf")


def methods() -> None:
    """List the methods with a one-line description of each."""
    import typer

    from finegold.methods.lookup import method_class, method_names

    names = method_names()
    width = max(map(len, names))
    for name in names:
        first_line = (method_class(name).__doc__ or "").strip().partition("\n")[0]
        typer.echo(f"{name:<{width}}  {first_line}")
