"""Who may come in, from where, with how much: tokens, codes, cookies, hosts, reviewers, and the names of files."""

import http.client
import os
import re
import subprocess
import sys
from functools import partial

import httpx
import pytest
from click.testing import CliRunner

from finegold.cli.app import app
from finegold.studio import security
from finegold.studio.exports import EXPORTS
from finegold.studio.security import session_of
from finegold.studio.serve import make_app, open_door
from tests.support.studio_helpers import (
    TOKEN,
    get,
    refused,
    studio_in_thread,
    wait_until,
)


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    with studio_in_thread(folder, most_bytes=2**20) as client:
        client.project = client.read_sample(folder)
        yield client


# Tokens, codes and cookies


def cookie_of(answer):
    return dict([answer.headers["set-cookie"].split(";")[0].split("=", 1)])


def test_the_token_of_the_address_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(studio):
    folder, who = f"{studio.address}/api/folder", f"{studio.address}/api/me"
    for path in ("/?token=wrong", f"/api/projects?token={TOKEN}"):
        assert get(studio.address + path).status_code == 401
    ann = studio.at(studio.project, "POST", "/people", json={"name": "ann"})["token"]
    for token, name, page in ((TOKEN, "", "/"), (ann, "ann", f"/#/p/{studio.project}")):
        answer = get(f"{studio.address}/?token={token}")
        assert (answer.status_code, answer.headers["location"]) == (303, page)
        assert {" HttpOnly", " SameSite=Strict"} <= {*answer.headers["set-cookie"].split(";")}
        assert get(studio.address, cookies=cookie_of(answer)).status_code == 200
        assert get(who, cookies=cookie_of(answer)).json()["reviewer"] == name
        # the session is not the token, and each is good for its own place only
        ((cookie, session),) = cookie_of(answer).items()
        assert session == session_of(token)
        assert token not in session
        assert session not in token
        assert get(folder, cookies={cookie: token}).status_code == 401
        assert get(folder, headers={"authorization": f"Bearer {session}"}).status_code == 401
        assert get(f"{studio.address}/?token={session}").status_code == 401


def test_a_code_lets_in_once_soon_and_is_good_for_nothing_else(studio, monkeypatch):
    code, folder = studio.rules.codes.new(), f"{studio.address}/api/folder"
    link = f"{studio.address}/?code={code}"
    for path in (f"/api/folder?code={code}", f"/?token={code}", f"/?code={TOKEN}", "/?code="):
        assert get(studio.address + path).status_code == 401, path
    assert get(folder, headers={"authorization": f"Bearer {code}"}).status_code == 401
    assert get(link, headers={"host": "evil.example"}).status_code == 403
    answer = get(link)
    assert answer.status_code == 303
    assert get(folder, cookies=cookie_of(answer)).status_code == 200
    again = get(link)
    assert (again.status_code, again.headers.get("set-cookie")) == (401, None)
    # who is in may reload the page
    assert get(link, cookies=cookie_of(answer)).status_code == 200
    code, later = studio.rules.codes.new(), security.time.monotonic() + security.CODE_SECONDS + 1
    monkeypatch.setattr(security.time, "monotonic", lambda: later)
    assert studio.rules.codes.use(code) is False


def test_the_browser_is_started_without_the_token_in_its_arguments(tmp_path):
    script, seen = tmp_path / "browser.py", tmp_path / "seen"
    script.write_text(f"import sys; open({str(seen)!r}, 'w').write(sys.argv[1] + chr(10))")
    command = [sys.executable, "-m", "finegold", "studio", "--token", TOKEN]
    environment, pipe = os.environ | {"BROWSER": f"{sys.executable} {script} %s"}, subprocess.PIPE
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=pipe, stderr=pipe, text=True
    )
    try:
        wait_until(lambda: seen.exists() and seen.read_text().endswith("\n"))
        link = seen.read_text().strip()
        assert TOKEN not in link
        answer = get(link)
        assert (answer.status_code, TOKEN in answer.headers["set-cookie"]) == (303, False)
        assert get(link).status_code == 401
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": "Bearer"},
        {"authorization": f"Basic {TOKEN}"},
        {"cookie": "finegold_studio_{port}=wrong"},
        {"cookie": f"finegold_studio_{{port}}={TOKEN}"},
    ],
)
def test_nothing_is_answered_without_the_token(studio, headers):
    """Every route of the API without one: test_rights.py."""
    port = studio.address.rpartition(":")[2]
    given = {name: value.replace("{port}", port) for name, value in headers.items()}
    for path in ("/", "/api/projects", "/api/openapi.json", "/report.css", "/static/js/app.js"):
        assert get(studio.address + path, headers=given).status_code == 401, path
        assert studio.get(path).status_code == 200


