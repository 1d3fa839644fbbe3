"""Every command that writes files, under every fault: an exit code that tells, and old files or new ones, never half.

Most faults are made in this process, which is fast; signals that nobody can catch are sent to processes of their own.
After each fault the same command runs again, and leaves nothing but its outputs.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import finegold
from finegold.paper import datasets
from finegold.paper.datasets import register
from finegold.system import files
from finegold.system.files import LIST_SUFFIX, finish_moves
from finegold.votes.sample import VOTES
from tests.support.cli_helpers import CSV, run, write

resource = pytest.importorskip("resource", reason="limits of a process are those of POSIX")

LOG = ("log", "truth", "gold", "judges", "systems")
COMMANDS = {
    "aggregate": ("votes.csv --method mv -o a.csv --annotators b.pq --save c.fg", ["a.csv", "b.pq", "c.fg"]),
    "convert": ("votes.csv -o a.jsonl.gz", ["a.jsonl.gz"]),
    "update": ("model.finegold new.csv -o a.finegold --labels b.csv", ["a.finegold", "b.csv"]),
    "report": ("model.finegold -o a.html", ["a.html"]),
    "plot": ("model.finegold confidence -o a.svg", ["a.svg"]),
    "simulate": ("--tasks 20 --annotators 5 --out a.csv", ["a.csv", "a-truth.csv"]),
    "log": ("--judges 3 --tasks 20 --out log", [f"log/{name}.csv" for name in LOG]),
    "next": ("model.finegold -o a.csv", ["a.csv"]),
    "trust": ("model.finegold --flips a.csv --spammers b.csv", ["a.csv", "b.csv"]),
    "agreement": ("votes.csv --annotators a.csv --pairs b.csv", ["a.csv", "b.csv"]),
    "judges": ("votes.csv --judge worker -o a.csv --labels b.csv --report c.html", ["a.csv", "b.csv", "c.html"]),
    "rank": ("games.csv -o a.csv --matrix b.csv", ["a.csv", "b.csv"]),
    "audit": ("votes.csv --method mv --labels sets/mine/truth.csv -o a.csv", ["a.csv"]),
    "export": ("votes.csv --method mv --for sklearn -o a.parquet", ["a.parquet"]),
    "compare": ("votes.csv --method mv -o a.csv --labels b.csv", ["a.csv", "b.csv"]),
    "demo": (
        "--out demo",
        ["demo/tasks.csv", "demo/truth.csv", "demo/labels.csv", "demo/annotators.csv", "demo/model.finegold"],
    ),
    "datasets": ("fetch mine --from sets", ["cache/mine/label.csv", "cache/mine/truth.csv"]),
    "database": ("votes.csv --method mv --to-database sqlite:///a.db --to-table labels -o b.csv", ["a.db", "b.csv"]),
    "reproduce": ("table3 --data papers --allow-unverified --method mv --jobs 1 --out paper",
                  ["paper/reproduction.html", "paper/reproduction.md", "paper/results.json", "paper/table3.csv"]),
}  # fmt: skip
SETS = ("sets/mine", "papers/fact")
INPUTS = {"votes.csv", "new.csv", "games.csv", "model.finegold", "demo/votes.csv"}
INPUTS |= {f"{folder}/{name}" for folder in SETS for name in ("label.csv", "truth.csv")}
OLD = b"old"
OLD_TABLE = """
DROP TABLE IF EXISTS labels;
CREATE TABLE labels (task TEXT, label TEXT, confidence REAL, n_votes INTEGER, tied INTEGER);
INSERT INTO labels VALUES ('old', 'x', 1.0, 1, 0);
"""

# Reads commands from standard input, and runs each in a fork that kills itself before it puts one file in place.
KILLED_RUNS = """
import importlib, json, os, pkgutil, sys
import finegold.system.files
from finegold.cli import main
from finegold.paper.datasets import register

for name in ("jinja2", "polars", "scipy.optimize", "vl_convert"):  # once, not in each fork
    importlib.import_module(name)
for package in ("api", "cli", "insight", "io", "judges", "methods", "paper", "report", "votes"):
    for module in pkgutil.walk_packages([f"{finegold.__path__[0]}/{package}"], f"finegold.{package}."):
        importlib.import_module(module.name)
