"""The command line. This file loads nothing but itself, and each command loads what it needs when it runs."""

from __future__ import annotations

import sys
from contextlib import suppress

__all__ = ["main"]


def main() -> None:
    from karat.cli.app import app
    from karat.cli.guard import failed

    _buffer_output()
    try:
        app()
    except Exception as error:
        raise SystemExit(failed(error)) from None


def _buffer_output() -> None:
    """Under PYTHONUNBUFFERED one big write may end early without an error; a buffer writes all or raises.

    Shades that the terminal's encoding lacks become question marks.
    """
    with suppress(OSError, ValueError):  # where standard output is no file, as in tests
        sys.stdout = open(  # noqa: SIM115  # a file descriptor, and open until the end
            sys.stdout.fileno(), "w", encoding=sys.stdout.encoding, errors="replace", closefd=False
        )
