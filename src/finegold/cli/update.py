"""`finegold update`: add new votes to a saved model."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from finegold.api.options import FitOptions
from finegold.cli import options as o
from finegold.cli.messages import on_terminal, say
from finegold.cli.outputs import check_outputs, print_json, print_summary, result_writers, summary_of, write_all
from finegold.cli.source import job_of
from finegold.errors import InputError
from finegold.io.options import ReadOptions

FIT_AGAIN: Any = o.Group(o.Fit, but=("method", "settings", "seed", "paper"))  # which the model has


@o.with_groups
def update(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model written by finegold aggregate --save.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="New votes, as for finegold aggregate.", show_default=False),
    ] = None,
    output: Annotated[
        str, o.value("--output", "-o", metavar="MODEL", help="The file for the new model; it may be the old one.")
    ] = ...,  # type: ignore[assignment]  # required
    refit: Annotated[bool, typer.Option("--refit", help="Fit all votes again, old and new.")] = False,
    labels: Annotated[str | None, o.value("--labels", help="Write the labels: .csv, .tsv, .jsonl or .parquet.")] = None,
    annotators: Annotated[str | None, o.value("--annotators", help="Write a table of the annotators.")] = None,
    fit: o.Fit = FIT_AGAIN,
    reading: ReadOptions = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Add new votes to a model. The cost depends on the number of new votes only.

    The votes may be on old and new tasks, by old and new annotators. Tasks without new votes keep their labels, unless
    --refit is given.
    """
    from finegold.api.aggregate import check_no_fit
    from finegold.api.result import Result
    from finegold.results.archive import load
    from finegold.system.files import locked

    execution = {each.name: getattr(fit, each.name) for each in fields(FitOptions)}
    gold, _, _ = execution.pop("gold"), execution.pop("method"), execution.pop("settings")
    keywords = job_of(files, reading).reading_keywords
    if not refit:
        check_no_fit({**execution, "threads": None, "predictions": None})
    if gold is True and not files:
        raise InputError("--gold-from-export needs FILE, the export with the gold marks")
    check_outputs([labels, annotators], [], [model])  # only the new model may replace the old one
    check_outputs([labels, annotators], [output], files or [], reading, fit)
    with locked(Path(output).expanduser(), wait=say):  # of two updates without a lock, one would be lost
        before = Result.of(load(model))
        with on_terminal().fitting(f"{before.method} (update)") as on_step:
            result = before.update(files, on_step=on_step, gold=gold, refit=refit, **keywords, **execution)
        summary = summary_of(result)
        summary["files"] = {"labels": labels, "annotators": annotators, "model": output}
        write_all(result_writers(result, labels, annotators, output, raw))
    if json:
        print_json(summary)
    print_summary(summary, result)
