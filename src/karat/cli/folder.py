"""karat aggregate -o FOLDER/ --engine dask: the labels stay where the workers write them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from karat.cli import options as o
from karat.errors import InputError

if TYPE_CHECKING:
    from karat.api.folders import Outcome
    from karat.methods import Method

__all__ = ["aggregate_into"]


def aggregate_into(
    folder: str,
    reading: o.Reading,
    method: Method,
    engine: str,
    options: dict[str, Any],
    *,
    gold: str | None,
    annotators: str | None,
    probabilities: bool,
    json: bool,
    refused: dict[str, Any],
) -> None:
    """refused: options that need all votes or all posteriors on this machine."""
    from karat.cli.outputs import check_outputs, write_all
    from karat.cli.summary import print_json, tell
    from karat.io.writers import write_frame

    _check(engine, refused)
    tables = [] if annotators is None else [annotators]
    check_outputs(tables, [], [*reading.files, *([] if gold is None else [gold])])
    outcome = _aggregate(folder, reading, method, options, gold, probabilities)
    if annotators is not None:
        write_all({annotators: lambda path: write_frame(outcome.annotators(), path)})
    found = _facts(outcome, folder, annotators)
    if json:
        print_json(found)
    tell(found, outcome.result)


def _check(engine: str, refused: dict[str, Any]) -> None:
    if engine != "dask":
        raise InputError("a folder of labels (-o FOLDER/) is written by a cluster; add --engine dask, or name a file")
    given = [f"--{name.replace('_', '-')}" for name, value in refused.items() if value]
    if given:
        raise InputError(f"{', '.join(given)} cannot be had with a folder of labels; name a file (-o labels.parquet)")


def _aggregate(
    folder: str, reading: o.Reading, method: Method, options: dict[str, Any], gold: str | None, probabilities: bool
) -> Outcome:
    from karat.api.folders import aggregate_files, check_folder
    from karat.cli.words import progress
    from karat.engines.dask import DaskEngine

    check_folder(Path(folder).expanduser().resolve(), map(Path, [*reading.files, *([] if gold is None else [gold])]))
    engine = DaskEngine(**options)
    try:
        with progress(method.name) as watch:
            return aggregate_files(
                reading.files,
                folder,
                method,
                engine=engine,
                gold=gold,
                task=reading.task,
                annotator=reading.annotator,
                label=reading.label,
                classes=o.listed(reading.classes),
                repeated=reading.repeated,  # type: ignore[arg-type]  # checked where the votes are grouped
                missing=o.listed(reading.missing),
                probabilities=probabilities,
                watch=watch,
            )
    finally:
        engine.close()


def _facts(outcome: Outcome, folder: str, annotators: str | None) -> dict[str, Any]:
    """As of any result."""
    from karat.cli.summary import described

    counted = {"tied": outcome.tied, "outvoted": outcome.outvoted, "gold": outcome.n_gold}
    found = described(outcome.result, outcome.n_votes, outcome.n_tasks, **counted)
    return {**found, "files": {"labels": folder, "annotators": annotators, "model": None}}
