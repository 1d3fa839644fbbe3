"""Messages say what is true: times, names of what ran, files that exist, and extras that can be installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.cli_helpers import succeed
from tests.support.readers_votes import write

ROOT = Path(__file__).parents[2]
EXTRA = re.compile(r"finegold\[\w+\]")


@pytest.mark.parametrize("folder", ["src", "docs", "README.md"])
def test_extras_are_named_one_way(folder: str) -> None:
    path = ROOT / folder
    files = (
        [path]
        if path.is_file()
        else [*path.rglob("*.py"), *path.rglob("*.md"), *path.rglob("*.html")]
    )
    wrong = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in files
        for line in file.read_text("utf-8").splitlines()
        for found in EXTRA.finditer(line)
        if not line[: found.start()].endswith("pip install '")
        or not line[found.end() :].startswith("'")
    ]
    assert wrong == []


def test_the_report_names_no_file_that_it_did_not_write(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    rows = [
        f"t{task},w{worker},{(task * worker) % 3}" for task in range(600) for worker in range(3)
    ]
    rows += [f"t0,x{worker},1" for worker in range(600)]
    votes = write(tmp_path / "votes.csv", "task,worker,label\n" + "\n".join(rows) + "\n")
    page = tmp_path / "page.html"
    succeed("report", votes, "-o", page, "--method", "mv")
    text = page.read_text("utf-8")
    assert "the rest is in" in text  # the lists are cut
    assert not re.search(r"(the rest is in|confidence in) [\w.]+\.csv", text)
