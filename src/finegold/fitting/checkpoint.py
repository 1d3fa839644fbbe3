"""Checkpoints: a fit can be interrupted and resumed later, with bitwise identical results.

A checkpoint is a zip of a manifest and arrays, like a saved result. It holds everything that the
next sweep depends on: the parameters, the state of the blocks and the steps so far. It can be used
only with the same votes and settings.

The file is removed when the fit is done. No other file is replaced or removed: a file that is not a
checkpoint, or that holds unfinished work without `resume` or `overwrite`, raises an error.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from finegold.errors import InputError, use
from finegold.methods.base import Method
from finegold.results.archive import steps_of, to_json, write_archive
from finegold.results.data import Step
from finegold.system.locks import locked
from finegold.system.unpacking import (
    check_alike,
    check_rows,
    check_steps,
    opened,
    read_arrays,
    read_manifest,
)
from finegold.votes.annotations import Annotations

FORMAT, VERSION = "finegold-checkpoint", 1
# a killed process loses at most this much work
SECONDS_BETWEEN_SAVES = 60.0

State = dict[str, NDArray[Any]]


class Checkpoint:
    """The checkpoint of a fit. `resume` continues an earlier checkpoint, `overwrite` discards it."""

    def __init__(self, path: str | Path, *, resume: bool = False, overwrite: bool = False) -> None:
        self.path = Path(path).expanduser()
        self.resume, self.overwrite = resume, overwrite
        # whether this process has locked the file
        self.held = False
        # whether the file belongs to this fit, not to an earlier one
        self.owned = False
        self.last = time.monotonic()
        self.manifest: dict[str, Any] = {}

    @contextmanager
    def hold(self) -> Iterator[None]:
        with locked(self.path):
            self.held = True
            try:
                yield
            finally:
                self.held = False

    def inspect(self) -> None:
        """Raise an error if the file is not a checkpoint, or if unfinished work would be lost."""
        if not self.path.exists():
            return
        if _manifest(self.path).get("format") != FORMAT:
            raise InputError(_not_ours(self.path))
        if not (self.resume or self.overwrite):
            options = [
                use(text="to continue it", resume=True),
                use(text="to discard it", overwrite=True),
            ]
            remedies = [*options, use(text="name another file")]
            raise InputError(
                f"{self.path} holds the unfinished work of an earlier run", remedies=remedies
            )

    def bind(self, method: Method, annotations: Annotations) -> None:
        """Set the method and the votes; raise an error if an existing file does not match them."""
        names = ("task_ptr", "cell_ptr", "cell_class", "annotator", "gold")
        votes = _checksums([getattr(annotations, name) for name in names])
        fields = {
            "votes": votes,
            "prior": _checksums(leaves(method.earlier)),
            "method": method.name,
        }
        settings = json.loads(json.dumps(method.settings, default=to_json))
        self.manifest = {"format": FORMAT, "version": VERSION, **fields, "settings": settings}
        self.inspect()
        if self.resume and self.path.exists():
            saved = _manifest(self.path)
            for name, expected in self.manifest.items():
                if saved.get(name) != expected:
                    raise self._of_another_fit(f"{name} differs")
            self.owned = True

    def due(self) -> bool:
        return time.monotonic() - self.last > SECONDS_BETWEEN_SAVES

    def save(self, parameters: Any, state: State, steps: list[Step]) -> None:
        arrays = {f"state.{name}": values for name, values in state.items()}
        arrays |= {f"parameter.{i}": leaf for i, leaf in enumerate(leaves(parameters))}
        arrays["steps"] = np.array(steps, dtype=float)
        # the file of an earlier fit is replaced only now
        write_archive(self.path, self.manifest, arrays)
        self.owned, self.last = True, time.monotonic()

    def load(
        self, template: Any, state: Callable[[], State]
    ) -> tuple[Any, State, list[Step]] | None:
        """Return parameters, state and steps, shaped like those given; None if there is nothing to
        resume.
        """
        if not self.owned:
            return None
        with opened(self.path, _not_ours(self.path)) as archive:
            arrays = read_arrays(archive)
            current = state()
            expected = {
                f"parameter.{i}": np.atleast_1d(leaf) for i, leaf in enumerate(leaves(template))
            }
            expected |= {f"state.{name}": values for name, values in current.items()}
            if any(
                name in arrays and arrays[name].shape != values.shape
                for name, values in expected.items()
            ):
                raise self._of_another_fit("it has other numbers of tasks, annotators or classes")
            for name, values in expected.items():
                check_alike(name, arrays[name], values, same_integers=name.startswith("state."))
            check_steps(arrays["steps"])
            check_rows("posterior", arrays["state.posterior"])
        parameters = rebuild(
            template, iter([arrays[f"parameter.{i}"] for i in range(len(leaves(template)))])
        )
        kept = {
            name: arrays[f"state.{name}"].astype(values.dtype, copy=False)
            for name, values in current.items()
        }
        return parameters, kept, steps_of(arrays["steps"])

    def done(self) -> None:
        if self.owned or self.overwrite:
            self.path.unlink(missing_ok=True)

    def _of_another_fit(self, difference: str) -> InputError:
        resume = use(text="resume with the same votes, classes and settings")
        discard = use("if that work is not needed", overwrite=True, resume=None)
        remedies = [resume, discard, use(text="name another file")]
        return InputError(f"{self.path} belongs to another fit ({difference})", remedies=remedies)


def _manifest(path: Path) -> dict[str, Any]:
    with opened(path, _not_ours(path)) as archive:
        return read_manifest(archive)


def _not_ours(path: Path) -> str:
    return (
        f"{path} is not a checkpoint of Finegold, or it is damaged; name another file, or delete it"
        " to start again"
    )


def leaves(tree: Any) -> list[NDArray[Any]]:
    """Return every array and number of nested named tuples, in order."""
    if isinstance(tree, tuple):
        return [leaf for part in tree for leaf in leaves(part)]
    return [] if tree is None else [np.asarray(tree)]


def rebuild(template: Any, values: Iterator[NDArray[Any]]) -> Any:
    """Return named tuples like the template with these leaves."""
    if isinstance(template, tuple):
        return type(template)(*(rebuild(part, values) for part in template))
    if template is None:
        return None
    value = next(values)
    if not isinstance(template, np.ndarray):
        return value.item()
    # of the same memory order, on which the last bit of a sum depends
    alike = np.empty_like(template)
    alike[...] = value
    return alike


def _checksums(arrays: list[NDArray[Any]]) -> str:
    return "-".join(f"{zlib.crc32(np.ascontiguousarray(values).data):08x}" for values in arrays)
