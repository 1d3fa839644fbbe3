"""Aggregate data sets that do not fit on one machine: votes and labels are folders of many files.

The workers of a Dask cluster read, sort, fit and write; neither votes nor labels pass through this machine. All
machines need access to the same files, for example on a network file system.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import narwhals as nw

from finegold.api.run import OnStep, Run, opened_engine
from finegold.engines.blas import one_blas_thread
from finegold.engines.dask import DaskEngine
from finegold.errors import InputError
from finegold.fitting.solve import check_memory, descend
from finegold.io.folders.folder import StagingFolder, check_folder, replacing_folder
from finegold.io.folders.ingest import ROWS_PER_RANGE, Remote, ingest
from finegold.io.folders.labels import Tally, class_totals, part_name, write_block, write_unlabelled
from finegold.io.folders.outcome import Outcome, outcome, template, without_learned
from finegold.io.readers.alias import read_alias
from finegold.io.readers.assemble import ReadOptions
from finegold.kernels.labels import preference_of
from finegold.methods.lookup import Method, make_method
from finegold.methods.registry import DEFAULT_METHOD
from finegold.results.data import ResultData
from finegold.votes.annotations import Repeated

__all__ = ["Outcome", "aggregate_files", "check_folder", "run_into_folder"]


def aggregate_files(
    votes: Any,
    folder: str | Path,
    method: str | Method = DEFAULT_METHOD,
    *,
    engine: DaskEngine,
    gold: Any = None,
    task: str | None = None,
    annotator: str | None = None,
    label: str | None = None,
    classes: Sequence[Any] | None = None,
    repeated: Repeated = "first",
    missing: Sequence[Any] | None = None,
    keep_missing: bool = False,
    normalise: bool = False,
    alias: Any = None,
    probabilities: bool = False,
    on_step: OnStep | None = None,
    rows_per_range: int = ROWS_PER_RANGE,
) -> Outcome:
    """Aggregate votes in files into a folder of Parquet files with labels, sorted by task name.

    Labels and probabilities are the same as those of `finegold.aggregate`, to the bit. The accuracies of annotators may
    differ in the last digits. The folder is created when everything is written, and replaces that of an earlier run.
    """
    chosen = make_method(method, {})
    _check(chosen, engine, gold)
    began, target = time.perf_counter(), Path(folder).expanduser().resolve()
    check_folder(target, _places(votes, gold))
    options = ReadOptions(gold, classes, repeated, missing, keep_missing, normalise, read_alias(alias))
    with replacing_folder(target) as staging:
        engine.cluster.check_shared(staging.place)
        columns = (task, annotator, label)
        remote = ingest(
            engine.cluster,
            votes,
            columns,
            options,
            staging.scratch,
            fewest_votes=engine.fewest_votes,
            rows_per_range=rows_per_range,
        )
        check_memory(chosen, remote, remote.label, 0)  # posteriors stay with the workers
        engine.adopt(lambda index: remote.blocks[index], [block.n_tasks for block in remote.blocks])
        made, tally = _fit(chosen, engine, remote, staging, probabilities, on_step)
    notes = [*chosen.notes, *chosen.cautions(remote.n_tasks), *engine.notes()]
    return outcome(target, made, remote, tally, time.perf_counter() - began, notes)


def run_into_folder(wanted: Run, folder: str | Path, *, probabilities: bool = False) -> Outcome:
    """Call `aggregate_files` for a run whose engine is "dask" and whose votes are files."""
    method = make_method(wanted.method, dict(wanted.settings))
    check_folder(Path(folder).expanduser().resolve(), _places(wanted.votes, wanted.gold))
    given = {name: value for name, value in wanted.reading.items() if value}
    with opened_engine(wanted, method.single) as engine, wanted.progress.fitting(method.name) as line:
        return aggregate_files(
            wanted.votes,
            folder,
            method,
            engine=cast(DaskEngine, engine),
            gold=wanted.gold,
            probabilities=probabilities,
            on_step=wanted.on_step or line,
            **given,
        )


def _check(method: Method, engine: DaskEngine, gold: Any) -> None:
    engine.accept(method)
    if gold is not None and not method.takes_gold:
        raise InputError(f"{method.name} cannot use gold truths; leave them out or choose another method")
    if method.n_restarts > 1 or method.accelerated:
        raise InputError(
            f"{method.name} with these settings needs all posteriors on one machine, which a folder of labels does not "
            "allow; write the labels to one file, or choose another method (for ebcc: n_restarts=1)"
        )


def _places(*inputs: Any) -> list[Path]:
    """Return the paths among the inputs, which may also be data frames."""
    each = [one for given in inputs for one in (given if isinstance(given, list | tuple) else [given])]
    return [Path(one) for one in each if isinstance(one, str | Path)]


def _fit(
    method: Method,
    engine: DaskEngine,
    votes: Remote,
    staging: StagingFolder,
    probabilities: bool,
    on_step: OnStep | None,
) -> tuple[ResultData, Tally]:
    """Fit the method; then each worker writes the labels of its blocks."""
    with one_blas_thread():
        made = template(votes, descend(method, engine, on_step=on_step))
    preference = preference_of(engine.sum(class_totals).classes)
    tally = engine.sum(write_block, votes.blocks, preference, without_learned(made), probabilities, staging.labels)
    if len(votes.unlabelled):
        names: Any = nw.from_native(votes.unlabelled, series_only=True)
        write_unlabelled(made, names, names, probabilities, staging.labels / part_name(len(votes.blocks)))
    return made, tally
