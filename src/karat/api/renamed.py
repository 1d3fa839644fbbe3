"""Keywords of Karat 0.1 that were renamed."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from karat.api.run import OnStep

__all__ = ["on_step_of"]


def on_step_of(on_step: OnStep | None, watch: OnStep | None, *, stacklevel: int = 3) -> OnStep | None:
    """Return the callback, which may be given by its old name, `watch`."""
    if watch is None:
        return on_step
    warnings.warn(
        "watch is now called on_step; the old name will be removed in 0.3", DeprecationWarning, stacklevel=stacklevel
    )
    return watch
