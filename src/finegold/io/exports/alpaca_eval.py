"""AlpacaEval: annotations.json, a list of comparisons of two outputs; a preference of 1 means the first, 2 the second.

AlpacaEval shows the outputs in random order and undoes that itself, so preferences need no swap.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import polars as pl

from finegold.io.exports.base import Export, ExportOptions, Peek, Vote, Wrong, in_batches, need, numbered, records_of
from finegold.io.exports.pairwise import FIRST, SECOND, TIE, Comparison, named, swapped, votes_on

__all__ = ["EXPORT"]

ANNOTATORS = ("annotator", "annotator_index")
MARKS = {"instruction", "output_1", "output_2", "preference"}
EVEN = 1.5  # the preference that means a tie, and so does 0 in older files


def fits(seen: Peek) -> bool:
    return seen.source.format in ("json", "jsonl") and seen.record.keys() >= MARKS


def read(seen: Peek, options: ExportOptions) -> Iterator[pl.DataFrame]:
    return in_batches(numbered(records_of(seen), lambda record: _votes(record, options)))


def _votes(record: Any, options: ExportOptions) -> Iterator[Vote]:
    instruction = need(record, options.task or "instruction", str)
    annotator = next((record[name] for name in ANNOTATORS if record.get(name) is not None), None)
    if annotator is None:
        raise Wrong('found no "annotator"')
    task, is_swapped = named(instruction, _model(record, 1), _model(record, 2))
    winner = _winner(record.get("preference"))
    yield from votes_on(Comparison(task, str(annotator), [swapped(winner) if is_swapped else winner]), options)


def _model(record: dict[str, Any], number: int) -> str:
    """Return the model of an output, or a checksum of the text where no model is named."""
    model = record.get(f"generator_{number}")
    return str(model) if model else f"output {zlib.crc32(need(record, f'output_{number}', str).encode()):08x}"


def _winner(preference: Any) -> str | None:
    """Return the preferred output. Weighted annotators write a probability as a number between 1 and 2."""
    if preference is None or preference != preference:  # NaN: the annotator failed
        return None
    if isinstance(preference, bool) or not isinstance(preference, int | float) or not 0 <= preference <= 2:
        raise Wrong(f'found {preference!r} for "preference", expected a number from 1 to 2')
    if preference in (0, EVEN):
        return TIE
    return FIRST if preference < EVEN else SECOND


EXPORT = Export(
    name="alpaca-eval",
    title="AlpacaEval",
    remedy="write it again with alpaca_eval: annotations.json in the folder of the results",
    fits=fits,
    read=read,
    takes_task=True,
)
