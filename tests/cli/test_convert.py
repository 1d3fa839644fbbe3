"""finegold convert: votes of any kind as a plain table, which Finegold reads back to the same votes."""

import json

import polars as pl
import pytest

import finegold
from finegold import InputError
from tests.support.cli_helpers import refusal_of, run, succeed, write
from tests.support.exports_made import LABEL_STUDIO, annotation, choices
from tests.support.readers_votes import votes_of


@pytest.fixture
def export(tmp_path):
    return write(tmp_path / "export.json", json.dumps(LABEL_STUDIO))


@pytest.fixture
def two_questions(tmp_path):
    rating = {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": 4}}
    answers = [
        annotation("ann", choices("sent", "pos"), rating),
        annotation("bob", choices("sent", "neg")),
    ]
    return write(tmp_path / "two.json", json.dumps([{"id": 1, "data": {}, "annotations": answers}]))


def test_long(tmp_path, export):
    out = tmp_path / "votes.csv"
    done = succeed("convert", export, "-o", out)
    assert out.read_text() == "task,annotator,label\n7,b@x.org,neg\n7,3,pos\n8,3,neg\n9,,\n"
    assert "3 votes by 2 annotators on 2 tasks" in done.stderr
    assert "cancelled annotations (1)" in done.stderr
    assert votes_of(finegold.read(out)) == votes_of(finegold.read(export))


def test_gold_has_a_column(tmp_path, export):
    out = tmp_path / "votes.parquet"
    succeed("convert", export, "-o", out, "--gold", "export")
    assert pl.read_parquet(out).get_column("gold").to_list() == ["neg", "neg", None, None]
    votes, original = finegold.read(out, gold=True), finegold.read(export, gold=True)
    assert votes.gold.tolist() == original.gold.tolist()


def test_wide_and_back(tmp_path, export):
    out = tmp_path / "wide.csv"
    succeed("convert", export, "-o", out, "--to", "wide", "--gold", "export")
    assert out.read_text() == "task,3,b@x.org,gold\n7,pos,neg,neg\n8,neg,,\n9,,,\n"
    back = finegold.read(out, layout="wide", gold=True)
    assert votes_of(back) == votes_of(finegold.read(export))
    assert back.unlabelled.to_list() == [9]


def test_repeated_votes_are_kept_in_a_long_table(tmp_path):
    votes = write(tmp_path / "votes.csv", "task,annotator,label\n1,ann,a\n1,ann,b\n")
    succeed("convert", votes, "-o", tmp_path / "long.csv")
    assert (tmp_path / "long.csv").read_text() == "task,annotator,label\n1,ann,a\n1,ann,b\n"


def test_of_repeated_votes_a_wide_table_has_the_first(tmp_path):
    rows, out = "1,ann,y\n1,ann,x\n2,ann,x\n", tmp_path / "wide.csv"
    votes = write(tmp_path / "votes.csv", "task,annotator,label\n" + rows)
    for option, label in ((), "y"), (("--repeated", "last"), "x"):
        done = run("convert", votes, "-o", out, "--to", "wide", *option)
        assert out.read_text() == f"task,ann\n1,{label}\n2,x\n"
        assert "left out: 1 repeated vote" in done.stderr
    with pytest.raises(InputError, match="more than once, and a wide table holds one vote"):
        finegold.write_votes(finegold.read(votes, repeated="all"), out, wide=True)


def test_all_questions_have_a_column_that_names_them(tmp_path, two_questions):
    done = run("convert", two_questions, "-o", "-", "--question", "all")
    assert (
        done.stdout
        == "question,task,annotator,label\nsent,1,bob,neg\nsent,1,ann,pos\nstars,1,ann,4\n"
    )
    done = run("convert", two_questions, "-o", "-", "--question", "all", "--to", "wide")
    assert done.stdout == "question,task,ann,bob\nsent,1,pos,neg\nstars,1,4,\n"


def test_several_questions_without_a_choice_are_listed(tmp_path, two_questions):
    message = refusal_of("convert", two_questions, "-o", tmp_path / "votes.csv")
    assert 'asks 2 questions: "sent" (2 votes), "stars" (1 vote)' in message
    assert not (tmp_path / "votes.csv").exists()


@pytest.mark.parametrize("name", ["task", "question"])
def test_an_annotator_named_like_a_column_of_a_wide_table(tmp_path, name):
    votes = write(tmp_path / "votes.csv", f"task,annotator,label\n1,{name},a\n1,ann,b\n")
    message = refusal_of("convert", votes, "-o", tmp_path / "wide.csv", "--to", "wide")
    assert f'an annotator is called "{name}"' in message
