"""Measure agreement beyond chance: Krippendorff's alpha, Fleiss' and Cohen's kappa, Gwet's AC1 and
AC2, ICC.

A coefficient is (observed - chance) / (1 - chance). With pi_k the mean share of class k, and
weights w_kl from 1 (equal) to 0 of two votes for the classes k and l:

    alpha   Krippendorff 1970: differing pairs of votes on a task, compared with pairs drawn from
            all votes; by their distance if classes are ordered (ordinal) or numbers (interval)
    fleiss  Fleiss 1971; Gwet 2014 for tasks with different numbers of votes: sum_kl w_kl pi_k pi_l
    ac1/ac2 Gwet 2008: sum_kl w_kl / (K (K - 1)) sum_k pi_k (1 - pi_k), which stays meaningful if one
            class is very frequent; AC2 has weights
    cohen   Light 1971: the mean of Cohen's kappa over pairs of annotators, each on their tasks
    icc     Shrout and Fleiss 1979, ICC(2,1): y_ij = mu + task_i + annotator_j + e_ij, the share of
            the variance that is due to tasks; variances by Henderson's first method (1953), which
            allows for missing votes

Weights are 1 - |x_k - x_l| / range for ordered classes, 1 - (x_k - x_l)^2 / range^2 for numbers.
Missing votes are ignored. If an annotator voted on a task more than once, their most frequent vote
counts. Standard errors come from the jackknife over tasks: the influence of each task on the
coefficient is squared and summed. All is computed from the sparse table N [T, K] of the number of
votes on a task for a class.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr

from finegold.errors import InputError
from finegold.insight.pairs import AnnotatorPairs, annotator_pairs
from finegold.insight.votes import Flags, Floats, single_votes
from finegold.results.tables import own_name
from finegold.votes.annotations import Annotations, count_repeats, majority_of_repeats
from finegold.votes.encoding import MISSING, match, text_of, to_list
from finegold.votes.frames import make_frame

Level = Literal["nominal", "ordinal", "interval"]

# their names, and what they are for
COEFFICIENTS = {
    "alpha": ("Krippendorff's alpha", "recommended: any number of annotators, missing votes"),
    "fleiss": ("Fleiss' kappa", "for many annotators"),
    "cohen": ("Cohen's kappa, mean of pairs", "for few annotators who share many tasks"),
    "ac1": ("Gwet's AC1", "robust against very unequal class frequencies"),
    "ac2": ("Gwet's AC2", "the same for a scale"),
    "icc": ("intraclass correlation, ICC(2,1)", "share of the variance that is due to tasks"),
    "observed": ("pairs of votes that agree", "including agreement by chance"),
    "self_agreement": ("repeated votes that agree", "of annotators who saw a task twice or more"),
}
# on either side of the mean, 95 % of a normal distribution
CONFIDENCE_STANDARD_ERRORS = 1.959964
# of one real set, 60 % of the intervals of fewer contained the agreement: bench/trust/promises.py
MIN_TASKS = 100
# kappa of fewer tasks is mostly noise, and of one task it is 0 or NaN
MIN_SHARED_TASKS = 10


def counts_of(votes: Annotations) -> csr_array:
    """[T, K] Return the number of votes on each task for each class."""
    m, shape = np.diff(votes.cell_ptr).astype(np.float64), (votes.n_tasks, votes.n_classes)
    return csr_array((m, votes.cell_class.astype(np.int64), votes.task_ptr), shape=shape)


def _agreeing(N: csr_array, weights: Floats | None = None) -> Floats:
    """[T] Return the share of pairs of votes that agree; 0 for tasks with a single vote."""
    n = N.sum(axis=1)
    near = N * (N if weights is None else N @ weights)
    return np.asarray((near.sum(axis=1) - n) / np.maximum(n * (n - 1), 1))


def _shares(N: csr_array) -> Floats:
    """[K] Return each class's share of the votes, as the mean over tasks."""
    return np.asarray(N.T @ (1 / N.sum(axis=1)) / N.shape[0])


