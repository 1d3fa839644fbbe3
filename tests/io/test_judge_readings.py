"""Sixty logs made by hand, as evaluation engineers have them: how each is read, or why it is refused."""

import json

import numpy as np
import polars as pl
import pytest

import finegold
from finegold.errors import InputError
from finegold.io.judge_logs import read_judge_logs
from tests.support.exports_cases import put

N = 24
TRUTH = np.random.default_rng(7).integers(0, 2, N)
JUDGES = {"gpt": 0.9, "claude": 0.75, "llama": 0.6}


def said(judge, classes=("fail", "pass"), seed=0):
    """What a judge says of N items."""
    rng = np.random.default_rng([seed, *map(ord, judge)])
    wrong = rng.random(N) > JUDGES.get(judge, 0.8)
    return [classes[code] for code in np.where(wrong, 1 - TRUTH, TRUTH)]


def truth(classes=("fail", "pass")):
    return [classes[code] for code in TRUTH]


def long(
    judges=tuple(JUDGES),
    item="item",
    judge="judge",
    verdict="verdict",
    classes=("fail", "pass"),
    **more,
):
    """A row per judge and item; further columns are lists of N values, or functions of the judge."""
    parts = []
    for name in judges:
        columns = {item: list(range(N)), judge: [name] * N, verdict: said(name, classes)}
        columns |= {key: value(name) if callable(value) else value for key, value in more.items()}
        parts.append(pl.DataFrame(columns, strict=False))
    return pl.concat(parts)


def pairs(orders=("AB", "BA"), column="order", words=None, **more):
    """Verdicts A and B of positions, in both orders."""
    parts = []
    for judge in JUDGES:
        sides = said(judge, ("A", "B"))
        for order in orders:
            shown = sides if order == "AB" else ["AB"[side == "A"] for side in sides]
            columns = {"item": list(range(N)), "judge": [judge] * N, "verdict": shown}
            columns |= {column: [(words or {}).get(order, order)] * N} | more
            parts.append(pl.DataFrame(columns, strict=False))
    return pl.concat(parts)


def each(frame, **values):
    """The rows of a frame once for each of some values of a further column."""
    ((name, options),) = values.items()
    return pl.concat([frame.with_columns(pl.lit(one).alias(name)) for one in options])


QUESTIONS = [f"What is {n}?" for n in range(N)]
TEXTS = [f"It is {n}, and this is a longer answer that somebody wrote." for n in range(N)]
CHOICES = ["ABCD"[n % 4] for n in range(N)]
SCORES = [str(1 + n % 5) for n in range(N)]
SYSTEMS = pl.concat([
    long(judges=["gpt"], classes=("A", "B"), verdict="winner", **{names[0]: [a] * N, names[1]: [b] * N})
    for names in [("left_model", "right_model")] for a, b in (("x", "y"), ("y", "z"), ("x", "z"))
])  # fmt: skip
TIME = {
    "started_at": [f"2026-01-01T00:00:{n:02d}" for n in range(N)],
    "latency_ms": [100 + n for n in range(N)],
}
PEOPLE = {f"human_{n}": said(f"p{n}") for n in (1, 2, 3)}
LINES = [
    {"testIdx": n, "promptIdx": 0, "provider": {"id": "openai:gpt"}, "gradingResult": {
        "pass": True, "componentResults": [
            {"pass": bool(n % 2), "assertion": {"type": "llm-rubric", "metric": "polite"}},
            {"pass": bool(n % 3), "assertion": {"type": "llm-rubric", "metric": "right"}}
        ]
    }}
    for n in range(12)
]  # fmt: skip
BROKEN = {"testIdx": 12, "promptIdx": 0, "provider": "p", "failureReason": 2, "error": "API timeout",
          "testCase": {"assert": [{"type": "llm-rubric", "metric": "polite"}]}}  # fmt: skip
