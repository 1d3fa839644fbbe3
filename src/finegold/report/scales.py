"""Positions in a chart, and what is written beside its axes."""

from __future__ import annotations

import math


class Scale:
    """Maps values to positions between `start` and `end`, on a line or by powers of ten."""

    def __init__(
        self, low: float, high: float, start: float, end: float, log: bool = False
    ) -> None:
        self.log = log
        first, last = self._place(low), self._place(high)
        self.low, self.high = (first, last) if last > first else (first - 0.5, first + 0.5)
        self.start, self.end = start, end

    def __call__(self, value: float) -> float:
        share = (self._place(value) - self.low) / (self.high - self.low)
        return round(self.start + min(max(share, 0.0), 1.0) * (self.end - self.start), 1)

    def _place(self, value: float) -> float:
        return math.log10(max(value, 1e-300)) if self.log else value

    def ticks(self, most: int = 5) -> list[float]:
        """Return at most about so many round values inside the scale."""
        if not self.log:
            return [round(value, 12) for value in _steps(self.low, self.high, most)]
        # powers of ten, or 1, 2 and 5 times these where there are fewer than two
        first, last = math.floor(self.low), math.ceil(self.high)
        every = max(-(-(last - first) // most), 1)
        for factors in ((1,), (1, 2, 5)):
            values = [n * 10.0**p for p in range(first, last + 1, every) for n in factors]
            inside = [v for v in values if self.low - 1e-9 <= math.log10(v) <= self.high + 1e-9]
            if len(inside) > 1:
                break
        return inside or [10.0**self.low]


def _steps(low: float, high: float, most: int) -> list[float]:
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 2.5, 5, 10) if power * n >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def round_up(value: float, most: int = 4) -> float:
    """Return the smallest end of an axis from 0 whose ticks reach the value."""
    if value <= 0:
        return 1.0
    step = [*_steps(0, value, most), value][1]
    return step * math.ceil(value / step - 1e-9)


def short(value: float) -> str:
    """Format the number of a tick: 0.25, 20, 1,500, 30k."""
    if abs(value) >= 10_000:
        return f"{value / 1000:,.10g}k"
    return f"{value:,.10g}" if abs(value) >= 1e-3 or value == 0 else f"{value:.0e}"
