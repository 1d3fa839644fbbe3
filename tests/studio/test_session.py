"""Who may come in: one-time codes, the session's cookie, and every route there is, with and without the token."""

import os
import subprocess
import sys
from functools import cache

import httpx
import pytest

from finegold.studio import security
from finegold.studio.app import inner_app
from tests.support.studio_helpers import TOKEN, WAIT, get, studio_in_thread, wait_until


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    with studio_in_thread(tmp_path_factory.mktemp("studio")) as client:
        yield client


def cookie_of(answer):
    return dict([answer.headers["set-cookie"].split(";")[0].split("=", 1)])


def test_the_cookie_is_not_the_token_and_each_is_good_for_its_own_place_only(studio):
    cookie = cookie_of(get(studio.link))
    name, session = next(iter(cookie.items()))
    assert TOKEN not in session
    assert session not in TOKEN
    folder = f"{studio.address}/api/folder"
    assert get(folder, cookies=cookie).status_code == 200
    assert get(folder, cookies={name: TOKEN}).status_code == 401
    assert get(folder, headers={"authorization": f"Bearer {session}"}).status_code == 401
    assert get(f"{studio.address}/?token={session}").status_code == 401


def test_a_code_lets_in_once(studio):
    code = studio.rules.codes.new()
    link = f"{studio.address}/?code={code}"
    answer = get(link)
    assert answer.status_code == 303
    assert get(f"{studio.address}/api/folder", cookies=cookie_of(answer)).status_code == 200
    again = get(link)
    assert (again.status_code, again.headers.get("set-cookie")) == (401, None)
    assert get(link, cookies=cookie_of(answer)).status_code == 200  # who is in may reload the page


def test_a_code_is_good_for_nothing_else(studio):
    code = studio.rules.codes.new()
    assert get(f"{studio.address}/api/folder?code={code}").status_code == 401
    assert get(f"{studio.address}/api/folder", headers={"authorization": f"Bearer {code}"}).status_code == 401
    assert get(f"{studio.address}/?token={code}").status_code == 401
    assert get(f"{studio.address}/?code={code}", headers={"host": "evil.example"}).status_code == 403
    assert get(f"{studio.address}/?code={TOKEN}").status_code == 401
    assert get(f"{studio.address}/?code=").status_code == 401
    assert get(f"{studio.address}/?code={code}").status_code == 303


def test_a_code_that_nobody_used_expires(studio, monkeypatch):
    code = studio.rules.codes.new()
    later = security.time.monotonic() + security.CODE_SECONDS + 1
    monkeypatch.setattr(security.time, "monotonic", lambda: later)
    assert studio.rules.codes.use(code) is False


def test_the_browser_is_started_without_the_token_in_its_arguments(tmp_path):
    script, seen = tmp_path / "browser.py", tmp_path / "seen"
    script.write_text(f"import sys; open({str(seen)!r}, 'w').write(sys.argv[1] + chr(10))")
    command = [sys.executable, "-m", "finegold", "studio", "--token", TOKEN]
    environment = {"BROWSER": f"{sys.executable} {script} %s"}
    process = subprocess.Popen(
        command, cwd=tmp_path, env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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


@cache
def routes():
    """Every route of the schema and every other one of the application."""
    app = inner_app(None)
    described = [(method.upper(), path) for path, found in app.openapi()["paths"].items() for method in found]
    assert len(described) > 30
    paths = [route for route in app.routes if hasattr(route, "path")]
    others = [(method, route.path) for route in paths for method in getattr(route, "methods", None) or ["GET"]]
    return sorted({*described, *others})


WRONG = {
    "nothing": {},
    "a wrong token": {"authorization": "Bearer wrong"},
    "no token": {"authorization": "Bearer"},
    "another kind": {"authorization": f"Basic {TOKEN}"},
    "a wrong cookie": {"cookie": "finegold_studio_{port}=wrong"},
    "the token as cookie": {"cookie": f"finegold_studio_{{port}}={TOKEN}"},
}


def ask(studio, method, path, headers):
    """Only the head of the answer: events never end."""
    port = studio.address.rpartition(":")[2]
    filled = path.replace("{project}", "999").replace("{name}", "labels.csv").replace("{path:path}", "js/main.js")
    address = studio.address + filled.replace("{", "").replace("}", "").replace("fits/fit", "fits/1")
    given = {name: value.replace("{port}", port) for name, value in headers.items()}
    with httpx.stream(method, address, headers=given, timeout=WAIT, verify=False) as answer:
        return answer.status_code


@pytest.mark.parametrize(("method", "path"), routes())
def test_every_route_asks_for_the_token(studio, method, path):
    for name, headers in WRONG.items():
        assert ask(studio, method, path, headers) == 401, name
    right = ask(studio, method, path, {"authorization": f"Bearer {TOKEN}"})
    assert right not in (401, 403)
    assert right < 500
