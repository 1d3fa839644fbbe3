"""A real Chromium, driven by Playwright. With KARAT_CI, tests fail where there is none, instead of being skipped."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = "/usr/bin/chromium"
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.fixture(scope="module", name="browser")
def chromium():
    if not Path(CHROMIUM).exists():
        say = pytest.fail if os.environ.get("KARAT_CI") else pytest.skip
        say(f"there is no {CHROMIUM}; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield browser
        browser.close()
