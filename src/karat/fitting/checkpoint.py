"""A fit that can be interrupted and goes on later, to the same bits.

A checkpoint is a zip of a manifest and arrays, like a saved result, and holds what the next sweep depends on: the
parameters, what the blocks keep, and the steps so far. It fits only the votes and the settings that it was made from.

Where another method runs first (PTBCC before HPT), it has a part, a file beside the checkpoint. When it has ended, it
leaves its last state there, and is not swept again. Parts count only beside the file of the whole, which says
whose they are; all go when the whole is done. No other file is ever replaced or removed: one that is no checkpoint, or
holds unfinished work that is neither resumed nor given up (`overwrite`), is refused.
"""

from __future__ import annotations

import glob
import json
import signal
import threading
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from karat.errors import InputError
from karat.fitting.pytree import leaves, rebuild
from karat.methods.base import Method
from karat.methods.registry import ALIASES
from karat.results.archive import steps_of, to_json, write_archive
from karat.results.data import Step
from karat.system.locks import locked
from karat.system.unpacking import opened, read_arrays, read_manifest
from karat.system.validation import check_alike, check_rows, check_steps
from karat.votes.annotations import Annotations

__all__ = ["Checkpoint", "interruptible"]

FORMAT, VERSION = "karat-checkpoint", 1
SECONDS_BETWEEN = 60.0  # a kill loses at most so much work
PART = ".part-"  # between the name of a checkpoint and that of a stage

State = dict[str, NDArray[Any]]


