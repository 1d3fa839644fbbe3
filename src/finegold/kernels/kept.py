"""Compile with Numba, and keep the machine code on disk with a checksum. Imported when a kernel is
first called.

Numba's own cache does not survive damage: a file that a crash has cut short, or a full disk, ends
this run with an error, and every later one (tests/kernels/test_kept_code.py fails with it). It also
lets processes that start at the same time compile the same kernels side by side.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import caching, event
from numba.extending import intrinsic as as_intrinsic

from finegold.errors import FinegoldWarning, OutputError
from finegold.kernels.jit import WATCH
from finegold.system.locks import locked

DIGEST = hashlib.sha256().digest_size
_warned: set[str] = set()
# Numba has no type hints
_Cache: Any = caching.FunctionCache
_File: Any = caching.IndexDataCacheFile
_Listener: Any = event.Listener


class _Compilations(_Listener):  # type: ignore[misc]
    """Hears of every kernel that is compiled, and not of those that are loaded from disk."""

    def on_start(self, event: Any) -> None:
        WATCH.start()

    def on_end(self, event: Any) -> None:
        WATCH.end()


event.register("numba:compile", _Compilations())  # type: ignore[no-untyped-call]


def compiled(
    function: Callable[..., Any],
    *,
    fastmath: set[str] | None = None,
    inlined: bool = False,
    intrinsic: bool = False,
) -> Any:
    """Return the function as Numba compiles it; machine code is kept unless it is a part of other
    kernels.
    """
    if intrinsic:
        return as_intrinsic(function)
    if inlined:
        return numba.njit(inline="always")(function)
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath or False)(
        function
    )
    # neither the package folder nor the home folder is writable
    with suppress(RuntimeError):
        KeptCode(function).attach(dispatcher)
    return dispatcher


class CheckedFile(_File):  # type: ignore[misc]
    def _save_data(self, name: str, data: Any) -> None:
        code = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(code).digest() + code)

    def _load_data(self, name: str) -> Any:
        content = Path(self._data_path(name)).read_bytes()
        if hashlib.sha256(content[DIGEST:]).digest() != content[:DIGEST]:
            raise ValueError(f"{name} is damaged")
        # Numba's own file, which this user can write
        return pickle.loads(content[DIGEST:])


class KeptCode(_Cache):  # type: ignore[misc]
    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = CheckedFile(
            cache_path=self._cache_path,
            # files of Numba's own cache have no checksum
            filename_base=f"{self._impl.filename_base}.finegold",
            source_stamp=self._impl.locator.get_source_stamp(),
        )
        # held while this process compiles
        self._lock = ExitStack()

    def attach(self, dispatcher: Any) -> None:
        compile = dispatcher._compiler.compile

        def compile_or_release(*arguments: Any) -> Any:
            try:
                return compile(*arguments)
            except BaseException:
                # also Ctrl-C: other processes must not wait for code that will not come
                self._lock.close()
                raise

        dispatcher._cache, dispatcher._compiler.compile = self, compile_or_release

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Load the code, or else wait until no other process compiles it, and look again."""
        code = self._load(signature, target)
        if code is None and self._enabled:
            version = hashlib.sha256(str(signature).encode()).hexdigest()[:16]
            # if nothing can be written there, save_overload says so
            with suppress(OSError, OutputError):
                self._impl.locator.ensure_cache_path()
                target_file = Path(self._cache_path) / f"{self._impl.filename_base}.{version}"
                self._lock.enter_context(locked(target_file, wait=lambda _: None))
            code = self._load(signature, target)
            if code is not None:
                self._lock.close()
        return code

    def _load(self, signature: Any, target: Any) -> Any:
        try:
            return super().load_overload(signature, target)
        except Exception as error:
            # a damaged pickle may raise anything
            self._warn("the compiled code in", "is damaged", error, "it is compiled again")
            try:
                self.flush()
            except OSError:
                self.disable()
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        try:
            super().save_overload(signature, code)
        except Exception as error:
            self._warn("compiled code cannot be stored in", "", error, "each run compiles it again")
            self.disable()
        finally:
            self._lock.close()

    def _warn(self, problem: str, state: str, error: Exception, consequence: str) -> None:
        """Warn once per folder and problem, not once per function."""
        about = " ".join(filter(None, (problem, self._cache_path, state)))
        if about not in _warned:
            _warned.add(about)
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            warnings.warn(f"{about} ({reason}); {consequence}", FinegoldWarning, stacklevel=2)
