"""The engine for one GPU of this machine (CUDA, through CuPy).

Votes are copied to the device once, as the smallest integers that hold them, and posteriors stay
there until they are gathered. If they do not fit, the blocks stay in host memory and are copied to
the device one after another.

PTBCC and majority vote use float32, with sums in float64 or fixed point. The anchored vote, DS, HDS
and IBCC use float64, because their posteriors are products of many small numbers. The final
posteriors are within 1e-4 of the CPU's (measured by bench/speed/gpu.py).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.engines.blocks import Block, Statistics, add_up, cut, sum_tasks
from finegold.errors import InputError, use
from finegold.kernels import Votes
from finegold.kernels.cuda import by_annotator, cupy
from finegold.kernels.votes import preference_of
from finegold.votes.annotations import Annotations

# type of the posteriors
PRECISION: dict[str, Any] = {"mv": np.float32, "ptbcc": np.float32}
PRECISION |= dict.fromkeys(("anchored", "ds", "hds", "ibcc"), np.float64)
# per block: pointers have 32 bits
MAX_VOTES_PER_BLOCK = 2**31
# of the free memory, for votes and posteriors; kernels need the rest for their sums
MEMORY_SHARE = 0.7
# memory of a block relative to its votes and posteriors, with the state that methods keep per vote
MEMORY_FACTOR = 3.0

# arrays of a matrix per annotator that are on the device at one time
PARAMETERS = 6
# bytes of a copy between host and device
PIECE = 2**25
COPYING_THREADS = 8


class Device:
    pointer = np.uint32

    def __init__(self) -> None:
        # raises an error that says what is missing
        cupy()
        self.local = threading.local()

    def free_memory(self) -> int:
        return int(cupy().cuda.Device().mem_info[0])

    def zeros(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Any:
        return cupy().zeros(shape, dtype)

    def upload(self, array: NDArray[Any], dtype: Any = None, start: int = 0) -> Any:
        """Copy an array to the device, less `start`, as this type."""
        source, there = np.ascontiguousarray(array), cupy().empty(array.shape, dtype or array.dtype)

        def send(piece: slice) -> None:
            stream, staging = self._staging(source.dtype)
            size = piece.stop - piece.start
            staging[:size] = source.reshape(-1)[piece]
            with stream:
                values = cupy().empty(size, source.dtype)
                values.set(staging[:size], stream)
                there.reshape(-1)[piece] = values - values.dtype.type(start) if start else values
            stream.synchronize()

        self._in_pieces(send, source)
        return there

    def download(self, array: Any) -> NDArray[Any]:
        source, here = cupy().ascontiguousarray(array), np.empty(array.shape, array.dtype)
        cupy().cuda.get_current_stream().synchronize()

        def fetch(piece: slice) -> None:
            stream, staging = self._staging(here.dtype)
            size = piece.stop - piece.start
            source.reshape(-1)[piece].get(stream=stream, out=staging[:size], blocking=True)
            here.reshape(-1)[piece] = staging[:size]

        self._in_pieces(fetch, here)
        return here

    def _in_pieces(self, copy: Callable[[slice], None], array: NDArray[Any]) -> None:
        """Copy pieces of an array in several threads: one of them would wait for the host's memory
        most of the time.
        """
        step = PIECE // array.itemsize
        pieces = [
            slice(first, min(first + step, array.size)) for first in range(0, array.size, step)
        ]
        if len(pieces) < 2:
            for piece in pieces:
                copy(piece)
        else:
            with ThreadPoolExecutor(min(COPYING_THREADS, len(pieces))) as pool:
                list(pool.map(copy, pieces))

    def _staging(self, dtype: Any) -> tuple[Any, NDArray[Any]]:
        """Return a stream, and memory that the device reads and writes at full speed, of this
        thread.
        """
        if not hasattr(self.local, "stream"):
            from cupyx import empty_pinned

            self.local.stream, self.local.memory = (
                cupy().cuda.Stream(non_blocking=True),
                empty_pinned(PIECE, np.uint8),
            )
        return self.local.stream, self.local.memory.view(dtype)

    def kernels(self, name: str) -> Any:
        return import_module(f"finegold.kernels.cuda.{name}")

    def clear(self) -> None:
        by_annotator.forget()
        cupy().get_default_memory_pool().free_all_blocks()


class GPUEngine:
    """Run blocks on the GPU: all blocks stay there if they fit (`resident`), else they are copied
    one after another.
    """

    def __init__(
        self,
        # threads of the host; not used
        threads: int | None = None,
        *,
        single: bool = False,
        # bytes of device memory to use
        memory: int | None = None,
        device: Device | None = None,
    ) -> None:
        self.device = device or Device()
        self.memory = memory
        self.precision: Any = np.float32
        self.resident = True
        self.posterior: NDArray[Any] = np.empty((0, 0))
        self.blocks: list[Block] = []

    def accept(self, method: Any) -> None:
        if method.name not in PRECISION:
            able = ", ".join(PRECISION)
            raise InputError(
                f"{method.name} cannot run on the GPU, only {able} can",
                remedies=[use(engine="local")],
            )
        self.precision = PRECISION[method.name]

    def scatter(self, annotations: Annotations, *, divisible: bool = True) -> None:
        self.blocks = []
        # frees the memory of an earlier fit
        self.device.clear()
        self.posterior = np.zeros((annotations.n_tasks, annotations.n_classes), self.precision)
        budget = MEMORY_SHARE * self.device.free_memory() if self.memory is None else self.memory
        cells = len(annotations.cell_class) * (4 + annotations.cell_class.itemsize)
        parameters = PARAMETERS * annotations.n_annotators * annotations.n_classes**2
        needed = (
            8 * (annotations.n_votes + annotations.n_tasks + parameters)
            + cells
            + 2 * self.posterior.nbytes
        )
        self.resident, pieces = needed <= budget, annotations.n_votes // MAX_VOTES_PER_BLOCK + 1
        if not self.resident:
            pieces = max(math.ceil(MEMORY_FACTOR * needed / max(budget, 1)), pieces)
        blocks = cut(
            annotations, self.posterior, np.linspace(0, annotations.n_votes, pieces + 1)[1:-1]
        )
        self.blocks = (
            [self._upload(block, fresh=True) for block in blocks] if self.resident else blocks
        )

    def sum(self, step: Callable[..., Statistics], *arguments: Any) -> Statistics:
        parts = []
        for block in self.blocks:
            # a warm start may have used another
            block.posterior = block.posterior.astype(self.precision, copy=False)
            there = block if self.resident else self._upload(block)
            parts.append(step(there, *arguments))
            if not self.resident:
                block.posterior[:] = self.device.download(there.posterior)
                block.state = {
                    name: self.device.download(values) for name, values in there.state.items()
                }
                del there
                self.device.clear()
        return add_up(parts)

    def _upload(self, block: Block, *, fresh: bool = False) -> Block:
        """Return the block on the device. The posteriors of a fresh one are zero."""
        upload, zeros, pointer = self.device.upload, self.device.zeros, self.device.pointer
        task_ptr, cell_ptr, cell_class, annotator = block.own_votes()
        tasks, cells = (upload(first, pointer, int(first[0])) for first in (task_ptr, cell_ptr))
        votes = Votes(tasks, cells, upload(cell_class), upload(annotator))
        return replace(
            block,
            votes=votes,
            gold=upload(block.gold),
            posterior=zeros(block.posterior.shape, self.precision)
            if fresh
            else upload(block.posterior),
            state={name: upload(values) for name, values in block.state.items()},
            kernels=self.device.kernels,
            zeros=zeros if self.resident else np.zeros,
        )

    def state(self) -> dict[str, NDArray[Any]]:
        kept = {
            f"{b.index}.{name}": self._to_host(values)
            for b in self.blocks
            for name, values in b.state.items()
        }
        return {
            "posterior": _join([self._to_host(block.posterior) for block in self.blocks]).copy(),
            **kept,
        }

    def restore(self, state: dict[str, NDArray[Any]]) -> None:
        first = 0
        for block in self.blocks:
            block.posterior[:] = self._to_device(state["posterior"][first : first + block.n_tasks])
            block.state = {
                name: self._to_device(state[f"{block.index}.{name}"]) for name in block.state
            }
            first += block.n_tasks

    def gather(self, name: str = "posterior") -> NDArray[Any]:
        """Return posteriors as float64 with rows that sum to one."""
        if name != "posterior":
            return np.concatenate([self._to_host(block.state[name]) for block in self.blocks])
        return _join([self._to_host(self._normalise(block)) for block in self.blocks])

    def _normalise(self, block: Block) -> Any:
        if self.precision == np.float64:
            return block.posterior
        # on the device, if the block is there
        rows = block.posterior.astype(np.float64)
        return rows / rows.sum(axis=1, keepdims=True)

    def records(self) -> tuple[NDArray[Any], ...] | None:
        """Compute labels, ties, and counts by annotator on the device, if the blocks are there."""
        if not self.resident:
            return None
        kernels, posteriors = (
            self.device.kernels("votes"),
            [self._normalise(block) for block in self.blocks],
        )
        preference = preference_of(np.sum([sum_tasks(rows) for rows in posteriors], axis=0))
        n = self.blocks[0].n_annotators
        cast, agreed, expected = (
            self.device.zeros((n,), dtype) for dtype in (np.int64, np.int64, np.float64)
        )
        labels = []
        for block, rows in zip(self.blocks, posteriors, strict=True):
            label, tied = (
                self.device.zeros((block.n_tasks,), dtype) for dtype in (np.int32, np.bool_)
            )
            kernels.decide(rows, preference, label, tied)
            kernels.agreement(block.votes, rows, label, cast, agreed, expected)
            labels.append((label, tied))
        per_task = (
            _join([self._to_host(part) for part in parts]) for parts in zip(*labels, strict=True)
        )
        return *per_task, *map(self._to_host, (cast, agreed, expected))

    def notes(self) -> list[str]:
        return (
            []
            if self.resident
            else [f"the votes were copied to the GPU in {len(self.blocks)} blocks in each sweep"]
        )

    def close(self) -> None:
        self.blocks = []
        self.device.clear()

    def _to_host(self, array: Any) -> NDArray[Any]:
        return self.device.download(array) if self.resident else np.asarray(array)

    def _to_device(self, array: NDArray[Any]) -> Any:
        return self.device.upload(array) if self.resident else array


def _join(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
