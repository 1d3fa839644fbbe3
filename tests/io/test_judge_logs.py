"""Logs of judges: columns and verdicts in the usual forms, the swap undone, failed calls, and samples of each tool."""

import json

import polars as pl
import pytest

import finegold
from finegold.errors import InputError
from finegold.io.judge_logs import read_judge_log as read
from finegold.io.judge_logs import with_gold
from finegold.io.verdicts import LogReading, Meaning, class_of

FORMS = {
    Meaning.FIRST: ["A", "1", "First", "[[A]]", "A>B", "A>>B", "B<<A", "1.2", "Output (a) is better.", "(a)",
                    "So the answer is \\boxed{A}", "I prefer response A because it is shorter.", "A wins",
                    "I prefer the first response over the second.",
                    '{"reason": "shorter", "winner": "A"}', '{"better_response": "A", "score": 2}'],
    Meaning.SECOND: ["Answer: B", "b", "2", "2.0", "second answer", "Response B", "Response 2", "[[B>>A]]",
                     "<answer>B</answer>",
                     "A is worse in tone. B is longer.\n\nFinal verdict: [[B]]", "My final verdict is: [[B>>A]]",
                     '{"reason": "A is long", "winner": "B"}', "**Winner: Assistant B**",
                     "Output (a) is long. Therefore, Output (b) is better.", '{"winner": "B", "score": 1}'],
    Meaning.TIE: ["C", "[[C]]", "3", "1.5", "A=B", "Tie", "tie (bothbad)", "both_bad", "Draw.", "It's a tie"],
    Meaning.SIDE_A: ["model_a", "win"],
    Meaning.SIDE_B: ["model_2", "model_b", "lose"],
    Meaning.ERROR: ["ERROR: timeout", "HTTP 503 from the server"],
    Meaning.REFUSAL: ["I cannot answer that", "I'm sorry, but as an AI I will not judge this."],
    Meaning.UNREADABLE: ["It depends on the reader.", "Both have merits and it depends", "Output (a) is not better.",
                         "Neither response A nor response B is better.", "I would choose a response that is short.",
                         "It is hard to choose A or B.", '{"winner": "unclear", "score": 1}'],
    Meaning.EMPTY: ["", "None"],
}  # fmt: skip
CLASSES = {
    "PASS.": "pass",
    "fail": "fail",
    "Score: 4": "4",
    "The answer is fine. Rating: [[3]]": "3",
    "partially correct": "partially correct",
    "Error: rate limit": Meaning.ERROR,
    "I can't help with that": Meaning.REFUSAL,
    "this is a long text that explains something but never comes to the point": Meaning.UNREADABLE,
}


def table(**columns):
    return pl.DataFrame(columns)


def calls(*said, **more):
    """A judge on items 1, 2, ... with the first answer shown first."""
    n = len(said)
    return {"item": list(range(1, n + 1)), "judge": ["j"] * n, "order": ["AB"] * n, "verdict": list(said)} | more


def lines(path, *rows):
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


def answers(log):
    """Verdicts by item, judge and what was shown first; failed calls are None."""
    rows = log.calls().select("item", "judge", "verdict").rows()
    return [
        (str(item), judge, first, said) for (item, judge, said), first in zip(rows, log.first.tolist(), strict=True)
    ]


@pytest.mark.parametrize(("text", "meaning"), [(text, meaning) for meaning, texts in FORMS.items() for text in texts])
def test_a_pairwise_verdict_is_understood(text, meaning):
    assert LogReading().meanings([text, *(("1", "2") if text == "3" else ())])[text] == meaning


@pytest.mark.parametrize(("text", "meaning"), CLASSES.items())
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
    log = read(lines(tmp_path / "annotations.json", rows))
    assert answers(log) == [("Say hi, base vs new", "j", -1, "B"), ("Say hi, base vs old", "j", -1, "A")]


