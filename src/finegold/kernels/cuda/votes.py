"""Vote shares on the GPU. See votes.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from finegold.kernels import Votes
from finegold.kernels.cuda import THREADS, compiled, grid, types_of


def vote_shares(votes: Votes, gold: Any, phi: Any) -> None:
    kernel = compiled(("votes.cu",), "vote_shares", K=phi.shape[1], **types_of(votes.cell_class, phi))
    kernel((grid(len(phi)),), (THREADS,), (np.uint32(len(phi)), *votes[:3], gold, phi))
