"""Run a function in a child process whose memory and time are bounded.

Libraries that parse workbooks, zstd and Arrow streams believe what a file declares: a few kilobytes
can ask for 549 GB, or for a loop without end, and no `except` catches a compiled library that
aborts. A child process bears it instead.

The child is a fresh interpreter: not a fork, which threads do not survive, and not
`multiprocessing`, which would run the user's script again. It has the `sys.path` of its parent and
nothing else of it. A job arrives as one line of JSON, followed by the content of the file unless
there is a path. What the job writes comes back as bytes, followed by one line of JSON: facts, or an
error as data. Nothing is pickled.

Where the system bounds address space (Linux), the child bounds its own. Elsewhere its parent looks
at its memory a few times per second. The time is bounded everywhere.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, NamedTuple, NoReturn

from finegold.errors import InputError, Remedy
from finegold.system.memory import available_memory

BOOT = (
    "import json, sys; job = json.loads(sys.stdin.buffer.readline()); sys.path[:] = job['path']; "
    "from finegold.system.child import answer; answer(job)"
)
SECONDS_BETWEEN_LOOKS = 0.2
# macOS accepts the limit and ignores it
IS_BOUNDED_BY_SYSTEM = sys.platform == "linux"


class Answer(NamedTuple):
    content: bytes
    facts: Mapping[str, Any]


class ExhaustedError(Exception):
    """The child needed more memory or more time than it was given, or the library ended it."""


class FailedError(Exception):
    """The library raised an error in the child; the message is the library's."""


def run_in_child(
    job: str, data: Path | bytes, *arguments: Any, max_bytes: float, max_seconds: float
) -> Answer:
    """Run `job`, "module:function", as function(data, output, *arguments), and return what it
    writes to `output`.
    """
    # `max_bytes` bounds addresses; infinity leaves them to the limits that this process has itself.
    # Raise the InputError that it raises, a FailedError for any other error, and an ExhaustedError
    # if it exceeds its bounds or is ended by the library.
    module, _, function = job.partition(":")
    max_bytes = max_bytes if max_bytes == math.inf else min(max_bytes, available_memory())
    where = {"path": sys.path, "module": module, "function": function, "arguments": arguments}
    file = None if isinstance(data, bytes) else os.fspath(data)
    # which takes as long as reading a small file
    from multiprocessing.spawn import get_executable

    order = {**where, "file": file, "bytes": max_bytes, "seconds": max_seconds}
    line = json.dumps(order).encode() + b"\n"
    with subprocess.Popen(
        [get_executable(), "-I", "-c", BOOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        # a panic of Rust writes pages
        stderr=subprocess.DEVNULL,
        # The stacks of many threads count as memory, too, and Rust's backtrace never ends without
        # memory.
        env={**os.environ, "POLARS_MAX_THREADS": "1", "RUST_BACKTRACE": "0"},
    ) as process:
        is_over, end = Event(), time.monotonic() + max_seconds

        def kill_in_time() -> None:
            """Kill the child if it takes too long, or more memory than it may where the system does
            not see to that.
            """
            while not is_over.wait(min(SECONDS_BETWEEN_LOOKS, max_seconds)):
                is_large = not IS_BOUNDED_BY_SYSTEM and resident_bytes(process.pid) > max_bytes
                if is_large or time.monotonic() > end:
                    process.kill()
                    return

        guard = Thread(target=kill_in_time)
        guard.start()
        try:
            output, _ = process.communicate(line + data if isinstance(data, bytes) else line)
        finally:
            is_over.set()
            guard.join()
            process.kill()
    content, _, last = output.rpartition(b"\n")
    if process.returncode or not last:
        raise ExhaustedError(f"the process ended with {process.returncode}")
    report = json.loads(last)
    if "error" in report:
        problem, where, remedies = report["error"]
        raise InputError(problem, where, [Remedy(*remedy) for remedy in remedies])
    if "failure" in report:
        raise FailedError(report["failure"])
    return Answer(content, report["facts"])


def resident_bytes(process: int) -> int:
    """Return the memory that another process uses, or 0 if the system does not say."""
    if sys.platform == "win32":
        import ctypes

        # PROCESS_MEMORY_COUNTERS: two 32-bit numbers, then sizes
        counters = (ctypes.c_size_t * 10)()
        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.OpenProcess.restype = ctypes.c_void_p
        # PROCESS_QUERY_LIMITED_INFORMATION
        handle = ctypes.c_void_p(kernel.OpenProcess(0x1000, False, process))
        is_known = kernel.K32GetProcessMemoryInfo(
            handle, ctypes.byref(counters), ctypes.sizeof(counters)
        )
        kernel.CloseHandle(handle)
        # WorkingSetSize
        return int(counters[2]) if is_known else 0
    done = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, check=False
    )
    return 1024 * int(done.stdout.strip() or 0)


def answer(job: dict[str, Any]) -> NoReturn:
    with os.fdopen(os.dup(1), "wb") as output:
        # whatever a library prints does not belong to the answer
        os.dup2(2, 1)
        try:
            function = getattr(importlib.import_module(job["module"]), job["function"])
            data = sys.stdin.buffer.read() if job["file"] is None else Path(job["file"])
            # bound what this process may use; the time, too, if the parent dies
            if sys.platform != "win32":
                import resource

                with suppress(OSError, ValueError):
                    resource.setrlimit(resource.RLIMIT_CPU, (int(job["seconds"]) + 1,) * 2)
                    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
                    if job["bytes"] < 2**62:
                        most = pages * resource.getpagesize() + int(job["bytes"])
                        resource.setrlimit(resource.RLIMIT_AS, (most, most))
            report = {"facts": function(data, output, *job["arguments"])}
        except InputError as error:
            remedies = [
                (dict(remedy.options), remedy.when, remedy.text) for remedy in error.remedies
            ]
            report = {"error": (error.problem, error.where, remedies)}
        except MemoryError:
            os._exit(1)
        except BaseException as error:
            # a panic of Rust is not an Exception
            report = {"failure": " ".join(str(error).split()) or type(error).__name__}
        output.write(b"\n" + json.dumps(report).encode())
    os._exit(0)
