"""How many labels are right: one number, measured on random tasks, that holds after each fit and stands everywhere."""

import random

import numpy as np
import pytest

from tests.studio.worlds import CLASSES, share_right, truths, votes
from tests.support.studio_helpers import refused


@pytest.fixture
def world(studio):
    """A project of 300 posts, and their truths."""
    truth = truths(300)
    return studio.open("votes.csv", votes(truth).encode()), truth


def draw(studio, project, n=60, **more):
    return studio.at(project, "POST", "/samples", json={"n": n, **more})["id"]


def judge_next(studio, project, n, answer, who=""):
    for _ in range(n):
        task = studio.next(project, who)["tasks"][0]["name"]
        assert studio.judge(project, task, answer(task), who=who).status_code == 200


def measured(studio, project):
    return studio.at(project, "GET", "/summary")["measured"]


@pytest.mark.parametrize(("seed", "wrong"), [(1, 0.0), (2, 0.0), (3, 0.1), (4, 0.1)])
def test_in_a_simulated_week_the_measured_share_holds_after_each_refit(studio, seed, wrong):
    """Judging doubtful tasks made an expected share fall while the true one rose. Truths are right, or random in 10 %."""
    truth, source = truths(300, seed), random.Random(seed)
    project = studio.open("votes.csv", votes(truth, seed).encode())

    def answer(task):
        return source.choice(CLASSES) if source.random() < wrong else truth[task]

    sample = draw(studio, project, 100, auditors=["ann", "bob"], seed=seed)
    for who in ("ann", "bob"):
        studio.check(project, sample, answer, who)
    for one in studio.at(project, "GET", "/samples")[0]["disagreements"]:
        studio.judge(project, one["task"], truth[one["task"]], kind="settle", sample=sample)
    shares = []
    for day in range(5):
        if day:
            judge_next(studio, project, 25, answer, "ann")
            studio.fit(project)
        said, true = measured(studio, project), share_right(studio.labels(project), truth)
        assert said["low"] <= true <= said["high"], (day, true, said)
        assert said["high"] - said["low"] < 0.35
        assert said["is_carried"] is (day > 0)
        shares.append((true, said["estimate"]))
    true, estimates = zip(*shares, strict=True)
    assert true[-1] > true[0] + 0.05
    # right truths do not make the number fall, but for a label or two of the sample
    assert wrong or all(np.diff(estimates) > -0.03), estimates


def test_nothing_is_calibrated_on_truths_of_tasks_that_were_chosen(studio, world):
    project, truth = world
    judge_next(studio, project, 40, truth.get)
    studio.fit(project)
    fit = studio.at(project, "GET", "/fits")[-1]
    assert fit["facts"]["truths"] == 40
    assert not [note for note in fit["facts"]["notes"] if "temperature" in note]
    assert studio.services.loaded.shown(project).result.temperature == 1.0


def test_where_nothing_is_measured_no_share_is_said_and_votes_are_counted(studio, world):
    project, _ = world
    summary = studio.at(project, "GET", "/summary")
    assert summary["measured"] is None
    assert "not measured" in summary["headline"]
    assert "%" not in " ".join([summary["headline"], *summary["sentences"]])
    # counted here, by the votes as they are exported
    rows = studio.get(f"/api/projects/{project}/export/votes.csv").text.splitlines()[1:]
    said = {}
    for row in rows:
        task, _, label = row.split(",")[:3]
        said.setdefault(task, []).append(label)
    counts = [sorted(map(labels.count, set(labels)), reverse=True) for labels in said.values()]
    assert summary["marks"]["unanimous"] == sum(len(each) == 1 for each in counts)
    assert summary["marks"]["tied"] == sum(len(each) > 1 and each[0] == each[1] for each in counts)


