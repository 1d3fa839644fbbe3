"""The contract of a method: a few short functions around additive statistics.

    start(block, restart)          first posteriors of the block's tasks, and their statistics
    begin(statistics)              priors and first parameters, from the sum over all blocks
    sweep(block, parameters)       new posteriors of the block, and their statistics
    expect(statistics, before)     parameters for the next sweep, from the sum over all blocks
    advance(engine, ...)           the same for the few methods whose update needs further passes over the votes
    bound(parameters, statistics)  what the method maximises, if it maximises something
    learned(parameters)            what it has learned of classes and annotators
    sufficient_statistics(result)  the sums that a result was made from, so that new votes can be folded in
    with_prior(earlier)            the method with what an earlier run knew of annotators (karat.fitting.prior)

`fitting.solve` has the loop and an engine has the blocks; a method only says what happens on each.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from karat.engines.base import Engine
from karat.engines.blocks import Block
from karat.errors import InputError
from karat.methods.settings import ITERATIONS, SEED, TOLERANCE, Allowed, check_settings
from karat.results.data import Learned, ResultData, Step
from karat.votes.annotations import Annotations

__all__ = ["Learned", "Method", "Step", "SufficientStatistics", "start_from_shares"]

Floats = NDArray[np.float64]
PUBLIC = ("defaults", "name", "settings")  # of a method's attributes, those that users need


class SufficientStatistics(NamedTuple):
    """What a fit ended with; sums are over all of its tasks."""

    first: Any  # sums of `start`
    statistics: Any  # sums of the last sweep
    parameters: Any


@dataclass(kw_only=True)
class Method(ABC):
    """Base class of all methods, also of your own.

    Write a subclass as a dataclass: its fields are the settings, and it keeps nothing of a fit. It must define `name`,
    `start`, `begin`, `sweep`, `expect` and `learned`. `examples/one_coin.py` is a complete method. Make it
    known with `karat.register` or with an entry point of the group `karat.methods`.

    `start` and `sweep` see one block of tasks at a time: they write `block.posterior` and return a named tuple of
    sums over the block's tasks. Its field `change` is the largest change of a posterior. `begin` and `expect` get the
    sums over all blocks and return the parameters of the next sweep. So the method runs on any number of threads and
    on a cluster, with checkpoints and with known truths.

    Parameters
    ----------
    tolerance : float, default 1e-3
        Stop when no posterior has changed by as much in a sweep.
    max_iterations : int, default 500
        Stop after so many sweeps.
    seed : int, default 0
        Seed of the random numbers, for methods that draw some.

    Attributes
    ----------
    name : str
        How the method is called: `karat.aggregate(votes, "name")`. Required.
    takes_gold : bool, default True
        Whether known truths (`block.gold`) are kept and learned from.
    has_bound : bool, default False
        Whether `bound` returns something that never falls from sweep to sweep.
    divisible : bool, default True
        Whether blocks of tasks can be processed one by one.
    distributable : bool, default True
        Whether they can be processed on other machines; False where parameters grow with the number of tasks.
    random_start : bool, default False
        Whether the seed decides where the method starts.
    takes_prior : bool, default False
        Whether it adds the counts of an earlier run, `earlier` of shape [annotator, vote, truth], to its own.
    rounding : float, default 1e-6
        How much a posterior may change when the same sums are added in another order.
    limits : mapping
        The allowed values of its own settings, see `karat.methods.settings`.
    remembers : tuple of str or None
        What `sufficient_statistics` needs of each annotator: names of `Learned`, or of arrays in `Learned.statistics`
        with a row per annotator. None: new votes cannot be folded into a result.
    keeps : dict
        What `sufficient_statistics` needs of `Learned.statistics`, with shapes: `{"seen": "WK"}`, where W is the
        number of annotators and K that of classes.

    Examples
    --------
    >>> import karat
    >>> karat.PTBCC(tolerance=1e-4).settings["tolerance"]
    0.0001
    """

    name: ClassVar[str]
    takes_gold: ClassVar[bool] = True
    has_bound: ClassVar[bool] = False
    divisible: ClassVar[bool] = True
    distributable: ClassVar[bool] = True
    random_start: ClassVar[bool] = False
    rounding: ClassVar[float] = 1e-6
    takes_prior: ClassVar[bool] = False
    limits: ClassVar[Mapping[str, Allowed]] = {}
    unstable: ClassVar[tuple[str, ...]] = ()  # rows of annotators in `more`, where the order of sums matters: `solve`
    remembers: ClassVar[tuple[str, ...] | None] = None
    keeps: ClassVar[dict[str, str]] = {}

    tolerance: float = 1e-3  # stop when no posterior moves by as much
    max_iterations: int = 500
    seed: int = 0
    earlier: Any = field(default=None, init=False, repr=False, compare=False)  # counts of an earlier run: `with_prior`
    notes: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)  # go into the result's notes

    def __post_init__(self) -> None:
        limits = {"max_iterations": ITERATIONS, "tolerance": TOLERANCE, "seed": SEED, **self.limits}
        check_settings(self.settings, self.defaults(), limits)

    def __dir__(self) -> list[str]:
        """Settings and what users call; what only a fit calls is left out."""
        contract = {name for one in type(self).__mro__ if issubclass(one, Method) for name in vars(one)}
        shown = {*self.settings, *PUBLIC}
        return [name for name in super().__dir__() if name.startswith("__") or name in shown or name not in contract]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings and their values."""
        return {setting.name: getattr(self, setting.name) for setting in fields(self) if setting.init}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The settings and their default values."""
        return {setting.name: setting.default for setting in fields(cls) if setting.init}

    def n_parameters(self, annotations: Annotations) -> int:
        """How many numbers a fit keeps at least, beside the votes and the posterior: for the check of memory."""
        return 0

    @property
    def n_restarts(self) -> int:
        return 1

    @property
    def random_ties(self) -> bool:
        """Whether the seed decides between classes that are equally probable."""
        return False

    @property
    def accelerated(self) -> bool:
        """Whether sweeps are taken in longer strides, for which `coordinates` and `at` are needed."""
        return False

    @property
    def warm_start(self) -> Method | None:
        """A method that is fitted first; `start` finds its posterior in the blocks."""
        return None

    @property
    def single(self) -> bool:
        """Whether posteriors are kept in 32 bits, half of the memory of 64."""
        return False

    def coordinates(self, parameters: Any) -> Floats:
        """The parameters as one vector in which any point makes sense (logs of positive numbers)."""
        raise InputError(f"{self.name} cannot be accelerated")

    def at(self, coordinates: Floats, parameters: Any) -> Any:
        """The parameters of these coordinates; what they leave open is as in `parameters`."""
        raise InputError(f"{self.name} cannot be accelerated")

    @abstractmethod
    def start(self, block: Block, restart: int) -> Any: ...

    @abstractmethod
    def begin(self, statistics: Any) -> Any: ...

    @abstractmethod
    def sweep(self, block: Block, parameters: Any) -> Any: ...

    def expect(self, statistics: Any, before: Any) -> Any:
        raise TypeError(f"{type(self).__name__} must have expect or advance")

    def advance(self, engine: Engine, statistics: Any, before: Any) -> Any:
        return self.expect(statistics, before)

    def bound(self, parameters: Any, statistics: Any) -> float:
        return math.nan

    def converged(self, steps: list[Step]) -> bool:
        return steps[-1].change < self.tolerance

    def cautions(self, n_tasks: int) -> list[str]:
        """What users must know of results with so many tasks; goes into the result's notes."""
        return []

    @abstractmethod
    def learned(self, parameters: Any) -> Learned: ...

    def sufficient_statistics(self, result: ResultData) -> SufficientStatistics:
        """The sums that the result was made from; only asked of methods whose `remembers` is not None."""
        raise TypeError(f"{type(self).__name__} has remembers, so it must have sufficient_statistics")

    def why_not_updatable(self) -> str:
        """Why new votes cannot be folded into a result of this method; nothing where they can."""
        return "" if self.remembers is not None else f"{self.name} cannot fold in new votes"

    def recompute_priors(self, parameters: Any, first: Any) -> Any:
        """The same parameters with the priors that these first sums make, where priors come from the votes."""
        return parameters

    def with_prior(self, earlier: Any) -> Self:
        """A method of the same settings that counts what is known from an earlier run, too."""
        informed = copy.copy(self)
        informed.earlier = earlier
        return informed

    def learned_per_task(self) -> tuple[str, ...]:
        """Names of what the blocks keep for each task that belongs into the result, e.g. difficulties."""
        return ()


def start_from_shares(block: Block) -> None:
    """The first posterior of most methods: vote shares, and certainty where the truth is known."""
    task_ptr, cell_ptr, cell_class, _ = block.votes
    block.kernels("votes").vote_shares(task_ptr, cell_ptr, cell_class, block.gold, block.posterior)
