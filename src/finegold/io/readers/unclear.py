"""Explain why a table is refused whose columns are not known, and propose the options that would read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from finegold.errors import InputError
from finegold.io.readers.columns import ANNOTATOR, LABEL, TASK, LostColumnsError
from finegold.io.readers.evidence import names_tasks
from finegold.io.readers.first_rows import wrong_header
from finegold.io.readers.proposal import propose
from finegold.io.readers.shapes import Guess, Shape
from finegold.io.readers.table import Opened

__all__ = ["explained"]

ROWS = 200  # that show what a column may hold
NO_GUESS = Guess()
TRANSPOSED = "use --format transposed (format= in Python)"
WIDE = "If every annotator has a column of their own, use --wide (wide=True in Python)"


@contextmanager
def explained(opened: Opened, guess: Guess = NO_GUESS) -> Iterator[None]:
    """Add to the error about columns what the table looks like."""
    try:
        yield
    except LostColumnsError as error:
        raise _explained(opened, guess, error) from None


def _explained(opened: Opened, guess: Guess, error: LostColumnsError) -> InputError:
    found = wrong_header(opened.sources[0]) if opened.sources else None
    if found is not None and not {TASK, ANNOTATOR, LABEL}.issuperset(error.lost):  # a file of truths, without options
        return InputError(f"{opened.name}: {found.what}; {found.repair}")
    if found is not None:
        return InputError(f"{opened.name}: {found.what}; {found.remedy}", found.options)
    if len(opened.columns) == 1 and opened.sources and opened.sources[0].separator:
        return InputError(f"{error}. The separator leaves one column; leave --separator out", {"--separator": None})
    if guess.shape is not None:
        return InputError(f"{error}. {_doubtful(guess.shape, guess.doubt)}", _as_shape(guess.shape))
    hint = f". {WIDE}" if {ANNOTATOR, LABEL} <= set(error.lost) and len(opened.columns) > 2 else ""
    return InputError(f"{error}{hint}", propose(opened.columns, opened.head(ROWS), error.lost, error.found))


def _doubtful(shape: Shape, doubt: str) -> str:
    if shape.is_transposed:
        return f"It may be a table with a row per annotator and a column per task, but {doubt}; if it is, {TRANSPOSED}"
    if all(map(names_tasks, shape.votes)):
        return f"{doubt}; if every row is an annotator, {TRANSPOSED}"
    return f"It may be a table with a column per annotator, but {doubt}; if it is, use --wide (wide=True in Python)"


def _as_shape(shape: Shape) -> dict[str, str | None]:
    votes = _listed(shape.votes)
    if shape.is_transposed or all(map(names_tasks, shape.votes)):
        return {"--format": "transposed", "--annotator": str(shape.ids), **({"--task": votes} if votes else {})}
    named = {} if not str(shape.ids) else {"--task": str(shape.ids)}
    return {"--wide": "", **named, **({"--annotator": votes} if votes else {})}


def _listed(columns: Sequence[Any]) -> str:
    """Return the columns with commas between, or nothing if a name has a comma or there are too many."""
    names = list(map(str, columns))
    return "" if any("," in name or name != name.strip() for name in names) or len(names) > 50 else ",".join(names)
