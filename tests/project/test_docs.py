"""What the documentation shows is what happens: every example is run, and its output compared.

A ```python block is run in a folder with the embedded sample (votes.csv, truth.csv, votes.db, export.json, and as
sets/mine) and a label matrix (L.csv, Y.csv), and with a simulated log of LLM judges where it names panel/. A ```console
block runs its lines that begin with "$ ". The output is what follows in the block or in a ```text block right after it;
"..." stands for anything.
"""

import doctest
import importlib
import io
import json
import re
import shlex
import shutil
import sqlite3
import sys
from contextlib import closing, redirect_stdout
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from finegold.cli.app import every_command
from finegold.kernels.compiling import COMPILING
from finegold.votes.sample import VOTES
from tests.support.animals import ANIMALS
from tests.support.cli_helpers import run as run_command
from tests.support.data_sets import SHARED
from tests.support.exports_made import annotation, choices
from tests.support.judge_log import write_log

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARKS = (
    "document,annotator,start,end,label\nd1,ann,0,4,PER\nd1,bob,0,4,PER\nd1,eve,0,9,PER\nd1,ann,14,18,ORG\n"
    "d1,bob,14,18,ORG\nd2,ann,3,7,LOC\nd2,bob,3,7,LOC\nd2,eve,12,15,LOC\n"
)  # of three people in two texts
CHECKER = doctest.OutputChecker()
OF_BENCHES = {"--choice", "--draws"}  # options of programs below bench/
NEW = (
    "task,annotator,label\n1001,person_1,first\n1001,person_2,first\n1001,gpt-3.5-turbo,second\n"
    "1002,person_1,second\n1002,pandalm-7b,tie\n"
)  # votes of another day


def examples():
    for page in PAGES:
        blocks = FENCE.findall(page.read_text("utf-8"))
        for number, (kind, code) in enumerate(blocks):
            follows = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
            expected = follows[1] if follows[0] == "text" else None
            if kind in ("python", "console"):
                yield pytest.param(kind, code, expected, id=f"{page.name}-{number + 1}")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    sample = VOTES.parent
    for name in ("votes.csv", "tasks.csv", "truth.csv"):
        shutil.copy(sample / name, tmp_path)
    shutil.copy(ANIMALS / "votes.csv", tmp_path / "crowd.csv")  # for what needs a crowd
    shutil.copy(ANIMALS / "truth.csv", tmp_path / "crowd_truth.csv")
    (tmp_path / "new.csv").write_text(NEW)
    (tmp_path / "marks.csv").write_text(MARKS)
    put_into_sqlite(tmp_path)
    put_into_label_studio(tmp_path)
    put_label_matrix(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def put_into_sqlite(folder):
    votes = pl.read_csv(folder / "votes.csv")
    with closing(sqlite3.connect(folder / "votes.db")) as database, database:
        database.execute("CREATE TABLE votes (task INTEGER, worker TEXT, label TEXT)")
        database.executemany("INSERT INTO votes VALUES (?, ?, ?)", votes.iter_rows())


def put_into_label_studio(folder):
    """The sample as an export, with an annotation more on the first three tasks that was cancelled."""
    texts = dict(pl.read_csv(folder / "tasks.csv").select("task", "instruction").iter_rows())
    tasks = {}
    for task, worker, label in pl.read_csv(folder / "votes.csv").iter_rows():
        tasks.setdefault(task, []).append(annotation(worker, choices("better", label)))
    for task in list(tasks)[:3]:
        tasks[task].append(annotation(1, was_cancelled=True))
    export = [
        {"id": task, "data": {"text": texts[task]}, "annotations": votes}
        for task, votes in tasks.items()
    ]
    (folder / "export.json").write_text(json.dumps(export))


def put_label_matrix(folder, n=200):
    """Five labelling functions for spam (1) and ham (0) on comments; -1 abstains."""
    rng = np.random.default_rng(0)
    spam = rng.random(n) < 0.5
    votes = {
        "has_link": np.where(rng.random(n) < np.where(spam, 0.5, 0.05), 1, -1),
        "says_subscribe": np.where(rng.random(n) < np.where(spam, 0.4, 0.02), 1, -1),
        "short": np.where(rng.random(n) < np.where(spam, 0.1, 0.6), 0, -1),
        "sentiment": np.where(rng.random(n) < 0.7, np.where(rng.random(n) < 0.75, spam, ~spam), -1),
        "in_klingon": np.full(n, -1),
    }
    pl.DataFrame({"task": np.arange(n), **votes}).write_csv(folder / "L.csv")
    pl.DataFrame({"task": np.arange(n), "truth": spam.astype(int)}).head(80).write_csv(
        folder / "Y.csv"
    )


@pytest.mark.parametrize(("kind", "code", "expected"), list(examples()))
def test_the_example_runs_and_prints_what_it_shows(kind, code, expected, folder):
    if "sklearn" in code and kind == "python":
        pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    if "logs/" in code:  # where a reader keeps published logs of judges
        if not (SHARED / "logs").exists():
            pytest.skip("the published logs of judges are not in ../shared/logs")
        (folder / "logs").symlink_to(SHARED / "logs")
    if "panel/" in code:
        write_log(folder / "panel", 6, 400, seed=2)
    if "walk/" in code:
        write_log(folder / "walk", 6, 200, seed=2)
    if kind == "console":
        for command, shown in commands(code):
            same(shown, run(command))
    else:
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(code, "example", "exec"), {"__name__": "example"})
        if expected is not None:
            same(expected, printed.getvalue())


