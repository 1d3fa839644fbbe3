"""FGBCC: means lam and variances eta of the scores. Arrays are flat [W L K].

n are expected votes, rate is (N_jk / zeta_jk) exp(eta / 2), mu and sig are the prior means and
variances.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from finegold.kernels import Floats
from finegold.kernels.jit import kernel
from finegold.kernels.numerics import add_row, dot_row, exp_buffer

# number of pairs of steps and gradient changes
MEMORY = 10
# conditions for the end of a line search
DECREASE, CURVATURE, INTERVAL = 1e-3, 0.9, 0.1
MAX_STEP = 1e10
EPSILON = 2.220446049250313e-16

# Indices of the state that a line search keeps between evaluations.
STX, FX, GX, STY, FY, GY, LOW, HIGH, WIDTH, WIDTH_BEFORE, BRACKETED, STAGE, F0, G0 = range(14)


@kernel
def dot(x: Floats, y: Floats) -> float:
    total = 0.0
    for i in range(x.size):
        total += x[i] * y[i]
    return total


@kernel
def is_done(step: float, f: float, slope: float, state: Floats) -> Any:
    """Return whether the decrease and the slope are sufficient, or no other step is possible."""
    test = DECREASE * state[G0]
    low_enough = f <= state[F0] + step * test
    if state[STAGE] == 1.0 and low_enough and slope >= DECREASE * state[G0]:
        state[STAGE] = 2.0
    if state[BRACKETED] > 0.0:
        if step <= state[LOW] or step >= state[HIGH]:
            return True
        if state[HIGH] - state[LOW] <= INTERVAL * state[HIGH]:
            return True
    if step == MAX_STEP and low_enough and slope <= test:
        return True
    return low_enough and abs(slope) <= CURVATURE * -state[G0]


@kernel
def line_search_step(step: float, f: float, slope: float, state: Floats) -> float:
    """Narrow the interval around a good step. Return the next step to try."""
    test = DECREASE * state[G0]
    if state[STAGE] == 1.0 and f <= state[FX] and f > state[F0] + step * test:
        tilt(state, test, -1.0)
        step = narrow(step, f - step * test, slope - test, state)
        tilt(state, test, 1.0)
    else:
        step = narrow(step, f, slope, state)
    stx, sty = state[STX], state[STY]
    if state[BRACKETED] > 0.0:
        if abs(sty - stx) >= 0.66 * state[WIDTH_BEFORE]:
            step = stx + 0.5 * (sty - stx)
        state[WIDTH_BEFORE], state[WIDTH] = state[WIDTH], abs(sty - stx)
        state[LOW], state[HIGH] = min(stx, sty), max(stx, sty)
    else:
        state[LOW], state[HIGH] = step + 1.1 * (step - stx), step + 4.0 * (step - stx)
    step = min(max(step, 0.0), MAX_STEP)
    if state[BRACKETED] > 0.0 and (
        step <= state[LOW]
        or step >= state[HIGH]
        or state[HIGH] - state[LOW] <= INTERVAL * state[HIGH]
    ):
        step = stx
    return step


@kernel
def tilt(state: Floats, test: float, sign: float) -> None:
    """Add the line of sufficient decrease to both ends of the interval, or subtract it."""
    state[FX] += sign * state[STX] * test
    state[FY] += sign * state[STY] * test
    state[GX] += sign * test
    state[GY] += sign * test


@kernel
def narrow(step: float, f: float, slope: float, state: Floats) -> Any:
    """Compute Moré and Thuente's trial step from cubic and quadratic interpolation; stx stays the
    best end.
    """
    next_step = trial(step, f, slope, state)
    if f > state[FX]:
        state[STY], state[FY], state[GY] = step, f, slope
    else:
        if slope * math.copysign(1.0, state[GX]) < 0.0:
            state[STY], state[FY], state[GY] = state[STX], state[FX], state[GX]
        state[STX], state[FX], state[GX] = step, f, slope
    return next_step


@kernel
def trial(step: float, f: float, slope: float, state: Floats) -> Any:
    stx, fx, gx = state[STX], state[FX], state[GX]
    # a higher value: the minimum is in between
    if f > fx:
        state[BRACKETED] = 1.0
        cubic = stx + cubic_share(stx, fx, gx, step, f, slope) * (step - stx)
        quadratic = stx + ((gx / ((fx - f) / (step - stx) + gx)) / 2.0) * (step - stx)
        return (
            cubic if abs(cubic - stx) < abs(quadratic - stx) else cubic + (quadratic - cubic) / 2.0
        )
    # a slope of the other sign: the minimum is in between
    if slope * math.copysign(1.0, gx) < 0.0:
        state[BRACKETED] = 1.0
        cubic = step + cubic_share(step, f, slope, stx, fx, gx) * (stx - step)
        secant = step + (slope / (slope - gx)) * (stx - step)
        return cubic if abs(cubic - step) > abs(secant - step) else secant
    # a flatter slope: the minimum is beyond
    if abs(slope) < abs(gx):
        theta = 3.0 * (fx - f) / (step - stx) + gx + slope
        s = max(abs(theta), abs(gx), abs(slope))
        gamma = s * math.sqrt(max(0.0, (theta / s) ** 2 - (gx / s) * (slope / s)))
        gamma = -gamma if step > stx else gamma
        share = ((gamma - slope) + theta) / ((gamma + (gx - slope)) + gamma)
        cubic = state[HIGH] if step > stx else state[LOW]
        if share < 0.0 and gamma != 0.0:
            cubic = step + share * (stx - step)
        secant = step + (slope / (slope - gx)) * (stx - step)
        if state[BRACKETED] > 0.0:
            best = cubic if abs(cubic - step) < abs(secant - step) else secant
            limit = step + 0.66 * (state[STY] - step)
            return min(limit, best) if step > stx else max(limit, best)
        best = cubic if abs(cubic - step) > abs(secant - step) else secant
        return min(max(best, state[LOW]), state[HIGH])
    if state[BRACKETED] > 0.0:
        sty, fy, gy = state[STY], state[FY], state[GY]
        return step + cubic_share(step, f, slope, sty, fy, gy) * (sty - step)
    return state[HIGH] if step > stx else state[LOW]


@kernel
def cubic_share(a: float, fa: float, ga: float, b: float, fb: float, gb: float) -> Any:
    """Return the position of the cubic's minimum between a (0) and b (1)."""
    theta = 3.0 * (fa - fb) / (b - a) + ga + gb
    s = max(abs(theta), abs(ga), abs(gb))
    gamma = s * math.sqrt((theta / s) ** 2 - (ga / s) * (gb / s))
    gamma = -gamma if b < a else gamma
    return ((gamma - ga) + theta) / (((gamma - ga) + gamma) + gb)


