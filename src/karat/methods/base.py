"""What a method is: a few short functions around additive statistics.

    start(block)             first posteriors of the block's tasks, and their statistics
    begin(statistics)        priors and first parameters, from the sum over all blocks
    sweep(block, parameters) new posteriors of the block, and their statistics
    expect(statistics, ...)  parameters for the next sweep, from the sum over all blocks
    advance(engine, ...)     the same for the few methods whose update needs further passes over the votes
    bound(...)               what the method maximises, if it has such a thing
    knowledge(parameters)    what it has learned of annotators
    recall(result)           the sums that a result was made from, so that new votes can be folded in
    inform(earlier)          the method with what an earlier run knew of annotators (karat.fitting.prior)

`solve` owns the loop, an engine owns the blocks; a method only says what happens on each.
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

from karat.engines import Engine
from karat.engines.blocks import Block
from karat.errors import InputError
from karat.methods.settings import ITERATIONS, SEED, TOLERANCE, Allowed, check_settings
from karat.results.data import Learned, ResultData, Step
from karat.votes.annotations import Annotations

__all__ = ["Learned", "Memory", "Method", "Step", "start_from_shares"]

Floats = NDArray[np.float64]


class Memory(NamedTuple):
    """What a fit ended with. Sums are over all of its tasks."""

    first: Any  # sums of `start`
    statistics: Any  # sums of the last sweep
    parameters: Any


@dataclass(kw_only=True)
class Method(ABC):
    """Settings are fields; a method keeps no state of a fit."""

    name: ClassVar[str]
    takes_gold: ClassVar[bool] = True
    has_bound: ClassVar[bool] = False  # whether `bound` never falls
    divisible: ClassVar[bool] = True  # whether blocks of tasks can be worked on apart
    distributable: ClassVar[bool] = True  # and on other machines: parameters and sums do not grow with the tasks
    random_start: ClassVar[bool] = False  # whether the seed decides where it starts
    exact_bits: ClassVar[bool] = True  # False where an optimiser's sums depend on where memory lies
    rounding: ClassVar[float] = 1e-6  # how far another order of the same sums may move a posterior
    takes_prior: ClassVar[bool] = False  # whether it can be told what an earlier run knew of annotators
    limits: ClassVar[Mapping[str, Allowed]] = {}  # what values its own settings may have
    unstable: ClassVar[tuple[str, ...]] = ()  # rows of annotators in `more`, where the order of sums matters: `solve`
    remembers: ClassVar[tuple[str, ...] | None] = None  # what `recall` needs of annotators; None: it cannot recall

    keeps: ClassVar[dict[str, str]] = {}  # what `recall` needs of `Learned.statistics`, with shapes: {"eta": "WS"}

    tolerance: float = 1e-3  # stop when no posterior moves by as much
    max_iterations: int = 500
    seed: int = 0
    earlier: Any = field(default=None, init=False, repr=False, compare=False)  # counts of an earlier run: `inform`
    notes: tuple[str, ...] = field(default=(), init=False, repr=False, compare=False)  # go into the result's notes

    def __post_init__(self) -> None:
        limits = {"max_iterations": ITERATIONS, "tolerance": TOLERANCE, "seed": SEED, **self.limits}
        check_settings(self.settings, self.defaults(), limits)

    @property
    def settings(self) -> dict[str, Any]:
        return {setting.name: getattr(self, setting.name) for setting in fields(self) if setting.init}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
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
    def prelude(self) -> Method | None:
        """A method that runs to its end first; `start` finds its posterior in the blocks."""
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
    def knowledge(self, parameters: Any) -> Learned: ...

    def recall(self, result: ResultData) -> Memory:
        """The sums that the result was made from; not asked of methods that do not remember."""
        raise TypeError(f"{type(self).__name__} does not remember")

    def obstacle(self) -> str:
        """Why new votes cannot be folded into a result of this method; nothing where they can."""
        return "" if self.remembers is not None else f"{self.name} cannot fold in new votes"

    def rebase(self, parameters: Any, first: Any) -> Any:
        """The same parameters with the priors that these first sums make, where priors come from the votes."""
        return parameters

    def inform(self, earlier: Any) -> Self:
        """A method of the same settings that counts what is known from an earlier run, too."""
        informed = copy.copy(self)
        informed.earlier = earlier
        return informed

    def task_knowledge(self) -> tuple[str, ...]:
        """Names of what the blocks keep for each task that belongs into the result, e.g. difficulties."""
        return ()


def start_from_shares(block: Block) -> None:
    """The first posterior of most methods: vote shares, and certainty where the truth is known."""
    task_ptr, cell_ptr, cell_class, _ = block.votes
    block.kernels("votes").vote_shares(task_ptr, cell_ptr, cell_class, block.gold, block.posterior)
