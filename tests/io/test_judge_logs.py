"""Logs of judges: columns and verdicts in the usual forms, the swap undone, failed calls, and samples of each tool."""

import numpy as np
import polars as pl
import pytest

import finegold
from finegold.errors import InputError
from finegold.io.judge_logs import read_judge_log as read
from finegold.io.verdicts import LogReading, Meaning, class_of
from tests.support.exports_cases import check_each, put

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
    Meaning.EMPTY: ["", "None"]
}  # fmt: skip
CLASSES = {
    "PASS.": "PASS",
    "fail": "fail",
    "Score: 4": "4",
    "The answer is fine. Rating: [[3]]": "3",
    "partially correct": "partially correct",
    "Error: rate limit": Meaning.ERROR,
    "I can't help with that": Meaning.REFUSAL,
    "this is a long text that explains something but never comes to the point": Meaning.UNREADABLE,
}


def calls(*said, **more):
    """A judge on items 1, 2, ... with the first answer shown first."""
    n = len(said)
    return {
        "item": list(range(1, n + 1)),
        "judge": ["j"] * n,
        "order": ["AB"] * n,
        "verdict": list(said),
    } | more


def twice(*said, **more):
    """Two calls of a judge on an item."""
    return {"item": [1, 1], "judge": ["j", "j"], "verdict": list(said)} | more


def answers(log):
    """Verdicts by item, judge and what was shown first; failed calls are None."""
    rows = log.calls().select("item", "judge", "verdict").rows()
    return [
        (str(item), judge, first, said)
        for (item, judge, said), first in zip(rows, log.first.tolist(), strict=True)
    ]


def opened(folder, log):
    """Columns, or a file and what is in it."""
    return put(folder, *log) if isinstance(log, tuple) else log


def gives(log, *expected, options=None, **about):
    """Expect these answers, or only these verdicts, and these values of the log."""

    def check(folder):
        found = read(opened(folder, log), **options or {})
        given = answers(found)
        if expected and not isinstance(expected[0], tuple):
            given = [said for *_, said in given]
        assert given == list(expected) or not expected
        for name, value in about.items():
            own = getattr(found, name)
            own = own() if callable(own) else own
            assert (own.tolist() if isinstance(own, np.ndarray) else own) == value, name

    return check


def turns_down(log, *words, **options):
    def check(folder):
        with pytest.raises(InputError) as failure:
            read(opened(folder, log), **options)
        assert [word for word in words if word not in str(failure.value)] == [], str(failure.value)

    return check


@pytest.mark.parametrize(
    ("text", "meaning"), [(text, meaning) for meaning, texts in FORMS.items() for text in texts]
)
def test_a_pairwise_verdict_is_understood(text, meaning):
    assert LogReading().meanings([text, *(("1", "2") if text == "3" else ())])[text] == meaning


@pytest.mark.parametrize(("text", "meaning"), CLASSES.items())
def test_a_pointwise_verdict_is_understood(text, meaning):
    assert class_of(text) == meaning


ARENA = {
    "question_id": [1, 1, 1, 2],
    "judge": ["a", "a", "b", "b"],
    "model_a": ["x", "y", "x", "x"],
    "model_b": ["y", "x", "z", "y"],
    "winner": ["model_a", "x", "model_b", "tie (bothbad)"],
}
AGAINST = {
    "id": [1, 2, 3], "judge": ["j"] * 3, "result": ["win", "lose", "tie"], "model": ["new"] * 3, "baseline": ["old"] * 3
}  # fmt: skip
STATUS = "sample_id,grader,verdict,status,cost\n1,a,pass,ok,0.1\n1,b,PASS.,ok,0.2\n2,a,fail,timeout,0.1\n2,b,fail,,0.3\n"
SCORES = {
    "item": [1, 1, 2, 2, 3, 3], "judge": ["a", "b"] * 3,
    "score": ["4", "4.0", "Score: 10", "I'm sorry, I cannot", "3/10", "-1"]
}  # fmt: skip
TWO_JUDGES = {"item": [1, 1, 2, 2], "judge": ["i", "j"] * 2}
SYSTEMS = {"model_a": ["x", "y"], "model_b": ["y", "x"]}
OBJECTS = [{"winner": "A", "confidence": 1}, {"winner": "B", "confidence": 2}]

