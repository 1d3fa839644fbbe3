"""The studio in a real browser: what a person does, from a file that needs a choice to exported labels."""

import csv
import json
import re
import time
from pathlib import Path

from playwright.sync_api import expect

import finegold
from finegold.io.options import ReadOptions
from finegold.methods.lookup import DEFAULT_METHOD
from finegold.options import options_of
from tests.studio.test_reading import DIRTY, LATIN, has_words_of_programs, workbook
from tests.support.browser import (
    DROP,
    current_task,
    drop,
    first_view,
    fits_the_width,
    new_page,
    press,
)
from tests.support.exports_made import annotation, choices
from tests.support.studio_helpers import OPTION, SAMPLE

PLACED = {
    "task",
    "annotator",
    "label",
    "question",
    "include",
    "alias",
    "encoding",
    "separator",
    "header",
    "format",
}
VIEWS = ["columns", "method", "overview", "tasks", "annotators", "classes", "judge", "export"]


def open_project(page, studio, view="", **new):
    project = studio.good("POST", "/api/projects", json=new)["id"]
    page.goto(f"{studio.address}/#/p/{project}{view}")
    return project


def read_votes(page):
    page.click("#read")
    page.wait_for_selector("#label-them")
    open_view(page, "method")
    page.wait_for_selector("#fit")


def fit(page):
    page.click("#fit")
    expect(page.locator("#fits tbody tr", has_text=DEFAULT_METHOD)).to_contain_text(
        "shown", timeout=180_000
    )


def open_view(page, name):
    page.goto(re.sub(r"(#/p/\d+).*", rf"\1/{name}", page.url))


def test_from_a_dropped_table_to_exported_labels(page, tmp_path):
    assert "token" not in page.url
    drop(page, "votes.csv", SAMPLE.read_text().replace("task,annotator,label", "unit,who,what", 1))
    choose_columns(page)
    read_votes(page)
    fit(page)
    filter_tasks(page)
    open_view(page, "judge")
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
    open_view(page, "overview")  # the page of exports tells how to load a model in Python
    page.wait_for_selector(".tiles")


def choose_columns(page):
    """Nothing has a usual name. The form has every declared option of the reader."""
    page.wait_for_selector("#read")
    expect(page.locator("main")).to_contain_text(
        "No column was found for the annotator or the label"
    )
    for role, column in (("task", "unit"), ("annotator", "who"), ("label", "what")):
        page.select_option(f"#column-{role}", column)
    expect(page.locator("th", has_text="who")).to_contain_text("annotator")
    declared = options_of(ReadOptions, "studio")
    shown = {
        *page.locator("#more [id^=option-]").evaluate_all(
            "all => all.map((each) => each.id.slice(7))"
        )
    }
    assert shown == {
        name for name, each in declared.items() if name not in PLACED and each.kind != "flag"
    }
    offered = page.locator("#option-repeated option").evaluate_all(
        "all => all.map((each) => each.value)"
    )
    assert offered == list(declared["repeated"].choices)
    assert declared["missing"].help.rstrip(".") in page.locator("#more").text_content()


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
    def task(number):
        mood = ["good", "bad"][number % 2]
        votes = [annotation(who, choices("mood", mood), choices("topic", "food")) for who in (1, 2)]
        return {"id": number, "data": {"text": f"text {number}"}, "annotations": votes}

    drop(page, "export.json", json.dumps([task(number) for number in range(1, 7)]))
    expect(page.locator("main")).to_contain_text("Label Studio export")
    page.select_option("#column-question", "mood")
    read_votes(page)
    fit(page)
    assert exported_labels(page, tmp_path) == {
        str(number): ["good", "bad"][number % 2] for number in range(1, 7)
    }
    with page.expect_download() as download:
        page.click("text=predictions.json")
    tasks = json.loads(Path(download.value.path()).read_text())
    found = tasks[0]["predictions"][0]["result"][0]
    assert (found["from_name"], found["value"]) == ("mood", {"choices": ["bad"]})
    open_view(page, "overview")  # the page of exports tells how to load a model in Python
    page.wait_for_selector(".tiles")


def test_markup_in_every_field_is_shown_as_text(browser, studio, tmp_path):
    """Of the file's name, the columns, the tasks, the annotators and the labels."""

    def evil(what):
        return f"<script>window.evil='{what}'</script><img src=x onerror=\"window.evil='{what}'\">"

    rows = [
        [evil(f"task{t}"), evil(f"who{a}"), evil(f"label{(t + a) % 2}")]
        for t in range(6)
        for a in range(3)
    ]
    path = tmp_path / "evil.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["task", "annotator", "label"], *rows])
    with new_page(browser) as page:
        dialogs = []
        page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
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
        assert dialogs == []


def test_a_large_file_is_not_sent(page, studio, monkeypatch):
    monkeypatch.setattr(studio.services, "most_bytes", 2**20)
    page.reload()
    page.wait_for_selector("#drop")
    sent = []
    page.on("request", lambda request: sent.append(request.url))
    page.evaluate(DROP, ["big.csv", "x" * (2**20 + 1)])
    expect(page.locator("#drop .note")).to_contain_text("At most 1 MiB can be sent")
    assert not [url for url in sent if "uploads" in url]


