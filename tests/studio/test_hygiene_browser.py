"""What was read, and the table of spellings, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.studio.test_reading import DIRTY, post
from tests.support.browser import chromium  # noqa: F401  # the fixture "browser"
from tests.support.studio_helpers import studio_in_thread

expect.set_options(timeout=20_000)


@pytest.fixture(params=["light", "dark"])
def page(request, browser):
    size = {"width": 420, "height": 900} if request.param == "dark" else {"width": 1280, "height": 900}
    context = browser.new_context(viewport=size, color_scheme=request.param)
    context.set_default_timeout(120_000)
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []


def opened(page, folder, client):
    (folder / "v.csv").write_text(DIRTY)
    project = client.good("POST", "/api/projects", json={"file": "v.csv"})["id"]
    page.goto(client.link)
    page.wait_for_selector("#drop")
    page.goto(f"{client.address}/#/p/{project}/columns")
    page.click("#read")
    page.wait_for_selector("#what-was-read")
    return project


def fits_the_width(page):
    return page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_findings_are_shown_before_the_fit_and_the_proposed_spellings_can_be_used(page, tmp_path):
    with studio_in_thread(tmp_path) as client:
        project = opened(page, tmp_path, client)
        shown = page.locator("#what-was-read")
        expect(shown).to_contain_text("3 classes look like 2: Cat (6) = cat (6)")
        expect(shown).to_contain_text("“NA”, which means no vote")
        assert "--" not in page.inner_text("main")
        assert fits_the_width(page)
        rows = page.locator("#alias .alias")
        expect(rows).to_have_count(1)
        assert [rows.locator("input").nth(i).input_value() for i in (0, 1)] == ["cat", "Cat"]
        page.screenshot(path=tmp_path / "picture.png", full_page=True)
        rows.locator("input").nth(0).fill("Cat")
        rows.locator("input").nth(1).fill("cat")
        page.click("#use-alias")
        expect(shown).not_to_contain_text("look like")
        state = client.settled(project)
        assert state["reading"]["alias"] == {"Cat": "cat"}
        expect(page.locator("#alias .alias")).to_have_count(1)  # the choice can be changed


def test_all_look_alikes_are_merged_by_one_button_and_kept_apart_again(page, tmp_path):
    with studio_in_thread(tmp_path) as client:
        project = opened(page, tmp_path, client)
        page.click("#normalise")
        expect(page.locator("#normalise")).to_have_text("Keep look-alikes apart")
        expect(page.locator("#spellings")).to_contain_text("1 class has several spellings that were merged")
        assert client.settled(project)["reading"]["normalise"] is True
        page.goto(f"{client.address}/#/p/{project}/method")
        page.wait_for_selector("#fit")
        expect(page.locator("#findings")).to_have_count(0)
        page.goto(f"{client.address}/#/p/{project}/columns")
        page.click("#normalise")
        expect(page.locator("#what-was-read")).to_contain_text("3 classes look like 2")


def test_posted_votes_have_the_same_cards_on_the_page_of_methods(page, tmp_path):
    with studio_in_thread(tmp_path) as client:
        project = client.good("POST", "/api/projects", json={"name": "posted"})["id"]
        post(client, project, ("t1", "ann", "cat"), ("t1", "bob", "Cat"), ("t1", "eve", "cat"))
        client.fit(project, "mv")
        page.goto(client.link)
        page.wait_for_selector("#drop")
        page.goto(f"{client.address}/#/p/{project}/method")
        expect(page.locator("#what-was-read")).to_contain_text("2 classes look like 1: cat (2) = Cat (1)")
        assert fits_the_width(page)
        page.on("dialog", lambda dialog: dialog.accept())
        page.click("#use-alias")
        expect(page.locator("#what-was-read")).not_to_contain_text("look like")
