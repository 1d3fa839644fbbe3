"""The public names: `__all__`, `dir()`, the stub for editors, and what mypy finds in a user's script."""

import os
import pickle
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import finegold
from finegold.api.estimators import Estimator
from finegold.api.options import FitOptions, Fitting
from finegold.io.options import Reading
from finegold.methods.lookup import REGISTRY, method_class

SOURCE = Path(finegold.__file__).parent
ROOT = SOURCE.parents[1]


def test_the_stub_lists_the_public_names_and_all_say_that_they_are_finegolds() -> None:
    assert {name for name in dir(finegold) if not name.startswith("__")} == set(finegold._HOMES)
    for name in finegold.__all__:
        assert getattr(finegold, name).__module__ == "finegold"


def test_a_star_import_brings_the_public_names_only() -> None:
    names: dict[str, object] = {}
    exec("from finegold import *", names)
    assert set(names) - {"__builtins__"} == set(finegold.__all__)


@pytest.mark.parametrize("method", REGISTRY)
def test_every_registered_method_is_a_public_class(method: str) -> None:
    made = getattr(finegold, REGISTRY[method].partition(":")[2])
    assert issubclass(made, method_class(method))
    assert issubclass(made, Estimator)
    assert made.__doc__ == method_class(method).__doc__
    assert pickle.loads(pickle.dumps(made(seed=3))).get_params() == made(seed=3).get_params()


def test_the_keywords_of_functions_that_fit_are_the_options_of_every_fit() -> None:
    declared = {option.name for option in fields(FitOptions)} - {"method", "settings"}
    assert set(Fitting.__annotations__) - set(Reading.__annotations__) == declared | {"on_step"}


RIGHT = """
import pathlib

import polars as pl

import finegold


def labels(votes: str | pathlib.Path | pl.DataFrame) -> pl.DataFrame:
    return finegold.aggregate(votes, threads=2, classes=["x", "y"]).labels()

votes = finegold.Annotations.from_arrays([1, 1], ["a", "b"], ["x", "y"])
result: finegold.Result = finegold.aggregate(votes, finegold.DS, engine="local")
model = finegold.PTBCC(n_prototypes=3).fit(votes)
finegold.MajorityVote().fit_predict(votes)
finegold.DS(max_iterations=10).set_params(tolerance=1e-3).get_params()
print(result.label, model.result_.confidence, finegold.agreement(votes).alpha, finegold.__version__)
try:
    finegold.load("nothing.finegold").report("nothing.html")
except finegold.InputError:
    pass
"""
WRONG = {
    "finegold.PTBC(n_prototypes=3)": 'Module has no attribute "PTBC"',
    "finegold.PTBCC(n_prototype=3)": 'Unexpected keyword argument "n_prototype" for "PTBCC"',
    'finegold.PTBCC(n_prototypes="3")': 'incompatible type "str"; expected "int"',
    'finegold.aggregate("votes.csv", engin="local")': 'No overload variant of "aggregate"',
    'finegold.aggregate("votes.csv", "ds", n_prototypes=3)': 'No overload variant of "aggregate"',
    'finegold.aggregate("votes.csv").lables()': '"Result[DataFrame]" has no attribute "lables"',
    "finegold.MajorityVote(skill=3)": 'Unexpected keyword argument "skill"',
    "finegold.simulate(10, 3, 2, seeds=1)": 'Unexpected keyword argument "seeds"',
    "finegold.PTBCC().welcome": 'has no attribute "welcome"',
}


def test_mypy_accepts_a_right_script_and_finds_every_mistake_in_a_wrong_one(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text("\n".join(["import finegold", *WRONG, ""]))
    said = mypy(tmp_path, "right.py", "wrong.py")
    assert not [row for row in said if row.startswith("right.py")], said
    for number, (line, words) in enumerate(WRONG.items(), start=2):
        assert any(row.startswith(f"wrong.py:{number}:") and words in row for row in said), (
            line,
            said,
        )


def mypy(folder: Path, *scripts: str) -> list[str]:
    """What mypy --strict says of scripts of a user, a row per message. `make lint` has filled its cache."""
    settings = [
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "--cache-dir",
        str(ROOT / ".mypy_cache"),
        "--strict",
    ]
    command = [sys.executable, "-m", "mypy", *settings, *scripts]
    environment = {**os.environ, "MYPYPATH": str(SOURCE.parent)}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()