def test_the_measured_number_is_the_same_on_every_page_and_in_every_export(studio, world):
    project, truth = world
    studio.check(project, draw(studio, project), truth.get)
    judge_next(studio, project, 10, truth.get)
    studio.fit(project)
    said = measured(studio, project)
    share = f"{100 * said['estimate']:.1f} %"
    ends = [f"{100 * said[name]:.1f} %" for name in ("low", "high")]
    assert studio.at(project, "GET", "/fits")[-1]["facts"]["measured"] == said
    summary = studio.at(project, "GET", "/summary")
    assert summary["headline"].startswith(share)
    section = studio.get(f"/api/projects/{project}/sections/quality").text
    for text in (
        " ".join(summary["sentences"]),
        *(
            studio.get(f"/api/projects/{project}/export/{name}").text
            for name in ("report.html", "certificate.html")
        ),
        section,
    ):
        plain = text.replace("\N{NO-BREAK SPACE}", " ").replace("\N{NARROW NO-BREAK SPACE}", " ")
        assert all(end in plain for end in ends), (ends, plain[:400])
    assert "check 50 tasks" not in section
    assert said["is_carried"]
    assert "computed again since" in " ".join(said["sentences"])


def test_a_sample_measures_labels_of_tasks_that_were_there_and_says_how_many_came_later(
    studio, world
):
    project, truth = world
    studio.check(project, draw(studio, project), truth.get)
    more = dict.fromkeys(range(301, 341), "offensive")
    studio.add(project, "more.csv", votes(more, 5).encode())
    said = measured(studio, project)
    assert (said["n_tasks"], said["n_new"]) == (300, 40)
    assert "40 tasks came later" in " ".join(said["sentences"])


def test_a_sample_never_asks_for_more_tasks_than_there_are(studio):
    """It said "with 50 more checks" where 20 tasks were left."""
    project = studio.open("votes.csv", votes(truths(40)).encode())
    draw(studio, project, n=30)
    sample = studio.at(project, "POST", "/samples", json={"n": 500})
    assert sample["n"] <= 40
    assert sample["next_step"] == f"Check {sample['n'] - sample['done']} more tasks."


def test_answers_of_a_sample_teach_nothing_and_are_asked_only_once(studio, world):
    project, truth = world
    sample = draw(studio, project)
    before = studio.labels(project)
    checked = set()
    while tasks := studio.next(project, sample=sample)["tasks"]:
        checked.add(tasks[0]["name"])
        studio.judge(project, tasks[0]["name"], truth[tasks[0]["name"]], sample=sample)
    studio.fit(project)
    assert studio.labels(project) == before
    assert studio.truths(project) == {}
    # Judging passes over what is known. These truths are then learned, as they would be without a sample.
    asked = set()
    for _ in range(60):
        task = studio.next(project)["tasks"][0]["name"]
        asked.add(task)
        studio.judge(project, task, truth[task])
    assert not asked & checked
    assert asked < studio.truths(project).keys() <= asked | checked


def test_another_sample_keeps_the_first_and_both_count(studio, world):
    project, truth = world
    first = draw(studio, project, 40)
    studio.check(project, first, truth.get)
    one = measured(studio, project)
    second = draw(studio, project, 40)
    assert [each["id"] for each in studio.at(project, "GET", "/samples")] == [second, first]
    # until it is over, the first is what is known
    assert measured(studio, project) == one
    n_asked = studio.check(project, second, truth.get)
    both = measured(studio, project)
    assert both["samples"] == [first, second]
    assert both["n_checks"] == 40 + n_asked <= 80
    assert both["high"] - both["low"] < one["high"] - one["low"]
    exported = studio.get(f"/api/projects/{project}/export/checks.csv").text.splitlines()
    assert len(exported) == 1 + 40 + n_asked


def test_the_most_confident_labels_are_accepted_filtered_exported_and_leave_the_queue(studio):
    truth = truths(400, 9)
    project = studio.open("votes.csv", votes(truth, 9, right=0.93, per_task=5).encode())
    sample = draw(studio, project, 120)
    studio.check(project, sample, truth.get)
    view = studio.at(project, "GET", "/samples")[0]
    n = view["acceptable"]
    assert n > 100
    done = studio.at(project, "POST", f"/samples/{sample}/accept")
    assert done["accepted"] == n
    page = studio.at(project, "GET", "/tasks?state=accepted&most=500&sort=confidence")
    surest = studio.at(project, "GET", f"/tasks?sort=confidence&descending=true&most={n}")
    assert page["total"] == n
    assert {row["task"] for row in page["rows"]} == {row["task"] for row in surest["rows"]}
    wrong = sum(row["label"] != truth[row["name"]] for row in page["rows"])
    assert wrong <= 0.05 * n
    for name in ("labels.csv", "sheet.csv"):
        rows = studio.get(f"/api/projects/{project}/export/{name}").text.splitlines()
        column = rows[0].split(",").index("accepted")
        assert sum(row.split(",")[column] == "true" for row in rows[1:]) == n
    accepted = {row["name"] for row in page["rows"]}
    checked = {
        row["name"] for row in studio.at(project, "GET", "/tasks?state=checked&most=500")["rows"]
    }
    queue = studio.next(project, most=100)
    assert queue["left"] == 400 - len(accepted | checked)
    assert not {task["name"] for task in queue["tasks"]} & accepted
    studio.good("DELETE", f"/api/projects/{project}/accepted")
    assert studio.at(project, "GET", "/tasks?state=accepted")["total"] == 0
    refused(studio.delete(f"/api/projects/{project}/accepted/x"), 404)


