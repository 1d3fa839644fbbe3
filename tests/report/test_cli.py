"""finegold report."""

import polars as pl
import pytest

import finegold
from finegold.cli.options import CommandLine
from finegold.cli.show import title_of
from tests.support.cli_helpers import database, refusal_of, succeed, write
from tests.support.report_helpers import SAMPLE, Page

VOTES, TRUTH = SAMPLE / "votes.csv", SAMPLE / "truth.csv"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.finegold"
    finegold.aggregate(VOTES, "ptbcc").save(path)
    return path


def test_votes_become_a_report_that_tells_how_to_repeat_it(tmp_path):
    out = tmp_path / "report.html"
    more = ("--method", "ds", "--set", "max_iterations=7")
    words = ["report", VOTES, "--truth", TRUTH, "-o", out, *more]
    done = succeed(*words)
    assert f"wrote {out}; open it in a browser" in done.stderr
    found = Page(out)
    assert "votes.csv" in found.words
    assert " ".join(["finegold", *map(str, words)]) in found.words
    assert "stopped at max_iterations = 7" in found.words
    gold = write(tmp_path / "gold.csv", "task,truth\n0,dog\n1,fox\n")
    succeed("report", VOTES, "--gold", gold, "-o", out)
    assert "2 gold truths used" in Page(out).words


def test_a_model_is_shown_as_it_is_and_takes_no_options_for_votes(model, tmp_path):
    message = refusal_of("report", model, "--method", "ds", "-o", tmp_path / "report.html")
    assert "this is a saved model, which is fitted already; leave out --method" in message
    succeed("report", model, "-o", tmp_path / "report.html")
    assert "Check 50 tasks drawn at random to know" in Page(tmp_path / "report.html").words


def test_the_password_of_a_database_is_not_shown(tmp_path):
    query = ("--query", "SELECT * FROM votes")
    succeed("report", database(tmp_path / "votes.db"), *query, "-o", tmp_path / "report.html")
    assert "sqlite:///" in Page(tmp_path / "report.html").words

    address = "postgresql://me:secret@host/work?password=secret"
    assert title_of([address]) == "postgresql://host/work"
    assert (
        CommandLine(("report", address)).with_options({})
        == "finegold report postgresql://host/work"
    )


def test_an_output_that_cannot_be_written_is_told_before_the_work(tmp_path):
    assert "there is no folder" in refusal_of(
        "report", VOTES, "-o", tmp_path / "nowhere" / "report.html"
    )
    assert "would be overwritten" in refusal_of("report", VOTES, "-o", VOTES)


def test_figures_are_saved_in_a_folder(model, tmp_path):
    folder = tmp_path / "figures"
    done = succeed("report", model, "-o", tmp_path / "report.html", "--svg", folder)
    assert f"figures are in {folder}" in done.stderr
    assert {path.name for path in folder.iterdir()} >= {"voted.svg", "prototype-1.svg"}


def test_what_certify_measured_stands_first(model, tmp_path):
    sheet, page = tmp_path / "sheet.csv", tmp_path / "report.html"
    succeed("sample", model, "-n", "60", "-o", sheet)
    table, truth = pl.read_csv(sheet), pl.read_csv(TRUTH)
    answers = dict(zip(truth["task"], truth["truth"], strict=True))
    table.with_columns(truth=pl.Series([answers[task] for task in table["task"]])).write_csv(sheet)
    certificate = tmp_path / "certificate.json"
    succeed("certify", model, "--checks", sheet, "--certificate", certificate)
    succeed("report", model, "--certificate", certificate, "-o", page)
    assert "Measured with 60 checks of a random sample" in Page(page).words
