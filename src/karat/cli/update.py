"""karat update: new votes into a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from karat.cli import database as d
from karat.cli import exports as e
from karat.cli import options as o
from karat.errors import InputError

if TYPE_CHECKING:
    from karat.api.result import Result

__all__ = ["update"]


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
    gold: Annotated[
        str | None, typer.Option("--gold", metavar="FILE", help="Truths that have become known, or a column with them.")
    ] = None,
    prior: o.Prior = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="OUT", help="Write the labels: .csv, .tsv, .jsonl or .parquet.")
    ] = None,
    annotators: Annotated[
        str | None, typer.Option("--annotators", metavar="OUT", help="Write what is known of each annotator.")
    ] = None,
    task: o.TaskColumn = None,
    annotator: o.AnnotatorColumn = None,
    label: o.LabelColumn = None,
    wide: o.Wide = False,
    missing: o.Missing = None,
    repeated: o.Repeated = "first",
    threads: o.Threads = None,
    json: o.Json = False,
    query: d.Query = None,
    table: d.Table = None,
    param: d.Param = None,
    format: e.Format = None,
    question: e.Question = None,
    include: e.Include = None,
    gold_from_export: e.GoldFromExport = False,
    raw: o.Raw = False,
) -> None:
    """Fold new votes into a model, at a cost that follows the new votes.

    Votes may be of old and new tasks, by old and new annotators. Tasks without new votes keep their labels; --refit
    looks at all of them again.
    """
    from karat.api.result import load
    from karat.cli.outputs import check_outputs, write_all
    from karat.cli.summary import facts, print_json, tell
    from karat.cli.words import say
    from karat.system.locks import locked

    if prior is not None and not refit:
        raise InputError("--prior is for fitting again; add --refit")
    if gold_from_export and not files:
        raise InputError("--gold-from-export needs the FILE that has the marks")
    tables = [path for path in (labels, annotators) if path is not None]
    inputs = [name for name in (*(files or []), gold, prior) if name is not None]
    check_outputs(tables, [], [model])  # only the new model may take its place
    check_outputs(tables, [output], inputs)
    options = {"task": task, "annotator": annotator, "label": label, "wide": wide, "missing": o.listed(missing)}
    options |= {**d.selection(query, table, param), **e.selection(format, question, include)}
    options |= {"gold": e.gold_of(gold, gold_from_export), "prior": prior, "refit": refit}
    with locked(Path(output).expanduser(), wait=say):  # two updates at once would each drop the other's votes
        result = _updated(load(model), files, options, threads, repeated)
        assert result.annotations is not None
        found = facts(result, result.annotations)
        found["files"] = {"labels": labels, "annotators": annotators, "model": output}
        write_all(_files(result, found["files"]))
    if json:
        print_json(found)
    tell(found, result)


def _updated(
    before: Result, files: list[str] | None, options: dict[str, Any], threads: int | None, repeated: str
) -> Result:
    from karat.cli.words import progress

    if options["wide"] and options["annotator"]:
        options["annotator"] = o.listed(options["annotator"])
    with progress(f"{before.method} (update)") as watch:
        return before.update(files, threads=threads, watch=watch, repeated=repeated, **options)


def _files(result: Result, paths: dict[str, str | None]) -> dict[str, Any]:
    from karat.io.writers import write_frame, write_labels

    writers = {
        "labels": lambda path: write_labels(result, path),
        "annotators": lambda path: write_frame(result.annotators(), path),
        "model": result.save,
    }
    return {path: writers[name] for name, path in paths.items() if path is not None}
