"""The command line. Importing this module is cheap: each command imports what it needs when it runs."""

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
    with suppress(io.UnsupportedOperation):  # the streams are not files, for example in tests
        set_up_streams()
    try:
        code = _run()
    except KeyboardInterrupt as error:  # while modules are imported
        code = _report_error(error)
    raise SystemExit(code)


def _run() -> int | str | None:
    try:
        from finegold.cli.app import app

        app()
    except SystemExit as ended:
        return _flush(ended.code)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also a panic in Rust, which does not derive from Exception
        return _report_error(error)
    return 0


def _flush(code: int | str | None) -> int | str | None:
    """Flush standard output and return the exit code. A failed write is an error, a closed pipe is not."""
    try:
        sys.stdout.flush()
    except OSError as error:
        return _report_error(error)
    stream = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return 0 if getattr(stream, "reader_is_gone", False) and code == 1 else code


def _report_error(error: BaseException) -> int:
    from finegold.cli.messages import report_error

    return report_error(error)


# ---- Standard streams may be closed, or writing to them may fail (closed pipe, full disk)


class Stream(io.RawIOBase):
    """An output stream that raises the first write error, if output is required, and then discards all output."""

    def __init__(self, number: int, *, is_open: bool, must_arrive: bool) -> None:
        self._raw: Any = open(number, "wb", buffering=0, closefd=False)  # noqa: SIM115  # stays open until the process ends
        self.is_open, self.must_arrive, self.reader_is_gone = is_open, must_arrive, False

    def write(self, data: Any) -> int:
        if not self.is_open and not self.must_arrive:
            return len(data)
        try:
            return self._write(data)
        except OSError as error:
            is_required, self.is_open, self.must_arrive = self.must_arrive, False, False
            self.reader_is_gone = isinstance(error, BrokenPipeError) or _is_closed_pipe_on_windows(error)
            if is_required:
                raise
            return len(data)

    def _write(self, data: Any) -> int:
        if not self.is_open:
            raise OSError(errno.EBADF, "standard output is closed")
        written: int = self._raw.write(data)
        return written

    def fileno(self) -> int:
        number: int = self._raw.fileno()
        return number

    def isatty(self) -> bool:
        return self.is_open and bool(self._raw.isatty())

    def writable(self) -> bool:
        return True


def set_up_streams() -> None:
    """Replace the standard streams. A write error on standard output is raised; one on standard error is ignored.

    Output is buffered even if PYTHONUNBUFFERED is set, because a large unbuffered write may be cut short without an
    error. Streams that are not files, for example in tests, raise io.UnsupportedOperation and are not replaced.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.fileno()
    is_open = [_is_open(number) for number in range(3)]
    for number in range(3):
        if not is_open[number]:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, so that no other file gets it
    if not is_open[0]:
        sys.stdin = Path(os.devnull).open(encoding="utf-8")  # noqa: SIM115
    sys.stdout = _text(Stream(1, is_open=is_open[1], must_arrive=True), sys.stdout, "replace")
    sys.stderr = _text(Stream(2, is_open=is_open[2], must_arrive=False), sys.stderr, "backslashreplace")


def _is_closed_pipe_on_windows(error: OSError) -> bool:
    return sys.platform == "win32" and error.errno == errno.EINVAL


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _text(raw: Stream, before: Any, errors: str) -> io.TextIOWrapper:
    """Return a text stream that replaces characters that its encoding cannot represent."""
    encoding = getattr(before, "encoding", None) or "utf-8"
    line_by_line = not raw.must_arrive or raw.isatty()
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding=encoding, errors=errors, line_buffering=line_by_line)