def test_another_tab_sees_what_this_one_does_and_a_fit_is_watched_and_cancelled(page, studio):
    (studio.folder / "votes.csv").write_text(SAMPLE.read_text())
    page.reload()
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
    other.close()
    open_view(page, "method")
    project = re.search(r"/p/(\d+)", page.url)[1]
    endless = {"method": "ptbcc", "settings": {"tolerance": 0.0, "max_iterations": 10_000_000}}
    studio.at(project, "POST", "/fits", json=endless)
    expect(page.locator("#progress h2")).to_contain_text("iteration", timeout=180_000)
    expect(page.locator("#progress path")).to_be_visible()
    page.click("#cancel")
    expect(page.locator("main")).to_contain_text("ptbcc was cancelled")
    state = studio.settled(project)
    assert state["job"]["state"] == "cancelled"
    assert [each["state"] for each in state["fits"]] == ["done", "cancelled"]
    assert studio.fit(project, "mv")["job"]["state"] == "done"  # the studio goes on


def test_the_sample_leads_to_labels_and_names_the_next_steps(page, studio):
    page.click("#sample")
    page.click("#read")
    expect(page.locator("#what-was-read")).to_contain_text(
        "1,189 votes by 4 annotators on 300 tasks, 3 classes."
    )
    page.wait_for_selector("#label-them:enabled")
    project = re.search(r"/p/(\d+)", page.url)[1]

    def answer_late(route):
        while studio.at(project, "GET")["job"]["state"] in {"queued", "running"}:
            time.sleep(0.1)
        time.sleep(1.0)  # the page hears of the end of the fit before it can show the view
        route.continue_()

    page.route("**/results", answer_late, times=1)
    page.click("#label-them")
    expect(page.locator("#next-steps li")).to_have_count(4, timeout=180_000)
    expect(page.locator("#next-steps")).to_contain_text("Judge doubtful tasks")
    expect(page.locator("#next-steps")).to_contain_text("Measure the labels")
    expect(page.locator("#next-steps")).to_contain_text("Export the labels")
    assert not has_words_of_programs(page.inner_text("main"))
    page.click("#next-steps a >> nth=0")
    page.wait_for_selector("#judging")


def test_a_file_that_cannot_be_read_is_repaired_where_the_message_is_or_removed(page, studio):
    workbook(studio.folder / "book.xlsx")
    (studio.folder / "known.csv").write_text("unit,right\n1,x\n")
    (studio.folder / "bad.csv").write_text("task,worker,label,other\n1,x,cat,dog\n,y,dog,dog\n")
    (studio.folder / "latin.csv").write_bytes(LATIN)
    problem = page.locator("#problem")
    project = open_project(page, studio, file="bad.csv")
    page.click("#read")
    expect(problem).to_contain_text("row 2")
    page.goto(f"{studio.address}/#/")
    expect(page.locator("li", has_text="bad.csv").first).to_contain_text("could not be read")
    page.goto(f"{studio.address}/#/p/{project}")
    expect(problem).to_be_visible()
    page.select_option("#column-label", "other")
    expect(problem).to_have_count(0)  # the box goes with its cause
    (studio.folder / "bad.csv").unlink()
    page.reload()
    expect(page.locator("main")).to_contain_text("There is no such file in the folder")
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#remove")
    page.wait_for_selector("#drop")
    assert studio.get(f"/api/projects/{project}").status_code == 404
    open_project(page, studio, file="latin.csv")
    expect(problem).to_contain_text("latin.csv")
    page.click("#repair")
    expect(problem).to_have_count(0)
    expect(page.locator(".preview")).to_contain_text("café")
    page.click("#read")
    expect(page.locator("#what-was-read")).to_contain_text("3 votes")

    # A workbook with two sheets, and its truths.
    project = open_project(page, studio, file="book.xlsx")
    expect(problem).to_contain_text("holds the sheets")
    assert studio.at(project, "GET", "/preview")["sheets"] == ["votes", "notes"]
    page.select_option("#layout-sheet", "votes")
    expect(problem).to_have_count(0)
    page.click("#read")
    page.wait_for_selector("#label-them")
    page.select_option("#truth-name", "known.csv")
    page.select_option("#truth-task", "unit")
    page.select_option("#truth-label", "right")
    page.click("#use-truth-columns")
    expect(page.locator("#truths .note")).to_contain_text("1 truth of known.csv will be used")


def many_classes():
    rows = [
        f"{t},w{w},class {(t if w or t % 3 else t + 1) % 50},text about number {t}"
        for t in range(400)
        for w in range(3)
    ]
    return "\n".join(["task,worker,label,text", *rows, ""])


