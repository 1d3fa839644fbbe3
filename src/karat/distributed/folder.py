"""A folder of results that appears whole or not at all, written by many machines."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from karat.errors import OutputError

__all__ = ["Workshop", "check_folder", "replacing_folder"]

PART = "part-*.parquet"


class Workshop:
    """A folder beside the target: labels grow in one part of it, votes lie sorted in the other."""

    def __init__(self, place: Path) -> None:
        self.place, self.labels, self.scratch = place, place / "labels", place / "votes"


def check_folder(target: Path) -> None:
    """Found out before the long work. A folder of ours may be replaced, any other may not."""
    if not target.parent.is_dir():
        raise OutputError(f"{target} cannot be written: there is no folder {target.parent}; create it first")
    if target.exists() and not target.is_dir():
        raise OutputError(f"{target} is a file; name a folder, or remove it first")
    if target.is_dir() and any(not found.match(PART) for found in target.iterdir()):
        raise OutputError(f"{target} holds other files than labels of Karat ({PART}); name another folder")


@contextmanager
def replacing_folder(target: Path) -> Iterator[Workshop]:
    """The labels made in the workshop take the place of the target if the block ends well."""
    check_folder(target)
    shop = Workshop(target.parent / f".{target.name}.{secrets.token_hex(6)}.part")
    try:
        shop.labels.mkdir(parents=True)
        shop.scratch.mkdir()
        yield shop
        if target.exists():
            target.rename(shop.place / "old")
        shop.labels.rename(target)
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        raise OutputError(f"{target} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(shop.place, ignore_errors=True)
