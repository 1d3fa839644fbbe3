"""Makes the documentation's pictures of pages, from real pages in a real browser: python tools/make_screenshots.py

Needs the dependency group "dev", and Chromium (on Debian: apt-get install chromium).
"""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
from playwright.sync_api import Browser, Page, sync_playwright

import finegold
from finegold.errors import FinegoldWarning
from finegold.methods.lookup import DEFAULT_METHOD
from finegold.votes.sample import write_with_texts

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SAMPLE = Path(finegold.__file__).parent / "votes" / "sample"
ANIMALS = (
    Path(__file__).parents[1] / "tests" / "data" / "animals"
)  # classes that are easy to misspell
MARGIN = 30  # pixels
CHROMIUM = "/usr/bin/chromium"
# Pages of the studio, each with what shows that it is there.
STUDIO = {"labels": "#tasks tbody tr", "judge": "#judging .choice"}
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        pictures_of_the_report(browser, Path(folder) / "report.html")
        pictures_of_the_studio(browser, Path(folder) / "studio")
        pictures_of_what_was_read(browser, Path(folder) / "dirty")
        pictures_of_judges(browser, Path(folder) / "judges")
        browser.close()


def pictures_of_the_report(browser: Browser, path: Path) -> None:
    with opened(browser, report(path), 1200, 900) as page:
        page.screenshot(path=IMAGES / "report.png")
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(500)
        page.screenshot(path=IMAGES / "report-dark.png")
        page.emulate_media(color_scheme="light")
        page.locator("#task-table summary").first.click()
        picture(page, "#tasks", "report-tasks.png")
        picture(page, "#annotators", "report-annotators.png")
    with opened(browser, report(path, "ptbcc"), 1200, 900, "dark") as page:
        picture(page, "#prototypes", "report-prototypes-dark.png")


def report(path: Path, method: str = DEFAULT_METHOD) -> Path:
    from finegold.report import write_report

    command = "finegold report votes.csv --truth truth.csv" + (
        "" if method == DEFAULT_METHOD else f" --method {method}"
    )
    result = finegold.aggregate(SAMPLE / "votes.csv", method)
    write_report(result, path, SAMPLE / "truth.csv", title="votes.csv", command=command)
    return path


def pictures_of_the_studio(browser: Browser, folder: Path) -> None:
    folder.mkdir()
    write_with_texts(folder / "votes.csv")
    with started(folder) as link:
        page = browser.new_page(viewport={"width": 1200, "height": 860})
        page.goto(link)
        page.click("#take")
        page.wait_for_selector("#found", timeout=60_000)
        for view, ready in STUDIO.items():
            page.goto(f"{link.partition('?')[0]}#/p/1/{view}")
            page.wait_for_selector(ready)
            page.wait_for_timeout(500)
            page.screenshot(path=IMAGES / f"studio-{view}.png")
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(500)
        page.screenshot(path=IMAGES / "studio-judge-dark.png")
        page.set_viewport_size({"width": 420, "height": 860})
        page.goto(f"{link.partition('?')[0]}#/p/1/labels")
        page.wait_for_selector(STUDIO["labels"])
        page.wait_for_timeout(500)
        page.screenshot(path=IMAGES / "studio-labels-phone.png")
        page.close()


def pictures_of_what_was_read(browser: Browser, folder: Path) -> None:
    """The same dirty file in the studio and in the report."""
    folder.mkdir()
    rows = (ANIMALS / "votes.csv").read_text("utf-8").splitlines()
    for place, old, new in (
        (7, "dog", "Dog"),
        (11, "cat", " cat"),
        (13, "fox", "FOX"),
        (17, "dog", "NA"),
        (19, "cat", "?"),
    ):
        rows[place::40] = [row.replace(old, new) for row in rows[place::40]]
    (folder / "votes.csv").write_text("\n".join([*rows, ""]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FinegoldWarning)
        finegold.aggregate(folder / "votes.csv").report(folder / "report.html")
    with opened(browser, folder / "report.html", 1200, 900) as page:
        picture(page, "#reading", "report-reading.png")
    with started(folder) as link:
        page = browser.new_page(viewport={"width": 1200, "height": 860})
        page.goto(link)
        page.click("#take")
        page.wait_for_selector("#classes", timeout=60_000)
        page.screenshot(
            path=IMAGES / "studio-reading.png", full_page=True, clip=_above(page, "#found")
        )
        page.close()


def pictures_of_judges(browser: Browser, folder: Path) -> None:
    """The log of the guide on LLM judges, in the report."""
    # the log of the tests is not installed
    sys.path.append(str(Path(__file__).parents[1]))
    from tests.support.judge_log import simulate_log

    folder.mkdir()
    drawn = simulate_log(6, 4, 400, seed=2)
    pl.DataFrame(drawn.columns).write_csv(folder / "log.csv")
    with started(folder, "log.csv") as link:
        page = browser.new_page(viewport={"width": 1200, "height": 860})
        page.goto(link)
        page.wait_for_selector("#log-reading")
        picture(page, ".draft", "studio-log.png")
        page.close()
    truths = zip(drawn.truth["item"], drawn.truth["truth"], strict=True)
    known = dict(list(truths)[:60])
    finegold.judges.assess(folder / "log.csv", gold=known).report(folder / "report.html")
    with opened(browser, folder / "report.html", 1200, 900) as page:
        page.add_style_tag(
            content="nav { position: static !important; }"
        )  # it would cover the picture
        picture(page, "#judges", "report-judges.png")


def _above(page: Page, selector: str) -> dict[str, float]:
    """The page from its top to the end of an element."""
    box = page.locator(selector).bounding_box()
    assert box is not None
    return {"x": 0, "y": 0, "width": 1200, "height": box["y"] + box["height"] + MARGIN}


@contextmanager
def started(folder: Path, file: str = "votes.csv") -> Iterator[str]:
    """A studio as users start it. -> its address"""
    command = [sys.executable, "-m", "finegold", "studio", file, "--no-browser"]
    studio = subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert studio.stdout is not None
    link = studio.stdout.readline().strip()
    port = int(re.search(r":(\d+)/", link)[1])
    for _ in range(600):  # it prints the address a moment before it listens
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    try:
        yield link
    finally:
        studio.terminate()
        studio.wait()


def picture(page: Page, selector: str, name: str) -> None:
    """A part of the page, with some of what is around it."""
    box = page.locator(selector).bounding_box()
    assert box is not None
    top = box["y"] + page.evaluate("scrollY")
    clip = {
        "x": box["x"] - MARGIN,
        "y": top,
        "width": box["width"] + 2 * MARGIN,
        "height": box["height"],
    }
    page.screenshot(path=IMAGES / name, clip=clip, full_page=True)


@contextmanager
def opened(
    browser: Browser, path: Path, width: int, height: int, scheme: str = "light"
) -> Iterator[Page]:
    """The page of a file."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    page.goto(path.as_uri())
    yield page
    context.close()


if __name__ == "__main__":
    main()
