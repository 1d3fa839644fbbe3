"""The last step of every reader: coded columns -> Annotations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from finegold.errors import InputError
from finegold.io.readers.batches import WatchReading
from finegold.io.readers.sets import assemble_sets, find_sets, refuse_with_sets
from finegold.io.readers.table import Opened
from finegold.io.readers.truth import Truth, gold_codes, warn_of_gold
from finegold.io.readers.truth_sets import with_gold_sets
from finegold.votes.alarms import alarm, totals_of
from finegold.votes.annotations import Annotations, Repeated
from finegold.votes.encoding import MISSING, Codes
from finegold.votes.findings import taken
from finegold.votes.frames import to_list
from finegold.votes.labels import encode_classes, listed_classes, missing_words
from finegold.votes.names import Coded
from finegold.votes.repeats import count_disagreeing
from finegold.votes.spellings import Alias, Spellings, unify

__all__ = ["ReadOptions", "assemble", "count_more", "refuse_lost_ids", "with_columns"]


@dataclass(frozen=True)
class ReadOptions:
    """The options of a reader, apart from the columns."""

    gold: Any = None
    classes: Sequence[Any] | None = None
    repeated: Repeated = "first"
    missing: Sequence[Any] | None = None
    keep_missing: bool = False
    normalise: bool = False
    alias: Alias | None = None
    watch: WatchReading | None = None  # called with the progress of a long read
    multi: bool | None = False  # whether votes are sets of labels; None if the labels decide

    @property
    def no_vote(self) -> Sequence[Any] | None:
        """The words that mean "no vote", or None for the usual ones."""
        spellings = self.alias.class_of if self.alias else {}
        return missing_words(self.missing, self.keep_missing, [*listed_classes(self.classes), *spellings])

    def decided(self, labels: Coded, of_export: bool = False) -> ReadOptions:
        """Return the options with `multi` true or false."""
        return self if self.multi is not None else replace(self, multi=find_sets(labels, of_export))


def assemble(
    tasks: Coded,
    annotators: Coded,
    labels: Coded,
    truth: Truth | None,
    options: ReadOptions,
    is_text: bool,
    where: Callable[[int], str],
) -> Annotations:
    """Build Annotations with one list of classes. Rows that hold nothing are left out and counted."""
    if options.decided(labels).multi:
        refuse_with_sets(options.repeated)
        given = (options.classes, options.normalise, options.alias)
        votes = assemble_sets(tasks, annotators, labels, *given, where)
        return with_gold_sets(votes, truth) if truth else votes
    truths, label = to_list(truth.truth) if truth else [], str(labels.names.name)
    labels, truths, _ = unify(Spellings(labels, truths), options.classes, options.normalise, options.alias)
    encoded = encode_classes(labels, truths, options.classes, is_text, where)
    codes, left_out = _with_ids(tasks.codes, annotators.codes, encoded.labels)
    gold, unused = gold_codes(truth, encoded.truths, tasks.names, codes) if truth else (None, [])
    annotations = Annotations.from_codes(
        *codes,
        tasks.names,
        annotators.names,
        encoded.names,
        gold=gold,
        repeated=options.repeated,
    )
    annotations = count_more(annotations, rows=left_out, missing=left_out) if left_out else annotations
    if truth:
        known = labels.names if options.classes is None else encoded.names
        warn_of_gold(unused, truths, annotations.task_names, known)
    is_repeated = annotations.counts.repeated > 0
    disagreeing = count_disagreeing(*codes, annotations.votes_per_task) if is_repeated else 0
    counts = replace(annotations.counts, gold_unused=len(unused), disagreeing=disagreeing)
    annotations = replace(annotations, counts=counts)
    alarm(totals_of(annotations), options.repeated)
    alias = options.alias.class_of if options.alias else {}
    return replace(annotations, hygiene=taken(label=label, normalise=options.normalise, alias=alias))


def with_columns(annotations: Annotations, opened: Opened, task: Any, annotator: Any) -> Annotations:
    """Keep what the user calls tasks and annotators, where columns have names."""
    if any(not source.header for source in opened.sources):
        return annotations
    known = zip((task, annotator), annotations.columns, strict=True)
    names = [name if isinstance(name, str) and name.strip() else usual for name, usual in known]
    return replace(annotations, columns=(names[0], names[1]))


def refuse_lost_ids(role: str, ids: Codes, labels: Codes, where: Callable[[int], str]) -> None:
    """Refuse a label without a task or an annotator: it is a mistake in the file."""
    if ids.size and ids.min() != MISSING:
        return
    lost = np.flatnonzero((ids == MISSING) & (labels != MISSING))
    if lost.size:
        like_that = f" ({lost.size:,} rows are like that)" if lost.size > 1 else ""
        remedy = f"fill in the {role} or remove the row{like_that}"
        raise InputError(f"{where(int(lost[0]))}: there is a label but no {role}; {remedy}")


def count_more(annotations: Annotations, rows: int, missing: int) -> Annotations:
    counts = annotations.counts
    return replace(annotations, counts=replace(counts, rows=counts.rows + rows, missing=counts.missing + missing))


def _with_ids(task: Codes, annotator: Codes, label: Codes) -> tuple[tuple[Codes, Codes, Codes], int]:
    """Leave out rows without an id, such as blank lines, and return how many there are."""
    if all(ids.size == 0 or ids.min() != MISSING for ids in (task, annotator)):
        return (task, annotator, label), 0
    whole = (task != MISSING) & (annotator != MISSING)
    return (task[whole], annotator[whole], label[whole]), int((~whole).sum())
