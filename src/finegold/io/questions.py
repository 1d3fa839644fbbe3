"""The questions of a table or of an export: each has votes, and a result, of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import polars as pl

from finegold.errors import InputError, Placeholder, use
from finegold.io.exports import ALL
from finegold.io.tables import IDS
from finegold.system.memory import did_you_mean
from finegold.votes.encoding import Encoder, listed, text_of

# questions in a message
MOST_LISTED = 20


class Questions:
    """The long frames of the questions of a table or of an export, encoded apart."""

    def __init__(self, is_text: bool, backend: str | None = None) -> None:
        self.is_text, self.backend = is_text, backend
        self.encoders: dict[str, Encoder] = {}
        self.n_votes: Counter[str] = Counter()
        # tasks that were asked, and nobody answered
        self.common: list[pl.DataFrame] = []

    def add(self, batch: pl.DataFrame) -> None:
        """Add a batch with a column of questions; a row without one belongs to all of them."""
        names = batch.get_column("question")
        if names.n_unique() == 1 and names[0] is not None:
            parts = {(names[0],): batch.drop("question")}
        else:
            parts = batch.partition_by("question", as_dict=True, include_key=False)
        for (key,), part in parts.items():
            if key is None:
                self.common.append(part)
                continue
            name = text_of(key)
            self.n_votes[name] += len(part) - part.get_column("label").null_count()
            if name not in self.encoders:
                self.encoders[name] = Encoder(IDS, self.is_text, self.backend)
            self.encoders[name].add(part)

    def chosen(
        self, name: str, wanted: str | None, column: Any = None
    ) -> Iterator[tuple[str, Encoder]]:
        """Yield the questions that are wanted, or the only one."""
        if wanted is None and len(self.encoders) > 1:
            raise several_questions(name, self.n_votes, column)
        if wanted not in (None, ALL, *self.encoders):
            meant = did_you_mean(wanted or "", self.encoders)
            listing = list_questions(self.n_votes)
            raise InputError(f'{name} has no question "{wanted}"; it has {listing}{meant}')
        for question in sorted(self.encoders) if wanted in (None, ALL) else [wanted or ""]:
            for part in self.common:
                self.encoders[question].add(part)
            yield question, self.encoders[question]


def list_questions(n_votes: Counter[str]) -> str:
    votes = {name: f"{n:,} {'vote' if n == 1 else 'votes'}" for name, n in n_votes.most_common()}
    return listed((f'"{name}" ({n})' for name, n in votes.items()), MOST_LISTED)


def several_questions(name: str, n_votes: Counter[str], column: Any = None) -> InputError:
    """Return the error about votes of several questions, of which none was chosen."""
    told = f' (the column "{column}")' if column is not None else ""
    problem = f"{name} asks {len(n_votes):,} questions{told}: {list_questions(n_votes)}"
    one = Placeholder("NAME" if column is None else f"{column}=NAME")
    every = use(question=ALL, when="where several results can be shown")
    return InputError(problem, remedies=[use(question=one, text="for one of them"), every])
