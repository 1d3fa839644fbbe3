"""The studio's HTTP interface: files become votes, votes become labels, and every view of them."""

import csv
import io
import json

import numpy as np
import pytest

import finegold
from finegold.io.truth import read_truth
from finegold.studio.problems import Problem
from tests.support.exports_made import annotation, choices
from tests.support.studio_helpers import copy_sample, refused, studio_in_thread


@pytest.fixture(scope="module")
def fitted(studio):
    """A fitted project for tests that change nothing."""
    studio.project = studio.read_sample(studio.folder)
    studio.fit(studio.project)
    studio.result = finegold.aggregate(studio.folder / "votes.csv", "ptbcc")
    return studio


def test_a_file_of_the_folder_is_previewed_read_and_fitted_by_the_default_method(tmp_path):
    with studio_in_thread(tmp_path) as studio:
        copy_sample(tmp_path)
        assert [file["name"] for file in studio.good("GET", "/api/folder")["files"]] == [
            "votes.csv"
        ]
        project = studio.create("votes.csv")
        preview = studio.at(project, "GET", "/preview")
        assert preview["format"] == "CSV table"
        assert preview["rows"][0] == ["0", "0", "dog"]
        assert [preview["guess"][role] for role in ("task", "annotator", "label")] == [
            "task",
            "annotator",
            "label",
        ]
        state = studio.read(project, **preview["guess"])
        assert [fit["method"] for fit in state["fits"]] == ["mv"]
        studio.at(project, "POST", "/fits", json={})
        shown = studio.settled(project)["fits"][-1]
        assert [shown["method"]] == [
            each["name"] for each in studio.good("GET", "/api/methods") if each["is_default"]
        ]
        expected = finegold.aggregate(tmp_path / "votes.csv")
        assert shown["facts"]["mean_confidence"] == pytest.approx(expected.confidence.mean())
        labels = studio.get(f"/api/projects/{project}/export/labels.csv").text
        assert [row["label"] for row in csv.DictReader(io.StringIO(labels))] == list(expected.label)


WIDE = "task,ann,bob,text\n1,cat,cat,it purrs\n2,dog,cat,it barks\n3,dog,dog,woof\n"
TRANSPOSED = "respondent,q1,q2,q3\nann,cat,dog,dog\nbob,cat,cat,dog\n"


@pytest.mark.parametrize(
    ("body", "shape", "columns"),
    [(WIDE, "wide", ["ann", "bob"]), (TRANSPOSED, "transposed", ["q1", "q2", "q3"])],
)
def test_rows_with_several_votes_are_seen_and_read(studio, body, shape, columns):
    project = studio.upload("table.csv", body.encode())
    guess = studio.at(project, "GET", "/preview")["guess"]
    assert (guess["shape"], guess["columns"]) == (shape, columns)
    facts = studio.read(project, **guess)["fits"][0]["facts"]
    assert (facts["n_tasks"], facts["n_annotators"], facts["n_votes"]) == (3, 2, 6)


def test_an_upload_keeps_its_bytes_so_that_it_can_be_read_again(studio):
    body = b"task,worker,label,other\n1,x,cat,dog\n1,y,cat,dog\n"
    project = studio.good("POST", "/api/uploads?name=../../my votes.csv", content=body)
    assert project["file"] == "my votes.csv"
    for column, expected in (("label", "cat"), ("other", "dog")):
        studio.read(project["id"], label=column)
        assert studio.at(project["id"], "GET", "/tasks")["rows"][0]["label"] == expected


def test_pages_are_sorted_filtered_and_searched(fitted):
    def rows(**query):
        return fitted.at(fitted.project, "GET", "/tasks", params=query)

    result = fitted.result
    by_confidence = rows(most=500)["rows"]
    assert [row["confidence"] for row in by_confidence] == pytest.approx(
        sorted(result.confidence.tolist()), abs=1e-6
    )
    assert rows(sort="task", first=10, most=2)["rows"][0]["task"] == "10"
    assert rows(sort="task", descending=True, most=1)["rows"][0]["task"] == "299"
    assert {row["label"] for row in rows(label=2, most=500)["rows"]} == {"fox"}
    assert [row["task"] for row in rows(search="29", sort="task", most=3)["rows"]] == [
        "29",
        "129",
        "229",
    ]
    flipped = rows(doubt="flipped", most=500)
    assert flipped["total"] == len(result.flips())
    assert all("flipped" in row["doubts"] for row in flipped["rows"])
    assert rows(confidence_to=0.5)["total"] == int((result.confidence <= 0.5).sum())


