"""Votes that are sets of labels: reading, fitting, gold, tables, evaluation, archives and reports."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import finegold
from finegold import FinegoldWarning, InputError
from finegold.fitting import multi_label
from finegold.insight.majority import n_flips
from finegold.io.truth import match_sets
from finegold.report.sections import Subject
from finegold.report.sections.sets import options, pairs, set_tasks
from finegold.results.sets import set_figures
from finegold.votes.labels import hold_sets
from tests.support.cli_helpers import run, succeed, write
from tests.support.sets import simulated_sets

ROWS = [
    ("t1", "ann", ["a", "b"]),
    ("t1", "bob", ["b", "a"]),
    ("t1", "eve", ["a"]),
    ("t2", "ann", ["c"]),
    ("t2", "bob", ["b", "c"]),
    ("t2", "eve", []),
]
SEEN = {(task, who, option) for task, who, labels in ROWS for option in labels} | {
    ("t2", "eve", "")
}


def columns(labels: list[Any] | None = None) -> dict[str, list[Any]]:
    tasks, people, sets = (list(column) for column in zip(*ROWS, strict=True))
    return {"task": tasks, "worker": people, "label": labels or sets}


def chosen_in(votes: finegold.Annotations) -> set[tuple[Any, ...]]:
    names = [list(one) for one in (votes.task_names, votes.annotator_names, votes.class_names)]
    return {
        tuple(name[code] for name, code in zip(names, codes, strict=True))
        for codes in zip(*votes.votes(), strict=True)
    }


@pytest.mark.parametrize(
    ("cells", "counts", "found"),
    [
        (["a;b", "a", "b"], [3, 1, 1], True),
        (["a;b", "a", "b"], [3, 2, 2], False),  # most votes hold one label
        (["a;b", "c;d"], [2, 2], False),  # no option occurs again: these may be texts
        (["a,b", "a", "b"], [3, 1, 1], False),  # commas occur in ordinary labels
        (['["a"]', "a"], [2, 1], True),
        (['["a"]', "a"], [1, 2], False),
        (['["a", "b"]', "a"], [1, 9], True),
    ],
)
def test_sets_are_found_where_most_votes_hold_several_labels(
    cells: list[str], counts: list[int], found: bool
) -> None:
    assert hold_sets(cells, np.array(counts)) is found


@pytest.mark.parametrize(
    "made",
    [
        lambda: pl.DataFrame(columns()),
        lambda: pl.DataFrame(columns()).lazy(),
        lambda: pd.DataFrame(columns()),
        lambda: pd.DataFrame(columns([set(labels) for _, _, labels in ROWS])),
        lambda: pa.table(columns()),
        lambda: [dict(zip(columns(), row, strict=True)) for row in ROWS],
        lambda: pl.DataFrame(columns([str(labels) for _, _, labels in ROWS])),
    ],
)
def test_lists_of_any_table_are_sets(made: Any) -> None:
    assert chosen_in(finegold.read(made(), multi=True)) == SEEN
    with pytest.warns(
        FinegoldWarning, match=r"the votes are sets of labels, such as \[.*use multi=False"
    ):
        found = finegold.aggregate(made())
    assert found.label_sets is not None


def test_rows_of_one_annotator_on_one_task_are_one_set() -> None:
    rows = [(task, who, option) for task, who, labels in ROWS for option in labels or ["[]"]]
    table = pl.DataFrame(rows + rows[:2], schema=["task", "worker", "label"], orient="row")
    votes = finegold.read(table, multi=True)
    assert (chosen_in(votes), votes.n_votes) == (SEEN, len(SEEN))
    for rule in ("last", "majority", "error"):
        with pytest.raises(
            InputError,
            match="all rows of an annotator on a task are one answer; leave out repeated",
        ):
            finegold.read(table, multi=True, repeated=rule)


def test_options_are_cleaned_as_classes_are() -> None:
    table = columns(["A;b", "a;b", "a", "c", "b;c", "c"])
    assert list(finegold.read(table, multi=True, normalise=True).class_names) == ["a", "b", "c", ""]
    assert list(finegold.read(table, multi=True, alias={"A": "b"}).class_names) == [
        "a",
        "b",
        "c",
        "",
    ]
    given = finegold.read(columns(), multi=True, classes=["c", "b", "a", "z"])
    assert list(given.class_names) == ["c", "b", "a", "z", ""]
    with pytest.raises(InputError, match=r"row 4: label 'c' is not among the classes a, b"):
        finegold.read(columns(), multi=True, classes=["a", "b"])


def test_without_multi_a_list_is_an_error_and_a_set_is_a_class() -> None:
    with pytest.raises(InputError, match='column "label" holds a list'):
        finegold.read(pd.DataFrame(columns()))
    table = columns(["a;b", "a;b", "a", "b", "b;a", "b"])
    with pytest.warns(
        FinegoldWarning, match="if annotators may choose several labels, use multi=True"
    ):
        assert list(finegold.aggregate(table, multi=False).class_names) == ["a", "a;b", "b", "b;a"]


def test_sets_are_trusted_and_explained_as_questions_of_yes_or_no() -> None:
    made = simulated_sets(3, n_tasks=60, n_options=4, n_annotators=6)
    result = finegold.aggregate(made.table(), multi=True)
    found = result.trust(made.truth)
    assert (found.n_tasks, found.calibration is not None) == (240, True)
    assert found.agreement.n_annotators == 6
    assert len(result.spammers()) == 6
    flips = result.flips()
    flipped = {task.split(": ")[0] for task in flips["task"]}
    assert n_flips(result) == len(flipped)
    assert set(flips.columns) >= {"task", "label", "majority"}
    assert found.n_flips == len(flips)
    for task in flips["task"].to_list()[:1]:
        assert set(result.why(task)["vote"].drop_nulls()) <= {"no", "yes"}
    p = result.posterior
    assert len(result.contested(0.2)) == int((abs(2 * p - 1) < 0.2).sum())


def test_the_gain_of_a_task_is_that_of_all_its_options() -> None:
    made = simulated_sets(3, n_tasks=60, n_options=4, n_annotators=6, votes_per_task=3)
    result = finegold.aggregate(made.table(), multi=True)
    plan = finegold.next_votes(result, 5)
    assert plan.gain.shape == (60,)
    assert (np.diff(plan.gain[plan.ask]) <= 0).all()
    assert plan.tasks().columns == ["task", "label", "confidence", "n_votes", "gain"]
    assert plan.tasks()["label"].to_list() == [
        ";".join(result.label_lists()[task]) for task in plan.ask
    ]
    assert (result.confidence[plan.safe] >= 0.95).all()


def test_an_update_equals_a_fit_of_all_votes() -> None:
    made = simulated_sets(5, n_tasks=50, n_options=4, n_annotators=6)
    table = pl.DataFrame(made.table())
    gold = {task: made.truth[task] for task in list(made.truth)[:3]}
    for method in ("anchored", "mv", "ds"):
        whole = finegold.aggregate(table, method, multi=True, gold=gold)
        first = finegold.aggregate(table[:120], method, multi=True)
        updated = first.update(table[120:], gold=gold)
        assert updated.label_lists() == whole.label_lists()
        assert updated.posterior == pytest.approx(whole.posterior, abs=1e-9)
        assert list(updated.class_names) == list(whole.class_names)
        assert updated.method == whole.method


def test_an_update_replaces_or_joins_the_answers_of_who_answered_before() -> None:
    first = finegold.aggregate(
        {"task": [1, 1], "worker": ["a", "b"], "label": ["x", "x;y"]}, "mv", multi=True
    )
    new = {"task": [1, 2], "worker": ["a", "c"], "label": ["z", "y"]}
    shares = {}
    for repeated in ("first", "last", "all"):
        result = first.update(new, repeated=repeated)
        assert list(result.class_names) == ["x", "y", "z"]
        assert result.label_lists()[1] == ["y"]
        shares[repeated] = result.posterior[0].tolist()
    assert shares == {"first": [1, 0.5, 0], "last": [0.5, 0.5, 0.5], "all": [1, 0.5, 0.5]}
    with pytest.raises(InputError, match="sets of labels have no majority of two answers"):
        first.update(new, repeated="majority")


def test_what_has_no_meaning_for_sets_is_refused(tmp_path: Path) -> None:
    result = finegold.aggregate(columns(), multi=True)
    refused = {
        "confusion matrix": lambda: result.confusion("ann"),
        "score": result.scores,
        "single label to train on": lambda: result.export(tmp_path / "x.parquet", "torch"),
        "matrices that could be a prior": lambda: finegold.aggregate(
            columns(list("aabbab")), "ds", prior=result
        ),
        "single label to audit": lambda: finegold.audit(result, {"t1": "a"}),
    }
    for what, ask in refused.items():
        with pytest.raises(
            InputError,
            match=f"sets of labels have no {what}.*use multi=False to take each set as a class",
        ):
            ask()
    assert result.soft_labels().columns == ["task", "a", "b", "c"]
    assert result.sample_weights().shape == (2,)
    assert "<b>multi</b>: 2 tasks, 3 annotators, 3 options" in result._repr_html_()
    assert result.label.tolist() == [";".join(labels) for labels in result.label_lists()]


@pytest.mark.parametrize("method", ["anchored", "mv", "ds"])
def test_answers_without_any_option_have_empty_sets(method: str, tmp_path: Path) -> None:
    result = finegold.aggregate(
        {"task": [1, 1, 2], "worker": list("aba"), "label": ["[]"] * 3}, method, multi=True
    )
    result.save(tmp_path / "m.finegold")
    for one in (result, finegold.load(tmp_path / "m.finegold")):
        assert one.label_lists() == [[], []]
        assert "0 options" in one._repr_html_()
        with pytest.raises(InputError, match="there are no votes"):
            one.trust()


def test_a_vote_per_option_needs_more_than_half() -> None:
    result = finegold.aggregate(columns(), "mv", multi=True)
    assert result.label_lists() == [["a", "b"], ["c"]]
    assert result.posterior == pytest.approx(np.array([[3, 2, 0], [0, 1, 2]]) / 3)
    assert result.votes_per_task.tolist() == [3, 3]


def test_sets_are_recovered_better_than_by_a_vote_per_option() -> None:
    for seed in range(3):
        made = simulated_sets(seed)
        ours, vote = finegold.evaluate(
            made.table(), made.truth, ["anchored", "mv"], multi=True
        ).to_dicts()
        assert ours["exact_match"] > vote["exact_match"] + 0.05
        assert ours["micro_f1"] > vote["micro_f1"] + 0.02
        assert ours["converged"]


def test_tables_have_a_row_per_task_and_per_annotator_and_option() -> None:
    result = finegold.aggregate(pd.DataFrame(columns()), multi=True)
    table = result.labels(probabilities=True)
    assert isinstance(table, pd.DataFrame)
    assert list(table.columns) == ["task", "labels", "confidence", "n_votes", "is_gold", *"abc"]
    assert table["labels"].tolist()[0] == "a;b"
    assert (
        (table[["a", "b", "c"]] > 0.5).to_numpy()
        == [["a" in s, "b" in s, "c" in s] for s in table["labels"]]
    ).all()
    p = table[["a", "b", "c"]].to_numpy()
    assert table["confidence"].to_numpy() == pytest.approx(np.maximum(p, 1 - p).prod(axis=1))
    by_option = result.annotators(by_option=True)
    assert by_option["worker"].tolist() == ["ann"] * 3 + ["bob"] * 3 + ["eve"] * 3
    assert by_option["option"].tolist() == list("abc") * 3
    assert by_option["n_chosen"].tolist() == [1, 1, 1, 1, 2, 1, 1, 0, 0]


def test_an_option_that_nobody_chose_is_no_only_as_far_as_annotators_saw_the_task() -> None:
    rows = [(f"t{i}", who, "x") for i in range(30) for who in "abc"]
    rows += [("seen by all", who, "y") for who in "abc"] + [("seen by one", "a", "y")]
    table = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    result = finegold.aggregate(table, multi=True)
    p = dict(zip(result.task_names.to_list(), result.posterior[:, 0], strict=True))
    assert p["t0"] > 0.9 > 0.5 > p["seen by one"] > p["seen by all"]


def test_metrics_of_sets() -> None:
    labelled: Any = SimpleNamespace(label_lists=lambda: [["a"], ["c", "a"], []])
    figures = set_figures(labelled, [0, 1, 2], [{"a", "b"}, {"c"}, set()])
    assert figures == pytest.approx(
        {"exact_match": 1 / 3, "micro_f1": 4 / 6, "macro_f1": (2 / 3 + 0 + 1) / 3}
    )
    assert set_figures(labelled, [2], [set()]) == {"exact_match": 1, "micro_f1": 1, "macro_f1": 1}


@pytest.mark.parametrize(
    "truth",
    [
        {"t1": "a;b", "t2": ["c"], "t9": "a"},
        {"t1": {"b", "a"}, "t2": "c", "t9": "a"},
        pl.DataFrame({"task": ["t1", "t2", "t9"], "truth": [["a", "b"], ["c"], ["a"]]}),
        pd.DataFrame({"task": ["t1", "t2", "t9"], "truth": ["a,b", "c", "a"]}),
    ],
)
def test_truths_may_be_written_in_many_ways(truth: Any) -> None:
    score = finegold.evaluate(columns(), truth, "mv", multi=True).to_dicts()[0]
    assert (
        score["exact_match"],
        score["micro_f1"],
        score["n_truths"],
        score["n_truths_unused"],
    ) == (1, 1, 2, 1)


def test_what_does_not_fit_into_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multi_label, "available_memory", lambda: 1000)
    with pytest.raises(InputError, match=r"2 tasks, 3 annotators and 3 options need .* of memory"):
        finegold.aggregate(columns(), multi=True)


VOTES: dict[str, list[Any]] = {
    "task": ["t1"] * 3 + ["t2"] * 3 + ["t3"] * 3,
    "worker": list("abc") * 3,
    "label": [["x", "y"], ["x"], ["x", "z"], ["y"], ["y"], [], ["z"], ["x", "z"], ["z"]],
}
CSV = "task,worker,label\n" + "".join(
    f"{task},{worker},{';'.join(label) or '[]'}\n"
    for task, worker, label in zip(*VOTES.values(), strict=True)
)


@pytest.mark.parametrize("method", ["anchored", "mv", "ds"])
def test_known_sets_stay_and_teach(method: str) -> None:
    drawn = simulated_sets(1, n_tasks=80, n_options=6)
    gold = {task: drawn.truth[task] for task in list(drawn.truth)[:40]} | {"t0": ["o1", "o2"]}
    result = finegold.aggregate(drawn.table(), method, gold=gold, multi=True)
    sets = dict(zip(result.task_names, result.label_lists(), strict=True))
    assert all(sets[task] == sorted(labels) for task, labels in gold.items())
    assert set(np.unique(result.posterior[np.flatnonzero(result.gold >= 0)])) == {0.0, 1.0}
    assert result.labels()["confidence"].to_list()[0] == 1
    without = finegold.aggregate(drawn.table(), method, multi=True)
    others = [code for code, task in enumerate(result.task_names) if task not in gold]
    true = [set(drawn.truth[result.task_names[code]]) for code in others]
    taught = [set_figures(fitted, others, true)["micro_f1"] for fitted in (result, without)]
    assert taught[0] >= taught[1] - 0.02
    changed = (
        result.annotators()["sensitivity"].to_numpy()
        != without.annotators()["sensitivity"].to_numpy()
    )
    assert changed.any()


def test_gold_comes_from_mappings_files_columns_and_votes_that_were_read(tmp_path: Path) -> None:
    expected = [["x"], ["y"], ["x", "y"]]
    gold: dict[str, Any] = {"t3": ["y", "x"]}
    with_column = pl.DataFrame({**VOTES, "gold": [None] * 6 + [["x", "y"]] * 3})
    for votes_with, known in ((VOTES, gold), (VOTES, {"t3": "x;y"}), (with_column, "gold")):
        assert (
            finegold.aggregate(votes_with, "mv", gold=known, multi=True).label_lists() == expected
        )
    assert (
        finegold.aggregate(finegold.read(VOTES, multi=True), "mv", gold=gold).label_lists()
        == expected
    )
    votes, truth = (
        write(tmp_path / "votes.csv", CSV),
        write(tmp_path / "gold.csv", "task,truth\nt3,x;y\n"),
    )
    out, model = tmp_path / "out.csv", tmp_path / "m.finegold"
    succeed(
        "aggregate", votes, "--multi", "--method", "mv", "--gold", truth, "-o", out, "--save", model
    )
    assert finegold.load(model).label_lists() == expected
    assert pl.read_csv(out)["labels"].to_list() == ["x", "y", "x;y"]
    assert pl.read_csv(out)["is_gold"].to_list() == [False, False, True]


@pytest.mark.parametrize("method", ["ds", "hds", "ptbcc"])
def test_a_method_is_fitted_to_each_option(method: str) -> None:
    drawn = simulated_sets(2, n_tasks=60, n_options=4, n_annotators=6)
    result = finegold.aggregate(drawn.table(), method, multi=True)
    assert result.method == method
    option = [(task, who, int("o2" in label)) for task, who, label in zip(*drawn[:3], strict=True)]
    alone = finegold.aggregate(
        finegold.Annotations.from_arrays(*zip(*option, strict=True), classes=[0, 1]), method
    )
    place = list(result.class_names).index("o2")
    assert result.task_names.to_list() == list(alone.task_names)
    assert result.posterior[:, place] == pytest.approx(alone.posterior[:, 1], abs=1e-12)
    assert result.iterations >= alone.iterations
    assert result.converged <= alone.converged


@pytest.mark.parametrize("method", ["anchored", "mv", "ds"])
def test_saved_sets_come_back_to_the_bit(method: str, tmp_path: Path) -> None:
    drawn = simulated_sets(3, n_tasks=30, n_options=5, n_annotators=6)
    gold = {"t0": drawn.truth["t0"], "t1": ["o1"]}
    result = finegold.aggregate(drawn.table(), method, gold=gold, multi=True)
    result.save(tmp_path / "m.finegold")
    loaded = finegold.load(tmp_path / "m.finegold")
    assert isinstance(loaded, finegold.Result)
    assert loaded.label_sets == result.label_sets
    assert np.array_equal(loaded.posterior, result.posterior)
    assert loaded.label_lists() == result.label_lists()
    assert repr(loaded) == repr(result)
    assert loaded.labels().equals(result.labels())
    assert loaded.annotators(by_option=True).equals(result.annotators(by_option=True))
    assert (loaded.annotations.gold_sets, loaded.seconds) == (
        result.annotations.gold_sets,
        result.seconds,
    )
    assert loaded.counts == result.counts


def test_the_report_shows_options_tasks_in_doubt_and_annotators(tmp_path: Path) -> None:
    drawn = simulated_sets(3, n_tasks=60, n_options=5, n_annotators=6, votes_per_task=3)
    votes, page = tmp_path / "votes.jsonl", tmp_path / "report.html"
    pl.DataFrame(drawn.table()).write_ndjson(votes)
    rows = [f"{task},{';'.join(chosen) or '[]'}\n" for task, chosen in drawn.truth.items()]
    truth = write(tmp_path / "truth.csv", "task,truth\n" + "".join(rows))
    succeed("report", votes, "--multi", "--truth", truth, "-o", page)
    shown, result = page.read_text(), finegold.aggregate(drawn.table(), multi=True)
    subject = Subject(result, true_sets=match_sets(result.annotations, drawn.truth))
    of_options, tasks, p = options(subject), set_tasks(subject), result.posterior
    doubtful = (p > 0.2) & (p < 0.8)
    assert tasks["shown"].total == doubtful.any(axis=1).sum() > 0
    first = list(result.task_names).index(tasks["rows"][0]["task"])
    named = [option for option, _ in tasks["rows"][0]["doubtful"]]
    assert named == list(result.class_names[np.flatnonzero(doubtful[first])])
    # option, choices, tasks with it, tasks in doubt
    counts = {name: tuple(row) for name, _, *row in of_options["rows"]}
    columns = zip((p > 0.5).sum(axis=0), doubtful.sum(axis=0), strict=True)
    assert counts == dict(zip(map(str, result.class_names), columns, strict=True))
    assert all(row["asked"] >= 5 for row in pairs(subject)["rows"])
    share = of_options["compared"]["exact_match"]
    words = (f"{100 * share:.0f}\u202f% are right as a whole", "in doubt", "sensitivity")
    assert all(word in shown for word in (*words, *result.class_names, *result.annotator_names))


def test_no_share_of_right_sets_is_promised(tmp_path: Path) -> None:
    """There are no real sets of labels with truths on which such a number was shown to hold."""
    path = write(tmp_path / "votes.csv", "task,worker,label\n1,a,x;y\n1,b,y\n2,a,x\n2,b,x;y\n")
    done = run("aggregate", str(path), "--multi")
    assert "labels per task" in done.stderr
    assert "are right" not in done.stderr
    assert "4 questions" in run("trust", str(path), "--multi").output


def test_gold_that_cannot_be_used_is_said() -> None:
    gold = {"t3": ["x", "new"], "t9": ["x"]}
    with pytest.warns(FinegoldWarning) as said:
        result = finegold.aggregate(VOTES, "mv", gold=gold, multi=True)
    texts = " ".join(str(one.message) for one in said)
    assert "1 options that nobody chose, such as 'new', which are not used" in texts
    assert "1 gold truths belong to tasks without votes" in texts
    assert (result.label_lists()[2], result.counts.gold_unused) == (["x"], 1)
