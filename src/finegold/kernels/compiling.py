"""Compile kernels when they are first called, say so, give loops a length that the compiler knows,
and use threads.

That kernels are being compiled is shown on the displays that are open, otherwise in the log, once.
The log is Python's own, under the name "finegold": without any set-up, its warnings are printed to
standard error.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial, update_wrapper
from threading import RLock
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from finegold.errors import InputError, warn_user

Given = ParamSpec("Given")
Job = TypeVar("Job")
Returned = TypeVar("Returned")

# Numba converts uint64 + int64 to a float, so unsigned counters need unsigned constants.
ZERO, ONE = np.uint64(0), np.uint64(1)

# Sums may be reordered and multiplications fused. Infinities stay valid, because log-probabilities
# have them.
FAST_SUMS = {"reassoc", "contract", "nsz", "arcp"}
IN_ORDER = {"contract", "nsz"}

MAX_UNROLLED = 8
COMPILING = "compiling for votes like these, once on this machine ..."

_lock, _displays = RLock(), list[Callable[[str], None]]()


class Kernel(Generic[Given, Returned]):
    """A function that is compiled when it is first called, because importing Numba takes a third of
    a second. Machine code runs without the interpreter lock, and is kept on disk.
    """

    def __init__(self, function: Callable[Given, Returned], **how: Any) -> None:
        self.py_func, self.how = function, how
        self.compiled: Any = None
        update_wrapper(self, function)

    def __call__(self, *given: Given.args, **named: Given.kwargs) -> Returned:
        kernel = self.compiled or self.compile()
        returned: Returned = kernel(*given, **named)
        return returned

    def compile(self) -> Any:
        import numba

        with _lock:
            # Numba knows compiled functions only: replace the kernels that this one calls
            names: dict[str, Any] = getattr(self.py_func, "__globals__", {})
            for name in self.py_func.__code__.co_names:
                if isinstance(names.get(name), Kernel):
                    names[name] = names[name].compile()
            if self.compiled is None:
                listen()
                made: Any = numba.njit(error_model="numpy", **self.how)(self.py_func)
                # the folder of the package and the home folder may both be read-only
                with suppress(RuntimeError):
                    made.enable_caching()
                    _guard(made._cache)
                self.compiled = made
            return self.compiled


def _guard(kept: Any) -> None:
    """Compile again if Numba's file is damaged, which ends the program otherwise (its issue 10434)."""

    def guarded(work: Callable[..., Any], consequence: str) -> Callable[..., Any]:
        def work_or_warn(*given: Any) -> Any:
            try:
                return work(*given)
            except Exception as error:
                # a damaged pickle may raise anything, a full disk an OSError
                _warn_once(f"the compiled code in {kept.cache_path} {consequence}", str(error))
                with suppress(OSError):
                    kept.flush()
                return None

        return work_or_warn

    kept.load_overload = guarded(kept.load_overload, "is damaged and compiled again")
    kept.save_overload = guarded(kept.save_overload, "cannot be stored")


@cache
def _warn_once(problem: str, reason: str) -> None:
    warn_user(f"{problem} ({reason})")


# Decorators
kernel = partial(Kernel, nogil=True, fastmath=FAST_SUMS)
# sums keep the order in which they are written
kernel_as_written = partial(Kernel, nogil=True, fastmath=IN_ORDER)


def fixed_length(n: int) -> Any:
    """Return an object of length n: a tuple if n is small, so that `len` is a constant for the
    compiler.
    """
    # A loop over 3 classes takes half the time if its length is known. Numba compiles one version
    # for each tuple length, and one for all longer (array) ones.
    return tuple(range(n)) if n <= MAX_UNROLLED else np.arange(n)


def thread_count(threads: int | None = None) -> int:
    """Return the given number of threads, else FINEGOLD_THREADS, else the number of cores that this
    process may use.
    """
    asked = threads if threads is not None else os.environ.get("FINEGOLD_THREADS")
    if asked is None:
        able = getattr(os, "sched_getaffinity", None)
        return len(able(0)) if able else os.cpu_count() or 1
    number = int(asked) if str(asked).isdecimal() else 0
    if number < 1:
        raise InputError(
            f"the number of threads must be a whole number of at least 1, not {asked!r}"
        )
    return number


def in_threads(step: Callable[[Job], Returned], jobs: Iterable[Job]) -> list[Returned]:
    """Return step(job) for every job, in their order."""
    jobs = list(jobs)
    if len(jobs) == 1 or thread_count() == 1:
        return [step(job) for job in jobs]
    with ThreadPoolExecutor(thread_count()) as pool:
        return list(pool.map(step, jobs))


@contextmanager
def compiling(show: Callable[[str], None]) -> Iterator[None]:
    """Show a message while a kernel is compiled. Only the first run compiles; later runs load the
    kernel from disk.
    """
    _displays.append(show)
    try:
        yield
    finally:
        _displays.remove(show)


@cache
def listen() -> None:
    """Say when a kernel is compiled; those loaded from disk are not."""
    from numba.core import event

    class Compilations(event.Listener):
        def on_start(self, event: Any) -> None:
            say_compiling()

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Compilations())  # type: ignore[no-untyped-call]


def say_compiling() -> None:
    for show in _displays:
        show(COMPILING)
    if not _displays:
        _log_once(COMPILING)


@cache
def _log_once(words: str) -> None:
    logging.getLogger("finegold").warning("finegold: %s", words)
