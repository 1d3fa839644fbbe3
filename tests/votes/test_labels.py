"""Labels as people write them: what counts as no vote, spellings of one class, and what looks wrong."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import finegold
from finegold.errors import FinegoldWarning, InputError
from finegold.io.truth import match_truth
from finegold.votes.encoding import to_list
from tests.support.cli_helpers import refusal_of, run, write
from tests.support.readers_votes import votes_of, with_warnings

WORDS = ["NA", "N/A", "#N/A", "n/a", "nan", "NaN", "null", "Null", "{}"]
DOUBTFUL = ["None", "none", "-", "?"]


def long_table(place: Path, *labels: object) -> Path:
    """Two annotators in turn, a task for every two labels."""
    rows = [f't{number // 2},w{number % 2},"{label}"' for number, label in enumerate(labels)]
    return write(place / "v.csv", "\n".join(["task,worker,label", *rows, ""]))


@pytest.mark.parametrize("word", WORDS)
def test_usual_words_for_nothing_are_no_votes(tmp_path: Path, word: str) -> None:
    found = finegold.read(long_table(tmp_path, "a", word, "b", "a"))
    assert (to_list(found.class_names), found.n_votes, found.counts.missing) == (["a", "b"], 3, 1)


@pytest.mark.parametrize("word", DOUBTFUL)
def test_words_that_may_be_a_class_are_no_votes_and_that_is_said(tmp_path: Path, word: str) -> None:
    with pytest.warns(FinegoldWarning) as said:
        found = finegold.read(long_table(tmp_path, "a", word, "b", word))
    assert (to_list(found.class_names), found.counts.missing) == (["a", "b"], 2)
    assert [str(one.message) for one in said[:1]] == [
        f'the labels "{word}" (2) are taken as "no vote"; use missing=[] to keep them as classes'
    ]


def test_missing_replaces_the_list_and_is_case_blind(tmp_path: Path) -> None:
    found = finegold.read(long_table(tmp_path, "a", "SKIP", "NA", "a"), missing=["skip"])
    assert (to_list(found.class_names), found.counts.missing) == (["NA", "a"], 1)


def test_a_word_among_the_classes_is_a_class(tmp_path: Path) -> None:
    found = finegold.read(long_table(tmp_path, "for", "none", "NA", "for"), classes=["none", "for"])
    assert (to_list(found.class_names), found.n_votes, found.counts.missing) == (
        ["none", "for"],
        3,
        1,
    )


said_by = partial(with_warnings, finegold.read)


def counts_of(votes: finegold.Annotations) -> dict[object, int]:
    return dict(Counter(label for _, _, label in votes_of(votes)))


TWO_SPELLINGS = ("cat", "Cat", "cat", "CAT", "dog", "dog.", "cow", "cow")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            TWO_SPELLINGS,
            "6 classes look like 3: cat (2) = CAT (1) = Cat (1), dog (1) = dog. (1); use",
        ),
        (("01", "02", "10", "01"), ""),
        (("1", "1.0", "x", "1"), "3 classes look like 2: 1 (2) = 1.0 (1); use normalise=True"),
        (
            [f"a text {n}" for n in range(30)],
            "there are 30 classes in 30 votes; the labels look like",
        ),
        ([f"class {n % 15}" for n in range(30)], ""),
        (
            ("cat", "dog", "cat;dog", "cat;dog"),
            "2 votes hold several labels, such as cat;dog, which",
        ),
        (
            ("cat", "dog", "dog | cat", "dog | cat"),
            "2 votes hold several labels, such as dog | cat",
        ),
        (("Paris, France", "Lyon, France", "a;", "a;"), ""),
    ],
)
def test_classes_that_look_wrong_are_reported(tmp_path: Path, labels: Any, message: str) -> None:
    votes, said = said_by(long_table(tmp_path, *labels))
    assert {str(label): n for label, n in counts_of(votes).items()} == Counter(labels)
    assert [text.startswith(message) for text in said] == [True] * bool(message)


def test_spellings_are_merged_on_request_and_others_are_not(tmp_path: Path) -> None:
    votes, said = said_by(long_table(tmp_path, *TWO_SPELLINGS), normalise=True)
    assert (counts_of(votes), said) == ({"cat": 4, "dog": 2, "cow": 2}, [])
    for one, other in (("a", "b"), ("1", "10"), ("-1", "1"), ("+", "++"), ("...", "a")):
        votes, said = said_by(long_table(tmp_path, one, other, one, "x"), normalise=True)
        assert (len(votes.class_names), said) == (3, [])


@pytest.mark.parametrize(
    ("often", "once"),
    [
        ("Cat", "cat"),
        ("cat", " cat"),
        ("cat", "cat  "),
        ("a b", "a  b"),
        ("a b", "a\tb"),
        ("caf\u00e9", "cafe\u0301"),
        ("A", "\uff21"),
        ("yes", "yes."),
        ("1", "01"),
        ("1.50", "1.5"),
        ("STRASSE", "stra\u00dfe"),
    ],
)
def test_what_is_one_spelling_of_another(tmp_path: Path, often: str, once: str) -> None:
    path = long_table(tmp_path, often, once, often, "other")
    assert said_by(path)[1][0].startswith("3 classes look like 2: ")
    assert counts_of(finegold.read(path, normalise=True)) == {often: 3, "other": 1}


def test_numbers_that_are_written_differently_are_merged_and_reported(tmp_path: Path) -> None:
    votes, said = said_by(long_table(tmp_path, "1", "1.0", "01", " 1", "2.0", "2.0", "3.5", "3.50"))
    assert counts_of(votes) == {"1": 4, "2": 2, "3.5": 2}
    assert said == [
        'labels that differ only in number format were merged: 1 = " 1" (1) = 01 (1) = 1 (1) = 1.0 (1), '
        "2 = 2.0 (2), 3.5 = 3.5 (1) = 3.50 (1)"
    ]
    votes, said = said_by(long_table(tmp_path, "0.0", "1", "1.0", "1.0"))
    assert (to_list(votes.class_names), len(said)) == ([0, 1], 1)


@pytest.mark.parametrize(
    "label", ["0" * 3000 + "." + "0" * 3000 + "x", "7" * 5000], ids=["zeros", "digits"]
)
def test_a_label_of_thousands_of_digits_is_read_at_once(tmp_path: Path, label: str) -> None:
    path, began = long_table(tmp_path, label, "1", "2"), time.perf_counter()
    assert counts_of(finegold.read(path)) == {label: 1, "1": 1, "2": 1}
    assert set(finegold.read(path, classes=["1", "2", label]).class_names) == {"1", "2", label}
    assert time.perf_counter() - began < 5


def test_wide_tables_and_gold_are_normalised_too(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", "task,a,b\n1,cat,Cat\n2,cat,dog\n3,dog,dog\n")
    votes, said = said_by(path, layout="wide", gold={1: "CAT"})
    assert said[0].startswith("4 classes look like 2: cat (2) = Cat (1) = CAT (gold); ")
    votes = finegold.read(path, layout="wide", gold={1: "CAT"}, normalise=True)
    assert (counts_of(votes), votes.gold.tolist()) == ({"cat": 3, "dog": 3}, [0, -1, -1])


def test_given_classes_are_the_spellings_to_merge_into(tmp_path: Path) -> None:
    path = long_table(tmp_path, "cat", "cat", "Dog", "dog")
    votes = finegold.read(path, classes=["Cat", "Dog"], normalise=True)
    assert (to_list(votes.class_names), counts_of(votes)) == (["Cat", "Dog"], {"Cat": 2, "Dog": 2})
    with pytest.raises(InputError, match="'cat' is not among the classes Cat, Dog"):
        finegold.read(path, classes=["Cat", "Dog"])
    assert to_list(finegold.read(path, classes=np.array(["cat", "dog", "Dog"])).class_names) == [
        "cat",
        "dog",
        "Dog",
    ]


ALIAS = {"kat": "cat", "Cat": "cat", "none": "dog"}


@pytest.mark.parametrize("kind", ["mapping", "csv", "frame", "without a header"])
def test_an_alias_says_which_class_a_spelling_means(tmp_path: Path, kind: str) -> None:
    path = long_table(tmp_path, "cat", "kat", "Cat", "none", "dog", "dog")
    lines = "".join(f"{one},{other}\n" for one, other in ALIAS.items())
    alias = {
        "mapping": ALIAS,
        "csv": write(tmp_path / "alias.csv", "spelling,class\n" + lines),
        "frame": pd.DataFrame({"a": list(ALIAS), "b": list(ALIAS.values())}),
        "without a header": write(tmp_path / "bare.csv", lines),
    }
    votes, said = said_by(path, alias=alias[kind], gold={"t0": "kat"})
    assert (counts_of(votes), votes.gold.tolist(), said) == ({"cat": 3, "dog": 3}, [0, -1, -1], [])


def test_an_alias_of_numbers_gives_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "v.csv", "task,a,b\n1,0,9\n2,1,8\n")
    assert to_list(finegold.read(path, layout="wide", alias={9: 1, "8": "0"}).class_names) == [0, 1]
    table = pd.DataFrame({"task": [1, 1], "worker": [1, 2], "label": [3, 4]})
    assert to_list(finegold.read(table, alias={3: "yes", 4: "no"}).class_names) == ["no", "yes"]
    assert to_list(finegold.read(table, alias={"3": "4"}).class_names) == [4]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (
            "spelling,class,more\na,b,c\n",
            'must have two columns, spellings and classes, but has "spelling", "class"',
        ),
        ("spelling,class\na,b\na,c\n", "'a' means both 'b' and 'c'"),
        ("spelling,class\na,\n", "the spelling 'a' has no class"),
    ],
)
def test_an_alias_that_cannot_be_used_is_refused(tmp_path: Path, table: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        finegold.read(long_table(tmp_path, "a", "b"), alias=write(tmp_path / "alias.csv", table))
    assert "alias.csv" in str(refused.value)


def test_repeated_votes_that_disagree_are_counted(tmp_path: Path) -> None:
    rows = ["t0,a,x", "t0,a,y", "t0,a,y", "t1,a,x", "t1,a,x", "t1,b,x"]
    path = write(tmp_path / "v.csv", "\n".join(["task,worker,label", *rows, ""]))
    votes, said = said_by(path)
    assert (votes.counts.repeated, votes.counts.disagreeing, said) == (3, 1, [])
    found = run("aggregate", path, "--method", "mv", "-o", tmp_path / "labels.csv").stderr
    assert (
        "left out: 3 repeated votes (1 pair of task and annotator has votes that disagree)" in found
    )
    assert finegold.read(path, repeated="all").counts.disagreeing == 0


def test_many_repeated_votes_that_disagree_are_said(tmp_path: Path) -> None:
    rows = [f"t{number},a,{label}" for number in range(10) for label in "xy"]
    path = write(tmp_path / "v.csv", "\n".join(["task,worker,label", *rows, "t1,b,x", ""]))
    votes, said = said_by(path)
    assert votes.counts.disagreeing == 10
    assert said == [
        "10 pairs of task and annotator have votes that disagree; perhaps ids of tasks or annotators are not unique, "
        "or several questions are in one table; use repeated=RULE to say which votes count"
    ]


def test_gold_whose_classes_nobody_voted_for_is_said(tmp_path: Path) -> None:
    path = write(
        tmp_path / "v.csv",
        "task,worker,label\n" + "".join(f"{n},a,pos\n{n},b,neg\n" for n in range(5)),
    )
    _, said = said_by(path, gold=dict.fromkeys(range(5), "positive"))
    assert said == [
        "5 of 5 gold truths are classes that nobody voted for: the gold has 'positive', the votes have 'neg'; if they "
        "mean the same, use alias=FILE"
    ]


def test_truths_that_match_no_task_show_an_id_of_each_side(tmp_path: Path) -> None:
    votes = finegold.read(long_table(tmp_path, "x", "y", "x", "x"))
    with pytest.raises(
        InputError, match=r"none of the 1 truths .* \(the truths have 0, the votes have 't0'\)$"
    ):
        match_truth(votes, {0: "x"})


def test_truths_that_match_no_class_are_refused_and_few_are_said(tmp_path: Path) -> None:
    path = long_table(tmp_path, "x", "y", "x", "x", "y", "y")
    votes = finegold.read(path)
    with pytest.raises(
        InputError,
        match=r"none of the 2 truths is a class of the votes: the truths have 'a', .*alias",
    ):
        match_truth(votes, {"t0": "a", "t1": "b"})
    with pytest.warns(
        FinegoldWarning,
        match="2 of 3 truths are classes that nobody voted for: the truths have 'a', ",
    ):
        match_truth(votes, {"t0": "a", "t1": "x", "t2": "b"})
    truth = write(tmp_path / "truth.csv", "task,truth\nt0,X\n")
    message = refusal_of("evaluate", path, "--truth", truth, "--method", "mv")
    assert f"none of the 1 truths in {truth} is a class of the votes" in message


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from(["x", "y", ""])), min_size=1
    )
)
@pytest.mark.parametrize("repeated", ["first", "last", "majority"])
def test_disagreeing_votes_are_counted_like_by_hand(
    repeated: Any, rows: list[tuple[int, int, str]]
) -> None:
    said: dict[tuple[int, int], set[str]] = {}
    for task, worker, label in rows:
        if label:
            said.setdefault((task, worker), set()).add(label)
    assume(any(len(labels) == 1 for labels in said.values()))
    table = pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row")
    votes = said_by(table, repeated=repeated)[0]
    assert votes.counts.disagreeing == sum(len(labels) > 1 for labels in said.values())
