"""AlpacaEval, JudgeBench and Arena: hand-made judgements in, the votes written by hand out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from finegold import InputError
from finegold.io.exports.base import ExportOptions, Wrong
from finegold.io.exports.pairwise import FIRST, SECOND, TIE, Comparison, named, swapped, verdict, votes_on
from finegold.io.read import read
from tests.support.readers_votes import votes_of, write


def lines(path: Path, *records: dict[str, Any]) -> Path:
    return write(path, "".join(json.dumps(record) + "\n" for record in records))


def test_verdicts_are_winners() -> None:
    assert [verdict(said) for said in ("A>B", "A>>B", "B<A", "B<<A", "[[A>B]]")] == [FIRST] * 5
    assert [verdict(said) for said in ("B>A", "B>>A", "A<B", "A<<B")] == [SECOND] * 4
    assert [verdict(said) for said in ("A=B", "B=A")] == [TIE] * 2
    assert [verdict(said) for said in (None, "", "error", "I cannot answer that")] == [None] * 4
    for odd in ("A>C", 3, "model_a"):
        with pytest.raises(Wrong, match="for a verdict, expected one such as"):
            verdict(odd)


def test_a_swap_is_undone() -> None:
    assert [swapped(winner) for winner in (FIRST, SECOND, TIE, None)] == [SECOND, FIRST, TIE, None]
    assert named(7, "b", "a") == ("7, a vs b", True)
    assert named(7, "a", "b") == ("7, a vs b", False)


@pytest.mark.parametrize(
    ("games", "label", "failed"),
    [([FIRST, FIRST], FIRST, 0), ([FIRST, SECOND], TIE, 0), ([FIRST, TIE], TIE, 0), ([FIRST, None], None, 1),
     ([SECOND], SECOND, 0), ([], None, 1)],
)  # fmt: skip
def test_games_make_one_vote(games: list[str | None], label: str | None, failed: int) -> None:
    options = ExportOptions()
    [vote] = votes_on(Comparison("t", "gpt", games), options)
    assert vote.label == label
    assert sum(options.left_out.values()) == failed


def test_each_game_may_be_a_vote() -> None:
    options = ExportOptions(include=frozenset(["games"]))
    votes = list(votes_on(Comparison("t", "gpt", [FIRST, SECOND]), options))
    assert [(vote.annotator, vote.label) for vote in votes] == [("gpt (game 1)", FIRST), ("gpt (game 2)", SECOND)]


def alpaca(judge: str, preference: Any, first: str = "gpt4", second: str = "llama", **more: Any) -> dict[str, Any]:
    return {"instruction": "Name a colour.", "output_1": f"by {first}", "generator_1": first,
            "output_2": f"by {second}", "generator_2": second, "annotator": judge, "preference": preference,
            **more}  # fmt: skip


def test_preferences_of_alpaca_eval(tmp_path: Path) -> None:
    records = [alpaca("a", 1.0), alpaca("b", 2), alpaca("c", 1.98), alpaca("d", 1.5), alpaca("e", 0), alpaca("f", None)]
    records.append(alpaca("g", 1, "llama", "gpt4"))  # the same pair in the other order
    found = read(write(tmp_path / "annotations.json", json.dumps(records)))
    task = "Name a colour., gpt4 vs llama"
    assert votes_of(found) == {
        (task, "a", FIRST), (task, "b", SECOND), (task, "c", SECOND), (task, "d", TIE), (task, "e", TIE),
        (task, "g", SECOND),
    }  # fmt: skip
    assert found.counts.left_out == {"judgements that failed": 1}


def test_outputs_without_models_are_told_apart(tmp_path: Path) -> None:
    records = [alpaca("x", 1), alpaca("x", 2, "llama", "gpt4"), alpaca("x", 2, "other", "gpt4")]
    for number, record in enumerate(records):
        del record["generator_1"], record["generator_2"], record["annotator"]
        record["annotator_index"] = number
    found = read(write(tmp_path / "cross.json", json.dumps(records)))
    assert (found.n_tasks, found.n_votes) == (2, 3)
    assert len({label for _, who, label in votes_of(found) if who < 2}) == 1  # the two agree


def pair(judge: str, *decisions: str | None, **more: Any) -> dict[str, Any]:
    judgments = [None if said is None else {"decision": said, "judgment": {}} for said in decisions]
    return {"pair_id": "p1", "question": "2 + 2?", "response_A": "4", "response_B": "5", "label": "A>B",
            "judge_name": judge, "judgments": judgments, **more}  # fmt: skip


def test_judgements_of_judge_bench(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "dataset=judgebench,judge_name=vanilla,judge_model=gpt-4o.jsonl",
        pair("a", "A>B", "B>A"), pair("b", "A>B", "A>B"), pair("c", "B>A", "A>B"), pair("d", "A>B", None),
        pair("e", "B>A"),
    )  # fmt: skip
    found = read(path)
    assert votes_of(found) == {
        ("p1", "a gpt-4o", "A>B"), ("p1", "b gpt-4o", "A=B"), ("p1", "c gpt-4o", "B>A"), ("p1", "e gpt-4o", "B>A")
    }  # fmt: skip
    assert found.counts.left_out == {"judgements that failed": 1}
    known = read(path, gold=True)
    assert known.class_names.to_list()[known.gold[0]] == "A>B"
    assert read(path, include="games").n_votes == 8


def test_the_model_of_a_judge_may_be_in_the_judgement(tmp_path: Path) -> None:
    record = pair("vanilla", "A>B")
    record["judgments"][0]["judgment"]["judge_model"] = "o1"
    found = read(lines(tmp_path / "judge_model=gpt-4o.jsonl", record))
    assert votes_of(found) == {("p1", "vanilla o1", "A>B")}


def hard(judge: str, model: str, *scores: str | None, **more: Any) -> dict[str, Any]:
    games = [{"user_prompt": "...", "judgment": "...", "score": score} for score in scores]
    return {"question_id": "q1", "model": model, "judge": judge, "games": games, **more}


def test_judgements_of_arena_hard(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "llama.jsonl",
        hard("a", "llama", "A>>B", "B>A"), hard("b", "llama", "B>A", "A>B"), hard("c", "llama", "A>B", "A>B"),
        hard("d", "llama", None, "A>B"), hard("a", "abc", "A>B", "B>A"),
    )  # fmt: skip
    found = read(path)
    assert votes_of(found) == {
        ("q1, baseline vs llama", "a", FIRST), ("q1, baseline vs llama", "b", SECOND),
        ("q1, baseline vs llama", "c", TIE), ("q1, abc vs baseline", "a", SECOND),
    }  # fmt: skip
    assert found.counts.left_out == {"judgements that failed": 1}
    newer = hard("a", "llama", "A<B", "A>B", baseline="o3", uid="u1")
    del newer["question_id"]
    assert votes_of(read(lines(tmp_path / "new.jsonl", newer))) == {("u1, llama vs o3", "a", FIRST)}


BATTLES = "question_id,model_a,model_b,winner,judge\nq1,x,y,model_a,ann\nq1,y,x,model_b,bob\nq1,x,z,tie (bothbad),ann\n"
BATTLE_VOTES = {("q1, x vs y", "ann", FIRST), ("q1, x vs y", "bob", FIRST), ("q1, x vs z", "ann", TIE)}


def test_battles_in_a_table_are_turned_and_kept_apart_by_their_models(tmp_path: Path) -> None:
    path = write(tmp_path / "battles.csv", BATTLES)
    assert votes_of(read(path)) == BATTLE_VOTES
    pl.read_csv(path).write_parquet(tmp_path / "battles.parquet")
    assert votes_of(read(tmp_path / "battles.parquet")) == BATTLE_VOTES
    by_name = BATTLES.replace("model_a,ann", "x,ann").replace("model_b,bob", "x,bob")
    assert votes_of(read(write(tmp_path / "named.csv", by_name))) == BATTLE_VOTES


def test_battles_as_json(tmp_path: Path) -> None:
    records = [
        dict(zip(BATTLES.split("\n")[0].split(","), row.split(","), strict=True)) for row in BATTLES.split()[1:3]
    ]
    for record in records:
        record["id"] = record.pop("question_id")
    found = read(lines(tmp_path / "battles.jsonl", *records))
    assert votes_of(found) == {vote for vote in BATTLE_VOTES if "z" not in vote[0]}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("question_id,model_a,model_b,winner\nq1,x,y,model_a\n", r"\(Arena export\), record 1: found no judge"),
        ("model_a,model_b,winner,judge\nx,y,model_a,ann\n", "record 1: found no question; add a field question_id"),
        ("id,model_a,model_b,winner,judge\n1,x,y,left,ann\n", "record 1: found 'left' for the winner"),
        ("id,model_a,model_b,winner,judge\n1,x,,tie,ann\n", 'record 1: found None for "model_b", expected a text'),
    ],
)
def test_battles_that_say_too_little_are_refused(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(write(tmp_path / "battles.csv", content))


def test_a_preference_out_of_range_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "annotations.json", json.dumps([alpaca("a", 1), alpaca("b", 7)]))
    with pytest.raises(InputError, match=r'\(AlpacaEval export\), record 2: found 7 for "preference"'):
        read(path)
