"""Methods of other packages: examples/one_coin.py works wherever Finegold's own methods do."""

import os
import subprocess
import sys
import warnings
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import ClassVar

import pytest

import finegold
from finegold.checks import LAWS
from finegold.errors import FinegoldWarning, InputError
from finegold.methods import lookup as outside
from finegold.methods.lookup import method_names
from finegold.methods.mv import MajorityVote
from tests.support.animals import TRUTH, VOTES
from tests.support.cli_helpers import succeed

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def one_coin(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr(outside, "_registered", {})
    return finegold.register("onecoin", import_module("one_coin").OneCoin)


@pytest.fixture
def site(tmp_path):
    """A folder with packages that have entry points: one that works, and one that does not."""
    (tmp_path / "site").mkdir()
    for package, line in {
        "good": "onecoin = one_coin:OneCoin",
        "bad": "lost = no_such_module:Lost",
    }.items():
        info = tmp_path / "site" / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[finegold.methods]\n{line}\n")
    return tmp_path / "site"


@pytest.fixture
def fresh(monkeypatch):
    """Entry points are looked up again, before and after the test."""
    monkeypatch.setattr(outside, "_registered", {})
    for function in (outside._entry_points, outside._load):
        function.cache_clear()
    yield
    for function in (outside._entry_points, outside._load):
        function.cache_clear()


def command(site, *arguments):
    paths = [site, EXAMPLES, Path(finegold.__file__).parents[1]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    given = [sys.executable, "-m", "finegold", *map(str, arguments)]
    return subprocess.run(
        given, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
def test_law(law, one_coin):
    law(one_coin)


def test_the_command_line_finds_an_installed_method(site, tmp_path):
    model = tmp_path / "model.finegold"
    done = command(
        site, "aggregate", VOTES, "--method", "onecoin", "--set", "smoothing=2", "--save", model
    )
    assert done.returncode == 0, done.stderr
    assert finegold.load(model).method == "onecoin"
    assert finegold.load(model).settings["smoothing"] == 2


def test_every_command_works_with_it(one_coin, tmp_path):
    model, new = tmp_path / "model.finegold", tmp_path / "new.csv"
    new.write_text("task,annotator,label\n0,99,cat\n1,99,cat\n")
    for arguments in (
        ("aggregate", VOTES, "--method", "onecoin", "--save", model, "-o", tmp_path / "labels.csv"),
        ("update", model, new, "-o", model),
        ("next-votes", model, "--budget", 5),
        ("report", model, "-o", tmp_path / "report.html"),
        ("trust", VOTES, "--method", "onecoin"),
        ("evaluate", VOTES, "--method", "onecoin,mv", "--truth", TRUTH),
        ("compare", VOTES, "--method", "onecoin,mv"),
        ("methods",),
    ):
        done = succeed(*arguments)
    assert "onecoin" in done.stdout
    assert "one-coin Dawid-Skene" in (tmp_path / "report.html").read_text()


def test_a_broken_entry_point_is_one_warning_and_no_more(site, fresh, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.syspath_prepend(site)
    with pytest.warns(
        FinegoldWarning,
        match=r"^the method lost of bad \(no_such_module:Lost\) cannot be used: Module",
    ):
        assert method_names()[-1] == "onecoin"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        with pytest.raises(InputError, match=r"there is no method 'lost'; choose from mv, .*onec"):
            finegold.aggregate(VOTES, "lost")


def test_what_is_no_method_is_refused():
    @dataclass(kw_only=True)
    class Half(finegold.Method):
        name: ClassVar[str] = "half"

    for name, given, message in (
        ("ds", MajorityVote, "ds is a method of Finegold"),
        ("My method", MajorityVote, "small letters, digits and underscores"),
        ("mine", MajorityVote, r'MajorityVote must have the line name: ClassVar\[str\] = "mine"'),
        ("mine", dict, "must be a subclass of finegold.Method"),
        ("half", Half, "Half must define learned, start, sweep"),
    ):
        with pytest.raises(InputError, match=message):
            finegold.register(name, given)
    assert "mine" not in method_names()
