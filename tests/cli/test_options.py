"""Options come from their declarations, and remedies of errors are worded for the command that was run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from finegold.cli.options import Command, CommandLine, as_flag, declared
from finegold.errors import InputError, Placeholder, leave_out, use
from finegold.options import option
from tests.support.cli_helpers import CSV, refusal_of, write

FLAGS = {"--layout": True, "--label": True, "--header-line": True, "--classes": True, "-o": True}


@dataclass(frozen=True)
class Bake:
    flour: str | None = option(None, "Which flour.", metavar="NAME")
    minutes: int = option(
        30, "How long.", kind="number", metavar="N", low=1, high=99, flag="--time"
    )
    hot: bool = option(False, "Use the oven.", kind="flag")
    salted: bool | None = option(None, "With salt or without.", kind="switch")
    shape: str = option("round", "Its shape.", kind="choice", choices=("round", "long"))
    seeds: list[str] | None = option(None, "What is on it.", kind="list", metavar="A,B")
    extras: dict[str, str] | None = option(
        None, "More.", kind="pairs", metavar="A=B", example="oil=3"
    )
    tins: list[str] | None = option(None, "Tins.", kind="paths", metavar="FILE")
    yeast: Any = option(None, "Which yeast.", metavar="NAME|own", words={"own": True})
    secret: str = option("no", "Not for the command line.", surfaces=frozenset({"python"}))


def bake(*words: str, **chosen: Any) -> Any:
    """Run a command with the options of Bake, and return what it gets, or how it ended."""
    baked = []

    @click.command(cls=Command)
    @declared(Bake, "how", **chosen)
    def cook(how: Bake) -> None:
        baked.append(how)

    result = CliRunner().invoke(cook, list(words))
    return baked[0] if baked else result.output


def test_every_kind_of_option_becomes_a_typed_value() -> None:
    words = "--flour rye --time 40 --hot --no-salted --shape long --seeds poppy,flax --extras a-b=1 --extras c=d=e"
    got = bake(*words.split(), "--tins", "a", "--tins", "b")
    assert got == Bake(
        flour="rye", minutes=40, hot=True, salted=False, shape="long", seeds=["poppy", "flax"],
        extras={"a_b": "1", "c": "d=e"}, tins=["a", "b"],
    )  # fmt: skip


def test_what_is_not_given_has_the_default_of_the_declaration_or_of_the_command() -> None:
    assert bake() == Bake()
    assert bake(shape="long", names=["shape"]) == Bake(shape="long")
    assert "No such option" in bake("--flour", "rye", names=["shape"])
    assert "No such option" in bake("--secret", "x")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--time 100", "100 is not in the range 1<=x<=99"),
        ("--shape square", "'square' is not one of 'round', 'long'"),
        ("--extras salt", "--extras takes A=B, e.g. --extras oil=3, not 'salt'"),
    ],
)
def test_wrong_values_are_refused(words: str, message: str) -> None:
    assert message in bake(*words.split())


def test_a_word_stands_for_a_value() -> None:
    assert bake("--yeast", "own").yeast is True
    assert bake("--yeast", "dry").yeast == "dry"


@pytest.mark.parametrize(
    ("name", "value", "flag"),
    [
        ("layout", "wide", ("--layout", "wide")),
        ("threads", None, ("--threads", None)),
        ("multi", False, ("--no-multi", None)),
        ("header", 0, ("--header-line", "0")),
        ("header", False, ("--header-line", "0")),
        ("header", 3, ("--header-line", "3")),
        ("gold", True, ("--gold", "export")),
        ("settings", None, ("--set", None)),
        ("classes", ["a", "b"], ("--classes", "a,b")),
        ("missing", [], ("--missing", "")),
    ],
)
def test_an_option_of_python_is_spelt_as_a_flag(
    name: str, value: Any, flag: tuple[str, str | None]
) -> None:
    assert as_flag(name, value) == flag


def test_remedies_are_worded_for_the_command() -> None:
    line = CommandLine(("aggregate", "v.csv"), FLAGS)
    assert line.word("classes", ["red fox", "b"]) == "--classes 'red fox,b'"
    assert line.word("label", Placeholder("NAME")) == "--label NAME"
    assert (
        line.word("engine", "dask") == "engine='dask' in Python"
    )  # this command has no such option


@pytest.mark.parametrize(
    ("words", "remedies", "command"),
    [
        ("v.csv", [use(layout="wide")], "v.csv --layout wide"),
        ("v.csv --label x", [leave_out("label")], "v.csv"),
        ("v.csv --label=x --layout wide", [leave_out("label")], "v.csv --layout wide"),
        ("v.csv --label x", [use(label="the label")], "v.csv --label 'the label'"),
        ("v.csv --header-line 3", [use(header=0)], "v.csv --header-line 0"),
        (
            "v.csv",
            [use(engine="dask"), use(layout="wide")],
            "v.csv --layout wide",
        ),  # no option of this command comes first
        ("v.csv", [use("if it is wide", layout="wide")], None),
        ("v.csv", [use(label=Placeholder("NAME"))], None),
        ("v.csv", [use(text="save it as UTF-8")], None),
        (
            "postgresql://me:secret@host/db --layout wide",
            [leave_out("layout")],
            "postgresql://host/db",
        ),
    ],
)
def test_a_command_is_offered_where_a_remedy_can_be_pasted(
    words: str, remedies: Any, command: str | None
) -> None:
    line = CommandLine(("aggregate", *words.split()), FLAGS)
    assert line.repair(remedies) == ("" if command is None else f"finegold aggregate {command}")


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (
            "aggregate {v} --json",
            "use --layout wide try: finegold aggregate {v} --json --layout wide",
        ),
        ("judges {v}", "in Python"),
    ],
)
def test_an_error_ends_with_what_its_command_can_do(
    words: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise InputError("that is not it", "v.csv", [use(layout="wide")])

    votes = write(tmp_path / "v.csv", CSV)
    monkeypatch.setattr("finegold.io.read.read_with", refuse)
    monkeypatch.setattr("finegold.judges.read_each", refuse)
    message = refusal_of(*words.format(v=votes).split())
    assert message.startswith("error: v.csv: that is not it; use ")
    assert message.endswith(ending.format(v=votes))
