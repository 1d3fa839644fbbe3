from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import finegold
from finegold.cli.app import PANELS, every_command
from finegold.methods.lookup import REGISTRY, method_class
from tests.support.cli_helpers import CSV, refusal_of, run, succeed, write

COMMANDS = list(every_command())
HEAVY = {"numba", "polars", "narwhals", "numpy", "scipy", "pandas"}
IMPORTED = """
import sys
import finegold
from finegold.cli.app import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    assert not end.code
print("imported", *sorted(sys.modules), file=sys.stderr)
"""


def imported(*words: object) -> set[str]:
    """Run a command in a process of its own, and return the modules that it imports."""
    command = [sys.executable, "-c", IMPORTED, *map(str, words)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(ended.stderr.splitlines()[-1].split())


def test_import_finegold_and_help_load_nothing_heavy() -> None:
    assert HEAVY.isdisjoint(imported("--help"))


def test_few_votes_in_a_csv_need_no_scipy_no_kernels_no_reports_and_no_other_commands(
    tmp_path: Path,
) -> None:
    modules = imported(
        "aggregate", write(tmp_path / "votes.csv", CSV), "-o", tmp_path / "labels.csv"
    )
    assert {"polars", "finegold.methods.anchored", "finegold.cli.aggregate"} <= modules
    assert {"scipy", "numba", "pandas", "rich", "finegold.report", "finegold.cli.show"}.isdisjoint(
        modules
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of addresses")
def test_too_few_addresses_are_said_before_the_libraries_hang(tmp_path: Path) -> None:
    def end(gigabytes: int) -> subprocess.CompletedProcess[str]:
        code = (
            "import resource, sys; from finegold.cli import main; most = int(sys.argv.pop(1)) << 30"
        )
        code += "; resource.setrlimit(resource.RLIMIT_AS, (most, most)); main()"
        command = [sys.executable, "-c", code, str(gigabytes), "aggregate", str(votes)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    votes = write(tmp_path / "votes.csv", CSV)
    ended = end(1)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert (
        "the address space is limited to 1.1 GB (ulimit -v), and 2.1 GB are needed" in ended.stderr
    )
    assert end(2).returncode == 0


def test_the_version_is_shown() -> None:
    assert run("--version").stdout == f"finegold {finegold.__version__}\n"


def test_help_names_every_command_in_groups() -> None:
    shown = run("--help").stdout
    assert re.findall(r"^([A-Z][a-z ]+):", shown, re.MULTILINE) == ["Usage", "Options", *PANELS]
    for command in COMMANDS:
        assert f"\n  {command} " in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_words(command: str) -> None:
    assert all(param.help for param in every_command()[command].params)
    assert f"finegold {command}" in succeed(command, "--help").stdout


def test_every_method_is_listed_with_the_first_line_of_its_explanation() -> None:
    lines = run("methods").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(REGISTRY)
    for name, line in zip(REGISTRY, lines, strict=True):
        assert line.endswith((method_class(name).__doc__ or "").splitlines()[0])
        assert len(line) > len(name) + 10


@pytest.mark.parametrize(
    ("words", "nearest"),
    [("aggregate v.csv --method ptbc", "ptbcc"), ("next v.csv --method zz", "")],
)
def test_a_misspelt_name_is_answered_with_the_nearest(words: str, nearest: str) -> None:
    assert (f"did you mean {nearest}?" in refusal_of(*words.split())) == bool(nearest)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("agregate votes.csv", "there is no command 'agregate'; did you mean aggregate?"),
        ("xyz", "there is no command 'xyz'"),
    ],
)
def test_a_command_that_is_misspelt_is_met_with_the_right_one(words: str, said: str) -> None:
    assert said in refusal_of(*words.split())