class Estimate(NamedTuple):
    """A coefficient, and how much each task moves it."""

    value: float
    # [T]
    influence: Floats
    # that the coefficient is computed from
    n_tasks: int

    @property
    def error(self) -> float:
        """The standard error."""
        n = self.n_tasks
        return math.sqrt(float((self.influence**2).sum()) * n / (n - 1)) if n > 1 else math.nan

    def interval(self, n_tasks: int) -> tuple[float, float]:
        """Return the 95 % interval; NaN if too few tasks have several votes."""
        half = CONFIDENCE_STANDARD_ERRORS * self.error if n_tasks >= MIN_TASKS else math.nan
        return self.value - half, min(self.value + half, 1.0)


UNDEFINED = Estimate(math.nan, np.zeros(0), 0)


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far annotators agree: the result of `finegold.agreement`.

    A figure is NaN if the votes do not determine it, for example if there are votes for one class
    only, or if it does not belong to the level.

    Attributes:
        level ({"nominal", "ordinal", "interval"}): Whether classes are names, ordered or numbers.
            The weights of fleiss, cohen and ac2 are linear for ordered classes and quadratic for
            numbers.
        alpha, fleiss, cohen: Krippendorff's alpha, Fleiss' kappa, and the mean of Cohen's kappa
            over pairs of annotators.
        ac1, ac2, icc: Gwet's AC1 of names; AC2 and ICC(2,1) of ordered classes and numbers.
        observed, self_agreement: The share of pairs of votes on a task that agree, as a mean over
            tasks; the same for repeated votes of one annotator.
        n_tasks, n_votes, n_annotators: The tasks with votes of two annotators or more, the votes on
            them, and all annotators.
        votes: The votes, one per annotator and task.
        estimates: The coefficients with the influence of each task.
        pairs_found: The figures behind `pairs`.
        notes: Sentences that say what was left out.
        group: The group of each annotator, if they were given.
    """

    level: Level
    alpha: float
    fleiss: float
    cohen: float
    ac1: float
    ac2: float
    icc: float
    observed: float
    self_agreement: float
    n_tasks: int
    n_votes: int
    n_annotators: int
    votes: Annotations = field(repr=False)
    estimates: dict[str, Estimate] = field(repr=False)
    pairs_found: AnnotatorPairs = field(repr=False)
    notes: list[str]
    group: list[str] = field(default_factory=list, repr=False)

    def figures(self) -> dict[str, float]:
        """Return the figures by name.

        Returns:
            Plain numbers, for example for JSON.
        """
        return {name: value for name, value in vars(self).items() if isinstance(value, float | int)}

    def rows(self) -> dict[str, str]:
        """Return the figures as text with their intervals, by what they are."""
        rows = {}
        for name, (title, _) in COEFFICIENTS.items():
            value: float = getattr(self, name)
            # undefined without repeated votes, or at another level
            if math.isnan(value) and name not in (*self.estimates, "cohen", "observed"):
                continue
            low, high = self.interval(name) if name in self.estimates else (value, value)
            level = f", {self.level}" if name == "alpha" and self.level != "nominal" else ""
            rows[title + level] = "undefined" if math.isnan(value) else f"{value:.3f}"
            rows[title + level] += f"  ({low:.3f} to {high:.3f})" if low < high else ""
        return rows

    def _repr_html_(self) -> str:
        from finegold.votes.notebook import Figure, rows_html

        title = (
            f"<b>Agreement</b> ({self.level}): {self.n_votes:,} votes, {self.n_tasks:,} tasks with"
            f" two votes or more, {self.n_annotators:,} annotators"
        )
        rows = [{"_": words, "__": Figure(text)} for words, text in self.rows().items()]
        return rows_html(title, rows, self.notes)

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % confidence interval of a figure.

        Args:
            name ({"alpha", "fleiss", "cohen", "ac1", "ac2", "icc"}): The figure.

        Returns:
            tuple of two floats: The lower and the upper end; NaN if fewer than 100 tasks have votes
                of two annotators, of which an interval would often be wrong.
        """
        if name not in self.estimates:
            raise InputError(f"{name} has no interval; {', '.join(self.estimates)} have")
        return self.estimates[name].interval(self.n_tasks)

    def minus(self, other: Agreement) -> Any:
        """Compare with the agreement of other votes on the same tasks, such as another guideline's.

        Args:
            other: The agreement of the other votes.

        Returns:
            DataFrame: With one row per figure: both values, their difference, its 95 % interval and
                p-value, paired over the tasks that both have.
        """
        names = self.votes.task_names
        place = match(names, other.votes.task_names)
        both = place != MISSING
        if not both.any():
            raise InputError("the two agreements have no task in common, so nothing can be paired")
        rows = []
        for name, one in self.estimates.items():
            two = other.estimates.get(name, UNDEFINED)
            if not (math.isfinite(one.value) and math.isfinite(two.value)):
                continue
            own, theirs = one.influence.copy(), two.influence.copy()
            own[both] -= theirs[place[both]]
            theirs[place[both]] = 0.0
            error = math.sqrt(float((own**2).sum() + (theirs**2).sum()))
            gap, half = one.value - two.value, CONFIDENCE_STANDARD_ERRORS * error
            p = 2 * float(ndtr(-abs(gap) / error)) if error > 0 else float(gap == 0)
            rows.append((name, one.value, two.value, gap, gap - half, gap + half, p))
        heads = ("figure", "first", "second", "difference", "low", "high", "p")
        return make_frame({h: [row[k] for row in rows] for k, h in enumerate(heads)}, like=names)

    def groups(self) -> Any:
        """Return how far annotators agree within each group, and with those of each other group.

        Returns:
            DataFrame: With one row per pair of groups: the tasks that both voted on, the share of
                pairs of votes that agree, kappa, and its 95 % interval if there are 100 tasks.
        """
        if not self.group:
            raise InputError("the annotators have no groups; give them as group")
        names, code = np.unique(np.array(self.group), return_inverse=True)
        task, who, label = self.votes.votes()
        shape, counts = (self.votes.n_tasks, self.votes.n_classes), []
        for g in range(len(names)):
            mine = (task[code[who] == g], label[code[who] == g])
            counts.append(csr_array((np.ones(len(mine[0])), mine), shape=shape))
        rows = []
        for g, h in combinations_with_replacement(range(len(names)), 2):
            n, m = counts[g].sum(axis=1), counts[h].sum(axis=1)
            # a vote is not paired with itself
            itself = n if g == h else np.zeros_like(n)
            some = np.flatnonzero(n * m > itself)
            agreed = ((counts[g] * counts[h]).sum(axis=1) - itself)[some] / (n * m - itself)[some]
            one, other = counts[g][some], counts[h][some]
            p, q = (_shares(N) if len(some) else np.zeros(shape[1]) for N in (one, other))
            slope = (one @ q) / n[some] + (other @ p) / m[some]
            kappa = _beyond_chance(agreed, np.ones(len(some), np.bool_), float(p @ q), slope)
            observed = float(agreed.mean()) if len(some) else math.nan
            ends = kappa.interval(len(some))
            rows.append((str(names[g]), str(names[h]), len(some), observed, kappa.value, *ends))
        heads = ("group_1", "group_2", "n_tasks", "observed", "kappa", "low", "high")
        columns = {h: [row[k] for row in rows] for k, h in enumerate(heads)}
        return make_frame(columns, like=self.votes.task_names)

    def classes(self) -> Any:
        """Return how much annotators agree whether a task belongs to a class.

        Returns:
            DataFrame: With one row per class.
        """
        N, names = counts_of(self.votes), self.votes.class_names
        shares, M = _shares(N), N[N.sum(axis=1) >= 2]
        n, totals = M.sum(axis=1), M.sum(axis=0)
        # sums of m (n - m) / (n - 1), m of a task's n votes, and of twice that by n
        M2 = M * M
        disagreeing = M.T @ (n / (n - 1)) - M2.T @ (1 / (n - 1))
        differing = 2 * (M.T @ (1 / (n - 1)) - M2.T @ (1 / (n * (n - 1))))
        votes = totals.sum()
        # NaN for a class with no votes or with all votes
        with np.errstate(invalid="ignore", divide="ignore"):
            agreed = 1 - differing / self.n_tasks
            columns = {
                "class": names,
                "share": shares,
                "observed": agreed,
                "alpha": 1 - (votes - 1) * disagreeing / (totals * (votes - totals)),
                "fleiss": 1 - (1 - agreed) / (1 - shares**2 - (1 - shares) ** 2),
                "ac1": 1 - (1 - agreed) / (1 - 2 * shares * (1 - shares)),
            }
        return make_frame(columns, like=names)

    def annotators(self) -> Any:
        """Return how far each annotator agrees with the others.

        Returns:
            DataFrame: With one row per annotator; kappa uses the class shares of both sides.
        """
        votes, N, W = self.votes, counts_of(self.votes), self.n_annotators
        task, who, label = votes.votes()
        n = N.sum(axis=1)[task]
        several, weight = n >= 2, np.where(n >= 2, 1 / np.maximum(n - 1, 1), 0.0)
        shared, shape = np.bincount(who[several], minlength=W), (W, votes.n_classes)
        own = csr_array((several.astype(np.float64), (who, label)), shape=shape)
        # the shares of the votes of others on the tasks of each annotator
        everybody = csr_array((weight, (who, task)), shape=(W, votes.n_tasks))
        theirs = everybody @ N - csr_array((weight, (who, label)), shape)
        # of each vote: how many votes on the task are the same
        same = np.repeat(N.data, np.diff(votes.cell_ptr))
        # NaN for annotators who share no task
        with np.errstate(invalid="ignore", divide="ignore"):
            agreed = np.bincount(who, weight * (same - 1), W) / shared
            kappa = 1 - (1 - agreed) / (1 - (own * theirs).sum(axis=1) / shared**2)
        names = votes.annotator_names
        columns = {"annotator": names, "n_shared": shared, "observed": agreed, "kappa": kappa}
        return own_name(make_frame(columns, like=names), votes, 1)

    def pairs(self) -> Any:
        """Return how far pairs of annotators agree that share at least ten tasks.

        If there are very many votes, those who voted most are compared; `notes` says so.

        Returns:
            DataFrame: With one row per pair of annotators.
        """
        names, found = self.votes.annotator_names, self.pairs_found
        columns = {
            "annotator_1": names.take(found.one.astype(np.int32)),
            "annotator_2": names.take(found.other.astype(np.int32)),
            "n_shared": found.shared,
            "observed": found.agreed,
            "kappa": found.excess,
        }
        return make_frame(columns, like=names)


