"""Votes in many files -> blocks on a disk that all machines share. Workers read, encode, sort and
group the votes.

Only names and counts come back to this machine:

1. `read_part`: workers read every file, or a slice of a large one, and store its votes in codes of
   its own.
2. `make_vocabulary`: this machine makes one vocabulary of all names, and splits the tasks into
   ranges.
3. `spread_part`: workers store the votes of every part in the codes of all parts, sorted by range.
4. `gather_range`: workers join the parts of every range, sorted and grouped as in `Annotations`.
5. `cut_blocks`: ranges are cut into the blocks that one machine would make, which any worker can
   load.

docs/guides/distributed.md compares this with the data frames of Dask.
"""

from __future__ import annotations

import shutil
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from finegold.engines.blocks import Block, cuts
from finegold.engines.dask.cluster import Cluster
from finegold.engines.dask.workers import Packed
from finegold.errors import InputError, use
from finegold.io.columns import ANNOTATOR, LABEL, TASK, Role, columns_of, find_columns
from finegold.io.layouts import refuse_lost_ids
from finegold.io.options import ReadOptions
from finegold.io.source import Source, reading
from finegold.io.tables import open_sources, open_table
from finegold.io.truth import Truth, find_unused_gold, find_unvoted_gold, gold_column, read_truth
from finegold.kernels.sort_votes import count
from finegold.system.files import move, temporary_name
from finegold.votes.annotations import Annotations, Counts, Repeated
from finegold.votes.encoding import (
    MISSING,
    Codes,
    Names,
    encode_series,
    match,
    rank_of,
    text_of,
    to_list,
)
from finegold.votes.hygiene import (
    NAMES_EXAMINED,
    Finding,
    Totals,
    examine_votes,
    find_doubtful_labels,
    find_doubtful_words,
    warn_of,
)
from finegold.votes.labels import Spellings, count_no_votes, drop_missing, encode_classes, unify

# few, so that all workers are busy until the end
ROWS_PER_RANGE = 2**21
# of Parquet and Arrow files; text has to be read from its beginning
MOST_ROWS_PER_PART = 2**21
# of a part, to estimate how its tasks are spread
ROWS_SAMPLED = 200


@dataclass(frozen=True)
class RemoteVotes:
    """Votes on a shared disk, and what this machine knows about them."""

    blocks: list[StoredBlock]
    n_votes: int
    n_gold: int
    n_tasks: int
    n_annotators: int
    n_classes: int
    annotators: pl.Series
    classes: Names
    unlabelled: pl.Series
    counts: Counts
    # the column of the labels
    label: str


