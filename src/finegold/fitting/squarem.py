"""SQUAREM: reach the fixed point in fewer sweeps by extrapolation, safeguarded by the bound.

R. Varadhan, C. Roland: Simple and Globally Convergent Methods for Accelerating the Convergence of Any EM Algorithm.
Scandinavian Journal of Statistics 35 (2), 2008. After two plain sweeps x0 -> x1 -> x2, with r = x1 - x0 and
v = (x2 - x1) - r, the next point is x0 - 2 a r + a^2 v with a = -|r| / |v|. A step after which the bound has fallen is
undone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.engines.base import Engine
from finegold.methods.base import Method

__all__ = ["Squarem"]

MAX_CHANGE = 0.1  # of a posterior; extrapolation begins below, since earlier it may lead to another optimum
RELATIVE_TOLERANCE = 1e-10  # of the bound; a smaller decrease counts as rounding
FIRST_MAX_STEP = 4.0  # of |a|; it is doubled when it is reached and halved when a step is undone


class Squarem:
    """Choose the parameters of the next sweep after each sweep."""

    def __init__(self, method: Method, engine: Engine) -> None:
        self.method, self.engine = method, engine
        self.points: list[NDArray[np.float64]] = []
        self.limit = FIRST_MAX_STEP
        self.is_near = False
        self.previous: tuple[Any, Any, float] | None = None  # parameters, state and bound before the last step

    def has_overshot(self, bound: float) -> bool:
        """Return whether the last sweep followed a step that lowered the bound."""
        return self.previous is not None and not bound >= self.previous[2] - RELATIVE_TOLERANCE * abs(bound)

    def undo(self) -> tuple[Any, float]:
        """Restore the posteriors from before the step, and return the parameters and the bound from then."""
        assert self.previous is not None
        parameters, state, bound = self.previous
        self.engine.restore(state)
        self.previous, self.points = None, []
        self.limit = max(self.limit / 2, 1.0)
        return parameters, bound

    def next_parameters(self, parameters: Any, bound: float, change: float) -> Any:
        """Return the parameters for the next sweep: unchanged, or extrapolated after every third sweep."""
        self.previous = None
        self.is_near |= change < MAX_CHANGE
        if not self.is_near:
            return parameters
        self.points.append(self.method.coordinates(parameters))
        if len(self.points) < 3:
            return parameters
        self.previous = (parameters, self.engine.state(), bound)
        return self.method.at(self._extrapolated(), parameters)

    def _extrapolated(self) -> NDArray[np.float64]:
        x0, x1, x2 = self.points
        self.points = []
        r, v = x1 - x0, (x2 - x1) - (x1 - x0)
        length = float(np.linalg.norm(r)) / max(float(np.linalg.norm(v)), 1e-300)
        if length >= self.limit:
            length, self.limit = self.limit, 2 * self.limit
        length = max(length, 1.0)  # 1 is the plain sweep, x2
        extrapolated: NDArray[np.float64] = x0 + 2 * length * r + length**2 * v
        return extrapolated
