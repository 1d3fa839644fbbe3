"""Imports follow the layers of pyproject.toml, wherever they stand."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import finegold

HOME = Path(finegold.__file__).parent
PROJECT = Path(__file__).parents[2] / "pyproject.toml"
LINTER = tomllib.loads(PROJECT.read_text("utf-8"))["tool"]["importlinter"]
LAYERS = LINTER["contracts"][0]["layers"]  # the highest first


def sources() -> list[Path]:
    return [path for path in sorted(HOME.rglob("*.py")) if path != HOME / "__init__.py"]


def layer_of(module: str) -> str:
    return module.split(".")[1]


def name_of(path: Path) -> str:
    return ".".join(["finegold", *path.relative_to(HOME).with_suffix("").parts]).removesuffix(
        ".__init__"
    )


def imported(tree: ast.AST) -> Iterator[str]:
    """Modules of Finegold that a file imports, also inside functions, or names in a string for `import_module`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            names = (
                [f"{node.module}.{alias.name}" for alias in node.names]
                if node.module == "finegold"
                else [node.module]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value
        ):
            names = [node.value]  # the constant part of an f-string is such a node, too
        else:
            continue
        yield from (name for name in names if name and name.startswith("finegold."))


def upward(module: str, tree: ast.AST) -> list[str]:
    """Imports of a layer above the module's own."""
    own = LAYERS.index(layer_of(module))
    return [
        name
        for name in imported(tree)
        if layer_of(name) in LAYERS and LAYERS.index(layer_of(name)) < own
    ]


def test_no_import_goes_up_a_layer() -> None:
    found = {path: upward(name_of(path), ast.parse(path.read_text("utf-8"))) for path in sources()}
    assert {path.name: names for path, names in found.items() if names} == {}


@pytest.mark.parametrize(
    "line",
    [
        "from finegold.api.fit import fit",
        "def f():\n    from finegold.api.fit import fit",
        "def f():\n    import finegold.api",
        "from finegold import api",
        "import_module('finegold.api.fit')",
        "import_module(f'finegold.api.{name}')",
    ],
)
def test_every_kind_of_import_is_found(line: str) -> None:
    assert len(upward("finegold.fitting.solve", ast.parse(line))) == 1
    assert upward("finegold.cli.app", ast.parse(line)) == []


def test_the_linter_has_no_exceptions_and_knows_all_folders() -> None:
    assert "ignore_imports" not in PROJECT.read_text("utf-8")
    names = {
        path.stem
        for path in HOME.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert names - {"__init__"} == set(LAYERS)
    assert sum((HOME / name).is_dir() for name in names) <= 15


def test_the_linter_counts_imports_inside_functions() -> None:
    grimp = pytest.importorskip("grimp", reason="the import linter is a tool of developers")
    graph = grimp.build_graph("finegold", cache_dir=None)
    lazy = [
        (name_of(path), node.module)
        for path in sources()
        for function in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("finegold.")
    ]
    assert len(lazy) > 10
    for importer, module in lazy:
        seen = graph.find_modules_directly_imported_by(importer)
        assert any(name == module or name.startswith(f"{module}.") for name in seen), (
            importer,
            module,
        )