def agreement(
    votes: Annotations, *, level: Level = "nominal", group: Mapping[Any, Any] | None = None
) -> Agreement:
    """Measure how much annotators agree beyond chance; `finegold.agreement` documents it."""
    if level not in get_args(Level):
        raise InputError(f"level must be one of {', '.join(get_args(Level))}, not {level!r}")
    single = single_votes(votes)
    repeats = count_repeats(*single.votes())
    # one vote per annotator and task
    if repeats.pairs:
        names = (single.task_names, single.annotator_names, single.class_names)
        single = Annotations.from_codes(*majority_of_repeats(*single.votes()), *names)
    N, scale = counts_of(single), _scale(single, level)
    weights = None if scale is None else _weights(scale, level)
    pairs, influence, note = annotator_pairs(single, MIN_SHARED_TASKS, weights)
    # of ordered classes, alpha compares mean ranks among all votes on tasks with two votes
    totals = N[N.sum(axis=1) >= 2].sum(axis=0)
    ranks = np.cumsum(totals) - totals / 2 if level == "ordinal" else scale
    fleiss, gwet = kappas(N, weights)
    estimates = {"alpha": alpha(N, ranks), "fleiss": fleiss}
    estimates["ac1" if weights is None else "ac2"] = gwet
    if scale is not None:
        estimates["icc"] = icc(single, scale)
    known = ~np.isnan(pairs.excess)
    if known.any():
        # Light's kappa: pairs of annotators are weighted by the number of shared tasks
        kappa = float(np.average(pairs.excess[known], weights=pairs.shared[known]))
        estimates["cohen"] = Estimate(kappa, influence, int((influence != 0).sum()))
    n = N.sum(axis=1)
    several = n >= 2
    names_of_all = ("alpha", "fleiss", "cohen", "ac1", "ac2", "icc")
    return Agreement(
        level=level,
        **{name: estimates.get(name, UNDEFINED).value for name in names_of_all},
        observed=float(_agreeing(N)[several].mean()) if any(several) else np.nan,
        self_agreement=repeats.agreeing / repeats.pairs if repeats.pairs else np.nan,
        n_tasks=int(several.sum()),
        n_votes=int(n[several].sum()),
        n_annotators=single.n_annotators,
        votes=single,
        estimates=estimates,
        pairs_found=pairs,
        notes=[note] if note else [],
        group=[] if group is None else _groups(single, group),
    )


