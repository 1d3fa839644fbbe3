"""Logs of LLM judges in the studio: how they are recognised and read, their figures, and the view in a browser."""

import json

import polars as pl
import pytest
from playwright.sync_api import expect

import finegold
from finegold.studio.gold import set_truth
from finegold.studio.reading import guess_log
from finegold.studio.results import MAX_KEPT
from tests.support.judge_log import simulate_log
from tests.support.browser import drop, first_view, fits_the_width
from tests.support.studio_helpers import refused, studio_in_thread

CHARTS = ["judge-position", "judge-pairs", "judge-panels", "judge-ranking"]


@pytest.fixture(scope="module")
def frame():
    return pl.DataFrame(simulate_log(6, 4, 120, seed=2).columns)


@pytest.fixture(scope="module")
def studio(frame, tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    frame.write_csv(folder / "log.csv")
    with studio_in_thread(folder) as client:
        yield client


def opened(studio, name):
    """A project whose file is read as the preview proposes, and the preview."""
    project = studio.create(name)
    seen = studio.at(project, "GET", "/preview")
    state = studio.read(project, **seen["guess"])
    assert state["job"]["state"] == "done", state["job"]["message"]
    return project, seen


def test_a_judge_log_is_recognised_and_read_with_the_swap_undone(studio, frame):
    project, seen = opened(studio, "log.csv")
    assert seen["is_judge_log"]
    guess = {name: seen["guess"][name] for name in ("shape", "task", "annotator", "label")}
    assert guess == {"shape": "judges", "task": "item", "annotator": "judge", "label": "verdict"}
    facts = studio.at(project, "GET")["fits"][0]["facts"]
    log = finegold.judges.read(frame)
    assert (facts["n_tasks"], facts["n_annotators"]) == (120, 6)
    assert facts["counts"]["left_out"] == {"calls that failed": log.n_failed}
    assert facts["n_votes"] <= 120 * 6 < log.n_verdicts


def test_figures_are_those_of_the_library_field_by_field(studio, frame):
    project, _ = opened(studio, "log.csv")
    found = studio.at(project, "GET", "/judges")
    report = finegold.judges.assess(frame)
    assert found == report.to_dict()
    assert [one["system"] for one in found["ranking"]] == [
        one.system for one in report.rank().standings
    ]
    charts = studio.at(project, "GET", "/judges/charts")
    assert sorted(charts) == sorted(set(CHARTS) - {"judge-panels"})  # which need truths
    assert all(
        chart["note"] and chart["alt"] and chart["spec"]["datasets"] for chart in charts.values()
    )


@pytest.mark.parametrize(
    "choice",
    [{"verdicts": "answer"}, {"kind": "pointwise"}, {"verdict_map": "[[A]]=B,[[B]]=A"}],
    ids=str,
)
def test_what_verdicts_mean_can_be_chosen(studio, frame, choice):
    calls = frame.select("item", "judge", "order", "verdict")
    calls.write_csv(studio.folder / "calls.csv")
    expected = finegold.judges.assess(finegold.judges.read(calls, **choice))
    assert expected.scores != finegold.judges.assess(calls).scores
    project = studio.open("calls.csv", shape="judges", judges=choice)
    rows = studio.at(project, "GET", "/judges")["judges"]
    assert rows == expected.to_dict()["judges"]


def test_few_views_stay_in_memory(studio):
    for _ in range(MAX_KEPT + 1):
        project, _ = opened(studio, "log.csv")
        studio.at(project, "GET", "/judges/charts")
    assert len(studio.services.judge_views) == MAX_KEPT


def test_truths_given_in_the_studio_correct_the_accuracies_if_they_are_of_this_log(studio, frame):
    project, _ = opened(studio, "log.csv")
    before = studio.at(project, "GET", "/judges")
    assert not before["by_gold"]
    for task, label in (("of another reading", "A"), (1, "no verdict")):
        set_truth(studio.services.store, project, task, label)
    assert studio.at(project, "GET", "/judges") == before
    for item in range(25):
        assert studio.judge(project, item, "A").status_code < 300
    after = studio.at(project, "GET", "/judges")
    assert after["by_gold"]
    assert before["judges"][0]["accuracy"] is None
    assert 0 < after["judges"][0]["accuracy"]["value"] < 1
    # A column of truths that the user names does so, too.
    frame.with_columns(right=pl.when(pl.col("item") < 25).then(pl.lit("A"))).write_csv(
        studio.folder / "known.csv"
    )
    project = studio.open("known.csv", shape="judges", gold="right")
    assert studio.at(project, "GET")["fits"][0]["facts"]["gold"] == 25
    assert studio.at(project, "GET", "/judges")["by_gold"]


def test_what_the_reader_notices_in_a_log_is_said(studio, frame):
    with_others = pl.concat([frame.head(300), frame.tail(20).with_columns(system_b="system_a")])
    with_others.write_csv(studio.folder / "alike.csv")
    project, _ = opened(studio, "alike.csv")
    assert (
        studio.at(project, "GET")["job"]["warnings"]
        == finegold.judges.read(with_others).notes
        != []
    )


def test_other_votes_have_no_view_of_judges(studio, project):
    refused(
        studio.get(f"/api/projects/{project}/judges"),
        409,
        "This project is not a log of LLM judges",
    )
    assert not studio.at(project, "GET", "/preview")["is_judge_log"]


def test_a_judge_whose_calls_all_failed_has_no_figures(studio, frame):
    broken = frame.with_columns(
        verdict=pl.when(judge="acme-small").then(pl.lit("ERROR: timeout")).otherwise("verdict")
    )
    broken.write_csv(studio.folder / "broken.csv")
    project, _ = opened(studio, "broken.csv")
    rows = studio.at(project, "GET", "/judges")["judges"]
    assert {row["judge"]: row["failed"] for row in rows}["acme-small"] == 1
    assert set(studio.at(project, "GET", "/judges/charts")) == set(CHARTS) - {"judge-panels"}


def test_pairwise_exports_are_read_as_judge_logs(studio):
    games = [
        {
            "question_id": q,
            "judge": judge,
            "model": model,
            "baseline": "base",
            "games": [{"score": a}, {"score": b}],
        }
        for q in range(30)
        for judge in ("j1", "j2")
        for model, a, b in (("good", "B>A", "A>B"), ("bad", "A>B", "B>A" if q % 3 else "A=B"))
    ]
    (studio.folder / "arena.jsonl").write_text("\n".join(map(json.dumps, games)))
    project, _ = opened(studio, "arena.jsonl")
    ranking = studio.at(project, "GET", "/judges")["ranking"]
    assert [one["system"] for one in ranking] == ["good", "base", "bad"]


@pytest.mark.parametrize(
    ("columns", "is_log"),
    [
        ({"task": [1, 2], "annotator": ["a", "b"], "label": ["x", "y"]}, False),
        ({"task": [1, 2], "annotator": ["a", "b"], "label": ["A", "B"], "order": [1, 57]}, False),
        ({"task": [1, 2], "judge": ["a", "b"], "label": ["x", "y"]}, False),
        ({"item": [1, 2], "judge": ["a", "b"], "verdict": ["pass", "ERROR"]}, True),
        ({"item": [1, 2], "model": ["a", "b"], "order": ["AB", "BA"], "winner": ["A", "B"]}, True),
        (
            {
                "item": [1],
                "rater": ["a"],
                "model_a": ["x"],
                "model_b": ["y"],
                "winner": ["model_a"],
            },
            True,
        ),
        ({"item": [1, 2], "verdict": ["A", "B"]}, False),
    ],
)
def test_what_a_judge_log_looks_like(columns, is_log):
    assert (guess_log(pl.DataFrame(columns)) is not None) == is_log


def test_a_wrong_choice_of_columns_is_refused_and_named(studio):
    job = studio.read(studio.create("log.csv"), shape="judges", judges={"order": "cost"})["job"]
    assert job["state"] == "failed"
    assert 'the column "cost" has other values than AB and BA' in job["message"]


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (420, "dark")])
def test_a_dropped_log_shows_judges_charts_and_a_leaderboard_and_names_are_text(
    browser, studio, frame, width, scheme
):
    evil = "<img src=x onerror=\"window.evil='yes'\">"
    alike = pl.concat([frame, frame.tail(20).with_columns(system_b="system_a")])
    table = pl.concat([alike, alike.filter(judge="acme-large").with_columns(judge=pl.lit("copy"))])
    table = table.with_columns(*(pl.col(name) + evil for name in ("judge", "system_a", "system_b")))
    with first_view(browser, studio, width, color_scheme=scheme) as page:
        complaints = []
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type == "error" else None,
        )
        drop(page, "dropped.csv", table.write_csv())
        expect(page.locator("#column-shape")).to_have_value("judges")
        expect(page.locator("#column-annotator")).to_have_value("judge")
        page.click("#read")
        page.wait_for_selector("#judges")
        rows = page.locator("#judges tbody tr")
        expect(rows).to_have_count(7)
        expect(page.locator("#judges thead")).to_contain_text("position bias")
        for name in set(CHARTS) - {"judge-panels"}:
            expect(page.locator(f"#chart-{name} svg")).to_be_visible()
        expect(page.locator("#leaderboard tbody tr")).to_have_count(4)
        expect(page.locator("#leaderboard tbody tr").first).to_contain_text(evil)
        notes = studio.at(int(page.url.split("/")[-2]), "GET", "/judges")["notes"]
        assert notes
        for note in notes:
            expect(page.locator("main .note").first).to_contain_text(note)
        assert fits_the_width(page)
        page.locator("#chart-judge-position .mark-symbol path").last.hover()
        expect(page.locator("#vg-tooltip-element")).to_be_visible()
        assert page.locator("main img, #vg-tooltip-element img").count() == 0
        assert page.evaluate("window.evil") is None
        assert complaints == []
