"""Checks the docstrings of public objects with numpydoc: python tools/check_docstrings.py (part of `make lint`)."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

from numpydoc.docscrape import get_doc_object
from numpydoc.validate import validate

import finegold
import finegold.crowdkit
from finegold.api.estimators import Estimator

# Classes that users meet, and functions that the reference shows, although they are not names of `finegold`.
MORE = [
    "finegold.api.estimators.Estimator",
    "finegold.insight.Agreement",
    "finegold.insight.Trust",
    "finegold.insight.next_votes.Plan",
    "finegold.judges.JudgeReport",
    "finegold.insight.judges.panels.JudgeComparison",
    "finegold.insight.judges.panels.Panel",
    "finegold.insight.judges.ranking.Ranking",
    "finegold.insight.judges.scores.JudgeScore",
    "finegold.io.judge_logs.JudgeLog",
    "finegold.io.truth.read_truth",
    "finegold.judges.assess",
    "finegold.judges.rank",
    "finegold.judges.read",
    "finegold.io.database_tables.write_frame_to_table",
    "finegold.io.database_tables.write_labels_to_table",
    "finegold.io.writers.write_frame",
    "finegold.io.writers.write_labels",
    "finegold.paper.datasets.Votes",
    "finegold.results.metrics.accuracy",
    "finegold.results.metrics.calibration_error",
    "finegold.results.metrics.log_loss",
    "finegold.results.metrics.macro_f1",
    "finegold.votes.simulation.Simulation",
]
CROWDKIT = "finegold.crowdkit"
CHECKS = {
    "GL03",  # no two blank lines in a row
    "GL08",  # there is a docstring
    "SS03",  # its first sentence ends with a period
    "PR01",  # every parameter is documented
    "PR02",  # and no other
    "PR04",  # with a type
    "PR07",  # and a description
    "RT01",  # what is returned is documented
    "RT03",  # with a description
    "EX01",  # there is an example
}
NO_EXAMPLE = CHECKS - {"EX01"}
NOT_MADE_BY_USERS = CHECKS - {"PR01"}  # their attributes are documented instead


def objects() -> Iterator[tuple[str, Any]]:
    """Yield the public functions and classes."""
    for name in finegold.__all__:
        yield f"finegold.{name}", getattr(finegold, name)
    for path in MORE:
        module, _, name = path.rpartition(".")
        yield path, getattr(import_module(module), name)
    for name in finegold.crowdkit.__all__:
        yield f"{CROWDKIT}.{name}", getattr(finegold.crowdkit, name)


def members(owner: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that Finegold's own classes give to a class."""
    for name in dir(owner):
        found = inspect.getattr_static(owner, name)
        if not name.startswith("_") and (
            callable(found) or isinstance(found, property | classmethod)
        ):
            yield name, _documented(owner, name)


def _documented(owner: type, name: str) -> Any:
    """Return the member; if it has no docstring, what it overrides, whose docstring `help` shows."""
    with_docstring = (
        base for base in owner.__mro__ if getattr(vars(base).get(name), "__doc__", None)
    )
    return getattr(next(with_docstring, owner), name)


def problems() -> Iterator[str]:
    """Yield a line per object and check that fails."""
    for path, thing in objects():
        yield from _failed(path, thing, _checks(path, thing))
        if isinstance(thing, type) and not issubclass(thing, Exception):
            yield from _undocumented_fields(path, thing)
            for name, member in members(thing):
                yield from _failed(f"{path}.{name}", member, NO_EXAMPLE)


def _checks(path: str, thing: Any) -> set[str]:
    from_crowdkit = path.startswith(CROWDKIT)
    is_made = not isinstance(thing, type) or issubclass(thing, Estimator) or from_crowdkit
    is_error = isinstance(thing, type) and issubclass(thing, Exception)
    needs_example = not (path in MORE or from_crowdkit or is_error)
    return (CHECKS if is_made else NOT_MADE_BY_USERS) & (CHECKS if needs_example else NO_EXAMPLE)


def _undocumented_fields(path: str, thing: type) -> Iterator[str]:
    """Yield the fields of a data class that its section of attributes leaves out."""
    if not is_dataclass(thing) or issubclass(thing, Estimator) or path.startswith(CROWDKIT):
        return
    documented = {
        name for entry in get_doc_object(thing)["Attributes"] for name in entry.name.split(", ")
    }
    public = [field.name for field in fields(thing) if not field.name.startswith("_")]
    missing = [name for name in public if name not in documented]
    if missing:
        yield f"{path}: Attributes {', '.join(missing)} not documented"


def _failed(path: str, thing: Any, checks: set[str]) -> Iterator[str]:
    found = validate(get_doc_object(thing))["errors"]
    yield from (f"{path}: {code} {words}" for code, words in found if code in checks)


if __name__ == "__main__":
    failed = list(problems())
    print(
        "\n".join(failed)
        or f"The docstrings of {sum(1 for _ in objects())} public objects are complete."
    )
    sys.exit(bool(failed))