def test_looking_at_tasks_annotators_and_fifty_classes(page, studio):
    (studio.folder / "many.csv").write_text(many_classes())
    project = studio.open("many.csv")
    studio.fit(project, "ds")
    page.goto(f"{studio.address}/#/p/{project}/classes")
    expect(page.locator("table.heat.tiny tbody tr")).to_have_count(50)
    assert page.locator("table.heat.tiny tbody td").first.inner_text() == ""
    open_view(page, "tasks")
    page.fill("input[type=search]", "number 123")
    expect(page.locator("#tasks tbody tr")).to_have_count(1)
    expect(page.locator("#tasks tbody tr")).to_contain_text("text about number 123")
    page.fill("input[type=search]", "number 12")
    expect(page.locator("#tasks tbody tr")).to_have_count(11)
    page.locator("input[type=search]").blur()
    for place in (0, 1, 0):
        page.keyboard.press("ArrowUp" if place == 0 else "ArrowDown")
        expect(page.locator("#tasks tbody tr").nth(place)).to_have_attribute(
            "aria-selected", "true"
        )
        expect(page.locator("#task .judge-name")).to_have_text(
            page.locator("#tasks a.name").nth(place).inner_text()
        )
    held = []  # tasks that arrive when the user has gone on
    page.route("**/tasks?*", lambda route: held.append(route))
    with page.expect_request("**/tasks?*"):
        page.select_option("#filter-doubt", "flipped")
    open_view(page, "annotators")
    with page.expect_response("**/tasks?*"):
        held[0].continue_()
    page.unroute("**/tasks?*")
    page.evaluate("() => new Promise((wait) => setTimeout(wait, 50))")
    assert page.url.endswith("/annotators")
    expect(page.locator("#annotators tbody tr").first).to_contain_text("w0")  # the worst first
    page.click("#annotators tbody tr >> nth=0")
    expect(page.locator("#annotator-votes li").first).to_contain_text("label class")
    expect(page.locator(".beside table.heat tbody tr")).to_have_count(50)
    open_view(page, "judge")
    task = current_task(page)
    page.keyboard.press("/")
    page.keyboard.type("CLASS 47")
    expect(page.locator(".choice:visible")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#history")).to_contain_text("class 47")
    assert studio.gold(project) == {int(task): "class 47"}
    page.emulate_media(color_scheme="dark")
    open_view(page, "overview")
    marks = page.locator(".legend i")
    expect(marks).to_have_count(4)
    colours = marks.evaluate_all("all => all.map((each) => getComputedStyle(each).backgroundColor)")
    assert len(set(colours)) == 4


def test_findings_come_before_the_fit_spellings_are_chosen_and_a_batch_of_posted_votes_is_removed(
    browser, studio
):
    (studio.folder / "v.csv").write_text(DIRTY)
    with first_view(browser, studio, 420, color_scheme="dark") as page:
        page.on("dialog", lambda dialog: dialog.accept())
        project = open_project(page, studio, "/columns", file="v.csv")
        page.click("#read")
        shown, rows = page.locator("#what-was-read"), page.locator("#alias .alias")
        expect(shown).to_contain_text("3 classes look like 2: Cat (6) = cat (6)")
        expect(shown).to_contain_text("“NA”, which means no vote")
        assert not OPTION.search(page.inner_text("main"))
        assert fits_the_width(page)
        expect(rows).to_have_count(1)
        assert [rows.locator("input").nth(i).input_value() for i in (0, 1)] == ["cat", "Cat"]
        page.click(
            "#what-was-read .note button:has-text('Merge them')"
        )  # the remedy of the finding
        expect(page.locator("#normalise")).to_have_text("Keep look-alikes apart")
        expect(page.locator("#spellings")).to_contain_text(
            "1 class has several spellings that were merged"
        )
        assert studio.settled(project)["reading"]["normalise"] is True
        open_view(page, "method")
        page.wait_for_selector("#fit")
        expect(page.locator("#findings")).to_have_count(0)
        open_view(page, "columns")
        page.click("#normalise")
        expect(shown).to_contain_text("3 classes look like 2")
        rows.locator("input").nth(0).fill("Cat")
        rows.locator("input").nth(1).fill("cat")
        page.click("#use-alias")
        expect(shown).not_to_contain_text("look like")
        assert studio.settled(project)["reading"]["alias"] == {"Cat": "cat"}
        expect(rows).to_have_count(1)  # the choice can be changed

        posted = studio.good("POST", "/api/projects", json={"name": "posted"})["id"]
        studio.post_votes(posted, ("t1", "ann", "cat"), ("t1", "bob", "Cat"), ("t1", "eve", "cat"))
        studio.fit(posted, "mv")
        studio.post_votes(posted, ("t2", "ann", "dog"))
        page.goto(f"{studio.address}/#/p/{posted}/method")
        expect(shown).to_contain_text("2 classes look like 1: cat (2) = Cat (1)")
        assert fits_the_width(page)
        expect(page.locator("#posted li")).to_have_count(2)
        page.click("#posted li >> nth=0 >> button")
        expect(page.locator("#posted li")).to_have_count(1)
        assert [batch["n_votes"] for batch in studio.at(posted, "GET", "/posted")] == [3]
        page.click("#use-alias")
        expect(shown).not_to_contain_text("look like")
