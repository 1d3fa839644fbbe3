"""The passes that every block has gone through, for workers that take over the blocks of a lost one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from tempfile import SpooledTemporaryFile
from typing import Any

from numpy.typing import NDArray

__all__ = ["History"]

IN_MEMORY = 2**28  # bytes; beyond, the passes are kept on disk


class History:
    """A state of all blocks and the passes since: together they determine every block."""

    def __init__(self, number: int = 0, state: dict[str, NDArray[Any]] | None = None) -> None:
        self.first, self.state = number, state  # None: the blocks as they are loaded
        self.sizes: list[int] = []
        self.file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115 (closed with the engine)

    @property
    def number(self) -> int:
        """The number of the last pass."""
        return self.first + len(self.sizes)

    def append(self, payload: bytes) -> None:
        self.file.seek(sum(self.sizes))
        self.file.write(payload)
        self.sizes.append(len(payload))

    def passes(self) -> Iterator[tuple[int, bytes]]:
        starts = accumulate(self.sizes, initial=0)
        for number, (start, size) in enumerate(zip(starts, self.sizes, strict=False), start=self.first + 1):
            self.file.seek(start)
            yield number, self.file.read(size)

    def kept(self, index: int, tasks: slice) -> Any:
        """Return the first state of a block, as `BlockActor.take` expects it."""
        if self.state is None:
            return None
        mark = f"{index}."
        own = {name.removeprefix(mark): values for name, values in self.state.items() if name.startswith(mark)}
        return self.state["posterior"][tasks], own

    def close(self) -> None:
        self.file.close()
