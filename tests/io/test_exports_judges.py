"""Judgements of MT-bench, JudgeBench, AlpacaEval and Arena: made by hand, with the votes written beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from finegold import InputError
from finegold.io.read import read, read_each
from tests.support.readers_votes import votes_of, write


def lines(path: Path, *records: dict[str, Any]) -> Path:
    return write(path, "".join(json.dumps(record) + "\n" for record in records))


FIRST, SECOND, TIE = "model_1", "model_2", "tie"


SAID = {
    "A>B": ("A>B", "A>>B", "B<A", "B<<A", "[[A>B]]"),
    "B>A": ("B>A", "B>>A", "A<B", "A<<B"),
    "A=B": ("A=B", "B=A"),
    None: (None, "", "error", "I cannot answer that"),
}
GAMES = [
    (["A>B", "B>A"], "A>B"), (["A>B", "A>B"], "A=B"), (["A>B", "A=B"], "A=B"), (["A>B", None], None),
    (["B>A"], "B>A"), ([], None),
]  # fmt: skip


@pytest.mark.parametrize(
    ("decisions", "label"), [*(([said], label) for label, each in SAID.items() for said in each), *GAMES]
)
def test_verdicts_of_one_or_two_games_make_one_vote(
    tmp_path: Path, decisions: list[str | None], label: str | None
) -> None:
    found = read(lines(tmp_path / "log.jsonl", pair("a", *decisions), pair("b", "A>B")))
    assert {said for _, who, said in votes_of(found) if who == "a"} == ({label} if label else set())
    assert sum(found.counts.left_out.values()) == (label is None)


@pytest.mark.parametrize("odd", ["A>C", 3, "model_a"])
def test_other_verdicts_are_refused(tmp_path: Path, odd: Any) -> None:
    with pytest.raises(InputError, match=r"\(JudgeBench export\), record 1: found .* for a verdict, expected one"):
        read(lines(tmp_path / "log.jsonl", pair("a", odd)))


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


def single(question: int, model: str, judge: Any, score: Any, turn: int = 1) -> dict[str, Any]:
    return {"question_id": question, "model": model, "judge": judge, "judgment": "...", "score": score, "turn": turn}


def games(question: int, models: tuple[str, str], judge: Any, first: str, second: str) -> dict[str, Any]:
    about = {"question_id": question, "model_1": models[0], "model_2": models[1], "judge": judge, "turn": 1}
    return about | {"g1_winner": first, "g2_winner": second}


GPT4, CLAUDE = ["gpt-4", "single-v1"], ["claude", "single-v1"]


def test_scores_are_labels_and_failures_no_votes(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "log.jsonl",
        single(81, "alpaca", GPT4, 7),
        single(81, "alpaca", CLAUDE, 8.5),
        single(81, "alpaca", ["gpt-4", "single-v1-multi-turn"], 6, turn=2),
        single(81, "llama", GPT4, -1),
        single(82, "llama", "gpt-4", 10),
    )
    found = read(path)
    assert votes_of(found) == {
        ("81, alpaca, turn 1", "gpt-4", "7"),
        ("81, alpaca, turn 1", "claude", "8.5"),
        ("81, alpaca, turn 2", "gpt-4", "6"),
        ("82, llama, turn 1", "gpt-4", "10"),
    }
    assert found.counts.left_out == {"judgements that failed": 1}
    assert found.unlabelled.to_list() == ["81, llama, turn 1"]


def test_two_games_are_one_vote(tmp_path: Path) -> None:
    judge = ["gpt-4", "pair-v2"]
    path = lines(
        tmp_path / "log.jsonl",
        games(1, ("alpaca", "llama"), judge, "model_1", "model_1"),
        games(2, ("alpaca", "llama"), judge, "model_1", "model_2"),
        games(3, ("alpaca", "llama"), judge, "tie", "tie"),
        games(4, ("alpaca", "llama"), judge, "model_2", "error"),
        games(1, ("llama", "alpaca"), ["claude", "pair-v2"], "model_2", "model_2"),
    )
    found = read(path)
    assert votes_of(found) == {
        ("1, alpaca vs llama, turn 1", "gpt-4", "model_1"),
        ("2, alpaca vs llama, turn 1", "gpt-4", "tie"),
        ("3, alpaca vs llama, turn 1", "gpt-4", "tie"),
        ("1, alpaca vs llama, turn 1", "claude", "model_1"),
    }
    assert found.counts.left_out == {"judgements that failed": 1}


def test_games_are_votes_of_their_own_when_asked(tmp_path: Path) -> None:
    both = [(1, "model_1", "model_2"), (2, "tie", "error")]
    records = [games(number, ("alpaca", "llama"), ["gpt-4", "pair-v2"], *said) for number, *said in both]
    found = read(lines(tmp_path / "log.jsonl", *records), include="games")
    assert votes_of(found) == {
        ("1, alpaca vs llama, turn 1", "gpt-4 (game 1)", "model_1"),
        ("1, alpaca vs llama, turn 1", "gpt-4 (game 2)", "model_2"),
        ("2, alpaca vs llama, turn 1", "gpt-4 (game 1)", "tie"),
    }
    assert found.counts.left_out == {"judgements that failed": 1}


def test_judgements_of_people(tmp_path: Path) -> None:
    about = {"question_id": 1, "model_a": "llama", "model_b": "alpaca", "turn": 2}
    path = lines(
        tmp_path / "log.jsonl",
        about | {"winner": "model_a", "judge": "expert_1"},
        about | {"winner": "tie (bothbad)", "judge": ["gpt-4", "pair-v2"]},
    )
    task = "1, alpaca vs llama, turn 2"
    assert votes_of(read(path)) == {(task, "expert_1", "model_2"), (task, "gpt-4", "tie")}


def test_both_kinds_in_one_file_are_two_questions(tmp_path: Path) -> None:
    path = lines(tmp_path / "log.jsonl", single(1, "llama", GPT4, 7), games(1, ("a", "b"), GPT4, "tie", "tie"))
    assert list(read_each(path)) == ["score", "winner"]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"question_id": 2, "judge": GPT4, "score": 3}, 'record 2: found no "model"'),
        (single(2, "llama", [], 3), 'record 2: found no "judge"'),
        (single(2, "llama", GPT4, "good"), """record 2: found 'good' for "score", expected a number"""),
        (games(2, ("a", "b"), GPT4, "A", "B"), "record 2: found 'A' for the winner, expected model_1, model_2"),
        ({"question_id": 2, "judge": GPT4, "model_1": "a", "model_2": "b"}, "record 2: found neither"),
        ({"judge": GPT4}, 'record 2: found no judgement with a "question_id"'),
    ],
)
def test_damage_is_named_with_the_tool_the_record_and_the_remedy(
    tmp_path: Path, record: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words) as error:
        read(lines(tmp_path / "log.jsonl", single(1, "llama", GPT4, 7), record))
    assert "(MT-bench export)" in str(error.value)
    assert "gen_judgment.py" in str(error.value)


def test_a_line_that_was_cut_short(tmp_path: Path) -> None:
    path = lines(tmp_path / "log.jsonl", single(1, "llama", GPT4, 7), single(2, "llama", GPT4, 7))
    with pytest.raises(InputError, match=r"cut\.jsonl \(MT-bench export\), record 2: not valid JSON"):
        read(write(tmp_path / "cut.jsonl", path.read_bytes()[:-20]))