def commands(block):
    """(command, the output shown below it)."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def run(command):
    words = shlex.split(command)
    assert words[0] == "finegold", f"only finegold is run here, not {command}"
    done = run_command(*words[1:])
    assert done.exit_code == ("--fail-" in command), done.stderr  # a gate that is shown fails
    said = [line for line in done.stderr.splitlines() if COMPILING not in line]
    return done.stdout + "\n".join(said)


def same(shown, found):
    """Trailing blanks do not count; "..." in what is shown stands for anything."""
    shown, found = (
        "\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (shown, found)
    )
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert CHECKER.check_output(shown + "\n", found + "\n", flags), found


@pytest.mark.parametrize("name", ["cli", "options"])
def test_pages_that_scripts_make_are_current(name):
    sys.path.insert(0, str(ROOT / "tools"))
    made = importlib.import_module(f"make_{name}").page()
    is_current = (ROOT / "docs" / "reference" / f"{name}.md").read_text("utf-8") == made
    assert is_current, f"docs/reference/{name}.md is not current: run python tools/make_{name}.py"


def test_the_readme_has_the_gains_of_the_page_on_choosing():
    """By kind of annotators: majority vote, the default, the best of crowd-kit's methods."""
    readme, page = (
        (ROOT / name).read_text("utf-8") for name in ("README.md", "docs/evidence/choosing.md")
    )
    measured = {
        cells[0]: [float(cell) for cell in cells[1:7] if cell != "–"]
        for cells in table_cells(page[page.index("## Other libraries") :])
        if len(cells) == 13 and cells[1].startswith(".")
    }
    majority, default = measured["Finegold: `mv`"], measured["Finegold: `anchored` (default)"]
    rivals = {
        name.split(": ")[1]: row for name, row in measured.items() if name.startswith("crowd-kit")
    }
    shown = [cells[2:] for cells in table_cells(readme) if len(cells) == 5 and cells[1].isdigit()]
    columns = [1, 2, 3, 4, 5, 0]  # the first is the mean of all families, which the README has last
    assert len(shown) == len(columns)
    for column, (vote, ours, rival) in zip(columns, shown, strict=True):
        figure, name = rival.replace("*", "").rstrip(")").split(" (")
        best = max(row[column] for row in rivals.values())
        assert rivals[name][column] == best
        expected = [majority[column], best, default[column]]
        assert [float(vote), float(figure), float(ours)] == pytest.approx(expected, abs=0.00051)


def table_cells(page):
    """Cells of the rows of all tables, without marks of emphasis."""
    for row in re.findall(r"^\|(.*)\|$", page, re.MULTILINE):
        yield [cell.strip().replace("**", "") for cell in row.split("|")]


