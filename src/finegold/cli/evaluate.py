"""`finegold evaluate`: compare labels with known truths."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from finegold.cli import options as o
from finegold.methods.registry import DEFAULT_METHOD

__all__ = ["evaluate"]

METRICS = (
    *("exact_match", "micro_f1"),  # of sets of labels
    *("accuracy", "macro_f1", "log_loss", "calibration_error"),
    *("mean_absolute_error", "quadratic_kappa"),  # of ordered classes
)


@o.with_groups
def evaluate(
    files: o.Files,
    truth: Annotated[
        str, typer.Option("--truth", metavar="FILE", help="Known truths: a table with a task and a truth column.")
    ],
    methods: o.Methods = None,
    fitting: o.Fitting = o.FITTING,
    reading: o.Reading = o.READING,
    truth_task: o.TruthTask = None,
    truth_label: o.TruthLabel = None,
    json: o.Json = False,
) -> None:
    """Evaluate the labels of one or more methods against known truths. The default is that of finegold aggregate.

    If m classes share the highest probability and one of them is the truth, the task adds 1/m to the accuracy.
    Macro-F1 is the mean over the classes of the truths. For the log loss, probabilities are clipped at 1e-15. The
    calibration error is the expected calibration error with 15 bins.

    With --multi, the metrics are the share of tasks whose set is right as a whole, and F1 over all labels (micro) and
    over the options (macro). With --ordered, the mean absolute error of the labels and quadratic kappa are added.
    """
    from finegold.api.evaluate import evaluate_job
    from finegold.cli.outputs import check_outputs
    from finegold.cli.settings import methods_from_options, split_values
    from finegold.cli.source import inputs_of, outputs_of
    from finegold.cli.summary import print_left_out

    check_outputs([], outputs_of(fitting), inputs_of(files, truth, reading=reading, fitting=fitting))
    chosen = methods_from_options(
        split_values(methods) or [DEFAULT_METHOD], fitting.settings, fitting.seed, fitting.paper
    )
    wanted = reading.run(files, on_read=print_left_out, **fitting.run_fields())
    columns = {"truth_task": truth_task, "truth_label": truth_label}
    scores = evaluate_job(wanted, truth, chosen, **columns)
    _show(scores, json, many=len(chosen) > 1)


def _show(scores: list[dict[str, Any]], as_json: bool, many: bool) -> None:
    from finegold.cli.summary import print_json

    if as_json:
        print_json(scores if many else scores[0])
        return
    from rich.box import SIMPLE
    from rich.table import Table

    from finegold.cli.show import console

    table = Table(box=SIMPLE, caption=f"{scores[0]['n_truths']:,} truths, {scores[0]['n_tasks']:,} tasks")
    table.add_column("method")
    metrics = [name for name in METRICS if name in scores[0]]
    for name in (*metrics, "iterations", "seconds"):
        table.add_column(name.replace("_f1", "-F1").replace("_", " "), justify="right")
    for score in scores:
        table.add_row(*_row(score, metrics))
    console().print(table)


def _row(score: dict[str, Any], metrics: list[str]) -> list[str]:
    figures = [f"{score[name]:.4f}" for name in metrics]
    stopped = "" if score["converged"] else " (not converged)"
    return [score["method"], *figures, f"{score['iterations']}{stopped}", f"{score['seconds']:.3f}"]
