"""Compile kernels when they are first called, say so, give loops a length that the compiler knows,
and use threads.

That kernels are being compiled is shown on the displays that are open, otherwise in the log, once.
The log is Python's own, under the name "finegold": without any set-up, its warnings are printed to
standard error.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, partial, update_wrapper
from itertools import pairwise
from threading import RLock, Timer
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


class Kernel(Generic[Given, Returned]):
    """A function that is compiled when it is first called, because importing Numba takes a third of
    a second.
    """

    # Kernels that it calls are replaced by compiled ones in the module that names them: Numba knows
    # no other functions.

    def __init__(self, function: Callable[Given, Returned], **how: Any) -> None:
        self.py_func, self.how = function, how
        self.compiled: Any = None
        update_wrapper(self, function)

    def __call__(self, *given: Given.args, **named: Given.kwargs) -> Returned:
        kernel = self.compiled or self.compile()
        try:
            returned: Returned = kernel(*given, **named)
        except RecursionError:
            # Numba compiles for these arguments, deep in the caller's stack: start with an empty one
            with ThreadPoolExecutor(1) as pool:
                returned = pool.submit(kernel, *given, **named).result()
        return returned

    def compile(self) -> Any:
        with _compiling:
            names: dict[str, Any] = getattr(self.py_func, "__globals__", {})
            for name in self.py_func.__code__.co_names:
                if isinstance(names.get(name), Kernel):
                    names[name] = names[name].compile()
            self.compiled = self.compiled or _compiled(self.py_func, **self.how)
            return self.compiled


_compiling = RLock()


def _compiled(
    function: Callable[..., Any],
    *,
    fastmath: set[str] | None = None,
    inlined: bool = False,
) -> Any:
    """Return the function as Numba compiles it. Machine code is kept on disk."""
    import numba

    _listen()
    if inlined:
        return numba.njit(inline="always")(function)
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy", fastmath=fastmath or False)(
        function
    )
    # neither the package folder nor the home folder is writable
    with suppress(RuntimeError):
        dispatcher.enable_caching()
        _guard(dispatcher._cache)
    return dispatcher


@cache
def _listen() -> None:
    """Tell WATCH of every kernel that is compiled; those loaded from disk are not."""
    from numba.core import event

    class Compilations(event.Listener):
        def on_start(self, event: Any) -> None:
            WATCH.start()

        def on_end(self, event: Any) -> None:
            WATCH.end()

    event.register("numba:compile", Compilations())  # type: ignore[no-untyped-call]


def _guard(kept: Any) -> None:
    """Compile again if Numba's file is damaged, which ends the program otherwise (its issue 10434)."""
    load, save = kept.load_overload, kept.save_overload

    def load_or_compile(signature: Any, target: Any) -> Any:
        try:
            return load(signature, target)
        except Exception as error:
            # a damaged pickle may raise anything
            _warn(f"the compiled code in {kept.cache_path} is damaged", error, "compiled again")
            with suppress(OSError):
                kept.flush()
            return None

    def save_or_not(signature: Any, code: Any) -> None:
        try:
            save(signature, code)
        except Exception as error:
            _warn(f"compiled code cannot be stored in {kept.cache_path}", error, "not kept")
            kept.disable()

    kept.load_overload, kept.save_overload = load_or_compile, save_or_not


def _warn(problem: str, error: Exception, consequence: str) -> None:
    """Warn once per folder and problem, not once per function."""
    if problem not in _warned:
        _warned.add(problem)
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        warn_user(f"{problem} ({reason}); it is {consequence}")


_warned: set[str] = set()

# Decorators. Kernels run without the interpreter lock, are kept on disk, and divide as NumPy does.
kernel = partial(Kernel, fastmath=FAST_SUMS)
# sums keep the order in which they are written
kernel_as_written = partial(Kernel, fastmath=IN_ORDER)
# copied into its callers, which takes less time than compiling and linking it
inlined = partial(Kernel, inlined=True)


def fixed_length(n: int) -> Any:
    """Return an object of length n: a tuple if n is small, so that `len` is a constant for the
    compiler.
    """
    # A loop over 3 classes takes half the time if its length is known. Numba compiles one version
    # for each tuple length, and one for all longer (array) ones.
    return tuple(range(n)) if n <= MAX_UNROLLED else np.arange(n)


MIN_ROWS_PER_THREAD = 2**18


def thread_count(threads: int | None = None) -> int:
    """Return the given number of threads, else FINEGOLD_THREADS, else the number of cores that this
    process may use.
    """
    asked = threads if threads is not None else os.environ.get("FINEGOLD_THREADS")
    if asked is None:
        return (
            len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count() or 1
        )
    try:
        number = int(asked)
    except ValueError:
        number = 0
    if number < 1:
        raise InputError(
            f"the number of threads must be a whole number of at least 1, not {asked!r}"
        )
    return number


def ranges(n: int, fewest: int = MIN_ROWS_PER_THREAD) -> list[tuple[int, int]]:
    """Split 0 ... n into as many equal ranges as there are threads, but not into ranges of few
    rows.
    """
    parts = max(min(thread_count(), n // fewest), 1)
    return list(pairwise(np.linspace(0, n, parts + 1).astype(int).tolist()))


def in_threads(step: Callable[[Job], Returned], jobs: Iterable[Job]) -> list[Returned]:
    """Return step(job) for every job, in their order."""
    jobs = list(jobs)
    if len(jobs) == 1 or thread_count() == 1:
        return [step(job) for job in jobs]
    with ThreadPoolExecutor(thread_count()) as pool:
        return list(pool.map(step, jobs))


COMPILING = "compiling for votes like these, once on this machine ..."
SECONDS_BEFORE_LOG = 1.0

_displays: list[Callable[[str], None]] = []


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


class Watch:
    """Add up the time of compilation. Numba compiles one kernel at a time, and calls these
    functions in between.
    """

    # a kernel compiles those that it calls
    depth, spent, began = 0, 0.0, 0.0
    timer: Timer | None = None
    is_logged = False

    def start(self) -> None:
        self.depth += 1
        for show in _displays:
            show(COMPILING)
        if self.depth > 1:
            return
        self.began = time.monotonic()
        if not _displays and not self.is_logged:
            self.timer = Timer(max(0.0, SECONDS_BEFORE_LOG - self.spent), self._log)
            self.timer.daemon = True
            self.timer.start()

    def end(self) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.spent += time.monotonic() - self.began
            if self.timer is not None:
                self.timer.cancel()

    def _log(self) -> None:
        self.is_logged = True
        logging.getLogger("finegold").warning("finegold: %s", COMPILING)


WATCH = Watch()
