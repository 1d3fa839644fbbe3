"""The first pass over a part, on a worker: store its votes as codes, and return its names."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.folders import shared_store
from finegold.io.folders.parts import Columns, Part
from finegold.io.layouts import refuse_lost_ids
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.labels import count_no_votes, drop_missing

__all__ = ["FirstPass", "read_part"]

SAMPLE = 200  # rows of a part that tell how its tasks are spread


@dataclass(frozen=True)
class FirstPass:
    name: str  # of the file
    rows: int
    blank: int  # rows without a task or an annotator: they hold no label either
    annotators: pl.Series  # all names of the part
    voted: Codes  # codes of those who cast a vote
    labels: pl.Series
    n_labels: NDArray[np.int64]  # how often each occurs
    tasks: pl.Series  # of a sample of the rows
    no_vote: dict[str, int] = field(default_factory=dict)  # words that mean "no vote" and how often each occurs


def read_part(part: Part, columns: Columns, missing: list[Any] | None, folder: Path) -> FirstPass:
    table = part.encode(columns)
    tasks, annotators = table.ids(columns.task), table.ids(columns.annotator)
    cells = table.values(columns.label)
    labels = drop_missing(cells, missing)
    refuse_lost_ids("task", tasks.codes, labels.codes, part.where)
    refuse_lost_ids("annotator", annotators.codes, labels.codes, part.where)
    whole = np.flatnonzero((tasks.codes != MISSING) & (annotators.codes != MISSING))
    task, annotator, label = (coded.codes[whole] for coded in (tasks, annotators, labels))
    names, people = _ids(tasks.names.to_native(), part), _ids(annotators.names.to_native(), part)
    classes = labels.names.to_native()
    shared_store.put(
        folder, tasks=names, annotators=people, labels=classes, task=task, annotator=annotator, label=label
    )
    return FirstPass(
        name=part.source.name,
        rows=len(tasks.codes),
        blank=len(tasks.codes) - len(whole),
        annotators=people,
        voted=np.unique(annotator[label != MISSING]),
        labels=classes,
        n_labels=np.bincount(label[label != MISSING], minlength=len(classes)),
        tasks=names.gather(np.sort(task[:: max(len(task) // SAMPLE, 1)])),
        no_vote=count_no_votes(cells, labels),
    )


def _ids(names: pl.Series, part: Part) -> pl.Series:
    if names.dtype.is_integer() or names.dtype == pl.String:
        return names
    if names.dtype in (pl.Categorical, pl.Enum):
        return names.cast(pl.String)
    raise InputError(
        f"{part.source.name}: tasks and annotators must be text or whole numbers to be read by a cluster, "
        f"but are {names.dtype}; write the labels into one file (-o labels.parquet), then this machine reads the votes"
    )
