"""Sets of labels: known sets, methods that are fitted to each option, saved results and reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import finegold
from finegold.errors import FinegoldWarning, InputError
from finegold.fitting import multi_label
from finegold.report.views.sets import view_sets
from finegold.results.sets import micro_f1
from finegold.votes.sets import known_options
from tests.fuzz.archives import pack, unpack
from tests.support.cli_helpers import run, write
from tests.support.sets import simulated_sets

VOTES: dict[str, list[Any]] = {
    "task": ["t1"] * 3 + ["t2"] * 3 + ["t3"] * 3,
    "worker": list("abc") * 3,
    "label": [["x", "y"], ["x"], ["x", "z"], ["y"], ["y"], [], ["z"], ["x", "z"], ["z"]],
}
CSV = "task,worker,label\n" + "".join(
    f"{task},{worker},{';'.join(label) or '[]'}\n" for task, worker, label in zip(*VOTES.values(), strict=True)
)


@pytest.mark.parametrize("method", ["anchored", "mv", "ds"])
def test_known_sets_stay_and_teach(method: str) -> None:
    drawn = simulated_sets(1, n_tasks=80, n_options=6)
    gold = {task: drawn.truth[task] for task in list(drawn.truth)[:40]} | {"t0": ["o1", "o2"]}
    result = finegold.aggregate(drawn.table(), method, gold=gold, multi=True)
    sets = dict(zip(result.task_names, result.sets(), strict=True))
    assert all(sets[task] == sorted(labels) for task, labels in gold.items())
    assert set(np.unique(result.posterior[np.flatnonzero(result.gold >= 0)])) == {0.0, 1.0}
    assert result.labels()["confidence"].to_list()[0] == 1
    without = finegold.aggregate(drawn.table(), method, multi=True)
    others = [task for task in drawn.truth if task not in gold]
    taught = [
        micro_f1([set(sets_of(one)[task]) for task in others], truths(drawn, others)) for one in (result, without)
    ]
    assert taught[0] >= taught[1] - 0.02
    changed = result.annotators()["sensitivity"].to_numpy() != without.annotators()["sensitivity"].to_numpy()
    assert changed.any()


def sets_of(result: finegold.Result) -> dict[Any, list[str]]:
    return dict(zip(result.task_names, result.sets(), strict=True))


def truths(drawn: Any, tasks: list[str]) -> list[set[str]]:
    return [set(drawn.truth[task]) for task in tasks]


def test_gold_comes_from_mappings_files_columns_and_votes_that_were_read(tmp_path: Path) -> None:
    expected = [["x"], ["y"], ["x", "y"]]
    gold: dict[str, Any] = {"t3": ["y", "x"]}
    assert finegold.aggregate(VOTES, "mv", gold=gold, multi=True).sets() == expected
    assert finegold.aggregate(VOTES, "mv", gold={"t3": "x;y"}, multi=True).sets() == expected
    read = finegold.read(VOTES, multi=True)
    assert finegold.aggregate(read, "mv", gold=gold).sets() == expected
    column = [None] * 6 + [["x", "y"]] * 3
    assert finegold.aggregate(pl.DataFrame({**VOTES, "gold": column}), "mv", gold="gold", multi=True).sets() == expected
    votes, truth = write(tmp_path / "votes.csv", CSV), write(tmp_path / "gold.csv", "task,truth\nt3,x;y\n")
    done = run("aggregate", votes, "--multi", "--method", "mv", "--gold", truth, "-o", tmp_path / "out.csv")
    assert done.exit_code == 0, done.stderr
    out = pl.read_csv(tmp_path / "out.csv")
    assert out["labels"].to_list() == ["x", "y", "x;y"]
    assert out["is_gold"].to_list() == [False, False, True]


def test_gold_that_cannot_be_used_is_said() -> None:
    with pytest.warns(FinegoldWarning, match="1 options that nobody chose, such as 'new', which are not used"):
        result = finegold.aggregate(VOTES, "mv", gold={"t3": ["x", "new"]}, multi=True)
    assert result.sets()[2] == ["x"]
    listed = finegold.aggregate(VOTES, "mv", gold={"t3": ["x", "new"]}, classes=["x", "y", "z", "new"], multi=True)
    assert listed.sets()[2] == ["x", "new"]
    with pytest.warns(FinegoldWarning, match="1 gold truths belong to tasks without votes"):
        assert finegold.aggregate(VOTES, "mv", gold={"t3": ["x"], "t9": ["x"]}, multi=True).counts.gold_unused == 1


@pytest.mark.parametrize("method", ["ds", "hds", "ptbcc"])
def test_a_method_is_fitted_to_each_option(method: str) -> None:
    drawn = simulated_sets(2, n_tasks=60, n_options=4, n_annotators=6)
    result = finegold.aggregate(drawn.table(), method, multi=True)
    assert result.method == method
    option = [(task, who, int("o2" in label)) for task, who, label in zip(*drawn[:3], strict=True)]
    alone = finegold.aggregate(finegold.Annotations.from_arrays(*zip(*option, strict=True), classes=[0, 1]), method)
    place = list(result.class_names).index("o2")
    assert result.task_names.to_list() == list(alone.task_names)
    assert result.posterior[:, place] == pytest.approx(alone.posterior[:, 1], abs=1e-12)
    assert result.iterations >= alone.iterations
    assert result.converged <= alone.converged


def test_fits_that_do_not_converge_are_counted() -> None:
    drawn = simulated_sets(2, n_tasks=60, n_options=4, n_annotators=6)
    result = finegold.aggregate(drawn.table(), "ds", multi=True, max_iterations=1)
    assert (result.converged, result.iterations) == (False, 1)
    assert result.stopped == "4 of 4 fits did not converge"
    assert finegold.aggregate(drawn.table(), "ds", multi=True, tolerance=0.5).stopped == "4 fits converged"


def test_too_many_tasks_and_options_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multi_label, "MOST_PROBABILITIES", 8)
    with pytest.raises(InputError, match="3 tasks and 3 options are too many for a fit of each option"):
        finegold.aggregate(VOTES, "ds", multi=True)


def test_sets_are_evaluated_by_several_methods(tmp_path: Path) -> None:
    votes, truth = write(tmp_path / "votes.csv", CSV), write(tmp_path / "truth.csv", "task,truth\nt1,x\nt3,z\n")
    done = run("evaluate", votes, "--multi", "--truth", truth, "--method", "anchored,mv,ds,hds,ptbcc", "--json")
    assert done.exit_code == 0, done.stderr
    assert all(f'"method": "{name}"' in done.stdout for name in ("multi", "mv", "ds", "hds", "ptbcc"))


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
    assert loaded.sets() == result.sets()
    assert repr(loaded) == repr(result)
    assert loaded.labels().equals(result.labels())
    assert loaded.annotators(by_option=True).equals(result.annotators(by_option=True))
    assert (loaded.annotations.gold_sets, loaded.seconds) == (result.annotations.gold_sets, result.seconds)
    assert loaded.counts == result.counts


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("gold.npy", lambda gold: gold + 9),
        ("posterior.npy", lambda found: found[:, :2]),
        ("posterior.npy", lambda found: found + 1),
        ("votes.annotator.npy", lambda who: who + 99),
    ],
)
def test_damaged_sets_are_refused(name: str, change: Any, tmp_path: Path) -> None:
    finegold.aggregate(VOTES, "ds", gold={"t3": ["x"]}, multi=True).save(tmp_path / "m.finegold")
    path = tmp_path / "m.finegold"
    manifest, arrays = unpack(path.read_bytes())
    arrays[name] = change(arrays[name])
    path.write_bytes(pack(manifest, arrays))
    with pytest.raises(InputError, match="is not a result saved by Finegold, or it is damaged"):
        finegold.load(path)


def test_the_report_shows_options_tasks_in_doubt_and_annotators(tmp_path: Path) -> None:
    drawn = simulated_sets(3, n_tasks=60, n_options=5, n_annotators=6, votes_per_task=3)
    votes = tmp_path / "votes.jsonl"
    pl.DataFrame(drawn.table()).write_ndjson(votes)
    truth = write(
        tmp_path / "truth.csv", "task,truth\n" + "".join(f"{t},{';'.join(o) or '[]'}\n" for t, o in drawn.truth.items())
    )
    page, model = tmp_path / "report.html", tmp_path / "m.finegold"
    done = run("report", votes, "--multi", "--truth", truth, "-o", page)
    assert done.exit_code == 0, done.stderr
    shown = page.read_text()
    result = finegold.aggregate(drawn.table(), multi=True)
    view = view_sets(result, drawn.truth, title="votes")
    p = result.posterior
    doubtful = (p > 0.2) & (p < 0.8)
    assert view.tasks_shown.total == doubtful.any(axis=1).sum() > 0
    assert [row.confidence for row in view.tasks] == sorted(result.confidence[doubtful.any(axis=1)])
    first = list(result.task_names).index(view.tasks[0].task)
    assert [option for option, _ in view.tasks[0].doubtful] == list(result.class_names[np.flatnonzero(doubtful[first])])
    by_name = {row.option: row for row in view.options}
    assert [by_name[name].n_tasks for name in list(result.class_names)] == (p > 0.5).sum(axis=0).tolist()
    assert [by_name[name].n_doubtful for name in list(result.class_names)] == doubtful.sum(axis=0).tolist()
    assert all(row["asked"] >= 5 for row in view.pairs)
    assert view.judged is not None
    assert f"{100 * view.judged['exact_match']:.0f}\u202f% are right as a whole" in shown
    for word in (
        *list(result.class_names),
        *map(str, result.annotator_names),
        "in doubt",
        "sensitivity",
        view.tasks[0].task,
    ):
        assert word in shown
    assert "<script" not in shown
    result.save(model)
    assert run("report", model, "-o", page).exit_code == 0
    refused = run("report", model, "--method", "ds", "-o", page)
    assert refused.exit_code == 2


def test_the_command_saves_sets(tmp_path: Path) -> None:
    votes, model = write(tmp_path / "votes.csv", CSV), tmp_path / "m.finegold"
    done = run("aggregate", votes, "--multi", "--save", model, "-o", tmp_path / "labels.csv")
    assert done.exit_code == 0, done.stderr
    assert finegold.load(model).sets() == finegold.aggregate(VOTES, multi=True).sets()


def test_an_option_that_an_annotator_chose_twice_counts_once() -> None:
    votes = {"task": [1, 1, 1], "worker": ["a", "a", "b"], "label": ["x", "x", "y"]}
    assert finegold.read(votes, multi=True).n_votes == 2


def test_a_truth_that_is_an_option_is_not_split() -> None:
    assert known_options("a;b", {"a;b", "a", "b"}) == ["a;b"]
