"""Inspect: logs of evaluations, .json or .eval (a zip archive with a file per sample); every scorer
is an annotator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from finegold.io.exports import base
from finegold.io.exports.base import Export, ExportOptions, Vote, need
from finegold.io.source import Source

# the second is all that a run leaves which did not finish
HEADERS = ("header.json", "_journal/start.json")
# of scorers that say one thing; those that say several name them
QUESTION = "score"
REMEDY = (
    "score it, with inspect score LOG --scorer NAME, or write it again, with inspect log convert LOG"
    " --to json --output-dir FOLDER"
)


def _samples(seen: Source) -> Iterator[Any]:
    """Yield what was evaluated, and how often, and then the samples."""
    if seen.format == "zip":
        header = [name for name in HEADERS if name in seen.members][:1]
        samples = [name for name in seen.members if name.startswith("samples/")]
        for name, file in base.members_of(seen, [*header, *samples]):
            content = next(base.json_records(file), None)
            yield need(content, "eval", dict) if name in HEADERS else content
        return
    log = next(base.read_records(seen), None)
    yield need(log, "eval", dict)
    yield from need(log, "samples", list, [])


def read(seen: Source, options: ExportOptions) -> Iterator[Vote]:
    samples = _samples(seen)
    head: dict[str, Any] = next(samples, {})
    return base.with_numbers(samples, lambda sample: _votes_on(sample, head, options))


def _votes_on(sample: Any, head: dict[str, Any], options: ExportOptions) -> Iterable[Vote]:
    task = base.need_id(sample, "id", options)
    # Every epoch is an answer of its own, and so is that of each model, in files of their own.
    is_repeated = need(need(head, "config", dict, {}), "epochs", int, 1) > 1
    task = f"{task}#{sample.get('epoch', 1)}" if is_repeated else task
    task = f"{head.get('task')}/{head.get('model')}/{task}" if options.has_many_files else task
    votes = []
    for scorer, score in need(sample, "scores", dict, {}).items():
        value = score.get("value") if isinstance(score, dict) else score
        for question, label in (value if isinstance(value, dict) else {QUESTION: value}).items():
            # it failed; NaN differs from itself
            if label is None or label != label or isinstance(label, list):
                options.left_out["scores without a value"] += 1
            else:
                votes.append(Vote(task, scorer, label, question))
    return votes or [Vote(task)]


EXPORT = Export("inspect", "Inspect", REMEDY, None, read)
