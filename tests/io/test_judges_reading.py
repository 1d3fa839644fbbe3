"""Raw judge logs: columns and verdicts in the usual forms, the swap undone, failed calls recognised."""

import json

import polars as pl
import pytest

from finegold.errors import InputError
from finegold.io.judge_logs import read_judge_log as read
from finegold.io.judge_logs import with_gold
from finegold.io.verdicts import Meaning, class_of, meaning_of

FIRST, SECOND, TIE = Meaning.FIRST, Meaning.SECOND, Meaning.TIE


def table(**columns):
    return pl.DataFrame(columns)


def lines(path, *rows):
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


def answers(log):
    """Verdicts by item, judge and what was shown first; failed calls are None."""
    named = [log.class_names[code] if code >= 0 else None for code in log.answer]
    rows = zip(log.item.tolist(), log.judge.tolist(), log.first.tolist(), named, strict=True)
    return [(str(log.item_names[i]), log.judge_names[j], first, answer) for i, j, first, answer in rows]


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("A", FIRST),
        ("b", SECOND),
        ("1", FIRST),
        ("2.0", SECOND),
        ("First", FIRST),
        ("second answer", SECOND),
        ("Response B", SECOND),
        ("[[A]]", FIRST),
        ("[[C]]", TIE),
        ("A is worse in tone. B is longer.\n\nFinal verdict: [[B]]", SECOND),
        ('{"reason": "A is long", "winner": "B"}', SECOND),
        ("A>B", FIRST),
        ("B<<A", FIRST),
        ("[[B>>A]]", SECOND),
        ("A=B", TIE),
        ("tie (bothbad)", TIE),
        ("both_bad", TIE),
        ("Draw.", TIE),
        ("model_a", Meaning.SIDE_A),
        ("model_2", Meaning.SIDE_B),
        ("win", Meaning.SIDE_A),
        ("lose", Meaning.SIDE_B),
        ("1.2", FIRST),
        ("1.5", TIE),
        ("ERROR: timeout", Meaning.ERROR),
        ("HTTP 503 from the server", Meaning.ERROR),
        ("I cannot answer that", Meaning.REFUSAL),
        ("I'm sorry, but as an AI I will not judge this.", Meaning.REFUSAL),
        ("Both have merits and it depends", Meaning.UNREADABLE),
        ("", Meaning.EMPTY),
        ("None", Meaning.EMPTY),
        (None, Meaning.EMPTY),
    ],
)
def test_a_verdict_is_understood(text, meaning):
    assert meaning_of(text) == meaning


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("PASS.", "pass"),
        ("fail", "fail"),
        ("Score: 4", "4"),
        ("The answer is fine. Rating: [[3]]", "3"),
        ("partially correct", "partially correct"),
        ("Error: rate limit", Meaning.ERROR),
        ("I can't help with that", Meaning.REFUSAL),
        ("this is a long text that explains something but never comes to the point", Meaning.UNREADABLE),
    ],
)
def test_a_pointwise_verdict_is_understood(text, meaning):
    assert class_of(text) == meaning


def test_prompt_model_order_verdict():
    """The log of the issue: five kinds of text are two answers, a tie and two failures; the swap is undone."""
    log = read(
        table(
            prompt=[1, 1, 1, 1, 2, 2, 2, 2],
            model=["gpt", "gpt", "claude", "claude"] * 2,
            order=["AB", "BA"] * 4,
            verdict=["first", "second", "first", "ERROR: timeout", "second", "second", "tie", "I cannot answer that"],
        )
    )
    assert answers(log) == [
        ("1", "gpt", 0, "A"),
        ("1", "gpt", 1, "A"),
        ("1", "claude", 0, "A"),
        ("1", "claude", 1, None),
        ("2", "gpt", 0, "B"),
        ("2", "gpt", 1, "A"),
        ("2", "claude", 0, "tie"),
        ("2", "claude", 1, None),
    ]
    assert log.failures() == {"claude": {"error": 1, "refusal": 1}, "gpt": {}}


