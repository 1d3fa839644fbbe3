"""axe-core finds nothing in any view, light and dark, at the width of a desk and of a phone."""

import os
from importlib import resources

import polars as pl
import pytest

from finegold.votes.simulation import draw_judges, simulate_log
from tests.studio.test_judges import opened
from tests.support.browser import first_view
from tests.support.studio_helpers import studio_in_thread

VIEWS = {
    "columns": "#models-read",
    "method": "#fits",
    "overview": "#models",
    "tasks": "#tasks tr.open",
    "annotators": "#annotators tr.open",
    "classes": "table.heat",
    "judge": "#judging",
    "measure": "#draw",
    "people": "#people",
    "export": ".exports",
}
MODEL = "task,cat,dog\n" + "".join(f"{t},{0.9 if t % 3 else 0.2},{0.1 if t % 3 else 0.8}\n" for t in range(45))
TABLE = "task,worker,label,text\n" + "".join(
    f"{t},w{w},{'cat' if (t * w) % 7 else 'dog'},This is what was shown as task {t}\n"
    for t in range(40)
    for w in range(5)
)
WRONG = """async () => (await axe.run()).violations.flatMap((one) =>
    one.nodes.map((node) => `${one.id}: ${node.target} ${node.failureSummary}`))"""


@pytest.fixture(scope="module")
def axe():
    try:
        return (resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    except ModuleNotFoundError:
        say = pytest.fail if os.environ.get("FINEGOLD_CI") else pytest.skip
        say("axe-playwright-python is not installed; see pyproject.toml")


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studio")
    with studio_in_thread(folder) as client:
        (folder / "votes.csv").write_text(TABLE)
        (folder / "bad.csv").write_text("a\n")
        client.project = client.open("votes.csv")
        client.judge(client.project, 1, "cat")
        client.at(client.project, "POST", "/predictions?name=model.csv", content=MODEL)
        client.fit(client.project, "ds")
        client.bad = client.create("bad.csv")
        pl.DataFrame(simulate_log(draw_judges(4, 3, seed=2), 60, seed=2).columns).write_csv(folder / "log.csv")
        client.log, _ = opened(client, "log.csv")
        yield client


def wrong_with(page, axe):
    page.wait_for_function("() => !document.querySelector('.spin')")
    page.evaluate(axe)
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return [*page.evaluate(WRONG), *([f"the page is {wide} pixels too wide"] if wide > 0 else [])]


@pytest.mark.parametrize(("scheme", "width"), [("light", 1440), ("dark", 420)])
def test_nothing_is_found_in_any_view(browser, studio, axe, scheme, width):
    with first_view(browser, studio, width, color_scheme=scheme) as page:
        found = check_all_views(page, studio, axe, scheme, width)
    assert [f"{view}: {wrong}" for view, all_wrong in found.items() for wrong in all_wrong] == []


def check_all_views(page, studio, axe, scheme, width):
    found = {"home": wrong_with(page, axe)}
    pictures = os.environ.get("FINEGOLD_PICTURES")  # a folder for screenshots of all views
    for view, sign in VIEWS.items():
        page.goto(f"{studio.address}/#/p/{studio.project}/{view}")
        page.wait_for_selector(sign)
        if view in ("tasks", "annotators"):
            page.click(f"{sign} >> nth=0")
            page.wait_for_selector(".beside .judge-name")
            box = page.locator(".beside").bounding_box()
            assert width > 1000 or box["y"] + box["height"] == pytest.approx(900, abs=1)  # where the thumb is
        found[view] = wrong_with(page, axe)
        if pictures:
            page.screenshot(path=f"{pictures}/{view}-{scheme}-{width}.png", full_page=True)
    page.goto(f"{studio.address}/#/p/{studio.project}/tasks?doubt=predicted")
    page.click("#tasks tr.open >> nth=0")
    page.wait_for_selector("#task .note")
    found["predictions only"] = wrong_with(page, axe)
    page.goto(f"{studio.address}/#/p/{studio.log}/judges")
    page.wait_for_selector("#leaderboard")
    page.wait_for_selector("#chart-judge-ranking svg")
    found["LLM judges"] = wrong_with(page, axe)
    if pictures:
        page.screenshot(path=f"{pictures}/judges-{scheme}-{width}.png", full_page=True)
    page.goto(f"{studio.address}/#/p/{studio.bad}")
    page.wait_for_selector("#read, #problem")
    found["bad file"] = wrong_with(page, axe)
    return found
