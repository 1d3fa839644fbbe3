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
from finegold.api.settings import Settings
from finegold.methods.lookup import method_class
from finegold.methods.registry import REGISTRY

SOURCE = Path(finegold.__file__).parent
STUB = SOURCE / "__init__.pyi"
ROOT = SOURCE.parents[1]
PRINT_STUB = "import sys; sys.path.insert(0, 'tools'); import make_stub; sys.stdout.write(make_stub.stub())"


def test_the_stub_is_that_of_the_package() -> None:
    made = subprocess.run([sys.executable, "-c", PRINT_STUB], capture_output=True, text=True, check=True, cwd=ROOT)
    assert made.stdout == STUB.read_text(), "run python tools/make_stub.py"


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    shown = {name for name in dir(finegold) if not name.startswith("__")}
    assert shown == {*finegold.__all__, *finegold._MODULES}
    assert set(finegold.__all__) == {*finegold._HOME, *(home.partition(":")[2] for home in REGISTRY.values())}
    assert [name for name in finegold.__all__ if not hasattr(finegold, name)] == []


def test_a_star_import_brings_the_public_names_only() -> None:
    names: dict[str, object] = {}
    exec("from finegold import *", names)
    assert set(names) - {"__builtins__"} == set(finegold.__all__)


@pytest.mark.parametrize("method", REGISTRY)
def test_every_registered_method_is_a_public_class(method: str) -> None:
    name = REGISTRY[method].partition(":")[2]
    made = getattr(finegold, name)
    assert issubclass(made, method_class(method))
    assert issubclass(made, Estimator)
    assert made.__doc__
    assert pickle.loads(pickle.dumps(made(seed=3))).get_params() == made(seed=3).get_params()


def test_the_keywords_of_aggregate_are_the_settings_of_all_methods() -> None:
    known = {setting.name for name in REGISTRY for setting in fields(method_class(name)) if setting.init}
    missing, extra = sorted(known - set(Settings.__annotations__)), sorted(set(Settings.__annotations__) - known)
    assert not missing, f"add to Settings in src/finegold/api/settings.py: {', '.join(missing)}"
    assert not extra, f"remove from Settings in src/finegold/api/settings.py: {', '.join(extra)}"


RIGHT = """
import finegold

votes = finegold.Annotations.from_arrays([1, 1], ["a", "b"], ["x", "y"])
result: finegold.Result = finegold.aggregate(votes, "ptbcc", engine="local", n_prototypes=3)
model = finegold.PTBCC(n_prototypes=3).fit(votes)
finegold.MajorityVote().fit_predict(votes)
finegold.DawidSkene(n_iter=10).set_params(tol=1e-3).get_params()
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
    'finegold.aggregate("votes.csv", engin="local")': 'Unexpected keyword argument "engin" for "aggregate"',
    'finegold.aggregate("votes.csv", "ds", n_prototype=3)': 'Unexpected keyword argument "n_prototype"',
    'finegold.aggregate("votes.csv").lables()': '"Result" has no attribute "lables"',
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
        assert any(row.startswith(f"wrong.py:{number}:") and words in row for row in said), (line, said)


def mypy(folder: Path, *scripts: str) -> list[str]:
    """What mypy --strict says of scripts of a user, a row per message. `make lint` has filled its cache."""
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache"), "--strict"]
    command = [sys.executable, "-m", "mypy", *settings, *scripts]
    environment = {**os.environ, "MYPYPATH": str(SOURCE.parent)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout.splitlines()
