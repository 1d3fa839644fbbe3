"""Spellings of one class, and numbers in several formats."""

from __future__ import annotations

import json

from tests.support.reading_corpus.case import Case
from tests.support.reading_corpus.dirt.made import CLEAN, long, votes

ALIKE = "look like"
MERGED = "labels that differ only in number format were merged"

SPELLINGS = (
    Case(
        "case",
        "dirty",
        "classes that differ by case",
        long("cat", "Cat", "CAT", *CLEAN),
        (),
        9,
        ("4 classes look like 2: cat (4) = CAT (1) = Cat (1); use --normalise",),
    ),
    Case("case-merged", "dirty", "the same, with --normalise", long("cat", "Cat", "CAT", *CLEAN), ("--normalise",), 9),
    Case(
        "spaces-around",
        "dirty",
        "spaces around a class",
        long("cat", " cat", "cat ", *CLEAN),
        (),
        9,
        (ALIKE, '" cat" (1)'),
    ),
    Case(
        "spaces-double",
        "dirty",
        "double spaces in a class",
        long("a cat", "a  cat", "a cat", *CLEAN),
        (),
        9,
        ('a cat (2) = "a  cat" (1)',),
    ),
    Case(
        "no-break-space",
        "dirty",
        "a no-break space in a class",
        long("a cat", "a\u00a0cat", "a cat", *CLEAN),
        (),
        9,
        (ALIKE,),
    ),
    Case(
        "unicode-form",
        "dirty",
        "one class in two Unicode forms",
        long("caf\u00e9", "cafe\u0301", "caf\u00e9", *CLEAN),
        (),
        9,
        (ALIKE,),
    ),
    Case(
        "full-width", "dirty", "full-width letters", long("cat", "\uff43\uff41\uff54", "cat", *CLEAN), (), 9, (ALIKE,)
    ),
    Case("trailing-dot", "dirty", "a dot at the end", long("cat", "cat.", "dog", *CLEAN), (), 9, (ALIKE, "cat. (1)")),
    Case(
        "several-groups",
        "dirty",
        "several groups at once",
        long("Cat", "DOG", "dog ", *CLEAN),
        (),
        9,
        ("5 classes look like 2", "dog (3)"),
    ),
    Case(
        "typing-error",
        "dirty",
        "a typing error, with an alias file",
        {**long("cat", "kat", "dog", *CLEAN), "_alias.csv": b"spelling,class\nkat,cat\n"},
        ("--alias", "_alias.csv"),
        9,
    ),
    Case(
        "alias-without-header",
        "dirty",
        "an alias file without a header",
        {**long("cat", "kat", "dog", *CLEAN), "_alias.csv": b"kat,cat\ndoc,dog\n"},
        ("--alias", "_alias.csv"),
        9,
    ),
    Case(
        "alias-of-others",
        "dirty",
        "an alias of other labels",
        {**long(*CLEAN), "_alias.csv": b"from,to\nbird,cat\n"},
        ("--alias", "_alias.csv"),
        6,
        ("none of the 1 spellings of the alias occurs",),
    ),
    Case(
        "alias-contradicts",
        "dirty",
        "an alias that contradicts itself",
        {**long(*CLEAN), "_alias.csv": b"from,to\nkat,cat\nkat,dog\n"},
        ("--alias", "_alias.csv"),
        None,
        ("means both",),
    ),
)
NUMBERS = (
    Case(
        "number-gaps",
        "dirty",
        "integers that pandas wrote as 1.0",
        long("1", "1.0", "2.0", "2", "1", "2.0"),
        (),
        6,
        (MERGED, "1 = 1 (2) = 1.0 (1)"),
    ),
    Case("number-zeros", "dirty", "numbers with leading zeros", long("1", "01", "2", "02", "1", "2"), (), 6, (MERGED,)),
    Case("number-spaces", "dirty", "numbers with spaces", long("1", " 1", "2", "2 ", "1", "2"), (), 6, (MERGED,)),
    Case("number-plus", "dirty", "numbers with a plus sign", long("1", "+1", "0", "0", "-1", "-1"), (), 6, (MERGED,)),
    Case(
        "number-types",
        "dirty",
        "the integer 1 and the text 1",
        {
            "v.jsonl": b"".join(
                json.dumps({"task": task, "annotator": who, "label": label}).encode() + b"\n"
                for task, who, label in votes(1, "1", 2, 2, "2", 1)
            )
        },
        (),
        6,
    ),
    Case(
        "number-among-words",
        "dirty",
        "1 and 1.0 beside words",
        long("1", "1.0", "cat", "cat", "1", "cat"),
        (),
        6,
        (ALIKE, "1 (2) = 1.0 (1)"),
    ),
    Case(
        "number-decimals",
        "good",
        "decimals that differ",
        long("1.5", "1.50", "2.5", "2.5", "1.5", "2.5"),
        (),
        6,
        (MERGED,),
    ),
)
CASES = (*SPELLINGS, *NUMBERS)
