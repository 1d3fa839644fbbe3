"""Fits under load: settings that cannot be are refused, and nobody gets a 404 because a fit ends."""

import threading

import pytest

from finegold.api.job import Job
from finegold.kernels import jit
from finegold.studio.problems import Problem
from finegold.studio.projects import describe
from finegold.studio.votes import new_base
from tests.support.studio_helpers import studio_in_thread

SETTINGS = [
    ("ptbcc", {"max_iterations": "x"}),
    ("ptbcc", {"max_iterations": 1.5}),
    ("ptbcc", {"max_iterations": True}),
    ("ptbcc", {"tolerance": "0.1"}),
    ("ptbcc", {"prototypes": 3}),
    ("ptbcc", {"further": "no such"}),
    ("ibcc", {"tolerance": "x"}),
    ("mv", {"seed": "x"}),
    ("hds", {"weights": "x"}),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with studio_in_thread(tmp_path_factory.mktemp("studio")) as client:
        yield client


@pytest.fixture
def studio(server):
    """A new project in a studio that all tests share."""
    server.project = server.read_sample(server.folder)
    return server


@pytest.mark.parametrize(("method", "settings"), SETTINGS)
def test_a_setting_of_the_wrong_kind_is_refused_by_its_name(studio, method, settings):
    answer = studio.post(f"/api/projects/{studio.project}/fits", json={"method": method, "settings": settings})
    assert answer.status_code == 422
    assert next(iter(settings)) in answer.json()["detail"]
    assert [fit["method"] for fit in studio.at(studio.project, "GET")["fits"]] == ["mv"]


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("ptbcc", {"tolerance": 1}),
        ("ptbcc", {"max_iterations": 3, "precision": "single"}),
        ("ibcc", {"max_iterations": 3}),
    ],
)
def test_settings_of_the_right_kind_are_used(studio, method, settings):
    assert studio.fit(studio.project, method, **settings)["job"]["state"] == "done"


def test_a_fit_that_waits_for_the_compiler_says_so(studio, monkeypatch):
    seen = []

    run = Job.run

    def compile_and_run(wanted):
        for show in jit._displays:
            show(jit.COMPILING)
        seen.append(studio.at(studio.project, "GET")["job"]["message"])
        return run(wanted)

    monkeypatch.setattr(Job, "run", compile_and_run)
    assert studio.fit(studio.project)["job"]["message"] == ""
    assert seen == [jit.COMPILING]


def test_a_fit_that_another_of_its_kind_replaced_can_still_be_asked_for(studio):
    first = studio.fit(studio.project)["shown"]
    state = studio.fit(studio.project)
    assert first not in [fit["id"] for fit in state["fits"]]
    assert studio.at(studio.project, "GET", f"/fits/{first}")["state"] == "replaced"
    studio.services.workspace.forget([first])
    answer = studio.get(f"/api/projects/{studio.project}/results", params={"fit": first})
    assert (answer.status_code, answer.json()["title"]) == (409, "This fit has no result")
    assert studio.put(f"/api/projects/{studio.project}/fits/{first}/shown").status_code == 409


def test_a_fit_of_votes_that_were_read_anew_can_still_be_asked_for(studio):
    first = studio.fit(studio.project)["shown"]
    studio.read(studio.project)
    assert studio.at(studio.project, "GET", f"/fits/{first}")["state"] == "replaced"


def test_what_is_shown_is_the_new_result_if_the_old_one_goes_while_it_is_asked_for(studio, monkeypatch):
    """The old result is dropped after its number was read, and before it is loaded."""
    studio.fit(studio.project)
    workspace, of = studio.services.workspace, studio.services.workspace.of
    asked = []

    def late(project, fit):
        if not asked:
            asked.append(fit)
            studio.fit(studio.project)
            workspace.forget([fit])
        return of(project, fit)

    monkeypatch.setattr(workspace, "of", late)
    shown = workspace.shown(studio.project)
    assert shown.result.method == "ptbcc"
    assert studio.services.store.project(studio.project)["shown"] != asked[0]


def test_a_project_names_no_result_that_it_does_not_list(studio, monkeypatch):
    """Its row and its fits are of one moment."""
    row = studio.services.store.project
    done = []

    def slow(project):
        found = row(project)
        if not done:
            done.append(True)
            thread = threading.Thread(target=new_base, args=(studio.services, project, votes))
            thread.start()
            thread.join(1)
        return found

    votes = studio.services.workspace.votes(studio.project)
    monkeypatch.setattr(studio.services.store, "project", slow)
    state = studio.at(studio.project, "GET")
    assert state["shown"] in [fit["id"] for fit in state["fits"]]


PATHS = ["", "/results", "/tasks", "/annotators", "/next", "/compare", "/export/labels.csv", "/results/record"]


def test_nobody_gets_a_404_while_fits_end(studio):
    """A fit of the majority takes a moment: one of them always ends."""
    base, wrong, over = f"/api/projects/{studio.project}", [], threading.Event()

    def ask(path):
        while not over.is_set():
            answer = studio.get(base + path)
            if answer.status_code != 200:
                wrong.append((path, answer.status_code, answer.text))

    threads = [threading.Thread(target=ask, args=(path,)) for path in PATHS]
    for thread in threads:
        thread.start()
    fits = []
    for _ in range(25):
        answer = studio.post(f"{base}/fits", json={"method": "mv"})
        assert answer.status_code == 202, answer.text
        fits.append(answer.json()["id"])
        for fit in fits[-3:]:
            assert studio.get(f"{base}/fits/{fit}").status_code == 200
    studio.settled(studio.project)
    over.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_who_sees_that_a_reading_has_failed_sees_why(studio, monkeypatch):
    """The reason is stored before the job says that it has failed, and the job is looked at first."""
    services, seen = studio.services, []
    run, get = services.store.run, services.store.project

    def run_later(sql, *values):
        if "failure = ?" in sql:
            seen.append(services.jobs.of(studio.project).state)
        return run(sql, *values)

    monkeypatch.setattr(services.store, "run", run_later)
    assert "no such column" in studio.read(studio.project, task="no such column")["failure"]
    assert seen == ["running"]

    job = services.jobs.of(studio.project)
    job.state = "running"

    def get_late(project):
        found = get(project)
        job.state = "failed"
        return found

    monkeypatch.setattr(services.store, "project", get_late)
    assert describe(services, studio.project).job.state == "running"


def test_a_project_that_was_deleted_is_a_404(studio):
    studio.at(studio.project, "DELETE")
    with pytest.raises(Problem, match="no such project"):
        studio.services.workspace.shown(studio.project)


def test_a_fit_takes_what_another_project_knows_and_where_to_run(studio):
    earlier, project = studio.read_sample(studio.folder), studio.project
    studio.fit(earlier, "ds")
    fits = f"/api/projects/{project}/fits"
    studio.good("POST", fits, json={"method": "ds", "prior": earlier, "engine": "local", "threads": 2})
    assert studio.settled(project)["job"]["state"] == "done"
    result = studio.services.workspace.shown(project).result
    assert result.known_annotators == len(result.annotator_names)
    for wrong, status in (
        ({"prior": project}, 409),
        ({"prior": 9999}, 404),
        ({"threads": 0}, 422),
        ({"engine": "x"}, 422),
    ):
        assert studio.post(fits, json={"method": "ds", **wrong}).status_code == status
