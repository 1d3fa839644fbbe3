"""Named tokens: who may come in, what reviewers may change, and under which name they judge."""

from dataclasses import replace

import httpx
import pytest
from typer.testing import CliRunner

from finegold.cli.app import app
from finegold.studio.security import session_of
from tests.studio.test_session import ask, routes
from tests.support.studio_helpers import TOKEN, WAIT, get, studio_in_thread


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    with studio_in_thread(folder, reviewers=("ann", "Jürgen")) as client:
        client.project = client.read_sample(folder)
        yield client


def as_reviewer(studio, name):
    token = studio.rules.token_of(name)
    return httpx.Client(
        base_url=studio.address, headers={"authorization": f"Bearer {token}"}, timeout=WAIT, verify=False
    )


def test_a_reviewer_judges_under_the_name_of_the_token_whatever_the_request_says(studio):
    for task, name in ((1, "ann"), (2, "Jürgen")):
        with as_reviewer(studio, name) as reviewer:
            assert reviewer.get("/api/me").json() == {"reviewer": name, "is_owner": False}
            answer = reviewer.post(
                f"/api/projects/{studio.project}/gold",
                json={"task": task, "label": "cat"},
                headers={"x-finegold-reviewer": "somebody else"},
            )
            assert answer.status_code == 200
    found = studio.good("GET", f"/api/projects/{studio.project}/gold")
    assert {one["task"]: one["reviewer"] for one in found} == {1: "ann", 2: "Jürgen"}
    assert studio.good("GET", "/api/me") == {"reviewer": "", "is_owner": True}


def test_a_reviewer_changes_nothing_but_judgements(studio):
    inside = f"/api/projects/{studio.project}"
    refused = [
        ("POST", "/api/projects", {"name": "x"}),
        ("POST", "/api/uploads?name=x.csv", {}),
        ("DELETE", inside, None),
        ("PATCH", inside, {"blind": False}),
        ("PUT", f"{inside}/votes", {}),
        ("POST", f"{inside}/votes", {"votes": [{"task": 1, "annotator": "x", "label": "cat"}]}),
        ("POST", f"{inside}/fits", {}),
        ("DELETE", f"{inside}/job", None),
        ("POST", f"{inside}/gold/../fits", {}),
        ("POST", f"{inside}/fits/gold", {}),
    ]
    with as_reviewer(studio, "ann") as reviewer:
        for method, path, body in refused:
            answer = reviewer.request(method, path, json=body)
            assert answer.status_code == 403, path
            assert answer.json()["title"] == "Reviewers judge tasks"
        assert reviewer.get(f"{inside}/next").status_code == 200
        assert reviewer.post(f"{inside}/skip", json={"task": 3}).status_code == 200
        assert reviewer.post(f"{inside}/undo", json={}).json()["action"]["task"] == 3


def test_a_reviewer_who_judges_blindly_sees_the_votes_after_the_decision(studio):
    place = f"/api/projects/{studio.project}"
    with as_reviewer(studio, "ann") as ann, as_reviewer(studio, "Jürgen") as other:
        task = ann.get(f"{place}/next").json()["tasks"][0]
        see = f"{place}/tasks/{task['at']}"
        assert (ann.get(see).json()["row"]["votes"], ann.get(see).json()["row"]["label"]) == ([], "")
        assert len(studio.good("GET", see)["row"]["votes"]) == 5  # the owner looks where they like
        ann.post(f"{place}/gold", json={"task": task["name"], "label": "cat"}).raise_for_status()
        assert len(ann.get(see).json()["row"]["votes"]) == 5
        assert other.get(see).json()["probabilities"] == []
        studio.good("PATCH", place, json={"blind": False})
        assert len(other.get(see).json()["row"]["votes"]) == 5
        studio.good("PATCH", place, json={"blind": True})


BLIND = ("", "/events", "/next", "/reviewers", "/fields", "/media", "/tasks/{at}", "/tasks/{at}/content")


@pytest.mark.parametrize("path", sorted({path for method, path in routes() if method == "GET" and "{project}" in path}))
def test_who_judges_blindly_reads_nothing_that_shows_votes_or_labels(studio, path):
    inside, as_ann = f"/api/projects/{studio.project}", {"authorization": f"Bearer {studio.rules.token_of('ann')}"}
    known = path.replace("{project}", str(studio.project)).replace("{at}", "0")
    is_open = path.removeprefix("/api/projects/{project}") in BLIND
    assert (ask(studio, "GET", known, as_ann) != 403) == is_open
    assert ask(studio, "GET", known, {"authorization": f"Bearer {TOKEN}"}) != 403
    studio.good("PATCH", inside, json={"blind": False})
    assert ask(studio, "GET", known, as_ann) != 403
    studio.good("PATCH", inside, json={"blind": True})


@pytest.mark.parametrize(("method", "path"), [one for one in routes() if one[0] not in ("GET", "HEAD")])
def test_every_route_that_changes_something_is_closed_to_reviewers_unless_it_judges(studio, method, path):
    headers = {"authorization": f"Bearer {studio.rules.token_of('ann')}"}
    judges = path.removeprefix("/api/projects/{project}/") in ("gold", "skip", "send_back", "undo", "note")
    assert (ask(studio, method, path, headers) == 403) != judges


def test_the_token_of_a_reviewer_becomes_a_cookie_of_that_reviewer(studio):
    token = studio.rules.token_of("ann")
    answer = get(f"{studio.address}/?token={token}")
    assert answer.status_code == 303
    name, value = answer.headers["set-cookie"].split(";")[0].split("=", 1)
    assert value == session_of(token) != session_of(TOKEN)
    assert get(f"{studio.address}/api/me", cookies={name: value}).json()["reviewer"] == "ann"


def test_the_tokens_of_reviewers_change_with_the_owners(studio):
    other = replace(studio.rules, token="another")
    assert other.token_of("ann") != studio.rules.token_of("ann") != studio.rules.token_of("Jürgen")


def test_nobody_else_comes_in(studio):
    stranger = studio.rules.token_of("eve")  # a reviewer's token cannot be made without the owner's, but if it were
    for token in (stranger, "ann", session_of(studio.rules.token_of("ann"))):
        assert get(f"{studio.address}/api/me", headers={"authorization": f"Bearer {token}"}).status_code == 401
        assert get(f"{studio.address}/?token={token}").status_code == 401


def test_without_reviewers_no_token_but_the_owners_counts(tmp_path):
    with studio_in_thread(tmp_path) as client:
        token = client.rules.token_of("")
        assert get(f"{client.address}/api/me", headers={"authorization": f"Bearer {token}"}).status_code == 401
        assert client.rules.tokens == {TOKEN: ""}


@pytest.mark.parametrize("names", [["--reviewer", " "], ["--reviewer", "a", "--reviewer", "a"], ["--reviewer", "a\nb"]])
def test_a_reviewer_has_a_name_of_their_own(names, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["studio", "--no-browser", *names])
    assert done.exit_code == 2
    assert "--reviewer" in done.stderr