def test_a_b_verdicts_may_name_answers_instead_of_positions():
    frame = table(item=[1, 1], judge=["j", "j"], swapped=[False, True], verdict=["A", "A"])
    assert [row[3] for row in answers(read(frame))] == ["A", "B"]
    assert [row[3] for row in answers(read(frame, verdicts="answer"))] == ["A", "A"]


def test_arena_rows_name_the_systems_in_the_order_shown():
    log = read(
        table(
            question_id=[1, 1, 1, 2],
            judge=["a", "a", "b", "b"],
            model_a=["x", "y", "x", "x"],
            model_b=["y", "x", "z", "y"],
            winner=["model_a", "x", "model_b", "tie (bothbad)"],
        )
    )
    assert log.system_names == ["x", "y", "z"]
    assert [(str(name), first, said) for name, _, first, said in answers(log)] == [
        ("1, x vs y", 0, "A"),
        ("1, x vs y", 1, "A"),
        ("1, x vs z", 0, "B"),
        ("2, x vs y", 0, "tie"),
    ]


def test_an_order_that_repeats_the_columns_of_systems_counts_once():
    rows = {"item": [1, 1], "judge": ["j", "j"], "verdict": ["A", "B"]}
    exchanged = read(table(**rows, model_a=["x", "y"], model_b=["y", "x"], order=["AB", "BA"]))
    fixed = read(table(**rows, model_a=["x", "x"], model_b=["y", "y"], order=["AB", "BA"]))
    assert answers(exchanged) == answers(fixed) == [("1", "j", 0, "x"), ("1", "j", 1, "x")]


def test_mt_bench(tmp_path):
    row = {"question_id": 1, "judge": ["gpt-4", "pair-v2"], "turn": 1}
    one = row | {"model_1": "x", "model_2": "y", "g1_winner": "model_1", "g2_winner": "model_2"}
    two = row | {"model_1": "y", "model_2": "x", "g1_winner": "tie", "g2_winner": "error"}
    log = read(lines(tmp_path / "log.jsonl", one, two))
    assert sorted(answers(log), key=str) == [
        ("1", "gpt-4", 0, "x"),
        ("1", "gpt-4", 0, None),
        ("1", "gpt-4", 1, "tie"),
        ("1", "gpt-4", 1, "y"),
    ]


def test_judge_bench_with_its_labels_as_gold(tmp_path):
    def row(pair, label, *decisions):
        games = [d and {"judgment": {"judge_model": "gpt-4o"}, "decision": d} for d in decisions]
        return {"pair_id": pair, "judge_name": "arena_hard", "label": label, "judgments": games}

    log = read(lines(tmp_path / "log.jsonl", row("p", "A>B", "A>B", "A>B"), row("q", "B>A", "B>A", None)))
    assert answers(log) == [
        ("p", "arena_hard gpt-4o", 0, "A"),
        ("p", "arena_hard gpt-4o", 1, "B"),
        ("q", "arena_hard gpt-4o", 0, "B"),
        ("q", "arena_hard gpt-4o", 1, None),
    ]
    assert log.gold.tolist() == [0, 1]


def test_arena_hard(tmp_path):
    row = {"question_id": "q", "model": "new", "judge": "gpt-4", "baseline": "base"}
    log = read(lines(tmp_path / "log.jsonl", row | {"games": [{"score": "A>>B"}, {"score": "A=B"}]}))
    assert answers(log) == [("q", "gpt-4", 0, "base"), ("q", "gpt-4", 1, "tie")]


def test_alpaca_eval(tmp_path):
    row = {"instruction": "Say hi", "output_1": "a", "output_2": "b", "generator_1": "base", "annotator": "j"}
    rows = [row | {"generator_2": "new", "preference": 1.97}, row | {"generator_2": "old", "preference": 1.0}]
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps(rows))
    log = read(path)
    assert answers(log) == [("Say hi, base vs new", "j", -1, "B"), ("Say hi, base vs old", "j", -1, "A")]