class Checkpoint:
    """Where a fit may be resumed from; `resume` says whether to look for an earlier one, `overwrite` to give it up."""

    def __init__(
        self, path: str | Path, *, resume: bool = False, overwrite: bool = False, whole: Checkpoint | None = None
    ) -> None:
        self.path = Path(path).expanduser()
        self.resume, self.overwrite = resume, overwrite
        self.held = False  # whether this process has locked it
        self.whole = whole  # of which this is a part
        self.owned = False  # whether the file is of this work, not of an older one
        self.last = time.monotonic()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Keep other processes from working with the same file."""
        with locked(self.path):
            self.held = True
            try:
                yield
            finally:
                self.held = False

    def inspect(self) -> None:
        """Refuse a file that is no checkpoint, and unfinished work that would be lost."""
        if not self.path.exists():
            return
        if _manifest(self.path).get("format") != FORMAT:
            raise InputError(_not_ours(self.path))
        if not (self.resume or self.overwrite):
            raise InputError(
                f"{self.path} holds the unfinished work of an earlier run; go on with it (--resume, resume=True), "
                "give it up (--overwrite, overwrite=True), or name another file"
            )

    def bind(self, method: Method, votes: str) -> None:
        """Say what is about to be fitted to votes of this fingerprint; see whether a file that is there fits."""
        plain = json.loads(json.dumps({"method": method.name, "settings": method.settings}, default=to_json))
        self.manifest: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "votes": votes,
            "prior": "-".join(_checksum(leaf) for leaf in leaves(method.earlier)),
            **plain,
        }
        self.inspect()
        if self.resume and self.path.exists():
            self._check(_manifest(self.path))
            self.owned = True

    def part(self, stage: str, method: Method) -> Checkpoint:
        """The checkpoint of one stage, bound to what is fitted there."""
        name = f"{self.path.name}{PART}{stage.replace(' ', '-')}"
        part = Checkpoint(self.path.with_name(name), resume=self.owned, overwrite=not self.owned, whole=self)
        part.bind(method, self.manifest["votes"])
        return part

    def due(self, ended: bool) -> bool:
        """Whether it is time to save: now and then, and when a stage has ended."""
        return (ended and self.whole is not None) or time.monotonic() - self.last > SECONDS_BETWEEN

    def save(self, parameters: Any, state: State, steps: list[Step]) -> None:
        arrays = {f"state.{name}": values for name, values in state.items()}
        arrays |= {f"parameter.{i}": leaf for i, leaf in enumerate(leaves(parameters))}
        arrays["steps"] = np.array(steps, dtype=float)
        self._write(arrays)

    def load(self, template: Any, state: Callable[[], State]) -> tuple[Any, State, list[Step]] | None:
        """Parameters, state and steps, shaped as those given; None where there is nothing to resume."""
        if not self.owned:
            return None
        with _opened(self.path) as archive:
            arrays = read_arrays(archive)
            if not arrays:
                return None  # nothing but parts so far
            return self._checked(arrays, template, state())

    def _checked(self, arrays: dict[str, NDArray[Any]], template: Any, state: State) -> tuple[Any, State, list[Step]]:
        expected = {f"parameter.{i}": np.atleast_1d(leaf) for i, leaf in enumerate(leaves(template))}
        expected |= {f"state.{name}": values for name, values in state.items()}
        if any(name in arrays and arrays[name].shape != values.shape for name, values in expected.items()):
            raise InputError(
                f"{self.path} belongs to another fit (it has other numbers of tasks, annotators or classes); resume "
                "with the same votes, classes and settings, or delete it"
            )
        for name, values in expected.items():
            check_alike(name, arrays[name], values, same_integers=name.startswith("state."))
        check_steps(arrays["steps"])
        check_rows("posterior", arrays["state.posterior"])
        parameters = rebuild(template, [arrays[f"parameter.{i}"] for i in range(len(leaves(template)))])
        kept = {name: arrays[f"state.{name}"].astype(values.dtype, copy=False) for name, values in state.items()}
        return parameters, kept, steps_of(arrays["steps"])

    def done(self) -> None:
        """The work is finished: nothing is left to resume."""
        if self.owned or self.overwrite:
            self._remove_parts()
            self.path.unlink(missing_ok=True)

    def _write(self, arrays: dict[str, NDArray[Any]]) -> None:
        """What an older, other work left stays until this one has something to keep."""
        if self.whole is not None and not self.whole.owned:
            self.whole._write({})
        if not self.owned:
            self._remove_parts()
        write_archive(self.path, self.manifest, arrays)
        self.owned, self.last = True, time.monotonic()

    def _remove_parts(self) -> None:
        for part in self.path.parent.glob(f"{glob.escape(self.path.name)}{PART}*"):
            with suppress(InputError):  # somebody else's file
                if _manifest(part).get("format") == FORMAT:
                    part.unlink(missing_ok=True)

    def _check(self, found: dict[str, Any]) -> None:
        if str(found.get("method")) in ALIASES:
            raise InputError(f"{self.path} was left by {found['method']}, which is gone; delete it and start afresh")
        for name, expected in self.manifest.items():
            if found.get(name) != expected:
                raise InputError(
                    f"{self.path} belongs to another fit ({name} differs); resume with the same votes and settings, "
                    "or delete it"
                )


def _opened(path: Path) -> AbstractContextManager[zipfile.ZipFile]:
    return opened(path, _not_ours(path))


def _manifest(path: Path) -> dict[str, Any]:
    with _opened(path) as archive:
        return read_manifest(archive)


def _not_ours(path: Path) -> str:
    return f"{path} is not a checkpoint of Karat, or it is damaged; name another file, or delete it to start afresh"


def fingerprint(annotations: Annotations) -> str:
    """Sizes and checksums of the votes."""
    names = ("task_ptr", "cell_ptr", "cell_class", "annotator", "gold")
    return "-".join(_checksum(getattr(annotations, name)) for name in names)


def _checksum(values: NDArray[Any]) -> str:
    return f"{zlib.crc32(np.ascontiguousarray(values).data):08x}"


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets instead of raising at once: a sweep is never left half done. Twice means now.

    A job that ignores Ctrl-C, as shells start jobs in the background, keeps ignoring it.
    """
    pressed = threading.Event()
    before = signal.getsignal(signal.SIGINT)
    if before in (signal.SIG_IGN, None) or threading.current_thread() is not threading.main_thread():
        yield pressed
        return

    def press(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, before)
        pressed.set()

    signal.signal(signal.SIGINT, press)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