# Hosts, sites and sizes


def test_a_page_whose_name_was_bent_to_this_machine_is_sent_away(studio):
    bent = ("evil.example", "evil.example:80", "127.0.0.1", "localhost:1", "", "127.0.0.1.evil:80")
    port = studio.address.rpartition(":")[2]
    for host, status in [*((host, 403) for host in bent), (f"localhost:{port}", 200)]:
        assert studio.get("/api/projects", headers={"host": host}).status_code == status, host
    # one without a host wherever the studio listens
    rules = security.Rules(token="t", host="", port=80, most_bytes=1)
    assert [rules.knows_host(header) for header in ("", ":80", "localhost")] == [False, False, True]


def test_a_proxy_may_serve_it_under_a_name_that_was_given(tmp_path):
    with studio_in_thread(tmp_path, public_name="studio.example.org") as studio:
        for host, status in (("studio.example.org", 201), ("evil.example.org", 403)):
            headers = {"host": host, "origin": f"https://{host}", "sec-fetch-site": "same-origin"}
            answer = studio.post("/api/projects", json={}, headers=headers)
            assert answer.status_code == status


def test_another_site_may_change_nothing(studio):
    foreign = [("origin", "http://evil.example"), ("origin", "null")]
    foreign += [("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site")]
    for header in foreign:
        answer = studio.post("/api/projects", json={"name": "x"}, headers=[header])
        assert answer.status_code == 403, header
    assert "x" not in [project["name"] for project in studio.good("GET", "/api/projects")]


def test_every_answer_forbids_scripts_of_others(studio):
    for path in ("/", "/api/projects", "/static/js/app.js"):
        headers = studio.get(path).headers
        policy = headers["content-security-policy"]
        assert ("script-src 'self'" in policy, "unsafe" in policy) == (True, False)
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_two_gigabytes_are_refused_before_they_are_sent(studio):
    connection = http.client.HTTPConnection(studio.address.removeprefix("http://"), timeout=20)
    connection.putrequest("POST", f"/api/projects/{studio.project}/sources?name=big.csv")
    connection.putheader("Authorization", f"Bearer {TOKEN}")
    connection.putheader("Content-Length", str(2 * 10**9))
    connection.endheaders()
    answer = connection.getresponse()  # not a byte of the body has been sent
    assert answer.status == 413
    assert b"start it with a higher limit" in answer.read()
    connection.close()


def test_a_body_that_does_not_say_its_length_is_counted(studio):
    def endless():
        for _ in range(100):
            yield b"x" * 2**16

    before = {*studio.services.files.scratch.iterdir()}
    answer = studio.post(f"/api/projects/{studio.project}/sources?name=big.csv", content=endless())
    assert answer.status_code == 413
    assert {*studio.services.files.scratch.iterdir()} == before


def test_a_client_that_leaves_while_it_sends_leaves_no_file_and_prints_no_traceback(studio, caplog):
    def send():
        yield b"task,worker,label\n"
        wait_until(lambda: any(scratch.iterdir()))
        raise ConnectionError

    scratch = studio.services.files.scratch
    wait_until(lambda: not any(scratch.iterdir()))
    with pytest.raises(ConnectionError):
        studio.post(f"/api/projects/{studio.project}/sources?name=slow.csv", content=send())
    wait_until(lambda: not any(scratch.iterdir()))
    assert studio.good("GET", "/api/projects")
    assert "Exception" not in caplog.text


OUTSIDE = (
    *("../secret.csv", "/etc/passwd", "link.csv", "folder/../../secret.csv", "inside/../link.csv"),
    *("inside/votes.csv", ".config/secret.json", "{folder}/votes.csv", "./votes.csv"),
    *("test.studio", "\0.csv", ".", ".hidden.csv"),
)


