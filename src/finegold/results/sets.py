"""Results whose labels are sets: every option is a question of yes or no on each task that an
annotator saw.

Such a result is a `ResultData` whose classes are the options: `posterior` [T, O] holds the
probability that each option is right, so its rows do not sum to one, and `label_codes` are
positions in `label_sets`, the distinct sets of options. `as_questions` turns it into an ordinary
result with one task per task and option, which what is written for ordinary votes understands.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError, use
from finegold.results.data import Learned, ResultData, Step, summarise, with_posterior
from finegold.system.memory import available_memory, in_words
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import MISSING, Codes, to_list
from finegold.votes.frames import make_frame

Floats = NDArray[np.float64]

# what an annotator does overall weighs as much as this number of answers about one option
QUALITY_ANSWERS = 20.0


class Answers:
    """Who answered which task, and which options were chosen; one that was not chosen is a "no"."""

    def __init__(self, votes: Annotations) -> None:
        from scipy.sparse import csr_array

        task, annotator, option = votes.votes()
        self.n_tasks, self.n_annotators = votes.n_tasks, votes.n_annotators
        self.n_options = votes.n_classes - 1
        pair = np.unique(task.astype(np.int64) * self.n_annotators + annotator)
        seen, who = np.divmod(pair, self.n_annotators)
        shape = (self.n_tasks, self.n_annotators)
        # 1 where the annotator saw the task
        self.by_task = csr_array((np.ones(len(pair)), (seen, who)), shape=shape)
        self.per_task = np.bincount(seen, minlength=self.n_tasks)
        self.per_annotator = np.bincount(who, minlength=self.n_annotators)
        # choices
        chosen = option < self.n_options
        self.task, self.annotator = task[chosen], annotator[chosen]
        self.option = option[chosen].astype(np.int64)
        self.gold = votes.gold
        self.gold_sets = np.zeros((len(votes.gold_sets), self.n_options))
        for row, options in enumerate(votes.gold_sets):
            self.gold_sets[row, list(options)] = 1.0

    def on_tasks(self, weights: Floats | None = None) -> Floats:
        """[T, O] Return the choices of each option, or the sum of their weights [W, O]."""
        weigh = None if weights is None else weights[self.annotator, self.option]
        return self._count(self.task, self.n_tasks, weigh)

    def chosen(self, posterior: Floats | None = None) -> Floats:
        """[W, O] Return each annotator's choices, or those expected to be right."""
        weigh = None if posterior is None else posterior[self.task, self.option]
        return self._count(self.annotator, self.n_annotators, weigh)

    def _count(self, row: Codes, n_rows: int, weights: Floats | None) -> Floats:
        cell = row.astype(np.int64) * self.n_options + self.option
        counts = np.bincount(cell, weights, minlength=n_rows * self.n_options)
        return counts.reshape(n_rows, self.n_options).astype(np.float64)

    def shares(self) -> Floats:
        """[T, O] Return the share of the annotators who chose each option."""
        return self.with_gold(self.on_tasks() / self.per_task[:, None])

    def with_gold(self, posterior: Floats) -> Floats:
        """[T, O] Return the probabilities with those of known sets, which are 0 or 1."""
        known = np.flatnonzero(self.gold != MISSING)
        posterior[known] = self.gold_sets[self.gold[known]]
        return posterior


class Quality(NamedTuple):
    """What each annotator did with each option, [W, O], as expected by the posterior."""

    # choices of the option where it is right
    right: Floats
    # all choices of the option
    chosen: Floats
    # answers on tasks where the option is right
    asked: Floats
    # all answers
    answers: Floats

    def right_answers(self) -> Floats:
        """[W] Return how many answers of yes and of no are right, over all options."""
        return np.asarray((self.answers - self.asked - self.chosen + 2 * self.right).sum(axis=1))


def quality_of(answers: Answers, posterior: Floats) -> Quality:
    """Return what each annotator did with each option, judged by a posterior [T, O]."""
    asked = answers.by_task.T @ posterior
    every = np.broadcast_to(answers.per_annotator[:, None], asked.shape).astype(np.float64)
    return Quality(answers.chosen(posterior), answers.chosen(), asked, every)


def summarise_sets(
    method: str,
    settings: dict[str, Any],
    votes: Annotations,
    answers: Answers,
    posterior: Floats,
    steps: list[Step],
    statistics: dict[str, Floats] | None = None,
) -> ResultData:
    """Build a result from the probabilities of the options [T, O]."""
    chosen = posterior > 0.5
    # The sets, and that of each task: as texts of bits, which are sorted ten times faster than rows
    # of truth values. One more bit, so that there is one.
    bits = np.packbits(np.pad(chosen, ((0, 0), (0, 1))), axis=1)
    texts = bits.view(f"V{bits.shape[1]}")
    _, first, codes = np.unique(texts, return_index=True, return_inverse=True)
    n_answers = answers.per_annotator * max(answers.n_options, 1)
    agreed = quality_of(answers, chosen.astype(np.float64)).right_answers()
    expected, tied = quality_of(answers, posterior).right_answers(), (posterior == 0.5).any(axis=1)
    learned = Learned(posterior.mean(axis=0), statistics=statistics or {})
    records = codes.ravel().astype(np.int32), tied, n_answers, agreed, expected
    return replace(
        summarise(method, settings, votes, posterior, steps, learned, records),
        class_names=votes.class_names[: answers.n_options],
        votes_per_task=answers.per_task,
        votes_per_annotator=answers.per_annotator,
        label_sets=tuple(tuple(np.flatnonzero(options).tolist()) for options in chosen[first]),
    )


