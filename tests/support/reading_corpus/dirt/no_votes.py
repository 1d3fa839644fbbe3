"""Labels that are no votes, and rows that lack something."""

from __future__ import annotations

from tests.support.reading_corpus.case import Case
from tests.support.reading_corpus.dirt.made import CLEAN, csv, long, votes, wide

NO_VOTE = 'are taken as "no vote"'

WORDS = ("NA", "N/A", "#N/A", "n/a", "nan", "NaN", "null", "{}")
CASES = (
    Case("blank", "dirty", "blank labels", long("", "cat", "dog", *CLEAN), (), 8, ("left out: 1 row without a label",)),
    Case(
        "blank-spaces",
        "dirty",
        "labels of spaces only",
        long("  ", "cat", "dog", *CLEAN),
        (),
        8,
        ("left out: 1 row without a label",),
    ),
    *(
        Case(
            f"word-{place}",
            "dirty",
            f"the label {word}",
            long(word, "cat", "dog", *CLEAN),
            (),
            8,
            ("left out: 1 row without a label",),
        )
        for place, word in enumerate(WORDS)
    ),
    *(
        Case(
            f"doubtful-{place}",
            "dirty",
            f"the label {word}",
            long(word, "cat", "dog", *CLEAN),
            (),
            8,
            (f'the labels "{word}" (1) {NO_VOTE}', "--keep-missing"),
        )
        for place, word in enumerate(("None", "-", "?"))
    ),
    Case(
        "none-is-a-class",
        "dirty",
        "None as a class, with --keep-missing",
        long("None", "cat", "None", *CLEAN),
        ("--keep-missing",),
        9,
    ),
    Case(
        "own-word",
        "dirty",
        "another word for no vote, with --missing",
        long("skip", "cat", "dog", *CLEAN),
        ("--missing", "skip"),
        8,
        ("left out: 1 row",),
    ),
    Case(
        "own-word-case",
        "dirty",
        "--missing in another case",
        long("SKIP", "cat", "dog", *CLEAN),
        ("--missing", "skip"),
        8,
    ),
    Case("minus-one-long", "good", "-1 on a scale of -1, 0 and 1", long("-1", "0", "1", "-1", "0", "1"), (), 6),
    Case(
        "minus-one-wide",
        "dirty",
        "-1 in a wide table",
        wide("a,1,0,-1", "b,1,1,-1", "c,0,0,0"),
        (),
        9,
        ("the label -1 (2) is read as a class",),
    ),
    Case(
        "minus-one-missing",
        "dirty",
        "-1 that means no vote",
        wide("a,1,0,-1", "b,1,1,-1", "c,0,0,0"),
        ("--missing", "-1"),
        7,
    ),
    Case("all-blank", "dirty", "no label at all", long("", "", "NA", "", "", ""), (), None, ("error",)),
    Case(
        "blank-wide",
        "dirty",
        "blank cells of a wide table",
        wide("a,x,,y", "b,x,x,", "c,,y,y"),
        (),
        6,
        ("left out: 3 rows without a label",),
    ),
    Case(
        "without-task",
        "dirty",
        "a vote without a task",
        {"v.csv": csv([*votes(*CLEAN), ("", "ann", "cat")])},
        (),
        None,
        ("row", "there is a label but no task"),
    ),
    Case(
        "without-annotator",
        "dirty",
        "a vote without an annotator",
        {"v.csv": csv([*votes(*CLEAN), ("t9", "", "cat")])},
        (),
        None,
        ("there is a label but no annotator",),
    ),
    Case(
        "blank-row",
        "dirty",
        "a row without anything",
        {"v.csv": csv([*votes(*CLEAN), ("", "", "")])},
        (),
        6,
        ("left out: 1 row",),
    ),
)
