"""karat update: new votes into a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli import options as o
from karat.errors import InputError

if TYPE_CHECKING:
    from karat.api.result import Result

__all__ = ["update"]


@o.with_groups
def update(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="What karat aggregate --save kept.")],
    files: Annotated[
        list[str] | None, typer.Argument(metavar="FILE", help="New votes, as for karat aggregate.", show_default=False)
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="MODEL", help="Where the new model goes; may be the old one.")
    ] = ...,  # type: ignore[assignment]  # required
    refit: Annotated[
        bool, typer.Option("--refit", help="Fit all votes again, as if the new ones had always been there.")
    ] = False,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="OUT", help="Write the labels: .csv, .tsv, .jsonl or .parquet.")
    ] = None,
    annotators: Annotated[
        str | None, typer.Option("--annotators", metavar="OUT", help="Write what is known of each annotator.")
    ] = None,
    place: o.Place = o.PLACE,
    known: o.Gold = o.GOLD,
    reading: o.Reading = o.READING,
    json: o.Json = False,
    raw: o.Raw = False,
) -> None:
    """Fold new votes into a model, at a cost that follows the new votes.

    Votes may be of old and new tasks, by old and new annotators. Tasks without new votes keep their labels; --refit
    looks at all of them again.
    """
    from karat.api.result import load
    from karat.api.update import check_no_fit
    from karat.cli.outputs import check_outputs, write_all
    from karat.cli.source import inputs_of, outputs_of
    from karat.cli.summary import facts, print_json, tell
    from karat.cli.words import say
    from karat.system.locks import locked

    if not refit:
        check_no_fit({**place.place(), "threads": None})
    if known.gold_from_export and not files:
        raise InputError("--gold-from-export needs the FILE that has the marks")
    tables = [path for path in (labels, annotators) if path is not None]
    check_outputs(tables, [], [model])  # only the new model may take its place
    check_outputs(tables, [output, *outputs_of(place)], inputs_of(files or [], known.gold, place.prior, reading.alias))
    options = {**reading.keywords(), **place.place(), "gold": known.given(), "refit": refit}
    with locked(Path(output).expanduser(), wait=say):  # two updates at once would each drop the other's votes
        result = _updated(load(model), files, options)
        found = facts(result)
        found["files"] = {"labels": labels, "annotators": annotators, "model": output}
        write_all(_files(result, found["files"]))
    if json:
        print_json(found)
    tell(found, result)


def _updated(before: Result, files: list[str] | None, options: dict[str, Any]) -> Result:
    from karat.cli.words import on_terminal

    with on_terminal().fitting(f"{before.method} (update)") as on_step:
        return before.update(files, on_step=on_step, **options)


def _files(result: Result, paths: dict[str, str | None]) -> dict[str, Any]:
    from karat.io.writers import write_frame, write_labels

    writers = {
        "labels": lambda path: write_labels(result, path),
        "annotators": lambda path: write_frame(result.annotators(), path),
        "model": result.save,
    }
    return {path: writers[name] for name, path in paths.items() if path is not None}
