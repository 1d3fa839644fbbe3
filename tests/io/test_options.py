"""Reading options are declared once, and `finegold.read` takes them as typed keywords."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import finegold
from finegold.errors import InputError
from finegold.io.options import Reading, ReadOptions
from finegold.options import options_of

VOTES = pl.DataFrame({"task": [1, 1], "worker": ["a", "b"], "label": ["x", "y"]})


def test_the_typed_keywords_are_the_declared_options() -> None:
    declared = {name: ReadOptions.__annotations__[name] for name in options_of(ReadOptions)}
    assert {
        name: hint.__forward_arg__ for name, hint in Reading.__annotations__.items()
    } == declared


def test_an_unknown_keyword_is_an_error_of_python() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'wid'"):
        finegold.read(VOTES, wid=True)


def test_a_wrong_value_says_what_is_expected() -> None:
    for option, message in (
        ({"normalise": "yes"}, "normalise must be True or False"),
        ({"repeated": "none"}, 'repeated must be "first", "last"'),
    ):
        with pytest.raises(InputError, match=message):
            finegold.read(VOTES, **option)


def test_votes_that_are_read_take_no_options_of_reading() -> None:
    votes = finegold.read(VOTES)
    assert finegold.read(votes, repeated="last", include=[], header=1) is votes
    with pytest.raises(InputError, match="classes, header cannot be applied to Annotations"):
        finegold.read(votes, classes=np.array(["x", "y"]), header=False)


def test_ordered_classes_are_the_classes() -> None:
    assert finegold.read(VOTES, ordered=["y", "x"]).class_names.to_list() == ["y", "x"]
    with pytest.raises(
        InputError, match="classes and ordered both list the classes; leave out classes, or"
    ):
        finegold.read(VOTES, ordered=["y", "x"], classes=["x", "y"])
