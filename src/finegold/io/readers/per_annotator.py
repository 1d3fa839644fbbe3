"""One file per annotator: several tables without a column of annotators, which the names of the files stand for."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath

from finegold.errors import FinegoldWarning, InputError
from finegold.io.readers.columns import ANNOTATOR, LABEL, TASK, candidates
from finegold.io.readers.source import Source
from finegold.io.readers.table import Opened, open_sources
from finegold.io.suffixes import READABLE
from finegold.votes.annotations import Annotations

__all__ = ["by_file", "file_names", "refuse_other_files"]

REMEDY = "so they are not one file per annotator; add a column of annotators, or name it with --annotator NAME"
NAMED = 5  # annotators that the warning names


def by_file(opened: Opened, task: str | None, label: str | None) -> Opened:
    """Add the annotators as a column, if there are several files with tasks and labels and without annotators."""
    columns = opened.columns
    has_votes = (task or candidates(columns, TASK)) and (label or candidates(columns, LABEL))
    names = file_names(opened.sources)
    if len(names) < 2 or not has_votes or candidates(columns, ANNOTATOR):
        return opened
    listed = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    text = f"{opened.name}: there is no column of annotators, so each file is taken for one annotator: {listed}"
    warnings.warn(text, FinegoldWarning, stacklevel=2)
    named = [replace(source, annotator=name) for source, name in zip(opened.sources, names, strict=True)]
    return open_sources(named)


def refuse_other_files(opened: Opened, annotations: Annotations) -> None:
    """Refuse files that turn out to be parts of one table."""
    if not any(source.annotator for source in opened.sources):
        return
    if annotations.counts.repeated:
        raise InputError(f"{opened.name}: a file has a task more than once, {REMEDY}")
    if annotations.n_votes == annotations.n_tasks:
        raise InputError(f"{opened.name}: the files share no task, {REMEDY}")


def file_names(sources: Sequence[Source]) -> list[str]:
    """Return the names of the files without endings, or of their folders if the files are called alike."""
    paths = [PurePath(source.name) for source in sources]
    for names in ([_bare(path) for path in paths], [path.parent.name for path in paths]):
        if all(names) and len(set(names)) == len(names):
            return names
    return []


def _bare(path: PurePath) -> str:
    while path.suffix.lower() in READABLE:
        path = path.with_suffix("")
    return path.name
