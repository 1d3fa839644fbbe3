"""Judging in a real browser: blind, with undo after a skip, by two people, with content whose file was moved."""

from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from tests.support.browser import current_task, new_page, press
from tests.support.studio_helpers import studio_in_thread


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    with studio_in_thread(folder, reviewers=("ann", "bob")) as client:
        client.project = client.read_sample(folder)
        client.fit(client.project, "ds")
        yield client


@pytest.fixture
def opened(browser, studio):
    """A function that opens a page as the owner or as a reviewer."""
    with ExitStack() as pages:

        def open_page(view, who=None, project=studio.project):
            page = pages.enter_context(new_page(browser))
            page.goto(
                studio.link
                if who is None
                else f"{studio.address}/?token={studio.rules.token_of(who)}"
            )
            page.wait_for_selector("main h1")
            page.goto(f"{studio.address}/#/p/{project}/{view}")
            return page

        yield open_page


def test_tasks_are_judged_blindly_with_undo_after_a_skip_and_notes(opened, studio):
    page = opened("judge")
    current_task(page)
    assert page.locator("#judging .vote, #judging .share, #judging .badge").count() == 0
    expect(page.locator("#refit")).to_have_count(0)
    for key in "12":
        press(page, key)
    expect(page.locator("#last .vote")).to_have_count(5)  # the votes are shown after the decision
    skipped = current_task(page)
    press(page, "s")
    expect(page.locator("#aside")).to_contain_text("1 skipped")
    page.keyboard.press("u")
    expect(page.locator("#judging")).to_have_attribute("data-task", skipped)
    expect(page.locator("#judged")).to_have_text("2 truths")
    page.keyboard.press("n")
    page.keyboard.type("are these 1 or 2 cats?")
    page.keyboard.press("Escape")
    press(page, "m")
    expect(page.locator("#aside")).to_contain_text("1 sent back for more votes")
    at = studio.at(studio.project, "GET", "/tasks", params={"search": skipped})["rows"]
    notes = [studio.at(studio.project, "GET", f"/tasks/{row['at']}")["note"] for row in at]
    assert "are these 1 or 2 cats?" in notes
    expect(page.locator("#refit")).to_contain_text("Refit with 2 new truths")
    expect(page.locator("#reviewers tbody tr")).to_contain_text("without a name")
    page.click("#judge-settings summary")
    page.uncheck("#blind")
    expect(page.locator("#judging .vote")).to_have_count(5)
    page.check("#blind")
    expect(page.locator("#judging .vote")).to_have_count(0)


def test_two_reviewers_judge_at_once_under_their_names_and_see_no_lists_until_the_owner_opens_them(
    opened, studio
):
    pages, place = (
        {name: opened("judge", name) for name in ("ann", "bob")},
        f"/api/projects/{studio.project}",
    )
    seen = {"ann": [], "bob": []}
    for _ in range(3):
        for name, page in pages.items():
            seen[name].append(current_task(page))
            press(page, "1")
    assert set(seen["ann"]).isdisjoint(seen["bob"])
    who = {str(one["task"]): one["reviewer"] for one in studio.at(studio.project, "GET", "/gold")}
    for name, tasks in seen.items():
        assert {who[task] for task in tasks} == {name}
    ann = pages["ann"]
    expect(ann.locator("#reviewers tbody tr", has_text="bob")).to_contain_text("3")
    assert ann.locator("#refit, #blind").count() == 0
    ann.goto(f"{studio.address}/#/p/{studio.project}/tasks")
    expect(ann.locator("main")).to_contain_text("This project is judged blindly")
    ann.goto(f"{studio.address}/#/p/{studio.project}")
    current_task(ann)
    expect(ann.locator(".tabs a")).to_have_text(["Judge", "Measure"])
    studio.good("PATCH", place, json={"blind": False})
    expect(ann.locator(".tabs a")).to_have_count(7)
    ann.click(".tabs a:has-text('Tasks')")
    expect(ann.locator("#tasks tbody tr").first).to_be_visible()
    studio.good("PATCH", place, json={"blind": True})


def test_the_content_of_a_task_is_shown_after_its_file_was_moved(opened, studio):
    rows = "".join(
        f"{t},{who},cat,text {t},http://127.0.0.1:9/{t}.png\n" for t in (1, 2) for who in ("x", "y")
    )
    (studio.folder / "page.csv").write_text(f"task,worker,label,text,picture\n{rows}")
    project = studio.open("page.csv")
    (studio.folder / "page.csv").rename(studio.folder / "elsewhere.csv")
    page = opened("judge", project=project)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    expect(page.locator("#judging .content")).to_contain_text(f"text {current_task(page)}")
    expect(page.locator("#judging .content .note")).to_contain_text("127.0.0.1:9")
    assert not [url for url in asked if url.endswith(".png")]
    page.click("#load-remote")
    expect(page.locator("#judging .content img")).to_have_count(1)
    assert [url for url in asked if url.endswith(".png")]
