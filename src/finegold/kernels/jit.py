"""Compile kernels, and give loops a length that the compiler knows."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import caching

from finegold.errors import FinegoldWarning, InputError, OutputError
from finegold.kernels.compiling import watch_compiler
from finegold.system.files import locked

__all__ = [
    "MAX_UNROLLED",
    "ONE",
    "ZERO",
    "KeptCode",
    "fixed_length",
    "in_threads",
    "inlined",
    "kernel",
    "kernel_as_written",
    "ranges",
    "thread_count",
]


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


Function = TypeVar("Function", bound=Callable[..., Any])

# Numba converts uint64 + int64 to a float, so unsigned counters need unsigned constants.
ZERO, ONE = np.uint64(0), np.uint64(1)

# Sums may be reordered and multiplications fused. Infinities stay valid, because log-probabilities have them.
FAST_SUMS = {"reassoc", "contract", "nsz", "arcp"}
IN_ORDER = {"contract", "nsz"}

MAX_UNROLLED = 8

watch_compiler()


def kernel(function: Function) -> Function:
    """Compile without the interpreter lock, cache the machine code on disk, and divide as NumPy does."""
    return _compile(function, FAST_SUMS)


def kernel_as_written(function: Function) -> Function:
    """The same, but sums keep the order in which they are written."""
    return _compile(function, IN_ORDER)


def inlined(function: Function) -> Function:
    """Copy the function into the kernels that call it, which takes less time than compiling it and then linking it."""
    return cast(Function, numba.njit(inline="always")(function))


def _compile(function: Function, fastmath: set[str]) -> Function:
    compiled: Any = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath)(function)
    with suppress(RuntimeError):  # neither the package folder nor the home folder is writable
        KeptCode(function).attach(compiled)
    return cast(Function, compiled)


def fixed_length(n: int) -> Any:
    """Return an object of length n: a tuple if n is small, so that `len` is a constant for the compiler.

    A loop over 3 classes takes half the time if its length is known. Numba compiles one version for each tuple length,
    and one for all longer (array) ones.
    """
    return tuple(range(n)) if n <= MAX_UNROLLED else np.arange(n)


Job = TypeVar("Job")
Found = TypeVar("Found")

MIN_ROWS_PER_THREAD = 2**18


def thread_count(threads: int | None = None) -> int:
    """Return the given number of threads, else FINEGOLD_THREADS, else the number of cores that this process may use."""
    asked = threads if threads is not None else os.environ.get("FINEGOLD_THREADS")
    if asked is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        number = int(asked)
    except ValueError:
        number = 0
    if number < 1:
        raise InputError(f"the number of threads must be a whole number of at least 1, not {asked!r}")
    return number


def ranges(n: int, fewest: int = MIN_ROWS_PER_THREAD) -> list[tuple[int, int]]:
    """Split 0 ... n into as many equal ranges as there are threads, but not into ranges of few rows."""
    parts = max(min(thread_count(), n // fewest), 1)
    return list(pairwise(np.linspace(0, n, parts + 1).astype(int).tolist()))


def in_threads(step: Callable[[Job], Found], jobs: Iterable[Job]) -> list[Found]:
    """Return step(job) for every job, in their order."""
    jobs = list(jobs)
    if len(jobs) == 1 or thread_count() == 1:
        return [step(job) for job in jobs]
    with ThreadPoolExecutor(thread_count()) as pool:
        return list(pool.map(step, jobs))
