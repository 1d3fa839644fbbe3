"""The studio's HTTP interface: votes in, labels out, gold and undo, two tabs, posted votes, exports."""

import csv
import io
import json

import numpy as np
import pytest

import finegold
from finegold.io.truth import read_truth
from tests.support.exports_made import annotation, choices
from tests.support.studio_helpers import copy_sample, refused, studio_in_thread, wait_until


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A studio with a fitted project, for tests that change nothing."""
    folder = tmp_path_factory.mktemp("studio")
    with studio_in_thread(folder) as client:
        client.project = client.read_sample(folder)
        client.fit(client.project)
        client.result = finegold.aggregate(folder / "votes.csv", "ptbcc")
        yield client


@pytest.fixture
def studio(tmp_path):
    with studio_in_thread(tmp_path) as client:
        yield client


def test_a_file_of_the_folder_is_previewed_read_and_fitted(studio, tmp_path):
    copy_sample(tmp_path)
    assert [file["name"] for file in studio.good("GET", "/api/folder")["files"]] == ["votes.csv"]
    project = studio.create("votes.csv")
    preview = studio.at(project, "GET", "/preview")
    assert preview["format"] == "CSV table"
    assert preview["rows"][0] == ["0", "0", "dog"]
    assert [preview["guess"][role] for role in ("task", "annotator", "label")] == ["task", "annotator", "label"]
    state = studio.read(project, **preview["guess"])
    assert [fit["method"] for fit in state["fits"]] == ["mv"]
    shown = next(fit for fit in studio.fit(project)["fits"] if fit["method"] == "ptbcc")
    expected = finegold.aggregate(tmp_path / "votes.csv", "ptbcc")
    assert shown["facts"]["mean_confidence"] == pytest.approx(expected.confidence.mean())
    labels = studio.get(f"/api/projects/{project}/export/labels.csv").text
    assert [row["label"] for row in csv.DictReader(io.StringIO(labels))] == list(expected.label)


WIDE = "task,ann,bob,text\n1,cat,cat,it purrs\n2,dog,cat,it barks\n3,dog,dog,woof\n"
TRANSPOSED = "respondent,q1,q2,q3\nann,cat,dog,dog\nbob,cat,cat,dog\n"


@pytest.mark.parametrize(
    ("body", "shape", "columns"), [(WIDE, "wide", ["ann", "bob"]), (TRANSPOSED, "transposed", ["q1", "q2", "q3"])]
)
def test_rows_with_several_votes_are_seen_and_read(studio, body, shape, columns):
    project = studio.upload("table.csv", body.encode())
    guess = studio.at(project, "GET", "/preview")["guess"]
    assert (guess["shape"], guess["columns"]) == (shape, columns)
    facts = studio.read(project, **guess)["fits"][0]["facts"]
    assert (facts["n_tasks"], facts["n_annotators"], facts["n_votes"]) == (3, 2, 6)


def test_an_upload_keeps_its_bytes_so_that_it_can_be_read_again(studio, tmp_path):
    body = b"task,worker,label,other\n1,x,cat,dog\n1,y,cat,dog\n"
    project = studio.good("POST", "/api/uploads?name=../../my votes.csv", content=body)
    assert project["file"] == "my votes.csv"
    for column, expected in (("label", "cat"), ("other", "dog")):
        studio.read(project["id"], label=column)
        assert studio.at(project["id"], "GET", "/tasks")["rows"][0]["label"] == expected


def test_what_is_wrong_with_a_file_is_said_in_words_that_name_it(studio, tmp_path):
    (tmp_path / "bad.csv").write_text("task,worker,label\n1,x,cat\n,y,dog\n")
    project = studio.create("bad.csv")
    job = studio.read(project)["job"]
    assert job["state"] == "failed"
    assert job["message"].startswith("bad.csv, row 2 (line 3)")
    assert str(tmp_path) not in job["message"]


def test_pages_are_sorted_filtered_and_searched(shared):
    def rows(**query):
        return shared.at(shared.project, "GET", "/tasks", params=query)

    result = shared.result
    by_confidence = rows(most=500)["rows"]
    assert [row["confidence"] for row in by_confidence] == pytest.approx(sorted(result.confidence.tolist()), abs=1e-6)
    assert rows(sort="task", first=10, most=2)["rows"][0]["task"] == "10"
    assert rows(sort="task", descending=True, most=1)["rows"][0]["task"] == "299"
    assert {row["label"] for row in rows(label=2, most=500)["rows"]} == {"fox"}
    assert [row["task"] for row in rows(search="29", sort="task", most=3)["rows"]] == ["29", "129", "229"]
    flipped = rows(doubt="flipped", most=500)
    assert flipped["total"] == len(result.flips())
    assert all("flipped" in row["doubts"] for row in flipped["rows"])
    assert rows(confidence_to=0.5)["total"] == int((result.confidence <= 0.5).sum())


def test_a_task_shows_who_voted_what_with_which_weight(shared):
    at = shared.at(shared.project, "GET", "/tasks")["rows"][0]["at"]
    task = shared.at(shared.project, "GET", f"/tasks/{at}")
    result = shared.result
    why = {row["annotator"]: row for row in result.why(task["name"]).to_dicts()}
    assert len(task["row"]["votes"]) == 5
    for vote in task["row"]["votes"]:
        assert why[int(vote["annotator"])]["vote"] == vote["label"]
    assert sum(task["probabilities"]) == pytest.approx(1, abs=1e-5)


def test_annotators_are_sorted_searched_and_opened(shared):
    result = shared.result

    def page(**query):
        return shared.at(shared.project, "GET", "/annotators", params=query)

    assert [row["accuracy"] for row in page()["rows"]] == pytest.approx(sorted(result.accuracy)[::-1], abs=1e-4)
    twos = page(search="2", sort="annotator", descending=False, most=2)["rows"]
    assert [row["annotator"] for row in twos] == ["2", "12"]
    worst = page(descending=False, most=1)["rows"][0]
    assert worst["rank"] == 30
    found = shared.at(shared.project, "GET", f"/annotators/{worst['code']}")
    assert np.array(found["confusion"]) == pytest.approx(result.confusion(int(worst["annotator"])), abs=1e-4)
    assert shared.get(f"/api/projects/{shared.project}/annotators/30").status_code == 404


def test_every_view_of_the_report_is_there(shared):
    result = shared.result

    def view(name):
        return shared.at(shared.project, "GET", f"/results{name}")

    assert view("")["doubts"]["flipped"] == len(result.flips())
    assert view("/annotators")["n"] == 30
    assert view("/classes")["names"] == ["cat", "dog", "fox", "owl"]
    assert len(view("/prototypes")["prototypes"]) == 2
    alpha = finegold.agreement(shared.folder / "votes.csv").alpha
    assert view("/trust")["figures"][0]["value"] == pytest.approx(alpha, abs=1e-4)
    assert view("/record")["method"] == "ptbcc"


def test_the_default_method_is_fitted_where_none_is_named(studio, project):
    default = [method["name"] for method in studio.good("GET", "/api/methods") if method["is_default"]]
    studio.at(project, "POST", "/fits", json={})
    fitted = next(fit for fit in studio.settled(project)["fits"] if fit["method"] != "mv")
    assert [fitted["method"]] == default


TABLE = "task,worker,label,text,gold,page\n7,x,cat,it purrs,cat,http://a.example/7\n8,y,dog,it barks,,\n"
RECORDS = [
    {"id": t, "data": {"text": text, "meta": {"no": "text"}}, "annotations": [annotation(1, choices("animal", "cat"))]}
    for t, text in ((7, "it purrs"), (8, "it barks"))
]


@pytest.mark.parametrize(
    ("name", "body", "expected"),
    [
        ("votes.csv", TABLE, {"text": "it purrs", "page": "http://a.example/7"}),
        ("export.json", json.dumps(RECORDS), {"text": "it purrs"}),
        ("bare.csv", "task,worker,label\n7,x,cat\n", {}),
        ("wide.csv", "task,ann,bob,text\n7,cat,cat,it purrs\n8,cat,cat,it barks\n", {"text": "it purrs"}),
    ],
)
def test_the_file_says_what_a_task_is_about_but_not_how_others_judged_it(studio, name, body, expected):
    project = studio.upload(name, body.encode())
    assert studio.read(project, **studio.at(project, "GET", "/preview")["guess"])["job"]["state"] == "done"
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
    changed = {one["task"] for one in facts["changes"]["examples"]}
    assert first["at"] in changed
    row = studio.at(project, "GET", f"/tasks/{first['at']}")
    assert (row["row"]["label"], row["gold"]) == (label, label)
    assert studio.get(f"/api/projects/{project}/export/gold.csv").text == f"task,truth\n{first['name']},{label}\n"


def test_the_tasks_that_a_truth_helps_most_come_first(shared):
    phi = shared.result.posterior
    queue = [task["at"] for task in shared.at(shared.project, "GET", "/next", params={"most": 50})["tasks"]]
    chance = (phi**2).sum(axis=1)
    assert chance[queue].tolist() == sorted(chance)[:50]


def test_the_plan_is_that_of_finegold_next(shared):
    plan = shared.result.next()
    found = shared.at(shared.project, "GET", "/plan", params={"budget": 5})
    assert [one["task"] for one in found["ask"]] == plan.tasks()["task"].to_list()[:5]
    assert [one["advice"] for one in found["annotators"]] == plan.annotators()["advice"].to_list()
    assert found["n_safe"] == len(plan.safe_tasks())


def test_undo_takes_back_the_last_truth_and_then_the_one_before(studio, project):
    studio.judge(project, 1, "cat")
    studio.judge(project, 1, "dog")
    studio.judge(project, 2, "fox")
    undo = f"/api/projects/{project}/undo"
    assert studio.good("POST", undo, json={})["action"]["task"] == 2
    assert studio.gold(project) == {1: "dog"}
    studio.good("POST", undo, json={})
    assert studio.gold(project) == {1: "cat"}
    studio.good("POST", undo, json={})
    assert studio.post(undo, json={}).status_code == 409


def test_two_tabs_do_not_overwrite_each_other(studio, project):
    assert studio.judge(project, 1, "cat", before=None).status_code == 200
    assert refused(studio.judge(project, 1, "dog", before=None), 409)["current"] == "cat"
    assert studio.judge(project, 1, "dog", before="cat").status_code == 200
    first = studio.at(project, "GET", "/next")["actions"][-1]["id"]
    assert studio.post(f"/api/projects/{project}/undo", json={"action": first}).status_code == 409
    assert studio.put(f"/api/projects/{project}/votes", json={"version": 1}).status_code == 409
    assert studio.gold(project) == {1: "dog"}


def test_open_tabs_hear_what_others_do(studio, project):
    with studio.stream("GET", f"/api/projects/{project}/events") as stream:
        news = (json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: "))
        before = next(news)
        studio.judge(project, 1, "cat")
        after = next(news)
    assert (before["n_gold"], after["n_gold"]) == (0, 1)
    assert after["version"] > before["version"]


def test_a_fit_can_be_watched_and_cancelled(studio, project):
    endless = {"method": "ptbcc", "settings": {"tolerance": 0.0, "max_iterations": 10_000_000}}
    fit = studio.at(project, "POST", "/fits", json=endless)["id"]
    wait_until(lambda: len(studio.at(project, "GET")["job"]["steps"]) > 2)
    studio.at(project, "DELETE", f"/fits/{fit}")
    state = studio.settled(project)
    assert state["job"]["state"] == "cancelled"
    assert [one["state"] for one in state["fits"]] == ["done", "cancelled"]
    assert studio.fit(project, "mv")["job"]["state"] == "done"  # the studio goes on


def test_methods_are_compared(studio, project, tmp_path):
    for method in ("ptbcc", "ds"):
        studio.fit(project, method)
    found = studio.at(project, "GET", "/compare")
    results = [finegold.aggregate(tmp_path / "votes.csv", method) for method in ("mv", "ptbcc", "ds")]
    expected = [[float((one.label_codes == two.label_codes).mean()) for two in results] for one in results]
    assert found["shares"] == expected


def test_a_refit_replaces_the_earlier_fit_of_the_same_kind(studio, project):
    for settings in ({}, {"n_prototypes": 3}, {}):
        studio.fit(project, **settings)
    state = studio.settled(project)
    assert [(fit["method"], fit["settings"]) for fit in state["fits"]] == [
        ("mv", {}),
        ("ptbcc", {"n_prototypes": 3}),
        ("ptbcc", {}),
    ]
    assert state["shown"] == state["fits"][-1]["id"]


def test_a_pipeline_posts_votes_and_fetches_labels(studio):
    project = studio.good("POST", "/api/projects", json={"name": "judges"})["id"]
    votes = [(task, who, "yes" if task < 3 else "no") for task in range(6) for who in ("m1", "m2")]
    assert studio.post_votes(project, *votes) == {"accepted": 12, "waiting": 12}
    assert studio.fit(project, "mv")["n_waiting"] == 0
    studio.post_votes(project, ("7", "m3", "maybe"), (0, "m1", "no"))
    assert studio.fit(project, "mv")["job"]["state"] == "done"
    rows = studio.at(project, "GET", "/tasks", params={"sort": "task"})["rows"]
    assert [(row["task"], row["label"], row["n_votes"]) for row in rows[1:]] == [
        ("1", "yes", 2),
        ("2", "yes", 2),
        ("3", "no", 2),
        ("4", "no", 2),
        ("5", "no", 2),
        ("7", "maybe", 1),
    ]
    assert "tied" in rows[0]["doubts"]  # m1 changed their mind


def test_posted_votes_outlive_another_reading_of_the_file(studio, project):
    studio.post_votes(project, (0, "new", "owl"))
    for _ in range(2):
        assert studio.fit(project, "mv")["n_waiting"] == 0
        assert studio.at(project, "GET", "/tasks/0")["row"]["n_votes"] == 6
        assert studio.read(project)["n_waiting"] == 1


def test_exports_are_what_finegold_writes(shared, tmp_path):
    def save(name):
        answer = shared.get(f"/api/projects/{shared.project}/export/{name}")
        assert answer.headers["content-disposition"] == f'attachment; filename="{name}"'
        (tmp_path / name).write_bytes(answer.content)
        return tmp_path / name

    for kind in ("csv", "jsonl", "parquet"):
        assert read_truth(save(f"labels.{kind}")).truth[0] == "dog"
    assert finegold.read(save("votes.csv")).n_votes == 1500
    assert len(save("annotators.csv").read_text().splitlines()) == 31
    assert finegold.load(save("model.finegold")).annotations.n_votes == 1500
    report = shared.get(f"/api/projects/{shared.project}/export/report.html")
    assert "votes.csv" in report.text
    assert "sandbox" in report.headers["content-security-policy"]


def test_gold_outlives_another_reading_of_the_file(studio, project):
    studio.judge(project, 5, "owl")
    studio.read(project, repeated="last")
    assert studio.at(project, "GET", "/tasks", params={"judged": True})["rows"][0]["gold"] == "owl"


def test_the_project_file_keeps_everything_and_belongs_to_one_studio(tmp_path):
    with studio_in_thread(tmp_path) as studio:
        project = studio.read_sample(tmp_path)
        studio.fit(project)
        studio.judge(project, 3, "fox")
        before = studio.at(project, "GET")
        with pytest.raises(finegold.InputError, match="open in another studio"), studio_in_thread(tmp_path):
            pass
    with studio_in_thread(tmp_path) as studio:
        after = studio.at(project, "GET")
        assert {**after, "job": None} == {**before, "job": None}
        assert studio.gold(project) == {3: "fox"}
        assert studio.at(project, "GET", "/results")["quality"]["n_tasks"] == 300


def test_a_deleted_project_leaves_nothing_behind(studio, project):
    studio.judge(project, 3, "fox")
    model = b"task,cat,dog,fox,owl\n1,1,0,0,0\n"
    studio.at(project, "POST", "/predictions?name=bert.csv", content=model)
    studio.at(project, "DELETE")
    store = studio.services.store
    for table in ("project", "fit", "gold", "action", "posted", "predictions", "blob", "piece"):
        assert store.rows(f"SELECT * FROM {table}") == [], table
    assert studio.get(f"/api/projects/{project}").status_code == 404


def test_a_project_file_that_is_none_is_refused_and_an_empty_one_begun(tmp_path):
    path = tmp_path / "test.studio"
    path.write_bytes(b"no database")
    with pytest.raises(finegold.InputError, match="not a project of the studio"), studio_in_thread(tmp_path):
        pass
    assert path.read_bytes() == b"no database"
    path.write_bytes(b"")
    with studio_in_thread(tmp_path) as studio:
        assert studio.good("GET", "/api/projects") == []
