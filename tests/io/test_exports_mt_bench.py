"""MT-bench: hand-made judgements in, the votes written by hand out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from finegold import InputError
from finegold.io.read import read, read_each
from tests.support.readers_votes import votes_of, write


def lines(path: Path, *records: dict[str, Any]) -> Path:
    return write(path / "gpt-4_judgment.jsonl", "".join(json.dumps(record) + "\n" for record in records))


def single(question: int, model: str, judge: Any, score: Any, turn: int = 1) -> dict[str, Any]:
    return {"question_id": question, "model": model, "judge": judge, "judgment": "...", "score": score, "turn": turn}


def pair(question: int, models: tuple[str, str], judge: Any, first: str, second: str) -> dict[str, Any]:
    return {
        "question_id": question,
        "model_1": models[0],
        "model_2": models[1],
        "judge": judge,
        "g1_winner": first,
        "g2_winner": second,
        "turn": 1,
    }


GPT4, CLAUDE = ["gpt-4", "single-v1"], ["claude", "single-v1"]


def test_scores_are_labels_and_failures_no_votes(tmp_path: Path) -> None:
    path = lines(
        tmp_path,
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
        tmp_path,
        pair(1, ("alpaca", "llama"), judge, "model_1", "model_1"),
        pair(2, ("alpaca", "llama"), judge, "model_1", "model_2"),
        pair(3, ("alpaca", "llama"), judge, "tie", "tie"),
        pair(4, ("alpaca", "llama"), judge, "model_2", "error"),
        pair(1, ("llama", "alpaca"), ["claude", "pair-v2"], "model_2", "model_2"),
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
    path = lines(
        tmp_path,
        pair(1, ("alpaca", "llama"), ["gpt-4", "pair-v2"], "model_1", "model_2"),
        pair(2, ("alpaca", "llama"), ["gpt-4", "pair-v2"], "tie", "error"),
    )
    found = read(path, include="games")
    assert votes_of(found) == {
        ("1, alpaca vs llama, turn 1", "gpt-4 (game 1)", "model_1"),
        ("1, alpaca vs llama, turn 1", "gpt-4 (game 2)", "model_2"),
        ("2, alpaca vs llama, turn 1", "gpt-4 (game 1)", "tie"),
    }
    assert found.counts.left_out == {"judgements that failed": 1}


def test_judgements_of_people(tmp_path: Path) -> None:
    about = {"question_id": 1, "model_a": "llama", "model_b": "alpaca", "turn": 2}
    path = lines(
        tmp_path,
        about | {"winner": "model_a", "judge": "expert_1"},
        about | {"winner": "tie (bothbad)", "judge": ["gpt-4", "pair-v2"]},
    )
    task = "1, alpaca vs llama, turn 2"
    assert votes_of(read(path)) == {(task, "expert_1", "model_2"), (task, "gpt-4", "tie")}


def test_both_kinds_in_one_file_are_two_questions(tmp_path: Path) -> None:
    path = lines(tmp_path, single(1, "llama", GPT4, 7), pair(1, ("a", "b"), GPT4, "tie", "tie"))
    assert list(read_each(path)) == ["score", "winner"]


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"question_id": 2, "judge": GPT4, "score": 3}, 'record 2: found no "model"'),
        (single(2, "llama", [], 3), 'record 2: found no "judge"'),
        (single(2, "llama", GPT4, "good"), """record 2: found 'good' for "score", expected a number"""),
        (pair(2, ("a", "b"), GPT4, "A", "B"), "record 2: found 'A' for the winner, expected model_1, model_2"),
        ({"question_id": 2, "judge": GPT4, "model_1": "a", "model_2": "b"}, "record 2: found neither"),
        ({"judge": GPT4}, 'record 2: found no judgement with a "question_id"'),
    ],
)
def test_damage_is_named_with_the_tool_the_record_and_the_remedy(
    tmp_path: Path, record: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words) as error:
        read(lines(tmp_path, single(1, "llama", GPT4, 7), record))
    assert "(MT-bench export)" in str(error.value)
    assert "gen_judgment.py" in str(error.value)


def test_a_line_that_was_cut_short(tmp_path: Path) -> None:
    path = lines(tmp_path, single(1, "llama", GPT4, 7), single(2, "llama", GPT4, 7))
    with pytest.raises(InputError, match=r"cut\.jsonl \(MT-bench export\), record 2: no valid JSON"):
        read(write(tmp_path / "cut.jsonl", path.read_bytes()[:-20]))
