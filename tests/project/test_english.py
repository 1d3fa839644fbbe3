"""The check of phrases finds what it should, and leaves good English alone."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import check_english


@pytest.mark.parametrize(
    "text",
    [
        "v.parquet is no whole Parquet file",
        "what looks wrong in a file is said",
        "failed calls are no votes",
        "votes that tell nothing of the truth",
        "sets under majority vote",
        "Judged by 80 real data sets",
        "labels with such confidence",
        "unless an order says else",
        "arrays that do not belong into the result",
    ],
)
def test_phrases_that_came_back_are_found(text: str) -> None:
    assert list(check_english.phrases(text))


@pytest.mark.parametrize(
    "text",
    [
        "there is no file",
        "it is no longer needed",
        "`is no vote` is code",
        "on 80 real data sets",
        "as I said",
    ],
)
def test_good_english_is_left_alone(text: str) -> None:
    assert list(check_english.phrases(text)) == []


def test_all_texts_pass() -> None:
    assert check_english.main() == 0
