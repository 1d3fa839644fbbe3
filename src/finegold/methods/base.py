"""The interface of a method: a few short functions around additive statistics.

`fitting.solve` runs the loop and an engine holds the blocks; a method only defines what happens on
each block.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from finegold.engines.base import Block
from finegold.errors import InputError
from finegold.results.data import Learned, Step
from finegold.votes.annotations import Annotations


class Range(NamedTuple):
    """A range of finite numbers; `words` describes it."""

    words: str
    low: float
    high: float
    whole: bool = False

    def __contains__(self, value: object) -> bool:
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        number = float(value)
        return self.low <= number <= self.high and (not self.whole or number.is_integer())

    def __str__(self) -> str:
        whole = ", a whole number" if self.whole else ""
        return f"{self.words}{whole} from {self.low:g} to {self.high:g}"


# Above a million or below a millionth, sums lose the votes to rounding, and functions such as
# digamma overflow.
POSITIVE = Range("positive", 1e-6, 1e6)
SHARE = Range("between 0 and 1", 1e-6, 1 - 1e-6)
COUNT = Range("at least 1", 1, 1e6, whole=True)
ITERATIONS = Range("at least 1", 1, 1e9, whole=True)
SEED = Range("at least 0", 0, 2.0**63, whole=True)
TOLERANCE = Range("at least 0", 0, 1e300)

Allowed = Range | tuple[str, ...]
Floats = NDArray[np.float64]


def setting(default: Any, allowed: Allowed) -> Any:
    """Declare a setting of a method: its default and its allowed values, a range or words."""
    return field(default=default, metadata={"allowed": allowed})


@dataclass(kw_only=True)
class Method(ABC):
    """Base class of all methods, also of your own.

    Write a subclass as a dataclass: its fields are the settings, and it keeps nothing of a fit. It
    must define `name`, `start`, `sweep` and `learned`, and usually `expect`. `examples/one_coin.py` is
    a complete method. Make it known with `finegold.register` or with an entry point of the group
    `finegold.methods`.

    `start` and `sweep` see one block of tasks at a time: they write `block.posterior` and return a
    named tuple of sums over the block's tasks. Its field `change` is the largest change of a
    posterior. `begin` and `expect` get these sums over all blocks, the `statistics`, and return the
    `parameters` of the next sweep, another named tuple. So the method runs on any number of threads
    and on a cluster, and with known truths (`block.gold`).

    Args:
        tolerance: Stop when no posterior has changed by this much in a sweep.
        max_iterations: Stop after this many sweeps.
        seed: Seed of the random numbers, for methods that draw some.

    Attributes:
        tolerance, max_iterations, seed: The settings that every method has.
        earlier: The counts of an earlier run that `with_prior` set.
        name: The name of the method, as in `finegold.aggregate(votes, "name")`. Required.
        takes_gold: Whether known truths (`block.gold`) are kept and learned from.
        has_objective: Whether `objective` returns something that never falls from sweep to sweep.
        divisible: Whether blocks of tasks can be processed one by one, on other machines as well.
        takes_prior: Whether it adds the counts of an earlier run, `earlier` of shape [annotator,
            vote, truth], to its own.
        fixed_passes: Whether the number of sweeps is part of the method, so that "converged" would
            say nothing.
        random_start: Whether the result depends on the seed.
        n_restarts: How often the fit starts anew; the highest objective wins.
        order: With K classes, it keeps K^order numbers per annotator, or next to none if 0: a fit
            that cannot fit into memory is refused.
        learned_per_task: Names of arrays in `block.state` that a result keeps, with a number per
            task.

    Examples:
        >>> import finegold
        >>> finegold.PTBCC(tolerance=1e-4).settings["tolerance"]
        0.0001
    """

    name: ClassVar[str]
    takes_gold: ClassVar[bool] = True
    has_objective: ClassVar[bool] = False
    divisible: ClassVar[bool] = True
    takes_prior: ClassVar[bool] = False
    fixed_passes: ClassVar[bool] = False
    order: ClassVar[int] = 0
    learned_per_task: ClassVar[tuple[str, ...]] = ()
    random_start = False
    n_restarts = 1

    tolerance: float = setting(1e-3, TOLERANCE)
    max_iterations: int = setting(500, ITERATIONS)
    seed: int = setting(0, SEED)
    earlier: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, allowed in self.limits().items():
            value = getattr(self, name)
            if value not in allowed:
                words: object = allowed
                if not isinstance(allowed, Range):
                    words = " or ".join(f'"{text}"' for text in allowed)
                raise InputError(f"{name} must be {words}, not {value!r}")

    @property
    def settings(self) -> dict[str, Any]:
        """The settings and their values."""
        return {name: getattr(self, name) for name in self.defaults()}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The settings and their default values."""
        return {setting.name: setting.default for setting in fields(cls) if setting.init}

    @classmethod
    def limits(cls) -> dict[str, Allowed]:
        """The settings that have limits, and their allowed values."""
        # a subclass that changes a default keeps the limits of its parent
        return {
            each.name: each.metadata["allowed"]
            for base in reversed(cls.__mro__)
            if is_dataclass(base)
            for each in fields(base)
            if "allowed" in each.metadata
        }

    def n_parameters(self, annotations: Annotations) -> int:
        """Return how many numbers a fit stores at least, besides votes and posterior."""
        size = annotations.n_annotators * annotations.n_classes**self.order
        return 3 * size if self.order else 0

    @abstractmethod
    def start(self, block: Block, restart: int) -> Any:
        """Write the first posterior of the tasks of a block; return their statistics."""

    def begin(self, statistics: Any) -> Any:
        """Return the parameters of the first sweep: by default, as for the others."""
        return self.expect(statistics, None)

    @abstractmethod
    def sweep(self, block: Block, parameters: Any) -> Any:
        """Write the new posterior of the tasks of a block; return their statistics."""

    def expect(self, statistics: Any, before: Any) -> Any:
        """Return the parameters of the next sweep; `before` are those of the last one. By default,
        they are the statistics.
        """
        return statistics

    def objective(self, parameters: Any, statistics: Any) -> float:
        """Return what the method maximises, at the parameters of a sweep and the statistics that it
        returned; NaN if there is no such thing.
        """
        return math.nan

    def converged(self, steps: list[Step]) -> bool:
        """Return whether the fit ends after these sweeps: by default, whether no posterior changed
        by `tolerance` in the last one.
        """
        return steps[-1].largest_change < self.tolerance

    @abstractmethod
    def learned(self, parameters: Any) -> Learned:
        """Return what a result keeps besides the labels: class shares, confusion matrices, and
        `statistics` under the names of the docstring.
        """

    def with_prior(self, earlier: Any) -> Self:
        """Return a copy of the method that adds the counts [annotator, vote, truth] of an earlier
        run to its own.
        """
        informed = copy.copy(self)
        informed.earlier = earlier
        return informed
