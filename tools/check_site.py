"""Looks at the built documentation in a browser: python tools/check_site.py [SITE] [--pictures FOLDER]

Every page is opened at the width of a screen and of a phone. Problems: content wider than the page, pictures and local
links that lead nowhere, Markdown that was not rendered, and a search that finds nothing.
Needs Chromium (on Debian: apt-get install chromium).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser, TimeoutError, sync_playwright

ROOT = Path(__file__).parents[1]
CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
]
WIDTHS = (1440, 420)  # pixels
SHOWN = (
    "index",
    "csv",
    "label_studio",
    "llm_judges",
    "predictions",
    "studio",
    "choosing",
    "rivals",
    "cli",
)
LOOK = """() => {
  const RAW = /\\*\\*\\w|\\]\\(|^\\s*\\|.*\\|\\s*$|^#{1,6} |<!--|```|\\[\\/?(?:bold|dim|italic)\\]/gm;
  const article = document.querySelector('article') || document.body;
  const prose = article.cloneNode(true);
  prose.querySelectorAll('pre, code, script, style').forEach((node) => node.remove());
  return {
    wide: document.documentElement.scrollWidth - window.innerWidth,
    pictures: [...article.querySelectorAll('img')].filter((img) => !img.naturalWidth).map((img) => img.src),
    links: [...document.querySelectorAll('a[href]')].map((link) => link.href),
    ids: [...document.querySelectorAll('[id]')].map((node) => node.id),
    raw: prose.textContent.match(RAW) || [],
  };
}"""


def main(site: Path, pictures: Path | None) -> int:
    """Print a line per problem."""
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        found, seen = look_at_pages(browser, site, pictures)
        found += search_problems(browser, site)
        browser.close()
    found += broken_links(site, seen)
    print(
        "\n".join(found)
        or f"{len(seen)} pages: nothing is too wide, and no link or picture is broken."
    )
    return int(bool(found))


def look_at_pages(
    browser: Browser, site: Path, pictures: Path | None
) -> tuple[list[str], dict[Path, dict[str, Any]]]:
    """Return the problems of each page by itself, and what was seen on each page."""
    found, seen = [], {}
    paths = sorted(
        set(site.rglob("*.html")) - {site / "404.html"}
    )  # its links start at the root of a server
    for width in WIDTHS:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme="light")
        for path in paths:
            page.goto(path.resolve().as_uri())
            seen[path] = page.evaluate(LOOK)
            found += [
                f"{path.relative_to(site)} at {width} pixels: {text}"
                for text in problems(seen[path])
            ]
            if pictures and path.stem in SHOWN:
                page.screenshot(path=pictures / f"{path.stem}-{width}.png")
    return found, seen


def search_problems(browser: Browser, site: Path) -> Iterator[str]:
    """Yield a problem if the search finds nothing, opened from the disk."""
    page = browser.new_page()
    page.goto((site / "index.html").resolve().as_uri())
    page.click(".md-search__input")
    page.keyboard.type("annotator", delay=30)
    try:
        page.wait_for_selector(".md-search-result__item", timeout=10_000)
    except TimeoutError:
        yield "index.html: the search finds nothing"


def problems(page: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a page by itself."""
    if page["wide"] > 0:
        yield f"its content is {page['wide']} pixels wider than the page"
    yield from (f"the picture {source} is missing" for source in page["pictures"])
    yield from (f"this is not rendered: {text.strip()}" for text in page["raw"])


def broken_links(site: Path, seen: dict[Path, dict[str, Any]]) -> Iterator[str]:
    """Yield the local links whose file or anchor is not there."""
    ids = {path.resolve(): set(page["ids"]) for path, page in seen.items()}
    for path, page in seen.items():
        for link in sorted(set(page["links"])):
            parts = urlsplit(link)
            target = Path(unquote(parts.path))
            if parts.scheme != "file" or target.is_dir():
                continue
            missing_anchor = (
                target in ids and parts.fragment and unquote(parts.fragment) not in ids[target]
            )
            if not target.exists() or missing_anchor:
                yield f"{path.relative_to(site)}: the link to {target.name}#{parts.fragment} leads nowhere"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", nargs="?", type=Path, default=ROOT / "site")
    parser.add_argument("--pictures", type=Path, help="the folder for pictures of some pages")
    arguments = parser.parse_args()
    sys.exit(main(arguments.site, arguments.pictures))
