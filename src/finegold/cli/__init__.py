"""The command line. Importing this module is cheap: each command imports what it needs when it
runs.
"""

from __future__ import annotations

import io
import sys

__all__ = ["main"]


def main() -> None:
    code: int | str | None = 0
    # characters that the terminal's encoding lacks are replaced
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
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
