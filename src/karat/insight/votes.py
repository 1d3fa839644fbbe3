"""What the rooms of this package share: the votes behind a result, and known truths in its codes."""

from __future__ import annotations

from typing import Any

import numpy as np

from karat.errors import InputError
from karat.io.readers import read_truth
from karat.results.data import ResultData
from karat.votes.annotations import Annotations
from karat.votes.encoding import MISSING, Codes
from karat.votes.frames import to_list
from karat.votes.names import match

__all__ = ["truth_codes", "votes_of"]


def votes_of(result: ResultData | Annotations) -> Annotations:
    if isinstance(result, Annotations):
        return result
    if result.annotations is None:
        raise InputError("this result was saved without its votes; fit again with this Karat to keep the votes")
    return result.annotations


def truth_codes(result: ResultData | Annotations, truth: Any, *, also_taught: bool = False) -> Codes:
    """[T] the true class of each task, MISSING where it is not known; one beyond the classes if nobody voted for it.

    Truths come as codes already, or as anything that `karat.io.readers.read_truth` takes. Those that taught the method
    are left out, unless they are wanted, too: of these tasks every method is sure and right.
    """
    n_tasks, n_classes = len(result.task_names), len(result.class_names)
    if isinstance(truth, np.ndarray) and truth.dtype.kind in "iu" and truth.shape == (n_tasks,):
        codes = np.where(truth < n_classes, truth, n_classes).astype(np.int32)
    else:
        tasks, truths = read_truth(truth)
        place, code = match(to_list(tasks), result.task_names), match(to_list(truths), result.class_names)
        codes = np.full(n_tasks, MISSING, np.int32)
        codes[place[place != MISSING]] = np.where(code == MISSING, n_classes, code)[place != MISSING]
    if not also_taught:
        codes[result.gold != MISSING] = MISSING
    if not (codes != MISSING).any():
        raise InputError("no task has a truth to judge by; truths given as gold taught the method and do not count")
    return codes