def _scale(votes: Annotations, level: Level) -> Floats | None:
    """[K] Return the numbers that classes are, or their positions; None if classes are names."""
    classes = to_list(votes.class_names)
    if level == "nominal":
        return None
    if level == "ordinal":
        return np.arange(len(classes), dtype=np.float64)
    try:
        return np.array([float(name) for name in classes])
    except (TypeError, ValueError):
        raise InputError(
            f"level interval needs classes that are numbers, not {classes}; try ordinal"
        ) from None


def _weights(scale: Floats, level: Level) -> Floats:
    """[K, K] Return how far votes for two classes agree."""
    apart = np.abs(scale[:, None] - scale) / max(float(np.ptp(scale)), 1e-300)
    return np.asarray(1 - (apart if level == "ordinal" else apart**2))


def _groups(votes: Annotations, group: Mapping[Any, Any]) -> list[str]:
    """Return the group of each annotator."""
    of_annotator = {text_of(name): text_of(value) for name, value in group.items()}
    names = [text_of(name) for name in to_list(votes.annotator_names)]
    if lost := [name for name in names if name not in of_annotator]:
        raise InputError(f"{len(lost):,} annotators have no group, such as {lost[0]}")
    return [of_annotator[name] for name in names]


def alpha(N: csr_array, scale: Floats | None = None) -> Estimate:
    """Return Krippendorff's alpha, 1 - (V - 1) A / B for V votes on tasks with two votes or more."""
    # A sums the distances between votes on the same task, B the distances between any two votes.
    # The distance between two classes is 1, or (x - x')^2 if they have a scale; such sums follow
    # from the sums of x and x^2.
    n = N.sum(axis=1)
    counted = np.where(n >= 2, 1.0, 0.0)
    totals, n = N.T @ counted, n * counted
    V = n.sum()
    if scale is None:
        within, B = (n**2 - (N * N).sum(axis=1)) * counted, V**2 - np.sum(totals**2)
        from_all = totals.sum() - totals
    else:
        sums = [np.sum(totals * scale**power) for power in range(3)]
        within = 2 * (n * (N @ scale**2) - (N @ scale) ** 2) * counted
        B = 2 * (V * sums[2] - sums[1] ** 2)
        from_all = sums[0] * scale**2 - 2 * scale * sums[1] + sums[2]
    if B <= 0:
        return UNDEFINED
    apart = within / np.maximum(n - 1, 1)
    A, among_all_votes = apart.sum(), 2 * counted * (N @ from_all)
    influence = (A * n + (V - 1) * apart) / B - (V - 1) * A * among_all_votes / B**2
    return Estimate(float(1 - (V - 1) * A / B), influence, int(counted.sum()))


