"""A folder of results that many machines write, and that appears whole or not at all.

A list of the parts is stored beside them, in a Parquet file without rows: programs that read the folder as a table see
one more, empty part. Finegold replaces a folder only if it holds exactly what its list names.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from finegold.errors import InputError, OutputError
from finegold.system.files import abandoned, attached_folder, move, reserved

__all__ = ["StagingFolder", "check_folder", "replacing_folder"]

PART = "part-*.parquet"
MANIFEST = "_finegold_manifest.parquet"
KEY = "finegold.parts"  # of the list in the file's metadata


class StagingFolder:
    """A temporary folder beside the target, with the labels in one subfolder and the sorted votes in another."""

    def __init__(self, place: Path) -> None:
        self.place, self.labels, self.scratch = place, place / "labels", place / "votes"


def check_folder(target: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse, before the long work, a folder that cannot be written or that holds other files."""
    if not target.parent.is_dir():
        raise OutputError(f"{target} cannot be written: there is no folder {target.parent}; create it first")
    if target.exists() and not target.is_dir():
        raise OutputError(f"{target} is a file; name a folder, or remove it first")
    for place in inputs:
        _refuse_input(target, place.expanduser().resolve())
    if target.is_dir() and any(target.iterdir()):
        _refuse_foreign(target)


@contextmanager
def replacing_folder(target: Path) -> Iterator[StagingFolder]:
    """Yield a staging folder, whose labels replace the target if the block ends without an error."""
    check_folder(target)
    try:
        _recover(target)
        with reserved(target) as temporary:
            staging = StagingFolder(attached_folder(temporary))
            try:
                staging.labels.mkdir(parents=True)
                staging.scratch.mkdir()
                yield staging
                _list_parts(staging.labels)
                _swap(staging, target)
            finally:
                shutil.rmtree(staging.place, ignore_errors=True)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{target} cannot be written: {error.strerror or error}") from error


def _refuse_input(target: Path, place: Path) -> None:
    if target == place or target in place.parents or (place.is_dir() and place in target.parents):
        raise InputError(f"the votes are read from {place}, and the labels cannot go to {target}; name another folder")


def _refuse_foreign(target: Path) -> None:
    sizes = _listed(target / MANIFEST)
    if sizes is None:
        raise OutputError(
            f"{target} is not empty, and has no list of files that Finegold wrote ({MANIFEST}), so it is not replaced; "
            "remove it, or name another folder"
        )
    for found in sorted(target.iterdir()):
        if found.name != MANIFEST and (not found.is_file() or found.stat().st_size != sizes.get(found.name)):
            raise OutputError(f"{found} is not as Finegold wrote it, so {target} is not replaced; name another folder")


def _listed(manifest: Path) -> dict[str, int] | None:
    """Return the sizes of the parts by name, or None if there is no such list."""
    try:
        found = json.loads(pl.read_parquet_metadata(manifest)[KEY])
    except (OSError, KeyError, ValueError, pl.exceptions.PolarsError):
        return None
    return found if isinstance(found, dict) else None


def _list_parts(labels: Path) -> None:
    parts = sorted(labels.glob(PART))
    for stray in set(labels.iterdir()) - set(parts):  # of workers that were lost
        stray.unlink()
    sizes = {part.name: part.stat().st_size for part in parts}
    empty = pl.read_parquet(parts[0], n_rows=0)
    empty.write_parquet(labels / MANIFEST, metadata={KEY: json.dumps(sizes)})


def _swap(staging: StagingFolder, target: Path) -> None:
    """Check the target again, because the work may have taken days, and replace it."""
    check_folder(target)
    if target.exists():
        move(target, staging.place / "old")
    move(staging.labels, target)


def _recover(target: Path) -> None:
    """Restore the old labels of a run that was killed between the two moves of `_swap`."""
    for temporary in abandoned(target):
        old = attached_folder(temporary) / "old"
        if old.is_dir() and not target.exists():
            move(old, target)