def test_a_file_is_named_by_its_name_only_and_none_outside_the_folder(studio):
    folder = studio.folder
    for place in ("../secret.csv", ".hidden.csv", "inside/votes.csv", ".config/secret.json"):
        (folder / place).parent.mkdir(exist_ok=True)
        (folder / place).write_text("task,worker,label\n1,x,cat\n")
    (folder / "link.csv").symlink_to(folder / "../secret.csv")
    for name in OUTSIDE:
        named = {"name": name.format(folder=folder)}
        answer = studio.post(f"/api/projects/{studio.project}/sources", params=named)
        assert answer.status_code == 404, name
    assert "link.csv" not in {file["name"] for file in studio.good("GET", "/api/folder")["files"]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--host", "0.0.0.0"], "anybody with the token can read and change"),
        (["--public-name", "studio.example.org"], "anybody with the token can read and change"),
        (["--host", "0.0.0.0", "--token", "short"], "at least 16"),
        (["--token", "with blanks in the token"], "must not contain"),
        (["nothing.csv"], "there is no file nothing.csv"),
        (["--project", "nowhere/p.studio"], "there is no folder"),
        (["--host", "203.0.113.7", "--token", TOKEN], "cannot listen"),
    ],
)
def test_what_would_be_unsafe_or_cannot_be_is_refused_with_what_it_means(
    arguments, words, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["studio", "--no-browser", *arguments])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


def test_help_loads_no_web_framework():
    code = "import sys; from finegold.cli.app import app; app(['studio', '--help'], standalone_mode=False); "
    code += "assert not {'fastapi', 'uvicorn', 'numba', 'polars'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# Reviewers


def test_a_reviewer_judges_under_the_name_of_the_token_whatever_the_request_says(studio):
    for task, name in ((1, "ann"), (2, "Jürgen")):
        with studio.invite(studio.project, name) as reviewer:
            who = {"reviewer": name, "is_owner": False, "project": studio.project}
            assert reviewer.get("/api/me").json() == who
            judged = {"tasks": [task], "label": "cat"}
            headers = {"x-finegold-reviewer": "somebody else"}
            place = f"/api/projects/{studio.project}/judgements"
            assert reviewer.post(place, json=judged, headers=headers).status_code == 200
    found = studio.at(studio.project, "GET", "/judgements")
    assert {judged["task"]: judged["reviewer"] for judged in found} == {1: "ann", 2: "Jürgen"}


def test_a_reviewer_judges_and_undoes_but_settles_nothing(studio):
    inside = f"/api/projects/{studio.project}"
    with studio.invite(studio.project, "ann") as reviewer:
        settled = {"kind": "settle", "tasks": [3], "label": "cat", "sample": 1}
        answer = reviewer.post(f"{inside}/judgements", json=settled)
        refused(answer, 403, "Only the lead settles disagreements")
        assert reviewer.get(f"{inside}/next").status_code == 200
        skipped = {"tasks": [3], "kind": "skip"}
        assert reviewer.post(f"{inside}/judgements", json=skipped).status_code == 200
        assert reviewer.post(f"{inside}/undo", json={}).json()["action"]["task"] == 3


def test_a_reviewer_who_judges_blindly_sees_the_votes_after_the_decision(studio):
    place = f"/api/projects/{studio.project}"
    invite = studio.invite
    with invite(studio.project, "ann") as ann, invite(studio.project, "bob") as other:
        task = ann.get(f"{place}/next").json()["tasks"][0]
        see = f"{place}/tasks/{task['at']}"
        assert (ann.get(see).json()["votes"], ann.get(see).json()["label"]) == ([], "")
        # the owner looks where they like
        assert len(studio.good("GET", see)["votes"]) == 5
        said = {"tasks": [task["name"]], "label": "cat"}
        ann.post(f"{place}/judgements", json=said).raise_for_status()
        assert len(ann.get(see).json()["votes"]) == 5
        assert other.get(see).json()["tally"] == []
        studio.good("PATCH", place, json={"blind": False})
        assert len(other.get(see).json()["votes"]) == 5
        studio.good("PATCH", place, json={"blind": True})


