"""FGBCC: means and variances of the scores. Arrays are flat [W L K]."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from finegold.kernels.exponential import exp_buffer
from finegold.kernels.jit import inlined, kernel
from finegold.kernels.lbfgs import (
    MAX_STEP,
    MEMORY,
    descend_along,
    dot,
    is_done,
    line_search_step,
    remember,
    start_line_search,
)

__all__ = ["score_loss", "search_means", "solve_means", "solve_variances"]

Floats = NDArray[np.float64]

RUN = 1024  # exponentials computed at once
MAX_EXPONENT = 700.0  # exp of it is still finite
MAX_NEWTON_STEPS = 100  # two or three are typical
NEWTON_TOLERANCE = 1e-14
MAX_TRIALS = 20  # of a line search


@kernel
def score_loss(
    lam: Floats,
    n: Floats,  # IN expected votes
    rate: Floats,  # IN (N_jk / zeta_jk) exp(eta / 2)
    mu: Floats,  # IN prior means
    sig: Floats,  # IN prior variances
    gradient: Floats,  # OUT
) -> float:
    """Return -F = -sum [n lam - rate exp(lam) - (lam - mu)^2 / (2 sig)], which is minimised."""
    power = np.empty(RUN)
    loss = 0.0
    for first in range(0, lam.size, RUN):
        size = min(RUN, lam.size - first)
        for at in range(size):
            power[at] = min(lam[first + at], MAX_EXPONENT)
        exp_buffer(power, size)
        # One loop stores and another sums: in a loop that does both, the alignment of the arrays decides whether it is
        # vectorised, and so the order of the additions.
        for at in range(size):
            entry = first + at
            gradient[entry] = rate[entry] * power[at] - n[entry] + (lam[entry] - mu[entry]) / sig[entry]
        for at in range(size):
            entry = first + at
            away = lam[entry] - mu[entry]
            loss += rate[entry] * power[at] - n[entry] * lam[entry] + 0.5 * away * away / sig[entry]
    return loss


@kernel
def largest(x: Floats) -> float:
    most = 0.0
    for entry in range(x.size):
        most = max(most, abs(x[entry]))
    return most


@inlined
def copy(values: Floats, to: Floats) -> None:
    for entry in range(values.size):
        to[entry] = values[entry]


@kernel
def search_means(
    n: Floats,
    rate: Floats,
    mu: Floats,
    sig: Floats,
    tolerance: float,  # relative, of the decrease and of the gradient
    most_iterations: int,
    lam: Floats,  # OUT
) -> None:
    """Run L-BFGS-B from mu for all entries together; it may stop before the optimum, as in the paper."""
    copy(mu, lam)
    gradient, before, origin, d = np.empty_like(mu), np.empty_like(mu), np.empty_like(mu), np.empty_like(mu)
    s, y, sy, state = np.empty((MEMORY, mu.size)), np.empty((MEMORY, mu.size)), np.empty(MEMORY), np.empty(14)
    f = score_loss(lam, n, rate, mu, sig, gradient)
    kept, theta, iteration = 0, 1.0, 0
    while largest(gradient) > tolerance:
        descend_along(gradient, s, y, sy, kept, theta, d)
        slope_before, f_before = dot(gradient, d), f
        step = 1.0 if iteration > 0 else min(1.0 / math.sqrt(dot(d, d)), MAX_STEP)
        copy(lam, origin)
        copy(gradient, before)
        start_line_search(f, slope_before, step, state)
        found, slope = False, slope_before
        for _ in range(MAX_TRIALS if slope_before < 0.0 else 0):
            for entry in range(lam.size):
                lam[entry] = origin[entry] + step * d[entry]
            f = score_loss(lam, n, rate, mu, sig, gradient)
            slope = dot(gradient, d)
            found = is_done(step, f, slope, state)
            if found:
                break
            step = line_search_step(step, f, slope, state)
        if not found:  # drop the curvature information; if there is none, give up
            copy(origin, lam)
            copy(before, gradient)
            f = f_before
            if kept == 0:
                return
            kept, theta = 0, 1.0
            continue
        iteration += 1
        if iteration == most_iterations or f_before - f <= tolerance * max(abs(f_before), abs(f), 1.0):
            return
        kept, theta = remember(step, slope, slope_before, d, gradient, before, s, y, sy, kept, theta)


@kernel
def solve_means(
    n: Floats,
    rate: Floats,
    mu: Floats,
    sig: Floats,
    lam: Floats,  # OUT
) -> None:
    """Solve n - rate exp(lam) - (lam - mu) / sig = 0 for every entry, by Newton's method from mu.

    The left side is concave and decreasing: after one step lam is above the root, and then decreases towards it.
    If the root is above mu, then rate exp(lam) < n there, which bounds the first step.
    """
    for entry in range(lam.size):
        value = mu[entry]
        for _ in range(MAX_NEWTON_STEPS):
            expected = rate[entry] * math.exp(min(value, MAX_EXPONENT))
            slope = n[entry] - expected - (value - mu[entry]) / sig[entry]
            step = slope / (expected + 1.0 / sig[entry])
            if step > 1.0:
                step = min(step, max(math.log(n[entry] / rate[entry]) - value, 0.0))
            value += step
            if abs(step) <= NEWTON_TOLERANCE * (1.0 + abs(value)):
                break
        lam[entry] = value


@kernel
def solve_variances(
    rate: Floats,  # IN (N_jk / zeta_jk) exp(lam)
    sig: Floats,  # IN prior variances
    tolerance: float,
    eta: Floats,  # IN/OUT
) -> None:
    """Solve -rate exp(eta/2)/2 - 1/(2 sig) + 1/(2 eta) = 0 for every entry, by Newton's method in log eta."""
    for entry in range(eta.size):
        value = eta[entry]
        for _ in range(MAX_NEWTON_STEPS):
            push = rate[entry] * math.exp(min(0.5 * value, MAX_EXPONENT))
            slope = 0.5 * (1.0 / value - push - 1.0 / sig[entry])
            if abs(slope) <= tolerance:
                break
            curve = -0.25 * push - 0.5 / (value * value)
            value *= math.exp(-slope / (slope + curve * value))
        eta[entry] = value