test_logs_in_tables = check_each({
    "A and B name answers": gives(twice("A", "A", swapped=[False, True]), "A", "A", options={"verdicts": "answer"}),
    "rows of an arena name the systems in the order shown": gives(
        *(ARENA, ("1, x vs y", "a", 0, "A"), ("1, x vs y", "a", 1, "A"), ("1, x vs z", "b", 0, "B")),
        ("2, x vs y", "b", 0, "tie"), system_names=["x", "y", "z"]
    ),
    **{
        f"systems that are {how} beside an order": gives(
            twice("A", "B", order=["AB", "BA"], **systems), ("1", "j", 0, "x"), ("1", "j", 1, "x")
        )
        for how, systems in {"exchanged": SYSTEMS, "fixed": {"model_a": ["x", "x"], "model_b": ["y", "y"]}}.items()
    },
    "win and lose against a baseline": gives(
        AGAINST, ("1", "j", -1, "new"), ("2", "j", -1, "old"), ("3", "j", -1, "tie")
    ),
    "scores are ordered classes": gives(
        *(SCORES, "4", "4", "10", None, "3", None), kind="pointwise", class_names=["3", "4", "10"], is_ordered=True
    ),
    "a status and costs": gives(
        *(("log.csv", STATUS), "pass", "pass", None, "fail"), class_names=["fail", "pass"], cost=[0.1, 0.2, 0.1, 0.3]
    ),
    "objects with a field": gives(calls(*OBJECTS), "A", "B"),
    "truths of zero and one with a meaning": gives(
        calls("A", "B", label=[0, 1]), gold=[0, 1], options={"verdict_map": "0=A,1=B"}
    ),
    "a scale of preferences": turns_down(calls(*"1762561271"), "10 of 10 verdicts cannot be read as pairwise ones"),
    "first and second with an odd number": gives(calls(*"12" * 20, "7"), n_failed=1),
    "a label beside another column of truths is the verdict": gives(
        {**TWO_JUDGES, "label": list("ABBB"), "gold": list("AABB")}, answer=[0, 1, 1, 1], gold=[0, 1]
    ),
    "a column of labels on which judges never differ": turns_down(
        {**TWO_JUDGES, "label": list("AABB")}, 'found no column of verdicts; "label" seems to hold the truths'
    ),
    **{
        f"what numbers mean depends on those beside them: {said}": gives(calls(*said), "A", "B", "tie")
        for said in (("1", "2", "3"), ("1", "2", "0"), ("1", "-1", "0"), ("1.0", "0.0", "0.5"))
    },
    "zeros and ones with a meaning in words": gives(calls("0", "1"), answer=[1, 0], options={"verdict_map": "1=A,0=B"}),
    "no verdict": turns_down({"item": [1], "judge": ["j"], "said": ["A"]}, "use verdict='said'"),
    "no readable verdict": turns_down(
        calls("It depends on what you want, really."), "if they are pointwise, use kind='pointwise'"
    )
})  # fmt: skip


def judge_bench(pair, label, *decisions):
    games = [
        said and {"judgment": {"judge_model": "gpt-4o"}, "decision": said} for said in decisions
    ]
    return {"pair_id": pair, "judge_name": "arena_hard", "label": label, "judgments": games}


MT_BENCH = {"question_id": 1, "judge": ["gpt-4", "pair-v2"], "turn": 1}
PAIRS = [
    MT_BENCH | {"model_1": "x", "model_2": "y", "g1_winner": "model_1", "g2_winner": "model_2"},
    MT_BENCH | {"model_1": "y", "model_2": "x", "g1_winner": "tie", "g2_winner": "error"},
]
ARENA_HARD = {"question_id": "q", "model": "new", "judge": "gpt-4", "baseline": "base"}
ALPACA = {
    "instruction": "Say hi",
    "output_1": "a",
    "output_2": "b",
    "generator_1": "base",
    "annotator": "j",
}
INSPECT = {
    "version": 2, "status": "success", "eval": {"task": "t", "model": "m"},
    "samples": [{"id": 1, "scores": {"judge_a": {"value": "C"}, "judge_b": {"value": "I"}}}]
}  # fmt: skip
PARTS = [
    {"pass": True, "score": 1, "assertion": {"type": "llm-rubric", "value": "is polite"}},
    {"pass": False, "score": 0, "assertion": {"type": "factuality", "value": "Paris"}},
]
GRADED = {
    "provider": {"id": "openai:gpt"},
    "gradingResult": {"pass": False, "componentResults": PARTS},
}
METRICS = [
    {"name": "Correctness", "score": 0.9, "success": True, "evaluationModel": "gpt-4o"},
    {"name": "Relevancy", "score": 0.1, "success": False, "evaluationModel": "gpt-4o"},
]
EVENT = {"run_id": "r", "type": "metrics", "data": {"choice": "Yes"}}
BATTLE = {"model_a": "x", "model_b": "y", "judge": "gpt-4", "turn": 1}


