"""Join the votes that programs post with the votes of a project."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from finegold.io.layouts import count_more
from finegold.studio.reading import Reading
from finegold.votes.annotations import Annotations
from finegold.votes.encoding import Names
from finegold.votes.frames import to_list
from finegold.votes.hygiene import examine_votes, totals_of, warn_of
from finegold.votes.labels import find_look_alikes, is_missing, missing_words, spelled_alike
from finegold.votes.merging import merge
from finegold.votes.names import is_integer_text, text_of

__all__ = ["joined"]

OF_A_FILE = ("merged", "no vote", "minus one", "gold tasks", "gold classes", "alias")  # kinds of findings
Vote = Sequence[Any]  # task, annotator, label


def joined(votes: Annotations | None, posted: Sequence[Vote], options: Reading | None) -> Annotations:
    """Return all votes. If an annotator votes on a task again, the newer vote counts.

    Names are matched, and missing labels recognised, as in the project's file (or as in any file, if there is none).
    """
    options = options or Reading()
    missing = missing_words(options.missing, options.keep_missing, options.alias or ())
    labels = [None if is_missing(label, missing) else label for _, _, label in posted]
    if votes is not None and all(label is None for label in labels):
        return count_more(votes, rows=len(posted), missing=len(posted))
    spelled = _spelled(labels, [] if votes is None else to_list(votes.class_names), options)
    given = [(task, annotator, label) for (task, annotator, _), label in zip(posted, spelled, strict=True)]
    kinds = [None] * 3 if votes is None else [votes.task_names, votes.annotator_names, votes.class_names]
    columns = [_column(values, names) for values, names in zip(zip(*given, strict=True), kinds, strict=True)]
    new = Annotations.from_arrays(*columns, repeated="last")
    return _noticed(new if votes is None else merge(votes, new, repeated="last").votes, options)


def _spelled(labels: Sequence[Any], classes: list[Any], options: Reading) -> list[Any]:
    """Replace labels by the alias, and by a class that differs only in spelling if the reading says so."""
    alias = options.alias or {}
    given = [None if label is None else alias.get(text_of(label), label) for label in labels]
    if not options.normalise:
        return given
    counts = Counter(text_of(label) for label in given if label is not None)
    class_of = spelled_alike([text for text, _ in counts.most_common()], classes)
    return [None if label is None else class_of[text_of(label)] for label in given]


def _noticed(votes: Annotations, options: Reading) -> Annotations:
    """Look at all votes again, and keep what was noticed of those of the file only."""
    findings = [] if options.normalise else find_look_alikes(votes.class_names, votes.votes_per_class)
    findings += examine_votes(totals_of(votes), options.repeated)
    warn_of(findings)
    before = [finding for finding in votes.hygiene.findings if finding.kind in OF_A_FILE]
    alias = {**votes.hygiene.alias, **(options.alias or {})}
    hygiene = replace(votes.hygiene, findings=[*before, *findings], normalise=options.normalise, alias=alias)
    return replace(votes, hygiene=hygiene)


def _column(values: Sequence[Any], names: Names | None) -> NDArray[Any]:
    """Return an object array: otherwise NumPy would convert numbers to text where both occur."""
    column = np.empty(len(values), dtype=object)
    column[:] = values if _are_floats(names) else [_as_in_a_file(value) for value in values]
    return column


def _as_in_a_file(value: Any) -> Any:
    """Return a 64-bit integer or a text, so that 7, 7.0 and "7" are one name and 0.5 does not make others floats."""
    if value is None or isinstance(value, bool):
        return value
    text = text_of(value)
    return int(text) if is_integer_text(text) and abs(int(text)) < 2**63 else text


def _are_floats(names: Names | None) -> bool:
    if isinstance(names, nw.Series):
        return bool(names.dtype.is_float())
    return names is not None and np.asarray(names).dtype.kind == "f"