INSPECT = {
    "version": 2, "status": "success", "eval": {"task": "t", "model": "m"},
    "samples": [
        {"id": n, "scores": {"rubric": {"value": {"polite": 1 + n % 3, "right": 1 if n else None}}}} for n in range(9)
    ]
}  # fmt: skip
LLMBAR = {
    f"{subset}/evaluators/{model}/{prompt}/result.json": [
        {"input": f"{subset} {n}", "output_1": "a", "output_2": "b", "label": 1 + n % 2,
         "results": [{"swap = False": {"winner": "1"}, "swap = True": {"winner": "2"}}]} for n in range(4)
    ]
    for subset in ("Natural", "Manual") for model in ("GPT-4", "PaLM2") for prompt in ("CoT", "Swap_CoT", "Vanilla")
}  # fmt: skip
ALPACA = {
    f"{model}/annotations.json": [
        {"instruction": f"Say {n}", "output_1": "a", "output_2": "b", "generator_1": "base", "generator_2": model,
         "annotator": "gpt-4", "preference": 1.0 + (n % 2)} for n in range(6)
    ]
    for model in ("llama", "mistral")
}  # fmt: skip
GOLD = pl.DataFrame({"item": list(range(N)), "label": truth()})

# name: the log, options, and what is to be found: values of the log, texts in its reading or its notes
READ = {
    # the verdict, and not what was judged
    "a score beside the model's answers": (
        long(verdict="score", classes=("2", "4"), question=QUESTIONS, response=CHOICES, reference=CHOICES), {},
        {"says": "verdict = score (2 to 4)", "unused": "response", "n_gold": 0}),
    "a score beside answers with the item called id": (
        long(item="id", verdict="score", classes=("1", "5"), response=TEXTS, reference=TEXTS), {},
        {"says": "item = id", "verdict": "score"}),
    "passed, with people, and no judge": (
        pl.DataFrame({"response": TEXTS, "passed": [bool(x) for x in TRUTH], "human_label": [bool(x) for x in TRUTH]}),
        {}, {"verdict": "passed", "n_gold": N, "judges": ["judge"], "says": "item = response"}),
    "is_correct": (long(verdict="is_correct", classes=("false", "true")), {}, {"verdict": "is_correct"}),
    "a raw text beside its parsed score": (
        long(verdict="score", classes=("2", "3"), judgment=["The text explains at length why."] * N), {},
        {"verdict": "score"}),
    "a raw text with its verdict inside": (
        long(verdict="judgment", classes=("Long. [[fail]]", "Long. [[pass]]")), {}, {"classes": ["fail", "pass"]}),
    "a rationale and a time tell nothing apart": (long(rationale=TEXTS, **TIME), {}, {"judges": 3, "says": "not used"}),
    "labels keep their case": (long(classes=("Fail", "Pass")), {}, {"classes": ["Fail", "Pass"]}),
    "a label that judges give, beside people's": (
        long(verdict="label", human_label=truth()), {}, {"verdict": "label", "n_gold": N}),
    # classes that sound like failures
    "error and no_error": (long(classes=("error", "no_error")), {}, {"classes": ["error", "no_error"], "failed": 0}),
    "refusal and compliance": (long(classes=("refusal", "compliance")), {}, {"failed": 0}),
    "none, minor and major": (
        long(judges=("gpt", "claude")).with_columns(verdict=pl.Series(["none", "minor", "major"] * 16)), {},
        {"classes": ["major", "minor", "none"], "failed": 0}),
    "scores of -1, 0 and 1": (
        long(verdict="score").with_columns(score=pl.Series([-1, 0, 1] * N)), {},
        {"classes": ["-1", "0", "1"], "failed": 0}),
    "a failure that is a truth": (
        long(judges=["gpt"], classes=("timeout", "ok"), gold=truth(("timeout", "ok"))), {}, {"failed": 0}),
    "n/a of several judges": (long(classes=("n/a", "yes")), {}, {"classes": ["n/a", "yes"], "failed": 0}),
    "an error of one judge alone is a failed call, and said": (
        long(judges=["gpt"], classes=("pass", "error")), {},
        {"failed": said("gpt", ("pass", "error")).count("error"), "says": "verdict_map"}),
    "what the user calls a class": (
        long(judges=["gpt"], classes=("pass", "error")), {"verdict_map": "error=error"}, {"failed": 0}),
    "errors with details stay failed calls": (
        long(classes=("ERROR: 500", "pass")), {}, {"classes": ["pass"]}),
    "-1 of few calls is no score": (
        long(verdict="score").with_columns(score=pl.Series([*["-1"], *["3", "4"] * 35, "4"])), {},
        {"classes": ["3", "4"], "failed": 1}),
    # scores
    "a hundred different scores": (
        long(verdict="score").with_columns(score=pl.Series(np.round(np.linspace(0, 100, 3 * N), 1))), {},
        {"ordered": True}),
    "people's scores as truths": (
        long(verdict="rating", classes=("2", "5"), human_rating=SCORES), {}, {"n_gold": N, "ordered": True}),
    "a gold map of verdicts": (
        long(classes=("0", "1"), gold=truth(("bad", "good"))), {"verdict_map": "0=bad,1=good", "kind": "pointwise"},
        {"n_gold": N, "classes": ["bad", "good"]}),
    # orders
    "AB and BA": (pairs(), {}, {"says": "order = order (both)", "kind": "pairwise"}),
    "prompt_order": (pairs(column="prompt_order"), {}, {"says": "order = prompt_order (both)"}),
    "flags of the swap": (
        pairs(column="is_swapped", words={"AB": False, "BA": True}), {}, {"says": "order = is_swapped (both)"}),
    "zero and one": (pairs(column="swapped", words={"AB": 0, "BA": 1}), {}, {"says": "swapped (both)"}),
    "one order only": (pairs(orders=("AB",)), {}, {"says": "order = order (one)", "bias": False}),
    "ground_truth_label": (pairs(ground_truth_label=truth(("A", "B"))), {}, {"n_gold": N}),
    # what tells rows apart
    "a judge is a model and a prompt": (
        each(long(judge="model"), prompt_template=["v1", "v2", "v3", "v4"]), {},
        {"judges": 12, "says": "judge = model + prompt_template (3 x 4)"}),
    "prompts of judge models": (
        each(long(judge="judge_model"), judge=["cot", "plain"]), {}, {"judges": 6}),
    "criteria": (
        each(long(), criterion=["polite", "right"]), {}, {"criteria": ["polite", "right"], "judges": 3}),
    "metrics": (each(long(verdict="score"), metric_name=["polite", "right"]), {}, {"criteria": ["polite", "right"]}),
    "the same questions about every item are criteria": (
        each(long(), question=["Is it polite?", "Is it right?"]), {}, {"criteria": ["Is it polite?", "Is it right?"]}),
    "answers of several systems": (
        each(long(item="question_id"), system=["a", "b", "c"]), {},
        {"n_items": 3 * N, "judges": 3, "says": "item = question_id + system"}),
    "evaluated models beside judges": (
        each(long(), model=["m1", "m2"]), {}, {"n_items": 2 * N, "judges": 3}),
    "turns": (each(long(), turn=[1, 2]), {}, {"n_items": 2 * N}),
    "repeats with a number": (each(long(), run=[1, 2, 3]), {}, {"n_verdicts": 9 * N, "judges": 3}),
    "repeats without one": (pl.concat([long(), long()]), {}, {"judges": 3, "says": "count as repeats"}),
    "pairs of systems by left and right": (SYSTEMS, {}, {"n_items": 3 * N, "systems": ["x", "y", "z"]}),
    "a column that the user names": (
        each(long(), kept_as=["u", "v"]), {"judge": "judge,kept_as"}, {"judges": 6}),
    # truths and people
    "three people in columns": (long(**PEOPLE), {}, {"people": 3, "n_gold": N}),
    "people among the judges": (
        long(judges=("gpt", "human_1", "human_2", "human_3")), {"people": "human_*"}, {"people": 3, "judges": ["gpt"]}),
    "gold of several people in a file": (
        long(), {"gold": pl.concat([GOLD.with_columns(annotator=pl.lit(w)) for w in "abc"])},
        {"people": 3, "n_gold": N}),
    "gold with a class that no judge used": (
        long(), {"gold": dict(enumerate(["unsure", *truth()[1:]]))}, {"classes": ["fail", "pass", "unsure"]}),
    "gold by question and systems": (
        SYSTEMS, {"gold": SYSTEMS.select("item", "left_model", "right_model", "winner")}, {"n_gold": 3 * N}),
    "gold for each criterion": (
        each(long(), criterion=["polite", "right"]),
        {"gold": pl.DataFrame({"item": list(range(N)), "polite": truth(), "right": truth()})},
        {"criteria": ["polite", "right"], "n_gold": N}),
    "gold as lists of votes": (
        long(), {"gold": {n: [word, word, "pass"] for n, word in enumerate(truth())}}, {"people": 3}),
    "truths in capitals": (long(human_label=truth(("FAIL", "PASS"))), {}, {"n_gold": N, "classes": ["fail", "pass"]}),
    # layouts and tools
    "judge -> item -> verdict": (
        {name: dict(zip(map(str, range(N)), said(name), strict=True)) for name in JUDGES}, {}, {"judges": 3}),
    "the same in a file": (
        ("v.json", {name: dict(zip(map(str, range(N)), said(name), strict=True)) for name in JUDGES}), {},
        {"judges": 3, "n_items": N}),
    "JSON Lines of promptfoo": (("r.jsonl", LINES), {}, {"criteria": ["polite", "right"], "judges": ["promptfoo"]}),
    "promptfoo with a call that failed": (("r.jsonl", [*LINES, BROKEN]), {"question": "polite"}, {"failed": 1}),
    "scores of Inspect that are objects": (
        ("log.json", INSPECT), {"question": "right"}, {"judges": ["rubric"], "failed": 1}),
    "published folders of LLMBar": (("", LLMBAR), {}, {"judges": 6, "n_items": 8, "n_gold": 8}),
    "AlpacaEval in several files": (("", ALPACA), {}, {"judges": ["gpt-4"], "systems": ["base", "llama", "mistral"]}),
    "one file per judge": (
        ("", {f"{name}.csv": long([name]).drop("judge").write_csv() for name in JUDGES}), {}, {"judges": 3}),
    "a folder per judge": (
        ("", {f"{name}/out.csv": long([name]).drop("judge").write_csv() for name in JUDGES}), {}, {"judges": 3}),
    # layouts that other tools write
    "a column per judge": (
        pl.DataFrame({"item": range(N), "gpt4_score": SCORES, "claude_score": SCORES[::-1], "human_score": SCORES}), {},
        {"judges": ["claude", "gpt4"], "n_gold": N, "says": "verdict = gpt4_score, claude_score"}),
    "a column per model": (
        pl.DataFrame({"id": range(N), "gpt-4o": said("gpt"), "claude-3": said("claude"), "gold": truth()}), {},
        {"judges": ["claude-3", "gpt-4o"], "n_gold": N}),
    "assessments of models and people": (
        each(long(["gpt", "ann"], item="trace_id", judge="source_id", verdict="value"), assessment_name=["x", "y"])
        .with_columns(source_type=pl.col("source_id").replace({"gpt": "LLM_JUDGE", "ann": "HUMAN"})), {},
        {"criteria": ["x", "y"], "judges": ["gpt"], "n_gold": N}),
    "a label beside a score that is always 1": (
        pl.DataFrame({"context.span_id": [f"s{n}" for n in range(N)], "label": said("gpt"), "score": [1.0] * N}), {},
        {"verdict": "label", "says": "item = context.span_id"}),
    "row numbers beside questions": (
        long(item="question").with_columns(id=pl.Series(range(3 * N))), {}, {"says": "item = question", "n_items": N}),
    "samples of a call": (each(long(["gpt"]), sample_idx=[0, 1, 2]), {}, {"says": "repeat = sample_idx"}),
    "objects of JSON in a raw output": (
        long(classes=('{"why": "x", "verdict": "fail"}', '{"why": "x", "verdict": "pass"}'), verdict="raw_output"), {},
        {"classes": ["fail", "pass"]}),
    "left and right with the name of the winner": (
        long(["gpt"], verdict="winner", classes=("old", "new"), left=["old"] * N, right=["new"] * N), {},
        {"systems": ["new", "old"]})
}  # fmt: skip