# exponentials computed at once
RUN = 1024
# exp of it is still finite
MAX_EXPONENT = 700.0
# two or three are typical
MAX_NEWTON_STEPS = 100
NEWTON_TOLERANCE = 1e-14
# of a line search
MAX_TRIALS = 20


@kernel
def score_loss(
    lam: Floats, n: Floats, rate: Floats, mu: Floats, sig: Floats, gradient: Floats
) -> float:
    """Return -F = -sum [n lam - rate exp(lam) - (lam - mu)^2 / (2 sig)], which is minimised, and
    write its gradient.
    """
    power = np.empty(RUN)
    loss = 0.0
    for first in range(0, lam.size, RUN):
        size = min(RUN, lam.size - first)
        for at in range(size):
            power[at] = min(lam[first + at], MAX_EXPONENT)
        exp_buffer(power, size)
        # One loop stores and another sums: in a loop that does both, the alignment of the arrays
        # decides whether it is vectorised, and so the order of the additions.
        for at in range(size):
            entry = first + at
            gradient[entry] = (
                rate[entry] * power[at] - n[entry] + (lam[entry] - mu[entry]) / sig[entry]
            )
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


@kernel
def search_means(
    n: Floats,
    rate: Floats,
    mu: Floats,
    sig: Floats,
    tolerance: float,
    most_iterations: int,
    lam: Floats,
) -> None:
    """Run L-BFGS-B from mu for all entries of lam together; it may stop before the optimum, as in
    the paper.
    """
    # The tolerance is relative, for the decrease and for the gradient.
    lam[:] = mu
    gradient, before, origin, d = (
        np.empty_like(mu),
        np.empty_like(mu),
        np.empty_like(mu),
        np.empty_like(mu),
    )
    s, y, sy, state = (
        np.empty((MEMORY, mu.size)),
        np.empty((MEMORY, mu.size)),
        np.empty(MEMORY),
        np.empty(14),
    )
    share, f = np.empty(MEMORY), score_loss(lam, n, rate, mu, sig, gradient)
    kept, theta, iteration = 0, 1.0, 0
    while largest(gradient) > tolerance:
        # d = -H gradient, with H from the last pairs (a ring buffer) and H0 = I / theta
        for entry in range(d.size):
            d[entry] = -gradient[entry]
        oldest = max(kept - MEMORY, 0)
        for pair in range(kept - 1, oldest - 1, -1):
            k = pair % MEMORY
            share[k] = dot_row(d, s, k) / sy[k]
            add_row(-share[k], y, k, d)
        for entry in range(d.size):
            d[entry] /= theta
        for pair in range(oldest, kept):
            k = pair % MEMORY
            add_row(share[k] - dot_row(d, y, k) / sy[k], s, k, d)
        slope_before, f_before = dot(gradient, d), f
        step = 1.0 if iteration > 0 else min(1.0 / math.sqrt(dot(d, d)), MAX_STEP)
        origin[:], before[:] = lam, gradient
        state[:] = 0.0
        state[FX] = state[FY] = state[F0] = f
        state[GX] = state[GY] = state[G0] = slope_before
        state[HIGH], state[STAGE] = 5.0 * step, 1.0
        state[WIDTH], state[WIDTH_BEFORE] = MAX_STEP, 2.0 * MAX_STEP
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
        # drop the curvature information; if there is none, give up
        if not found:
            lam[:], gradient[:], f = origin, before, f_before
            if kept == 0:
                return
            kept, theta = 0, 1.0
            continue
        iteration += 1
        if iteration == most_iterations or f_before - f <= tolerance * max(
            abs(f_before), abs(f), 1.0
        ):
            return
        change = (slope - slope_before) * step
        # a positive curvature: store the step and the change of slopes
        if change > EPSILON * -slope_before * step:
            k = kept % MEMORY
            for entry in range(d.size):
                s[k, entry] = step * d[entry]
                y[k, entry] = gradient[entry] - before[entry]
            sy[k] = change
            kept, theta = kept + 1, dot_row(y[k], y, k) / change


@kernel
def solve_means(n: Floats, rate: Floats, mu: Floats, sig: Floats, lam: Floats) -> None:
    """Solve n - rate exp(lam) - (lam - mu) / sig = 0 for every entry, by Newton's method from mu."""
    # The left side is concave and decreasing: after one step lam is above the root, and then
    # decreases towards it. If the root is above mu, then rate exp(lam) < n there, which bounds the
    # first step.
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
def solve_variances(rate: Floats, sig: Floats, tolerance: float, eta: Floats) -> None:
    """Solve -rate exp(eta/2)/2 - 1/(2 sig) + 1/(2 eta) = 0 for every entry, by Newton's method in
    log eta.
    """
    # Here the rate is (N_jk / zeta_jk) exp(lam).
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
