"""docs/reference/reading.md: every case of dirt, run again."""

import json
import sys
from pathlib import Path

import pytest

from tests.io.corpus.dirt import TRUTHS_CASES
from tests.support.cli_helpers import run

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("case", TRUTHS_CASES, ids=lambda case: case.name)
def test_truths_come_out_as_expected(case, tmp_path, monkeypatch):
    """The votes of the corpus are tested in test_reading_corpus.py."""
    monkeypatch.chdir(tmp_path)
    done = run("evaluate", *case.write(tmp_path), *case.arguments, "--method", "mv", "--json")
    assert done.exit_code == (2 if case.votes is None else 0), done.stderr
    assert case.votes is None or json.loads(done.stdout)["n_truths"] == case.votes
    assert [text for text in case.says if text not in done.stderr] == [], done.stderr


def test_the_page_on_reading_is_what_the_command_makes():
    sys.path.insert(0, str(ROOT / "tools"))
    import make_reading

    is_current = (ROOT / "docs" / "reference" / "reading.md").read_text(
        "utf-8"
    ) == make_reading.page()
    assert is_current, "docs/reference/reading.md is not current: run python tools/make_reading.py"
