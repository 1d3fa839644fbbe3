"""What a reader noticed is kept with the votes, used for truths, and said on a cluster too."""

from __future__ import annotations

from pathlib import Path

import pytest

import finegold
from finegold.errors import FinegoldWarning, InputError
from finegold.io.truth import match_truth
from tests.support.cli_helpers import succeed, write

HEADER = "task,worker,label\n"


def test_truths_are_spelled_like_normalised_votes(tmp_path: Path) -> None:
    votes = write(tmp_path / "v.csv", "task,worker,label\nt0,a,cat\nt0,b,Cat\nt1,a,dog\nt1,b,dog\n")
    truth = write(tmp_path / "truth.csv", "task,truth\nt0,CAT\nt1,dog.\n")
    read = finegold.read(votes, normalise=True)
    assert match_truth(read, truth).codes.tolist() == [0, 1]
    said = succeed("evaluate", votes, "--truth", truth, "--method", "mv", "--normalise")
    assert "1.0000" in said.stdout


def test_truths_follow_the_alias_of_the_votes(tmp_path: Path) -> None:
    votes = write(
        tmp_path / "v.csv", "task,worker,label\nt0,a,cat\nt0,b,feline\nt1,a,dog\nt1,b,dog\n"
    )
    read = finegold.read(votes, alias={"feline": "cat"})
    assert match_truth(read, {"t0": "feline", "t1": "dog"}).codes.tolist() == [0, 1]
    result = finegold.aggregate(read, "mv")
    result.save(tmp_path / "m.finegold")
    assert match_truth(finegold.load(tmp_path / "m.finegold"), {"t0": "feline"}).codes.tolist() == [
        0,
        -1,
    ]


def test_truths_that_differ_in_case_are_proposed_like_spellings(tmp_path: Path) -> None:
    votes = finegold.read(
        write(tmp_path / "v.csv", "task,worker,label\nt0,a,cat\nt0,b,cat\nt1,a,dog\nt1,b,dog\n")
    )
    with pytest.raises(
        InputError,
        match=r"none of the 2 truths is a class .*: CAT looks like cat, Dog .*normalise=True",
    ):
        match_truth(votes, {"t0": "CAT", "t1": "Dog"})
    with pytest.warns(
        FinegoldWarning,
        match="1 of 2 truths are classes that nobody voted for: CAT looks like cat; when",
    ):
        match_truth(votes, {"t0": "CAT", "t1": "dog"})


def test_a_fit_that_needs_too_much_memory_names_the_label_column(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"t{i},w{i % 9},some text {i // 3}" for i in range(900)]
    path = write(tmp_path / "v.csv", "\n".join(["task,worker,answer", *rows, ""]))
    monkeypatch.setenv("FINEGOLD_MAX_MEMORY", "1e6")
    with pytest.raises(
        InputError,
        match=r'300 classes.*the column "answer", which was taken for the labels, holds cl',
    ):
        finegold.aggregate(path, "ds", label="answer")


def test_what_was_noticed_stays_with_the_votes_and_is_saved(tmp_path: Path) -> None:
    path = write(
        tmp_path / "v.csv",
        f"{HEADER}t0,a,cat\nt0,b,Cat\nt1,a,NA\nt1,b,?\nt1,c,?\nt1,d,\nt1,e,cat\n",
    )
    with pytest.warns(FinegoldWarning):
        result = finegold.aggregate(path, "mv")
    result.save(tmp_path / "m.finegold")
    for one in (result, finegold.load(tmp_path / "m.finegold")):
        assert one.annotations is not None
        found = one.annotations.hygiene
        assert (found.no_vote, found.label) == ({"?": 2, "NA": 1}, "label")
        assert [finding.kind for finding in found.findings] == ["no vote", "spellings"]
        assert found.findings[1].groups == [[("cat", 2), ("Cat", 1)]]
        assert "--" not in "".join(finding.text for finding in found.findings)
        assert one.counts.missing == 4
