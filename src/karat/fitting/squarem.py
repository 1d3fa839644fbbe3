"""Fewer sweeps: SQUAREM, a fixed point taken in longer strides, with the bound as guard.

R. Varadhan, C. Roland: Simple and Globally Convergent Methods for Accelerating the Convergence of Any EM Algorithm.
Scandinavian Journal of Statistics 35 (2), 2008. After two plain sweeps x0 -> x1 -> x2, with r = x1 - x0 and
v = (x2 - x1) - r, the next point is x0 - 2 a r + a^2 v with a = -|r| / |v|. A stride after which the bound has
fallen is taken back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.engines.base import Engine
from karat.methods.base import Method

__all__ = ["Squarem"]

NEAR = 0.1  # strides begin when no posterior moves by more: a long one from afar may end in another optimum
ROUNDING = 1e-10  # a bound that is lower by less has not fallen
FIRST_LIMIT = 4.0  # of |a|; doubled when reached without harm, halved after a stride that was taken back


class Squarem:
    """Decides, after each sweep, which parameters the next one uses."""

    def __init__(self, method: Method, engine: Engine) -> None:
        self.method, self.engine = method, engine
        self.points: list[NDArray[np.float64]] = []
        self.limit = FIRST_LIMIT
        self.near = False
        self.safe: tuple[Any, Any, float] | None = None  # parameters, state and bound before a stride

    def too_long(self, bound: float) -> bool:
        """Whether the last sweep followed a stride that lowered the bound."""
        return self.safe is not None and not bound >= self.safe[2] - ROUNDING * abs(bound)

    def take_back(self) -> tuple[Any, float]:
        """-> parameters and bound as they were before the stride; posteriors are restored."""
        assert self.safe is not None
        parameters, state, bound = self.safe
        self.engine.restore(state)
        self.safe, self.points = None, []
        self.limit = max(self.limit / 2, 1.0)
        return parameters, bound

    def onward(self, parameters: Any, bound: float, change: float) -> Any:
        """-> parameters for the next sweep: as they are, or a stride further after every third."""
        self.safe = None
        self.near |= change < NEAR
        if not self.near:
            return parameters
        self.points.append(self.method.coordinates(parameters))
        if len(self.points) < 3:
            return parameters
        self.safe = (parameters, self.engine.state(), bound)
        return self.method.at(self._stride(), parameters)

    def _stride(self) -> NDArray[np.float64]:
        x0, x1, x2 = self.points
        self.points = []
        r, v = x1 - x0, (x2 - x1) - (x1 - x0)
        length = float(np.linalg.norm(r)) / max(float(np.linalg.norm(v)), 1e-300)
        if length >= self.limit:
            length, self.limit = self.limit, 2 * self.limit
        length = max(length, 1.0)  # 1 is the plain sweep, x2
        stride: NDArray[np.float64] = x0 + 2 * length * r + length**2 * v
        return stride
