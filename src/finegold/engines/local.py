"""The engine for the threads of this machine."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.engines.base import VOTES_PER_BLOCK, Block, Engine, Statistics, add_up, split
from finegold.kernels.compiling import thread_count
from finegold.votes.annotations import Annotations


class LocalEngine(Engine):
    """Run blocks on the threads of this machine; kernels release the interpreter lock."""

    def __init__(self, threads: int | None = None, *, fewest_votes: int = VOTES_PER_BLOCK) -> None:
        self.threads = thread_count(threads)
        # per block
        self.fewest_votes = fewest_votes
        # threads start when they are first needed
        self.pool = ThreadPoolExecutor(self.threads)
        self.blocks: list[Block] = []
        self.posterior: NDArray[Any] = np.empty((0, 0))

    def scatter(self, annotations: Annotations, *, divisible: bool = True) -> None:
        self.posterior = np.zeros((annotations.n_tasks, annotations.n_classes))
        fewest_votes = self.fewest_votes if divisible else annotations.n_votes
        self.blocks = split(annotations, self.posterior, fewest_votes)

    def sum(self, step: Callable[..., Statistics], *arguments: Any) -> Statistics:
        if len(self.blocks) == 1:
            return step(self.blocks[0], *arguments)
        if self.threads == 1:
            return add_up(step(block, *arguments) for block in self.blocks)
        return add_up(self.pool.map(lambda block: step(block, *arguments), self.blocks))

    def gather(self, name: str = "posterior") -> NDArray[Any]:
        if name == "posterior":
            return self.posterior
        return np.concatenate([block.state[name] for block in self.blocks])

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)
