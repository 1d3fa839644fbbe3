"""A real Chromium, driven by Playwright. With FINEGOLD_CI, tests fail where there is none, instead of being skipped."""

import os
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.support.studio_helpers import OPTION

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
DROP = """([name, text]) => {
    const files = new DataTransfer();
    files.items.add(new File([text], name));
    const event = new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
    document.getElementById("drop").dispatchEvent(event);
}"""
expect.set_options(timeout=10_000)  # a busy machine is no failure


@pytest.fixture(scope="module", name="browser")
def chromium():
    if not Path(CHROMIUM).exists():
        say = pytest.fail if os.environ.get("FINEGOLD_CI") else pytest.skip
        say(f"there is no {CHROMIUM}; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def new_page(browser, width=1280, **more):
    """A page of its own, in which no script may fail."""
    context = browser.new_context(viewport={"width": width, "height": 900}, **more)
    context.set_default_timeout(30_000)  # a fresh checkout compiles its kernels first
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield page
    context.close()
    assert complaints == []


@contextmanager
def first_view(browser, studio, width=1280, **more):
    with new_page(browser, width, **more) as page:
        page.goto(studio.link)
        page.wait_for_selector("#drop")
        yield page


@pytest.fixture(name="page")
def studio_page(browser, studio):
    """The studio's first view. Nothing that it shows names an option of the command line."""
    with first_view(browser, studio) as page:
        yield page
        assert not OPTION.search(page.inner_text("main"))


def current_task(page):
    page.wait_for_selector("#judging")
    return page.get_attribute("#judging", "data-task")


def press(page, key):
    """A key, and the next task."""
    before = current_task(page)
    page.keyboard.press(key)
    page.wait_for_function(
        "before => document.getElementById('judging').dataset.task !== before", arg=before
    )


def drop(page, name, text):
    """Drop a file on the first view."""
    page.wait_for_selector("#drop")
    page.evaluate(DROP, [name, text])


def fits_the_width(page):
    return page.evaluate(
        "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
    )
