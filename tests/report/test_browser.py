"""The report in a real browser, from disk: charts are drawn, tables sort and filter, nothing of the data runs."""

from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

import finegold
from finegold.report import write_report
from tests.support.browser import chromium  # noqa: F401  # the fixture "browser"
from tests.support.report_helpers import EVIL, SAMPLE, evil_votes


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """sample: as people have it; evil: an attack in every name."""
    folder = tmp_path_factory.mktemp("reports")
    write_report(
        finegold.aggregate(SAMPLE / "votes.csv", "ptbcc"),
        folder / "sample.html",
        SAMPLE / "truth.csv",
    )
    write_report(finegold.aggregate(evil_votes(), "ptbcc"), folder / "evil.html", title=EVIL)
    return folder


@contextmanager
def opened(browser, path, width=1440, scheme="light"):
    """A page that draws its charts, fits the screen, loads nothing but its own file, and complains of nothing."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: complaints.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_function(
        "document.querySelectorAll('.plot svg').length === document.querySelectorAll('.plot').length"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    yield page
    context.close()
    assert [
        words for words in complaints if not words.startswith(("file:", "data:", "blob:"))
    ] == []


@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (420, "light")])
def test_names_from_the_data_stay_text_in_tooltips_and_lists(browser, reports, width, scheme):
    with opened(browser, reports / "evil.html", width, scheme) as page:
        assert page.locator(".plot svg").count() >= 11
        page.locator(
            "#chart-ranking svg path[aria-label], #chart-ranking svg .mark-symbol path"
        ).first.hover()
        expect(page.locator("#vg-tooltip-element")).to_contain_text("alert(2)")
        assert page.locator("#vg-tooltip-element img").count() == 0
        page.select_option("#annotator-choice", index=1)
        expect(page.locator("#annotator-words")).to_contain_text("<img src=x onerror=alert(2)>")
        page.locator("#task-table button.more").first.click()
        assert page.locator("img").count() == 0


def test_the_table_of_tasks_sorts_filters_pages_and_opens_and_a_chart_is_saved(browser, reports):
    with opened(browser, reports / "sample.html") as page:
        assert page.locator(".plot svg").count() >= 11
        table = page.locator("#task-table")
        shown = table.locator("tbody:not([hidden])")
        assert shown.count() == 12
        page.locator(".pager[data-for=task-table] button").click()
        assert shown.count() == 21
        by_confidence = table.locator("thead th", has_text="confidence")
        by_confidence.locator("button").click()
        assert by_confidence.get_attribute("aria-sort") == "descending"
        found = [
            float(cell.get_attribute("data-value"))
            for cell in shown.locator("td:nth-child(3)").all()
            if cell
        ]
        assert found == sorted(found, reverse=True)
        page.get_by_label("flipped", exact=True).uncheck()
        assert shown.count() == 5
        expect(page.locator("form[data-for=task-table] .found")).to_have_text("5 of 21 rows match")
        shown.first.locator("button.more").press("Enter")
        expect(shown.first.locator("tr.votes")).to_be_visible()
        expect(shown.first.locator("tr.votes li").first).to_contain_text("voted")
        page.fill("form[data-for=task-table] input[type=search]", "no such name")
        assert shown.count() == 0
        with page.expect_download() as download:
            page.locator("#chart-balance").get_by_role(
                "button", name="Save this chart as SVG"
            ).click()
        assert download.value.suggested_filename == "finegold-balance.svg"
        assert download.value.path().read_text().startswith("<svg")


def test_light_and_dark_follow_the_system_and_the_button(browser, reports):
    background = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, reports / "sample.html", 420, "dark") as page:
        assert page.locator(".plot svg").count() >= 11
        assert page.evaluate(background) == "rgb(19, 22, 27)"
        page.locator("#theme").click()
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate(background) == "rgb(255, 255, 255)"


def test_without_scripts_the_tables_are_there(browser, reports):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((reports / "sample.html").as_uri())
    assert page.locator("#task-table tbody:visible").count() == 21
    expect(page.locator("#task-table tr.votes").first).to_be_visible()
    expect(page.locator("form[data-for=task-table]")).to_be_hidden()
    context.close()
