"""Pairwise judgements -> votes: one judge compares two answers, perhaps in two games with swapped positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from finegold.io.exports.base import ExportOptions, Vote, Wrong
from finegold.io.verdicts import Meaning, meaning_of

__all__ = [
    "FAILED",
    "FIRST",
    "GAMES",
    "SECOND",
    "TIE",
    "WINNER",
    "Comparison",
    "named",
    "swapped",
    "verdict",
    "votes_on",
    "winner_of",
]

FIRST, SECOND, TIE = "model_1", "model_2", "tie"  # the classes: which of two answers is better
WINNER = "winner"  # the question
GAMES = "games"  # what --include takes to count every game as a vote
FAILED = "judgements that failed"
SWAPPED = {FIRST: SECOND, SECOND: FIRST}


class Comparison(NamedTuple):
    """What one judge says of two answers. `games` has the winner of each game in the order of the task's name.

    A game is None if the judge failed.
    """

    task: str
    judge: str
    games: Sequence[str | None]


def swapped(winner: str | None) -> str | None:
    """Return the winner of a game if the two answers change places."""
    return None if winner is None else SWAPPED.get(winner, winner)


def named(question: Any, first: str, second: str) -> tuple[str, bool]:
    """Return the name of the task, with the models in alphabetical order, and whether that order swaps them."""
    return f"{question}, {min(first, second)} vs {max(first, second)}", first > second


def verdict(said: Any) -> str | None:
    """Return the winner that a verdict such as "A>>B" or "B=A" names, A being the first answer; None for no verdict."""
    places = {Meaning.FIRST: FIRST, Meaning.SECOND: SECOND, Meaning.TIE: TIE}
    return _winner(said, places, "a verdict, expected one such as A>B, B>A or A=B")


def winner_of(said: Any) -> str | None:
    """Return the winner that a record names by its model, such as model_a or model_1; None for no verdict."""
    models = {Meaning.SIDE_A: FIRST, Meaning.SIDE_B: SECOND, Meaning.TIE: TIE}
    return _winner(said, models, "the winner, expected model_1, model_2, tie or error")


def _winner(said: Any, winners: dict[Meaning, str], expected: str) -> str | None:
    meaning = meaning_of(None if said is None else str(said))
    if meaning in (Meaning.ERROR, Meaning.REFUSAL, Meaning.EMPTY):
        return None
    if meaning not in winners:
        raise Wrong(f"found {said!r:.40} for {expected}")
    return winners[meaning]


def votes_on(comparison: Comparison, options: ExportOptions) -> Iterator[Vote]:
    """Yield one vote, or one per game with --include games. A judge that contradicts itself says that it is a tie."""
    task, judge, games = comparison
    votes = list(games) if GAMES in options.include else _merged(games)
    if None in votes:
        options.left_out[FAILED] += votes.count(None)
    for number, label in enumerate(votes, start=1):
        if label is None:
            yield Vote(task, question=WINNER)
        else:
            yield Vote(task, judge if len(votes) == 1 else f"{judge} (game {number})", label, WINNER)


def _merged(games: Sequence[str | None]) -> list[str | None]:
    if not games or None in games:
        return [None]
    return [games[0] if len(set(games)) == 1 else TIE]
