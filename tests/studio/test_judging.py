"""Judging: the queue, what people say, undo, blind reviewers, several at once; nothing is ever deleted."""

import threading

import pytest

from tests.studio.worlds import CLASSES, truths, votes
from tests.support.studio_helpers import refused


@pytest.fixture
def project(studio):
    return studio.open("votes.csv", votes(truths(60)).encode())


def names(queue):
    return [task["name"] for task in queue["tasks"]]


def test_the_queue_begins_with_the_least_certain_and_hides_votes_until_a_task_is_judged(
    studio, project
):
    queue = studio.next(project, most=100)
    rows = studio.at(project, "GET", "/tasks?sort=confidence&most=60")["rows"]
    assert queue["left"] == 60
    assert set(names(queue)[:10]) <= {row["name"] for row in rows[:25]}
    task = queue["tasks"][0]
    assert task["content"][0]["text"] == f"What somebody wrote as post {task['name']}"
    assert (task["votes"], task["label"]) == ([], "")
    studio.judge(project, task["name"], "hateful")
    seen = studio.at(project, "GET", f"/tasks/{task['at']}")
    assert len(seen["votes"]) == 4
    assert (seen["truth"], seen["judged_by"]) == ("hateful", "")
    studio.at(project, "PATCH", json={"blind": False})
    assert studio.next(project)["tasks"][0]["votes"]


def test_what_was_judged_is_learned_by_the_next_fit_and_counted(studio, project):
    for _ in range(3):
        studio.judge(project, studio.next(project)["tasks"][0]["name"], "hateful")
    queue = studio.next(project)
    assert (queue["judged"], queue["to_learn"], queue["left"]) == (3, 3, 57)
    assert studio.at(project, "GET")["n_new_truths"] == 3
    studio.fit(project)
    assert studio.next(project)["to_learn"] == studio.at(project, "GET")["n_new_truths"] == 0
    labels = studio.labels(project)
    assert all(labels[task] == "hateful" for task in studio.truths(project))


def test_every_action_is_undone_by_its_author_and_stays_in_the_log(studio, project):
    first, second = names(studio.next(project, "ann", most=2))
    studio.judge(project, first, "hateful", who="ann")
    studio.judge(project, second, None, who="ann", kind="skip")
    other = studio.next(project, "ann")["tasks"][0]["name"]
    studio.judge(project, other, None, who="ann", kind="send_back")
    queue = studio.next(project, "ann")
    assert (queue["skipped"], queue["sent_back"]) == (1, 1)
    assert [action["kind"] for action in queue["actions"]] == ["send_back", "skip", "truth"]
    undo = f"/api/projects/{project}/undo"
    answer = studio.post(undo, json={}, headers={"x-finegold-reviewer": "bob"})
    refused(answer, 409, "There is nothing to undo")
    for task in (other, second, first):
        done = studio.post(undo, json={}, headers={"x-finegold-reviewer": "ann"}).json()
        assert done["action"]["task"] == task
    queue = studio.next(project, "ann")
    assert [queue[name] for name in ("skipped", "sent_back", "judged")] == [0, 0, 0]
    rows = studio.services.store.rows("SELECT undone FROM judgement WHERE project = ?", project)
    assert [row["undone"] for row in rows] == [1, 1, 1]


def test_a_truth_that_changed_meanwhile_is_not_overwritten_and_not_undone(studio, project):
    task = studio.next(project)["tasks"][0]["name"]
    mine = studio.judge(project, task, "hateful", who="ann", before=None).json()["action"]
    answer = studio.judge(project, task, "offensive", who="bob", before=None)
    assert refused(answer, 409, "This task was judged by somebody else")["current"] == "hateful"
    assert studio.judge(project, task, "offensive", who="bob", before="hateful").status_code == 200
    headers = {"x-finegold-reviewer": "ann"}
    answer = studio.post(f"/api/projects/{project}/undo", json={"action": mine}, headers=headers)
    refused(answer, 409, "The truth has changed")
    assert studio.truths(project) == {task: "offensive"}
    studio.judge(project, task, None, who="bob")
    assert studio.truths(project) == {}


