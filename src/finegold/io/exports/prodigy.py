"""Prodigy: what `prodigy db-out` writes, an answer per line."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from finegold.io.exports import base
from finegold.io.exports.base import DamagedExport, Export, ExportOptions, Vote, need

REMEDY = "export it again: prodigy db-out DATASET > FILE.jsonl"
# a session without a name is called by its time
SESSION = re.compile(r"\d{4}-\d\d-\d\d")


def _votes(record: Any, options: ExportOptions) -> list[Vote]:
    answer = need(record, "answer", str)
    task = base.need_id(record, "_input_hash", options)
    if options.leaves_out(answer == "ignore", "ignored answers"):
        return [Vote(task)]
    named = (record.get("_annotator_id"), record.get("_session_id"))
    annotator = next((name for name in named if name is not None), None)
    if annotator is None and (annotator := options.annotator_of_file()) is None:
        remedy = "write it with Prodigy 1.8 or later, which keeps _session_id"
        raise DamagedExport("found no annotator", remedy, "give a folder with a file per annotator")
    if "accept" in record or "options" in record:
        # Somebody who rejects a choice says that no option fits, or that the task is bad.
        if options.leaves_out(answer == "reject", "rejected choices", "rejected"):
            return [Vote(task)]
        return [Vote(task, annotator, base.join_labels(need(record, "accept", list, [])), "")]
    is_manual = "spans" in record and "label" not in record and "_view_id" not in record
    if is_manual or str(record.get("_view_id", "")).endswith("_manual"):
        if options.leaves_out("image" in record, "marked regions") or options.leaves_out(
            answer == "reject", "rejected examples"
        ):
            return [Vote(task)]
        spans = base.spans_in(record.get("spans") or [])
        return [Vote(task, annotator, spans, text=record.get("text"))]
    # Accept or reject: the answer to the question whether the label fits, where there is one.
    return [Vote(task, annotator, answer, str(record.get("label") or ""))]


def without_dataset(names: Sequence[str]) -> Sequence[str]:
    """The names of annotators without "<dataset>-", which all of them begin with; several are
    needed to see it.
    """
    if len(names) < 2 or SESSION.match(names[0]):
        return names
    common = os.path.commonprefix(list(names))  # noqa: RUF071 (names, not paths)
    return [name[common.rfind("-") + 1 :] for name in names]


READ = base.by_record(_votes)
EXPORT = Export(
    "prodigy", "Prodigy", REMEDY, None, READ, ("rejected",), True, shorten=without_dataset
)