def annotators_of_sets(result: ResultData, *, by_option: bool = False) -> Any:
    """Return a table with one row per annotator, or per annotator and option."""
    quality = quality_of(Answers(result.annotations), result.posterior)
    names, options = result.annotator_names, to_list(result.class_names)
    n_answers = result.votes_per_annotator
    overall = _rates(Quality(*(counts.sum(axis=1) for counts in quality)))
    if not by_option:
        return make_frame({"annotator": names, "n_answers": n_answers, **overall}, like=names)
    columns = {
        "annotator": names[np.repeat(np.arange(len(names)), len(options))],
        "option": options * len(names),
        "n_answers": np.repeat(n_answers, len(options)),
        **_rates(quality, overall),
    }
    return make_frame(columns, like=names)


def _rates(quality: Quality, overall: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the shares; those of one option are drawn toward the annotator's own over all options."""
    right, chosen, asked, answers = quality
    left_out = answers - asked - chosen + right
    pairs = {
        "sensitivity": (right, asked),
        "specificity": (left_out, answers - asked),
        "precision": (right, chosen),
    }
    rates: dict[str, Any] = {"n_chosen": np.ravel(chosen).astype(np.int64)}
    for name, (part, whole) in pairs.items():
        toward: Any = 0.5 if overall is None else overall[name][:, None]
        weight = 1.0 if overall is None else QUALITY_ANSWERS
        rates[name] = np.ravel((part + weight * toward) / (whole + weight))
    return rates


def as_questions(result: ResultData) -> ResultData:
    """Return the same as a result of "no" and "yes", with a task for each task and option."""
    votes = result.annotations
    answers = Answers(votes)
    asked, yes = all_questions(votes, answers), result.posterior.ravel()
    quality = quality_of(answers, result.posterior)
    right, chosen, true, total = (counts.sum(axis=1) for counts in quality)
    # by truth
    of_no, of_yes = (chosen - right + 0.5) / (total - true + 1), (right + 0.5) / (true + 1)
    said_yes = np.stack([of_no, of_yes], axis=1).clip(1e-6, 1 - 1e-6)
    confusion = np.stack([1 - said_yes, said_yes], axis=2)
    learned = Learned(np.array([1 - yes.mean(), yes.mean()]), confusion=confusion)
    return with_posterior(result, np.stack([1 - yes, yes], axis=1), asked, learned)


def outvoted_sets(result: ResultData) -> NDArray[np.bool_]:
    """[T] Return whether most answers about an option contradict the label; False if known."""
    answers, is_label = Answers(result.annotations), result.posterior > 0.5
    twice, answered = 2 * answers.on_tasks(), answers.per_task[:, None]
    outvoted = np.where(is_label, twice < answered, twice > answered).any(axis=1)
    return np.asarray(outvoted & (result.gold == MISSING))


def all_questions(votes: Annotations, answers: Answers | None = None) -> Annotations:
    """Return answers about all options as votes for "no" and "yes" on tasks "task: option"."""
    answers = answers or Answers(votes)
    needed = 32 * int(answers.per_task.sum()) * answers.n_options
    if needed > available_memory():
        raise InputError(
            f"{votes.n_tasks:,} tasks with {answers.n_options:,} options need {in_words(needed)} of"
            " memory as questions of yes or no, which is more than there is"
        )
    options = [str(name) for name in to_list(votes.class_names)[:-1]]
    names = [f"{task}: {option}" for task in to_list(votes.task_names) for option in options]
    return question_votes(votes, answers, slice(0, len(options)), votes.task_names.of(names))


def question_votes(
    votes: Annotations, answers: Answers, options: slice, names: Any = None
) -> Annotations:
    """Return answers about some options as votes for "no" and "yes", by task and option."""
    task, annotator = answers.by_task.nonzero()
    option = np.arange(options.start, options.stop)
    width, who, n = np.int64(answers.n_options), np.int64(answers.n_annotators), len(option)
    chosen = (answers.task * who + answers.annotator) * width + answers.option
    every = ((task * who + annotator)[:, None] * width + option).ravel()
    label = np.isin(every, chosen).astype(np.int32)
    known = np.flatnonzero(votes.gold != MISSING)
    truths = answers.gold_sets[votes.gold[known], options].astype(np.int32).ravel()
    cells = (known[:, None] * n + np.arange(n)).ravel().astype(np.int32)
    return Annotations.from_codes(
        (task[:, None] * n + np.arange(n)).ravel().astype(np.int32),
        np.repeat(annotator, n).astype(np.int32),
        label,
        votes.task_names if names is None else names,
        votes.annotator_names,
        np.array(["no", "yes"], dtype=object),
        gold=(cells, truths),
    )


def refuse_sets(result: ResultData, what: str) -> None:
    """Refuse what sets of labels do not have, such as "score"."""
    if result.label_sets is not None:
        remedy = use(multi=False, text="to take each set as a class")
        raise InputError(f"sets of labels have no {what}", remedies=[remedy])


def set_figures(
    result: ResultData, task: Sequence[int], truth: Sequence[set[str]]
) -> dict[str, float]:
    """Return metrics for these tasks: the share of sets that are right as a whole, micro F1 = 2
    right / (labels + true) over all options, and macro F1, its mean over the true options.
    """
    sets = result.label_lists()
    labels = [set(sets[code]) for code in task]
    pairs = list(zip(labels, truth, strict=True))
    right = Counter(option for own, true in pairs for option in own & true)
    given = Counter(option for own in labels for option in own)
    true = Counter(option for known in truth for option in known)
    total = given.total() + true.total()
    of_options = [2 * right[option] / (given[option] + n) for option, n in true.items()]
    return {
        "exact_match": sum(own == known for own, known in pairs) / len(pairs),
        "micro_f1": 2 * right.total() / total if total else 1.0,
        "macro_f1": sum(of_options) / len(of_options) if of_options else 1.0,
    }
