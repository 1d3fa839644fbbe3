"""Workbooks: a sheet becomes comma-separated text, in a process of its own.

The library allocates every cell up to the last one that a sheet names. A stray cell in XFD1048576
asks for 549 GB, which ends the process, and comes by accident. So this module runs as a program
with bounded memory and time.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from finegold.errors import InputError
from finegold.system.memory import available_memory, in_words

SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
# between the path of a workbook and the name of a sheet
SHEET_MARK = "#"
# of address space, the libraries included
MAX_BYTES = 2**32
# besides a second per megabyte
MAX_SECONDS = 60
# the exit code if the library fails; the process also ends by a signal
FAILED = 1


def read_sheet(name: str, data: Path | bytes, sheet: str | None = None) -> tuple[str, bytes]:
    """Return the name and the text of a sheet, or of the only one that is not empty."""
    found, text = _run(name, data, sheet)
    names, filled = (", ".join(f'"{each}"' for each in found[key]) for key in ("sheets", "filled"))
    if len(found["filled"]) == 1:
        return found["filled"][0], text
    if filled:
        book = "FILE" if isinstance(data, bytes) else name
        problem = f"holds the sheets {filled}; choose one: {book}{SHEET_MARK}{found['filled'][0]}"
    elif not names:
        problem = "is a workbook without sheets; expected one with a table of votes"
    elif sheet is None or sheet in found["sheets"]:
        empty = f'the sheet "{sheet or found["sheets"][0]}" is empty'
        raise InputError(f"{name}: {empty}; expected a table with a header")
    else:
        problem = f'has no sheet "{sheet}"; it has {names}'
    raise InputError(f"{name} {problem}")


def find_sheets(name: str, data: Path | bytes) -> list[str]:
    """Return the names of the sheets that are not empty."""
    filled: list[str] = _run(name, data, None)[0]["filled"]
    return filled


def _run(name: str, data: Path | bytes, sheet: str | None) -> tuple[dict[str, Any], bytes]:
    """Return what the process finds, and the text of the only sheet that is not empty."""
    if importlib.util.find_spec("fastexcel") is None:
        raise InputError(f"{name} is a workbook; to read it: pip install 'finegold[excel]'")
    content = data if isinstance(data, bytes) else data.read_bytes()
    max_bytes = int(min(MAX_BYTES, available_memory()))
    seconds = MAX_SECONDS + len(content) / 1e6
    # the stacks of many threads count as memory, and Rust's backtrace does not end without any
    own = {"POLARS_MAX_THREADS": "1", "RUST_BACKTRACE": "0"}
    own["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    program = [sys.executable, "-P", "-m", __name__, json.dumps([sheet, max_bytes])]
    output = b""
    with suppress(subprocess.TimeoutExpired):
        options: dict[str, Any] = {"capture_output": True, "env": os.environ | own}
        done = subprocess.run(program, input=content, timeout=seconds, check=False, **options)
        output = done.stdout
        if done.returncode == 0:
            found, _, text = output.partition(b"\n")
            return json.loads(found), text
        if done.returncode == FAILED and output:
            reason = " ".join(output.decode().partition("Context:")[0].split())[:120]
            raise InputError(f"{name} is a damaged workbook ({reason}); save it again, or as CSV")
    raise InputError(
        f"{name} is damaged, or its cells lie too far apart: it cannot be read with"
        f" {in_words(max_bytes)} of memory in {seconds:.0f} seconds; save the sheet as CSV"
    )


def main() -> None:
    """Write what `_run` returns to standard output, or the reason why the library failed."""
    sheet, max_bytes = json.loads(sys.argv[1])
    # Windows has no such limits, and macOS ignores this one
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (max_bytes, max_bytes))
    code = FAILED
    try:
        import fastexcel

        book = fastexcel.read_excel(sys.stdin.buffer.read())
        names = [name for name in book.sheet_names if sheet in (None, name)]
        # every cell as text, 2 and not 2.0
        options: dict[str, Any] = {"header_row": None, "dtypes": "string"}
        tables = {name: book.load_sheet(name, **options).to_polars() for name in names}
        filled = [name for name, table in tables.items() if not table.is_empty()]
        output = json.dumps({"sheets": book.sheet_names, "filled": filled}).encode() + b"\n"
        if len(filled) == 1:
            rows = tables[filled[0]]
            rows = rows.select(cells for cells in rows if cells.null_count() < len(cells))
            output += rows.write_csv(include_header=False).encode()
        code = 0
    except MemoryError:
        output = b""
    except BaseException as error:
        # a panic of Rust is not an Exception
        output = (str(error) or type(error).__name__).encode()
    sys.stdout.buffer.write(output)
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