def test_win_and_lose_against_a_baseline():
    frame = table(
        id=[1, 2, 3], judge=["j"] * 3, model=["new"] * 3, baseline=["base"] * 3, result=["win", "lose", "tie"]
    )
    assert [(first, said) for _, _, first, said in answers(read(frame))] == [(-1, "new"), (-1, "base"), (-1, "tie")]


def test_scores_are_ordered_classes():
    said = ["4", "4.0", "Score: 10", "I'm sorry, I cannot", "3/10", "-1"]
    log = read(table(item=[1, 1, 2, 2, 3, 3], judge=["a", "b"] * 3, score=said))
    assert (log.kind, log.class_names, log.is_ordered) == ("pointwise", ["3", "4", "10"], True)
    assert [row[3] for row in answers(log)] == ["4", "4", "10", None, "3", None]


def test_pass_and_fail_with_a_status_and_costs(tmp_path):
    text = (
        "sample_id,grader,verdict,status,cost\n1,a,Pass,ok,0.1\n1,b,PASS.,ok,0.2\n2,a,fail,timeout,0.1\n2,b,Fail,,0.3\n"
    )
    path = tmp_path / "log.csv"
    path.write_text(text)
    log = read(path)
    assert log.class_names == ["fail", "pass"]
    assert [row[3] for row in answers(log)] == ["pass", "pass", None, "fail"]
    assert log.cost.tolist() == [0.1, 0.2, 0.1, 0.3]


def test_pointwise_verdicts_on_several_systems_are_items_of_their_own():
    log = read(table(question_id=[1, 1], judge=["a", "a"], model=["x", "y"], score=[7, 9]))
    assert log.item_names == ["1, x", "1, y"]


def test_one_file_per_judge(tmp_path):
    for name, verdict in (("gpt", "A"), ("claude", "B")):
        (tmp_path / f"{name}.csv").write_text(f"item,order,verdict\n1,AB,{verdict}\n")
    assert answers(read(tmp_path)) == [("1", "claude", 0, "B"), ("1", "gpt", 0, "A")]


def test_inspect_logs_are_read_by_their_reader(tmp_path):
    score = {"judge_a": {"value": "C"}, "judge_b": {"value": "I"}}
    log = {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m"},
        "samples": [{"id": 1, "scores": score}],
    }
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    assert answers(read(path)) == [("1", "judge_a", -1, "C"), ("1", "judge_b", -1, "I")]


def test_a_call_made_again_for_the_same_repeat_replaces_the_first():
    rows = {"item": [1, 1, 1], "judge": ["j"] * 3, "order": ["AB"] * 3, "verdict": ["ERROR: timeout", "A", "B"]}
    assert [row[3] for row in answers(read(table(**rows, repeat=[1, 1, 2])))] == ["A", "B"]
    assert [row[3] for row in answers(read(table(**rows)))] == [None, "A", "B"]


@pytest.mark.parametrize(
    ("columns", "remedy"),
    [
        ({"item": [1], "who": ["j"], "verdict": ["A"]}, "use judge='who'"),
        ({"text": ["x"], "judge": ["j"], "verdict": ["A"]}, "use item='text'"),
        ({"item": [1], "judge": ["j"], "said": ["A"]}, "use verdict='said'"),
        (
            {"item": [1], "judge": ["j"], "order": ["AB"], "verdict": ["It depends on what you want, really."]},
            "if they are pointwise, use kind='pointwise'",
        ),
    ],
)
def test_a_wrong_log_is_refused_with_a_remedy(columns, remedy):
    with pytest.raises(InputError) as error:
        read(table(**columns))
    assert remedy in str(error.value)


