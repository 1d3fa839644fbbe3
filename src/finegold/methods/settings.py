"""Check the values of a method's settings."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

from finegold.errors import InputError

__all__ = ["COUNT", "ITERATIONS", "POSITIVE", "SEED", "SHARE", "TOLERANCE", "Allowed", "Range", "check_settings"]


class Range(NamedTuple):
    """A range of finite numbers; `words` describes it."""

    words: str
    low: float
    high: float
    whole: bool = False

    def __contains__(self, value: object) -> bool:
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        return is_number and self.low <= value <= self.high and (not self.whole or value == int(value))  # type: ignore[operator,call-overload]

    def __str__(self) -> str:
        return f"{self.words}{', a whole number' if self.whole else ''} from {self.low:g} to {self.high:g}"


# Above a million or below a millionth, sums lose the votes to rounding, and functions such as digamma overflow.
POSITIVE = Range("positive", 1e-6, 1e6)
SHARE = Range("between 0 and 1", 1e-6, 1 - 1e-6)
COUNT = Range("at least 1", 1, 1e6, whole=True)
ITERATIONS = Range("at least 1", 1, 1e9, whole=True)
SEED = Range("at least 0", 0, 2.0**63, whole=True)
TOLERANCE = Range("at least 0", 0, 1e300)

Allowed = Range | tuple[str, ...]


def check_settings(settings: Mapping[str, Any], defaults: Mapping[str, Any], limits: Mapping[str, Allowed]) -> None:
    """Raise an error if a value is not allowed. With a default of None, the method chooses the value itself."""
    for name, allowed in limits.items():
        value = settings[name]
        if not (value is None and defaults[name] is None) and value not in allowed:
            expected = " or ".join(f'"{one}"' for one in allowed) if not isinstance(allowed, Range) else str(allowed)
            raise InputError(f"{name} must be {expected}, not {value!r}")
