"""No command writes over what it reads, or over what is not its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli_helpers import CSV, database, refusal_of, run, succeed, write
from tests.support.workbooks import xlsx

GOLD = "task,truth\nt1,x\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Votes in a file, a folder, a folder in a folder, a database; links to them; a model and gold."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for folder in ("folder", "deep", "deep/er"):
        (tmp_path / folder).mkdir()
    for name in ("votes.csv", "folder/a.csv", "deep/er/a.csv", "aside.csv"):
        write(tmp_path / name, CSV)
    (tmp_path / "folder" / "link.csv").symlink_to("../aside.csv")
    (tmp_path / "link.csv").symlink_to("votes.csv")
    write(tmp_path / "gold.csv", GOLD)
    database(tmp_path / "votes.db")
    succeed("aggregate", "votes.csv", "--method", "mv", "--save", "model.csv", "-o", "labels.csv")
    write(tmp_path / "p.parquet", "")
    return tmp_path


COMMANDS = [
    "aggregate votes.csv --method mv -o link.csv",
    "aggregate link.csv --method mv -o votes.csv",
    "aggregate link.csv --method mv --output=~/votes.csv",
    "aggregate folder --method mv -o folder/a.csv",
    "aggregate folder --method mv -o aside.csv",
    "aggregate folder/*.csv --method mv --annotators aside.csv",
    "aggregate deep --method mv --save deep/er/a.csv",
    "aggregate sqlite:///votes.db --query SELECT --method mv --save votes.db",
    "convert votes.csv -o votes.csv",
    "convert folder --gold gold.csv -o gold.csv",
    "update model.csv votes.csv -o new.finegold --labels model.csv",
    "update model.csv votes.csv -o votes.csv",
    "report folder --method mv -o folder/a.csv",
    "trust votes.csv --method mv --flips link.csv",
    "agreement votes.csv --pairs votes.csv",
    "compare votes.csv --methods mv -o votes.csv",
    "compare votes.csv --truth gold.csv --methods mv -o gold.csv",
    "next-votes votes.csv -o votes.csv",
    "audit votes.csv --labels gold.csv -o gold.csv",
    "export votes.csv --purpose sklearn --predictions p.parquet -o p.parquet",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_writes_over_what_it_reads(files: Path, command: str) -> None:
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    assert "is an input and would be overwritten" in refusal_of(*command.split())
    assert {path: path.read_bytes() for path in files.rglob("*") if path.is_file()} == before


def test_a_workbook_whose_sheet_is_read_is_not_overwritten(tmp_path: Path) -> None:
    book = xlsx(tmp_path / "votes.xlsx", {"Sheet1": [line.split(",") for line in CSV.split()]})
    before = book.read_bytes()
    done = run("aggregate", f"{book}#Sheet1", "--method", "mv", "--save", book)
    assert "would be overwritten" in done.stderr
    assert book.read_bytes() == before


def test_a_model_may_take_the_place_of_the_old_one(files: Path) -> None:
    succeed("update", "model.csv", "aside.csv", "-o", "model.csv", "--repeated", "last")


def test_outputs_that_are_no_data_may_lie_beside_the_votes(files: Path) -> None:
    for _ in range(2):
        succeed(
            "aggregate",
            "folder",
            "--method",
            "mv",
            "--save",
            "folder/model.finegold",
            "-o",
            "out.csv",
        )


def test_the_demo_leaves_a_folder_with_other_votes_alone(files: Path) -> None:
    assert "votes.csv exists and is not the sample of the demo" in refusal_of(
        "demo", "--out", files
    )
    assert (files / "votes.csv").read_text() == CSV
