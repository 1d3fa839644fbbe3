"""The documentation as a site: built without a warning, complete, and readable without the network."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import finegold
from finegold.methods.lookup import REGISTRY

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "hooks"))

MOST_BYTES_OF_A_PAGE = 300_000


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: it would keep warnings from --strict.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


class Fetched(HTMLParser):
    """Whatever a browser fetches to show a page, and where its links lead."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.needed: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.feed(page.read_text("utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.ids.add(given.get("id", ""))
        if tag == "a":
            self.links.append(given.get("href", ""))
        elif tag == "link" and given.get("rel") in ("canonical", "prev", "next"):
            return
        else:
            self.needed += [given[name] for name in ("src", "href") if name in given]


def test_every_page_is_made(site: Path) -> None:
    sources = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    pages = [path.with_suffix(".html") for path in sources if path.parent.name != "equations"]
    assert [str(page) for page in pages if not (site / page).exists()] == []
    assert "Labels that you can trust" in (site / "index.html").read_text("utf-8")


def test_nothing_is_fetched_from_the_network(site: Path) -> None:
    for page in site.rglob("*.html"):
        remote = [source for source in Fetched(page).needed if re.match(r"(https?:)?//", source)]
        assert remote == [], page.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//", sheet.read_text("utf-8")), sheet.name


def test_every_link_within_the_site_leads_somewhere(site: Path) -> None:
    pages = {
        page.resolve(): Fetched(page) for page in site.rglob("*.html") if page.name != "404.html"
    }
    lost = [
        f"{page.name}: {link}"
        for page, found in pages.items()
        for link in [*found.links, *found.needed]
        if not re.match(r"[a-z]+:|//", link) and not leads_somewhere(page, link, pages)
    ]
    assert lost == []


def leads_somewhere(page: Path, link: str, pages: dict[Path, Fetched]) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    return target.is_file() and (not anchor or target not in pages or anchor in pages[target].ids)


def test_equations_are_drawn_and_can_be_read_aloud(site: Path) -> None:
    page = (site / "reference" / "methods.html").read_text("utf-8")
    assert "```" not in page
    assert 'aria-label="\\phi_{ik}"' in page
    drawn = page.count('class="equations"')
    missing = "a method has no equations: write docs/reference/equations/<name>.md, then run tools/make_methods.py"
    assert drawn >= len(REGISTRY), missing


def test_a_block_of_equations_is_rows_of_left_right_and_words() -> None:
    import maths

    html = maths.block(
        "\\begin{aligned}\na &= b && \\text{less < more} \\\\\nc &\\sim d\n\\end{aligned}"
    )
    assert re.findall(r'aria-label="([^"]*)"', html) == ["a", "= b", "c", "\\sim d"]
    assert html.count("<div>") == 6
    assert "<div>less &lt; more</div>" in html
    assert html.count("<path") == 4


def test_the_reference_shows_what_is_public(site: Path) -> None:
    pages = [*(site / "reference" / "python").glob("*.html")]
    ids = set().union(*(Fetched(page).ids for page in pages))
    methods = (site / "reference" / "methods.html").read_text("utf-8")  # the classes of the methods
    named = {name.split(".")[1] for name in ids if name.startswith("finegold.")}
    shown = [name for name in finegold.__all__ if name in named or f"</code>: {name}" in methods]
    assert shown == finegold.__all__
    assert "finegold.Result.labels" in ids
    large = [page.name for page in pages if page.stat().st_size > MOST_BYTES_OF_A_PAGE]
    assert large == [], "a group of the reference is too large for one page"


def test_sections_of_docstrings_become_tables(site: Path) -> None:
    page = (site / "reference" / "python" / "trust.html").read_text("utf-8")
    shown = page[page.index('id="finegold.coverage"') :]
    assert "<th>Name</th>" in shown[: shown.index("Examples")]
    assert "Args:" not in page


def test_llms_txt_lists_every_page_with_a_sentence(site: Path) -> None:
    lines = (site / "llms.txt").read_text("utf-8").splitlines()
    listed = dict(re.findall(r"- \[.*?\]\(([^)]*)\): ?(.*)", line)[0] for line in lines[4:])
    pages = {page.relative_to(site).as_posix() for page in site.rglob("*.html")}
    assert set(listed) == pages - {"404.html"}
    assert [page for page, words in listed.items() if page.startswith("guides") and not words] == []
