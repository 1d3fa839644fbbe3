"""`finegold update`: add new votes to a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from finegold.cli import options as o
from finegold.errors import InputError

if TYPE_CHECKING:
    from finegold.api.result import Result

__all__ = ["update"]


@o.with_groups
def update(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model written by finegold aggregate --save.")],
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE", help="New votes, as for finegold aggregate.", show_default=False),
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="The file for the new model; it may be the old one.")
    ] = ...,  # type: ignore[assignment]  # required
    refit: Annotated[bool, typer.Option("--refit", help="Fit all votes again, old and new.")] = False,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="OUT", help="Write the labels: .csv, .tsv, .jsonl or .parquet.")
    ] = None,
    annotators: Annotated[
        str | None, typer.Option("--annotators", metavar="OUT", help="Write a table of the annotators.")
    ] = None,
    execution: o.Execution = o.EXECUTION,
    known: o.Gold = o.GOLD,
    reading: o.Reading = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Add new votes to a model. The cost depends on the number of new votes only.

    The votes may be on old and new tasks, by old and new annotators. Tasks without new votes keep their labels, unless
    --refit is given.
    """
    from finegold.api.aggregate import check_no_fit
    from finegold.api.result import Result
    from finegold.cli.messages import say
    from finegold.cli.outputs import check_outputs, print_json, print_summary, summary_of, write_all
    from finegold.cli.source import inputs_of, outputs_of
    from finegold.results.archive import load
    from finegold.system.files import locked

    if not refit:
        check_no_fit({**execution.run_fields(), "threads": None, "predictions": None})
    if known.gold_from_export and not files:
        raise InputError("--gold-from-export needs FILE, the export with the gold marks")
    tables = [path for path in (labels, annotators) if path is not None]
    check_outputs(tables, [], [model])  # only the new model may replace the old one
    check_outputs(
        tables,
        [output, *outputs_of(execution)],
        inputs_of(files or [], known.gold, reading=reading, fitting=execution),
    )
    options = {**reading.keywords(), **execution.run_fields(), "gold": known.given(), "refit": refit}
    with locked(Path(output).expanduser(), wait=say):  # of two updates without a lock, one would be lost
        result = _updated(Result.of(load(model)), files, options)
        found = summary_of(result)
        found["files"] = {"labels": labels, "annotators": annotators, "model": output}
        write_all(_files(result, found["files"]))
    if json:
        print_json(found)
    print_summary(found, result)


def _updated(before: Result, files: list[str] | None, options: dict[str, Any]) -> Result:
    from finegold.cli.messages import on_terminal

    with on_terminal().fitting(f"{before.method} (update)") as on_step:
        return before.update(files, on_step=on_step, **options)


def _files(result: Result, paths: dict[str, str | None]) -> dict[str, Any]:
    from finegold.io.writers import write_frame, write_labels
    from finegold.results.tables import annotators_for_users

    writers = {
        "labels": lambda path: write_labels(result, path),
        "annotators": lambda path: write_frame(annotators_for_users(result), path),
        "model": result.save,
    }
    return {path: writers[name] for name, path in paths.items() if path is not None}
