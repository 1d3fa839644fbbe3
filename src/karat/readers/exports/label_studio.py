"""Label Studio: JSON (a list of tasks, streamed), JSON-MIN (a list of annotations) and CSV."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from karat.readers.exports.export import Ask, Export, Vote, in_batches, need, numbered
from karat.readers.exports.peek import Peek
from karat.readers.exports.records import records_of


def _fits(seen: Peek) -> bool:
    return "data" in seen.record and ("annotations" in seen.record or "completions" in seen.record)


def _read(seen: Peek, ask: Ask) -> Iterator[pl.DataFrame]:
    return in_batches(numbered(records_of(seen), lambda task: _votes(task, ask)))


def _votes(task: Any, ask: Ask) -> Iterator[Vote]:
    for a in need(task, "annotations", list):
        for r in need(a, "result", list):
            yield Vote(task["id"], a["completed_by"], r["value"]["choices"][0], r["from_name"])


EXPORT = Export("label-studio", "Label Studio", "export again", _fits, _read)
