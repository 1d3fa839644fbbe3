"""Keywords of Karat 0.1 that were renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from karat.system.renamed import warn_renamed

if TYPE_CHECKING:
    from karat.api.run import OnStep

__all__ = ["on_step_of"]


def on_step_of(on_step: OnStep | None, watch: OnStep | None, *, stacklevel: int = 3) -> OnStep | None:
    """Return the callback, which may be given by its old name, `watch`."""
    if watch is None:
        return on_step
    warn_renamed("watch", "on_step", stacklevel=stacklevel)
    return watch