place = finegold.system.files.move
nowhere = os.open(os.devnull, os.O_RDWR)
for line in sys.stdin:
    folder, number, moves, words = json.loads(line)
    child = os.fork()
    if child == 0:
        def kill(*given):
            global moves
            if moves == 0:
                os.kill(os.getpid(), number)
            moves -= 1
            place(*given)
        finegold.system.files.move = kill
        os.chdir(folder)
        os.dup2(nowhere, 1), os.dup2(nowhere, 2)
        if words[0] == "datasets":
            register("mine", "sets/mine")
        sys.argv = ["finegold", *words]
        main()
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def killed() -> Iterator[Callable[[Path, str, int], int]]:
    """Return a function that runs a command, kills it after some moves to final names, and returns its exit code."""
    environment = {**os.environ, "FINEGOLD_CACHE": "cache"}
    command = [sys.executable, "-c", KILLED_RUNS]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True, env=environment) as runs:

        def killed(folder: Path, command: str, number: int, moves: int = 0) -> int:
            assert runs.stdin is not None
            assert runs.stdout is not None
            runs.stdin.write(json.dumps([str(folder), number, moves, words(command)]) + "\n")
            runs.stdin.flush()
            return int(runs.stdout.readline())

        yield killed


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    finegold.aggregate(write(tmp_path / "votes.csv", CSV), "mv").save(tmp_path / "model.finegold")
    write(tmp_path / "new.csv", "task,worker,label\nt9,ann,x\n")
    write(
        tmp_path / "games.csv",
        "item,judge,model_a,model_b,winner\n1,j,a,b,a\n2,j,b,a,a\n3,j,a,b,tie\n",
    )
    for name in (*SETS, "cache/mine", "demo", "log", "paper"):
        (tmp_path / name).mkdir(parents=True)
    write(tmp_path / "demo/votes.csv", VOTES.read_bytes())
    for name in SETS:
        write(tmp_path / name / "label.csv", CSV)
        write(tmp_path / name / "truth.csv", "task,truth\nt1,x\n")
    monkeypatch.setenv("FINEGOLD_CACHE", "cache")
    monkeypatch.setattr(datasets, "_REGISTRY", dict(datasets._REGISTRY))
    register("mine", "sets/mine")
    return tmp_path


def words(command: str) -> list[str]:
    return [
        {"database": "aggregate", "log": "simulate"}.get(command, command),
        *COMMANDS[command][0].split(),
    ]


def put_old(folder: Path, command: str) -> None:
    for name in COMMANDS[command][1]:
        if name.endswith(".db"):
            with closing(sqlite3.connect(folder / name)) as database:
                database.executescript(OLD_TABLE)
        else:
            write(folder / name, OLD)


def is_old(path: Path) -> bool:
    if path.suffix != ".db":
        return path.read_bytes() == OLD
    with closing(sqlite3.connect(path)) as database:
        tasks = database.execute("SELECT task FROM labels ORDER BY task").fetchall()
    assert tasks in ([("old",)], [("t1",), ("t2",), ("t3",), ("t4",)])
    return len(tasks) == 1


def check(folder: Path, command: str, *, is_done: bool) -> None:
    """Old files if the run failed, new ones if it did not."""
    assert [name for name in COMMANDS[command][1] if is_old(folder / name) == is_done] == []


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def check_next(folder: Path, command: str) -> None:
    """The next run leaves its outputs and nothing else."""
    again = run(*words(command))
    assert again.exit_code == 0, again.stderr
    assert files_in(folder) == INPUTS | set(COMMANDS[command][1])
    check(folder, command, is_done=True)


@contextmanager
def limited(kind: int, soft: int) -> Iterator[None]:
    before, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(kind, (before, hard))


@contextmanager
def full_disk(_: pytest.MonkeyPatch) -> Iterator[None]:
    with limited(resource.RLIMIT_FSIZE, 10):
        yield


