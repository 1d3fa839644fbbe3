"""What a person who checks some tasks can know about all of them: accuracy, labels to accept, and
calibrated confidences.

The figures are in docs/evidence/trust.md (`bench/trust/certify.py` measures them):

- *Accuracy*: tasks are sorted by confidence and cut into strata of equal uncertainty; the same
  number of tasks is checked in each. The interval is that of Clopper and Pearson for the effective
  number of checks (Korn and Graubard 1998, Survey Methodology 24).
- *Acceptance*: the largest set of most confident labels whose error is at most a wanted risk. Unions
  of strata are tested from small to large until one fails (a fixed sequence, as in Learn then Test).
- *Calibration*: confidences through sigmoid(A + B logit c), with the most probable A and B given
  the checks, A ~ N(0, 1) and B ~ N(1, 1).

Everything here is arrays; `finegold.api.certify` makes sheets and certificates of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from finegold.insight.votes import Flags, Floats, Integers
from finegold.results.data import ResultData
from finegold.results.metrics import exact_interval
from finegold.votes.encoding import MISSING

CERTAINTY = 0.95
N_STRATA = 8
# confidences beyond are not believed when checks are planned
LEAST, MOST = 0.05, 0.95
# what the confidence of a stratum weighs in its variance, in checks
PRIOR_CHECKS = 2.0


class Interval(NamedTuple):
    """A share with its 95 % interval, and the number of checks that it comes from."""

    estimate: float
    low: float
    high: float
    checked: int


class Recalibration(NamedTuple):
    """The map c -> sigmoid(shift + slope logit c)."""

    shift: float
    slope: float

    def apply(self, confidence: Floats) -> Floats:
        """Return the confidences that the checks support."""
        return np.asarray(expit(self.shift + self.slope * _log_odds(confidence)))


def _log_odds(confidence: Floats) -> Floats:
    return np.asarray(logit(np.clip(confidence, 1e-9, 1 - 1e-9)))


def stratify(confidence: Floats, n_strata: int = N_STRATA) -> Integers:
    """[T] Return the stratum of each task: runs of equal sums of sqrt(c (1 - c))."""
    order = np.argsort(confidence, kind="stable")
    c = np.clip(confidence[order], LEAST, MOST)
    uncertainty = np.sqrt(c * (1 - c))
    middle = np.cumsum(uncertainty) - uncertainty / 2
    stratum = np.empty(len(order), np.int64)
    stratum[order] = np.minimum(n_strata * middle / uncertainty.sum(), n_strata - 1)
    # without strata that are empty
    return np.unique(stratum, return_inverse=True)[1].astype(np.int64)


def allocate(sizes: Integers, n: int) -> Integers:
    """Return the checks in each stratum: the same in all, as far as there are so many tasks."""
    checks = np.zeros(len(sizes), np.int64)
    left = min(n, int(sizes.sum()))
    while left:
        free = np.flatnonzero(checks < sizes)
        share = max(left // len(free), 1)
        for stratum in free[::-1][: left if share == 1 else None]:
            more = min(share, int(sizes[stratum] - checks[stratum]), left)
            checks[stratum] += more
            left -= more
    return checks


def accuracy_interval(
    sizes: Integers, checks: Integers, right: Floats, confidence: Floats, alpha: float = 0.05
) -> Interval:
    """Return the share of right labels among all tasks."""
    # For each stratum [H]: its tasks, those checked, those whose label is right, and its mean
    # confidence.
    used = checks > 0
    weight = sizes[used] / sizes[used].sum()
    n, k = checks[used].astype(float), right[used].astype(float)
    estimate, total = float(weight @ (k / n)), int(n.sum())
    smooth = (k + PRIOR_CHECKS * np.clip(confidence[used], LEAST, MOST)) / (n + PRIOR_CHECKS)
    # a stratum that is checked completely has no error
    open_ = n < sizes[used]
    variance = float((weight**2 * smooth * (1 - smooth) / n)[open_].sum())
    if variance == 0.0:
        return Interval(estimate, estimate, estimate, total)
    mean = float(weight @ smooth)
    return _exact(estimate, mean * (1 - mean) / variance, total, alpha)


def _exact(estimate: float, effective: float, checked: int, alpha: float) -> Interval:
    """Return the exact interval of as many checks as these are worth."""
    low, high = map(float, exact_interval(estimate * effective, effective, alpha))
    return Interval(estimate, min(low, estimate), max(high, estimate), checked)


def expected_width(confidence: Floats, n: int, alpha: float = 0.05) -> float:
    """Return the width that an interval from n checks would have if the confidences were right."""
    stratum = stratify(confidence, strata_for(n))
    sizes = np.bincount(stratum)
    mean, checks = np.bincount(stratum, confidence) / sizes, allocate(sizes, n)
    right = np.clip(mean, LEAST, MOST) * checks
    found = accuracy_interval(sizes, checks, right, mean, alpha)
    return found.high - found.low


def strata_for(n: int) -> int:
    """Return the number of strata for n checks: each has at least two."""
    return max(min(N_STRATA, n // 2), 1)


def fewest_checks(risk: float, certainty: float = CERTAINTY) -> int:
    """Return the number of checks below which nothing can be accepted: 59 at 5 %."""
    return int(np.ceil(np.log(1 - certainty) / np.log1p(-risk)))


def by_confidence(confidence: Floats) -> Integers:
    """Return the tasks in order of falling confidence; ties as in `stratify`, reversed."""
    return np.argsort(confidence, kind="stable")[::-1]


def recalibrate(confidence: Floats, right: Floats) -> Recalibration:
    """Return the most probable shift and slope, with A ~ N(0, 1) and B ~ N(1, 1)."""
    # importing it takes a quarter of a second
    from scipy.optimize import minimize

    x = np.column_stack([np.ones(len(confidence)), _log_odds(confidence)])
    prior = np.array([0.0, 1.0])

    def loss(at: Floats) -> float:
        off = at - prior
        return float(np.logaddexp(0.0, x @ at).sum() - right @ x @ at + off @ off / 2)

    def gradient(at: Floats) -> Floats:
        return np.asarray(x.T @ (expit(x @ at) - right) + at - prior)

    found = minimize(loss, prior, jac=gradient, method="BFGS", tol=1e-8)
    return Recalibration(*map(float, found.x))


def recalibrated(result: ResultData, mapping: Recalibration) -> ResultData:
    """Return the same labels with these confidences; other classes share what is left."""

    def apply(posterior: Floats, label: Integers) -> Floats:
        before = np.take_along_axis(posterior, label[:, None], axis=1).astype(np.float64)
        after = mapping.apply(before)
        shared = (1 - after) / max(posterior.shape[1] - 1, 1)
        scaled = posterior * (1 - after) / np.maximum(1 - before, 1e-300)
        rows: Floats = np.where(before < 1, scaled, shared)
        np.put_along_axis(rows, label[:, None], after, axis=1)
        return rows

    posterior, combined = result.posterior.copy(), result.combined
    tasks = np.flatnonzero(result.gold == MISSING)
    posterior[tasks] = apply(posterior[tasks], result.label_codes[tasks].astype(np.int64))
    if combined is not None:
        others = combined.posterior
        combined = replace(combined, posterior=apply(others, others.argmax(axis=1)))
    return replace(result, posterior=posterior, combined=combined)


def accepted_strata(
    sizes: Integers,
    stratum: Integers,
    wrong: Flags,
    confidence: Floats,
    risk: float,
    alpha: float = 0.05,
) -> int:
    """Return how many of the most confident tasks are accepted; the last stratum is surest."""
    # Unions of strata are tested, growing by a stratum, until the upper limit of their share of
    # wrong labels exceeds the risk. The first has half of the tasks and as many checks as an exact
    # test needs at least.
    checks = np.bincount(stratum, minlength=len(sizes))
    errors = np.bincount(stratum[wrong], minlength=len(sizes)).astype(float)
    share, checked = np.cumsum(sizes[::-1])[::-1] / sizes.sum(), np.cumsum(checks[::-1])[::-1]
    large = np.flatnonzero((share >= 0.5) & (checked >= fewest_checks(risk, 1 - alpha)))
    accepted = 0
    for least in large[::-1].tolist():
        top = slice(least, None)
        right = checks[top] - errors[top]
        found = accuracy_interval(sizes[top], checks[top], right, confidence[top], 2 * alpha)
        if 1 - found.low > risk:
            break
        accepted = int(sizes[top].sum())
    return accepted


def weighted_interval(weight: Floats, right: Flags, alpha: float = 0.05) -> Interval:
    """Return the share of right labels among a part of the tasks, from checks with weights."""
    effective = float(weight.sum() ** 2 / (weight**2).sum())
    return _exact(float(weight @ right / weight.sum()), effective, len(right), alpha)


def calibration_error(confidence: Floats, right: Flags, weight: Floats, bins: int = 5) -> float:
    """Return the mean distance of confidence and accuracy over groups of equal weight."""
    order = np.argsort(confidence, kind="stable")
    w = weight[order] / weight.sum()
    group = np.minimum((bins * (np.cumsum(w) - w / 2)).astype(np.int64), bins - 1)
    gaps = np.bincount(group, w * (right[order] - confidence[order]), minlength=bins)
    return float(np.abs(gaps).sum())
