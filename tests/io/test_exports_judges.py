"""Judgements of MT-bench, JudgeBench, AlpacaEval and Arena: made by hand, with the votes written beside them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import polars as pl

from finegold import read
from tests.support.exports_cases import check_each, put, reads, refuses
from tests.support.exports_made import lines
from tests.support.readers_votes import votes_of

FIRST, SECOND, TIE = "model_1", "model_2", "tie"
FAILED = {"judgements that failed": 1}
FILE = "log.jsonl"


def pair(judge: str, *decisions: Any, **more: Any) -> dict[str, Any]:
    judgments = [None if said is None else {"decision": said, "judgment": {}} for said in decisions]
    return {"pair_id": "p1", "question": "2 + 2?", "response_A": "4", "response_B": "5", "label": "A>B",
            "judge_name": judge, "judgments": judgments, **more}  # fmt: skip


VERDICTS = {
    "A>B": [["A>B"], ["A>>B"], ["B<A"], ["B<<A"], ["[[A>B]]"], ["A>B", "B>A"]],
    "B>A": [["B>A"], ["B>>A"], ["A<B"], ["A<<B"]],
    "A=B": [["A=B"], ["B=A"], ["A>B", "A>B"], ["A>B", "A=B"]],
    None: [[None], [""], ["error"], ["I cannot answer that"], ["A>B", None], []],
}
test_verdicts_of_one_or_two_games_make_one_vote = check_each({
    f"{said}": reads(
        *(FILE, [pair("a", *said), pair("b", "A>B")]),
        {("p1", "b", "A>B")} | ({("p1", "a", label)} if label else set()),
        {} if label else FAILED,
    )
    for label, games in VERDICTS.items()
    for said in games
})  # fmt: skip

JUDGE_BENCH = [
    pair("a", "A>B", "B>A"), pair("b", "A>B", "A>B"), pair("c", "B>A", "A>B"), pair("d", "A>B", None), pair("e", "B>A")
]  # fmt: skip
JUDGED = {
    ("p1", f"{who} gpt-4o", said)
    for who, said in {"a": "A>B", "b": "A=B", "c": "B>A", "e": "B>A"}.items()
}
OF_GPT = "dataset=judgebench,judge_name=vanilla,judge_model=gpt-4o.jsonl"
BY_O1 = pair("vanilla", "A>B", judgments=[{"decision": "A>B", "judgment": {"judge_model": "o1"}}])

test_judgements_of_judge_bench = check_each({
    "votes": reads(OF_GPT, JUDGE_BENCH, JUDGED, FAILED),
    "gold": reads(OF_GPT, JUDGE_BENCH, JUDGED, FAILED, truths={"p1": "A>B"}, gold=True),
    "the model in the judgement": reads("judge_model=gpt-4o.jsonl", [BY_O1], {("p1", "vanilla o1", "A>B")}),
    **{
        f"{odd} for a verdict": refuses(
            FILE, [pair("a", odd)], f"(JudgeBench export), record 1: found {odd!r} for a verdict, expected one"
        )
        for odd in ("A>C", 3, "model_a")
    },
})  # fmt: skip


def test_games_of_judge_bench_are_votes_when_asked(tmp_path: Path) -> None:
    assert read(put(tmp_path, OF_GPT, JUDGE_BENCH), include="games").n_votes == 8


def alpaca(
    judge: str, preference: Any, first: str = "gpt4", second: str = "llama", **more: Any
) -> dict[str, Any]:
    return {"instruction": "Name a colour.", "output_1": f"by {first}", "generator_1": first,
            "output_2": f"by {second}", "generator_2": second, "annotator": judge, "preference": preference,
            **more}  # fmt: skip


COLOUR = "Name a colour., gpt4 vs llama"
ALPACA = [
    alpaca(*said) for said in (("a", 1.0), ("b", 2), ("c", 1.98), ("d", 1.5), ("e", 0), ("f", None))
]
ALPACA.append(alpaca("g", 1, "llama", "gpt4"))  # the same pair in the other order
PREFERRED = {"a": FIRST, "b": SECOND, "c": SECOND, "d": TIE, "e": TIE, "g": SECOND}
test_preferences_of_alpaca_eval = check_each({
    "votes": reads("annotations.json", ALPACA, {(COLOUR, who, said) for who, said in PREFERRED.items()}, FAILED),
    "out of range": refuses(
        *("annotations.json", [alpaca("a", 1), alpaca("b", 7)]),
        '(AlpacaEval export), record 2: found 7 for "preference"',
    ),
})  # fmt: skip


def test_outputs_without_models_are_told_apart(tmp_path: Path) -> None:
    records = [alpaca("x", 1), alpaca("x", 2, "llama", "gpt4"), alpaca("x", 2, "other", "gpt4")]
    for number, record in enumerate(records):
        del record["generator_1"], record["generator_2"], record["annotator"]
        record["annotator_index"] = number
    found = read(put(tmp_path, "cross.json", records))
    assert (found.n_tasks, found.n_votes) == (2, 3)
    assert len({label for _, who, label in votes_of(found) if who < 2}) == 1  # the two agree


def hard(judge: str, model: str, *scores: str | None, **more: Any) -> dict[str, Any]:
    games = [{"user_prompt": "...", "judgment": "...", "score": score} for score in scores]
    return {"question_id": "q1", "model": model, "judge": judge, "games": games, **more}


HARD = [
    hard("a", "llama", "A>>B", "B>A"), hard("b", "llama", "B>A", "A>B"), hard("c", "llama", "A>B", "A>B"),
    hard("d", "llama", None, "A>B"), hard("a", "abc", "A>B", "B>A"),
]  # fmt: skip
LLAMA = "q1, baseline vs llama"
HARD_VOTES = {
    (LLAMA, "a", FIRST),
    (LLAMA, "b", SECOND),
    (LLAMA, "c", TIE),
    ("q1, abc vs baseline", "a", SECOND),
}
NEWER = {**hard("a", "llama", "A<B", "A>B", baseline="o3", uid="u1"), "question_id": None}
BATTLES = "question_id,model_a,model_b,winner,judge\nq1,x,y,model_a,ann\nq1,y,x,model_b,bob\nq1,x,z,tie (bothbad),ann\n"
pl.read_csv(BATTLES.encode()).write_parquet(PARQUET := io.BytesIO())
BATTLE_VOTES = {
    ("q1, x vs y", "ann", FIRST),
    ("q1, x vs y", "bob", FIRST),
    ("q1, x vs z", "ann", TIE),
}
NAMED = BATTLES.replace("model_a,ann", "x,ann").replace("model_b,bob", "x,bob")
RECORDS = [
    {"id": "q1", "model_a": a, "model_b": b, "winner": winner, "judge": judge}
    for a, b, winner, judge in (("x", "y", "model_a", "ann"), ("y", "x", "model_b", "bob"))
]
test_battles = check_each({
    "Arena-Hard": reads(FILE, HARD, HARD_VOTES, FAILED),
    "newer logs of Arena-Hard": reads(FILE, [NEWER], {("u1, llama vs o3", "a", FIRST)}),
    "a table, whose pairs are turned and kept apart by their models": reads("battles.csv", BATTLES, BATTLE_VOTES),
    "Parquet": reads("battles.parquet", PARQUET.getvalue(), BATTLE_VOTES),
    "winners by their names": reads("named.csv", NAMED, BATTLE_VOTES),
    "JSON": reads(FILE, RECORDS, {vote for vote in BATTLE_VOTES if "z" not in vote[0]}),
    **{
        f"refused: {words}": refuses("battles.csv", f"{header}\n{row}\n", words)
        for header, row, words in (
            ("question_id,model_a,model_b,winner", "q1,x,y,model_a", "(Arena export), record 1: found no judge"),
            ("model_a,model_b,winner,judge", "x,y,model_a,ann", "record 1: found no question; add a field question_id"),
            ("id,model_a,model_b,winner,judge", "1,x,y,left,ann", "record 1: found 'left' for the winner"),
            ("id,model_a,model_b,winner,judge", "1,x,,tie,ann", 'record 1: found None for "model_b", expected a text'),
        )
    },
})  # fmt: skip


def single(question: int, model: str, judge: Any, score: Any, turn: int = 1) -> dict[str, Any]:
    return {
        "question_id": question,
        "model": model,
        "judge": judge,
        "judgment": "...",
        "score": score,
        "turn": turn,
    }


def games(question: int, models: str, judge: Any, first: str, second: str) -> dict[str, Any]:
    about = {
        "question_id": question,
        "model_1": models[0],
        "model_2": models[1],
        "judge": judge,
        "turn": 1,
    }
    return about | {"g1_winner": first, "g2_winner": second}


GPT4, CLAUDE = ["gpt-4", "single-v1"], ["claude", "single-v1"]
PEOPLE = {"question_id": 1, "model_a": "l", "model_b": "a", "turn": 2}
BOTH_BAD = PEOPLE | {"winner": "tie (bothbad)", "judge": GPT4}
SINGLES = [
    single(81, "alpaca", GPT4, 7), single(81, "alpaca", CLAUDE, 8.5),
    single(81, "alpaca", ["gpt-4", "single-v1-multi-turn"], 6, turn=2),
    single(81, "llama", GPT4, -1), single(82, "llama", "gpt-4", 10),
]  # fmt: skip
GAMES = [
    games(1, "al", GPT4, FIRST, FIRST), games(2, "al", GPT4, FIRST, SECOND), games(3, "al", GPT4, TIE, TIE),
    games(4, "al", GPT4, SECOND, "error"), games(1, "la", CLAUDE, SECOND, SECOND),
]  # fmt: skip
test_judgements_of_mt_bench = check_each({
    "scores are labels and failures no votes": reads(
        *(FILE, SINGLES),
        {("81, alpaca, turn 1", "gpt-4", "7"), ("81, alpaca, turn 1", "claude", "8.5"),
         ("81, alpaca, turn 2", "gpt-4", "6"), ("82, llama, turn 1", "gpt-4", "10")},
        FAILED, unlabelled=["81, llama, turn 1"],
    ),
    "two games are one vote": reads(
        *(FILE, GAMES),
        {("1, a vs l, turn 1", "gpt-4", FIRST), ("2, a vs l, turn 1", "gpt-4", TIE),
         ("3, a vs l, turn 1", "gpt-4", TIE), ("1, a vs l, turn 1", "claude", FIRST)},
        FAILED,
    ),
    "games are votes of their own when asked": reads(
        *(FILE, [games(1, "al", GPT4, FIRST, SECOND), games(2, "al", GPT4, TIE, "error")]),
        {("1, a vs l, turn 1", "gpt-4 (game 1)", FIRST), ("1, a vs l, turn 1", "gpt-4 (game 2)", SECOND),
         ("2, a vs l, turn 1", "gpt-4 (game 1)", TIE)},
        FAILED, include="games",
    ),
    "judgements of people": reads(
        *(FILE, [PEOPLE | {"winner": "model_a", "judge": "expert"}, BOTH_BAD]),
        {("1, a vs l, turn 2", "expert", SECOND), ("1, a vs l, turn 2", "gpt-4", TIE)},
    ),
    "both kinds in one file are two questions": reads(
        *(FILE, [single(1, "llama", GPT4, 7), games(1, "ab", GPT4, TIE, TIE)]),
        {"score": {("1, llama, turn 1", "gpt-4", 7)}, "winner": {("1, a vs b, turn 1", "gpt-4", TIE)}},
    ),
    "a line that was cut short": refuses(
        "cut.jsonl", lines(SINGLES[:2])[:-20], "cut.jsonl (MT-bench export), record 2: the file is cut short"
    ),
})  # fmt: skip

DAMAGED = {
    'record 2: found no "model"': {"question_id": 2, "judge": GPT4, "score": 3},
    'record 2: found no "judge"': single(2, "llama", [], 3),
    """record 2: found 'good' for "score", expected a number""": single(2, "llama", GPT4, "good"),
    "record 2: found 'A' for the winner, expected model_1, model_2": games(2, "ab", GPT4, "A", "B"),
    "record 2: found neither": {"question_id": 2, "judge": GPT4, "model_1": "a", "model_2": "b"},
    'record 2: found no "question_id"': {"judge": GPT4},
}
test_damage_is_named_with_the_tool_the_record_and_the_remedy = check_each({
    words: refuses(FILE, [single(1, "llama", GPT4, 7), record], words, "(MT-bench export)", "gen_judgment.py")
    for words, record in DAMAGED.items()
})  # fmt: skip
