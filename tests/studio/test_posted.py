"""Votes that programs post: what is refused at the door, what counts as no vote, and how a batch is removed."""

import pytest

from tests.support.studio_helpers import refused

JSON = {"content-type": "application/json"}
BIG = [1580661436132757506 + i for i in range(6)]
NO_NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", str(2**70))


@pytest.fixture(name="posted")
def project_of_posted_votes(studio):
    return studio.good("POST", "/api/projects", json={"name": "posted"})["id"]


def fitted(studio, project):
    """-> task: (label, n_votes) after a fit"""
    state = studio.fit(project, "mv")
    assert state["job"]["state"] == "done", state["job"]
    rows = studio.at(project, "GET", "/tasks", params={"sort": "task", "most": 500})["rows"]
    return {row["task"]: (row["label"], row["n_votes"]) for row in rows}


def test_what_is_no_name_is_refused_and_blocks_nothing(studio, posted):
    assert studio.post_votes(posted, (1, "ann", "cat")) == {"accepted": 1, "waiting": 1}
    wrong = [(role, value) for role in ("task", "annotator", "label") for value in NO_NUMBERS]
    wrong += [(role, blank) for role in ("task", "annotator") for blank in ('""', '"  "')]
    for role, value in wrong:
        vote = {"task": "1", "annotator": '"bob"', "label": '"cat"'} | {role: value}
        body = (
            '{"votes": [{' + ", ".join(f'"{name}": {each}' for name, each in vote.items()) + "}]}"
        )
        answer = studio.post(f"/api/projects/{posted}/votes", content=body, headers=JSON)
        refused(answer, 422, detail=f"votes.0.{role}")
    assert fitted(studio, posted) == {"1": ("cat", 1)}
    elsewhere = {"gold": '{"task": NaN, "label": "cat"}'}
    elsewhere["fits"] = '{"method": "ptbcc", "settings": {"tolerance": NaN}}'
    for path, body in elsewhere.items():
        assert (
            studio.post(f"/api/projects/{posted}/{path}", content=body, headers=JSON).status_code
            == 422
        )


@pytest.mark.parametrize("label", ["", " ", "NA", "null", "NaN", None])
def test_a_label_that_is_no_vote_in_a_file_is_none_when_it_is_posted(studio, posted, label):
    studio.post_votes(posted, (1, "ann", "cat"), (1, "bob", label), (2, "bob", label))
    assert fitted(studio, posted) == {"1": ("cat", 1)}
    facts = studio.at(posted, "GET")["fits"][0]["facts"]
    assert (facts["counts"]["missing"], facts["n_unlabelled"]) == (2, 1)


def test_labels_that_the_reading_calls_missing_are_missing_in_posted_votes(studio):
    project = studio.upload("votes.csv", b"task,worker,label\n1,ann,cat\n2,ann,none\n")
    studio.read(project, missing=["none"])
    studio.post_votes(project, (1, "bob", "none"))  # a batch without any vote blocks nothing
    assert fitted(studio, project) == {"1": ("cat", 1)}
    assert studio.at(project, "GET")["n_waiting"] == 0
    studio.post_votes(project, (2, "bob", "NA"))
    assert fitted(studio, project) == {"1": ("cat", 1), "2": ("NA", 1)}


def test_one_name_in_several_ways_is_one_name_as_in_a_file(studio, posted):
    studio.post_votes(
        posted, (7, "ann", 1), ("7", "bob", "1"), (7.0, "cyd", 1.0), (0.5, "ann", 1.5)
    )
    assert fitted(studio, posted) == {"7": ("1", 3), "0.5": ("1.5", 1)}


@pytest.mark.parametrize("ids", [BIG, [0, 1, 2]])
@pytest.mark.parametrize("from_file", [True, False])
def test_a_float_id_beside_integers_changes_no_other_id(studio, posted, ids, from_file):
    project = posted
    if from_file:
        body = "task,worker,label\n" + "".join(f"{task},ann,cat\n" for task in ids)
        project = studio.upload("votes.csv", body.encode())
        studio.read(project)
    else:
        studio.post_votes(project, *((task, "ann", "cat") for task in ids))
        fitted(studio, project)
    studio.post_votes(project, (0.5, "ann", "dog"), (ids[0], 2.5, "cat"))
    expected = {str(task): ("cat", 1) for task in ids} | {
        "0.5": ("dog", 1),
        str(ids[0]): ("cat", 2),
    }
    assert fitted(studio, project) == expected
    labels = studio.get(f"/api/projects/{project}/export/labels.csv").text
    assert {line.split(",")[0] for line in labels.splitlines()[1:]} == set(expected)
    studio.post_votes(project, (ids[1], "bob", "cat"))
    assert fitted(studio, project) == expected | {str(ids[1]): ("cat", 2)}


def batches(studio, project):
    """The number of votes of each batch, the newest first, and whether they were taken in; and the ids of all."""
    found = studio.at(project, "GET", "/posted")
    return [(batch["n_votes"], batch["taken"]) for batch in found], [batch["id"] for batch in found]


def remove(studio, project, batch):
    studio.at(project, "DELETE", f"/posted/{batch}")
    state = studio.settled(project)
    assert state["job"]["state"] == "done", state["job"]
    return state


def test_batches_are_removed_those_that_wait_and_those_that_were_taken_in(studio, posted):
    studio.post_votes(posted, (1, "ann", "cat"))
    studio.post_votes(posted, (1, "bob", "dog"), (2, "bob", "dog"))
    counted, (newest, _) = batches(studio, posted)
    assert counted == [(2, False), (1, False)]
    other = studio.good("POST", "/api/projects", json={"name": "other"})["id"]
    assert (
        studio.delete(f"/api/projects/{other}/posted/{newest}").status_code == 404
    )  # not a batch of that project
    assert remove(studio, posted, newest)["n_waiting"] == 1
    assert fitted(studio, posted) == {"1": ("cat", 1)}
    assert studio.delete(f"/api/projects/{posted}/posted/{newest}").status_code == 404
    studio.post_votes(posted, (1, "ann", "dog"), (2, "bob", "dog"))
    assert fitted(studio, posted) == {"1": ("dog", 1), "2": ("dog", 1)}  # ann changed her mind
    studio.post_votes(posted, (3, "ann", "cat"))
    state = remove(studio, posted, batches(studio, posted)[1][1])
    assert [fit["method"] for fit in state["fits"]] == ["mv"]
    assert batches(studio, posted)[0] == [(1, False), (1, True)]
    assert fitted(studio, posted) == {"1": ("cat", 1), "3": ("cat", 1)}
    for batch in batches(studio, posted)[1]:
        state = remove(studio, posted, batch)
    assert (state["shown"], state["base"], state["fits"]) == (None, None, [])
    studio.post_votes(posted, (2, "ann", "cat"))
    assert fitted(studio, posted) == {"2": ("cat", 1)}


def test_a_batch_is_removed_from_the_votes_of_a_file(studio, project):
    studio.post_votes(project, (0, "new", "owl"))
    assert fitted(studio, project)["0"][1] == 6
    remove(studio, project, batches(studio, project)[1][0])
    assert fitted(studio, project)["0"][1] == 5
