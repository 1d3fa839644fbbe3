"""Inspect: logs of evaluations, .json or .eval (a zip archive with a file per sample); every scorer
is an annotator.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, cast
from zipfile import ZipFile

import polars as pl

from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote, need
from finegold.io.source import Source

# the second is all that a run leaves which did not finish
HEADERS = ("header.json", "_journal/start.json")
NAN = re.compile(rb'^(\s*(?:"(?:[^"\\]|\\.)*":)?\s*)-?(?:NaN|Infinity)(,?\s*)$')
# of scorers that say one thing; those that say several name them
QUESTION = "score"
REMEDY = "write it again: inspect log convert LOG --to json --output-dir FOLDER"


def fits(seen: Source) -> bool:
    if seen.format == "zip":
        return any(name in seen.members for name in HEADERS)
    record = seen.record
    return (
        "version" in record
        and isinstance(record.get("status"), str)
        and isinstance(record.get("eval"), dict)
    )


def read(seen: Source, options: ExportOptions) -> Iterator[pl.DataFrame]:
    if seen.format == "zip":
        header = next(name for name in HEADERS if name in seen.members)
        with base.open_zip(seen) as archive:
            # what was evaluated, and how often
            head = need(_load(archive, header), "eval", dict)
    else:
        with base.open_export(seen) as file:
            head = next(iter(base.json_items(file, "eval")), {})
    return base.in_batches(_votes(seen, head, options))


def _samples(seen: Source) -> Iterator[Any]:
    if seen.format != "zip":
        with base.open_export(seen) as file:
            yield from base.json_items(cast(BinaryIO, WithoutNaN(file)), "samples.item")
        return
    with base.open_zip(seen) as archive:
        yield from (_load(archive, name) for name in seen.members if name.startswith("samples/"))


def _load(archive: ZipFile, name: str) -> Any:
    with base.open_member(archive, name) as file:
        try:
            return json.load(file)
        except ValueError as error:
            raise DamagedExport(f"not valid JSON ({error})") from None


class WithoutNaN:
    """A log as JSON allows it: Inspect writes NaN for scores that failed, each value on a line of
    its own.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.file = file

    def read(self, size: int) -> bytes:
        """About so many bytes, in whole lines; none for none, which is how ijson finds out what a
        file holds.
        """
        lines = self.file.readlines(size) if size else []
        return b"".join(NAN.sub(rb"\1null\2", line) for line in lines)


def _votes(seen: Source, head: dict[str, Any], options: ExportOptions) -> Iterator[Vote]:
    """Yield the votes, and raise an error if no sample was scored."""
    n_samples = n_scores = 0
    for vote in base.with_numbers(_samples(seen), lambda sample: _votes_on(sample, head, options)):
        n_samples, n_scores = n_samples + 1, n_scores + (vote.annotator is not None)
        yield vote
    if not n_samples and not options.has_many_files:
        raise DamagedExport("it holds no samples", "give the log of a run that has finished")
    if not n_scores and not options.left_out and not options.has_many_files:
        problem = f"none of its {n_samples:,} samples has a score"
        raise DamagedExport(problem, "score it: inspect score LOG --scorer NAME")


def _votes_on(sample: Any, head: dict[str, Any], options: ExportOptions) -> Iterable[Vote]:
    task = base.need_id(sample, "id", "sample with an ")
    # Every epoch is an answer of its own, and so is that of each model, in files of their own.
    is_repeated = need(need(head, "config", dict, {}), "epochs", int, 1) > 1
    task = f"{task}#{sample.get('epoch', 1)}" if is_repeated else task
    task = f"{head.get('task')}/{head.get('model')}/{task}" if options.has_many_files else task
    votes = []
    scores = need(sample, "scores", dict, {})
    # the logs of early versions have one scorer without a name
    if not scores and sample.get("score") is not None:
        scores = {"score": sample["score"]}
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        for question, label in (value if isinstance(value, dict) else {QUESTION: value}).items():
            # it failed; NaN differs from itself
            if label is None or label != label or isinstance(label, list):
                options.left_out["scores without a value"] += 1
            else:
                votes.append(Vote(task, scorer, label, question))
    return votes or [Vote(task)]


EXPORT = Export("inspect", "Inspect", REMEDY, fits, read)