def sample(n_judges, *classes):
    """What the sample of a tool holds: two items."""
    return {"n_items": 2, "n_judges": n_judges, "n_failed": 0, "class_names": sorted(classes)}


test_logs_of_tools = check_each({
    "MT-bench": gives(
        *(("log.jsonl", PAIRS), ("1", "gpt-4", 0, "x"), ("1", "gpt-4", 1, "y"), ("1", "gpt-4", 1, "tie")),
        ("1", "gpt-4", 0, None)
    ),
    "JudgeBench with its labels as gold": gives(
        ("log.jsonl", [judge_bench("p", "A>B", "A>B", "A>B"), judge_bench("q", "B>A", "B>A", None)]),
        *(("p", "arena_hard gpt-4o", 0, "A"), ("p", "arena_hard gpt-4o", 1, "B")),
        *(("q", "arena_hard gpt-4o", 0, "B"), ("q", "arena_hard gpt-4o", 1, None)), gold=[0, 1]
    ),
    "Arena-Hard": gives(
        ("log.jsonl", [ARENA_HARD | {"games": [{"score": "A>>B"}, {"score": "A=B"}]}]),
        ("q", "gpt-4", 0, "base"), ("q", "gpt-4", 1, "tie")
    ),
    "AlpacaEval": gives(
        ("annotations.json", [ALPACA | {"generator_2": "new", "preference": 1.97},
                              ALPACA | {"generator_2": "old", "preference": 1.0}]),
        ("Say hi, base vs new", "j", -1, "B"), ("Say hi, base vs old", "j", -1, "A")
    ),
    "Inspect": gives(("log.json", INSPECT), ("1", "judge_a", -1, "C"), ("1", "judge_b", -1, "I")),
    "promptfoo": gives(
        ("log.json", {"evalId": "e", "results": {"results": [GRADED | {"testIdx": i} for i in range(2)]}}),
        options={"question": "factuality"}, **sample(1, "fail")
    ),
    "DeepEval": gives(
        ("log.json", {"testCases": [{"name": f"case {i}", "metricsData": METRICS} for i in range(2)]}),
        options={"question": "Correctness"}, **sample(1, "pass")
    ),
    "OpenAI evals": gives(
        ("log.jsonl", [{"spec": {"eval_name": "humor", "run_config": {}}},
                       *(EVENT | {"event_id": i, "sample_id": f"humor.{i}"} for i in range(2)),
                       {"final_report": {"score": 1}}]),
        **sample(1, "Yes")
    ),
    "LangSmith": gives(
        ("log.csv", "run_id,key,score,comment,created_at\nr1,correctness,1,ok,2026-01-01T00:00:00\n"
                    "r2,correctness,0,no,2026-01-02T00:00:00\n"),
        **sample(1, "0", "1")
    ),
    "Langfuse": gives(
        ("log.csv", "id,timestamp,traceId,name,value,dataType\ns1,2026-01-01T00:00:00,t1,helpful,4,NUMERIC\n"
                    "s2,2026-01-01T00:00:00,t2,helpful,5,NUMERIC\n"),
        **sample(1, "4", "5")
    ),
    "Hugging Face": gives(
        ("log.jsonl", [BATTLE | {"question_id": i, "winner": said} for i, said in enumerate(["model_a", "tie"])]),
        n_items=2, n_judges=1, n_failed=0, class_names=["x", "y", "tie"]
    ),
    **{
        f"{next(iter(row))} with damaged judgements: {games}": turns_down(
            ("log.jsonl", [{name: games if value is ... else value for name, value in row.items()}]), "log.jsonl"
        )
        for row in ({"pair_id": 1, "judgments": ...}, {"question_id": 1, "judge": "j", "model": "m", "games": ...})
        for games in ("x", [], None, [{"said": 1}], [1])
    }
})  # fmt: skip


