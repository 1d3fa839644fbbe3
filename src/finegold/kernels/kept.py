"""Compile with Numba, and keep the machine code on disk with a checksum. Imported when a kernel is first called."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import caching
from numba.extending import intrinsic as as_intrinsic

from finegold.errors import FinegoldWarning, OutputError
from finegold.kernels.compiling import watch_compiler
from finegold.system.files import locked

watch_compiler()


def compiled(
    function: Callable[..., Any], *, fastmath: set[str] | None = None, inlined: bool = False, intrinsic: bool = False
) -> Any:
    """Return the function as Numba compiles it; machine code is kept unless it is a part of other kernels."""
    if intrinsic:
        return as_intrinsic(function)
    if inlined:
        return numba.njit(inline="always")(function)
    made: Any = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath or False)(function)
    with suppress(RuntimeError):  # neither the package folder nor the home folder is writable
        KeptCode(function).attach(made)
    return made


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
            filename_base=f"{self._impl.filename_base}.finegold",  # files of Numba's own cache have no checksum
            source_stamp=self._impl.locator.get_source_stamp(),
        )
        self._lock = ExitStack()  # held while this process compiles

    def attach(self, dispatcher: Any) -> None:
        """Make a compiled function use this cache."""
        compile = dispatcher._compiler.compile

        def compile_or_release(*arguments: Any) -> Any:
            try:
                return compile(*arguments)
            except BaseException:  # also Ctrl-C: other processes must not wait for code that will not come
                self._lock.close()
                raise

        dispatcher._cache, dispatcher._compiler.compile = self, compile_or_release

    def load_overload(self, signature: Any, target: Any) -> Any:
        found = self._load(signature, target)
        if found is None and self._enabled:
            self._wait_for_others(signature)
            found = self._load(signature, target)
            if found is not None:
                self._lock.close()
        return found

    def save_overload(self, signature: Any, code: Any) -> None:
        try:
            super().save_overload(signature, code)
        except Exception as error:
            _tell(f"compiled code cannot be stored in {self._cache_path} ({_said(error)}); each run compiles it again")
            self.disable()
        finally:
            self._lock.close()

    def _wait_for_others(self, signature: Any) -> None:
        version = hashlib.sha256(str(signature).encode()).hexdigest()[:16]
        with suppress(OSError, OutputError):  # if nothing can be written there, save_overload says so
            self._impl.locator.ensure_cache_path()
            target = Path(self._cache_path) / f"{self._impl.filename_base}.{version}"
            self._lock.enter_context(locked(target, wait=lambda _: None))

    def _load(self, signature: Any, target: Any) -> Any:
        try:
            return super().load_overload(signature, target)
        except Exception as error:  # a damaged pickle may raise anything
            _tell(f"the compiled code in {self._cache_path} is damaged ({_said(error)}); it is compiled again")
            self._begin_anew()
            return None

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
        warnings.warn(line, FinegoldWarning, stacklevel=2)