def test_a_link_that_was_taken_back_says_so_in_a_sentence(studio):
    made = studio.at(studio.project, "POST", "/people", json={"name": "kim"})
    link = f"{studio.address}/?token={made['token']}"
    cookies = cookie_of(get(link))
    assert get(studio.address, cookies=cookies).status_code == 200
    studio.good("DELETE", f"/api/projects/{studio.project}/people?name=kim")
    for answer in (get(studio.address, cookies=cookies), get(link), get(studio.address)):
        assert answer.status_code == 401
        assert answer.headers["content-type"].startswith("text/html")
        assert "link" in answer.text
        assert "{" not in answer.text
    # a program gets data
    assert get(f"{studio.address}/api/me", cookies=cookies).json()["status"] == 401


def test_the_door_lets_invited_people_in_and_nobody_else(tmp_path):
    with studio_in_thread(tmp_path) as studio:
        project = studio.read_sample(tmp_path)
        studio.services.open_door = partial(open_door, studio.services, studio.rules)
        address = studio.good("POST", "/api/door")["address"]
        made = studio.at(project, "POST", "/people", json={"name": "kim"})
        assert studio.at(project, "GET", "/people")["door"] == address
        local = f"http://127.0.0.1:{address.rpartition(':')[2]}"
        wait_until(lambda: is_up(local))
        for token, status in ((made["token"], 200), (TOKEN, 401), ("nobody", 401)):
            headers = {"authorization": f"Bearer {token}"}
            assert get(f"{local}/api/me", headers=headers).status_code == status
        assert get(f"{local}/?token={TOKEN}").status_code == 401
        assert get(f"{local}/?token={made['token']}").status_code == 303


def is_up(address):
    try:
        return get(address).status_code == 401
    except httpx.TransportError:
        return False


def test_nothing_that_a_blind_reviewer_can_read_names_an_annotator_or_tells_a_label(tmp_path):
    """Every GET of the schema with every export, every option of a query that matters, and the event stream."""
    rows = [f"t{t},annotator-{a},{'odd' if t % 2 else 'even'}" for t in range(8) for a in range(4)]
    (tmp_path / "votes.csv").write_text(
        "\n".join(["task,worker,label,text", *(f"{row},a text" for row in rows), ""])
    )
    with studio_in_thread(tmp_path) as studio:
        project = studio.open("votes.csv")
        model = b"task,even,odd\nt1,.123456,.876544\n"
        studio.add(project, "model.csv", model, kind="predictions")
        studio.add(project, "more.csv", b"task,worker,label\nt9,annotator-9,odd\n")
        studio.fit(project, "ds")
        # by the owner, against the votes
        studio.judge(project, "t7", "even")
        studio.judge(project, "t6", None, kind="send_back")
        state = studio.fit(project, "ds")
        fit = state["shown"]
        studio.at(project, "POST", "/samples", json={"n": 4})
        paths = [
            path for path, found in make_app(None).openapi()["paths"].items() if "get" in found
        ]
        wanted = [
            path.replace("{project}", str(project)).replace("{at}", at).replace("{name}", name)
            for path in sorted(paths)
            for at in ("0", "1", "2")
            for name in (EXPORTS if "{name}" in path else [""])
        ]
        wanted += [f"/api/projects/{project}/next?most=100"]
        wanted += [
            f"/api/projects/{project}/{path}?fit={fit}"
            for path in ("tasks/0", "summary", "sections/quality")
        ]
        read = []
        with studio.invite(project, "ann") as ann:
            for path in dict.fromkeys(wanted):
                with ann.stream("GET", path) as answer:
                    is_stream = path.endswith("/events")
                    found = next(answer.iter_lines()) if is_stream else answer.read().decode()
                read += [path] if answer.status_code < 400 else []
                assert "annotator-" not in found, path
                assert ".876544" not in found, path
                facts = '"(findings|marks|measured)": ?[{1-9]'
                assert "/projects" not in path or not re.search(facts, found), path
                label = r'"(label|confidence|probability|truth)": ?("(odd|even)"|0\.0*[1-9])'
                assert f"/projects/{project}" not in path or not re.search(label, found), path
        assert [path for path in read if "/export/" in path] == []
        assert f"/api/projects/{project}/events" in read
        assert len(read) > 8
