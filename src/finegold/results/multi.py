"""MultiResult: the set of labels of each task, where an annotator may choose several options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from finegold.results import archive
from finegold.results import archive as archive_votes
from finegold.results.data import ResultData
from finegold.results.tables import distinct, natural_order, own_name
from finegold.system.unpacking import Field, check, opened, read_arrays, read_manifest
from finegold.votes.annotations import Annotations, Counts
from finegold.votes.encoding import MISSING, Names
from finegold.votes.frames import make_frame, series_like, to_list, to_polars

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Answers",
    "MultiResult",
    "OptionModel",
    "annotators_for_users",
    "annotators_table",
    "labels_for_users",
    "labels_table",
    "load_any",
    "save_sets",
]


Floats = NDArray[np.float64]

MOST_CELLS = 2**20  # tasks x options that are computed at a time
SEPARATOR = ";"  # between the labels of a task in tables
QUALITY_ANSWERS = 20.0  # what an annotator does overall weighs as much as this number of answers about one option


@dataclass(frozen=True)
class OptionModel:
    """How common each option is, and how often each annotator chooses it where it is right and where it is wrong."""

    prevalence: Floats  # [O]
    sensitivity: Floats  # [W, O]
    false_choice: Floats  # [W, O]


class Answers:
    """Who answered which task, and which options were chosen. An option that was not chosen is a "no"."""

    def __init__(self, votes: Annotations) -> None:
        from scipy.sparse import csr_array

        task, annotator, option = votes.votes()
        self.n_tasks, self.n_annotators, self.n_options = votes.n_tasks, votes.n_annotators, votes.n_classes - 1
        pair = np.unique(task.astype(np.int64) * self.n_annotators + annotator)
        who = (pair // self.n_annotators, pair % self.n_annotators)
        shape = (self.n_tasks, self.n_annotators)
        self.by_task = csr_array((np.ones(len(pair)), who), shape=shape)  # 1 where the annotator saw the task
        self.per_task = np.bincount(who[0], minlength=self.n_tasks)
        self.per_annotator = np.bincount(who[1], minlength=self.n_annotators)
        chosen = option < self.n_options
        self.task, self.annotator, self.option = task[chosen], annotator[chosen], option[chosen].astype(np.int64)
        self.gold = votes.gold
        self.gold_sets = np.zeros((len(votes.gold_sets), self.n_options))
        for row, options in enumerate(votes.gold_sets):
            self.gold_sets[row, list(options)] = 1.0

    def blocks(self) -> Iterator[slice]:
        """Yield runs of tasks that fit into memory with all options."""
        step = max(1, MOST_CELLS // max(self.n_options, 1))
        for first in range(0, self.n_tasks, step):
            yield slice(first, min(first + step, self.n_tasks))

    def chosen_in(self, block: slice) -> slice:
        """Return the choices on a run of tasks. They are sorted by task."""
        first, last = np.searchsorted(self.task, [block.start, block.stop])
        return slice(int(first), int(last))

    def on_cells(self, block: slice, weights: Floats | None = None) -> Floats:
        """[n, O] Return the sum of the weights of the choices of each option, or their number."""
        run = self.chosen_in(block)
        cell = (self.task[run] - block.start) * self.n_options + self.option[run]
        n = block.stop - block.start
        return np.bincount(cell, weights, minlength=n * self.n_options).reshape(n, self.n_options).astype(np.float64)

    def by_annotator(self, block: slice, posterior: Floats) -> tuple[Floats, Floats]:
        """[W, O] Return each annotator's right choices, and answers where the option is right, as expected."""
        run = self.chosen_in(block)
        weights = posterior[self.task[run] - block.start, self.option[run]]
        return self._by_cell(run, weights), self.by_task[block].T @ posterior

    def chosen(self) -> Floats:
        """[W, O] Return how often each annotator chose each option."""
        return self._by_cell(slice(None), None)

    def _by_cell(self, run: slice, weights: Floats | None) -> Floats:
        cell = self.annotator[run].astype(np.int64) * self.n_options + self.option[run]
        counts = np.bincount(cell, weights, minlength=self.n_annotators * self.n_options)
        return counts.reshape(self.n_annotators, self.n_options).astype(np.float64)

    def shares(self, block: slice) -> Floats:
        """[n, O] Return the share of the annotators who chose each option."""
        return self._with_gold(block, self.on_cells(block) / self.per_task[block, None])

    def posterior(self, block: slice, model: OptionModel) -> Floats:
        """[n, O] Return the probability that each option is right."""
        from scipy.special import expit, logit

        no = np.log1p(-model.sensitivity) - np.log1p(-model.false_choice)
        yes = np.log(model.sensitivity) - np.log(model.false_choice)
        run = self.chosen_in(block)
        evidence = self.by_task[block] @ no
        evidence += self.on_cells(block, (yes - no)[self.annotator[run], self.option[run]])
        return self._with_gold(block, expit(logit(model.prevalence) + evidence))

    def _with_gold(self, block: slice, found: Floats) -> Floats:
        """[n, O] Return the probabilities with those of known sets, which are 0 or 1."""
        known = np.flatnonzero(self.gold[block] != MISSING)
        found[known] = self.gold_sets[self.gold[block][known]]
        return found