def test_a_task_shows_who_voted_what_and_those_that_a_truth_helps_most_come_first(fitted):
    task = fitted.at(
        fitted.project,
        "GET",
        f"/tasks/{fitted.at(fitted.project, 'GET', '/tasks')['rows'][0]['at']}",
    )
    why = {row["annotator"]: row for row in fitted.result.why(task["name"]).to_dicts()}
    assert len(task["row"]["votes"]) == 5
    for vote in task["row"]["votes"]:
        assert why[int(vote["annotator"])]["vote"] == vote["label"]
    assert sum(task["probabilities"]) == pytest.approx(1, abs=1e-5)
    queue = [
        task["at"]
        for task in fitted.at(fitted.project, "GET", "/next", params={"most": 50})["tasks"]
    ]
    chance = (fitted.result.posterior**2).sum(axis=1)
    assert chance[queue].tolist() == sorted(chance)[:50]


def test_annotators_are_sorted_searched_and_opened(fitted):
    result = fitted.result

    def page(**query):
        return fitted.at(fitted.project, "GET", "/annotators", params=query)

    assert [row["accuracy"] for row in page()["rows"]] == pytest.approx(
        sorted(result.accuracy)[::-1], abs=1e-4
    )
    twos = page(search="2", sort="annotator", descending=False, most=2)["rows"]
    assert [row["annotator"] for row in twos] == ["2", "12"]
    worst = page(descending=False, most=1)["rows"][0]
    assert worst["rank"] == 30
    found = fitted.at(fitted.project, "GET", f"/annotators/{worst['code']}")
    assert np.array(found["confusion"]) == pytest.approx(
        result.confusion(int(worst["annotator"])), abs=1e-4
    )
    assert fitted.get(f"/api/projects/{fitted.project}/annotators/30").status_code == 404


def test_the_votes_of_an_annotator_come_with_those_against_the_label_first(fitted):
    def see(path, **query):
        return fitted.at(fitted.project, "GET", path, params=query)

    worst = see("/annotators", descending=False, most=1)["rows"][0]
    view, votes = (see(f"/annotators/{worst['code']}{more}", most=500) for more in ("", "/votes"))
    assert sum(view["support"]) == votes["total"] == worst["n_votes"]
    wrong = [row["vote"] != row["label"] for row in votes["rows"]]
    assert wrong == sorted(wrong, reverse=True)
    assert sum(wrong) == view["n_mistakes"] > 0
    sure = [row["confidence"] for row in votes["rows"][: sum(wrong)]]
    assert sure == sorted(sure, reverse=True)
    only = see(f"/annotators/{worst['code']}/votes", mistakes=True, most=500)
    assert only["rows"] == votes["rows"][: sum(wrong)]
    for row in only["rows"][:5]:  # each vote is really theirs
        task = see(f"/tasks/{row['at']}")["row"]
        assert (worst["annotator"], row["vote"]) in [
            (one["annotator"], one["label"]) for one in task["votes"]
        ]


def test_every_view_of_the_report_and_the_plan_are_there(fitted):
    result = fitted.result

    def view(name, **query):
        return fitted.at(fitted.project, "GET", name, params=query)

    assert view("/results")["doubts"]["flipped"] == len(result.flips())
    assert view("/results/annotators")["n"] == 30
    assert view("/results/classes")["names"] == ["cat", "dog", "fox", "owl"]
    assert len(view("/results/prototypes")["prototypes"]) == 2
    alpha = finegold.agreement(fitted.folder / "votes.csv").alpha
    assert view("/results/trust")["figures"][0]["value"] == pytest.approx(alpha, abs=1e-4)
    assert view("/results/record")["method"] == "ptbcc"
    plan, found = result.next_votes(), view("/plan", budget=5)
    assert [one["task"] for one in found["ask"]] == plan.tasks()["task"].to_list()[:5]
    assert [one["advice"] for one in found["annotators"]] == plan.annotators()["advice"].to_list()
    assert found["n_safe"] == len(plan.safe_tasks())


def test_exports_are_what_finegold_writes(fitted, tmp_path):
    def save(name):
        answer = fitted.get(f"/api/projects/{fitted.project}/export/{name}")
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        (tmp_path / name).write_bytes(answer.content)
        return tmp_path / name

    for kind in ("csv", "jsonl", "parquet"):
        assert read_truth(save(f"labels.{kind}")).truth[0] == "dog"
    assert finegold.read(save("votes.csv")).n_votes == 1500
    assert len(save("annotators.csv").read_text().splitlines()) == 31
    assert finegold.load(save("model.finegold")).annotations.n_votes == 1500
    report = fitted.get(f"/api/projects/{fitted.project}/export/report.html")
    assert "votes.csv" in report.text
    assert "sandbox" in report.headers["content-security-policy"]