def test_verdicts_without_a_judge_and_too_many_scores_are_refused():
    with pytest.raises(InputError, match="verdict 2 has no judge"):
        read(table(item=[1, 1], judge=["a", None], verdict=["pass", "fail"]))
    with pytest.raises(InputError, match="100 different scores"):
        read(table(item=list(range(100)), judge=["a"] * 100, score=list(range(100))))


def test_gold_names_systems_or_classes():
    frame = table(item=[1, 2], judge=["j"] * 2, model_a=["x", "z"], model_b=["y", "y"], winner=["A", "A"])
    log = read(frame)
    assert with_gold(log, {1: "y", 2: "tie"}).gold.tolist() == [1, 2]
    with pytest.raises(InputError, match="the gold of item 1 is 'q'; expected one of x, y, tie"):
        with_gold(log, {1: "q"})
    with pytest.raises(InputError, match="none of the 1 gold truths"):
        with_gold(log, {77: "x"})


def test_contradictions_after_every_swap_are_said():
    n = 30
    frame = table(item=sorted([*range(n)] * 2), judge=["j"] * 2 * n, order=["AB", "BA"] * n, verdict=["A"] * 2 * n)
    assert 'set the option verdicts to "answer"' in read(frame).notes[0]
    assert read(frame, verdicts="answer").notes == []


def test_what_is_not_used_is_said():
    rows = {"item": [1, 1], "judge": ["a", "b"], "verdict": ["pass", "fail"], "cost": ["$0.5", "free"]}
    log = read(table(**rows, order=["XY", "YX"]))
    assert log.cost[0] == 0.5
    assert [note.split(" is not used")[0].split(" values")[0] for note in log.notes] == ["1", 'the column "order"']
    with pytest.raises(InputError, match='the column "order" has other values than AB and BA'):
        read(table(**rows, order=["XY", "YX"]), order="order")


@pytest.mark.parametrize("games", ["x", [], None, [{"said": 1}], [1]])
@pytest.mark.parametrize(
    "row", [{"pair_id": 1, "judgments": ...}, {"question_id": 1, "judge": "j", "model": "m", "games": ...}]
)
def test_damaged_judgements_are_refused_in_words(tmp_path, row, games):
    with pytest.raises(InputError, match=r"log\.jsonl"):
        read(lines(tmp_path / "log.jsonl", {name: games if value is ... else value for name, value in row.items()}))


def test_a_log_is_a_table_of_calls_with_times_and_lengths():
    log = read(
        table(
            question_id=[1, 1, 2],
            judge=["j", "k", "j"],
            model_a=["y", "x", "x"],
            model_b=["x", "y", "y"],
            response_a=["four", "a", "a"],
            response_b=["a", "four", "bb"],
            winner=["A", "error", "tie"],
            gold=["model_a", "y", None],
            cost=[0.1, None, 0.3],
            timestamp=["2026-01-02T03:04:05", "2026-01-02T03:04:06", None],
        )
    )
    calls = log.calls()
    assert calls["verdict"].to_list() == ["y", None, "tie"]
    assert calls["failure"].to_list() == [None, "error", None]
    assert calls["shown_first"].to_list() == ["y", "x", "x"]
    assert calls["gold"].to_list() == ["y", "y", None]
    assert calls["cost"].to_list() == [0.1, None, 0.3]
    assert calls["time"].dt.second().to_list() == [5, 6, None]
    assert calls.select("system_a", "system_b", "length_a", "length_b").rows()[::2] == [
        ("x", "y", 1, 4),
        ("x", "y", 1, 2),
    ]


@pytest.mark.parametrize("times", [[1.7e9, 1.7e9 + 1], [1.7e12, 1.7e12 + 1000], ["noon", "later"]])
def test_times_are_seconds_milliseconds_or_unknown(times):
    log = read(table(item=[1, 2], judge=["j", "j"], verdict=["pass", "fail"], tstamp=times))
    years = log.calls()["time"].dt.year().to_list()
    assert years == ([None, None] if isinstance(times[0], str) else [2023, 2023])
