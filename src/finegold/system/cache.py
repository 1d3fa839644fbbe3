"""The user's cache folder, and texts in it that take seconds to make."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from finegold.errors import OutputError
from finegold.system.files import reserved

__all__ = ["cached_text", "system_cache_folder"]


def system_cache_folder() -> Path:
    """Return Finegold's folder in the place where the system keeps caches."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "finegold" / "Cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "finegold"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "finegold"


def cached_text(name: str, make: Callable[[], str]) -> str:
    """Return the text of this name from the cache folder. If it is missing or damaged, make it and store it."""
    path = system_cache_folder() / name
    with suppress(OSError, ValueError):
        return _checked(path.read_bytes())
    text = make()
    with suppress(OSError, OutputError):  # without a writable folder, each process makes it
        _store(path, text)
    return text


def _checked(data: bytes) -> str:
    digest, _, text = data.partition(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != digest:
        raise ValueError("the file is damaged")
    return text.decode()


def _store(path: Path, text: str) -> None:
    data = text.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    with reserved(path) as temporary:
        temporary.write_bytes(hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
        temporary.replace(path)
