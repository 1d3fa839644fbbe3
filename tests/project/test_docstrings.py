"""Docstrings of public objects: their examples run, and they state the defaults that the code has.

`make lint` also checks them with numpydoc (tools/check_docstrings.py).
"""

import ast
import doctest
import inspect
import re
import subprocess
import sys

import pytest

import finegold
from finegold.methods import lookup as outside
from finegold.methods.registry import REGISTRY

ENTRY = re.compile(r"(?m)^(\*{0,2}\w+(?:, \w+)*) : (.*)$")
METHODS = sorted(home.partition(":")[2] for home in REGISTRY.values())
CALLABLE = [
    name
    for name in finegold.__all__
    if not name.endswith(("Error", "Warning")) and name != "Result"
]


def documented_parameters(thing: object) -> dict[str, str]:
    """The type and default that the section of parameters states for each."""
    found = re.search(r"(?ms)^Parameters\n-+\n(.*?)(?:^\w+\n-+\n|\Z)", inspect.getdoc(thing) or "")
    entries = ENTRY.findall(found[1]) if found else []
    return {name: words for names, words in entries for name in names.split(", ")}


def examples(name: str) -> list[doctest.DocTest]:
    """The examples in the docstring of a public object and of its own methods."""
    thing = getattr(finegold, name)
    module = sys.modules[thing.__module__]
    return doctest.DocTestFinder().find(thing, name=f"finegold.{name}", module=module, globs={})


@pytest.mark.parametrize(
    "name", [name for name in finegold.__all__ if not name.endswith(("Error", "Warning"))]
)
def test_the_examples_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outside, "_registered", {})  # an example registers a method
    found = examples(name)
    assert any(test.examples for test in found), f"the docstring of finegold.{name} has no example"
    runner = doctest.DocTestRunner()
    assert sum(runner.run(test).failed for test in found) == 0


@pytest.mark.parametrize("name", [name for name in CALLABLE if name != "Annotations"])
def test_docstrings_state_the_defaults_of_the_code(name: str) -> None:
    thing = getattr(finegold, name)
    stated, signature = documented_parameters(thing), inspect.signature(thing)
    for parameter in signature.parameters.values():
        words = stated.get(parameter.name, "")
        if parameter.default in (None, ()):
            assert words.endswith("optional"), (
                f"{name}: {parameter.name} is optional, but the docstring says {words!r}"
            )
        elif parameter.default is not parameter.empty:
            _, _, default = words.partition(", default ")
            message = f"{name}: {parameter.name} is {parameter.default!r} by default, but the docstring says {words!r}"
            assert default, message
            assert ast.literal_eval(default) == parameter.default, message


@pytest.mark.parametrize("name", METHODS)
def test_every_setting_of_a_method_has_its_line(name: str) -> None:
    thing = getattr(finegold, name)
    missing = sorted(set(thing().get_params()) - set(documented_parameters(thing)))
    assert not missing, (
        f'add to the section "Parameters" of the docstring of {name}: {", ".join(missing)}'
    )


@pytest.mark.parametrize("name", ["read", "aggregate"])  # with a list of options, and without
def test_help_of_a_function_says_what_it_takes_and_returns(name: str) -> None:
    text = inspect.getdoc(getattr(finegold, name)) or ""
    sections = ("Parameters", "Returns", "Raises", "Examples")
    at = [text.find(f"\n\n{section}\n{'-' * len(section)}\n") for section in sections]
    assert -1 not in at
    assert at == sorted(at)


def test_numpydoc_of_class_methods_and_of_keywords_is_made_from_short_docstrings() -> None:
    assert "\n\nParameters\n----------\ndata : ResultData\n    " in (
        inspect.getdoc(finegold.Result.of) or ""
    )
    assert "\n**keywords : dict\n    " in (inspect.getdoc(finegold.aggregate) or "")
    text = inspect.getdoc(finegold.PTBCC.fit_predict) or ""
    assert "\n*votes, **reading : object\n    The arguments of `fit`." in text
    assert (inspect.getdoc(finegold.PTBCC.fit) or "").count("\nX, data : path") == 1


@pytest.mark.parametrize(
    "module", ["finegold.judges", "finegold.crowdkit.metrics.data", "finegold.methods.ptbcc"]
)
def test_docstrings_of_a_module_are_made_whoever_imports_it(module: str) -> None:
    code = (
        f"import {module} as m; texts = [each.__doc__ for each in vars(m).values() "
        "if getattr(each, '__module__', '') == m.__name__ and each.__doc__ and not each.__name__.startswith('_')]; "
        "print(sum('\\n----------\\n' in text for text in texts))"
    )
    assert (
        int(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
        )
        > 0
    )


def test_the_examples_of_the_measures_run() -> None:
    from finegold.results import metrics

    done = doctest.testmod(metrics)
    assert done.attempted >= 16
    assert done.failed == 0
