"""The command line. This file loads nothing but itself, and each command loads what it needs when it runs."""

from __future__ import annotations

import sys
from contextlib import suppress
from io import UnsupportedOperation

__all__ = ["main"]


def main() -> None:
    from karat.cli import standard

    with suppress(UnsupportedOperation):  # the streams are no files, as in tests
        standard.set_up()
    try:
        code = _run()
    except KeyboardInterrupt as error:  # while modules are loaded
        code = _ended(error)
    raise SystemExit(code)


def _run() -> int | str | None:
    try:
        from karat.cli.app import app

        app()
    except SystemExit as ended:
        return _flushed(ended.code)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also a panic in Rust, which is no Exception
        return _ended(error)
    return 0


def _flushed(code: int | str | None) -> int | str | None:
    """Output that cannot be written makes a run fail; a reader that has had enough does not."""
    from karat.cli.standard import reader_is_gone

    try:
        sys.stdout.flush()
    except OSError as error:
        return _ended(error)
    return 0 if reader_is_gone() and code == 1 else code


def _ended(error: BaseException) -> int:
    from karat.cli.guard import ended

    return ended(error)
