"""MT-bench: judgements of LLM judges, JSON Lines: scores of one model's answer, or which of two models is better.

A judge plays two games on a pair of answers, the second with the positions exchanged. What it says in both is its
vote; if it contradicts itself it saw no difference, as MT-bench itself counts. --include games takes each for a vote.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from finegold.io.exports.base import Export, ExportOptions, Peek, Vote, Wrong, in_batches, numbered, records_of
from finegold.io.exports.pairwise import FAILED, GAMES, WINNER, Comparison, named, swapped, votes_on, winner_of

__all__ = ["EXPORT"]

SCORE = "score"  # the other kind of question is the winner


def fits(seen: Peek) -> bool:
    return seen.record.keys() >= {"question_id", "judge"} and any(
        name in seen.record for name in (SCORE, "g1_winner", WINNER)
    )


def read(seen: Peek, options: ExportOptions) -> Iterator[pl.DataFrame]:
    return in_batches(numbered(records_of(seen), lambda record: _votes(record, options)))


def _votes(record: Any, options: ExportOptions) -> Iterator[Vote]:
    if not isinstance(record, dict) or record.get("question_id") is None:
        raise Wrong('found no judgement with a "question_id"')
    judge = _judge(record)
    if SCORE in record:
        yield _scored(record, judge, options)
    else:
        yield from compared(record, judge, options)


def _judge(record: dict[str, Any]) -> str:
    """A judge is a model; the prompt, which stands beside it, changes with the turn and the subject."""
    judge = record.get("judge")
    name = judge[0] if isinstance(judge, list) and judge else judge
    if not isinstance(name, str) or not name:
        raise Wrong('found no "judge"')
    return name


def _scored(record: dict[str, Any], judge: str, options: ExportOptions) -> Vote:
    task = _with_turn(record, f"{record['question_id']}, {_text(record, 'model')}")
    score = record[SCORE]
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise Wrong(f'found {score!r} for "score", expected a number')
    if score is None or score < 0:  # -1: no score was found in what the judge wrote
        options.left_out[FAILED] += 1
        return Vote(task, question=SCORE)
    return Vote(task, judge, score, SCORE)


def compared(record: dict[str, Any], judge: str, options: ExportOptions) -> Iterator[Vote]:
    """Name pairs in alphabetical order, whichever came first, so that all judges vote on the same task."""
    task, is_swapped = named(record["question_id"], *_models(record))
    games = [winner_of(record[name]) for name in ("g1_winner", "g2_winner", WINNER) if name in record]
    if not games:
        raise Wrong('found neither "score" nor "g1_winner"')
    games = [swapped(game) for game in games] if is_swapped else games
    yield from votes_on(Comparison(_with_turn(record, task), judge, games), options)


def _models(record: dict[str, Any]) -> tuple[str, str]:
    names = ("model_a", "model_b") if "model_a" in record else ("model_1", "model_2")
    return _text(record, names[0]), _text(record, names[1])


def _with_turn(record: dict[str, Any], task: str) -> str:
    turn = record.get("turn")
    return task if turn is None else f"{task}, turn {turn}"


def _text(record: dict[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str) or not value:
        raise Wrong(f'found no "{name}"')
    return value


EXPORT = Export(
    name="mt-bench",
    title="MT-bench",
    remedy="write it again with gen_judgment.py of FastChat",
    fits=fits,
    read=read,
    include=(GAMES,),
)
