"""karat evaluate: how good the labels are, judged by known truths."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from karat.cli import options as o
from karat.methods.registry import DEFAULT_METHOD

__all__ = ["evaluate"]


@o.with_groups
def evaluate(
    files: o.Files,
    truth: Annotated[str, typer.Option("--truth", metavar="FILE", help="The truths: a table of task and truth.")],
    methods: o.Methods = None,
    fitting: o.Fitting = o.FITTING,
    reading: o.Reading = o.READING,
    truth_task: Annotated[
        str | None, typer.Option("--truth-task", metavar="NAME", help="The column of the tasks in --truth.")
    ] = None,
    truth_label: Annotated[
        str | None, typer.Option("--truth-label", metavar="NAME", help="The column of the truths in --truth.")
    ] = None,
    json: o.Json = False,
) -> None:
    """Judge the labels of one or more methods (without any named, that of karat aggregate) by known truths.

    Accuracy gives 1/m to a truth that shares the highest probability with m - 1 other classes; macro-F1 is the
    mean over the classes of the truth; log loss takes no probability for less than 1e-15; the calibration error
    is the expected one, with 15 bins.
    """
    from karat.api.evaluate import evaluate_run
    from karat.cli.outputs import check_outputs
    from karat.cli.settings import make_several, several
    from karat.cli.source import inputs_of, outputs_of
    from karat.cli.summary import tell_left_out

    check_outputs([], outputs_of(fitting), inputs_of(files, fitting.prior, truth, reading.alias))
    chosen = make_several(several(methods) or [DEFAULT_METHOD], fitting.settings, fitting.seed, fitting.paper)
    wanted = reading.run(files, on_read=tell_left_out, **fitting.place())
    scores = evaluate_run(wanted, truth, chosen, truth_task=truth_task, truth_label=truth_label)
    _show(scores, json, many=len(chosen) > 1)


def _show(scores: list[dict[str, Any]], as_json: bool, many: bool) -> None:
    from karat.cli.summary import print_json

    if as_json:
        print_json(scores if many else scores[0])
        return
    from rich.box import SIMPLE
    from rich.table import Table

    from karat.cli.show import console

    table = Table(box=SIMPLE, caption=f"{scores[0]['n_truths']:,} truths, {scores[0]['n_tasks']:,} tasks")
    table.add_column("method")
    for name in ("accuracy", "macro-F1", "log loss", "calibration error", "iterations", "seconds"):
        table.add_column(name, justify="right")
    for score in scores:
        table.add_row(*_row(score))
    console().print(table)


def _row(score: dict[str, Any]) -> list[str]:
    figures = [f"{score[name]:.4f}" for name in ("accuracy", "macro_f1", "log_loss", "calibration_error")]
    stopped = "" if score["converged"] else " (not converged)"
    return [score["method"], *figures, f"{score['iterations']}{stopped}", f"{score['seconds']:.3f}"]
