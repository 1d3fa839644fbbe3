"""The path of a person in a real browser: from a file that needs a choice to labels, without a dead end."""

import time

import pytest
from playwright.sync_api import expect

from tests.studio.test_reading import LATIN, workbook
from tests.support.browser import chromium, studio_page  # noqa: F401  # the fixtures "browser" and "page"
from tests.support.studio_helpers import OPTION, studio_in_thread

expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    with studio_in_thread(folder) as client:
        yield client


def open_project(page, studio, **new):
    project = studio.good("POST", "/api/projects", json=new)["id"]
    page.goto(f"{studio.address}/#/p/{project}")
    return project


def test_the_sample_leads_to_labels_and_names_the_next_steps(page):
    page.click("#sample")
    page.click("#read")
    expect(page.locator("#what-was-read")).to_contain_text("1,500 votes by 30 annotators on 300 tasks, 4 classes.")
    page.click("#label-them")
    expect(page.locator("#next-steps li")).to_have_count(3, timeout=180_000)
    expect(page.locator("#next-steps")).to_contain_text("Judge doubtful tasks")
    expect(page.locator("#next-steps")).to_contain_text("Export the labels")
    assert not OPTION.search(page.inner_text("main"))
    page.click("#next-steps a >> nth=0")
    page.wait_for_selector("#judging")


def test_a_fit_that_ends_while_the_overview_is_loaded_is_shown(page, studio):
    project = studio.good("POST", "/api/sample")["id"]
    page.goto(f"{studio.address}/#/p/{project}")
    page.click("#read")
    page.wait_for_selector("#label-them:enabled")

    def answer_late(route):
        while studio.good("GET", f"/api/projects/{project}")["job"]["state"] in {"queued", "running"}:
            time.sleep(0.1)
        time.sleep(1.0)  # the page hears of the end before it can show the view
        route.continue_()

    page.route("**/results", answer_late, times=1)
    page.click("#label-them")
    expect(page.locator("#next-steps li")).to_have_count(3, timeout=180_000)


def test_a_workbook_with_two_sheets_and_its_truths(page, studio):
    workbook(studio.folder / "book.xlsx")
    (studio.folder / "known.csv").write_text("unit,right\n1,x\n")
    open_project(page, studio, file="book.xlsx")
    expect(page.locator("#problem")).to_contain_text("holds the sheets")
    page.select_option("#layout-sheet", "votes")
    expect(page.locator("#problem")).to_have_count(0)
    page.click("#read")
    page.wait_for_selector("#label-them")
    page.select_option("#truth-name", "known.csv")
    page.select_option("#truth-task", "unit")
    page.select_option("#truth-label", "right")
    page.click("#use-truth-columns")
    expect(page.locator("#truths .note")).to_contain_text("1 truth of known.csv will be used")


def test_a_latin_1_file_is_repaired_where_the_message_is(page, studio):
    (studio.folder / "latin.csv").write_bytes(LATIN)
    open_project(page, studio, file="latin.csv")
    expect(page.locator("#problem")).to_contain_text("latin.csv")
    page.click("#repair")
    expect(page.locator("#problem")).to_have_count(0)
    expect(page.locator(".preview")).to_contain_text("café")
    page.click("#read")
    expect(page.locator("#what-was-read")).to_contain_text("3 votes")


def test_a_file_that_cannot_be_read_says_so_and_is_repaired_or_removed(page, studio):
    (studio.folder / "bad.csv").write_text("task,worker,label,other\n1,x,cat,dog\n,y,dog,dog\n")
    project = open_project(page, studio, file="bad.csv")
    page.click("#read")
    expect(page.locator("#problem")).to_contain_text("row 2")
    page.goto(f"{studio.address}/#/")
    expect(page.locator("li", has_text="bad.csv").first).to_contain_text("could not be read")
    page.goto(f"{studio.address}/#/p/{project}")
    expect(page.locator("#problem")).to_be_visible()
    page.select_option("#column-label", "other")
    expect(page.locator("#problem")).to_have_count(0)  # the box goes with its cause
    (studio.folder / "bad.csv").unlink()
    page.reload()
    expect(page.locator("main")).to_contain_text("There is no such file in the folder")
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#remove")
    page.wait_for_selector("#drop")
    assert studio.get(f"/api/projects/{project}").status_code == 404


def many_classes():
    rows = [
        f"{t},w{w},class {(t if w or t % 3 else t + 1) % 50},text about number {t}"
        for t in range(400)
        for w in range(3)
    ]
    return "\n".join(["task,worker,label,text", *rows, ""])


def test_looking_at_tasks_annotators_and_fifty_classes(page, studio):
    (studio.folder / "many.csv").write_text(many_classes())
    project = studio.good("POST", "/api/projects", json={"file": "many.csv"})["id"]
    studio.good("PUT", f"/api/projects/{project}/votes", json={})
    studio.settled(project)
    studio.fit(project, "ds")
    page.goto(f"{studio.address}/#/p/{project}/classes")
    expect(page.locator("table.heat.tiny tbody tr")).to_have_count(50)
    assert page.locator("table.heat.tiny tbody td").first.inner_text() == ""
    page.goto(f"{studio.address}/#/p/{project}/tasks")
    page.fill("input[type=search]", "number 123")
    expect(page.locator("#tasks tbody tr")).to_have_count(1)
    expect(page.locator("#tasks tbody tr")).to_contain_text("text about number 123")
    page.fill("input[type=search]", "number 12")
    expect(page.locator("#tasks tbody tr")).to_have_count(11)
    page.locator("input[type=search]").blur()
    for place in (0, 1, 0):
        page.keyboard.press("ArrowUp" if place == 0 else "ArrowDown")
        expect(page.locator("#tasks tbody tr").nth(place)).to_have_attribute("aria-selected", "true")
        expect(page.locator("#task .judge-name")).to_have_text(page.locator("#tasks a.name").nth(place).inner_text())
    page.goto(f"{studio.address}/#/p/{project}/annotators")
    expect(page.locator("#annotators tbody tr").first).to_contain_text("w0")  # the worst first
    page.click("#annotators tbody tr >> nth=0")
    expect(page.locator("#annotator-votes li").first).to_contain_text("label class")
    expect(page.locator(".beside table.heat tbody tr")).to_have_count(50)
    page.goto(f"{studio.address}/#/p/{project}/judge")
    page.wait_for_selector("#judging")
    task = page.get_attribute("#judging", "data-task")
    page.keyboard.press("/")
    page.keyboard.type("CLASS 47")
    expect(page.locator(".choice:visible")).to_have_count(1)
    page.keyboard.press("Enter")
    expect(page.locator("#history")).to_contain_text("class 47")
    assert studio.gold(project) == {int(task): "class 47"}
    page.emulate_media(color_scheme="dark")
    page.goto(f"{studio.address}/#/p/{project}/overview")
    marks = page.locator(".legend i")
    expect(marks).to_have_count(4)
    colours = marks.evaluate_all("all => all.map((one) => getComputedStyle(one).backgroundColor)")
    assert len(set(colours)) == 4
