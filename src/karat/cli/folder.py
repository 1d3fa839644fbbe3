"""karat aggregate -o FOLDER/ --engine dask: the labels stay where the workers write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karat.errors import InputError

if TYPE_CHECKING:
    from karat.api.folders import Outcome
    from karat.api.run import Run

__all__ = ["aggregate_into"]


def aggregate_into(
    wanted: Run,
    folder: str,
    *,
    annotators: str | None,
    probabilities: bool,
    json: bool,
    refused: dict[str, Any],
) -> None:
    """refused: options that need all votes or all posteriors on this machine."""
    from karat.api.folders import run_into_folder
    from karat.cli.outputs import check_outputs, write_all
    from karat.cli.source import inputs_of
    from karat.cli.summary import print_json, tell
    from karat.io.writers import write_frame

    _check(wanted, refused)
    tables = [] if annotators is None else [annotators]
    check_outputs(tables, [], inputs_of(wanted.votes, wanted.gold, wanted.reading.get("alias")))
    outcome = run_into_folder(wanted, folder, probabilities=probabilities)
    if annotators is not None:
        write_all({annotators: lambda path: write_frame(outcome.annotators(), path)})
    found = _facts(outcome, folder, annotators)
    if json:
        print_json(found)
    tell(found, outcome.result)


def _check(wanted: Run, refused: dict[str, Any]) -> None:
    if wanted.engine != "dask":
        raise InputError("a folder of labels (-o FOLDER/) is written by a cluster; add --engine dask, or name a file")
    given = [f"--{name.replace('_', '-')}" for name, value in refused.items() if value]
    if given:
        raise InputError(f"{', '.join(given)} cannot be had with a folder of labels; name a file (-o labels.parquet)")


def _facts(outcome: Outcome, folder: str, annotators: str | None) -> dict[str, Any]:
    """As of any result."""
    from karat.cli.summary import described

    counted = {"tied": outcome.tied, "outvoted": outcome.outvoted, "gold": outcome.n_gold}
    found = described(outcome.result, outcome.n_votes, outcome.n_tasks, **counted)
    return {**found, "files": {"labels": folder, "annotators": annotators, "model": None}}
