"""Labels as people write them: what counts as no vote, spellings of one class, and what looks wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

import karat
from karat.errors import InputError, KaratWarning
from karat.votes.frames import to_list
from tests.cli_helpers import run, write
from tests.readers_votes import votes_of

WORDS = ["NA", "N/A", "#N/A", "n/a", "nan", "NaN", "null", "Null", "{}"]
DOUBTFUL = ["None", "none", "-", "?"]


def long_table(place: Path, *labels: object) -> Path:
    """Two annotators in turn, a task for every two labels."""
    rows = [f't{number // 2},w{number % 2},"{label}"' for number, label in enumerate(labels)]
    return write(place / "v.csv", "\n".join(["task,worker,label", *rows, ""]))


@pytest.mark.parametrize("word", WORDS)
def test_usual_words_for_nothing_are_no_votes(tmp_path: Path, word: str) -> None:
    found = karat.read(long_table(tmp_path, "a", word, "b", "a"))
    assert (to_list(found.class_names), found.n_votes, found.counts.missing) == (["a", "b"], 3, 1)


@pytest.mark.parametrize("word", DOUBTFUL)
def test_words_that_may_be_a_class_are_no_votes_and_that_is_said(tmp_path: Path, word: str) -> None:
    with pytest.warns(KaratWarning) as said:
        found = karat.read(long_table(tmp_path, "a", word, "b", word))
    assert (to_list(found.class_names), found.counts.missing) == (["a", "b"], 2)
    assert [str(one.message) for one in said] == [
        f'the labels "{word}" (2) are taken as "no vote"; --keep-missing (keep_missing=True in Python) keeps them as '
        "classes"
    ]


@pytest.mark.parametrize("word", [*WORDS, *DOUBTFUL])
def test_keep_missing_makes_classes_of_these_words(tmp_path: Path, word: str) -> None:
    found = karat.read(long_table(tmp_path, "a", word, "", "a"), keep_missing=True)
    assert (to_list(found.class_names), found.counts.missing) == (sorted(["a", word]), 1)


def test_missing_replaces_the_list_and_is_case_blind(tmp_path: Path) -> None:
    found = karat.read(long_table(tmp_path, "a", "SKIP", "NA", "a"), missing=["skip"])
    assert (to_list(found.class_names), found.counts.missing) == (["NA", "a"], 1)


def test_a_word_among_the_classes_is_a_class(tmp_path: Path) -> None:
    found = karat.read(long_table(tmp_path, "for", "none", "NA", "for"), classes=["none", "for"])
    assert (to_list(found.class_names), found.n_votes, found.counts.missing) == (["none", "for"], 3, 1)


def test_missing_and_keep_missing_contradict_each_other(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--missing and --keep-missing"):
        karat.read(long_table(tmp_path, "a", "b"), missing=["x"], keep_missing=True)


def test_keep_missing_on_the_command_line_and_in_aggregate(tmp_path: Path) -> None:
    path, out = long_table(tmp_path, "none", "none", "b", "b"), tmp_path / "labels.csv"
    assert run("aggregate", path, "--method", "mv", "--keep-missing", "-o", out).exit_code == 0
    assert out.read_text().splitlines()[1].startswith("t0,none,")
    assert karat.aggregate(path, "mv", keep_missing=True).label.to_list() == ["none", "b"]


@pytest.mark.parametrize(
    ("table", "how"),
    [
        ("task,a,b\n1,0,-1\n2,1,1\n", {"wide": True}),
        ("worker,1,2\na,0,1\nb,-1,1\n", {"format": "transposed"}),
    ],
)
def test_minus_one_is_a_class_of_wide_tables_and_that_is_said(tmp_path: Path, table: str, how: dict[str, str]) -> None:
    path = write(tmp_path / "v.csv", table)
    with pytest.warns(KaratWarning) as said:
        found = karat.read(path, **how)
    assert votes_of(found) == {(1, "a", 0), (1, "b", -1), (2, "a", 1), (2, "b", 1)}
    assert [str(one.message) for one in said] == [
        'the label -1 (1) is read as a class; if it means "no vote", as in label matrices of Snorkel, say --missing -1 '
        "(missing=[-1] in Python)"
    ]
    assert to_list(karat.read(path, missing=[-1], **how).class_names) == [0, 1]
    assert to_list(karat.read(path, keep_missing=True, **how).class_names) == [-1, 0, 1]
