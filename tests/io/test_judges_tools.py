"""Twenty forms of verdicts, and logs as evaluation tools write them: small samples made by hand."""

import json

import polars as pl
import pytest

import finegold
from finegold.errors import InputError
from finegold.io.verdicts import LogReading, Meaning

FORMS = {
    "A": Meaning.FIRST,
    "b": Meaning.SECOND,
    "C": Meaning.TIE,
    "[[A]]": Meaning.FIRST,
    "My final verdict is: [[B>>A]]": Meaning.SECOND,
    "A>B": Meaning.FIRST,
    "A>>B": Meaning.FIRST,
    "A=B": Meaning.TIE,
    "1": Meaning.FIRST,
    "2": Meaning.SECOND,
    "3": Meaning.TIE,
    "first": Meaning.FIRST,
    "Tie": Meaning.TIE,
    "model_b": Meaning.SIDE_B,
    "Output (a) is better.": Meaning.FIRST,
    "Output (a) is long. Therefore, Output (b) is better.": Meaning.SECOND,
    "Response 2": Meaning.SECOND,
    '{"reason": "shorter", "winner": "A"}': Meaning.FIRST,
    "<answer>B</answer>": Meaning.SECOND,
    "So the answer is \\boxed{A}": Meaning.FIRST,
    "**Winner: Assistant B**": Meaning.SECOND,
    "I prefer response A because it is shorter.": Meaning.FIRST,
    "It depends on the reader.": Meaning.UNREADABLE,
    "Error: timeout": Meaning.ERROR,
}


@pytest.mark.parametrize(("text", "meaning"), FORMS.items())
def test_a_verdict_form_is_read(text, meaning):
    assert LogReading().meanings([text, "1", "2"])[text] == meaning


@pytest.mark.parametrize(
    ("said", "sides"),
    [
        (["1", "2", "3"], ["A", "B", "tie"]),
        (["1", "2", "0"], ["A", "B", "tie"]),
        (["1", "-1", "0"], ["A", "B", "tie"]),
        (["1.0", "0.0", "0.5"], ["A", "B", "tie"]),
    ],
)
def test_what_numbers_mean_depends_on_those_beside_them(said, sides):
    log = finegold.judges.read({"item": [1, 2, 3], "judge": ["j"] * 3, "verdict": said, "order": ["AB"] * 3})
    assert [log.class_names[code] for code in log.answer] == sides


def test_zeros_and_ones_alone_are_refused_with_a_remedy():
    rows = {"item": [1, 2], "judge": ["j"] * 2, "verdict": ["0", "1"], "order": ["AB"] * 2}
    with pytest.raises(InputError, match="may mean several things"):
        finegold.judges.read(rows)
    log = finegold.judges.read(rows, verdict_map={"1": "A", "0": "B"})
    assert log.answer.tolist() == [1, 0]


def test_verdicts_that_cannot_be_read_are_listed_with_counts():
    said = ["A"] * 6 + ["hm", "hm", "well, well"]
    log = finegold.judges.read({"item": list(range(9)), "judge": ["j"] * 9, "order": ["AB"] * 9, "verdict": said})
    assert log.unread == {"hm": 2, "well, well": 1}
    assert "3 verdicts cannot be read and count as failed: 'hm' (2), 'well, well' (1)" in log.notes[0]


@pytest.mark.parametrize("name", ["label", "gold", "truth", "reference", "human"])
def test_a_field_with_the_name_of_a_truth_is_one_and_a_note_says_so(name):
    rows = {
        "item": [1, 2] * 2,
        "judge": ["i", "i", "j", "j"],
        "verdict": ["A", "B", "B", "B"],
        name: ["A>B", "B>A"] * 2,
    }
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
    rows = {"item": [1, 2, 3], "judge": ["j"] * 3, "order": ["AB"] * 3, "verdict": ["1", "2", "1"]}
    for gold in ({1: 1, 2: 2}, {1: "A>B", 2: "B>A"}, {1: "A", 2: "B"}, {1: "first", 2: "second"}):
        assert finegold.judges.read(rows, gold=gold).gold.tolist() == [0, 1, -1]


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
