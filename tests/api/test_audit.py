"""`finegold audit`: labels in use that are probably wrong come first, with the evidence."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import finegold
from tests.io.test_predictions import CLASSES, VOTED, N, draw
from tests.support.cli_helpers import refusal_of, run, succeed


def labels_in_use(truth, wrong):
    return {i: CLASSES[(truth[i] + (i in wrong)) % 3] for i in range(N)}


def test_wrong_labels_come_first():
    votes, p, truth = draw(votes_per_task=5)
    wrong = set(range(0, N, 15))
    current = labels_in_use(truth, wrong)
    alone = finegold.audit(votes, {task: current[task] for task in range(VOTED)})
    found = finegold.audit(votes, current, predictions=(range(N), p))
    assert found.columns[:5] == ["task", "current", "p_wrong", "label", "confidence"]
    assert len(alone) == VOTED
    assert len(found) == N
    assert found["p_wrong"].is_sorted(descending=True)
    assert len(wrong & set(found["task"].head(len(wrong)).to_list())) >= 0.8 * len(wrong)
    result = finegold.aggregate(votes, predictions=(range(N), p))
    row = found.row(by_predicate=pl.col("task") == 15, named=True)
    cast = [CLASSES[code] for task, _, code in zip(*votes.votes(), strict=True) if task == 15]
    assert row["votes_for"] == cast.count(current[15])
    assert row["votes_against"] == len(cast) - row["votes_for"]
    assert row["p_wrong"] == pytest.approx(1 - result.posterior[15, CLASSES.index(current[15])])
    assert row["label"] == CLASSES[result.label_codes[15]]
    assert row["predicted"] == CLASSES[p[15].argmax()]
    assert row["p_current_predicted"] == pytest.approx(p[15, CLASSES.index(current[15])])
    only = found.row(by_predicate=pl.col("task") == N - 1, named=True)
    assert (only["votes_for"], only["votes_against"]) == (0, 0)


def test_tasks_without_a_prediction_have_no_opinion():
    votes, p, truth = draw()
    found = finegold.audit(votes, labels_in_use(truth, set()), predictions=(range(200, N), p[200:]))
    opinion = found.filter(pl.col("task") < 200).select("predicted", "p_current_predicted")
    assert opinion.null_count().row(0) == (200, 200)


def test_a_label_that_nobody_voted_for_is_wrong():
    votes, _, truth = draw()
    with pytest.warns(finegold.FinegoldWarning, match="without votes"):
        found = finegold.audit(votes, {**labels_in_use(truth, set()), 7: "dog"})
    assert found.row(0, named=True)["current"] == "dog"
    assert found.row(0, named=True)["p_wrong"] == 1


def test_saved_models_and_the_command_line(tmp_path):
    votes, p, truth = draw()
    current = labels_in_use(truth, {3})
    finegold.write_votes(votes, tmp_path / "votes.csv")
    pl.DataFrame({"task": list(current), "label": list(current.values())}).write_csv(
        tmp_path / "current.csv"
    )
    pl.DataFrame({"task": range(N), **dict(zip(CLASSES, p.T, strict=True))}).write_parquet(
        tmp_path / "p.parquet"
    )
    given = ("--labels", tmp_path / "current.csv")
    done = succeed(
        "audit",
        tmp_path / "votes.csv",
        *given,
        "--predictions",
        tmp_path / "p.parquet",
        "-o",
        tmp_path / "a.csv",
    )
    assert f"{N} labels audited; about" in done.stderr
    assert "judged by votes and predictions" in done.stderr
    expected = finegold.audit(votes, current, predictions=(range(N), p))
    assert np.allclose(pl.read_csv(tmp_path / "a.csv")["p_wrong"], expected["p_wrong"])
    finegold.aggregate(votes, predictions=(range(N), p)).save(tmp_path / "m.finegold")
    done = run("audit", tmp_path / "m.finegold", *given, "--json")
    assert json.loads(done.stdout)["expected_wrong"] == pytest.approx(expected["p_wrong"].sum())
    assert run("audit", tmp_path / "m.finegold", *given, "--method", "ds").exit_code == 2
    message = refusal_of("audit", tmp_path / "m.finegold", *given, "--gold", "export")
    assert "leave out --gold because it needs votes" in message
    refused = run("audit", tmp_path / "votes.csv", *given, "-o", tmp_path / "current.csv")
    assert refused.exit_code == 2
    (tmp_path / "others.csv").write_text("task,label\nt1,ant\n")
    message = refusal_of("audit", tmp_path / "votes.csv", "--labels", tmp_path / "others.csv")
    assert "belongs to a task with votes" in message


def test_labels_in_use_are_read_before_the_fit(tmp_path, monkeypatch):
    (tmp_path / "votes.csv").write_text("task,worker,label\n1,a,x\n")
    (tmp_path / "current.csv").write_text("task,label\n")
    monkeypatch.setattr(
        "finegold.api.fit.fit", lambda *_, **__: pytest.fail("the votes were fitted")
    )
    assert "current.csv" in refusal_of(
        "audit", tmp_path / "votes.csv", "--labels", tmp_path / "current.csv"
    )
