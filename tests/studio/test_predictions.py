"""Class probabilities of models in the studio: read, refused, kept, combined with the votes, and shown."""

import polars as pl
import pytest

import finegold
from tests.support.animals import TRUTH
from tests.support.studio_helpers import SAMPLE, refused

# The model of these tests lacks tasks with votes and has tasks without: Python warns of it, the studio counts them.
pytestmark = pytest.mark.filterwarnings("ignore:.*tasks have no votes:finegold.FinegoldWarning")

CLASSES = ("cat", "dog", "fox", "owl")


def probabilities(tasks, sure=0.85, column="task", classes=CLASSES):
    """A table of a model that errs in one task of ten: one that repeats the votes would be ignored."""
    truth = dict(pl.read_csv(TRUTH).iter_rows())
    lines = [",".join([column, *classes])]
    for task in tasks:
        name = truth.get(task, "fox")
        said = name if task % 10 or task > 300 else CLASSES[CLASSES.index(name) - 1]
        lines.append(
            ",".join(
                [str(task), *(str(sure if each == said else (1 - sure) / 3) for each in classes)]
            )
        )
    return "\n".join([*lines, ""])


MODEL = probabilities([*range(250), 1001, 1002])


def add(studio, project, body=MODEL, name="bert.csv"):
    return studio.post(f"/api/projects/{project}/predictions", params={"name": name}, content=body)


def test_what_was_read_of_a_file_is_said_and_a_file_of_the_folder_is_kept_in_the_project(
    studio, project
):
    expected = {
        **{"name": "bert.csv", "n_tasks": 250, "n_without_prediction": 50, "n_without_votes": 2},
        **{"classes": list(CLASSES), "confidence": pytest.approx(0.85), "warnings": []},
    }
    (studio.folder / "bert.csv").write_text(MODEL)
    assert add(studio, project, body="").json() == [expected]
    (studio.folder / "bert.csv").unlink()
    assert studio.at(project, "GET")["predictions"] == [expected]
    assert studio.fit(project, "ds")["fits"][-1]["state"] == "done"
    overview = studio.at(project, "GET", "/results")
    assert (overview["models"][0]["model"], overview["n_predicted"]) == ("bert", 2)


def test_labels_are_those_of_python_and_tasks_with_predictions_only_are_shown_as_such(
    studio, project, tmp_path
):
    (tmp_path / "bert.csv").write_text(MODEL)
    expected = finegold.aggregate(SAMPLE, "ds", predictions=tmp_path / "bert.csv")
    add(studio, project)
    studio.fit(project, "ds")
    base = f"/api/projects/{project}"
    assert (
        studio.services.workspace.shown(project).result.posterior.tolist()
        == expected.posterior.tolist()
    )
    (model,) = studio.good("GET", f"{base}/results")["models"]
    assert model == pytest.approx(expected.combined.records[0]._asdict())
    page = studio.good("GET", f"{base}/tasks", params={"doubt": "predicted"})
    assert page["total"] == 2
    assert [(row["task"], row["n_votes"], row["doubts"]) for row in page["rows"]] == [
        ("1001", 0, ["predicted"]),
        ("1002", 0, ["predicted"]),
    ]
    assert studio.good("GET", f"{base}/tasks")["total"] == 302
    assert studio.good("GET", f"{base}/tasks", params={"search": "1001"})["total"] == 1
    view = studio.good("GET", f"{base}/tasks/{page['rows'][0]['at']}")
    assert (view["name"], view["row"]["label"], view["row"]["votes"]) == (1001, "fox", [])
    assert view["predictions"] == [{"model": "bert", "label": "fox", "probability": 0.85}]
    assert sum(view["probabilities"]) == pytest.approx(1, abs=1e-5)
    assert studio.get(f"{base}/tasks/302").status_code == 404
    first, last = (studio.good("GET", f"{base}/tasks/{at}") for at in (0, 299))
    assert (first["name"], len(first["predictions"]), len(first["row"]["votes"])) == (0, 1, 5)
    assert (last["name"], last["predictions"], len(last["row"]["votes"])) == (
        299,
        [],
        5,
    )  # the model has no prediction


def test_tasks_without_votes_are_planned_but_not_judged(studio, project):
    add(studio, project, probabilities([*range(300), 1001], sure=0.3))
    studio.fit(project, "ds")
    asked = studio.at(project, "GET", "/plan", params={"budget": 10_000})["ask"]
    assert {"task": 1001, "n_votes": 0} in [
        {name: one[name] for name in ("task", "n_votes")} for one in asked
    ]
    assert studio.judge(project, 1001, "cat").status_code == 404
    queue = studio.at(project, "GET", "/next", params={"most": 100})
    assert (queue["left"], 1001 in [one["name"] for one in queue["tasks"]]) == (300, False)


def test_a_file_of_the_same_name_replaces_the_one_before_and_removed_ones_are_not_used(
    studio, project
):
    add(studio, project)
    assert [one["n_tasks"] for one in add(studio, project, probabilities(range(100))).json()] == [
        100
    ]
    assert len(add(studio, project, name="other.csv").json()) == 2
    for name in ("bert.csv", "other.csv"):
        studio.at(project, "DELETE", "/predictions", params={"name": name})
    assert studio.at(project, "GET", "/predictions") == []
    studio.fit(project, "ds")
    assert studio.at(project, "GET", "/results")["models"] == []


REFUSED = {
    'bert.csv: the column "elk" is not a class of the votes': probabilities([1]).replace(
        "owl", "elk"
    ),
    "bert.csv, row 1 (task 1): the probabilities sum to 0.55": probabilities([1]).replace(
        "0.85", "0.4"
    ),
    "bert.csv: none of the 1 tasks has votes": probabilities([1001]),
    "the task has several rows of predictions": probabilities([1, 1]),
    "bert.csv": "cat,dog\n",
}


def test_a_file_that_cannot_be_used_is_refused_in_words_for_the_browser(studio, project):
    for words, body in REFUSED.items():
        answer = add(studio, project, body)
        refused(answer, 422, detail=words)
        assert "--" not in answer.text
        assert str(studio.services.files.scratch) not in answer.text
    assert studio.at(project, "GET", "/predictions") == []
    empty = studio.good("POST", "/api/projects", json={})["id"]
    refused(add(studio, empty), 409, "There are no votes yet")