def test_win_and_lose_against_a_baseline():
    systems = {"model": ["new"] * 3, "baseline": ["base"] * 3}
    frame = table(id=[1, 2, 3], judge=["j"] * 3, result=["win", "lose", "tie"], **systems)
    assert [(first, said) for _, _, first, said in answers(read(frame))] == [(-1, "new"), (-1, "base"), (-1, "tie")]


def test_scores_are_ordered_classes():
    said = ["4", "4.0", "Score: 10", "I'm sorry, I cannot", "3/10", "-1"]
    log = read(table(item=[1, 1, 2, 2, 3, 3], judge=["a", "b"] * 3, score=said))
    assert (log.kind, log.class_names, log.is_ordered) == ("pointwise", ["3", "4", "10"], True)
    assert [row[3] for row in answers(log)] == ["4", "4", "10", None, "3", None]


def test_pass_and_fail_with_a_status_and_costs(tmp_path):
    path = tmp_path / "log.csv"
    rows = ["1,a,Pass,ok,0.1", "1,b,PASS.,ok,0.2", "2,a,fail,timeout,0.1", "2,b,Fail,,0.3"]
    path.write_text("\n".join(["sample_id,grader,verdict,status,cost", *rows]))
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
    samples = [{"id": 1, "scores": {"judge_a": {"value": "C"}, "judge_b": {"value": "I"}}}]
    log = {"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": samples}
    assert answers(read(lines(tmp_path / "log.json", log))) == [("1", "judge_a", -1, "C"), ("1", "judge_b", -1, "I")]


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


def both_orders(n, *, by_name):
    """A judge that errs in a tenth of its calls and names answers or positions, in both orders; and the truths."""
    truths = [i % 2 for i in range(n)]
    chosen = [[side if (i + 3 * order) % 10 else 1 - side for order in (0, 1)] for i, side in enumerate(truths)]
    said = ["AB"[side if by_name or not order else 1 - side] for each in chosen for order, side in enumerate(each)]
    frame = table(item=sorted([*range(n)] * 2), judge=["j"] * 2 * n, order=["AB", "BA"] * n, verdict=said)
    return frame, dict(enumerate("AB"[side] for side in truths))


def test_verdicts_that_seem_to_name_answers_and_not_positions_are_said():
    always = table(item=sorted([*range(30)] * 2), judge=["j"] * 60, order=["AB", "BA"] * 30, verdict=["A"] * 60)
    for frame in (always, both_orders(30, by_name=True)[0]):
        assert 'set the option verdicts to "answer"' in read(frame).notes[0]
        assert read(frame, verdicts="answer").notes == []
    assert read(both_orders(30, by_name=False)[0]).notes == []
    fair, odd = (both_orders(30, by_name=by_name)[0] for by_name in (False, True))
    mixed = pl.concat([fair, fair.with_columns(judge=pl.lit("i")), odd.with_columns(judge=pl.lit("k"))])
    assert "in 40% of the swapped pairs a judge contradicts itself" in read(mixed).notes[0]  # one of them, in both ways


def test_two_verdicts_of_unknown_order_are_repeats_or_refused():
    frame = both_orders(30, by_name=False)[0].drop("order")
    with pytest.raises(InputError, match=r"no column says in which order .* 80% of them contradict each other"):
        read(frame)
    assert len(read(frame.with_columns(run=pl.Series([1, 2] * 30))).answer) == 60
    alike = read(both_orders(30, by_name=True)[0].drop("order"))
    assert alike.notes[0].endswith("they count as repeats")