def test_skipped_tasks_come_last_and_tasks_sent_back_wait_for_more_votes(studio, project):
    first = studio.next(project)["tasks"][0]["name"]
    studio.judge(project, first, None, kind="skip")
    queue = studio.next(project, most=100)
    assert names(queue)[-1] == first
    second = names(queue)[0]
    studio.judge(project, second, None, kind="send_back")
    assert second not in names(studio.next(project, most=100))
    exported = studio.get(f"/api/projects/{project}/export/sent_back.csv").text
    assert exported.splitlines()[1].startswith(f"{second},")
    rows = f"task,annotator,label\n{second},zoe,hateful\n{second},yan,offensive\n"
    studio.add(project, "more.csv", rows.encode())
    assert second in names(studio.next(project, most=100))


def test_two_reviewers_at_once_get_different_tasks_and_no_judgement_is_lost(studio, project):
    done, lock = {}, threading.Lock()

    def work(who):
        for _ in range(15):
            task = studio.next(project, who)["tasks"][0]["name"]
            assert studio.judge(project, task, "hateful", who=who).status_code == 200
            with lock:
                assert task not in done, f"{task} was judged by {done.get(task)} and {who}"
                done[task] = who

    threads = [threading.Thread(target=work, args=(who,)) for who in ("ann", "bob", "cyd")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 45
    rows = studio.at(project, "GET", "/people")["people"]
    assert {row["name"]: row["judged"] for row in rows} == {"ann": 15, "bob": 15, "cyd": 15}
    found = studio.at(project, "GET", "/judgements")
    assert {row["task"]: row["reviewer"] for row in found} == done


def test_several_tasks_are_judged_sent_back_and_commented_at_once(studio, project):
    tasks = [3, 7, 11]
    studio.judge(project, tasks, "offensive")
    assert studio.truths(project) == dict.fromkeys(tasks, "offensive")
    studio.judge(project, [20, 21], None, kind="send_back")
    studio.judge(project, [20], None, kind="note", text="The picture is missing.", who="ann")
    studio.judge(project, [20], None, kind="note", text="It came back.", who="bob")

    def listed(state):
        rows = studio.at(project, "GET", f"/tasks?state={state}&sort=task&most=500")["rows"]
        return [row["name"] for row in rows]

    assert listed("judged") == tasks
    assert listed("sent back") == [20, 21]
    assert listed("commented") == [20]
    row = studio.at(project, "GET", "/tasks?state=commented")["rows"][0]
    assert row["comment"] == "It came back."
    comments = studio.at(project, "GET", f"/tasks/{row['at']}")["comments"]
    assert [(one["reviewer"], one["text"]) for one in comments] == [
        ("ann", "The picture is missing."),
        ("bob", "It came back."),
    ]
    refused(studio.judge(project, 20, None, kind="note", text=" "), 422, "The comment is blank")
    refused(studio.judge(project, 999, "hateful"), 404, "There is no such task")
    refused(studio.judge(project, 1, "nothing"), 422, "There is no such class", "hateful")


def test_filters_take_several_values_and_mean_any_of_them(studio, project):
    every = studio.at(project, "GET", "/tasks?most=500")["rows"]
    assert len(every) == 60
    for query, fits in {
        "label=0&label=2": lambda row: row["label"] in (CLASSES[0], CLASSES[2]),
        "mark=tied&mark=unanimous": lambda row: {"tied", "unanimous"} & {*row["marks"]},
        "confidence_to=0.6": lambda row: row["confidence"] <= 0.6,
        "search=post 1": lambda row: "post 1" in row["text"],
    }.items():
        found = {
            row["name"] for row in studio.at(project, "GET", f"/tasks?most=500&{query}")["rows"]
        }
        assert found == {row["name"] for row in every if fits(row)}, query
    first = studio.at(project, "GET", "/tasks?sort=task&most=20&first=20")
    assert (first["total"], [row["name"] for row in first["rows"]]) == (60, list(range(21, 41)))


def test_an_annotator_is_shown_with_what_their_votes_say(studio, project):
    rows = studio.at(project, "GET", "/annotators?sort=n_votes&descending=true")["rows"]
    assert sum(row["n_votes"] for row in rows) == 240
    labels = studio.labels(project)
    exported = studio.get(f"/api/projects/{project}/export/votes.csv").text.splitlines()[1:]
    who = rows[0]
    own = [row.split(",") for row in exported if row.split(",")[1] == who["annotator"]]
    wrong = [row for row in own if labels[int(row[0])] != row[2]]
    seen = studio.at(project, "GET", f"/annotators/{who['at']}")
    assert (seen["row"]["n_votes"], seen["n_mistakes"]) == (len(own), len(wrong))
    page = studio.at(project, "GET", f"/tasks?mistakes_of={who['at']}&most=500")
    assert {row["task"] for row in page["rows"]} == {row[0] for row in wrong}
    assert studio.at(project, "GET", "/annotators?search=zzz")["rows"] == []
    # truths of chosen tasks say nothing of a person, random ones do
    studio.judge(project, list(range(1, 31)), "hateful")
    path = "/annotators?sort=n_votes&descending=true"
    assert studio.at(project, "GET", path)["rows"][0]["n_known"] == 0
    sample = studio.at(project, "POST", "/samples", json={"n": 20})["id"]
    checked = {task["task"] for task in studio.next(project, sample=sample, most=100)["tasks"]}
    studio.check(project, sample, lambda task: "hateful")
    row = studio.at(project, "GET", path)["rows"][0]
    mine = [vote for vote in own if vote[0] in checked]
    right = [vote for vote in mine if vote[2] == "hateful"]
    assert (row["n_known"], row["right"]) == (len(mine), len(right))
    assert row["low"] <= len(right) / len(mine) <= row["high"]


def test_the_history_tells_fits_measurements_and_what_people_did(studio, project):
    studio.judge(project, [1, 2, 3], "hateful", who="ann")
    sample = studio.at(project, "POST", "/samples", json={"n": 5})["id"]
    studio.check(project, sample, lambda task: "hateful", "bob")
    studio.fit(project)
    events = studio.at(project, "GET", "/history")
    said = [f"{event['who']} {event['words']}".strip() for event in events]
    assert "ann judged 3 tasks" in said
    assert "bob checked 5 tasks" in said
    assert any(words.startswith("A random sample of 5 tasks was drawn") for words in said)
    assert any("of its labels are right" in words for words in said)
    assert [event["at"] for event in events] == sorted(
        (event["at"] for event in events), reverse=True
    )


def test_the_sheet_has_one_row_per_task_and_says_who_decided_what(studio, project):
    studio.judge(project, 3, "hateful", who="ann")
    studio.judge(project, 4, None, kind="send_back", who="bob")
    studio.judge(project, 5, None, kind="note", text="=HYPERLINK(evil)")
    text = studio.get(f"/api/projects/{project}/export/sheet.csv").text
    head, *rows = [line.split(",") for line in text.splitlines()]
    assert len(rows) == 60
    at = {name: place for place, name in enumerate(head)}
    by_task = {row[0]: row for row in rows}
    for task, decision, who in (
        ("3", "judged", "ann"),
        ("4", "sent back", "bob"),
        ("6", "from the votes", ""),
    ):
        assert (by_task[task][at["decision"]], by_task[task][at["reviewer"]]) == (decision, who)
    assert by_task["3"][at["label"]] == "hateful"
    # cells that a spreadsheet would run are escaped
    assert by_task["5"][at["comment"]] == "'=HYPERLINK(evil)"


def test_a_project_changes_under_its_version_and_is_deleted_with_all_that_belongs_to_it(
    studio, project
):
    state = studio.at(project, "GET")
    changed = studio.at(project, "PATCH", json={"name": "Posts", "version": state["version"]})
    assert changed["name"] == "Posts"
    answer = studio.patch(
        f"/api/projects/{project}", json={"name": "x", "version": state["version"]}
    )
    refused(answer, 409, "The project has changed")
    studio.judge(project, 1, "hateful")
    studio.at(project, "POST", "/samples", json={"n": 5})
    studio.good("DELETE", f"/api/projects/{project}")
    refused(studio.get(f"/api/projects/{project}"), 404, "There is no such project")
    store = studio.services.store
    for table in ("source", "fit", "judgement", "sample"):
        assert store.rows(f"SELECT 1 FROM {table} WHERE project = ?", project) == []


@pytest.mark.parametrize(
    "path", ["quality", "classes", "annotators", "agreement", "reading", "record"]
)
def test_sections_are_those_of_the_report_without_scripts_and_styles(studio, project, path):
    text = studio.get(f"/api/projects/{project}/sections/{path}").text
    assert text.lstrip().startswith("<section")
    assert "<script" not in text
    assert "style=" not in text
    refused(
        studio.get(f"/api/projects/{project}/sections/nothing"), 404, "There is no such section"
    )