NAMED = {"item": [1, 2], "judge": ["j"] * 2, "model_a": ["x", "z"], "model_b": ["y", "y"]}
NAMED |= {"winner": ["A", "A"]}
ODD_ORDER = {"item": [1, 1], "judge": ["a", "b"], "verdict": ["pass", "fail"]}
ODD_ORDER |= {"order": ["XY", "YX"]}


def of_truths(name, said):
    return {"item": [1, 2] * 2, "judge": list("iijj"), "verdict": list("ABBB"), name: said}


test_truths_and_what_is_left_out = check_each({
    "gold names systems": gives(NAMED, gold=[1, 2], options={"gold": {1: "y", 2: "tie"}}),
    "gold of an unknown class": turns_down(NAMED, "the gold of item 1 is 'q'; expected one of x, y, tie", gold={1: "q"}),
    **{
        f"gold as {gold}": gives(calls("1", "2", "1"), gold=[0, 1, -1], options={"gold": gold})
        for gold in ({1: 1, 2: 2}, {1: "A>B", 2: "B>A"}, {1: "A", 2: "B"}, {1: "first", 2: "second"})
    },
    **{
        f"a field {name} is the truth": gives(of_truths(name, ["A>B", "B>A"] * 2), kind="pairwise", gold=[0, 1])
        for name in ("label", "reference")
    },
    "a field of texts is not": gives(
        of_truths("reference", ["a long reference answer, which nobody calls a verdict"] * 4), gold=[-1, -1]
    ),
    "verdicts that cannot be read are listed with counts": gives(
        calls(*["A"] * 6, "hm", "hm", "well, well"), unread={"hm": 2, "well, well": 1}
    ),
    "an order that is named and cannot be read": turns_down(
        ODD_ORDER, 'the column "order" has other values than AB and BA', order="order"
    ),
})  # fmt: skip


def test_what_is_not_used_is_said():
    log = read(ODD_ORDER | {"cost": ["$0.5", "free"]})
    assert log.cost[0] == 0.5
    assert log.notes[0].startswith("1 values in the column")
    assert log.notes[1].startswith('the column "order" is not used')


def both_orders(n, *, by_name):
    """A judge that errs in a tenth of its calls and names answers or positions, in both orders; and the truths."""
    rows = []
    for i in range(n):
        for order in (0, 1):
            side = i % 2 if (i + 3 * order) % 10 else 1 - i % 2
            said = "AB"[side if by_name or not order else 1 - side]
            rows.append({"item": i, "judge": "j", "order": ("AB", "BA")[order], "verdict": said})
    return pl.DataFrame(rows), {i: "AB"[i % 2] for i in range(n)}


def figures(log, gold=None):
    return finegold.judges.assess(log, gold=gold).to_dict()["judges"]


def test_verdicts_that_seem_to_name_answers_and_not_positions_are_said():
    fair, odd = (both_orders(30, by_name=by_name)[0] for by_name in (False, True))
    mixed = pl.concat([fair, odd.with_columns(judge=pl.lit("k"))])
    for frame, judge in ((odd, "j"), (mixed, "k")):
        assert f"in 80% of the swapped pairs {judge} contradicts itself" in read(frame).notes[0]
        assert read(frame, verdicts="answer").notes == []
    # one that prefers a position
    always = odd.with_columns(verdict=pl.lit("A"))
    assert read(always).notes == read(fair).notes == []


def test_contradictions_of_unknown_order_are_refused():
    frame = both_orders(30, by_name=False)[0].drop("order")
    with pytest.raises(
        InputError, match=r"no column says in which order .* 80% of them contradict"
    ):
        read(frame)
    assert len(read(frame.with_columns(run=pl.Series([1, 2] * 30))).answer) == 60


@pytest.mark.parametrize(
    "names", ["gpt_ab gpt_ba", "original/gpt swapped/gpt", "log-orig log-reversed"]
)
def test_the_names_of_files_may_say_the_order(tmp_path, names):
    frame, _ = both_orders(20, by_name=False)
    for name, order in zip(names.split(), ("AB", "BA"), strict=True):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        part = frame.filter(order=order).drop("order", *(["judge"] if "gpt" in name else []))
        part.write_csv(tmp_path / f"{name}.csv")
    log = read(tmp_path)
    assert sorted(row[2:] for row in answers(log)) == sorted(
        row[2:] for row in answers(read(frame))
    )
    assert log.judge_names == (["gpt"] if "gpt" in names else ["j"])
    assert "order = the files' order (both)" in str(log.reading)


