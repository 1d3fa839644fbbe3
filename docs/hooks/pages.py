"""What MkDocs does not know by itself: equations, and pages that live elsewhere in the repository."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

sys.path.insert(0, str(Path(__file__).parent))
import maths

ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"(\]\()([^)#\s]+)")
SUMMARIES: dict[str, str] = {}
FOLDERS = ("index.html", "guides", "reference", "evidence", "inside")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    fences = config.mdx_configs.setdefault("pymdownx.superfences", {})
    fences["custom_fences"] = [{"name": "math", "class": "equations", "format": maths.block}]
    if more := _not_in(str(config.nav)):
        config.nav.append({"More": more})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """CONTRIBUTING.md and others are pages of the site, too."""
    for source, page in ELSEWHERE.items():
        content = LINK.sub(_moved, (ROOT / source).read_text("utf-8")).replace(
            '="docs/', '="'
        )  # pictures
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Links to files that are not part of the site, such as examples, lose their target and keep their words."""
    SUMMARIES[page.url] = f"[{page.title}]({page.url}): {_first_words(markdown)}"
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)*(?:examples|bench|src|tests)/[^)]*\)", r"\1", markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """llms.txt: each page with its first words, for language models that look for one."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}", ""]
    lines += [f"- {SUMMARIES[url]}" for url in sorted(SUMMARIES, key=_by_folder)]
    Path(config.site_dir, "llms.txt").write_text("\n".join(lines) + "\n", "utf-8")


def _by_folder(url: str) -> tuple[int, str]:
    folder = url.partition("/")[0]
    return (FOLDERS.index(folder) if folder in FOLDERS else len(FOLDERS), url)


def _first_words(markdown: str) -> str:
    """The first sentence that is neither a heading nor a block, without marks."""
    for part in markdown.split("\n\n"):
        words = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", " ".join(part.split()))
        if words and not re.match(r"[#<|!`:\-{]|---", words):
            told = words.replace("**", "").removeprefix("What this means for you. ")
            return re.split(r"(?<=[.?:]) ", told.removeprefix("What this means for you: "))[0]
    return ""


def _not_in(nav: str) -> list[str]:
    """A page that nobody has found a place for yet can still be found."""
    docs = ROOT / "docs"
    sources = [page for page in sorted(docs.rglob("*.md")) if page.parent.name != "equations"]
    return [
        page
        for page in (source.relative_to(docs).as_posix() for source in sources)
        if f"'{page}'" not in nav
    ]


def _moved(link: re.Match[str]) -> str:
    """A link of the repository's root, as seen from docs/."""
    target = ELSEWHERE.get(link[2], link[2].removeprefix("docs/"))
    return link[1] + target
