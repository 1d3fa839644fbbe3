"""Truths that do not match the votes, for `finegold evaluate`. They are no part of the corpus, which aggregates."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.reading_corpus.case import Case
from tests.support.reading_corpus.dirt.made import CLEAN, csv, long

TRUTH = ("--truth", "_truth.csv")


def judged(*truths: str, labels: tuple[str, ...] = CLEAN) -> Mapping[str, bytes]:
    return {**long(*labels), "_truth.csv": csv([truth.split("=") for truth in truths], "task,truth")}


SPELLED = ("cat", "Cat", "cat", "dog", "dog", "dog")
CASES = (
    Case("truth-ids", "dirty", "truths of other tasks", judged("0=cat", "1=dog"), TRUTH, None, (
        "none of the 2 truths in _truth.csv belongs to a task with votes", "the truths have 0, the votes have 't0'",
    )),
    Case("truth-few", "dirty", "some truths of other tasks", judged("t0=cat", "t1=dog", "x=dog"), TRUTH, 2, (
        "1 truth belongs to a task without votes",
    )),
    Case("truth-classes", "dirty", "truths that are not classes", judged("t0=A", "t1=B"), TRUTH, None, (
        "none of the 2 truths in _truth.csv is a class of the votes", "--alias FILE",
    )),
    Case("truth-case", "dirty", "truths in another case", judged("t0=CAT", "t1=Dog"), TRUTH, None, (
        "CAT looks like cat, Dog looks like dog", "--normalise",
    )),
    Case("truth-case-some", "dirty", "one truth in another case", judged("t0=CAT", "t1=dog"), TRUTH, 2, (
        "CAT looks like cat",
    )),
    Case("truth-normalise", "dirty", "votes and truths in several cases, with --normalise",
         judged("t0=CAT", "t1=Dog", labels=SPELLED), (*TRUTH, "--normalise"), 2),
    Case("truth-alias", "dirty", "truths that an alias names",
         {**judged("t0=C", "t1=D"), "_alias.csv": b"from,to\nC,cat\nD,dog\n"},
         (*TRUTH, "--alias", "_alias.csv"), 2),
)  # fmt: skip