# name: the log, options, and words of the message
REFUSED = {
    "orders in unknown words": (
        pairs(column="prompt_order", words={"AB": "x-first", "BA": "y-first"}), {}, ("prompt_order", "AB and BA")),
    "orders of a reference, and sides as numbers": (
        pairs(column="ans_order", words={"AB": "ref_first", "BA": "ref_second"}).with_columns(
            verdict=pl.col("verdict").replace({"A": "1", "B": "2"})), {}, ("ans_order", "AB and BA")),
    "a column that could be anything": (each(long(), batch_kind=["u", "v"]), {}, ("batch_kind", "judge=", "item=")),
    "rows without a judge": (pl.concat([long(["gpt"]), long(["claude"])]).drop("judge"), {}, ("which judge",)),
    "only what was judged": (long().drop("verdict").with_columns(response=pl.lit("x")), {}, ("no column of verdicts",)),
    "zeros and ones of two answers": (pairs(words=None).with_columns(
        verdict=pl.col("verdict").replace({"A": "1", "B": "0"})), {}, ("0 and 1", "verdict_map")),
    "several criteria where one is wanted": (
        each(long(), criterion=["polite", "right"]), {"one": True}, ("2 criteria", "question=NAME")),
    "nobody of that name": (long(), {"people": "nobody"}, ("names no judge",)),
    "gold of other items": (long(), {"gold": {"x": "pass"}}, ("none of the 1 gold truths",))
}  # fmt: skip


