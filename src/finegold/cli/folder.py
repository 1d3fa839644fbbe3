"""`finegold aggregate -o FOLDER/ --engine dask`: the workers write the labels into a folder of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from finegold.errors import InputError

if TYPE_CHECKING:
    from finegold.api.job import Run
    from finegold.io.folders.labels import FolderOutcome

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
    """Aggregate votes into a folder of labels. `refused` are options that need all votes on one machine."""
    from finegold.api.job import run_into_folder
    from finegold.cli.outputs import check_outputs, write_all
    from finegold.cli.source import inputs_of
    from finegold.cli.summary import print_json, print_summary
    from finegold.io.writers import write_frame

    _check(wanted, refused)
    tables = [] if annotators is None else [annotators]
    check_outputs(tables, [], inputs_of(wanted.votes, wanted.gold, wanted.reading.get("alias")))
    outcome = run_into_folder(wanted, folder, probabilities=probabilities)
    if annotators is not None:
        write_all({annotators: lambda path: write_frame(outcome.annotators(), path)})
    found = _summary(outcome, folder, annotators)
    if json:
        print_json(found)
    print_summary(found, outcome.result)


def _check(wanted: Run, refused: dict[str, Any]) -> None:
    if wanted.engine != "dask":
        raise InputError("writing a folder of labels (-o FOLDER/) needs a cluster; add --engine dask, or name a file")
    given = [f"--{name.replace('_', '-')}" for name, value in refused.items() if value]
    if given:
        raise InputError(
            f"{', '.join(given)} cannot be combined with a folder of labels; name a file (-o labels.parquet)"
        )


def _summary(outcome: FolderOutcome, folder: str, annotators: str | None) -> dict[str, Any]:
    """Return the same summary as for any other result."""
    from finegold.cli.summary import summary_fields

    counted = {"tied": outcome.tied, "outvoted": outcome.outvoted, "gold": outcome.n_gold}
    found = summary_fields(outcome.result, outcome.n_votes, outcome.n_tasks, **counted)
    return {**found, "files": {"labels": folder, "annotators": annotators, "model": None}}
