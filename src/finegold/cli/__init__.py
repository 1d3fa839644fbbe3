"""The command line. Importing this module is cheap: each command imports what it needs when it runs."""

from __future__ import annotations

import sys
from contextlib import suppress
from io import UnsupportedOperation

__all__ = ["main"]


def main() -> None:
    from finegold.cli import standard

    with suppress(UnsupportedOperation):  # the streams are not files, for example in tests
        standard.set_up()
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
    from finegold.cli.standard import reader_is_gone

    try:
        sys.stdout.flush()
    except OSError as error:
        return _report_error(error)
    return 0 if reader_is_gone() and code == 1 else code


def _report_error(error: BaseException) -> int:
    from finegold.cli.guard import report_error

    return report_error(error)
