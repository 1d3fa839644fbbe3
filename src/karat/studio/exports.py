"""What can be taken away: each a file that is written when it is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

from karat.io.writeback import write_back
from karat.io.writers import write_frame, write_labels
from karat.io.writers.votes import write_votes
from karat.report import write_report
from karat.studio.browse import Browser
from karat.studio.services import Desk

__all__ = ["EXPORTS", "write_export"]

Write = Callable[[Desk, int, Browser, Path], None]


def write_export(desk: Desk, project: int, shown: Browser, name: str) -> Path:
    """The file, in the scratch folder; whoever asks for it removes it."""
    path = desk.files.temporary(Path(name).suffix)
    EXPORTS[name](desk, project, shown, path)
    return path


def _labels(desk: Desk, project: int, shown: Browser, path: Path) -> None:
    write_labels(shown.result, path, probabilities=True)


def _annotators(desk: Desk, project: int, shown: Browser, path: Path) -> None:
    write_frame(shown.result.annotators(), path)


def _gold(desk: Desk, project: int, shown: Browser, path: Path) -> None:
    """People's truths, as `--gold` reads them."""
    given = desk.gold.all(project)
    frame = {"task": [str(task) for task in given], "truth": [str(label) for label in given.values()]}
    write_frame(pl.DataFrame(frame, schema={"task": pl.String, "truth": pl.String}), path)


def _votes(desk: Desk, project: int, shown: Browser, path: Path) -> None:
    """A row a vote: what was read, as a plain table."""
    write_votes(shown.votes, path)


def _predictions(desk: Desk, project: int, shown: Browser, path: Path) -> None:
    """The export that the votes came from, with the labels in it: Label Studio and Argilla import that."""
    row = desk.projects.get(project)
    wishes = json.loads(row["reading"] or "{}")
    with desk.files.of(row) as export:
        write_back(shown.result, str(export), path, question=wishes.get("question"), task=wishes.get("task"))


def _report(desk: Desk, project: int, shown: Browser, path: Path) -> None:
    write_report(shown.result, path, title=desk.projects.get(project)["name"])


def _model(desk: Desk, project: int, shown: Browser, path: Path) -> None:
    shown.result.save(path)


EXPORTS: dict[str, Write] = {
    "labels.csv": _labels,
    "labels.jsonl": _labels,
    "labels.parquet": _labels,
    "annotators.csv": _annotators,
    "gold.csv": _gold,
    "votes.csv": _votes,
    "predictions.json": _predictions,
    "report.html": _report,
    "model.karat": _model,
}
