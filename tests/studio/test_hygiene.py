"""What was noticed while votes were read, and the choice of spellings, in the studio's API."""

import pytest

from tests.support.studio_helpers import studio_in_thread

DIRTY = "task,worker,label\n" + "".join(
    f"t{i},{worker},{label}\n"
    for i in range(6)
    for worker, label in (("ann", "cat"), ("bob", "Cat"), ("eve", "NA" if i < 2 else "dog"))
)


@pytest.fixture
def studio(tmp_path):
    (tmp_path / "v.csv").write_text(DIRTY)
    with studio_in_thread(tmp_path) as client:
        yield client


def opened(studio, **reading):
    project = studio.good("POST", "/api/projects", json={"file": "v.csv"})["id"]
    return project, read(studio, project, **reading)


def read(studio, project, **reading):
    studio.good("PUT", f"/api/projects/{project}/votes", json=reading)
    return facts_of(studio.settled(project))


def facts_of(state):
    assert state["job"]["state"] == "done", state["job"]
    return next(fit["facts"] for fit in state["fits"] if fit["id"] == state["base"])


def classes(facts):
    return dict(facts["hygiene"]["classes"])


def post(studio, project, *votes):
    named = [dict(zip(("task", "annotator", "label"), vote, strict=True)) for vote in votes]
    studio.good("POST", f"/api/projects/{project}/votes", json={"votes": named})


def test_findings_are_part_of_the_project_before_any_fit(studio):
    _, facts = opened(studio)
    found = facts["hygiene"]
    assert found["no_vote"] == {"NA": 2}
    assert classes(facts) == {"cat": 6, "Cat": 6, "dog": 4}
    assert [(one["kind"], one["groups"]) for one in found["findings"]] == [("spellings", [[["Cat", 6], ["cat", 6]]])]


def test_warnings_have_no_words_of_the_command_line(studio):
    project, _ = opened(studio)
    said = studio.settled(project)["job"]["warnings"]
    assert said == ["3 classes look like 2: Cat (6) = cat (6)"]


def test_errors_have_no_words_of_the_command_line_either(studio, tmp_path):
    (tmp_path / "v.csv").write_text("task,worker,label\n" + "".join(f"t{i},ann,x{i}\n" for i in range(10_050)))
    project = studio.good("POST", "/api/projects", json={"file": "v.csv"})["id"]
    studio.good("PUT", f"/api/projects/{project}/votes", json={})
    job = studio.settled(project)["job"]
    assert job["state"] == "failed"
    assert (
        job["message"] == 'v.csv has 10,050 classes in the column "label", more than 10,000, which is the limit; if '
        "you trust the file, raise the limit: FINEGOLD_MAX_CLASSES=N in the environment"
    )


def test_normalise_is_kept_and_used_for_posted_votes(studio):
    project, facts = opened(studio, normalise=True)
    assert classes(facts) == {"Cat": 12, "dog": 4}
    post(studio, project, ("t9", "zoe", "CAT"), ("t9", "yan", "Dog."), ("t9", "xi", "bird"), ("t8", "xi", "Bird"))
    state = studio.fit(project, "mv")
    assert classes(facts_of(state)) == {"Cat": 13, "dog": 5, "bird": 2}
    assert state["reading"]["normalise"] is True


def test_an_alias_is_kept_and_used_for_posted_votes(studio):
    project, facts = opened(studio, alias={"Cat": "cat"})
    assert classes(facts) == {"cat": 12, "dog": 4}
    post(studio, project, ("t9", "zoe", "Cat"))
    state = studio.fit(project, "mv")
    assert classes(facts_of(state)) == {"cat": 13, "dog": 4}
    assert read(studio, project, **state["reading"])["hygiene"]["alias"] == {"Cat": "cat"}


def test_posted_votes_that_are_spelled_otherwise_are_said(studio):
    project, _ = opened(studio, normalise=True)
    read(studio, project, alias={"Cat": "cat"})
    post(studio, project, ("t9", "zoe", "DOG"))
    found = facts_of(studio.fit(project, "mv"))["hygiene"]["findings"]
    assert [one["groups"] for one in found if one["kind"] == "spellings"] == [[[["dog", 4], ["DOG", 1]]]]


def test_a_project_of_posted_votes_only_can_merge_spellings(studio):
    project = studio.good("POST", "/api/projects", json={"name": "posted"})["id"]
    post(studio, project, ("t1", "ann", "cat"), ("t1", "bob", "Cat"), ("t1", "eve", "cat"))
    assert classes(facts_of(studio.fit(project, "mv"))) == {"cat": 2, "Cat": 1}
    assert classes(read(studio, project, normalise=True)) == {"cat": 3}
    post(studio, project, ("t2", "ann", "CAT"))
    assert classes(facts_of(studio.fit(project, "mv"))) == {"cat": 4}
    batch = studio.good("GET", f"/api/projects/{project}/posted")[0]["id"]
    studio.good("DELETE", f"/api/projects/{project}/posted/{batch}")
    assert classes(facts_of(studio.settled(project))) == {"cat": 3}
