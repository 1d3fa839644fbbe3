"""Known truths that are sets of labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from finegold.errors import InputError
from finegold.io.readers.truth import read_truth
from finegold.votes.annotations import Annotations, warn_of_unused_gold
from finegold.votes.encoding import MISSING
from finegold.votes.findings import Finding, warn
from finegold.votes.frames import to_list
from finegold.votes.names import match, text_of
from finegold.votes.sets import as_cell, known_options
from finegold.votes.spellings import as_classes

__all__ = ["TruthSets", "as_texts", "match_sets", "with_gold_sets"]


class TruthSets(NamedTuple):
    """The true sets of some tasks."""

    task: list[int]  # positions among the tasks of the votes
    sets: list[set[str]]
    n_unused: int  # truths of tasks without votes


def match_sets(votes: Annotations, truth: Any, *, task: str | None = None, label: str | None = None) -> TruthSets:
    """Match known sets to the tasks of votes. Options are spelled as in the votes if these were normalised."""
    tasks, cells = map(to_list, read_truth(as_texts(truth), task=task, label=label))
    place = match(tasks, votes.task_names)
    options = to_list(votes.class_names)[:-1]
    rules, known = votes.hygiene, set(options)
    found = [
        set(as_classes(known_options(text_of(cell), known), options, rules.normalise, rules.alias))
        for cell, code in zip(cells, place.tolist(), strict=True)
        if code != MISSING
    ]
    of_file = f" in {truth}" if isinstance(truth, str | Path) else ""
    if not found:
        raise InputError(
            f"none of the {len(cells):,} truths{of_file} belongs to a task with votes; check that the tasks have the "
            "same names as in the votes"
        )
    true = sorted(set().union(*found))
    if true and known.isdisjoint(true):
        raise InputError(
            f"none of the {len(found):,} truths{of_file} holds an option of the votes: the truths have {true[0]!r}, "
            f"the votes have {options[0] if options else 'none'!r}"
        )
    return TruthSets(place[place != MISSING].tolist(), found, int((place == MISSING).sum()))


def with_gold_sets(votes: Annotations, gold: Any) -> Annotations:
    """Return the votes with these known sets. Options that nobody chose cannot be known, unless they are listed."""
    truths = match_sets(votes, gold)
    code_of = {name: code for code, name in enumerate(to_list(votes.class_names)[:-1])}
    if new := sorted(set().union(*truths.sets) - code_of.keys()):
        text = f"gold truths have {len(new):,} options that nobody chose, such as {new[0]!r}, which are not used"
        warn(Finding("gold options", text, "; list all options with --classes (classes= in Python)"))
    sets = [tuple(sorted(code_of[name] for name in one if name in code_of)) for one in truths.sets]
    distinct = {one: number for number, one in enumerate(sorted(set(sets)))}
    gold_codes = np.full(votes.n_tasks, MISSING, np.int32)
    gold_codes[truths.task] = [distinct[one] for one in sets]
    warn_of_unused_gold(truths.n_unused)
    counts = replace(votes.counts, gold_unused=truths.n_unused)
    return replace(votes, gold=gold_codes, gold_sets=tuple(distinct), counts=counts)


def as_texts(truth: Any) -> Any:
    """Write lists and sets of a mapping as text."""
    if not isinstance(truth, Mapping):
        return truth
    return {
        task: as_cell(sorted(cell, key=str)) if isinstance(cell, list | tuple | set | frozenset) else cell
        for task, cell in truth.items()
    }
