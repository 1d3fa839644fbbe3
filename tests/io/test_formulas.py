"""Files hold the texts that the user gave; only the studio's downloads escape what a spreadsheet would run."""

import csv

import polars as pl

import finegold
from finegold.io.writers import escape_formulas
from tests.support.cli_helpers import succeed, write
from tests.support.studio_helpers import studio_in_thread

FORMULAS = ["=1+1", "+SUM(A1)", "-cmd|' /C calc'!A0", "@x", "\tx", "\rx", "-", "+", "-1a", "--1"]
PLAIN = ["x", "'x", "'=x", "-1", "+5", "-3.5e-4", "1=2", "a@b", "-.5", "'", "", None]
VOTES = "task,annotator,label\n=t,ann,+\n=t,bob,-n\n=t,@cyd,+\n-1,ann,-n\n-1,@cyd,-n\n"


def test_texts_like_formulas_are_written_and_read_as_they_are(tmp_path):
    votes, copy = write(tmp_path / "votes.csv", VOTES.replace("=t", "'=t")), tmp_path / "copy.csv"
    succeed("convert", votes, "-o", copy)
    assert sorted(copy.read_text().split()) == sorted(votes.read_text().split())
    assert finegold.read(copy).task_names.to_list() == ["'=t", "-1"]


def test_cells_that_a_spreadsheet_would_run_get_an_apostrophe(tmp_path):
    path = tmp_path / "x.csv"
    frame = pl.DataFrame({"=text": FORMULAS + PLAIN, "n": 1})
    frame.write_csv(path)
    escape_formulas(path)
    found = pl.read_csv(path)
    assert found.columns == ["'=text", "n"]
    assert found["'=text"].to_list() == [f"'{text}" for text in FORMULAS] + PLAIN


def test_downloads_of_the_studio_are_escaped(tmp_path):
    write(tmp_path / "votes.csv", VOTES)
    with studio_in_thread(tmp_path) as studio:
        project = studio.open("votes.csv")
        assert studio.judge(project, "=t", "+").status_code == 200
        for name in ("labels.csv", "annotators.csv", "votes.csv", "sheet.csv"):
            text = studio.get(f"/api/projects/{project}/export/{name}").text
            cells = [cell for row in csv.reader(text.splitlines()) for cell in row]
            assert any(cell.startswith("'") for cell in cells)
            assert not [cell for cell in cells if cell.startswith(("=", "@", "+")) or cell == "-"]