def test_files_that_pages_name_exist():
    """Paths such as `fitting/solve.py`, and the files of each folder in the table of the architecture."""
    package = ROOT / "src" / "finegold"
    named = [
        (page.name, path)
        for page in PAGES
        for path in re.findall(r"`([\w/]+/[\w/]*\w\.py)`", page.read_text("utf-8"))
    ]
    assert len(named) > 40
    places = (ROOT, ROOT / "docs", package, package / "io")
    assert [name for name in named if not any((place / name[1]).exists() for place in places)] == []
    architecture = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    rows = [row for row in table_cells(architecture) if row[0].endswith("/`")]
    assert {row[0].strip("`/") for row in rows} == {
        path.parent.name for path in package.glob("*/__init__.py")
    }
    beginnings = [
        (row[0].strip("`"), name)
        for row in rows
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", row[2])
    ]
    assert [name for name in beginnings if not (package / name[0] / name[1]).exists()] == []


RATINGS = "task,worker,rating\na,ann,61.5\na,bob,64\na,eve,80\nb,ann,20\nb,bob,22.5\nb,eve,41\n"
JSON_OF = {
    "aggregate": "votes.csv -o labels.csv",
    "update": "model.finegold new.csv -o updated.finegold",
    "evaluate": "votes.csv --truth truth.csv",
    "compare": "votes.csv --method mv,anchored",
    "trust": "votes.csv",
    "agreement": "votes.csv",
    "coverage": "votes.csv",
    "sample": "votes.csv -n 60 -o sheet.csv",
    "certify": "votes.csv --checks truth.csv --drawn-at-random",
    "audit": "votes.csv --labels labels.csv",
    "next-votes": "model.finegold -o next.csv",
    "judges": "panel/log.csv --gold panel/gold.csv",
    "rate": "panel/log.csv --gold panel/gold.csv --passes system-1",
    "rank": "panel/log.csv",
    "numbers": "ratings.csv --label rating",
    "spans": "marks.csv",
    "look": "votes.csv",
}


def test_json_of_every_command_has_the_keys_of_its_page(folder):
    commands = every_command()
    assert set(JSON_OF) == {
        name
        for name, command in commands.items()
        if any("--json" in param.opts for param in command.params)
    }
    (folder / "ratings.csv").write_text(RATINGS)
    write_log(folder / "panel", 6, 200, seed=2)
    run("finegold aggregate votes.csv -o labels.csv --save model.finegold")
    page = (ROOT / "docs" / "reference" / "json.md").read_text("utf-8")
    sections = dict(part.split("\n", 1) for part in page.split("\n## finegold ")[1:])
    assert list(sections) == list(JSON_OF)
    for name, words in JSON_OF.items():
        done = run_command(name, *words.split(), "--json")
        assert done.exit_code == 0, done.stderr
        made = json.loads(done.stdout)
        rows = [row for row in table_cells(sections[name]) if row[0].startswith("`")]
        assert {key for row in rows for key in re.findall(r"`(\w+)`", row[0])} == set(made), name
        for key, value in rows:
            if value.startswith(("object of", "rows of")):
                nested = made[key.strip("`")]
                shown = nested[0] if isinstance(nested, list) else nested
                assert re.findall(r"`(\w+)`", value) == list(shown), f"{name}: {key}"


def test_commands_and_options_that_pages_name_exist():
    """`finegold COMMAND --option`, in words, blocks and tables; and `--option` alone, of any command or bench."""
    options = {
        name: {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}
        for name, command in every_command().items()
    }
    known = set().union(*options.values(), {"--version", "--traceback", "--help"})
    lost = []
    for page in PAGES:
        text = page.read_text("utf-8").replace("\\\n", " ")
        for name, rest in re.findall(
            r"(?:^    |^\$ |`)finegold ([a-z][\w-]*)([^`\n]*)", text, re.M
        ):
            if name not in options:
                lost.append(f"{page.name}: finegold {name}")
            flags = re.findall(r"(?<=\s)--[a-z][\w-]*", rest)
            lost += [
                f"{page.name}: {name} {flag}"
                for flag in flags
                if flag not in options.get(name, known)
            ]
        alone = re.findall(r"`(--[a-z][\w-]*)[^`]*`", text)
        lost += [f"{page.name}: {flag}" for flag in alone if flag not in known | OF_BENCHES]
    assert lost == []


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150


def test_terminal_pictures_show_what_is_printed_today():
    """If it fails: python tools/make_pictures.py."""
    sys.path.insert(0, str(ROOT / "tools"))
    pictures = importlib.import_module("make_pictures")
    for name, (title, shown) in pictures.contents().items():
        kept = (ROOT / "docs" / "images" / name).read_text("utf-8")
        assert pictures.text_of(kept) == pictures.text_of(pictures.picture_of(title, shown)), name