@dataclass(frozen=True, eq=False)
class MultiResult:
    """The set of labels of each task, and how good each annotator is at each option.

    `finegold.aggregate` makes it from votes that are sets of labels; the constructor is not meant for users.

    Attributes
    ----------
    method : str
        "multi" for the model of options, "mv" for a vote on each option, otherwise the method that was fitted to the
        answers about each option.
    votes : Annotations
        The votes. An annotator who saw a task and did not choose an option says "no" to it.
    model : OptionModel or None
        What was learned about options and annotators; None for other methods.
    iterations : int, default 0
        The number of iterations of the fit.
    converged : bool, default True
        Whether the fit converged.
    stopped : str, default ""
        Why the fit stopped.
    seconds : float, default 0.0
        The duration of the fit.
    by_option : ndarray of shape (T, O), optional
        The probability of each option, if a method was fitted to each option.

    Examples
    --------
    >>> import finegold
    >>> votes = {"task": [1, 1, 1, 2, 2, 2], "worker": list("abc") * 2, "label": ["x;y", "x;y", "x", "y", "y", "x;y"]}
    >>> result = finegold.aggregate(votes, "mv", multi=True)
    >>> result.sets()
    [['x', 'y'], ['y']]
    """

    method: str
    votes: Annotations
    model: OptionModel | None
    iterations: int = 0
    converged: bool = True
    stopped: str = ""
    seconds: float = 0.0
    by_option: Floats | None = None

    @property
    def task_names(self) -> Names:
        """The names of the tasks that have votes."""
        return self.votes.task_names

    @property
    def annotator_names(self) -> Names:
        """The names of the annotators."""
        return self.votes.annotator_names

    @property
    def unlabelled(self) -> Names:
        """The names of tasks without any vote. They get no labels."""
        return self.votes.unlabelled

    @property
    def counts(self) -> Counts:
        """How many rows were read and how many were left out, and why."""
        return self.votes.counts

    @cached_property
    def option_names(self) -> list[str]:
        """The names of the options, in the order of the columns of `probabilities`."""
        return [str(name) for name in to_list(self.votes.class_names)[:-1]]

    @cached_property
    def answers(self) -> Answers:
        """Who answered which task, and what was chosen."""
        return Answers(self.votes)

    @property
    def votes_per_task(self) -> NDArray[np.int64]:
        """The number of annotators who answered each task."""
        return self.answers.per_task

    def pieces(self) -> Iterator[tuple[slice, Floats]]:
        """Compute the probabilities run by run, so that those of many tasks need not be in memory at once.

        Yields
        ------
        tuple of slice and ndarray of shape (n, O)
            A run of tasks, and the probability of each option for each of them.
        """
        for block in self.answers.blocks():
            yield block, self._probabilities(block)

    def _probabilities(self, block: slice) -> Floats:
        if self.by_option is not None:
            return self.by_option[block]
        return self.answers.shares(block) if self.model is None else self.answers.posterior(block, self.model)

    def probabilities(self) -> Floats:
        """Return the probability that each option is right for each task.

        Returns
        -------
        ndarray of shape (T, O)
            In the order of `task_names` and `option_names`.
        """
        return np.concatenate([found for _, found in self.pieces()] or [np.empty((0, len(self.option_names)))])

    def sets(self) -> list[list[str]]:
        """Return the labels of each task: the options that are more probably right than wrong.

        Returns
        -------
        list of list of str
            In the order of `task_names`.
        """
        return [self.names_of(row) for _, found in self.pieces() for row in found > 0.5]

    def names_of(self, chosen: NDArray[np.bool_]) -> list[str]:
        """Return the names of some options.

        Parameters
        ----------
        chosen : ndarray of bool of shape (O,)
            Whether each option is chosen.

        Returns
        -------
        list of str
            Their names.
        """
        return [self.option_names[code] for code in np.flatnonzero(chosen)]

    @cached_property
    def confidence(self) -> Floats:
        """The probability that all options of a task are decided rightly, if they do not depend on each other."""
        parts = [np.maximum(found, 1 - found).prod(axis=1) for _, found in self.pieces()]
        return np.concatenate(parts or [np.empty(0)])

    def labels(self, *, probabilities: bool = False) -> Any:
        """Return a data frame with one row per task.

        Parameters
        ----------
        probabilities : bool, default False
            Add one column per option with its probability.

        Returns
        -------
        DataFrame
            With the columns task, labels (separated by ;), confidence and n_votes, of the library that the votes came
            from (Polars for files and arrays). Tasks without votes come last, without labels.
        """

        return labels_table(self, probabilities=probabilities)

    def annotators(self, *, by_option: bool = False) -> Any:
        """Return a data frame with one row per annotator.

        Parameters
        ----------
        by_option : bool, default False
            One row per annotator and option instead.

        Returns
        -------
        DataFrame
            With the number of answers and of choices, the sensitivity (the share of right options that the annotator
            chose), the specificity (the share of wrong options left out), and the precision (the share of choices
            that are right).
        """

        return annotators_table(self, by_option=by_option)

    def save(self, path: str | Path) -> None:
        """Save the result with its votes in one file, which `finegold.load` reads.

        Parameters
        ----------
        path : str or Path
            The file, usually with the suffix .finegold.
        """

        save_sets(self, Path(path))

    @cached_property
    def quality(self) -> tuple[Floats, Floats, Floats]:
        """Right choices, all choices, and answers where the option is right: each of shape (W, O), as expected."""
        shape = (self.votes.n_annotators, len(self.option_names))
        right, asked = np.zeros(shape), np.zeros(shape)
        for block, found in self.pieces():
            more = self.answers.by_annotator(block, found)
            right += more[0]
            asked += more[1]
        return right, self.answers.chosen(), asked

    def __repr__(self) -> str:
        return (
            f"MultiResult({self.method}: {self.votes.n_tasks:,} tasks, {self.votes.n_annotators:,} annotators, "
            f"{len(self.option_names):,} options; {self.stopped})"
        )


