"""finegold report and finegold plot."""

import pytest

import finegold
from finegold.cli.options import CommandLine
from finegold.cli.show import title_of
from finegold.report import KINDS
from finegold.report.charts import DRAWN
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
    words = [
        "report",
        VOTES,
        "--truth",
        TRUTH,
        "-o",
        out,
        "--method",
        "ds",
        "--set",
        "max_iterations=7",
    ]
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
    assert (
        "About 96 of 100 labels are right by the method's own confidences"
        in Page(tmp_path / "report.html").words
    )


def test_the_password_of_a_database_is_not_shown(tmp_path):
    succeed(
        "report",
        database(tmp_path / "votes.db"),
        "--query",
        "SELECT * FROM votes",
        "-o",
        tmp_path / "report.html",
    )
    assert "sqlite:///" in Page(tmp_path / "report.html").words

    address = "postgresql://me:secret@host/work?password=secret"
    assert title_of([address]) == "postgresql://host/work"
    assert CommandLine(("report", address)).change({}) == "finegold report postgresql://host/work"


def test_an_output_that_cannot_be_written_is_told_before_the_work(tmp_path):
    assert "there is no folder" in refusal_of(
        "report", VOTES, "-o", tmp_path / "nowhere" / "report.html"
    )
    assert "would be overwritten" in refusal_of("report", VOTES, "-o", VOTES)


def test_truths_that_are_not_there_are_told_before_the_work(tmp_path):
    votes = write(tmp_path / "votes.csv", "this is no table of votes")
    for command in (["report", votes], ["plot", votes, "ranking"]):
        message = refusal_of(
            *command, "--truth", tmp_path / "nowhere.csv", "-o", tmp_path / "out.svg"
        )
        assert "nowhere.csv" in message


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_chart_is_saved(kind, model, tmp_path):
    who = ["--who", "17"] if kind == "annotator" else []
    assert {*KINDS} == {*DRAWN, "annotator"}
    succeed("plot", model, kind, *who, "--truth", TRUTH, "-o", tmp_path / "chart.svg")
    svg = (tmp_path / "chart.svg").read_text()
    assert svg.startswith("<svg")
    assert "NaN" not in svg


@pytest.mark.parametrize(
    ("name", "begins"), [("c.png", b"\x89PNG"), ("c.pdf", b"%PDF"), ("c.SVG", b"<svg")]
)
def test_the_ending_tells_the_format(name, begins, model, tmp_path):
    succeed("plot", model, "annotator", "--who", "17", "-o", tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begins)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pie", "-o", "x.svg"], "there is no chart 'pie'; choose one of confidence, ranking"),
        (["ranking", "-o", "x.jpg"], "x.jpg must end in .svg, .png or .pdf"),
        (["annotator", "-o", "x.svg"], "--who NAME is required"),
        (["ranking", "--who", "ann", "-o", "x.svg"], "not allowed for other charts"),
        (["annotator", "--who", "nobody", "-o", "x.svg"], "there is no annotator 'nobody'"),
        (["calibration", "-o", "x.svg"], "there is no chart calibration: no truths were given"),
    ],
)
def test_a_chart_that_cannot_be_drawn_says_why(arguments, message, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert message in refusal_of("plot", model, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_method_without_prototypes_has_no_chart_of_them(tmp_path):
    message = refusal_of(
        "plot", VOTES, "prototypes", "--method", "mv", "-o", tmp_path / "chart.svg"
    )
    assert "mv does not learn prototypes" in message