def opened(folder, log):
    return put(folder, *log) if isinstance(log, tuple) else log


@pytest.mark.parametrize("name", READ)
def test_a_log_is_read_as_its_author_means_it(tmp_path, name):
    log, options, expected = READ[name]
    logs = read_judge_logs(opened(tmp_path, log), **options)
    found = next(iter(logs.values()))
    words = " ".join([str(found.reading), *found.notes])
    actual = {
        "says": lambda: expected["says"] if expected["says"] in words else words,
        "unused": lambda: (
            expected["unused"] if expected["unused"] in found.reading.unused else words
        ),
        "verdict": lambda: found.reading.roles["verdict"].columns[0],
        "judges": lambda: (
            found.judge_names if isinstance(expected["judges"], list) else found.n_judges
        ),
        "criteria": lambda: list(logs),
        "classes": lambda: found.class_names,
        "systems": lambda: found.system_names,
        "failed": lambda: found.n_failed,
        "n_gold": lambda: int((found.gold >= 0).sum()),
        "people": lambda: len(found.people.names) if found.people else 0,
        "ordered": lambda: found.is_ordered,
        "bias": lambda: not np.isnan(finegold.judges.assess(found).scores[0].position_bias.value),
    }
    for key, value in expected.items():
        got = actual[key]() if key in actual else getattr(found, key)
        assert got == value, (key, words)
    assert str(found.reading).count(" = ") > 1


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_told_is_refused_with_a_remedy(tmp_path, name):
    log, options, words = REFUSED[name]
    given = {key: value for key, value in options.items() if key != "one"}
    read = finegold.judges.read if "one" in options else read_judge_logs
    with pytest.raises(InputError) as failure:
        read(opened(tmp_path, log), **given)
    message = str(failure.value)
    assert [word for word in words if word not in message] == [], message


