"""Texts that a spreadsheet would take for formulas are escaped in CSV and TSV, and Finegold reads them as they were."""

import csv

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import finegold
from finegold.io.writers import escape_cells, unescape_cells, unescape_name, write_frame
from tests.support.cli_helpers import succeed, write
from tests.support.studio_helpers import studio_in_thread

FORMULAS = [
    "=1+1",
    "+SUM(A1)",
    "-cmd|' /C calc'!A0",
    "@x",
    "\tx",
    "\rx",
    "'=x",
    "''@",
    "-",
    "+",
    "-1a",
    "--1",
]
PLAIN = ["x", "", "'x", "-1", "+5", "-3.5e-4", "1=2", "a@b", "-.5", None, "'"]
VOTES = "task,worker,label\n=t,ann,+\n=t,bob,-n\n=t,@cyd,+\n-1,ann,-n\n-1,@cyd,-n\n"


def test_formulas_get_an_apostrophe_and_nothing_else_does():
    frame = pl.DataFrame(
        {"text": FORMULAS + PLAIN, "number": [-1.5] * (len(FORMULAS) + len(PLAIN))}
    )
    found = escape_cells(frame)
    assert found["text"].to_list() == [f"'{text}" for text in FORMULAS] + PLAIN
    assert found["number"].equals(frame["number"])
    assert unescape_cells(found).equals(frame)


@given(st.lists(st.text(alphabet="='+-@\t\r\n1ax", max_size=5), min_size=1))
def test_every_text_comes_back(texts):
    frame = pl.DataFrame({"text": texts})
    found = escape_cells(frame)
    assert unescape_cells(found).equals(frame)
    for text in found["text"]:
        assert not text.startswith(("=", "@", "\t", "\r", "\n"))


@given(st.text(alphabet="='+-@\t1ax", max_size=5))
def test_every_name_of_a_column_comes_back(name):
    assert unescape_name(escape_cells(pl.DataFrame({name: [1]})).columns[0]) == name


def test_categories_are_texts(tmp_path):
    frame = pl.DataFrame({"label": pl.Series(["=a", "b"], dtype=pl.Enum(["=a", "b"]))})
    write_frame(frame, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "label\n'=a\nb\n"


@pytest.mark.parametrize(
    ("name", "is_escaped"), [("x.csv", True), ("x.tsv", True), ("x.jsonl", False)]
)
def test_only_files_that_spreadsheets_open_are_escaped(tmp_path, name, is_escaped):
    frame = pl.DataFrame({"=column": ["=text"]})
    write_frame(frame, tmp_path / name)
    assert ("'=text" in (tmp_path / name).read_text()) is is_escaped
    assert ("'=column" in (tmp_path / name).read_text()) is is_escaped
    write_frame(frame, tmp_path / name, escape_formulas=False)
    assert "'" not in (tmp_path / name).read_text()


def first_column(path):
    with path.open(newline="") as file:
        return [row[0] for row in csv.reader(file)][1:]


def test_labels_are_escaped_unless_they_are_raw_and_match_the_tasks_that_they_are_of(tmp_path):
    votes, labels = write(tmp_path / "votes.csv", VOTES), tmp_path / "labels.csv"
    for more, task in (([], "'=t"), (["--raw"], "=t"), ([], "'=t")):
        succeed("aggregate", votes, "--method", "mv", "-o", labels, *more)
        assert first_column(labels) == ["-1", task]
    truth = finegold.io.truth.read_truth(labels)
    assert dict(zip(truth.task.to_list(), truth.truth.to_list(), strict=True)) == {
        "-1": "-n",
        "=t": "+",
    }
    found = finegold.aggregate(votes, "mv", gold=labels)
    assert found.counts.gold_unused == 0
    assert (found.gold >= 0).all()


@pytest.mark.parametrize("wide", [[], ["--wide"]])
@pytest.mark.parametrize("raw", [[], ["--raw"]])
def test_converted_votes_are_read_as_they_were(tmp_path, wide, raw):
    votes, copy = write(tmp_path / "votes.csv", VOTES), tmp_path / "copy.csv"
    succeed("convert", votes, "-o", copy, *raw, *(["--to", "wide"] if wide else []))
    assert ("'=t" in copy.read_text()) is not bool(raw)
    before, after = finegold.read(votes), finegold.read(copy, wide=bool(wide))
    for names in ("task_names", "annotator_names", "class_names"):
        assert getattr(after, names).to_list() == getattr(before, names).to_list()
    assert after.n_votes == before.n_votes


def test_exports_of_the_studio_are_escaped(tmp_path):
    write(tmp_path / "votes.csv", VOTES)
    with studio_in_thread(tmp_path) as studio:
        project = studio.open("votes.csv")
        assert studio.judge(project, "=t", "+").status_code == 200
        for name in ("labels.csv", "annotators.csv", "votes.csv", "gold.csv"):
            text = studio.get(f"/api/projects/{project}/export/{name}").text
            cells = [cell for row in csv.reader(text.splitlines()) for cell in row]
            assert any(cell.startswith("'") for cell in cells)
            assert not [cell for cell in cells if cell.startswith(("=", "@", "+")) or cell == "-"]
