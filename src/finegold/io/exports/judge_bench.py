"""JudgeBench: what `run_judge.py` writes, a pair of responses per line with the judgements of one judge.

The second judgement sees the responses in the other order. The classes are those of the benchmark: A>B, B>A, A=B.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import polars as pl

from finegold.io.exports.base import Export, ExportOptions, Peek, Vote, Wrong, in_batches, need, numbered, records_of
from finegold.io.exports.pairwise import FIRST, GAMES, SECOND, TIE, Comparison, swapped, verdict, votes_on

__all__ = ["EXPORT"]

CLASSES = {FIRST: "A>B", SECOND: "B>A", TIE: "A=B"}
IN_FILE_NAME = re.compile(r"judge_model=(.+?)(?:,|\.jsonl|$)")


def fits(seen: Peek) -> bool:
    return seen.record.keys() >= {"pair_id", "judgments"} and isinstance(seen.record["judgments"], list)


def read(seen: Peek, options: ExportOptions) -> Iterator[pl.DataFrame]:
    found = IN_FILE_NAME.search(PurePath(seen.source.name).name)
    model = found[1] if found else ""
    return in_batches(numbered(records_of(seen), lambda record: _votes(record, model, options)))


def _votes(record: Any, model: str, options: ExportOptions) -> Iterator[Vote]:
    pair = record.get(options.task or "pair_id") if isinstance(record, dict) else None
    if pair is None:
        raise Wrong(f'found no pair with a "{options.task or "pair_id"}"')
    judgments = need(record, "judgments", list)
    games = [verdict(None if one is None else one.get("decision")) for one in judgments]
    games = [game if number % 2 == 0 else swapped(game) for number, game in enumerate(games)]
    gold = CLASSES.get(verdict(record.get("label")) or "")
    for vote in votes_on(Comparison(str(pair), _judge(record, judgments, model), games), options):
        yield vote._replace(label=CLASSES.get(vote.label), gold=gold)


def _judge(record: dict[str, Any], judgments: list[Any], model: str) -> str:
    """Return the judge's prompt and model. The model is in the judgement or in the name of the file."""
    prompt = need(record, "judge_name", str, "")
    about = [one.get("judgment") for one in judgments if isinstance(one, dict)]
    models = [one["judge_model"] for one in about if isinstance(one, dict) and one.get("judge_model")]
    name = f"{prompt} {models[0] if models else model}".strip()
    if not name:
        raise Wrong('found no "judge_name"')
    return name


EXPORT = Export(
    name="judgebench",
    title="JudgeBench",
    remedy="write it again with run_judge.py of JudgeBench",
    fits=fits,
    read=read,
    include=(GAMES,),
    takes_task=True,
    has_gold=True,
)
