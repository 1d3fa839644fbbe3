"""Fits under load: settings that cannot be are refused, and nobody gets a 404 because a fit ends."""

import threading

import finegold
from finegold.studio import fits
from finegold.kernels import jit
from finegold.studio.projects import describe
from finegold.studio.votes import new_base
from tests.support.studio_helpers import refused

WRONG_SETTINGS = [
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


def test_settings_of_the_wrong_kind_are_refused_by_their_names_and_others_used(studio, project):
    for method, settings in WRONG_SETTINGS:
        answer = studio.post(
            f"/api/projects/{project}/fits", json={"method": method, "settings": settings}
        )
        refused(answer, 422, detail=next(iter(settings)))
    assert [fit["method"] for fit in studio.at(project, "GET")["fits"]] == ["mv"]
    assert studio.fit(project, "ptbcc", tolerance=1, further="uniform")["job"]["state"] == "done"
    assert studio.fit(project, "ibcc", max_iterations=3)["job"]["state"] == "done"


def test_a_fit_that_waits_for_the_compiler_says_so(studio, project, monkeypatch):
    seen, run = [], fits.fit_votes

    def compile_and_run(*given, **named):
        for show in jit._displays:
            show(jit.COMPILING)
        seen.append(studio.at(project, "GET")["job"]["message"])
        return run(*given, **named)

    monkeypatch.setattr(fits, "fit_votes", compile_and_run)
    assert studio.fit(project)["job"]["message"] == ""
    assert seen == [jit.COMPILING]


def test_methods_are_compared_and_a_fit_that_another_of_its_kind_replaced_can_still_be_asked_for(
    studio, project
):
    studio.fit(project, "ds")
    first = studio.fit(project)["shown"]
    found = studio.at(project, "GET", "/compare")
    results = [
        finegold.aggregate(studio.folder / "votes.csv", method) for method in ("mv", "ds", "ptbcc")
    ]
    expected = [
        [float((one.label_codes == two.label_codes).mean()) for two in results] for one in results
    ]
    assert found["shares"] == expected
    studio.fit(project, n_prototypes=3)
    state = studio.fit(project)
    kinds = [(fit["method"], fit["settings"]) for fit in state["fits"]]
    assert kinds == [("mv", {}), ("ds", {}), ("ptbcc", {"n_prototypes": 3}), ("ptbcc", {})]
    assert state["shown"] == state["fits"][-1]["id"]
    assert studio.at(project, "GET", f"/fits/{first}")["state"] == "replaced"
    studio.services.workspace.forget(project, [first])
    refused(
        studio.get(f"/api/projects/{project}/results", params={"fit": first}),
        409,
        "This fit has no result",
    )
    assert studio.put(f"/api/projects/{project}/fits/{first}/shown").status_code == 409
    studio.read(project)  # which drops all fits
    assert studio.at(project, "GET", f"/fits/{state['shown']}")["state"] == "replaced"


def test_what_is_shown_is_the_new_result_if_the_old_one_goes_while_it_is_asked_for(
    studio, project, monkeypatch
):
    """The old result is dropped after its number was read, and before it is loaded."""
    studio.fit(project)
    workspace, of, asked = studio.services.workspace, studio.services.workspace.of, []

    def late(project, fit):
        if not asked:
            asked.append(fit)
            studio.fit(project)
            workspace.forget(project, [fit])
        return of(project, fit)

    monkeypatch.setattr(workspace, "of", late)
    assert workspace.shown(project).result.method == "ptbcc"
    assert studio.services.store.project(project)["shown"] != asked[0]


def test_a_project_names_no_result_that_it_does_not_list(studio, project, monkeypatch):
    """Its row and its fits are of one moment."""
    row, done = studio.services.store.project, []
    votes = studio.services.workspace.votes(project)

    def slow(project):
        found = row(project)
        if not done:
            done.append(True)
            thread = threading.Thread(target=new_base, args=(studio.services, project, votes))
            thread.start()
            thread.join(1)
        return found

    monkeypatch.setattr(studio.services.store, "project", slow)
    state = studio.at(project, "GET")
    assert state["shown"] in [fit["id"] for fit in state["fits"]]


PATHS = [
    "",
    "/results",
    "/tasks",
    "/annotators",
    "/next",
    "/compare",
    "/export/labels.csv",
    "/results/record",
]


def test_nobody_gets_a_404_while_fits_end(studio, project):
    """A fit of the majority takes a moment: one of them always ends."""
    base, wrong, over = f"/api/projects/{project}", [], threading.Event()

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
        fits.append(studio.good("POST", f"{base}/fits", json={"method": "mv"})["id"])
        for fit in fits[-3:]:
            assert studio.get(f"{base}/fits/{fit}").status_code == 200
    studio.settled(project)
    over.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_who_sees_that_a_reading_has_failed_sees_why(studio, project, monkeypatch):
    """The reason is stored before the job says that it has failed, and the job is looked at first."""
    services, seen = studio.services, []
    run, get = services.store.run, services.store.project

    def run_later(sql, *values):
        if "failure = ?" in sql:
            seen.append(services.jobs.latest[project].state)
        return run(sql, *values)

    monkeypatch.setattr(services.store, "run", run_later)
    assert "no such column" in studio.read(project, task="no such column")["failure"]
    assert seen == ["running"]

    job = services.jobs.latest[project]
    job.state = "running"

    def get_late(project):
        found = get(project)
        job.state = "failed"
        return found

    monkeypatch.setattr(services.store, "project", get_late)
    assert describe(services, project).job.state == "running"


def test_a_fit_takes_what_another_project_knows_and_where_to_run(studio, project):
    earlier = studio.read_sample(studio.folder)
    studio.fit(earlier, "ds")
    fits = f"/api/projects/{project}/fits"
    studio.good("POST", fits, json={"method": "ds", "prior": earlier, "threads": 2})
    assert studio.settled(project)["job"]["state"] == "done"
    result = studio.services.workspace.shown(project).result
    assert result.known_annotators == len(result.annotator_names)
    wrong = [
        ({"prior": project}, 409),
        ({"prior": 9999}, 404),
        ({"threads": 0}, 422),
        ({"engine": "x"}, 422),
    ]
    for choice, status in wrong:
        assert studio.post(fits, json={"method": "ds", **choice}).status_code == status