def read_votes(
    cluster: Cluster,
    votes: Any,
    options: ReadOptions,
    scratch: Path,
    *,
    fewest_votes: int,
    rows_per_range: int,
) -> RemoteVotes:
    opened = open_table(votes)
    with columns_of(opened):
        if gold_column(options.gold, opened.columns) is not None:
            raise InputError(
                "gold truths in a column of the votes cannot be read by a cluster; give a file of"
                " truths"
            )
        named: dict[Role, Any] = {
            TASK: options.task,
            ANNOTATOR: options.annotator,
            LABEL: options.label,
        }
        columns = find_columns(opened.columns, named)
    truth = (
        None
        if options.gold in (None, False)
        else read_truth(options.gold, missing=options.no_vote, prefix="")
    )
    missing = None if options.no_vote is None else list(options.no_vote)

    first = opened.sources[0]
    # a file, the first row and the number of rows; None: to the end
    parts: list[tuple[Source, int, int | None]] = []
    for source, scan in zip(opened.sources, opened.scans, strict=True):
        if not isinstance(source.data, Path):
            raise InputError(
                f"{source.name} cannot be read by other machines; name files on a disk that all see"
            )
        if source.is_delimited != first.is_delimited:
            raise InputError(
                f"{first.name} and {source.name} are of different formats; convert one of them"
            )
        # the first bytes of many files are not sent to the workers
        source = replace(source, seen={})
        if source.format not in ("parquet", "arrow"):
            parts.append((source, 0, None))
            continue
        with reading(source):
            rows = int(scan.select(pl.len()).collect().item())
        starts = range(0, rows, MOST_ROWS_PER_PART)
        parts += [(source, start, min(MOST_ROWS_PER_PART, rows - start)) for start in starts]
    jobs = [
        (*part, tuple(columns), missing, scratch / f"part-{number}")
        for number, part in enumerate(parts)
    ]
    if not jobs:
        raise InputError("the files hold no rows; expected at least one vote")
    passes = cluster.map(read_part, jobs)
    rows = sum(part.rows for part in passes)
    known = make_vocabulary(passes, truth, options, opened.is_text, max(rows // rows_per_range, 1))

    vocabulary = cluster.broadcast(known)
    spread = [scratch / f"spread-{number}" for number in range(len(jobs))]
    cluster.map(
        spread_part, [(job[-1], vocabulary, to) for job, to in zip(jobs, spread, strict=True)]
    )
    folders = [scratch / f"range-{number}" for number in range(len(known.splitters) + 1)]
    ranges = cluster.map(
        gather_range,
        [(n, spread, vocabulary, truth, options.repeated, to) for n, to in enumerate(folders)],
    )

    n_tasks, n_votes, repeated, n_gold, disagreeing = (
        sum(getattr(part, name) for part in ranges)
        for name in ("n_tasks", "n_votes", "repeated", "gold", "disagreeing")
    )
    unused = 0 if truth is None else len(truth.task) - n_gold
    remote = RemoteVotes(
        blocks=cut_blocks(ranges, folders, known, fewest_votes),
        n_votes=n_votes,
        n_gold=n_gold,
        n_tasks=n_tasks,
        n_annotators=len(known.annotators),
        n_classes=len(known.classes),
        annotators=known.annotators,
        classes=known.classes,
        unlabelled=pl.concat([part.unlabelled for part in ranges]),
        counts=Counts(rows, rows - n_votes - repeated, repeated, unused, disagreeing=disagreeing),
        label=columns[2],
    )
    words: Counter[str] = sum((Counter(part.no_vote) for part in passes), Counter())
    # what looks wrong is reported as on one machine
    totals = Totals(
        n_votes,
        n_tasks,
        len(known.annotators),
        to_list(known.classes),
        np.bincount(known.class_of, known.n_labels, minlength=remote.n_classes),
        passes[0].tasks.to_list(),
        known.annotators.head(NAMES_EXAMINED).to_list(),
        remote.counts,
    )
    findings = list(known.findings)
    if options.no_vote is None:
        findings += find_doubtful_words(words)
        if options.classes is None:
            labels = zip(map(text_of, known.labels.to_list()), known.n_labels.tolist(), strict=True)
            findings += find_doubtful_labels(dict(labels), words)
    findings += examine_votes(totals, options.repeated)
    if truth is not None and unused:
        findings += find_unused_gold(
            unused, len(truth.task), to_list(truth.task[:1])[0], passes[0].tasks[0]
        )
    warn_of(findings)
    return remote


# ---- Parts: files, and slices of large Parquet and Arrow files


@dataclass(frozen=True)
class FirstPass:
    """What a worker returns of a part, whose votes it has stored."""

    # of the file
    name: str
    rows: int
    # all names of the part
    annotators: pl.Series
    # codes of those who cast a vote
    voted: Codes
    labels: pl.Series
    # how often each occurs
    n_labels: NDArray[np.int64]
    # of a sample of the rows
    tasks: pl.Series
    # words that mean "no vote" and how often each occurs
    no_vote: dict[str, int] = field(default_factory=dict)


def read_part(
    source: Source,
    first: int,
    n_rows: int | None,
    columns: tuple[Any, Any, Any],
    missing: list[Any] | None,
    folder: Path,
) -> FirstPass:
    """Read a part, and store its votes. Rows without a task or an annotator have no label either
    and are left out.
    """

    def where(row: int) -> str:
        return replace(whole, lengths=[first + row + 1]).where(first + row)

    whole = open_sources([source])
    opened = (
        whole if n_rows is None else replace(whole, scans=[whole.scans[0].slice(first, n_rows)])
    )
    table = opened.encode([*columns[:2]], [columns[2]])
    tasks, annotators, cells = (
        table.ids(columns[0]),
        table.ids(columns[1]),
        table.values(columns[2]),
    )
    labels = drop_missing(cells, missing)
    refuse_lost_ids(labels.codes, where, task=tasks.codes, annotator=annotators.codes)
    rows, (task, annotator, label) = (
        len(labels.codes),
        (coded.codes for coded in (tasks, annotators, labels)),
    )
    if rows and min(task.min(), annotator.min()) == MISSING:
        complete = (task != MISSING) & (annotator != MISSING)
        task, annotator, label = task[complete], annotator[complete], label[complete]
    task_names, people, classes = (coded.names.values for coded in (tasks, annotators, labels))
    for dtype in (task_names.dtype, people.dtype):
        if not dtype.is_integer() and dtype not in (pl.String, pl.Categorical, pl.Enum):
            problem = (
                "tasks and annotators must be text or whole numbers to be read by a cluster, but"
                f" are {dtype}"
            )
            remedy = use(text="so that this machine reads the votes", output="labels.parquet")
            raise InputError(problem, source.name, [remedy])
    task_names, people = (
        ids if ids.dtype.is_integer() else ids.cast(pl.String) for ids in (task_names, people)
    )
    codes = {"annotator": _small(annotator, len(people)), "label": _small(label, len(classes))}
    _store(folder, tasks=task_names, annotators=people, labels=classes, task=task, **codes)
    return FirstPass(
        name=source.name,
        rows=rows,
        annotators=people,
        voted=np.flatnonzero(count(annotator[label != MISSING], len(people))).astype(np.int32),
        labels=classes,
        n_labels=count(label, len(classes)),
        tasks=task_names.gather(np.sort(task[:: max(len(task) // ROWS_SAMPLED, 1)])),
        no_vote=count_no_votes(cells, labels),
    )


# ---- The vocabulary that all parts share


@dataclass(frozen=True)
class Vocabulary:
    """Annotators, classes, and the names that split the tasks into ranges."""

    # sorted, those who cast votes
    annotators: pl.Series
    # that occur
    labels: pl.Series
    # how often each occurs
    n_labels: NDArray[np.int64]
    # of each label
    class_of: Codes
    classes: Names
    # classes of the gold truths
    truths: Codes
    task_kind: pl.DataType
    # range r holds the names from splitter r - 1 on and before splitter r
    splitters: list[Any]
    findings: list[Finding]


def make_vocabulary(
    passes: Sequence[FirstPass],
    truth: Truth | None,
    options: ReadOptions,
    is_text: bool,
    n_ranges: int,
) -> Vocabulary:
    """Return one vocabulary for all parts. Names are sorted as on one machine: integers by value,
    text by its bytes.
    """
    # it does not depend on who voted
    kind = _in_one_kind([part.annotators for part in passes]).dtype
    annotators = (
        pl.concat([part.annotators.gather(part.voted).cast(kind) for part in passes])
        .unique()
        .sort()
    )

    distinct = _in_one_kind([part.labels for part in passes]).unique().sort()
    labels = encode_series(Names(distinct))
    names = labels.names.values
    if not len(names):
        raise InputError("there are no votes: every label is missing")
    n_labels = np.zeros(len(names), np.int64)
    for part in passes:
        np.add.at(n_labels, _codes_in(names, part.labels), part.n_labels)
    spellings = Spellings(labels, to_list(truth.truth) if truth else [], n_labels)
    merged, findings = unify(spellings, options.classes, options.normalise, options.alias)
    if spellings.truths and options.classes is None:
        findings += find_unvoted_gold(merged.truths, merged.labels.names)

    def where(row: int) -> str:
        return next(part.name for part in passes if (part.labels == names[row]).any())

    label_codes, truths, classes = encode_classes(
        merged.labels, merged.truths, options.classes, is_text, where
    )
    tasks = _in_one_kind([part.tasks for part in passes])
    weights = np.concatenate(
        [np.full(len(part.tasks), part.rows / max(len(part.tasks), 1)) for part in passes]
    )
    order = tasks.arg_sort().to_numpy()
    rows_before = np.cumsum(weights[order])
    splits = np.searchsorted(rows_before, rows_before[-1] * np.arange(1, n_ranges) / n_ranges)
    splitters = tasks.gather(order[splits]).unique().sort().to_list()
    return Vocabulary(
        annotators, names, n_labels, label_codes, classes, truths, tasks.dtype, splitters, findings
    )


def _codes_in(known: pl.Series, names: pl.Series) -> Codes:
    """Return the code of each name among the known ones, and 0 for annotators without votes."""
    # a part may hold whole numbers, where others hold text
    wanted = names.cast(known.dtype).alias("name").to_frame()
    table = pl.DataFrame({"name": known, "code": np.arange(len(known), dtype=np.int32)})
    joined = wanted.join(table, on="name", how="left", maintain_order="left")
    codes: Codes = joined.get_column("code").fill_null(0).to_numpy()
    return codes


def _in_one_kind(parts: list[pl.Series]) -> pl.Series:
    filled = [part for part in parts if len(part)] or parts[:1]
    if len({part.dtype for part in filled}) > 1 and any(part.dtype == pl.String for part in filled):
        filled = [part.cast(pl.String) for part in filled]
    frames = [part.alias("name").to_frame() for part in filled]
    return pl.concat(frames, how="vertical_relaxed").get_column("name")


# ---- All votes of a task come together


def spread_part(folder: Path, known: Vocabulary, to: Path) -> None:
    """Store the votes of a part in the codes of all parts, sorted by range."""
    task, annotator, label = (_array(folder, name) for name in ("task", "annotator", "label"))
    names = _names(folder, "tasks")
    if names.dtype != known.task_kind:
        names = names.cast(known.task_kind)
        # as text, 10 comes before 9
        by_name = names.arg_sort().to_numpy()
        names, task = names.gather(by_name), rank_of(by_name)[task]
    first_name = [0, *(bisect_left(names, splitter) for splitter in known.splitters), len(names)]
    in_range = np.repeat(np.arange(len(first_name) - 1, dtype=np.uint16), np.diff(first_name))[task]
    is_sorted = bool((in_range[1:] >= in_range[:-1]).all())
    # "First" and "last" vote mean the order of the rows.
    order: Any = slice(None) if is_sorted else np.argsort(in_range, kind="stable")
    annotator_of = _codes_in(known.annotators, _names(folder, "annotators"))
    class_of = known.class_of[_codes_in(known.labels, _names(folder, "labels"))]
    first_row = np.searchsorted(in_range[order], np.arange(len(first_name)))
    annotator_of, class_of = (
        _small(annotator_of, len(known.annotators)),
        _small(class_of, len(known.classes)),
    )
    codes = {
        "annotator": annotator_of[annotator[order]],
        "label": np.append(class_of, class_of.dtype.type(MISSING))[label[order]],
    }
    starts = {"first_name": np.array(first_name), "first_row": first_row}
    _store(to, tasks=names, task=task[order], **codes, **starts)


@dataclass(frozen=True)
class Range:
    """What this machine knows about the tasks between two splitters."""

    n_tasks: int
    n_votes: int
    # votes left out
    repeated: int
    # tasks whose truth is known
    gold: int
    unlabelled: pl.Series
    # pairs of task and annotator whose repeated votes disagree
    disagreeing: int = 0


def gather_range(
    number: int,
    parts: Sequence[Path],
    known: Vocabulary,
    truth: Truth | None,
    repeated: Repeated,
    to: Path,
) -> Range:
    """Store all votes of a range, sorted and grouped as in `Annotations`."""
    pieces, columns, before = [], [], 0
    for part in parts:
        first, end = _array(part, "first_name")[number : number + 2].tolist()
        rows = slice(*_array(part, "first_row")[number : number + 2].tolist())
        pieces.append(_names(part, "tasks", first, end))
        task, annotator, label = (
            _array(part, name)[rows] for name in ("task", "annotator", "label")
        )
        columns.append((task - np.int32(first - before), annotator, label))
        before += end - first
    task, annotator, label = (
        np.concatenate(column, dtype=np.int32) for column in zip(*columns, strict=True)
    )
    names = encode_series(Names(pl.concat(pieces)))
    if not (label != MISSING).any():
        return Range(0, 0, 0, 0, names.names.values)
    task, everybody = names.codes[task], np.arange(len(known.annotators), dtype=np.int32)
    votes = Annotations.from_codes(
        task, annotator, label, names.names, everybody, known.classes, repeated=repeated
    )
    gold: Codes = np.full(votes.n_tasks, MISSING, np.int32)
    if truth is not None:
        of_truth = match(to_list(truth.task), votes.task_names)
        gold[of_truth[of_truth != MISSING]] = known.truths[of_truth != MISSING]
    pointer: Any = np.min_scalar_type(votes.n_votes)
    pointers = {name: getattr(votes, name).astype(pointer) for name in ("task_ptr", "cell_ptr")}
    people = _small(np.asarray(votes.annotator_names), len(everybody))[votes.annotator]
    codes = {
        "annotator": people,
        "cell_class": votes.cell_class,
        "gold": _small(gold, len(known.classes)),
    }
    _store(to, tasks=votes.task_names.values, **codes, **pointers)
    unlabelled: Any = votes.unlabelled
    left_out, n_gold = votes.counts.repeated, int((gold != MISSING).sum())
    return Range(
        votes.n_tasks, votes.n_votes, left_out, n_gold, unlabelled.values, votes.counts.disagreeing
    )


# ---- Blocks


class StoredBlock(NamedTuple):
    """A block on the shared disk, which any worker can load, and load again after a loss."""

    # consecutive tasks of ranges: the folder, the first and the end
    slices: tuple[tuple[Path, int, int], ...]
    n_annotators: int
    n_classes: int
    total_votes: int

    @property
    def n_tasks(self) -> int:
        return sum(end - first for _, first, end in self.slices)

    def load(self, index: int, dtype: Any) -> Block:
        # cells per task, votes per cell, classes of the cells, annotators and gold truths
        parts = []
        for folder, first, end in self.slices:
            tasks = _array(folder, "task_ptr")[first : end + 1]
            cells = _array(folder, "cell_ptr")[tasks[0] : tasks[-1] + 1]
            cell_class = _array(folder, "cell_class")[tasks[0] : tasks[-1]]
            annotator = _array(folder, "annotator")[cells[0] : cells[-1]]
            parts.append(
                (
                    np.diff(tasks),
                    np.diff(cells),
                    cell_class,
                    annotator,
                    _array(folder, "gold")[first:end],
                )
            )
        per_task, per_cell, classes, people, gold = map(np.concatenate, zip(*parts, strict=True))
        sizes = self.n_annotators, self.n_classes, self.total_votes
        return Packed(per_task, per_cell, classes, people, gold, *sizes).load(index, dtype)

    def task_names(self) -> pl.Series:
        return pl.concat(
            [_names(folder, "tasks", first, end) for folder, first, end in self.slices]
        )


def cut_blocks(
    ranges: Sequence[Range], folders: Sequence[Path], known: Vocabulary, fewest_votes: int
) -> list[StoredBlock]:
    """Cut the ranges into the blocks that one machine would make."""
    n_votes, n_tasks = sum(part.n_votes for part in ranges), sum(part.n_tasks for part in ranges)
    wanted = np.ceil(cuts(n_votes, n_tasks, len(known.annotators), fewest_votes)).astype(np.int64)
    # of each block
    slices: list[list[tuple[Path, int, int]]] = [[]]
    votes_before = 0
    for part, folder in zip(ranges, folders, strict=True):
        if not part.n_tasks:
            continue
        # A block begins at the first task with so many votes before it. A search reads a few
        # numbers from the disk.
        task_ptr, cell_ptr = _array(folder, "task_ptr"), _array(folder, "cell_ptr")
        inside = (
            wanted[(wanted > votes_before) & (wanted <= votes_before + part.n_votes)] - votes_before
        )
        cells = np.searchsorted(cell_ptr, inside.astype(cell_ptr.dtype))
        starts = np.searchsorted(task_ptr, cells.astype(task_ptr.dtype))
        for number, (first, end) in enumerate(pairwise([0, *starts.tolist(), part.n_tasks])):
            if number and slices[-1]:
                slices.append([])
            if first < end:
                slices[-1].append((folder, first, end))
        votes_before += part.n_votes
    sizes = len(known.annotators), len(known.classes), n_votes
    return [StoredBlock(tuple(some), *sizes) for some in slices if some]


# ---- Arrays and names in folders that all machines see; each folder appears whole or not at all


def _store(folder: Path, **columns: pl.Series | NDArray[Any]) -> None:
    """Store names and arrays. The first writer wins: Dask repeats a job after a loss, with the same
    outcome.
    """
    temporary = temporary_name(folder)
    temporary.mkdir()
    for name, values in columns.items():
        if isinstance(values, pl.Series):
            values.alias("name").to_frame().write_ipc(temporary / f"{name}.arrow")
        else:
            np.save(temporary / f"{name}.npy", values)
    try:
        move(temporary, folder)
    except OSError:
        shutil.rmtree(temporary)
        if not folder.is_dir():
            raise


def _small(codes: Codes, n: int) -> NDArray[Any]:
    """Return codes below n in as few bytes as they and MISSING need."""
    return codes.astype(np.min_scalar_type(-max(n, 1)), copy=False)


def _array(folder: Path, name: str) -> NDArray[Any]:
    """Map an array from disk: only the parts that are used are read."""
    values: NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="r")
    return values


def _names(folder: Path, name: str, first: int = 0, end: int | None = None) -> pl.Series:
    rows = None if end is None else end - first
    return pl.scan_ipc(folder / f"{name}.arrow").slice(first, rows).collect().get_column("name")