def test_orders_are_undone_in_every_command():
    frame = pairs()
    with pytest.warns(finegold.FinegoldWarning, match="read as a log of LLM judges: item = item"):
        votes = finegold.read(frame)
    expected = {
        (str(n), name): side for name in JUDGES for n, side in enumerate(said(name, ("A", "B")))
    }
    task, annotator, label = votes.votes()
    names = [
        list(map(str, each))
        for each in (votes.task_names, votes.annotator_names, votes.class_names)
    ]
    found = {
        (names[0][t], names[1][a]): names[2][c]
        for t, a, c in zip(task, annotator, label, strict=True)
    }
    assert found == expected
    with pytest.warns(finegold.FinegoldWarning):
        found = finegold.aggregate(frame)
    with pytest.warns(finegold.FinegoldWarning):
        by_criterion = finegold.read_each(each(frame, criterion=["x", "y"]))
    assert (found.labels().height, list(by_criterion)) == (N, ["x", "y"])


def test_the_reading_is_said_in_json():
    found = finegold.judges.read(long(human_label=truth(), response=TEXTS)).reading.to_dict()
    assert found["roles"]["truth"] == {"columns": ["human_label"], "about": f"{N} of {N}"}
    assert found["unused"] == ["response"]
    assert found["line"].startswith(
        "item = item · judge = judge (3) · verdict = verdict (fail, pass)"
    )
    json.dumps(found)
