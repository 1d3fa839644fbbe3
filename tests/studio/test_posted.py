"""Votes that programs post: what is refused at the door, what counts as no vote, and how a batch is removed."""

import pytest

from tests.support.studio_helpers import refused

JSON = {"content-type": "application/json"}
BIG = [1580661436132757506 + i for i in range(6)]


def new_project(studio):
    return studio.good("POST", "/api/projects", json={"name": "posted"})["id"]


def fitted(studio, project):
    """-> task: (label, n_votes) after a fit"""
    state = studio.fit(project, "mv")
    assert state["job"]["state"] == "done", state["job"]
    rows = studio.at(project, "GET", "/tasks", params={"sort": "task", "most": 500})["rows"]
    return {row["task"]: (row["label"], row["n_votes"]) for row in rows}


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "1e999", str(2**70)])
@pytest.mark.parametrize("role", ["task", "annotator", "label"])
def test_a_number_that_is_none_is_refused_and_blocks_nothing(studio, role, value):
    project = new_project(studio)
    studio.post_votes(project, (1, "ann", "cat"))
    vote = {"task": "1", "annotator": '"bob"', "label": '"cat"'} | {role: value}
    body = '{"votes": [{' + ", ".join(f'"{name}": {said}' for name, said in vote.items()) + "}]}"
    answer = studio.post(f"/api/projects/{project}/votes", content=body, headers=JSON)
    refused(answer, 422, detail=f"votes.0.{role}")
    assert fitted(studio, project) == {"1": ("cat", 1)}


@pytest.mark.parametrize(
    ("path", "body"),
    [("gold", '{"task": NaN, "label": "cat"}'), ("fits", '{"method": "ptbcc", "settings": {"tolerance": NaN}}')],
)
def test_nan_is_refused_elsewhere_too(studio, project, path, body):
    assert studio.post(f"/api/projects/{project}/{path}", content=body, headers=JSON).status_code == 422


@pytest.mark.parametrize("name", ["", "  "])
@pytest.mark.parametrize("role", ["task", "annotator"])
def test_a_vote_without_a_task_or_an_annotator_is_refused(studio, role, name):
    project = new_project(studio)
    vote = {"task": 1, "annotator": "ann", "label": "cat"} | {role: name}
    assert studio.post(f"/api/projects/{project}/votes", json={"votes": [vote]}).status_code == 422


@pytest.mark.parametrize("label", ["", " ", "NA", "null", "NaN", None])
def test_a_label_that_is_no_vote_in_a_file_is_none_when_it_is_posted(studio, label):
    project = new_project(studio)
    studio.post_votes(project, (1, "ann", "cat"), (1, "bob", label), (2, "bob", label))
    assert fitted(studio, project) == {"1": ("cat", 1)}
    facts = studio.at(project, "GET")["fits"][0]["facts"]
    assert (facts["counts"]["missing"], facts["n_unlabelled"]) == (2, 1)


def test_a_batch_without_any_vote_does_not_block_a_project(studio, project):
    studio.post_votes(project, (0, "new", "NA"))
    assert len(fitted(studio, project)) == 300
    assert studio.at(project, "GET")["n_waiting"] == 0


def test_labels_that_the_reading_calls_missing_are_missing_in_posted_votes(studio):
    project = studio.upload("votes.csv", b"task,worker,label\n1,ann,cat\n2,ann,none\n")
    studio.read(project, missing=["none"])
    studio.post_votes(project, (1, "bob", "none"), (2, "bob", "NA"))
    assert fitted(studio, project) == {"1": ("cat", 1), "2": ("NA", 1)}


def test_one_name_in_several_ways_is_one_name_as_in_a_file(studio):
    project = new_project(studio)
    studio.post_votes(project, (7, "ann", 1), ("7", "bob", "1"), (7.0, "cyd", 1.0), (0.5, "ann", 1.5))
    assert fitted(studio, project) == {"7": ("1", 3), "0.5": ("1.5", 1)}


