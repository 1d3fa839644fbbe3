"""A real Chromium, driven by Playwright. With FINEGOLD_CI, tests fail where there is none, instead of being skipped."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

from tests.support.studio_helpers import OPTION

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="module", name="browser")
def chromium():
    if not Path(CHROMIUM).exists():
        say = pytest.fail if os.environ.get("FINEGOLD_CI") else pytest.skip
        say(f"there is no {CHROMIUM}; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture(name="page")
def studio_page(browser, studio):
    """The studio's first view. Nothing that it shows names an option of the command line; no script fails."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(120_000)
    page = context.new_page()
    complaints = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(studio.link)
    page.wait_for_selector("#drop")
    yield page
    assert not OPTION.search(page.inner_text("main"))
    context.close()
    assert complaints == []
