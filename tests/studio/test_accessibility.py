"""All views, light and dark, from a desk to a phone: axe-core finds nothing, and no word is broken or cut."""

import os
from importlib import resources

import polars as pl
import pytest

from tests.support.judge_log import simulate_log
from tests.studio.test_judges import opened
from tests.studio.test_walks import votes_for_sets
from tests.support.browser import first_view
from tests.support.studio_helpers import studio_in_thread

VIEWS = {
    "columns": "#models-read",
    "method": "#fits",
    "overview": "#models",
    "tasks": "#tasks tr.open",
    "tasks/2": "#task h2",
    "annotators": "#annotators tr.open",
    "annotators/0": "#annotators",
    "classes": "table.heat",
    "judge": "#judging",
    "measure": "#draw",
    "people": "#people",
    "export": ".exports",
    "tasks?doubt=predicted": "#tasks tr.open",
}
MODEL = "task,cat,non-dog\n" + "".join(
    f"{t},{0.9 if t % 3 else 0.2},{0.1 if t % 3 else 0.8}\n" for t in range(45)
)
TABLE = "task,worker,label,text,Priority\n" + "".join(
    f"{t},w{w},{'cat' if (t * w) % 7 else 'non-dog'},This is what was shown as task {t},low\n"
    for t in range(40)
    for w in range(5)
)
VIOLATIONS = """async () => (await axe.run()).violations.flatMap((one) =>
    one.nodes.map((node) => `${one.id}: ${node.target} ${node.failureSummary}`))"""
# Words that are broken over two lines, numbers that are torn from their unit, headings that end in dots, cut tables.
BROKEN = """() => {
    const lines = (range) => {
        const parts = [...range.getClientRects()].filter((one) => one.width > 1);
        return new Set(parts.map((one) => Math.round(one.top))).size;
    };
    const range = document.createRange();
    const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    const broken = [];
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        for (const word of node.data.matchAll(/[^\\s/–-]+/g)) {
            range.setStart(node, word.index);
            range.setEnd(node, word.index + word[0].length);
            if (lines(range) > 1) broken.push(word[0]);
        }
    }
    const isTorn = (cell) => {
        range.selectNodeContents(cell);
        return !cell.children.length && lines(range) > 1;
    };
    const isCut = (one) => one.scrollWidth > one.clientWidth + 1 && !one.querySelector(".heat");
    const torn = [...document.querySelectorAll("main td.number")].filter(isTorn);
    const names = [...document.querySelectorAll("main .heat:not(.tiny) th, main .list small")].filter(isCut);
    const tables = [...document.querySelectorAll("main .scroll:not(.preview)")].filter(isCut);
    const isWide = /\\/(columns|method)$/.test(location.hash);  // tables that may be scrolled
    return [...broken, ...[...torn, ...names, ...(isWide ? [] : tables)].map((one) => one.innerText.slice(0, 60))];
}"""


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
        (folder / "sets.csv").write_text(votes_for_sets(range(20)))
        pl.DataFrame(simulate_log(6, 4, 80, seed=2).columns).write_csv(folder / "log.csv")
        project = client.open("votes.csv")
        client.judge(project, 1, "cat")
        client.at(project, "POST", "/predictions?name=model.csv", content=MODEL)
        client.fit(project, "ds")
        sets = client.open("sets.csv", task="post", annotator="who", label="topics", multi=True)
        client.views = {f"{project}/{view}": sign for view, sign in VIEWS.items()}
        client.views |= {
            f"{sets}/columns": "#sets",
            f"{sets}/tasks": "#tasks tr.open",
            f"{sets}/judge": "#judging",
        }
        client.views |= {f"{opened(client, 'log.csv')[0]}/judges": "#leaderboard"}
        client.views[str(client.create("bad.csv"))] = "#read, #problem"
        yield client


@pytest.mark.parametrize(
    ("width", "scheme"), [(1440, "light"), (1024, "dark"), (1024, "light"), (420, "dark")]
)
def test_nothing_is_wrong_with_any_view(browser, studio, axe, width, scheme):
    wrong, pictures = (
        {},
        os.environ.get("FINEGOLD_PICTURES"),
    )  # a folder for screenshots of all views
    with first_view(browser, studio, width, color_scheme=scheme) as page:

        def look(view):
            page.wait_for_function("() => !document.querySelector('.spin')")
            page.evaluate(axe)
            wide = page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            wrong[view] = [
                *page.evaluate(VIOLATIONS),
                *page.evaluate(BROKEN),
                *([f"{wide} pixels"] if wide > 0 else []),
            ]
            if pictures:
                page.screenshot(
                    path=f"{pictures}/{view.replace('/', '-')}-{scheme}-{width}.png", full_page=True
                )

        look("home")
        for view, sign in studio.views.items():
            page.goto(f"{studio.address}/#/p/{view}")
            page.wait_for_selector(sign)
            if view.endswith("/judges"):
                page.wait_for_selector("#chart-judge-ranking svg")
            look(view)
            if sign.endswith("tr.open"):  # a row is opened beside the table
                cell = (
                    page.locator("tbody .label >> nth=0").bounding_box()
                    if "tasks" in view
                    else {"x": 0, "width": 0}
                )
                assert cell["x"] + cell["width"] <= width
                page.click(f"{sign} >> nth=0")
                page.wait_for_selector(
                    "#task .note" if "predicted" in view else ".beside .judge-name"
                )
                box = page.locator(".beside").bounding_box()
                assert width > 1000 or box["y"] + box["height"] == pytest.approx(
                    900, abs=1
                )  # where the thumb is
                look(f"{view}, with a row opened")
    assert {view: found for view, found in wrong.items() if found} == {}
