"""Votes that look wrong."""

from __future__ import annotations

from tests.support.reading_corpus.case import Case
from tests.support.reading_corpus.dirt.made import ANNOTATORS, CLEAN, csv, long, votes

MANY = [(f"t{place}", ANNOTATORS[place % 3], f"it looks like number {place}") for place in range(40)]
RATED = [(f"t{place // 3}", ANNOTATORS[place % 3], round(0.1 + place * 0.0173, 4)) for place in range(60)]
TWICE = [
    (task, who, label)
    for task, who, label in votes(*CLEAN * 10)
    for label in (label, "dog" if label == "cat" else "cat")
]
CASES = (
    Case(
        "free-text",
        "dirty",
        "nearly as many classes as votes: free text",
        {"v.csv": csv(MANY)},
        (),
        40,
        ("40 classes in 40 votes", "free text", "--label NAME"),
    ),
    Case(
        "ratings",
        "dirty",
        "nearly as many classes as votes: measurements",
        {"v.csv": csv(RATED)},
        (),
        60,
        ("60 classes in 60 votes", "measurements"),
    ),
    Case(
        "several-labels",
        "dirty",
        "cells with several labels",
        long("cat;dog", "cat", "dog", *CLEAN),
        (),
        9,
        ("1 votes hold several labels, such as cat;dog",),
    ),
    Case(
        "several-labels-comma",
        "dirty",
        "several labels with commas",
        long("cat, dog", "cat", "dog", *CLEAN),
        (),
        9,
        ("hold several labels",),
    ),
    Case(
        "one-annotator",
        "dirty",
        "a single annotator",
        {"v.csv": csv([(f"t{i}", "ann", CLEAN[i % 6]) for i in range(30)])},
        (),
        30,
        ("those of one annotator, ann", "--annotator NAME"),
    ),
    Case(
        "swapped",
        "dirty",
        "tasks and annotators that look swapped",
        {"v.csv": csv([(f"worker{j}", f"img{i}", CLEAN[i % 6]) for i in range(20) for j in range(3)])},
        (),
        60,
        ("20 annotators, such as img0, for 3 tasks, such as worker0", "swapped"),
    ),
    Case(
        "repeated-alike",
        "dirty",
        "repeated votes that agree",
        {"v.csv": csv([*votes(*CLEAN), *votes(*CLEAN)])},
        (),
        6,
        ("left out: 6 repeated votes",),
    ),
    Case(
        "repeated-disagree",
        "dirty",
        "repeated votes that disagree",
        {"v.csv": csv(TWICE)},
        (),
        60,
        ("60 pairs of task and annotator have votes that disagree", "--repeated"),
    ),
    Case(
        "repeated-few",
        "dirty",
        "one repeated vote that disagrees",
        {"v.csv": csv([*votes(*CLEAN), ("t0", "ann", "dog")])},
        (),
        6,
        ("left out: 1 repeated vote (1 pair of task and annotator has votes that disagree)",),
    ),
    Case(
        "repeated-refused",
        "dirty",
        "repeated votes, with --repeated error",
        {"v.csv": csv([*votes(*CLEAN), ("t0", "ann", "dog")])},
        ("--repeated", "error"),
        None,
        ("repeat an earlier vote",),
        pasted=6,
    ),
    Case(
        "too-many-classes",
        "dirty",
        "too many classes for a label column",
        {"v.csv": csv([(f"t{i}", ANNOTATORS[i % 3], f"x{i}") for i in range(10_050)])},
        (),
        None,
        ('10,050 classes in the column "label"', "--label NAME"),
    ),
)