@contextmanager
def read_only_folder(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Not by permissions: the tests may run as root, who may write everywhere."""
    opened = os.open

    def refuse(path: Any, flags: int, *mode: int, **more: Any) -> int:
        if flags & os.O_CREAT and not str(path).startswith("/dev"):
            raise OSError(errno.EROFS, "Read-only file system")
        return opened(path, flags, *mode, **more)

    with patch.context() as patched:
        patched.setattr(os, "open", refuse)
        yield


def few_descriptors(free: int) -> Any:
    @contextmanager
    def limit(_: pytest.MonkeyPatch) -> Iterator[None]:
        taken = [
            os.open(os.devnull, os.O_RDONLY) for _ in range(64)
        ]  # also the numbers between those in use
        for number in taken[len(taken) - free :]:
            os.close(number)
        try:
            with limited(resource.RLIMIT_NOFILE, max(taken) + 1):
                yield
        finally:
            for number in taken[: len(taken) - free]:
                os.close(number)

    return limit


def ctrl_c(function: str) -> Any:
    wanted = getattr(files, function)

    def pressed(*given: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return wanted(*given)

    @contextmanager
    def press(patch: pytest.MonkeyPatch) -> Iterator[None]:
        with patch.context() as patched:
            patched.setattr(files, function, pressed)
            yield

    return press


FAULTS = {
    "full disk": (full_disk, {2}),
    "read-only folder": (read_only_folder, {2}),
    "no descriptor": (few_descriptors(0), {2}),
    "few descriptors": (few_descriptors(2), {0, 2}),
    "Ctrl-C before it is written": (ctrl_c("reserved"), {130}),
    "Ctrl-C while it is put in place": (
        ctrl_c("_sync"),
        {0},
    ),  # that takes no time, and is not interrupted
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_fault_leaves_old_files_or_new_ones(
    here: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    assert run(*words(command)).exit_code == 0  # modules are loaded, and functions compiled
    for fault, (cause, codes) in FAULTS.items():
        put_old(here, command)
        with cause(monkeypatch):
            done: Result = run(*words(command))
        assert done.exit_code in codes, (fault, done.stderr)
        assert not [word for word in ("Traceback", "unexpectedly") if word in done.stderr], (
            fault,
            done.stderr,
        )
        check(here, command, is_done=done.exit_code == 0)
    check_next(here, command)


@pytest.mark.parametrize(
    "command", sorted(set(COMMANDS) - {"database"})
)  # it commits before files are moved
def test_a_killed_run_leaves_the_old_files(here: Path, killed: Any, command: str) -> None:
    for number in (signal.SIGKILL, signal.SIGTERM):
        put_old(here, command)
        assert killed(here, command, number) == -number
        if number == signal.SIGKILL:
            check(here, command, is_done=False)
    left = files_in(here) - INPUTS - set(COMMANDS[command][1])
    assert left
    assert all(Path(name).name.startswith(".") for name in left)
    check_next(here, command)


SEVERAL = [
    name
    for name, (_, files) in COMMANDS.items()
    if len(files) > 1 and name not in ("database", "datasets")
]


@pytest.mark.parametrize(
    "command", SEVERAL
)  # a database commits before; data sets are checked by their sums
def test_a_run_that_is_killed_between_two_files_is_finished_by_the_next(
    here: Path, killed: Any, command: str
) -> None:
    for moves in range(1, len(COMMANDS[command][1])):
        put_old(here, command)
        assert killed(here, command, signal.SIGKILL, moves) == -signal.SIGKILL
        old = [name for name in COMMANDS[command][1] if is_old(here / name)]
        assert (
            0 < len(old) < len(COMMANDS[command][1]) + (command == "demo")
        )  # its votes are the same
        other = run(
            "convert", "votes.csv", "-o", str(here / COMMANDS[command][1][0]) + ".other.csv"
        )
        assert "a run that was killed had written" in other.stderr
        check(here, command, is_done=True)
        Path(f"{COMMANDS[command][1][0]}.other.csv").unlink()
        left = {
            name for name in files_in(here) if not name.endswith(".lock")
        }  # which the next update removes
        assert left == INPUTS | set(COMMANDS[command][1])


def test_a_list_of_moves_that_is_not_whole_or_not_ours_moves_nothing(tmp_path: Path) -> None:
    """Killed before the last of the lists was written, or forged by somebody who may write to the folder."""
    one, other = tmp_path / "one", tmp_path / "other"
    lists = [folder / f".{'0' * 12}{LIST_SUFFIX}" for folder in (one, other)]
    temporary = one / f".a.csv.{'1' * 12}.part.csv"
    foreign = [
        tmp_path / "secret",
        tmp_path / temporary.name,
    ]  # neither is a temporary file of this folder
    for folder in (one, other):
        folder.mkdir()

    def listed(moved: Path) -> str:
        return json.dumps(
            {"moves": [[str(moved), str(one / "a.csv")]], "lists": list(map(str, lists))}
        )

    whole = listed(temporary)
    forged = [(listed(path), listed(path)) for path in foreign]
    for texts in (
        *forged,
        (whole,),
        (whole, ""),
        (whole, whole[:-9]),
        ("", ""),
        ("[]", "{}"),
        (whole, whole),
    ):
        for path in (*foreign, temporary):
            write(path, "new")
        write(one / "a.csv", OLD)
        for path, text in zip(lists, texts, strict=False):
            write(path, text)
        is_whole = texts == (whole, whole)
        assert [*finish_moves(other), *finish_moves(one)] == [one / "a.csv"] * is_whole
        assert (one / "a.csv").read_bytes() == (b"new" if is_whole else OLD)
        assert foreign[0].exists()
        assert not [path for path in lists if path.exists()]


KILLED_AFTER_A_MOVE = """
import os, signal
from finegold.system import files
place = files.move
def kill(*given):
    place(*given)
    os.kill(os.getpid(), signal.SIGKILL)
files.move = kill
with files.replacing("link.csv", "b.csv") as temporaries:
    for temporary in temporaries:
        temporary.write_text("new")
"""


def test_a_killed_run_is_finished_where_a_file_is_a_link(tmp_path: Path) -> None:
    for name in ("real.csv", "b.csv"):
        write(tmp_path / name, OLD)
    (tmp_path / "link.csv").symlink_to("real.csv")
    subprocess.run([sys.executable, "-c", KILLED_AFTER_A_MOVE], cwd=tmp_path, check=False)
    assert [(tmp_path / name).read_bytes() for name in ("real.csv", "b.csv")] == [b"new", OLD]
    assert finish_moves(tmp_path) == [tmp_path / "real.csv", tmp_path / "b.csv"]
    assert (tmp_path / "b.csv").read_text() == "new"
    assert files_in(tmp_path) == {"real.csv", "b.csv", "link.csv"}


def test_temporary_files_of_a_living_process_stay(here: Path) -> None:
    program = "import time\nfrom finegold.system.files import replacing\n"
    program += "with replacing('a.csv'):\n print(flush=True)\n time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        (temporary,) = here.glob(".a.csv.*")
        assert run("convert", "votes.csv", "-o", "a.csv").exit_code == 0
        assert temporary.exists()
        other.kill()
        other.wait()
    assert run("convert", "votes.csv", "-o", "a.csv").exit_code == 0
    assert not temporary.exists()


CLOSED_PIPES = """
import os, sys
from finegold.cli import main
from finegold.paper.datasets import register
register("mine", "sets/mine")
for line in sys.stdin.read().splitlines():
    reader, writer = os.pipe()
    os.dup2(writer, 1)
    os.close(reader), os.close(writer)
    sys.argv = ["finegold", *line.split()]
    try:
        main()
    except SystemExit as ended:
        print("code", ended.code, file=sys.stderr)
"""


def test_a_pipe_that_nobody_reads(here: Path) -> None:
    """Every command, one after the other. The files are written before anything is printed."""
    for command in COMMANDS:
        put_old(here, command)
    lines = [" ".join(words(command)) for command in COMMANDS]
    done = subprocess.run(
        [sys.executable, "-c", CLOSED_PIPES], input="\n".join(lines), stderr=-1, text=True
    )
    codes = [line for line in done.stderr.splitlines() if line.startswith("code ")]
    assert codes == ["code 0"] * len(lines), done.stderr
    assert "Traceback" not in done.stderr
    for command in COMMANDS:
        check(here, command, is_done=True)
