"""A cache of machine code on disk that detects damaged files and works without a writable disk.

Numba's own cache trusts its files: a truncated file ends a run with an exception of pickle, and a modified one may
crash it. Here every file has a checksum. On any error, a message is printed once and the function is compiled again.
"""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

from numba.core import caching

from karat.errors import KaratWarning

__all__ = ["KeptCode"]

DIGEST = hashlib.sha256().digest_size
_told: set[str] = set()
_File: Any = caching.IndexDataCacheFile  # Numba has no type hints
_Cache: Any = caching.FunctionCache


class CheckedFile(_File):  # type: ignore[misc]
    """Compiled code preceded by a checksum."""

    def _save_data(self, name: str, data: Any) -> None:
        code = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(code).digest() + code)

    def _load_data(self, name: str) -> Any:
        import pickle  # reads only Numba's own files, which this user can write

        found = Path(self._data_path(name)).read_bytes()
        digest, code = found[:DIGEST], found[DIGEST:]
        if hashlib.sha256(code).digest() != digest:
            raise ValueError(f"{name} is damaged")
        return pickle.loads(code)


class KeptCode(_Cache):  # type: ignore[misc]
    """The cache of one function."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = CheckedFile(
            cache_path=self._cache_path,
            filename_base=f"{self._impl.filename_base}.karat",  # files of Numba's own cache have no checksum
            source_stamp=self._impl.locator.get_source_stamp(),
        )

    def load_overload(self, signature: Any, target: Any) -> Any:
        try:
            return super().load_overload(signature, target)
        except Exception as error:  # a damaged pickle may raise anything
            _tell(f"the compiled code in {self._cache_path} is damaged ({_said(error)}); it is compiled again")
            self._begin_anew()
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        try:
            super().save_overload(signature, code)
        except Exception as error:
            _tell(f"compiled code cannot be stored in {self._cache_path} ({_said(error)}); each run compiles it again")
            self.disable()

    def _begin_anew(self) -> None:
        try:
            self.flush()
        except OSError:
            self.disable()


def _said(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _tell(line: str) -> None:
    """Print a message once per folder and problem, not once per function."""
    about = line.partition("(")[0]
    if about not in _told:
        _told.add(about)
        warnings.warn(line, KaratWarning, stacklevel=2)