def test_truths_may_name_positions_and_orders_the_system_that_is_shown_first():
    frame, truths = both_orders(20, by_name=False)
    expected, swapped = figures(frame, truths), pl.col("order") == "BA"
    frame = frame.with_columns(label=pl.Series([truths[item] for item in frame["item"]]))
    other = pl.col("label").replace({"A": "B", "B": "A"})
    by_position = frame.with_columns(label=pl.when(swapped).then(other).otherwise("label"))
    assert figures(by_position) == expected
    first = pl.when(swapped).then(pl.lit("y")).otherwise(pl.lit("x"))
    named = frame.with_columns(model_a=pl.lit("x"), model_b=pl.lit("y"), shown_first=first)
    assert figures(named.drop("order")) == expected


def test_truths_in_a_file_beside_the_log_are_gold(tmp_path):
    frame, truths = both_orders(20, by_name=False)
    log = frame.select("item", "judge", "verdict", swapped=pl.col("order") == "BA")
    gold = pl.DataFrame({"item": list(truths), "truth": list(truths.values())})
    put(tmp_path, "", {"log.csv": log.write_csv(), "gold.csv": gold.write_csv()})
    assert figures(tmp_path) == figures(frame, truths)


def test_the_column_of_verdicts_is_honoured_in_several_files_named_after_judges(tmp_path):
    rows = {"gpt": "1,A,x\n2,B,y\n", "llama": "1,B,x\n2,B,y\n"}
    put(tmp_path, "", {f"{judge}.csv": f"item,said,other\n{each}" for judge, each in rows.items()})
    with pytest.raises(InputError, match="use verdict=COLUMN"):
        read(tmp_path)
    log = read(tmp_path, verdict="said")
    assert (log.judge_names, log.answer.tolist()) == (["gpt", "llama"], [0, 1, 1, 1])
    assert "judge = the file's name (2)" in str(log.reading)


def test_pandalm_with_votes_of_people_as_truths(tmp_path):
    said = ["1", "2", "Tie", "garbage"]
    log = [{"idx": i, "gpt_result": each, "gpt_reason": "..."} for i, each in enumerate(said)]
    people = [{"idx": i, "annotator1": 1, "annotator2": i % 2, "annotator3": 1} for i in range(4)]
    put(tmp_path, "", {"gpt.json": log, "testset.json": people})
    found = read(tmp_path)
    assert (found.answer.tolist(), found.unread) == ([0, 1, 2, -1], {"garbage": 1})
    alone = read(tmp_path / "gpt.json", gold=tmp_path / "testset.json")
    assert (alone.kind, alone.judge_names) == ("pairwise", ["gpt"])
    assert alone.gold.tolist() == found.gold.tolist() == [0, 0, 0, 0]


def test_scores_as_lines_of_queries_and_passages(tmp_path):
    scores = {"a": "03", "b": "13", "human_qrels": "02"}
    files = {f"{name}.txt": f"q1 0 p0 {x}\nq1 0 p1 {y}\n" for name, (x, y) in scores.items()}
    put(tmp_path, "", files)
    log = read(tmp_path)
    assert (log.judge_names, log.item_names) == (["a", "b"], ["q1 p0", "q1 p1"])
    assert [log.class_names[code] for code in log.gold] == ["0", "2"]
    assert log.is_ordered


def test_truths_by_a_column_that_is_not_the_item_of_the_log_are_refused(tmp_path):
    """Rows would be numbered, and truths of ticket 2 would be those of the second row."""
    log = put(tmp_path, "log.csv", "ticket,judge,verdict\n2,m,pass\n3,m,fail\n4,m,pass\n")
    mine = str(put(tmp_path, "mine.csv", "ticket,truth\n2,pass\n3,fail\n"))
    with pytest.raises(InputError, match="read as its items, so truths by ticket") as failed:
        read(log, mine)
    assert "item='ticket'" in str(failed.value)
    assert list(read(log, mine, item="ticket").gold) == [1, 0, -1]
