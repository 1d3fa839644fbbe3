"""The studio in a real browser: what a person does, from a dropped file to exported labels."""

import csv
import json
import os
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

import finegold
from finegold.methods.registry import DEFAULT_METHOD
from tests.support.exports_made import annotation, choices
from tests.support.studio_helpers import SAMPLE, running, studio_in_thread

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
expect.set_options(timeout=20_000)  # a busy machine is no failure
VIEWS = ["columns", "method", "overview", "tasks", "annotators", "classes", "judge", "export"]
DROP = """([name, text]) => {
    const files = new DataTransfer();
    files.items.add(new File([text], name));
    const event = new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
    document.getElementById("drop").dispatchEvent(event);
}"""


@pytest.fixture(scope="module")
def browser():
    if not Path(CHROMIUM).exists():
        say = pytest.fail if os.environ.get("FINEGOLD_CI") else pytest.skip
        say(f"there is no {CHROMIUM}; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser):
    """A page of its own that must not complain in its console."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(120_000)  # a fresh checkout compiles its kernels first
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    yield page
    context.close()
    assert complaints == []


def drop(page, name, text):
    page.wait_for_selector("#drop")
    page.evaluate(DROP, [name, text])
    page.wait_for_selector("#read")


def read_votes(page):
    page.click("#read")
    page.wait_for_selector("#label-them")
    open_view(page, "method")
    page.wait_for_selector("#fit")


def fit(page):
    page.click("#fit")
    expect(page.locator("#fits tbody tr", has_text=DEFAULT_METHOD)).to_contain_text("shown", timeout=180_000)


def open_view(page, name):
    page.goto(re.sub(r"(#/p/\d+).*", rf"\1/{name}", page.url))


def current_task(page):
    return page.get_attribute("#judging", "data-task")


def press(page, key):
    """A key, and the next task."""
    before = current_task(page)
    page.keyboard.press(key)
    page.wait_for_function("before => document.getElementById('judging').dataset.task !== before", arg=before)


def test_from_a_dropped_table_to_exported_labels_and_a_restart(page, tmp_path):
    table = SAMPLE.read_text().replace("task,annotator,label", "unit,who,what", 1)
    with running(tmp_path) as studio:
        page.goto(studio.link)
        assert "token" not in page.url
        drop(page, "votes.csv", table)
        choose_columns(page)
        read_votes(page)
        fit(page)
        filter_tasks(page)
        open_view(page, "judge")
        page.wait_for_selector("#judging")
        judged = []
        for key in "12341":
            judged.append(current_task(page))
            press(page, key)
        expect(page.locator("#judged")).to_have_text("5 truths")
        press(page, "u")
        expect(page.locator("#judged")).to_have_text("4 truths")
        assert current_task(page) == judged[-1]
        press(page, "s")  # skip
        page.click("#refit")
        expect(page.locator("#effect")).to_contain_text(f"({DEFAULT_METHOD})", timeout=180_000)
        labels = exported_labels(page, tmp_path)
        assert [labels[task] for task in judged[:4]] == ["cat", "dog", "fox", "owl"]
        studio.kill()
    with running(tmp_path) as studio:
        page.goto(studio.link)
        page.click("a:has-text('votes.csv')")
        page.wait_for_selector(".tiles")
        expect(page.locator(".tile", has_text="truths used")).to_contain_text("4")
        open_view(page, "method")
        expect(page.locator("#fits tbody tr", has_text=DEFAULT_METHOD)).to_contain_text("shown")
        assert exported_labels(page, tmp_path) == labels


def choose_columns(page):
    """Nothing but the task is called as usual."""
    expect(page.locator("main")).to_contain_text("No column was found for the annotator or the label")
    for role, column in (("task", "unit"), ("annotator", "who"), ("label", "what")):
        page.select_option(f"#column-{role}", column)
    expect(page.locator("th", has_text="who")).to_contain_text("annotator")


def filter_tasks(page):
    open_view(page, "tasks")
    page.wait_for_selector("#tasks tr.open")
    page.select_option("#filter-doubt", "flipped")
    flipped = len(finegold.aggregate(SAMPLE).flips())
    expect(page.locator("#tasks .pager small")).to_have_text(f"1 to {flipped} of {flipped}")
    page.select_option("#filter-label", label="owl")
    expect(page.locator("#tasks tbody tr").first).to_contain_text("owl")
    page.click("#tasks tbody tr >> nth=0")
    expect(page.locator("#task")).to_contain_text("how much each supports owl")


def exported_labels(page, folder):
    open_view(page, "export")
    with page.expect_download() as download:
        page.click("text=labels.csv")
    path = folder / "exported.csv"
    download.value.save_as(path)
    with path.open(newline="") as file:
        return {next(iter(row.values())): row["label"] for row in csv.DictReader(file)}


def test_a_label_studio_export_with_two_questions(page, tmp_path):
    def one(task):
        mood = ["good", "bad"][task % 2]
        votes = [annotation(who, choices("mood", mood), choices("topic", "food")) for who in (1, 2)]
        return {"id": task, "data": {"text": f"text {task}"}, "annotations": votes}

    export = json.dumps([one(task) for task in range(1, 7)])
    with studio_in_thread(tmp_path) as studio:
        page.goto(studio.link)
        drop(page, "export.json", export)
        expect(page.locator("main")).to_contain_text("Label Studio export")
        page.select_option("#column-question", "mood")
        read_votes(page)
        fit(page)
        labels = exported_labels(page, tmp_path)
        assert labels == {str(task): ["good", "bad"][task % 2] for task in range(1, 7)}
        with page.expect_download() as download:
            page.click("text=predictions.json")
        tasks = json.loads(Path(download.value.path()).read_text())
        found = tasks[0]["predictions"][0]["result"][0]
        assert (found["from_name"], found["value"]) == ("mood", {"choices": ["bad"]})


def test_markup_in_every_field_is_shown_as_text(page, tmp_path):
    """Of the file's name, the columns, the tasks, the annotators and the labels."""

    def evil(what):
        return f"<script>window.evil='{what}'</script><img src=x onerror=\"window.evil='{what}'\">"

    rows = [[evil(f"task{t}"), evil(f"who{a}"), evil(f"label{(t + a) % 2}")] for t in range(6) for a in range(3)]
    path = tmp_path / "evil.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["task", "annotator", "label"], *rows])
    with studio_in_thread(tmp_path) as studio:
        page.goto(studio.link)
        drop(page, f"{evil('file')}.csv", path.read_text())
        expect(page.locator("td", has_text="task0").first).to_have_text(evil("task0"))
        read_votes(page)
        fit(page)
        for view in VIEWS:
            open_view(page, view)
            expect(page.locator(".tabs [aria-current]")).to_be_visible()
            page.wait_for_timeout(100)
            assert page.evaluate("window.evil") is None, view
            assert page.locator("main script, main img:not([src^='/static/'])").count() == 0, view
        open_view(page, "tasks")
        page.click("#tasks tbody tr >> nth=0")
        expect(page.locator("#task .judge-name")).to_contain_text("<script>window.evil=")
        assert page.evaluate("window.evil") is None


def test_a_wrong_token_gets_nothing(page, tmp_path):
    with studio_in_thread(tmp_path) as studio:
        answer = page.goto(f"{studio.address}/?token=wrong")
        assert answer.status == 401
        assert page.locator("#drop").count() == 0
        assert page.goto(f"{studio.address}/").status == 401
        assert page.goto(studio.link).status == 200


def test_a_file_beyond_the_limit_is_refused_before_it_is_sent(page, tmp_path):
    with studio_in_thread(tmp_path, most_bytes=2**20) as studio:
        page.goto(studio.link)
        page.wait_for_selector("#drop")
        sent = []
        page.on("request", lambda request: sent.append(request.url))
        page.evaluate(DROP, ["big.csv", "x" * (2**20 + 1)])
        expect(page.locator("#drop .note")).to_contain_text("At most 1 MiB can be sent")
        assert not [url for url in sent if "uploads" in url]


def test_another_tab_sees_what_this_one_does(page, tmp_path):
    (tmp_path / "votes.csv").write_text(SAMPLE.read_text())
    with studio_in_thread(tmp_path) as studio:
        page.goto(studio.link)
        page.click("button:has-text('Open')")
        read_votes(page)
        open_view(page, "judge")
        page.wait_for_selector("#judging")
        other = page.context.new_page()
        other.goto(page.url)
        other.wait_for_selector("#judging")
        same = current_task(page)
        press(page, "1")
        expect(other.locator("#judged")).to_have_text("1 truth")
        assert current_task(other) != same


def test_a_fit_is_watched_and_cancelled(page, tmp_path):
    with studio_in_thread(tmp_path) as studio:
        project = studio.read_sample(tmp_path)
        page.goto(studio.link)
        page.goto(f"{studio.address}/#/p/{project}/method")
        endless = {"method": "ptbcc", "settings": {"tolerance": 0.0, "max_iterations": 10_000_000}}
        studio.good("POST", f"/api/projects/{project}/fits", json=endless)
        expect(page.locator("#progress h2")).to_contain_text("iteration", timeout=180_000)
        expect(page.locator("#progress path")).to_be_visible()
        page.click("#cancel")
        expect(page.locator("main")).to_contain_text("ptbcc was cancelled")


def test_a_posted_batch_is_removed_with_a_button(browser, tmp_path):
    with studio_in_thread(tmp_path) as studio:
        project = studio.good("POST", "/api/projects", json={})["id"]
        for label in ("cat", "dog"):
            vote = {"task": 1, "annotator": label, "label": label}
            studio.good("POST", f"/api/projects/{project}/votes", json={"votes": [vote]})
        page = browser.new_page()
        page.on("dialog", lambda dialog: dialog.accept())
        page.goto(studio.link)
        page.goto(f"{studio.address}/#/p/{project}/method")
        expect(page.locator("#posted li")).to_have_count(2)
        page.click("[aria-label='Remove batch 1']")
        expect(page.locator("#posted li")).to_have_count(1)
        assert [batch["id"] for batch in studio.good("GET", f"/api/projects/{project}/posted")] == [2]
        page.close()
