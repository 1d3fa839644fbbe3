"""Votes in many files -> a folder of labels, which the workers of a cluster write:
`aggregate_files`.

The folder appears whole or not at all. A list of its parts is stored beside them, in a Parquet file
without rows: programs that read the folder as a table see one more, empty part. Finegold replaces a
folder only if it holds exactly what its list names.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.engines.base import one_blas_thread
from finegold.engines.blocks import Block
from finegold.engines.dask import DaskEngine
from finegold.errors import InputError, OutputError
from finegold.fitting.solve import OnStep, check_gold, check_memory, descend
from finegold.io.folders.votes import ROWS_PER_RANGE, StoredBlock, read_votes
from finegold.io.options import Reading, ReadOptions
from finegold.io.read import read_alias
from finegold.kernels.votes import agreement, decide, outvoted, preference_of
from finegold.methods.base import Method
from finegold.methods.lookup import make_method
from finegold.methods.registry import DEFAULT_METHOD
from finegold.results.data import Learned, ResultData, accuracies
from finegold.results.tables import annotators_table, labels_for_users
from finegold.system.files import abandoned, attached_folder, move, reserved, temporary_name
from finegold.votes.encoding import Names

PARTS = "part-*.parquet"
MANIFEST = "_finegold_manifest.parquet"
# of the list in the file's metadata
KEY = "finegold.parts"


@dataclass(frozen=True)
class FolderOutcome:
    """Everything except the labels, which are the rows of the Parquet files in `folder`."""

    folder: Path
    # of the annotators; it has no tasks
    result: ResultData
    n_votes: int
    n_tasks: int
    n_gold: int
    tied: int
    # labels with fewer votes than another class
    outvoted: int

    def annotators(self) -> Any:
        return annotators_table(self.result)


def aggregate_files(
    votes: Any,
    folder: str | Path,
    method: str | Method = DEFAULT_METHOD,
    *,
    engine: DaskEngine,
    gold: Any = None,
    probabilities: bool = False,
    on_step: OnStep | None = None,
    rows_per_range: int = ROWS_PER_RANGE,
    **reading: Unpack[Reading],
) -> FolderOutcome:
    """Aggregate votes in files into a folder of Parquet files with labels, sorted by task name.

    Labels and probabilities are the same as those of `finegold.aggregate`, to the bit. The
    accuracies of annotators may differ in the last digits. The folder is created when everything is
    written, and replaces that of an earlier run.
    """
    chosen, began, target = (
        make_method(method, {}),
        time.perf_counter(),
        Path(folder).expanduser().resolve(),
    )
    engine.accept(chosen)
    check_gold(chosen, gold is not None)
    if chosen.n_restarts > 1:
        problem = (
            "with these settings needs all posteriors on one machine, which a folder of labels does"
            " not allow"
        )
        remedy = "write the labels to one file, or choose another method (for ebcc: n_restarts=1)"
        raise InputError(f"{chosen.name} {problem}; {remedy}")
    check_folder(target, votes, gold)
    options = ReadOptions(gold=gold, **reading)
    options = replace(options, alias=None if options.alias is None else read_alias(options.alias))
    with replacing_folder(target) as staging:
        engine.cluster.check_shared(staging)
        sizes = {"fewest_votes": engine.fewest_votes, "rows_per_range": rows_per_range}
        remote = read_votes(engine.cluster, votes, options, staging / "votes", **sizes)
        # posteriors stay with the workers
        check_memory(chosen, remote, remote.label, 0)
        engine.adopt(lambda index: remote.blocks[index], [block.n_tasks for block in remote.blocks])
        with one_blas_thread():
            descent = descend(chosen, engine, on_step=on_step)
            learned = chosen.learned(descent.parameters)
        none = Names(remote.annotators)[:0]
        by_task = {
            "label_codes": np.int32,
            "tied": np.bool_,
            "votes_per_task": np.int64,
            "gold": np.int32,
        }
        by_annotator = (
            "votes_per_annotator",
            "agreement",
            "accuracy",
            "accuracy_low",
            "accuracy_high",
        )
        empty: dict[str, Any] = {name: np.empty(0, dtype) for name, dtype in by_task.items()}
        # without tasks, annotators, and what grows with them: it travels to every worker
        template = ResultData(
            method=chosen.name,
            settings=chosen.settings,
            task_names=none,
            annotator_names=none,
            class_names=remote.classes,
            unlabelled=none,
            posterior=np.empty((0, remote.n_classes)),
            **empty | dict.fromkeys(by_annotator, np.empty(0)),
            learned=Learned(class_prior=np.empty(0)),
            steps=[],
            counts=remote.counts,
            converged=descent.converged,
            stopped=descent.stopped,
        )
        preference = preference_of(engine.sum(_sum_classes).classes)
        labels = staging / "labels"
        tally = engine.sum(_write_block, remote.blocks, preference, template, probabilities, labels)
        unlabelled = Names(remote.unlabelled)
        if len(unlabelled):
            _write_part(
                replace(template, unlabelled=unlabelled), probabilities, len(remote.blocks), labels
            )
    accuracy = accuracies(tally.votes, tally.expected)
    unknown = np.full(len(accuracy), np.nan)
    result = replace(
        template,
        learned=learned,
        steps=descent.steps,
        annotator_names=Names(remote.annotators),
        unlabelled=unlabelled,
        votes_per_annotator=tally.votes,
        agreement=tally.agreed / tally.votes,
        accuracy=accuracy,
        accuracy_low=unknown,
        accuracy_high=unknown,
        seconds=time.perf_counter() - began,
        notes=[*chosen.notes, *chosen.cautions(remote.n_tasks), *engine.notes()],
    )
    return FolderOutcome(
        target, result, remote.n_votes, remote.n_tasks, remote.n_gold, tally.tied, tally.outvoted
    )


# ---- What workers do with their blocks


class ClassSums(NamedTuple):
    # [K] sums of the posteriors
    classes: NDArray[np.float64]


class Tally(NamedTuple):
    """Sums over tasks and votes."""

    tied: int
    # labels with fewer votes than another class
    outvoted: int
    # [W]
    votes: NDArray[np.int64]
    # [W]
    agreed: NDArray[np.int64]
    # [W]
    expected: NDArray[np.float64]


def _sum_classes(block: Block) -> ClassSums:
    return ClassSums(block.class_sums())


def _write_block(
    block: Block,
    stored: list[StoredBlock],
    preference: NDArray[np.int64],
    template: ResultData,
    probabilities: bool,
    folder: Path,
) -> Tally:
    """Write the labels of a block, and return its sums over annotators."""
    label, tied = np.empty(block.n_tasks, np.int32), np.empty(block.n_tasks, np.bool_)
    decide(block.posterior, preference, label, tied)
    piece = replace(
        template,
        task_names=Names(stored[block.index].task_names()),
        posterior=block.posterior,
        gold=block.gold,
        label_codes=label,
        tied=tied,
        votes_per_task=np.diff(block.votes.cell_ptr[block.votes.task_ptr]).astype(np.int64),
    )
    _write_part(piece, probabilities, block.index, folder)
    n = block.n_annotators
    votes, agreed, expected = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n)
    agreement(block.votes, block.posterior, label, votes, agreed, expected)
    against = np.empty(block.n_tasks, np.bool_)
    outvoted(block.votes, block.gold, label, against)
    return Tally(int(tied.sum()), int(against.sum()), votes, agreed, expected)


def _write_part(piece: ResultData, probabilities: bool, index: int, folder: Path) -> None:
    """Write a part whole: a worker that was taken for lost may still write it, and writes the same
    again.
    """
    path = folder / f"part-{index:05}.parquet"
    temporary = temporary_name(path)
    labels_for_users(piece, probabilities).write_parquet(temporary)
    move(temporary, path)


# ---- The folder


def check_folder(target: Path, *inputs: Any) -> None:
    """Refuse, before the long work, a folder that cannot be written, holds other files, or holds
    the inputs.
    """
    if not target.parent.is_dir():
        raise OutputError(
            f"{target} cannot be written: there is no folder {target.parent}; create it first"
        )
    if target.exists() and not target.is_dir():
        raise OutputError(f"{target} is a file; name a folder, or remove it first")
    given = [
        each for some in inputs for each in (some if isinstance(some, list | tuple) else [some])
    ]
    for source in (
        Path(each).expanduser().resolve() for each in given if isinstance(each, str | Path)
    ):
        if (
            target == source
            or target in source.parents
            or (source.is_dir() and source in target.parents)
        ):
            problem = f"the votes are read from {source}, and the labels cannot go to {target}"
            raise InputError(f"{problem}; name another folder")
    if not target.is_dir() or not any(target.iterdir()):
        return
    # of the parts by name
    sizes: Any = None
    with suppress(OSError, KeyError, ValueError, pl.exceptions.PolarsError):
        sizes = json.loads(pl.read_parquet_metadata(target / MANIFEST)[KEY])
    if not isinstance(sizes, dict):
        problem = (
            f"{target} is not empty, and has no list of files that Finegold wrote ({MANIFEST})"
        )
        raise OutputError(f"{problem}, so it is not replaced; remove it, or name another folder")
    for file in sorted(target.iterdir()):
        if file.name != MANIFEST and (
            not file.is_file() or file.stat().st_size != sizes.get(file.name)
        ):
            raise OutputError(
                f"{file} is not as Finegold wrote it, so {target} is not replaced; name another"
                " folder"
            )


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Yield a staging folder beside the target, with "labels", which replace it at the end, and
    "votes".
    """
    check_folder(target)
    # of a run that was killed between the two moves below
    for temporary in abandoned(target):
        old = attached_folder(temporary) / "old"
        if old.is_dir() and not target.exists():
            move(old, target)
    with reserved(target, is_folder=True) as temporary:
        staging = attached_folder(temporary)
        try:
            (staging / "labels").mkdir(parents=True)
            (staging / "votes").mkdir()
            yield staging
            labels = staging / "labels"
            parts = sorted(labels.glob(PARTS))
            # of workers that were lost
            for stray in set(labels.iterdir()) - set(parts):
                stray.unlink()
            sizes = json.dumps({part.name: part.stat().st_size for part in parts})
            pl.read_parquet(parts[0], n_rows=0).write_parquet(
                labels / MANIFEST, metadata={KEY: sizes}
            )
            # again, because the work may have taken days
            check_folder(target)
            if target.exists():
                move(target, staging / "old")
            move(staging / "labels", target)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
