"""The command line in this very process, with standard output and standard error apart."""

from __future__ import annotations

from pathlib import Path

from click.testing import Result
from typer.testing import CliRunner

from finegold.cli.app import app
from tests.support.data_sets import SHARED

DATASETS = SHARED / "datasets"
CSV = "task,worker,label\n" + "".join(
    f"{task},{worker},{label}\n"
    for task, labels in {"t1": "xxy", "t2": "yyy", "t3": "xyz", "t4": "zzx"}.items()
    for worker, label in zip(("ann", "bob", "eve"), labels, strict=True)
)


def run(*arguments: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