def kappas(N: csr_array, weights: Floats | None = None) -> tuple[Estimate, Estimate]:
    """Return Fleiss' kappa, and Gwet's AC1, or AC2 with weights."""
    n, shares, K = N.sum(axis=1), _shares(N), N.shape[1]
    agreed = _agreeing(N, weights)
    # by chance, two votes drawn from the mean class shares are equal
    toward = shares if weights is None else weights @ shares
    fleiss = _beyond_chance(agreed, n >= 2, float(shares @ toward), 2 * (N @ toward) / n)
    # by chance, annotators guess among K classes, more often if the shares are even
    each = (K if weights is None else float(weights.sum())) / max(K * (K - 1), 1)
    chance = each * float((shares * (1 - shares)).sum())
    return fleiss, _beyond_chance(agreed, n >= 2, chance, each * (N @ (1 - 2 * shares)) / n)


def _beyond_chance(agreed: Floats, several: Flags, chance: float, slope: Floats) -> Estimate:
    """Return (a - c) / (1 - c); `slope` is how much each task moves chance agreement c."""
    if not several.any() or chance >= 1:
        return UNDEFINED
    mean = float(agreed[several].mean())
    value = (mean - chance) / (1 - chance)
    by_agreement = np.where(several, agreed - mean, 0.0) / several.sum()
    by_chance = (slope - slope.mean()) / len(slope)
    influence = (by_agreement - by_chance * (1 - value)) / (1 - chance)
    return Estimate(value, influence, len(agreed))


