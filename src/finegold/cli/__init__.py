"""The command line. Importing this module is cheap: each command imports what it needs when it
runs.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["main"]


def main() -> None:
    # the streams are not files, for example in tests
    with suppress(io.UnsupportedOperation):
        set_up_streams()
    code: int | str | None = 0
    try:
        from finegold.cli.app import app

        try:
            app()
        except SystemExit as ended:
            code = ended.code
        sys.stdout.flush()
    except BaseException as error:
        # Ctrl-C while modules are imported; a panic in Rust does not derive from Exception
        from finegold.cli.outputs import report_error

        raise SystemExit(report_error(error)) from None
    stream = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    raise SystemExit(0 if getattr(stream, "reader_is_gone", False) and code == 1 else code)


# ---- Standard streams may be closed, or writing to them may fail (closed pipe, full disk)


class Stream(io.FileIO):
    """An output stream that raises the first write error, if output is required, and then discards
    all output.
    """

    def __init__(self, number: int, *, is_open: bool, must_arrive: bool) -> None:
        super().__init__(number, "wb", closefd=False)
        self.is_open, self.must_arrive, self.reader_is_gone = is_open, must_arrive, False

    def write(self, data: Any) -> int:
        if not self.is_open and not self.must_arrive:
            return len(data)
        try:
            if not self.is_open:
                raise OSError(errno.EBADF, "standard output is closed")
            return super().write(data)
        except OSError as error:
            is_required, self.is_open, self.must_arrive = self.must_arrive, False, False
            is_closed_pipe_on_windows = sys.platform == "win32" and error.errno == errno.EINVAL
            self.reader_is_gone = isinstance(error, BrokenPipeError) or is_closed_pipe_on_windows
            if is_required:
                raise
            return len(data)


def set_up_streams() -> None:
    """Replace the standard streams. A write error on standard output is raised; one on standard
    error is ignored.

    Output is buffered even if PYTHONUNBUFFERED is set, because a large unbuffered write may be cut
    short without an error. Characters that the encoding lacks are replaced. Streams that are not
    files, for example in tests, raise io.UnsupportedOperation and stay.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.fileno()
    is_open = []
    for number in range(3):
        try:
            os.fstat(number)
            is_open.append(True)
        except OSError:
            is_open.append(False)
            # takes the lowest free number, so that no other file gets it
            os.open(os.devnull, os.O_RDWR)
    if not is_open[0]:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    for number, name, errors in ((1, "stdout", "replace"), (2, "stderr", "backslashreplace")):
        raw = Stream(number, is_open=is_open[number], must_arrive=number == 1)
        encoding, by_line = (
            getattr(getattr(sys, name), "encoding", None) or "utf-8",
            number == 2 or raw.isatty(),
        )
        text = io.TextIOWrapper(
            io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=by_line
        )
        setattr(sys, name, text)