def test_several_people_share_a_sample_disagree_and_the_lead_settles(studio, world):
    project, truth = world
    sample = draw(studio, project, 20, auditors=["ann", "bob"], overlap=0.5)
    view = studio.at(project, "GET", "/samples")[0]
    assert [(one["name"], one["total"]) for one in view["auditors"]] == [("ann", 15), ("bob", 15)]
    assert studio.next(project, "eve", sample=sample)["tasks"] == []
    studio.check(project, sample, truth.get, "ann")
    wrong = lambda task: next(each for each in CLASSES if each != truth[task])  # noqa: E731
    studio.check(project, sample, wrong, "bob")
    view = studio.at(project, "GET", "/samples")[0]
    assert (view["shared"], view["agreed"], len(view["disagreements"])) == (10, 0, 10)
    assert measured(studio, project) is None
    for one in view["disagreements"]:
        assert one["labels"] == {"ann": truth[one["task"]], "bob": wrong(one["task"])}
        studio.judge(project, one["task"], truth[one["task"]], kind="settle", sample=sample)
    said = measured(studio, project)
    assert (said["n_shared"], said["n_apart"]) == (10, 10)
    assert said["high"] > said["estimate"] + 0.1


def test_a_sample_that_ends_early_allows_for_any_answer_and_accepts_no_label(studio, world):
    project, truth = world
    sample = draw(studio, project, 20)
    refused(
        studio.post(f"/api/projects/{project}/samples/{sample}/close"),
        409,
        "Nothing is checked yet",
    )
    for n in range(10):
        task = studio.next(project, sample=sample)["tasks"][0]["name"]
        studio.judge(project, task, truth[task], sample=sample)
        if n == 4:
            undone = studio.at(project, "POST", "/undo", json={"sample": sample})
            assert undone["action"]["task"] == task
            assert studio.next(project, sample=sample)["tasks"][0]["name"] == task
    assert measured(studio, project) is None
    studio.at(project, "POST", f"/samples/{sample}/close")
    said = measured(studio, project)
    assert said["high"] - said["low"] > 0.4
    answer = studio.post(f"/api/projects/{project}/samples/{sample}/accept")
    refused(answer, 409, "No label can be accepted by this sample")


def test_votes_and_labels_are_hidden_while_a_sample_is_checked_also_from_the_lead(studio, world):
    project, _ = world
    studio.at(project, "PATCH", json={"blind": False})
    task = studio.next(project, sample=draw(studio, project))["tasks"][0]
    assert (task["votes"], task["tally"], task["label"], task["marks"]) == ([], [], "", [])
    assert task["content"]


def test_a_task_that_was_not_drawn_or_is_somebody_elses_is_refused(studio, world):
    project, truth = world
    sample = draw(studio, project, 20, auditors=["ann", "bob"], overlap=0)
    drawn = [studio.next(project, who, sample=sample, most=100)["tasks"] for who in ("ann", "bob")]
    assert len({task["name"] for tasks in drawn for task in tasks}) == 20
    other = drawn[1][0]["name"]
    refused(
        studio.judge(project, other, truth[other], who="ann", sample=sample),
        404,
        "This task is not yours to check",
    )
    refused(
        studio.judge(project, other, "cat", who="bob", sample=sample), 422, "There is no such class"
    )
    refused(studio.get(f"/api/projects/{project}/next?sample=999"), 404, "There is no such sample")
