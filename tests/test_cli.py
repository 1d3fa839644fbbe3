from __future__ import annotations

import subprocess
import sys

import karat
from karat.methods.lookup import method_class
from karat.methods.registry import REGISTRY
from tests.cli_helpers import run

HEAVY = {"numba", "polars", "narwhals", "numpy", "scipy", "pandas"}
SHOW_HELP = """
import sys
import karat
from karat.cli.app import app
try:
    app(["--help"])
except SystemExit as end:
    assert not end.code
print(*sorted(name for name in sys.modules if "." not in name), file=sys.stderr)
"""


def test_import_karat_and_help_load_nothing_heavy() -> None:
    ended = subprocess.run([sys.executable, "-c", SHOW_HELP], capture_output=True, text=True, check=True)
    assert "aggregate" in ended.stdout
    assert HEAVY.isdisjoint(ended.stderr.split())


def test_the_version_is_shown() -> None:
    assert run("--version").stdout == f"karat {karat.__version__}\n"


def test_help_names_every_command() -> None:
    shown = run("--help").stdout
    for command in ("aggregate", "evaluate", "simulate", "methods", "demo"):
        assert command in shown
        assert run(command, "--help").exit_code == 0


def test_every_method_is_listed_with_the_first_line_of_its_explanation() -> None:
    lines = run("methods").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(REGISTRY)
    for name, line in zip(REGISTRY, lines, strict=True):
        assert line.endswith((method_class(name).__doc__ or "").splitlines()[0])
        assert len(line) > len(name) + 10
