"""Gold that does not match the votes."""

from __future__ import annotations

from tests.support.reading_corpus.case import Case
from tests.support.reading_corpus.dirt.made import CLEAN, csv, votes, with_gold

GOLD = ("--gold", "_gold.csv")

CASES = (
    Case(
        "gold-ids",
        "dirty",
        "gold whose tasks are written otherwise",
        with_gold("0=cat", "1=cat", "2=dog"),
        GOLD,
        18,
        ("3 gold truths belong to tasks without votes", "the gold has 0, the votes have 't0'"),
    ),
    Case(
        "gold-zeros",
        "dirty",
        "gold ids with leading zeros",
        {"v.csv": csv(votes(*CLEAN * 3, tasks="")), "_gold.csv": b"task,truth\n000,cat\n001,dog\n002,cat\n"},
        GOLD,
        18,
        ("3 gold truths belong to tasks without votes", "the gold has '000', the votes have 0"),
    ),
    Case(
        "gold-few",
        "dirty",
        "some gold of other tasks",
        with_gold("t0=cat", "t1=dog", "x9=dog"),
        GOLD,
        18,
        ("1 gold truths belong to tasks without votes",),
    ),
    Case(
        "gold-case",
        "dirty",
        "gold classes in another case",
        with_gold("t0=Cat", "t1=DOG"),
        GOLD,
        18,
        ("4 classes look like 2", "Cat (gold)", "--normalise"),
    ),
    Case(
        "gold-case-merged",
        "dirty",
        "the same, with --normalise",
        with_gold("t0=Cat", "t1=DOG"),
        (*GOLD, "--normalise"),
        18,
    ),
    Case(
        "gold-alias",
        "dirty",
        "gold classes that an alias names",
        {**with_gold("t0=C", "t1=D"), "_alias.csv": b"from,to\nC,cat\nD,dog\n"},
        (*GOLD, "--alias", "_alias.csv"),
        18,
    ),
    Case(
        "gold-classes",
        "dirty",
        "gold classes that nobody voted for",
        with_gold(*(f"t{i}={'AB'[i % 2]}" for i in range(6))),
        GOLD,
        18,
        ("6 of 6 gold truths are classes that nobody voted for", "the gold has 'A', the votes have 'cat'"),
    ),
    Case(
        "gold-contradicts",
        "dirty",
        "gold that contradicts itself",
        with_gold("t0=cat", "t0=dog"),
        GOLD,
        None,
        ("task 't0' has the truth",),
    ),
    Case("gold-blank", "dirty", "gold with blank truths", with_gold("t0=cat", "t1="), GOLD, 18),
    Case(
        "gold-numbers",
        "dirty",
        "gold written as 1.0",
        with_gold("t0=1.0", "t1=2.0", labels=(1, 2, 1, 2, 2, 1)),
        GOLD,
        6,
    ),
)
