"""Votes in many files -> blocks in a shared store. The workers read, encode, sort and group them.

Only names and counts come back to this machine. Workers read and encode every part (`read_part`). This machine makes
one vocabulary of all names. Workers split every part into ranges of tasks (`spread`) and join the parts of every range
(`gathered`). Ranges are cut into the same blocks as on one machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from finegold.engines.blocks import cuts
from finegold.engines.dask.cluster import Cluster
from finegold.errors import InputError
from finegold.io.columns import ANNOTATOR, LABEL, TASK, columns_of, find_columns
from finegold.io.folders.first_pass import FirstPass, read_part
from finegold.io.folders.parts import Columns, Part, parts_of
from finegold.io.folders.shuffle import Range, gathered, locate, spread
from finegold.io.folders.stored import Slice, Stored
from finegold.io.folders.vocabulary import Vocabulary, vocabulary
from finegold.io.options import ReadOptions
from finegold.io.tables import open_table
from finegold.io.truth import Truth, find_unused_gold, gold_column, read_gold
from finegold.votes.annotations import Counts
from finegold.votes.encoding import Names
from finegold.votes.frames import to_list
from finegold.votes.hygiene import NAMES_EXAMINED, Finding, Totals, examine_votes, find_doubtful_words, warn_of

__all__ = ["Remote", "ingest"]

ROWS_PER_RANGE = 2**22


@dataclass(frozen=True)
class Remote:
    """Votes in a shared store, and what this machine knows of them."""

    blocks: list[Stored]
    n_votes: int
    n_gold: int
    annotators: pl.Series
    classes: Names
    unlabelled: pl.Series
    counts: Counts

    label: str  # the column of the labels

    @property
    def n_tasks(self) -> int:
        return sum(block.n_tasks for block in self.blocks)

    @property
    def n_annotators(self) -> int:
        return len(self.annotators)

    @property
    def n_classes(self) -> int:
        return len(self.classes)


def ingest(
    cluster: Cluster,
    votes: Any,
    chosen: tuple[str | None, str | None, str | None],
    options: ReadOptions,
    scratch: Path,
    *,
    fewest_votes: int,
    rows_per_range: int = ROWS_PER_RANGE,
) -> Remote:
    """Read the votes. chosen: the columns of task, annotator and label, where their names do not tell."""
    opened = open_table(votes)
    with columns_of(opened.name):
        if gold_column(options.gold, opened.columns) is not None:
            raise InputError("gold truths in a column of the votes cannot be read by a cluster; give a file of truths")
        columns = Columns(*find_columns(opened.columns, dict(zip((TASK, ANNOTATOR, LABEL), chosen, strict=True))))
    truth = None if options.gold in (None, False) else read_gold(options.gold, options.no_vote)
    passes, folders_read = _read_parts(cluster, parts_of(opened), columns, options, scratch)
    n_ranges = max(sum(one.rows for one in passes) // rows_per_range, 1)
    known = vocabulary(passes, truth, options, opened.is_text, n_ranges)
    ranges, folders = _shuffle(cluster, folders_read, known, truth, options, scratch)
    blocks = _blocks(cluster, ranges, folders, known, fewest_votes)
    remote = _remote(blocks, ranges, passes, known, truth, columns.label)
    findings = [*known.findings, *_examine(remote, passes, known, options)]
    if truth is not None and remote.counts.gold_unused:
        gold, task = to_list(truth.task[:1])[0], passes[0].tasks[0]
        findings += find_unused_gold(remote.counts.gold_unused, len(truth.task), gold, task)
    warn_of(findings)
    return remote


def _examine(remote: Remote, passes: Sequence[FirstPass], known: Vocabulary, options: ReadOptions) -> list[Finding]:
    """Report what looks wrong, as on one machine."""
    words: Counter[str] = sum((Counter(one.no_vote) for one in passes), Counter())
    totals = Totals(
        remote.n_votes,
        remote.n_tasks,
        remote.n_annotators,
        to_list(known.classes),
        lambda: np.bincount(known.class_of, known.n_labels, minlength=remote.n_classes),
        passes[0].tasks.to_list(),
        remote.annotators.head(NAMES_EXAMINED).to_list(),
        remote.counts.disagreeing,
    )
    doubtful = find_doubtful_words(words) if options.no_vote is None else []
    return [*doubtful, *examine_votes(totals, options.repeated)]


def _read_parts(
    cluster: Cluster, parts: Sequence[Part], columns: Columns, options: ReadOptions, scratch: Path
) -> tuple[list[FirstPass], list[Path]]:
    if not parts:
        raise InputError("the files hold no rows; expected at least one vote")
    missing = None if options.no_vote is None else list(options.no_vote)
    folders = [scratch / f"part-{number}" for number in range(len(parts))]
    jobs = [(part, columns, missing, folder) for part, folder in zip(parts, folders, strict=True)]
    return cluster.map(read_part, jobs), folders


def _shuffle(
    cluster: Cluster, parts: list[Path], known: Vocabulary, truth: Truth | None, options: ReadOptions, scratch: Path
) -> tuple[list[Range], list[Path]]:
    everywhere = cluster.broadcast(known)
    spreads = [scratch / f"spread-{number}" for number in range(len(parts))]
    cluster.map(spread, [(part, everywhere, to) for part, to in zip(parts, spreads, strict=True)])
    folders = [scratch / f"range-{number}" for number in range(len(known.splitters) + 1)]
    jobs = [(number, spreads, everywhere, truth, options.repeated, to) for number, to in enumerate(folders)]
    return cluster.map(gathered, jobs), folders


def _blocks(
    cluster: Cluster, ranges: Sequence[Range], folders: Sequence[Path], known: Vocabulary, fewest_votes: int
) -> list[Stored]:
    """Cut the ranges into the blocks that one machine would make."""
    filled = [(part, folder) for part, folder in zip(ranges, folders, strict=True) if part.n_tasks]
    ranges, folders = [part for part, _ in filled], [folder for _, folder in filled]
    first_vote = list(accumulate((part.n_votes for part in ranges), initial=0))
    first_task = list(accumulate((part.n_tasks for part in ranges), initial=0))
    wanted = cuts(first_vote[-1], first_task[-1], len(known.annotators), fewest_votes)
    inside = [wanted[(wanted > first) & (wanted <= end)] for first, end in pairwise(first_vote)]
    found = cluster.map(locate, list(zip(folders, first_vote, inside, strict=False)))
    bounds = {before + task for before, tasks in zip(first_task, found, strict=False) for task in tasks}
    return [
        Stored(tuple(_slices(first, end, folders, first_task)), len(known.annotators), len(known.classes))
        for first, end in pairwise(sorted({0, *bounds, first_task[-1]}))
    ]


def _slices(first: int, end: int, folders: Sequence[Path], first_task: Sequence[int]) -> list[Slice]:
    """Return the tasks from first to end, range by range."""
    found = []
    for folder, (start, stop) in zip(folders, pairwise(first_task), strict=True):
        if max(first, start) < min(end, stop):
            found.append(Slice(folder, max(first, start) - start, min(end, stop) - start))
    return found


def _remote(
    blocks: list[Stored],
    ranges: Sequence[Range],
    passes: Sequence[FirstPass],
    known: Vocabulary,
    truth: Truth | None,
    label: str,
) -> Remote:
    rows, n_votes = sum(one.rows for one in passes), sum(part.n_votes for part in ranges)
    repeated, n_gold = sum(part.repeated for part in ranges), sum(part.gold for part in ranges)
    unused = 0 if truth is None else len(truth.task) - n_gold
    return Remote(
        blocks=blocks,
        n_votes=n_votes,
        n_gold=n_gold,
        annotators=known.annotators,
        classes=known.classes,
        unlabelled=pl.concat([part.unlabelled for part in ranges]),
        label=label,
        counts=Counts(
            rows, rows - n_votes - repeated, repeated, unused, disagreeing=sum(part.disagreeing for part in ranges)
        ),
    )
