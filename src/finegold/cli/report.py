"""`finegold report`: write one HTML file about a result."""

from __future__ import annotations

from typing import Annotated

import typer

from finegold.cli import options as o
from finegold.cli import source as s

__all__ = ["report"]


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
    from finegold.report import require_libraries, write_report

    require_libraries()
    check_outputs(
        [],
        [output, *s.outputs_of(fitting)],
        s.inputs_of(files, truth, known.gold, reading=reading, fitting=fitting),
    )
    truths = s.truths_of(truth, truth_task, truth_label)
    result = s.result_of(files, reading, fitting, method, known)
    write_report(result, output, truths, title=s.title_of(files), command=s.command_line(context))
    say(f"wrote {output}; open it in a browser")
