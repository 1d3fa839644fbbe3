"""The command line. Importing this module is cheap: each command imports what it needs when it
runs.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

__all__ = ["main"]

# bytes of address space (`ulimit -v`): what libraries need with small pools, and with usual ones
LEAST_BYTES, USUAL_BYTES = 700 * 2**20, 4 * 2**30
# MALLOC_ARENA_MAX is read when a process starts
SMALL_POOLS = {
    "MALLOC_ARENA_MAX": "1",
    "POLARS_MAX_THREADS": "2",
    "OPENBLAS_NUM_THREADS": "1",
    "RUST_MIN_STACK": str(2**20),
}


def main() -> None:
    code: int | str | None = 0
    # characters that the terminal's encoding lacks are replaced
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    fit_into_little_memory()
    try:
        from finegold.cli.app import app

        try:
            app(prog_name="finegold")
        except SystemExit as ended:
            code = ended.code
        if sys.stdout is not None:
            sys.stdout.flush()
    except BaseException as error:
        # Ctrl-C while modules are imported; a panic in Rust does not derive from Exception
        from finegold.cli.outputs import report_error

        code = report_error(error)
    raise SystemExit(code)


def fit_into_little_memory() -> None:
    """Start again with small pools where the address space is limited: libraries would abort."""
    # Windows has no such limits
    with suppress(ImportError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        if most == resource.RLIM_INFINITY or most >= USUAL_BYTES:
            return
        if most < LEAST_BYTES:
            sizes = f"{LEAST_BYTES >> 20:,} MiB of address space, and the limit is {most >> 20:,}"
            print(f"error: Finegold needs {sizes} MiB; raise it (ulimit -v)", file=sys.stderr)
            raise SystemExit(2)
        if "MALLOC_ARENA_MAX" not in os.environ:
            words = [sys.executable, "-m", "finegold", *sys.argv[1:]]
            os.execve(sys.executable, words, SMALL_POOLS | os.environ)
