"""Who may call which route, in every form of an address: deny by default."""

import itertools
import re

import pytest
from fastapi import APIRouter

from finegold.studio import serve
from finegold.studio.security import ONLY_OWNER, check_rights, right_of
from tests.support.studio_helpers import TOKEN, studio_in_thread

ROUTES = sorted(
    (method, f"/api{route.path}")
    for router in serve.ROUTERS
    for route in router.routes
    for method in route.methods
)
INSIDE = "/api/projects/{project:id}"
# What reviewers may do, also where tasks are judged blindly.
JUDGING = {
    *(("POST", f"{INSIDE}/{name}") for name in ("judgements", "undo")),
    *(("GET", f"{INSIDE}{name}") for name in ("", "/events", "/next")),
    *(("GET", f"{INSIDE}/tasks/{{at:at}}{name}") for name in ("", "/media/{place:at}")),
}
ANYWHERE = {("GET", "/api/me"), ("GET", "/api/projects")}
# What they may read besides where they see the votes.
SEEN = ("tasks", "annotators", "annotators/{at:at}", "judgements", "history", "summary")
SEEN = (*SEEN, "sources", "samples", "export/{name}", "sections/{name}")
SEEING = {("GET", f"{INSIDE}/{name}") for name in SEEN}
ODD = (
    *("+1", "%2B1", "%201", "1%20", "1.0", "01", "0" * 20 + "1", "-1", "1e0", "1%0A", "%0A1"),
    *("1%00", "0x1", "1_0", "%EF%BC%91", "1;", "1%2F", "1,1", "0", "%5B1%5D", "9" * 40, "x"),
)
REFUSED = {
    *("Not Found", "There is no such page", "There is no such project", "Reviewers judge tasks"),
    *("This project is judged blindly", "The token is missing or wrong"),
}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A project that is judged blindly and one that is not, and everybody's client."""
    with studio_in_thread(tmp_path_factory.mktemp("rights")) as studio:
        blind, open_one, third = (studio.read_sample(studio.folder) for _ in range(3))
        studio.at(open_one, "PATCH", json={"blind": False})
        for project in (blind, open_one):
            studio.at(project, "POST", "/samples", json={"n": 10})
        of = {"blind": blind, "sees": open_one, "of another": third, "revoked": open_one}
        clients = {name: studio.invite(project, name) for name, project in of.items()}
        clients |= {"owner": studio.with_token(TOKEN), "nobody": studio.with_token("nobody")}
        studio.good("DELETE", f"/api/projects/{open_one}/people?name=revoked")
        studio.numbers = {"blind": blind, "open": open_one}
        yield studio, clients
        for client in clients.values():
            client.close()


def ask(client, method, address):
    """Return the status and the title of the answer, of streams only the head."""
    body = None if method == "GET" else {}
    with client.stream(method, address, json=body) as answer:
        if answer.status_code < 400:
            return answer.status_code, None
        return answer.status_code, (answer.read() and answer.json()["title"])


def address_of(path, project, at="0"):
    name = "labels.csv" if "export" in path else "quality"
    values = {"{project:id}": project, "{at:at}": at, "{place:at}": "0", "{name}": name}
    for each, value in (values | {"{source:id}": "77", "{sample:id}": "77"}).items():
        path = path.replace(each, str(value))
    assert "{" not in path, path
    return path if "?" in path else f"{path}?name=x.csv"


def test_every_route_of_the_application_declares_a_right_and_one_without_is_not_served():
    for router in serve.ROUTERS:
        check_rights(router.routes)
    served = serve.make_app(None)
    paths = served.openapi()["paths"].items()
    listed = {(method.upper(), path) for path, found in paths for method in found}
    assert listed == {(method, re.sub(":(id|at)", "", path)) for method, path in ROUTES}
    # besides the API there are the page, its scripts, styles and the schema, which tell nothing of a project
    found = [route.path for route in served.routes if hasattr(route, "path")]
    others = [path for path in found if path == "/api/openapi.json" or path[:5] != "/api/"]
    assert sorted(others) == ["/", "/api/openapi.json", "/report.css", "/static"]
    bare = APIRouter()
    bare.get("/projects/{project:id}/secret")(lambda project: None)
    with pytest.raises(TypeError, match="secret declares no right"):
        check_rights(bare.routes)
    declared = APIRouter()
    declared.get("/x", dependencies=ONLY_OWNER)(lambda: None)
    assert right_of(declared.routes[0]) is ONLY_OWNER[0].dependency


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_route_is_open_to_those_whom_it_names_and_to_nobody_else(people, method, path):
    studio, clients = people
    allowed = {"nobody": set(), "revoked": set(), "of another": ANYWHERE}
    allowed |= {"blind": JUDGING | ANYWHERE, "sees": JUDGING | ANYWHERE | SEEING}
    own = {"blind": studio.numbers["blind"], "sees": studio.numbers["open"]}
    for number, (name, known) in itertools.product(studio.numbers.values(), allowed.items()):
        is_theirs = own.get(name, number) == number
        is_open = (method, path) in known and (is_theirs or "{project" not in path)
        status, title = ask(clients[name], method, address_of(path, number))
        assert (title in REFUSED) != is_open, (name, number, status, title)
        if name in ("nobody", "revoked"):
            assert status == 401
    if method == "GET":
        number = studio.numbers["blind"]
        address = address_of(path, number)
        assert ask(clients["owner"], method, address)[1] not in REFUSED


@pytest.mark.parametrize(("method", "path"), [route for route in ROUTES if "{project" in route[1]])
def test_an_id_in_another_form_is_of_no_project(people, method, path):
    studio, clients = people
    for form in ODD:
        for name, client in clients.items():
            address = address_of(path, form)
            expected = 401 if name in ("nobody", "revoked") else 404
            assert ask(client, method, address)[0] == expected, (form, name)
        for other in ("{at:at}", "{source:id}", "{sample:id}"):
            if other in path and not (other == "{at:at}" and form == "0"):
                number = studio.numbers["open"]
                address = address_of(path.replace(other, form), number)
                assert ask(clients["sees"], method, address)[0] in (403, 404), form
                assert ask(clients["owner"], method, address)[0] == 404, form


def test_a_result_in_memory_is_not_shown_to_people_of_another_project(people):
    studio, clients = people
    own, other = studio.numbers["open"], studio.numbers["blind"]
    foreign = studio.at(other, "GET")["shown"]
    assert studio.get(f"/api/projects/{other}/summary?fit={foreign}").status_code == 200
    for name in ("sees", "owner"):
        for path in ("summary", "tasks", "tasks/0", "annotators", "export/votes.csv"):
            answer = clients[name].get(f"/api/projects/{own}/{path}?fit={foreign}")
            assert answer.status_code == 404, path


def test_the_stream_of_events_ends_when_the_link_is_revoked(people):
    studio, _ = people
    project = studio.numbers["open"]
    client = studio.invite(project, "soon gone")
    with client, client.stream("GET", f"/api/projects/{project}/events") as answer:
        lines = (line for line in answer.iter_lines() if line)
        assert next(lines).startswith("data: {")
        studio.good("DELETE", f"/api/projects/{project}/people?name=soon gone")
        assert "event: gone" in itertools.islice(lines, 4)