def labels_table(result: MultiResult, *, probabilities: bool = False) -> Any:
    """Return one row per task; tasks without votes come last, without labels."""
    empty = len(result.unlabelled)
    tasks = result.task_names
    if empty:
        tasks = series_like([*to_list(tasks), *to_list(result.unlabelled)], tasks)
    columns: dict[str, Any] = {
        "task": tasks,
        "labels": [SEPARATOR.join(labels) for labels in result.sets()] + [None] * empty,
        "confidence": [*result.confidence.tolist(), *[None] * empty],
        "n_votes": np.append(result.votes_per_task, np.zeros(empty, np.int64)),
    }
    if probabilities:
        found = result.probabilities()
        for code, name in enumerate(distinct(result.option_names, {*columns, "is_gold"})):
            columns[name] = [*found[:, code].tolist(), *[None] * empty]
    return make_frame(columns, like=result.task_names)


def labels_for_users(result: MultiResult, *, probabilities: bool = False) -> pl.DataFrame:
    """Return the table with the column `is_gold`, in natural order, with the user's name of the column of tasks."""
    import polars as pl

    table = to_polars(labels_table(result, probabilities=probabilities))
    is_gold = np.append(result.votes.gold != MISSING, np.zeros(len(result.unlabelled), np.bool_))
    table = table.insert_column(table.columns.index("n_votes") + 1, pl.Series("is_gold", is_gold))
    order = natural_order(result.task_names)
    if order is not None:
        table = table[np.append(order, np.arange(len(order), len(table)))]
    return own_name(table, result.votes, 0)


def annotators_for_users(result: MultiResult) -> pl.DataFrame:
    """Return one row per annotator, and below one row per annotator and option; `option` is null in the first."""
    import polars as pl

    overall, by_option = (to_polars(annotators_table(result, by_option=one)) for one in (False, True))
    overall = overall.insert_column(1, pl.lit(None, pl.String).alias("option"))
    return own_name(pl.concat([overall, by_option]), result.votes, 1)


def annotators_table(result: MultiResult, *, by_option: bool = False) -> Any:
    right, chosen, asked = result.quality
    names, n_answers = result.annotator_names, result.answers.per_annotator
    answers = np.repeat(n_answers[:, None], right.shape[1], axis=1).astype(np.float64)
    overall = _rates(right.sum(1), chosen.sum(1), asked.sum(1), answers.sum(1))
    if not by_option:
        return make_frame({"annotator": names, "n_answers": n_answers, **overall}, like=names)
    columns = {
        "annotator": names[np.repeat(np.arange(len(names)), right.shape[1])],
        "option": result.option_names * len(names),
        "n_answers": np.repeat(n_answers, right.shape[1]),
        **_rates(right, chosen, asked, answers, overall),
    }
    return make_frame(columns, like=names)


