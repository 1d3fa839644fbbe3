"""Vote shares, labels and counts by annotator on the GPU. See votes.cu, and
finegold/kernels/votes.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from finegold.kernels import Votes
from finegold.kernels.cuda import FIXED_ONE, THREADS, compiled, cupy, grid, types_of
from finegold.kernels.votes import NEAR


def vote_shares(votes: Votes, gold: Any, phi: Any) -> None:
    kernel = compiled(
        ("votes.cu",), "vote_shares", K=phi.shape[1], **types_of(votes.cell_class, phi)
    )
    kernel((grid(len(phi)),), (THREADS,), (np.uint32(len(phi)), *votes[:3], gold, phi))


def decide(phi: Any, preference: Any, label: Any, tied: Any) -> None:
    """Choose the most probable class; if several are tied, the one that comes first in preference
    [K].
    """
    kernel = compiled(("votes.cu",), "decide", K=phi.shape[1], **types_of(label, phi))
    order = cupy().asarray(preference, dtype=np.int32)
    kernel(
        (grid(len(phi)),),
        (THREADS,),
        (np.uint32(len(phi)), phi, order, np.float64(NEAR), label, tied),
    )


def agreement(votes: Votes, phi: Any, label: Any, cast: Any, agreed: Any, expected: Any) -> None:
    cp, n = cupy(), len(cast)
    counts = cp.zeros((n, 2), dtype=np.uint32), cp.zeros(n, dtype=np.uint64)
    kernel = compiled(("votes.cu",), "agreement", K=phi.shape[1], **types_of(votes.cell_class, phi))
    kernel((grid(len(phi)),), (THREADS,), (np.uint32(len(phi)), *votes, phi, label, *counts))
    cast += counts[0][:, 0]
    agreed += counts[0][:, 1]
    expected += counts[1] / FIXED_ONE