@pytest.mark.parametrize(
    "names", ["gpt_ab gpt_ba", "gpt swapped_gpt", "original/gpt swapped/gpt", "log-orig log-reversed"]
)
def test_the_names_of_files_may_say_the_order(tmp_path, names):
    frame, _ = both_orders(20, by_name=False)
    for name, order in zip(names.split(), ("AB", "BA"), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        part = frame.filter(order=order).drop("order", *(["judge"] if "gpt" in name else []))
        part.write_csv(tmp_path / f"{name}.csv")
    log = read(tmp_path)
    assert sorted(row[2:] for row in answers(log)) == sorted(row[2:] for row in answers(read(frame)))
    assert log.judge_names == (["gpt"] if "gpt" in names else ["j"])
    assert any("the names of the files say in which order" in note for note in log.notes)


def test_truths_may_name_positions_and_orders_the_system_that_is_shown_first():
    frame, truths = both_orders(20, by_name=False)
    expected = finegold.judges.assess(frame, gold=truths).judges()
    swapped = pl.col("order") == "BA"
    said = [truths[item] for item in frame["item"]]
    frame = frame.with_columns(label=pl.Series(said))
    by_position = pl.when(swapped).then(pl.col("label").replace({"A": "B", "B": "A"})).otherwise("label")
    assert finegold.judges.assess(frame.with_columns(label=by_position)).judges() == expected
    first = pl.when(swapped).then(pl.lit("y")).otherwise(pl.lit("x"))
    named = frame.with_columns(model_a=pl.lit("x"), model_b=pl.lit("y"), shown_first=first)
    assert finegold.judges.assess(named.drop("order")).judges() == expected


def test_objects_are_verdicts_with_a_field_and_truths_of_zero_and_one_need_a_meaning():
    said = [{"winner": "A", "confidence": 1}, {"winner": "B", "confidence": 2}]
    assert read(calls(*said)).answer.tolist() == [0, 1]
    with pytest.raises(InputError, match="the truths are 0 and 1"):
        read(calls("A", "B", label=[0, 1]))
    assert read(calls("A", "B", label=[0, 1]), verdict_map="0=A,1=B").gold.tolist() == [0, 1]


def test_a_scale_of_preferences_is_not_taken_for_first_and_second():
    with pytest.raises(InputError, match="10 of 10 verdicts cannot be read as pairwise ones"):
        read(calls(*"1762561271"))
    assert read(calls(*"12" * 20, "7")).n_failed == 1


def test_truths_in_a_file_beside_the_log_are_gold(tmp_path):
    frame, truths = both_orders(20, by_name=False)
    frame.rename({"order": "a_first"}).with_columns(a_first=frame["order"] == "AB").write_csv(tmp_path / "log.csv")
    table(item=list(truths), truth=list(truths.values())).write_csv(tmp_path / "gold.csv")
    assert finegold.judges.assess(tmp_path).judges() == finegold.judges.assess(frame, gold=truths).judges()


def test_a_label_beside_another_column_of_truths_is_the_verdict():
    rows = {"item": [1, 1, 2, 2], "judge": ["i", "j"] * 2, "label": list("ABBB"), "gold": list("AABB")}
    assert (read(rows).answer.tolist(), read(rows).gold.tolist()) == ([0, 1, 1, 1], [0, 1])


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


@pytest.mark.parametrize(
    "said", [("1", "2", "3"), ("1", "2", "0"), ("1", "-1", "0"), ("1.0", "0.0", "0.5")], ids=",".join
)
def test_what_numbers_mean_depends_on_those_beside_them(said):
    assert [row[3] for row in answers(read(calls(*said)))] == ["A", "B", "tie"]


def test_zeros_and_ones_alone_are_refused_with_a_remedy():
    with pytest.raises(InputError, match="may mean several things"):
        read(calls("0", "1"))
    for meant in ({"1": "A", "0": "B"}, "1=A,0=B"):
        assert read(calls("0", "1"), verdict_map=meant).answer.tolist() == [1, 0]


def test_verdicts_that_cannot_be_read_are_listed_with_counts():
    log = read(calls(*["A"] * 6, "hm", "hm", "well, well"))
    assert log.unread == {"hm": 2, "well, well": 1}
    assert "3 verdicts cannot be read and count as failed: 'hm' (2), 'well, well' (1)" in log.notes[0]


@pytest.mark.parametrize("name", ["label", "gold", "truth", "reference", "human"])
def test_a_field_with_the_name_of_a_truth_is_one_and_a_note_says_so(name):
    rows = {"item": [1, 2] * 2, "judge": list("iijj"), "verdict": list("ABBB"), name: ["A>B", "B>A"] * 2}
    log = finegold.judges.read(rows)
    assert (log.kind, log.gold.tolist()) == ("pairwise", [0, 1])
    assert f'the column "{name}" is used as the truth of 2 items' in log.notes
    texts = finegold.judges.read(rows | {name: ["a long reference answer, which nobody calls a verdict"] * 4})
    assert (texts.gold == -1).all()
    assert "is not used as truth" in texts.notes[0]


def test_a_column_of_labels_holds_verdicts_only_if_judges_differ():
    rows = {"item": [1, 1, 2, 2], "judge": ["i", "j"] * 2}
    assert finegold.judges.read(rows | {"label": ["A", "B", "A", "A"]}).n_failed == 0
    truths = rows | {"label": ["A", "A", "B", "B"]}
    with pytest.raises(InputError, match='found no column of verdicts; "label" seems to hold the truths'):
        finegold.judges.read(truths)
    assert finegold.judges.read(truths, verdict="label").answer.tolist() == [0, 0, 1, 1]


def test_gold_of_pairs_is_understood_in_every_form():
    for gold in ({1: 1, 2: 2}, {1: "A>B", 2: "B>A"}, {1: "A", 2: "B"}, {1: "first", 2: "second"}):
        assert finegold.judges.read(calls("1", "2", "1"), gold=gold).gold.tolist() == [0, 1, -1]


def test_the_column_of_verdicts_is_honoured_in_several_files_named_after_judges(tmp_path):
    for judge, said in (("gpt", "AB"), ("llama", "BB")):
        rows = {"item": [1, 2], "timestamp": [3, 4], "said": list(said), "other": ["x", "y"]}
        pl.DataFrame(rows).write_csv(tmp_path / f"{judge}.csv")
    with pytest.raises(InputError) as error:
        finegold.judges.read(tmp_path)
    assert "timestamp" not in str(error.value).split("use verdict=")[1]
    log = finegold.judges.read(tmp_path, verdict="said")
    assert (log.judge_names, log.answer.tolist()) == (["gpt", "llama"], [0, 1, 1, 1])
    assert "named after the files: gpt, llama" in log.notes[0]


def llm_bar(label, *winners):
    games = {f"swap = {swap}": {"winner": said, "completion": ["Output (a)", "stop"]} for swap, said in winners}
    return {"input": "Why?", "output_1": "so", "output_2": f"so {label}", "label": label, "results": [games]}


def test_raw_files_of_llmbar(tmp_path):
    for name, second in (("GPT.CoT", "1"), ("Falcon.CoT", "2")):
        for subset in ("Natural", "Adversarial"):
            record = llm_bar(1, (False, "1"), (True, second)) | {"input": subset}
            (tmp_path / subset).mkdir(exist_ok=True)
            (tmp_path / subset / f"{name}.json").write_text(
                json.dumps([record, llm_bar(2, (False, "2"), (True, None))])
            )
    log = finegold.judges.read(tmp_path)
    assert (log.judge_names, log.n_items, log.n_failed) == (["Falcon.CoT", "GPT.CoT"], 3, 4)
    assert sorted(log.gold.tolist()) == [0, 0, 1]
    found = {one.judge: one for one in finegold.judges.assess(log).scores}
    assert (found["GPT.CoT"].undecided.value, round(found["Falcon.CoT"].undecided.value, 3)) == (0, 0.667)


def test_pandalm_with_votes_of_people_as_truths(tmp_path):
    log = [{"idx": i, "gpt_result": said, "gpt_reason": "..."} for i, said in enumerate(["1", "2", "Tie", "garbage"])]
    people = [{"idx": i, "annotator1": 1, "annotator2": i % 2, "annotator3": 1} for i in range(4)]
    (tmp_path / "gpt.json").write_text(json.dumps(log))
    (tmp_path / "testset.json").write_text(json.dumps(people))
    found = finegold.judges.read(tmp_path)
    assert (found.answer.tolist(), found.gold.tolist(), found.unread) == ([0, 1, 2, -1], [0, 0, 0, 0], {"garbage": 1})
    alone = finegold.judges.read(tmp_path / "gpt.json", gold=tmp_path / "testset.json")
    assert (alone.kind, alone.judge_names, alone.gold.tolist()) == ("pairwise", ["gpt"], [0, 0, 0, 0])


def test_scores_as_lines_of_queries_and_passages(tmp_path):
    for name, scores in (("a", "0 3"), ("b", "1 3"), ("human_qrels", "0 2")):
        lines = [f"q1 0 p{i} {score}\n" for i, score in enumerate(scores.split())]
        (tmp_path / f"{name}.txt").write_text("".join(lines))
    log = finegold.judges.read(tmp_path)
    assert (log.judge_names, log.item_names) == (["a", "b"], ["q1 p0", "q1 p1"])
    assert [log.class_names[code] for code in log.gold] == ["0", "2"]
    assert log.is_ordered


def promptfoo():
    parts = [
        {"pass": True, "score": 1, "assertion": {"type": "llm-rubric", "value": "is polite"}},
        {"pass": False, "score": 0, "assertion": {"type": "factuality", "value": "Paris"}},
    ]
    rows = [
        {"provider": {"id": "openai:gpt"}, "testIdx": i, "gradingResult": {"pass": False, "componentResults": parts}}
        for i in range(2)
    ]
    return json.dumps({"evalId": "e", "results": {"version": 3, "results": rows, "stats": {}}})


def deep_eval():
    metrics = [
        {"name": "Correctness", "score": 0.9, "success": True, "evaluationModel": "gpt-4o"},
        {"name": "Relevancy", "score": 0.1, "success": False, "evaluationModel": "gpt-4o"},
    ]
    return json.dumps({"testCases": [{"name": f"case {i}", "metricsData": metrics} for i in range(2)]})


def openai_evals():
    events = [{"spec": {"eval_name": "humor", "run_config": {}}}]
    events += [
        {"run_id": "r", "event_id": i, "sample_id": f"humor.{i}", "type": "metrics", "data": {"choice": "Yes"}}
        for i in range(2)
    ]
    return "".join(json.dumps(event) + "\n" for event in [*events, {"final_report": {"score": 1}}])


TOOLS = {
    "promptfoo": ("json", promptfoo(), 2, 2, {"pass", "fail"}),
    "DeepEval": ("json", deep_eval(), 2, 2, {"pass", "fail"}),
    "OpenAI evals": ("jsonl", openai_evals(), 2, 1, {"yes"}),
    "LangSmith": (
        "csv",
        "run_id,key,score,comment,created_at\nr1,correctness,1,ok,2026-01-01T00:00:00\nr2,correctness,0,no,2026-01-02T00:00:00\n",
        2,
        1,
        {"0", "1"},
    ),
    "Langfuse": (
        "csv",
        "id,timestamp,traceId,name,value,dataType\ns1,2026-01-01T00:00:00,t1,helpful,4,NUMERIC\n"
        "s2,2026-01-01T00:00:00,t2,helpful,5,NUMERIC\n",
        2,
        1,
        {"4", "5"},
    ),
    "Hugging Face": (
        "jsonl",
        "".join(
            json.dumps({"question_id": i, "model_a": "x", "model_b": "y", "winner": w, "judge": "gpt-4", "turn": 1})
            + "\n"
            for i, w in enumerate(["model_a", "tie"])
        ),
        2,
        1,
        {"x", "y", "tie"},
    ),
}


@pytest.mark.parametrize("tool", TOOLS)
def test_a_sample_of_each_tool_is_read(tool, tmp_path):
    ending, text, n_items, n_judges, classes = TOOLS[tool]
    path = tmp_path / f"log.{ending}"
    path.write_text(text)
    log = finegold.judges.read(path)
    assert (log.n_items, log.n_judges, log.n_failed) == (n_items, n_judges, 0)
    assert set(log.class_names) == classes


def test_lists_within_lists_are_refused_in_words(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"item": [[]], "judge": "j", "model_a": "m", "model_b": [null], "verdict": "B"}')
    with pytest.raises(InputError, match="verdict 1 has no item"):
        read(path)