def _rates(
    right: Floats, chosen: Floats, asked: Floats, answers: Floats, overall: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the shares; those of one option are drawn toward the annotator's own over all options."""
    wrong, left_out = answers - asked, answers - asked - (chosen - right)
    pairs = {"sensitivity": (right, asked), "specificity": (left_out, wrong), "precision": (right, chosen)}
    found: dict[str, Any] = {"n_chosen": np.ravel(chosen).astype(np.int64)}
    for name, (part, whole) in pairs.items():
        toward, weight = (0.5, 1.0) if overall is None else (overall[name][:, None], QUALITY_ANSWERS)
        found[name] = np.ravel((part + weight * toward) / (whole + weight))
    return found


PLAIN_FIELDS = ("method", "iterations", "converged", "stopped", "seconds")
FIELDS = {  # T tasks, W annotators, O options
    "gold": Field("T", "i", MISSING),
    "by_option": Field("TO", "f", 0, archive.MAX_PROBABILITY),
    "model.prevalence": Field("O", "f", 0, 1),
    "model.sensitivity": Field("WO", "f", 0, 1),
    "model.false_choice": Field("WO", "f", 0, 1),
}


def save_sets(result: MultiResult, path: Path) -> None:
    """Save the result with its votes. Probabilities are computed again when it is loaded."""
    votes = result.votes
    arrays: dict[str, Any] = {"gold": votes.gold}
    if result.model is not None:
        arrays |= {f"model.{name}": values for name, values in vars(result.model).items()}
    if result.by_option is not None:
        arrays["by_option"] = result.by_option
    names = {name: getattr(votes, name) for name in (*archive_votes.NAMES, archive_votes.NEVER_VOTED)}
    of_text, of_numbers = archive_votes.name_arrays(names)
    manifest = {
        "format": archive.SETS_FORMAT,
        "version": archive.VERSION,
        **{name: getattr(result, name) for name in PLAIN_FIELDS},
        "gold_sets": votes.gold_sets,
        **archive_votes.votes_manifest(votes.counts, votes),
        **of_text,
    }
    archive.write_archive(path, manifest, arrays | of_numbers | archive_votes.votes_to_save(votes))


def load_any(path: str | Path) -> ResultData | MultiResult:
    """Load a saved result, with one label or a set of labels per task."""
    with opened(path, f"{path} is not a result saved by Finegold, or it is damaged; {archive.ADVICE}") as file:
        manifest = read_manifest(file)
        has_sets = manifest.get("format") == archive.SETS_FORMAT
        archive.check_manifest(manifest, path, archive.SETS_FORMAT if has_sets else archive.FORMAT)
        return (_assembled if has_sets else archive.assemble)(manifest, read_arrays(file))


def _assembled(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> MultiResult:
    archive.check_plain(manifest)
    votes = _votes(manifest, arrays)
    check(arrays, FIELDS, {"T": votes.n_tasks, "W": votes.n_annotators, "O": votes.n_classes - 1})
    parts = [arrays[name] for name in FIELDS if name.startswith("model.") and name in arrays]
    by_option = arrays.get("by_option")
    plain = {name: manifest[name] for name in PLAIN_FIELDS}
    return MultiResult(votes=votes, model=OptionModel(*parts) if parts else None, by_option=by_option, **plain)


def _votes(manifest: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Annotations:
    values: dict[str, Any] = {name: archive_votes.names_of(manifest, arrays, name) for name in archive_votes.NAMES}
    n_tasks, n_options = len(values["task_names"]), len(values["class_names"]) - 1
    values |= {"gold": np.full(n_tasks, MISSING, np.int32), "votes_per_task": None}
    gold, sets = arrays["gold"], tuple(tuple(one) for one in manifest["gold_sets"])
    if not all(isinstance(code, int) and 0 <= code < n_options for one in sets for code in one):
        raise ValueError("the known sets hold options that do not exist")
    if gold.shape != (n_tasks,) or gold.dtype.kind != "i" or gold.max(initial=MISSING) >= len(sets):
        raise ValueError("the known sets do not match")
    votes = archive_votes.votes_of_file(arrays, values, archive_votes.counts_of(manifest), manifest)
    return replace(votes, gold=gold, gold_sets=sets, multi=True)
