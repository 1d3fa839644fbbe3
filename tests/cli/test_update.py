"""finegold update, and --prior."""

import csv
import json

import finegold
from finegold.methods.lookup import DEFAULT_METHOD
from tests.support.cli_helpers import CSV, refusal_of, run, succeed, write
from tests.support.exports_made import annotation, choices

NEW = "task,worker,label\nt1,zoe,x\nt5,ann,y\nt5,bob,y\n"


def model(folder, *more):
    write(folder / "votes.csv", CSV)
    succeed(
        "aggregate",
        folder / "votes.csv",
        "--save",
        folder / "model",
        "-o",
        folder / "labels.csv",
        *more,
    )
    return folder / "model"


def test_new_votes_go_into_the_very_model(tmp_path):
    saved, new = model(tmp_path), write(tmp_path / "new.csv", NEW)
    done = succeed("update", saved, new, "-o", saved, "--labels", tmp_path / "labels.csv", "--json")
    assert json.loads(done.stdout)["n_votes"] == 15
    labels = {
        row["task"]: row["label"]
        for row in csv.DictReader((tmp_path / "labels.csv").read_text().splitlines())
    }
    assert labels["t5"] == "y"
    assert finegold.load(saved).annotations.n_annotators == 4


def test_an_update_gives_the_labels_of_all_votes_at_once(tmp_path):
    saved, new = model(tmp_path), write(tmp_path / "new.csv", NEW)
    succeed("update", saved, new, "-o", saved, "--labels", tmp_path / "one.csv")
    both = write(tmp_path / "both.csv", CSV + NEW.partition("\n")[2])
    succeed("aggregate", both, "-o", tmp_path / "other.csv")
    assert (tmp_path / "one.csv").read_text() == (tmp_path / "other.csv").read_text()


def test_what_goes_wrong_is_said_and_leaves_the_model(tmp_path):
    saved, new = model(tmp_path), write(tmp_path / "new.csv", NEW.replace("zoe,x", "zoe,new"))
    before = saved.read_bytes()
    for arguments, words in (
        ((new, new), "not a result saved by Finegold"),
        ((saved,), "nothing to update"),
    ):
        assert words in refusal_of("update", *arguments, "-o", saved)
    assert saved.read_bytes() == before


def test_gold_alone_is_enough(tmp_path):
    saved, gold = model(tmp_path), write(tmp_path / "gold.csv", "task,truth\nt1,y\n")
    succeed("update", saved, "--gold", gold, "-o", saved)
    assert finegold.load(saved).label[0] == "y"


def test_an_earlier_run_is_a_prior(tmp_path):
    saved, new = model(tmp_path), write(tmp_path / "new.csv", NEW)
    done = succeed("aggregate", new, "--prior", saved)
    assert f"2 of 3 annotators are known from an earlier run ({DEFAULT_METHOD})" in done.stderr
    assert run("aggregate", new, "--prior", saved, "--method", "mv").exit_code == 2


def test_gold_marks_of_an_export(tmp_path):
    saved, marked = tmp_path / "a.finegold", annotation(3, choices("q", "a"), ground_truth=True)
    votes = [
        {
            "id": 1,
            "data": {},
            "annotations": [marked, *(annotation(who, choices("q", "b")) for who in (4, 5))],
        }
    ]
    export = write(tmp_path / "export.json", json.dumps(votes))
    succeed("aggregate", export, "--save", saved)
    assert finegold.load(saved).label[0] == "b"
    succeed("update", saved, export, "-o", saved, "--gold", "export")
    assert finegold.load(saved).label[0] == "a"
    assert "needs FILE" in run("update", saved, "-o", saved, "--gold", "export").stderr