@pytest.mark.parametrize("ids", [BIG, [0, 1, 2]])
@pytest.mark.parametrize("from_file", [True, False])
def test_a_float_id_beside_integers_changes_no_other_id(studio, ids, from_file):
    if from_file:
        body = "task,worker,label\n" + "".join(f"{task},ann,cat\n" for task in ids)
        project = studio.upload("votes.csv", body.encode())
        studio.read(project)
    else:
        project = new_project(studio)
        studio.post_votes(project, *((task, "ann", "cat") for task in ids))
        fitted(studio, project)
    studio.post_votes(project, (0.5, "ann", "dog"), (ids[0], 2.5, "cat"))
    expected = {str(task): ("cat", 1) for task in ids} | {"0.5": ("dog", 1), str(ids[0]): ("cat", 2)}
    assert fitted(studio, project) == expected
    labels = studio.get(f"/api/projects/{project}/export/labels.csv").text
    assert {line.split(",")[0] for line in labels.splitlines()[1:]} == set(expected)
    studio.post_votes(project, (ids[1], "bob", "cat"))
    assert fitted(studio, project) == expected | {str(ids[1]): ("cat", 2)}


def batches(studio, project):
    """The number of votes of each batch, the newest first, whether they were taken in, and the ids of all batches."""
    found = studio.at(project, "GET", "/posted")
    return [(batch["n_votes"], batch["taken"]) for batch in found], [batch["id"] for batch in found]


def remove(studio, project, batch):
    studio.at(project, "DELETE", f"/posted/{batch}")
    state = studio.settled(project)
    assert state["job"]["state"] == "done", state["job"]
    return state


def test_a_batch_that_waits_is_removed(studio):
    project = new_project(studio)
    studio.post_votes(project, (1, "ann", "cat"))
    studio.post_votes(project, (1, "bob", "dog"), (2, "bob", "dog"))
    counted, (newest, _) = batches(studio, project)
    assert counted == [(2, False), (1, False)]
    assert remove(studio, project, newest)["n_waiting"] == 1
    assert fitted(studio, project) == {"1": ("cat", 1)}
    assert studio.delete(f"/api/projects/{project}/posted/{newest}").status_code == 404


def test_a_batch_that_was_taken_in_is_removed_from_the_votes(studio):
    project = new_project(studio)
    studio.post_votes(project, (1, "ann", "cat"))
    studio.post_votes(project, (1, "ann", "dog"), (2, "bob", "dog"))
    assert fitted(studio, project) == {"1": ("dog", 1), "2": ("dog", 1)}
    studio.post_votes(project, (3, "ann", "cat"))
    state = remove(studio, project, batches(studio, project)[1][1])
    assert [fit["method"] for fit in state["fits"]] == ["mv"]
    assert batches(studio, project)[0] == [(1, False), (1, True)]
    assert fitted(studio, project) == {"1": ("cat", 1), "3": ("cat", 1)}


def test_a_batch_is_removed_from_the_votes_of_a_file(studio, project):
    studio.post_votes(project, (0, "new", "owl"))
    assert fitted(studio, project)["0"][1] == 6
    remove(studio, project, batches(studio, project)[1][0])
    assert fitted(studio, project)["0"][1] == 5


def test_the_only_batch_of_a_project_is_removed(studio):
    project = new_project(studio)
    studio.post_votes(project, (1, "ann", "cat"))
    fitted(studio, project)
    state = remove(studio, project, batches(studio, project)[1][0])
    assert (state["shown"], state["base"], state["fits"]) == (None, None, [])
    studio.post_votes(project, (2, "ann", "cat"))
    assert fitted(studio, project) == {"2": ("cat", 1)}


def test_nobody_removes_a_batch_of_another_project(studio):
    first, second = new_project(studio), new_project(studio)
    studio.post_votes(first, (1, "ann", "cat"))
    (batch,) = batches(studio, first)[1]
    assert studio.delete(f"/api/projects/{second}/posted/{batch}").status_code == 404
    assert batches(studio, first)[1] == [batch]
