"""Who may come in, from where, with how much; which files can be named; what a kill may cost."""

import http.client
import re
import subprocess
import sys
import threading

import httpx
import pytest
from typer.testing import CliRunner

from finegold.cli.app import app
from tests.support.studio_helpers import TOKEN, WAIT, copy_sample, get, running, studio_in_thread, wait_until


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    with studio_in_thread(folder, most_bytes=2**20) as client:
        yield client


PATHS = ["/", "/api/projects", "/api/openapi.json", "/static/js/main.js", "/api/folder", "/nothing"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"cookie": "finegold_studio=x"}])
def test_without_the_right_token_there_is_nothing(studio, path, headers):
    answer = get(studio.address + path, headers=headers)
    assert answer.status_code == 401
    assert answer.json()["title"] == "The token is missing or wrong"


def test_no_route_answers_without_the_token(studio):
    """Every route of the interface, whichever were added since."""
    described = studio.good("GET", "/api/openapi.json")["paths"]
    assert "/api/projects/{project}/judges" in described
    for path, operations in described.items():
        for method in operations:
            answer = httpx.request(method, studio.address + re.sub(r"{\w+}", "1", path), timeout=WAIT, verify=False)
            assert answer.status_code == 401, (method, path)


def test_the_token_of_the_address_becomes_a_cookie_that_scripts_and_other_sites_cannot_use(studio):
    assert get(f"{studio.address}/?token=wrong").status_code == 401
    answer = get(f"{studio.address}/?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    name, value = cookie.split(";")[0].split("=", 1)
    assert get(studio.address, cookies={name: value}).status_code == 200


def test_a_token_in_another_address_does_not_count(studio):
    assert get(f"{studio.address}/api/projects?token={TOKEN}").status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost:1", "", "127.0.0.1.evil.example:80"]
)
def test_a_page_whose_name_was_bent_to_this_machine_is_sent_away(studio, host):
    assert studio.get("/api/projects", headers={"host": host}).status_code == 403


def test_this_machine_may_be_called_localhost(studio):
    port = studio.address.rpartition(":")[2]
    assert studio.get("/api/projects", headers={"host": f"localhost:{port}"}).status_code == 200


def test_a_proxy_may_serve_it_under_a_name_that_was_given(tmp_path):
    with studio_in_thread(tmp_path, public_name="studio.example.org") as studio:
        ours = {"host": "studio.example.org", "origin": "https://studio.example.org", "sec-fetch-site": "same-origin"}
        assert studio.post("/api/projects", json={}, headers=ours).status_code == 201
        other = {"host": "evil.example.org", "origin": "https://evil.example.org"}
        assert studio.post("/api/projects", json={}, headers=other).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "null"},
    ],
)
def test_another_site_may_change_nothing(studio, headers):
    answer = studio.post("/api/projects", json={"name": "x"}, headers=headers)
    assert answer.status_code == 403
    assert studio.good("GET", "/api/projects") == []


def test_every_answer_forbids_scripts_of_others(studio):
    for path in ("/", "/api/projects", "/static/js/main.js"):
        headers = studio.get(path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_two_gigabytes_are_refused_before_they_are_sent(studio):
    connection = http.client.HTTPConnection(studio.address.removeprefix("http://"), timeout=20)
    connection.putrequest("POST", "/api/uploads?name=big.csv")
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

    answer = studio.post("/api/uploads?name=big.csv", content=endless())
    assert answer.status_code == 413
    assert [path.name for path in studio.services.files.scratch.iterdir()] == ["lock"]


@pytest.mark.parametrize(
    "name",
    [
        "../secret.csv",
        "/etc/passwd",
        "link.csv",
        "folder/../../secret.csv",
        "inside/votes.csv",
        "inside/../link.csv",
        ".hidden.csv",
        "test.studio",
        "\0.csv",
        ".",
    ],
)
def test_no_file_outside_the_folder_can_be_named(studio, name):
    secret = studio.folder.parent / "secret.csv"
    secret.write_text("task,worker,label\n1,x,cat\n")
    (studio.folder / ".hidden.csv").write_text("task,worker,label\n1,x,cat\n")
    (studio.folder / "inside").mkdir(exist_ok=True)
    (studio.folder / "inside" / "votes.csv").write_text("task,worker,label\n1,x,cat\n")
    link = studio.folder / "link.csv"
    if not link.exists():
        link.symlink_to(secret)
    assert studio.post("/api/projects", json={"file": name}).status_code == 404
    assert "link.csv" not in {file["name"] for file in studio.good("GET", "/api/folder")["files"]}


@pytest.mark.parametrize("shape", ["long", "judges"])
def test_gold_names_a_column_and_never_a_path(studio, shape):
    """`finegold.read` would take it for a path."""
    copy_sample(studio.folder)
    truth = studio.folder.parent / "truth.csv"
    truth.write_text("task,truth\n0,cat\n")
    project = studio.good("POST", "/api/projects", json={"file": "votes.csv"})["id"]
    studio.good("PUT", f"/api/projects/{project}/votes", json={"gold": str(truth), "shape": shape})
    job = studio.settled(project)["job"]
    assert job["state"] == "failed"
    assert "there is no column" in job["message"]
    studio.good("DELETE", f"/api/projects/{project}")


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
def test_what_would_be_unsafe_or_cannot_be_is_refused_with_what_it_means(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["studio", "--no-browser", *arguments])
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


def test_a_kill_during_a_fit_and_adjudication_loses_nothing_that_was_confirmed(tmp_path):
    copy_sample(tmp_path)
    confirmed = {}
    with running(tmp_path, "votes.csv") as studio, studio.client() as client:
        assert get(studio.link).headers["location"] == "/#/p/1"  # the file that was named is what one sees first
        client.good("PUT", "/api/projects/1/votes", json={})
        client.settled(1)
        endless = {"method": "ptbcc", "settings": {"tolerance": 0.0, "max_iterations": 10_000_000}}
        client.good("POST", "/api/projects/1/fits", json=endless)
        wait_until(lambda: client.good("GET", "/api/projects/1")["job"]["steps"])
        judging = threading.Thread(target=judge_all, args=(client, confirmed))
        judging.start()
        wait_until(lambda: len(confirmed) > 20)
        studio.kill()
        judging.join()
    assert len(confirmed) < 300, "the kill came too late to show anything"
    with running(tmp_path, "votes.csv") as studio, studio.client() as client:
        project = client.good("GET", "/api/projects/1")
        assert [fit["state"] for fit in project["fits"]] == ["done", "interrupted"]
        kept = client.gold(1)
        assert confirmed.items() <= kept.items()
        assert len(kept) <= len(confirmed) + 1  # one may have been kept and not yet confirmed
        shown = client.fit(1)["fits"][-1]
        assert (shown["state"], shown["facts"]["gold"]) == ("done", len(kept))


def judge_all(client, confirmed):
    """Until nobody answers any more."""
    for task in range(300):
        try:
            if client.judge(1, task, "cat").status_code == 200:
                confirmed[task] = "cat"
        except httpx.TransportError:
            return


def test_help_loads_no_web_framework():
    heavy = "{'fastapi', 'uvicorn', 'numba', 'polars'}"
    code = (
        f"import sys; from finegold.cli.app import app; app(['studio', '--help'], standalone_mode=False); "
        f"assert not {heavy} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
