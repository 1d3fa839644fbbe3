"""The public names: `__all__`, `dir()`, the stub for editors, and what mypy finds in a user's script."""

import ast
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import finegold
from finegold.api.options import FitOptions, Fitting
from finegold.api.settings import Keywords, Settings
from finegold.io.options import Reading
from finegold.methods.lookup import method_class
from finegold.methods.registry import REGISTRY

SOURCE = Path(finegold.__file__).parent
STUB = SOURCE / "__init__.pyi"
ROOT = SOURCE.parents[1]


def imported_names() -> dict[str, str]:
    """The names that the stub imports, and from where."""
    imports = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: f"{node.module}" for node in imports for alias in node.names}


def test_the_stub_has_a_line_for_every_public_name() -> None:
    found = imported_names()
    missing = [
        f"from {home} import {name} as {name}" for name, home in finegold._HOME.items() if found.get(name) != home
    ]
    assert not missing, "add to src/finegold/__init__.pyi:\n" + "\n".join(missing)
    extra = sorted(set(found) - {*finegold._HOME, *finegold._MODULES})
    assert not extra, f"add to _HOME in src/finegold/__init__.py, or remove from the stub: {', '.join(extra)}"


def test_the_stub_lists_the_same_names_as_the_package() -> None:
    assigned = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.Assign)]
    listed = ast.literal_eval(next(node.value for node in assigned if ast.unparse(node.targets[0]) == "__all__"))
    missing, extra = sorted(set(finegold.__all__) - set(listed)), sorted(set(listed) - set(finegold.__all__))
    assert not missing, f"add to __all__ in src/finegold/__init__.pyi: {', '.join(missing)}"
    assert not extra, f"remove from __all__ in src/finegold/__init__.pyi: {', '.join(extra)}"


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    shown = {name for name in dir(finegold) if not name.startswith("__")}
    missing, extra = sorted(set(finegold._HOME) - shown), sorted(shown - {*finegold._HOME, *finegold._MODULES})
    assert not missing, f"dir(finegold) does not show {', '.join(missing)}"
    assert not extra, f"dir(finegold) shows {', '.join(extra)}, which _HOME in src/finegold/__init__.py does not have"
    assert finegold.__all__ == sorted(finegold._HOME)
    assert [name for name in finegold.__all__ if not hasattr(finegold, name)] == []


def test_a_star_import_brings_the_public_names_only() -> None:
    names: dict[str, object] = {}
    exec("from finegold import *", names)
    assert set(names) - {"__builtins__"} == set(finegold.__all__)


@pytest.mark.parametrize("method", REGISTRY)
def test_every_registered_method_is_a_public_class(method: str) -> None:
    name = REGISTRY[method].partition(":")[2]
    advice = (
        f"write `class {name}(Estimator, {method}.{name})` in src/finegold/api/estimators.py, "
        f'and add "{name}" to _HOME in src/finegold/__init__.py and to src/finegold/__init__.pyi'
    )
    assert name in finegold._HOME, advice
    made = getattr(finegold, name)
    assert issubclass(made, method_class(method)), advice
    assert made.__module__.startswith("finegold.api."), advice
    assert made.__doc__, advice


def test_the_keywords_of_aggregate_are_the_settings_of_all_methods() -> None:
    known = {setting.name for name in REGISTRY for setting in fields(method_class(name)) if setting.init}
    missing, extra = sorted(known - set(Settings.__annotations__)), sorted(set(Settings.__annotations__) - known)
    assert not missing, f"add to Settings in src/finegold/api/settings.py: {', '.join(missing)}"
    assert not extra, f"remove from Settings in src/finegold/api/settings.py: {', '.join(extra)}"


def test_the_keywords_of_functions_that_fit_are_the_options_of_every_fit() -> None:
    declared = {option.name for option in fields(FitOptions)} - {"method", "settings"}
    assert set(Fitting.__annotations__) - set(Reading.__annotations__) == declared | {"on_step"}
    assert set(Keywords.__annotations__) == set(Settings.__annotations__) | set(Reading.__annotations__)


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
