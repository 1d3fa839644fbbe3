"""Methods as the programs that the PTBCC paper compares have them, where Finegold's differ.

Y. Zheng, G. Li, Y. Li, C. Shan, R. Cheng: Truth Inference in Crowdsourcing: Is the Problem Solved?
PVLDB 10 (5), 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import finegold
from finegold.methods import glad
from finegold.methods.base import Floats
from finegold.methods.common import ballots, set_posterior

Numbers = NDArray[np.uint64]
NORMAL_QUANTILE = 1.95996
# Two decimals, with a misprint for two degrees of freedom (.0506 is correct).
PRINTED = np.array(
    (
        *(0.001, 0.02, 0.22, 0.48, 0.83, 1.24, 1.69, 2.18, 2.7, 3.25),
        *(3.82, 4.4, 5.01, 5.63, 6.27, 6.91, 7.56, 8.23, 8.91, 9.59),
        *(10.28, 10.98, 11.69, 12.4, 13.12, 13.84, 14.57, 15.31, 16.05, 16.79),
    )
)


@dataclass(kw_only=True)
class CATD(finegold.CATD):
    """CATD with random ties, and with chi-square from a printed table."""

    random_start: ClassVar[bool] = True  # type: ignore[misc]

    def start(self, block: Any, restart: int) -> Any:
        block.state["iteration"] = np.zeros(1, np.uint64)
        return super().start(block, restart)

    def vote(self, block: Any, q: Floats) -> Any:
        sums = super().vote(block, q)
        block.state["iteration"] += np.uint64(1)
        return sums._replace(change=1.0) if block.state["tied"].any() else sums

    def winners(self, block: Any, wins: NDArray[np.bool_]) -> NDArray[np.bool_]:
        n = wins.sum(axis=1)
        iteration = block.state["iteration"][0]
        chosen = draw(self.seed, iteration, block.votes.task_ptr[:-1], n)
        block.state["tied"] = (n > 1) & (block.gold < 0)
        return wins & (wins.cumsum(axis=1) == chosen[:, None] + 1)

    def chi_square(self, votes: Floats) -> Floats:
        """[W] Return c_j from the table (up to 30 votes) and Fisher's approximation (above)."""
        fisher = 0.5 * (np.sqrt(2 * votes - 1) - NORMAL_QUANTILE) ** 2
        few = np.minimum(votes, len(PRINTED)).astype(int)
        return np.where(votes > len(PRINTED), fisher, PRINTED[few - 1])


def draw(seed: int, iteration: Any, task: Numbers, n: NDArray[np.int64]) -> Numbers:
    """[T] Return random numbers below n that depend on seed, iteration and task only."""
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        key = _mix(np.array([seed % 2**64], np.uint64) + golden)
        key = _mix(key + np.uint64(iteration) * golden)
        return _mix(key + task * golden) % n.astype(np.uint64)


def _mix(x: Numbers) -> Numbers:
    """Hash integers with the finaliser of SplitMix64 (Steele, Lea, Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@dataclass(kw_only=True)
class GLAD(finegold.GLAD):
    """GLAD by EM and without priors, stopped early, with the labels from before the last M step.

    The last digits of sums decide where it stops, so up to 1 % of the labels depend on the kind of
    processor.
    """

    def sweep(self, block: Any, parameters: Any) -> Any:
        """Run the E step, then the M step; once Q has converged, nothing moves."""
        if len(block.state.get("q", ())) > 1 and self._has_converged(*block.state["q"][-2:]):
            return parameters._replace(change=0.0)
        votes = ballots(block)
        x = glad.certainty(votes, parameters.alpha, parameters.beta)
        change = set_posterior(block, glad.posteriors(block, votes, x))
        state = self.maximise(block, votes, parameters, change)
        q = block.state.get("q", np.array([parameters.q]))
        block.state["q"] = np.append(q, state.q)
        return state

    def log_posterior(
        self, block: Any, votes: Any, alpha: Floats, beta: Floats
    ) -> tuple[float, Floats]:
        """Return Q at the posteriors of the E step, without its constants, and its gradient."""
        x = glad.certainty(votes, alpha, beta)
        q, by_alpha, by_beta = glad.slope(votes, x, block.posterior, beta)
        return q, np.concatenate([by_alpha, by_beta])

    def search(self, loss: Any, start: Floats, lowest: Floats) -> Any:
        from scipy.optimize import minimize

        options = {"gtol": 0.01, "maxiter": 25}
        return minimize(loss, start, method="CG", jac=True, options=options)

    def converged(self, steps: Any) -> bool:
        return len(steps) > 1 and self._has_converged(steps[-2].objective, steps[-1].objective)

    def _has_converged(self, last: float, q: float) -> bool:
        return abs(q - last) < self.tolerance * abs(last)
