"""Match known truths to the tasks and classes of votes. All comparisons of labels with truths use a
`Key`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from finegold.votes.encoding import MISSING, Codes, Names, encode, match, text_of, to_list


@dataclass(frozen=True, eq=False)
class Key:
    """Known truths as codes of the tasks and classes of some votes.

    A class that nobody voted for has a code after those of the other classes, so no label equals it.
    """

    # [T] the true class of each task, MISSING where it is unknown
    codes: Codes
    # the classes of the votes, then `n_new_classes` classes that nobody voted for
    class_names: list[Any]
    n_new_classes: int = 0
    # names of tasks that have a truth but no votes
    unmatched: list[Any] = field(default_factory=list)

    @property
    def n_known(self) -> int:
        """The number of tasks with a known truth."""
        return int(np.count_nonzero(self.codes != MISSING))

    @property
    def n_unmatched(self) -> int:
        """The number of truths of tasks without votes."""
        return len(self.unmatched)

    @property
    def n_unvoted(self) -> int:
        """The number of tasks whose truth is a class that nobody voted for."""
        return int(np.count_nonzero(self.codes >= len(self.class_names) - self.n_new_classes))

    def without(self, gold: Codes) -> Codes:
        """Return the codes, [T], without the tasks whose truth the method was given."""
        return np.where(gold == MISSING, self.codes, np.int32(MISSING))


def make_key(
    tasks: Sequence[Any], truths: Sequence[Any], task_names: Names, class_names: Names
) -> Key:
    """Match truths, given as names, to the tasks and classes of some votes."""
    position = match(tasks, task_names)
    matched = np.flatnonzero(position != MISSING)
    known = [truths[row] for row in matched.tolist()]
    code = match(known, class_names).copy()
    new = encode(Names([text_of(known[row]) for row in np.flatnonzero(code == MISSING).tolist()]))
    code[code == MISSING] = len(class_names) + new.codes
    codes = np.full(len(task_names), MISSING, np.int32)
    codes[position[matched]] = code
    unmatched = [tasks[row] for row in np.flatnonzero(position == MISSING).tolist()]
    return Key(codes, [*to_list(class_names), *new.names], len(new.names), unmatched)


def key_of_codes(codes: Codes, class_names: Names) -> Key:
    """Return the key for truths that are codes already; a negative code means unknown."""
    n_classes, known = len(class_names), np.where(codes < 0, MISSING, codes).astype(np.int64)
    new, number = np.unique(known[known >= n_classes], return_inverse=True)
    known[known >= n_classes] = n_classes + number
    return Key(known.astype(np.int32), [*to_list(class_names), *map(str, new.tolist())], len(new))
