"""Measure agreement beyond chance: Krippendorff's alpha, Fleiss' and Cohen's kappa, Gwet's AC1.

All but Cohen's kappa depend only on the number of votes for each class on each task (pi_k is the
share of class k):

    alpha   Krippendorff 1970: differing pairs of votes on a task, compared with pairs drawn from
    all votes; optionally
            weighted by their distance if classes are ordered (ordinal) or numbers (interval)
    fleiss  Fleiss 1971 and, for tasks with different numbers of votes, Gwet 2014: pe = sum_k pi_k^2
    ac1     Gwet 2008: pe = sum_k pi_k (1 - pi_k) / (K - 1), which stays meaningful if one class is
    very frequent cohen   Light 1971: the mean of Cohen's kappa over pairs of annotators, each on
    the tasks of both

Missing votes are ignored. If an annotator voted on a task more than once, their most frequent vote
counts; `self_agreement` says how often repeated votes agree. Standard errors come from the
infinitesimal jackknife over tasks.

Only the cells of `Annotations` are visited. The tests compare the results with those of other
libraries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from finegold.errors import InputError
from finegold.insight import coefficients
from finegold.insight.coefficients import by_annotator, by_class, cells_of, ranks
from finegold.insight.votes import Floats, Integers, single_votes
from finegold.io.read import read
from finegold.results.tables import own_name
from finegold.votes.annotations import Annotations, count_repeats, majority_of_repeats
from finegold.votes.encoding import to_list
from finegold.votes.frames import make_frame
from finegold.votes.pairs import sample_vote_pairs

Level = Literal["nominal", "ordinal", "interval"]

# on either side of the mean, 95 % of a normal distribution
CONFIDENCE_STANDARD_ERRORS = 1.959964
# of one real set, 60 % of the intervals of fewer contained the agreement: bench/trust/promises.py
MIN_TASKS = 100
# kappa of fewer tasks is mostly noise, and of one task it is 0 or NaN
MIN_SHARED_TASKS = 10
# if there are more, a sample of the tasks is used (finegold.votes.pairs)
MAX_VOTE_PAIRS = 2_000_000


class AnnotatorPairs(NamedTuple):
    """Pairs of annotators who share enough tasks, as codes."""

    one: Integers
    other: Integers
    # number of tasks
    shared: Integers
    observed: Floats
    # NaN if both always voted for the same class
    kappa: Floats
    # says which pairs of votes were left out; empty if none were
    note: str


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far annotators agree: the result of `finegold.agreement`.

    A figure is NaN if the votes do not determine it, for example if there are votes for one class
    only.

    Attributes:
        level ({"nominal", "ordinal", "interval"}): How alpha interprets classes. The other figures
            treat them as names.
        alpha, fleiss, cohen, ac1: Krippendorff's alpha, Fleiss' kappa, the mean of Cohen's kappa
            over pairs of annotators, Gwet's AC1.
        observed, self_agreement: The share of pairs of votes on a task that agree, as a mean over
            tasks; the same for repeated votes of one annotator.
        n_tasks, n_votes, n_annotators: The tasks with votes of two annotators or more, the votes on
            them, and all annotators.
        errors: Standard errors of alpha, fleiss and ac1.
        votes: The votes, one per annotator and task.
        pairs_found: The figures behind `pairs`.
    """

    level: Level
    alpha: float
    fleiss: float
    cohen: float
    ac1: float
    observed: float
    self_agreement: float
    n_tasks: int
    n_votes: int
    n_annotators: int
    errors: dict[str, float]
    votes: Annotations = field(repr=False)
    pairs_found: AnnotatorPairs = field(repr=False)

    @property
    def notes(self) -> list[str]:
        """Sentences that say what was left out, e.g. which annotators were not compared two by two."""
        return [self.pairs_found.note] if self.pairs_found.note else []

    def figures(self) -> dict[str, float]:
        """Return the figures by name.

        Returns:
            Plain numbers, for example for JSON.
        """
        return {name: value for name, value in vars(self).items() if isinstance(value, float | int)}

    def _repr_html_(self) -> str:
        from finegold.insight.notebook import agreement_html

        return agreement_html(self)

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % confidence interval of a figure.

        Args:
            name ({"alpha", "fleiss", "ac1"}): The figure.

        Returns:
            tuple of two floats: The lower and the upper end; NaN if fewer than 100 tasks have votes
                of two annotators, of which an interval would often be wrong.
        """
        if name not in self.errors:
            raise InputError(f"{name} has no interval; {', '.join(self.errors)} have")
        half = (
            CONFIDENCE_STANDARD_ERRORS * self.errors[name] if self.n_tasks >= MIN_TASKS else np.nan
        )
        return getattr(self, name) - half, min(getattr(self, name) + half, 1.0)

    def classes(self) -> Any:
        """Return how much annotators agree whether a task belongs to a class.

        Returns:
            DataFrame: With one row per class.
        """
        names = self.votes.class_names
        return make_frame({"class": names, **by_class(cells_of(self.votes))}, like=names)

    def annotators(self) -> Any:
        """Return how far each annotator agrees with the others.

        Returns:
            DataFrame: With one row per annotator, including alpha without that annotator.
        """
        names, figures = self.votes.annotator_names, by_annotator(self.votes)
        if self.level != "nominal":
            # it treats classes as names, so it cannot be compared with alpha here
            del figures["alpha_without"]
        return own_name(make_frame({"annotator": names, **figures}, like=names), self.votes, 1)

    def pairs(self) -> Any:
        """Return how far pairs of annotators agree that share at least ten tasks.

        If there are very many votes, a sample of two million pairs is used; `notes` says so.

        Returns:
            DataFrame: With one row per pair of annotators.
        """
        names, found = self.votes.annotator_names, self.pairs_found
        columns = {
            "annotator_1": names.take(found.one.astype(np.int32)),
            "annotator_2": names.take(found.other.astype(np.int32)),
            "n_shared": found.shared,
            "observed": found.observed,
            "kappa": found.kappa,
        }
        return make_frame(columns, like=names)


def agreement(votes: Any, *, level: Level = "nominal", **reading: Any) -> Agreement:
    """Measure how much annotators agree beyond chance; `finegold.agreement` documents it."""
    single = single_votes(read(votes, **{"repeated": "all", **reading}))
    repeats = count_repeats(*single.votes())
    # one vote per annotator and task
    if repeats.pairs:
        names = (single.task_names, single.annotator_names, single.class_names)
        single = Annotations.from_codes(*majority_of_repeats(*single.votes()), *names)
    cells, pairs = cells_of(single), annotator_pairs(single)
    # the position of each class on its scale; None if classes are names
    scale = None
    if level not in get_args(Level):
        raise InputError(f"level must be one of {', '.join(get_args(Level))}, not {level!r}")
    if level == "ordinal":
        scale = ranks(cells)
    elif level == "interval":
        classes = to_list(single.class_names)
        try:
            scale = np.array([float(name) for name in classes])
        except (TypeError, ValueError):
            raise InputError(
                f"level interval needs classes that are numbers, not {classes}; try ordinal"
            ) from None
    fleiss, ac1 = coefficients.fleiss(cells), coefficients.ac1(cells)
    estimates = {"alpha": coefficients.alpha(cells, scale), "fleiss": fleiss, "ac1": ac1}
    several, kappa = cells.per_task >= 2, pairs.kappa[~np.isnan(pairs.kappa)]
    return Agreement(
        level=level,
        **{name: estimate.value for name, estimate in estimates.items()},
        # Light's kappa: pairs of annotators are weighted by the number of shared tasks.
        cohen=(
            float(np.average(kappa, weights=pairs.shared[~np.isnan(pairs.kappa)]))
            if kappa.size
            else np.nan
        ),
        observed=coefficients.observed_agreement(cells),
        self_agreement=repeats.agreeing / repeats.pairs if repeats.pairs else np.nan,
        n_tasks=int(several.sum()),
        n_votes=int(cells.per_task[several].sum()),
        n_annotators=single.n_annotators,
        errors={name: estimate.error for name, estimate in estimates.items()},
        votes=single,
        pairs_found=pairs,
    )


def annotator_pairs(votes: Annotations, seed: int = 0) -> AnnotatorPairs:
    one, other, _, _, note = sample_vote_pairs(votes, np.random.default_rng(seed), MAX_VOTE_PAIRS)
    who, label = votes.annotator.astype(np.int64), votes.votes()[2].astype(np.int64)
    swap = who[one] > who[other]
    one, other = np.where(swap, other, one), np.where(swap, one, other)
    key, pair, shared = np.unique(
        who[one] * votes.n_annotators + who[other], return_inverse=True, return_counts=True
    )
    enough = shared >= MIN_SHARED_TASKS
    rows = enough[pair]
    pair = (np.cumsum(enough) - 1)[pair[rows]]
    n, K, one, other = int(enough.sum()), votes.n_classes, label[one[rows]], label[other[rows]]
    n_shared = np.maximum(np.bincount(pair, minlength=n), 1)
    observed = np.bincount(pair, one == other, minlength=n) / n_shared
    # chance: the product of both annotators' vote counts, summed over classes without an array [n,
    # K]
    (code, counts), (other_code, other_counts) = (
        np.unique(pair * K + x, return_counts=True) for x in (one, other)
    )
    both, i, j = np.intersect1d(code, other_code, assume_unique=True, return_indices=True)
    chance = np.bincount(both // K, counts[i] * other_counts[j], minlength=n) / n_shared**2
    with np.errstate(invalid="ignore", divide="ignore"):
        kappa = np.where(chance < 1, (observed - chance) / (1 - chance), np.nan)
    first, second = np.divmod(key[enough], votes.n_annotators)
    return AnnotatorPairs(first, second, shared[enough].astype(np.int64), observed, kappa, note)