TABLE = "task,worker,label,text,gold,page\n7,x,cat,it purrs,cat,http://a.example/7\n8,y,dog,it barks,,\n"
RECORDS = [
    {
        "id": t,
        "data": {"text": text, "meta": {"no": "text"}},
        "annotations": [annotation(1, choices("animal", "cat"))],
    }
    for t, text in ((7, "it purrs"), (8, "it barks"))
]


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("votes.csv", TABLE, {"text": "it purrs", "page": "http://a.example/7"}),
        ("export.json", json.dumps(RECORDS), {"text": "it purrs"}),
        ("bare.csv", "task,worker,label\n7,x,cat\n", {}),
        (
            "wide.csv",
            "task,ann,bob,text\n7,cat,cat,it purrs\n8,cat,cat,it barks\n",
            {"text": "it purrs"},
        ),
    ],
)
def test_the_file_says_what_a_task_is_about_but_not_how_others_judged_it(
    studio, name, body, expected
):
    project = studio.upload(name, body.encode())
    assert (
        studio.read(project, **studio.at(project, "GET", "/preview")["guess"])["job"]["state"]
        == "done"
    )
    found = studio.at(project, "GET", "/tasks/0/content")
    assert {one["name"]: one["text"] for one in found} == expected


def test_gold_is_used_by_the_next_fit_and_its_effect_is_shown(studio, project):
    studio.fit(project)
    first = studio.at(project, "GET", "/next")["tasks"][0]
    before = studio.at(project, "GET", f"/tasks/{first['at']}")["row"]["label"]
    label = next(name for name in ("cat", "dog", "fox", "owl") if name != before)
    assert studio.judge(project, first["name"], label).json()["judged"] == 1
    assert studio.at(project, "GET", "/next")["tasks"][0]["at"] != first["at"]
    facts = next(fit for fit in studio.fit(project)["fits"] if fit["method"] == "ptbcc")["facts"]
    assert facts["gold"] == 1
    assert first["at"] in {one["task"] for one in facts["changes"]["examples"]}
    row = studio.at(project, "GET", f"/tasks/{first['at']}")
    assert (row["row"]["label"], row["gold"]) == (label, label)
    assert (
        studio.get(f"/api/projects/{project}/export/gold.csv").text
        == f"task,truth\n{first['name']},{label}\n"
    )


def test_two_tabs_do_not_overwrite_each_other(studio, project):
    assert studio.judge(project, 1, "cat", before=None).status_code == 200
    assert refused(studio.judge(project, 1, "dog", before=None), 409)["current"] == "cat"
    assert studio.judge(project, 1, "dog", before="cat").status_code == 200
    first = studio.at(project, "GET", "/next")["actions"][-1]["id"]
    assert studio.post(f"/api/projects/{project}/undo", json={"action": first}).status_code == 409
    assert studio.put(f"/api/projects/{project}/votes", json={"version": 1}).status_code == 409
    assert studio.gold(project) == {1: "dog"}


def test_posted_votes_and_gold_outlive_another_reading_of_the_file(studio, project):
    studio.post_votes(project, (0, "new", "owl"))
    studio.judge(project, 5, "owl")
    for _ in range(2):
        assert studio.fit(project, "mv")["n_waiting"] == 0
        assert studio.at(project, "GET", "/tasks/0")["row"]["n_votes"] == 6
        assert studio.read(project, repeated="last")["n_waiting"] == 1
        assert (
            studio.at(project, "GET", "/tasks", params={"judged": True})["rows"][0]["gold"] == "owl"
        )


def test_a_deleted_project_leaves_nothing_behind(tmp_path):
    with studio_in_thread(tmp_path) as studio:
        project = studio.read_sample(tmp_path)
        studio.judge(project, 3, "fox")
        studio.at(
            project,
            "POST",
            "/predictions?name=bert.csv",
            content=b"task,cat,dog,fox,owl\n1,1,0,0,0\n",
        )
        studio.at(project, "DELETE")
        for table in ("project", "fit", "gold", "action", "posted", "predictions", "blob", "piece"):
            assert studio.services.store.rows(f"SELECT * FROM {table}") == [], table
        with pytest.raises(Problem, match="no such project"):
            studio.services.workspace.shown(project)
        assert studio.get(f"/api/projects/{project}").status_code == 404
