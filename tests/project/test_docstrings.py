"""Docstrings of public objects: their examples run, and they name what can be given.

That they name every argument, and no other, is checked by the rules "D" of Ruff.
"""

import doctest
import inspect
import re
import sys

import pytest

import finegold
from finegold.io.options import ReadOptions
from finegold.io.verdicts import LogReading
from finegold.methods import lookup as outside
from finegold.methods.lookup import REGISTRY
from finegold.options import options_of

METHODS = sorted(home.partition(":")[2] for home in REGISTRY.values())
NAMES = [name for name in finegold.__all__ if not name.endswith(("Error", "Warning"))]


def arguments(thing: object) -> set[str]:
    """The names below "Args:"."""
    found = re.search(r"(?ms)^Args:\n(.*?)(?:^\S|\Z)", inspect.getdoc(thing) or "")
    return set(re.findall(r"(?m)^    \*{0,2}(\w+)(?: \(.*?\))?:", found[1])) if found else set()


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # an example registers a method
    monkeypatch.setattr(outside, "_registered", {})
    thing = getattr(finegold, name)
    module = sys.modules[thing.__module__]
    found = doctest.DocTestFinder().find(thing, name=f"finegold.{name}", module=module, globs={})
    # methods are used alike: that of PTBCC shows how
    has_example = name in METHODS or any(test.examples for test in found)
    assert has_example, f"the docstring of finegold.{name} has no example"
    runner = doctest.DocTestRunner()
    assert sum(runner.run(test).failed for test in found) == 0


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("Result", "Annotations")])
def test_every_argument_and_every_setting_has_its_line(name: str) -> None:
    thing = getattr(finegold, name)
    expected = set(thing().get_params() if name in METHODS else inspect.signature(thing).parameters)
    assert expected <= arguments(thing)


@pytest.mark.parametrize(
    ("function", "options"), [(finegold.read, ReadOptions), (finegold.judges.read, LogReading)]
)
def test_a_function_that_takes_declared_options_lists_them(function: object, options: type) -> None:
    assert set(options_of(options)) <= arguments(function)


@pytest.mark.parametrize("name", NAMES)
def test_public_methods_have_docstrings(name: str) -> None:
    thing = getattr(finegold, name)
    if isinstance(thing, type):
        bare = [
            each
            for each, member in inspect.getmembers(thing)
            if not each.startswith("_")
            and (callable(member) or isinstance(member, property))
            and not inspect.getdoc(member)
        ]
        assert not bare
