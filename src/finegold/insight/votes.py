"""The votes behind a result, and known truths as codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError
from finegold.io.truth import match_sets, match_truth
from finegold.results.data import ResultData
from finegold.results.sets import all_questions, as_questions
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes, to_list

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def single_labels(result: ResultData) -> ResultData:
    """Return a result with one label per task: sets become a question per task and option."""
    return result if result.label_sets is None else as_questions(result)


def single_votes(votes: Annotations) -> Annotations:
    """Return votes for one class each: of sets, those for no and yes per task and option."""
    return all_questions(votes) if votes.multi else votes


def true_answers(votes: Annotations, truth: Any) -> Codes:
    """[T * O] Return the true answer to the question of each task and option of sets."""
    known, options = match_sets(votes, truth), to_list(votes.class_names)[:-1]
    answers = np.full((votes.n_tasks, len(options)), MISSING, np.int32)
    answers[known.task] = [[option in labels for option in options] for labels in known.sets]
    return answers.ravel()


def truth_codes(result: ResultData | Annotations, truth: Any, *, with_gold: bool = False) -> Codes:
    """[T] Return the true class of each task, as in `finegold.votes.key.Key`."""
    # every method knows the labels of tasks with gold
    key = match_truth(result, truth)
    codes = key.codes if with_gold else key.without(result.gold)
    if not (codes != MISSING).any():
        words = "no task has a truth to judge by"
        raise InputError(f"{words}; truths given as gold taught the method and do not count")
    return codes


def add_up(place: Integers, values: Floats, n: int) -> Floats:
    """[n] Sum the values with the same place."""
    return np.asarray(np.bincount(place, values, minlength=n), np.float64)
