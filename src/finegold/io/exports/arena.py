"""Battles of two models: tables and JSON with model_a, model_b and winner (Chatbot Arena), and Arena-Hard's judgements.

Arena-Hard plays two games per question. The baseline is answer A in the first, and answer B in the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from finegold.io.exports.base import (
    Export,
    ExportOptions,
    Peek,
    Vote,
    Wrong,
    in_batches,
    need,
    numbered,
    records_of,
    rows_of,
)
from finegold.io.exports.pairwise import (
    FIRST,
    GAMES,
    SECOND,
    WINNER,
    Comparison,
    named,
    swapped,
    verdict,
    votes_on,
    winner_of,
)

__all__ = ["EXPORT"]

QUESTIONS = ("question_id", "uid", "id", "prompt_id", "question", "prompt")
JUDGES = ("judge", "judge_model", "annotator", "evaluator", "rater")
MODELS = (("model_a", "model_b"), ("model_1", "model_2"))
BASELINE = "baseline"  # the name of the baseline where a record has none


def fits(seen: Peek) -> bool:
    names = seen.record.keys() or set(seen.columns)
    if {"judge", "games", "model"} <= names:
        return isinstance(seen.record.get("games"), list)
    is_mt_bench = {"question_id", "judge"} <= seen.record.keys()
    return not is_mt_bench and WINNER in names and any(set(pair) <= names for pair in MODELS)


def read(seen: Peek, options: ExportOptions) -> Iterator[pl.DataFrame]:
    return in_batches(numbered(_records(seen), lambda record: _votes(record, options)))


def _records(seen: Peek) -> Iterator[Any]:
    if seen.record:
        return records_of(seen)
    return rows_of(seen, (*QUESTIONS, *JUDGES, *MODELS[0], *MODELS[1], WINNER, "turn"))


def _votes(record: Any, options: ExportOptions) -> Iterator[Vote]:
    question = _first(record, QUESTIONS, "question")
    judge = str(_first(record, JUDGES, "judge"))
    if GAMES in record:
        task, games = _of_arena_hard(record, question)
    else:
        task, games = _of_battle(record, question)
    yield from votes_on(Comparison(task, judge, games), options)


def _of_arena_hard(record: dict[str, Any], question: Any) -> tuple[str, list[str | None]]:
    model, baseline = need(record, "model", str), need(record, BASELINE, str, BASELINE)
    task, is_swapped = named(question, baseline, model)
    games = [verdict(None if game is None else game.get("score")) for game in need(record, GAMES, list)]
    games = [game if number % 2 == 0 else swapped(game) for number, game in enumerate(games)]
    return task, [swapped(game) for game in games] if is_swapped else games


def _of_battle(record: dict[str, Any], question: Any) -> tuple[str, list[str | None]]:
    pair = next((pair for pair in MODELS if pair[0] in record), MODELS[0])
    first, second = need(record, pair[0], str), need(record, pair[1], str)
    task, is_swapped = named(question, first, second)
    said = record.get(WINNER)
    winner = winner_of({first: FIRST, second: SECOND, "A": FIRST, "B": SECOND}.get(str(said), said))
    turn = record.get("turn")
    return task if turn is None else f"{task}, turn {turn}", [swapped(winner) if is_swapped else winner]


def _first(record: Any, names: tuple[str, ...], what: str) -> Any:
    if not isinstance(record, dict):
        raise Wrong(f"expected an object, found {record!r:.40}")
    found = next((record[name] for name in names if record.get(name) not in (None, "")), None)
    if found is None:
        raise Wrong(
            f"found no {what}", remedy=f"add a field {names[0]}, or read the columns as they are: --format table"
        )
    return found


EXPORT = Export(
    name="arena",
    title="Arena",
    remedy="expected a question, two models, the winner and the judge in every record",
    fits=fits,
    read=read,
    include=(GAMES,),
)