def icc(votes: Annotations, scale: Floats) -> Estimate:
    """Return ICC(2,1), with the influence of each task by leaving it out."""
    task, who, label = votes.votes()
    y = scale[label] - scale[label].mean()
    T, W = votes.n_tasks, votes.n_annotators
    n_i, s_i = np.bincount(task, minlength=T), np.bincount(task, y, T)
    n_j, s_j = np.bincount(who, minlength=W), np.bincount(who, y, W)
    # of all votes, and what they lose without each task
    left, rest = n_j[who] - 1, s_j[who] - y
    without = rest**2 / np.maximum(left, 1) - s_j[who] ** 2 / n_j[who]
    sums = (
        (len(y), -n_i),
        ((y**2).sum(), -np.bincount(task, y**2, T)),
        ((s_i**2 / n_i).sum(), -(s_i**2) / n_i),
        ((s_j**2 / n_j).sum(), np.bincount(task, without, T)),
        (y.sum(), -s_i),
        ((n_i**2).sum(), -(n_i**2)),
        ((n_j**2).sum(), np.bincount(task, -(2.0 * n_j[who] - 1), T)),
        (T, np.full(T, -1.0)),
        (W, -np.bincount(task, left == 0, T)),
    )
    totals = np.array([[float(total)] for total, _ in sums])
    value = float(_share_of_tasks(totals)[0])
    if not math.isfinite(value) or T < 2:
        return UNDEFINED
    others = _share_of_tasks(totals + np.array([change for _, change in sums]))
    influence = np.nan_to_num((T - 1) / T * (value - others))
    return Estimate(value, influence - influence.mean(), T)


def _share_of_tasks(sums: Floats) -> Floats:
    """Solve for the variances whose expected sums of squares are the observed ones."""
    N, squares, by_task, by_annotator, total, tasks_squared, annotators_squared, T, W = sums
    overall = total**2 / N
    a, b = tasks_squared / N, annotators_squared / N
    # rows: tasks, annotators and all votes, less the mean; columns: the three variances
    rows = np.array([[N - a, T - b, T - 1], [W - a, N - b, W - 1], [N - a, N - b, N - 1]])
    found = np.array([by_task - overall, by_annotator - overall, squares - overall])
    try:
        variances = np.linalg.solve(np.moveaxis(rows, -1, 0), found.T[:, :, None])[:, :, 0]
    except np.linalg.LinAlgError:
        return np.full(len(N), np.nan)
    whole = variances.sum(axis=1)
    return np.where(whole > 0, variances[:, 0] / np.where(whole > 0, whole, 1), np.nan)
