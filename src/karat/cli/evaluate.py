"""karat evaluate: how good the labels are, judged by known truths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli import database as d
from karat.cli import exports as e
from karat.cli import options as o
from karat.errors import InputError
from karat.methods.registry import DEFAULT_METHOD

if TYPE_CHECKING:
    from karat.api.result import Result
    from karat.methods import Method
    from karat.votes.annotations import Annotations
    from karat.votes.key import Key

__all__ = ["evaluate", "make_methods"]


def evaluate(
    files: o.Files,
    truth: Annotated[str, typer.Option("--truth", metavar="FILE", help="The truths: a table of task and truth.")],
    methods: o.Methods = None,
    settings: o.Setting = None,
    task: o.TaskColumn = None,
    annotator: o.AnnotatorColumn = None,
    label: o.LabelColumn = None,
    truth_task: Annotated[
        str | None, typer.Option("--truth-task", metavar="NAME", help="The column of the tasks in --truth.")
    ] = None,
    truth_label: Annotated[
        str | None, typer.Option("--truth-label", metavar="NAME", help="The column of the truths in --truth.")
    ] = None,
    wide: o.Wide = False,
    classes: o.Classes = None,
    missing: o.Missing = None,
    repeated: o.Repeated = "first",
    threads: o.Threads = None,
    seed: o.Seed = None,
    json: o.Json = False,
    query: d.Query = None,
    table: d.Table = None,
    param: d.Param = None,
    format: e.Format = None,
    question: e.Question = None,
    include: e.Include = None,
) -> None:
    """Judge the labels of one or more methods (without any named, that of karat aggregate) by known truths.

    Accuracy gives 1/m to a truth that shares the highest probability with m - 1 other classes; macro-F1 is the
    mean over the classes of the truth; log loss takes no probability for less than 1e-15; the calibration error
    is the expected one, with 15 bins.
    """
    from karat.cli.summary import tell_left_out
    from karat.io.readers import match_truth

    made = make_methods(o.several(methods) or [DEFAULT_METHOD], settings, seed)
    selection = {**d.selection(query, table, param), **e.selection(format, question, include)}
    votes = o.Reading(files, task, annotator, label, wide, classes, missing, repeated, selection).read()
    tell_left_out(votes)
    key = match_truth(votes, truth, task=truth_task, label=truth_label)
    scores = [_score(chosen, votes, key, threads) for chosen in made]
    _show(scores, json, many=len(made) > 1)


def make_methods(names: list[str], settings: list[str] | None, seed: int | None) -> list[Method]:
    """With several methods, a setting goes to those that have it."""
    from karat.methods import OBSOLETE

    methods = [o.make(name, settings, seed, only_known=len(names) > 1) for name in names]
    obsolete = {setting for name in names for setting in OBSOLETE.get(name.lower(), ())}
    for setting in o.setting_names(settings):
        if setting not in obsolete and not any(setting in method.settings for method in methods):
            raise InputError(f"none of {', '.join(names)} has a setting {setting}")
    return methods


def _score(method: Method, votes: Annotations, key: Key, threads: int | None) -> dict[str, Any]:
    from karat.api.fit import fit
    from karat.cli.words import progress

    with progress(method.name) as watch:
        result = fit(method, votes, threads=threads, watch=watch)
    return _figures(result, key)


def _figures(result: Result, key: Key) -> dict[str, Any]:
    from karat.results import metrics

    posterior = result.posterior
    return {
        "method": result.method,
        "accuracy": metrics.accuracy(posterior, key.codes),
        "macro_f1": metrics.macro_f1(posterior, key.codes),
        "log_loss": metrics.log_loss(posterior, key.codes),
        "calibration_error": metrics.calibration_error(posterior, key.codes),
        "iterations": result.iterations,
        "converged": result.converged,
        "seconds": result.seconds,
        "n_tasks": len(posterior),
        "n_truths": key.n_known,
        "n_truths_unused": key.n_unmatched,
    }


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
