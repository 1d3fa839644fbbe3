"""Vote shares on the GPU. See votes.cu."""

from __future__ import annotations

from typing import Any

import numpy as np

from finegold.kernels.cuda import THREADS, compiled, grid, types_of


def vote_shares(task_ptr: Any, cell_ptr: Any, cell_class: Any, gold: Any, phi: Any) -> None:
    kernel = compiled(("votes.cu",), "vote_shares", K=phi.shape[1], **types_of(cell_class, phi))
    kernel((grid(len(phi)),), (THREADS,), (np.uint32(len(phi)), task_ptr, cell_ptr, cell_class, gold, phi))
