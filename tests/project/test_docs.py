"""What the documentation shows is what happens: the examples of a page run in order, and their output is compared.

A page is run in a folder with the files of `finegold demo` and of examples/data, and with a simulated log of LLM judges
where it names panel/. A ```console block runs its lines that begin with "$ ". The output is what follows in the block or
in a ```text block right after it; "..." stands for anything.
"""

import doctest
import importlib
import importlib.util
import io
import json
import re
import shlex
import shutil
import sys
from contextlib import contextmanager, redirect_stdout
from itertools import pairwise
from pathlib import Path

import pytest

import finegold
from finegold.cli.app import every_command
from finegold.kernels.compiling import COMPILING
from finegold.votes.sample import VOTES
from tests.support.cli_helpers import run as run_command
from tests.support.data_sets import SHARED
from tests.support.judge_log import write_log

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CHECKER = doctest.OutputChecker()
OPTIONAL = ("sklearn", "inspect_ai", "datasets", "duckdb")
OF_BENCHES = {"--choice", "--draws", "--shared", "--votes"}  # options of programs below bench/


def pages_with_examples():
    for page in PAGES:
        if blocks_of(page):
            yield pytest.param(page, id=page.relative_to(ROOT).with_suffix("").as_posix())


def blocks_of(page):
    """(number of the block, kind, code, the output shown after it or None)."""
    blocks = [*FENCE.findall(page.read_text("utf-8")), ("", "")]
    return [
        (number, kind, code, follows[1] if follows[0] == "text" else None)
        for number, ((kind, code), follows) in enumerate(pairwise(blocks), 1)
        if kind in ("python", "console")
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What examples/data/README.md tells a reader to copy into one folder."""
    for name in ("votes.csv", "tasks.csv", "truth.csv"):
        shutil.copy(VOTES.parent / name, tmp_path)
    shutil.copytree(ROOT / "examples" / "data", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


@pytest.mark.parametrize("page", list(pages_with_examples()))
def test_the_examples_of_a_page_run_in_order_and_print_what_they_show(page, folder):
    text = page.read_text("utf-8")
    if "panel/" in text:
        write_log(folder / "panel", 6, 400, seed=2)
    if "walk/" in text:
        write_log(folder / "walk", 6, 200, seed=2)
    has_logs = (SHARED / "logs").exists()
    if has_logs and "logs/" in text:  # where a reader keeps published logs of judges
        (folder / "logs").symlink_to(SHARED / "logs")
    names = {"__name__": "example"}
    for number, kind, code, expected in blocks_of(page):
        if kind == "python" and any(not importlib.util.find_spec(name) for name in absent(code)):
            continue
        if "logs/" in code and not has_logs:
            continue
        with subtest(page, number):
            if kind == "console":
                for command, shown in commands(code):
                    same(shown, run(command))
            else:
                printed = io.StringIO()
                with redirect_stdout(printed):
                    exec(compile(code, "example", "exec"), names)
                if expected is not None:
                    same(expected, printed.getvalue())


def absent(code):
    """Libraries that a reader may have, and this machine need not."""
    return [name for name in OPTIONAL if re.search(rf"^(?:import|from) {name}\b", code, re.M)]


@contextmanager
def subtest(page, number):
    try:
        yield
    except BaseException as error:
        error.add_note(f"in block {number} of {page.name}")
        raise


def commands(block):
    """(command, the output shown below it)."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def run(command):
    words = shlex.split(command)
    assert words[0] == "finegold", f"only finegold is run here, not {command}"
    done = run_command(*words[1:])
    assert done.exit_code == (3 if "--fail-" in command else 0), (
        done.stderr
    )  # a gate that is shown fails
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


OF_THE_TERMINAL = {"demo", "look", "studio", "convert", "methods"}


def test_a_command_its_function_and_its_page_have_one_name():
    """`finegold next-votes` is `finegold.next_votes` or a method of results, or belongs to `finegold.judges`."""
    pages = (ROOT / "docs" / "reference" / "python").glob("*.md")
    shown = " ".join(page.read_text("utf-8") for page in pages)
    judges = finegold.judges
    homes = {
        name: [
            place for place in (finegold.Result, judges, judges.JudgeReport) if name in dir(place)
        ]
        for name in (command.replace("-", "_") for command in every_command())
    }
    lost = {name for name, found in homes.items() if name not in dir(finegold) and not found}
    assert lost == OF_THE_TERMINAL
    for name in homes.keys() & {*dir(finegold)}:
        assert f"::: finegold.{name}" in shown, name
    assert all(
        f"::: finegold.{place}" in shown
        for place in ("Result", "judges.rank", "judges.JudgeReport")
    )


def test_pages_say_where_their_files_are():
    """Files that neither `finegold demo` nor the page makes are in examples/data."""
    names = {path.name for path in (ROOT / "examples" / "data").iterdir()}
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        text = page.read_text("utf-8")
        words = re.findall(r"[\w.]+", "".join(code for _, _, code, _ in blocks_of(page)))
        assert names.isdisjoint(words) or "examples/data" in text, page.name


def test_long_tables_are_evidence_or_reference():
    for page in [*(ROOT / "docs" / "guides").glob("*.md"), ROOT / "README.md"]:
        tables = re.findall(r"(?:^\|.*\n)+", page.read_text("utf-8"), re.MULTILINE)
        rows = [table.count("\n") - 2 for table in tables]
        assert max(rows, default=0) <= 15, page.name


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 130


def test_terminal_pictures_show_what_is_printed_today():
    """If it fails: python tools/make_pictures.py."""
    sys.path.insert(0, str(ROOT / "tools"))
    pictures = importlib.import_module("make_pictures")
    for name, (title, shown) in pictures.contents().items():
        kept = (ROOT / "docs" / "images" / name).read_text("utf-8")
        assert pictures.text_of(kept) == pictures.text_of(pictures.picture_of(title, shown)), name
