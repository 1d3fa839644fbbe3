"""What the shell would offer after some words of a command line."""

from __future__ import annotations

import typer
from typer.testing import CliRunner


def completions(app: typer.Typer, words: str) -> set[str]:
    """Ask as bash does: with the words of the line, and the number of the word that is to be completed."""
    line = f"finegold {words}"
    asked = {"_FINEGOLD_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    return set(CliRunner().invoke(app, [], prog_name="finegold", env=asked).stdout.split())
