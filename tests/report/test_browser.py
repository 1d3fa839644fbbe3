"""The report in a real browser, from disk: tables sort and filter, nothing of the data runs."""

import re
from contextlib import contextmanager

import pytest
from playwright.sync_api import expect

import finegold
from finegold.report import write_report
from tests.support.browser import chromium  # noqa: F401  # the fixture "browser"
from tests.support.hostile import HOSTILE, RUNS
from tests.support.report_helpers import EVIL, SAMPLE, evil_votes

# of texts in heat maps: the contrast with their cell, on the page's background
CONTRASTS = """() => {
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4))
    .reduce((sum, c, k) => sum + c * [.2126, .7152, .0722][k], 0);
  const page = numbers(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll(".cell + text")].map((text) => {
    const cell = text.previousElementSibling, share = Number(cell.getAttribute("fill-opacity"));
    const colour = numbers(getComputedStyle(cell).fill);
    const under = light(colour.map((c, k) => page[k] + share * (c - page[k])));
    const over = light(numbers(getComputedStyle(text).fill));
    return (Math.max(under, over) + .05) / (Math.min(under, over) + .05);
  });
}"""


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
    """A page that fits the screen, loads nothing but its own file, and complains of nothing."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, complaints = context.new_page(), []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: complaints.append(message.text))
    page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: complaints.append(request.url))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    yield page
    context.close()
    assert [words for words in complaints if not words.startswith("file:")] == []


@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (420, "light")])
def test_names_from_the_data_stay_text_and_numbers_in_cells_can_be_read(
    browser, reports, width, scheme
):
    with opened(browser, reports / "evil.html", width, scheme) as page:
        page.locator("#annotator-table summary").first.click()
        expect(page.locator("#annotator-table .opened .plot").first).to_be_visible()
        page.locator("#task-table summary").first.click()
        assert page.locator("img").count() == 0
    with opened(browser, reports / "sample.html", width, scheme) as page:
        contrasts = page.evaluate(CONTRASTS)
        assert len(contrasts) > 100
        assert min(contrasts) >= 4.5


@pytest.mark.parametrize("has_policy", [True, False])
def test_hostile_names_run_nothing_with_the_policy_and_without(browser, tmp_path, has_policy):
    """Forty tasks, annotators and titles; the classes are three others for each report."""
    for n in range(0, 40, 10):
        path, names = tmp_path / f"{n}.html", (*HOSTILE[n:], *HOSTILE[:n])
        write_report(finegold.aggregate(evil_votes(40, 40, names)), path, title=" ".join(names))
        text = path.read_text(encoding="utf-8")
        without = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        assert without != text
        path.write_text(text if has_policy else without, encoding="utf-8")
        with opened(browser, path) as page:
            page.evaluate("document.querySelectorAll('details').forEach((d) => (d.open = true))")
            for summary in page.locator("#task-table summary").all()[:3]:
                summary.click()
            page.wait_for_timeout(300)
            assert page.evaluate(RUNS) == []


def test_the_table_of_tasks_sorts_filters_pages_and_opens(browser, reports):
    with opened(browser, reports / "sample.html") as page:
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
            for cell in shown.locator("tr:first-child td:nth-child(3)").all()
        ]
        assert found == sorted(found, reverse=True)
        page.get_by_label("flipped", exact=True).uncheck()
        assert shown.count() == 5
        expect(page.locator("form[data-for=task-table] .found")).to_have_text("5 of 21 rows match")
        expect(shown.first.locator("tr.opened")).to_be_hidden()
        shown.first.locator("summary").press("Enter")
        expect(shown.first.locator("tr.opened")).to_be_visible()
        expect(shown.first.locator("tr.opened li").first).to_contain_text("voted")
        page.fill("form[data-for=task-table] input[type=search]", "no such name")
        assert shown.count() == 0


def test_light_and_dark_follow_the_system_and_the_button(browser, reports):
    background = "getComputedStyle(document.body).backgroundColor"
    with opened(browser, reports / "sample.html", 420, "dark") as page:
        assert page.evaluate(background) == "rgb(19, 22, 27)"
        page.locator("#theme").click()
        assert page.evaluate(background) == "rgb(255, 255, 255)"
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate(background) == "rgb(255, 255, 255)"


def test_without_scripts_the_tables_and_figures_are_there(browser, reports):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((reports / "sample.html").as_uri())
    assert page.locator("#task-table tbody:visible").count() == 21
    page.locator("#task-table summary").first.click()
    expect(page.locator("#task-table tr.opened").first).to_be_visible()
    expect(page.locator("#chart-confusion .cell").first).to_be_visible()
    expect(page.locator("form[data-for=task-table]")).to_be_hidden()
    context.close()
